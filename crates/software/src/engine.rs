//! Compiles and runs one entry point over buffers.
