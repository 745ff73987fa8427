//! Where own kernels declare their parameters.
//!
//! Immediates travel with the dispatch and cost nothing; where the device has none, or too few bytes, the same bytes
//! go through a uniform. Both files declare `params` with the body's `struct Params`, so that nothing else of a
//! kernel depends on the choice.

use ziggurat_device::Caps;

/// `var<immediate> params: Params;`
pub const IMMEDIATE_PART: (&str, &str) = (
    "params/immediate.wgsl",
    include_str!("../shaders/params/immediate.wgsl"),
);

/// `@group(0) @binding(0) var<uniform> params: Params;`
pub const UNIFORM_PART: (&str, &str) = (
    "params/uniform.wgsl",
    include_str!("../shaders/params/uniform.wgsl"),
);

/// The file name and text of the part that declares parameters of so many bytes on such a device.
pub fn params_part(caps: &Caps, bytes: usize) -> (&'static str, &'static str) {
    let room = usize::try_from(caps.immediate_bytes).unwrap_or(usize::MAX);
    if room > 0 && bytes <= room {
        IMMEDIATE_PART
    } else {
        UNIFORM_PART
    }
}
