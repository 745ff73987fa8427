//! wgpu's objects over the engine.
