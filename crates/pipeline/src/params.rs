//! Where own kernels declare their parameters.
//!
//! Immediates travel with the dispatch and cost nothing; where the device has none, or too few bytes, the same bytes
//! go through a uniform. Both files declare `params` with the body's `struct Params`, so that nothing else of a
//! kernel depends on the choice.

use ziggurat_device::Caps;

/// The path and text of a file of this layer's, for constants: a file that does not exist is an error of the build.
pub(crate) const fn own_part(path: &'static str) -> (&'static str, &'static str) {
    match ziggurat_shaders::find(path) {
        Some(text) => (path, text),
        None => panic!("no such shader file"),
    }
}

/// `var<immediate> params: Params;`
pub const IMMEDIATE_PART: (&str, &str) = own_part("params/immediate.wgsl");

/// `@group(0) @binding(0) var<uniform> params: Params;`
pub const UNIFORM_PART: (&str, &str) = own_part("params/uniform.wgsl");

/// The file name and text of the part that declares parameters of so many bytes on such a device.
pub fn params_part(caps: &Caps, bytes: usize) -> (&'static str, &'static str) {
    let room = usize::try_from(caps.immediate_bytes).unwrap_or(usize::MAX);
    if room > 0 && bytes <= room {
        IMMEDIATE_PART
    } else {
        UNIFORM_PART
    }
}
