//! wgpu's objects over the engine: creation and its checks, recording, running, mapping, errors.
//!
//! WebGPU's validation lives in wgpu-core, which a custom backend replaces; so the rules that
//! compute code can break are checked here, and reported as wgpu reports them. Work runs inside
//! `submit`; callbacks run inside `poll`.

mod adapter;
mod buffer;
mod checked;
mod command;
mod device;
mod encoder;
mod errors;
mod graphics;
mod group;
mod guard;
mod layout;
mod mapped;
mod memory;
mod object;
mod pass;
mod pipeline;
mod print;
mod query;
mod queue;
mod reflect;
mod shader;
mod state;
mod texture;
mod uses;

pub use adapter::{OpenError, Software};
pub use checked::{is_checked, mark_own, mark_undefined, name_lines};
pub use memory::memory_bytes;
pub use print::take_debug_prints;

use wgpu::custom::AdapterInterface as _;

use crate::profile::Profile;

/// A software device with everything that the profile has: all its features and its full limits.
///
/// For a device with less, request it from the adapter: that is validated as on any adapter.
///
/// # Errors
///
/// [`OpenError`] if the profile contradicts itself.
pub fn open(profile: Profile) -> Result<(wgpu::Adapter, wgpu::Device, wgpu::Queue), OpenError> {
    let features = profile.features;
    let adapter = Software::new(profile).adapter();
    let (device, queue) = adapter.open(features, adapter.limits())?;
    Ok((
        wgpu::Adapter::from_custom(adapter),
        wgpu::Device::from_custom(device),
        wgpu::Queue::from_custom(queue),
    ))
}

/// A software adapter with that profile, for whoever asks it for a device by wgpu's own ways.
#[must_use]
pub fn adapter(profile: Profile) -> wgpu::Adapter {
    wgpu::Adapter::from_custom(Software::new(profile).adapter())
}

/// What the device can do beyond old hardware: all of it that concerns computing.
fn downlevel() -> wgpu::DownlevelCapabilities {
    wgpu::DownlevelCapabilities::default()
}
