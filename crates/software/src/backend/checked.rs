//! What the layers above tell a software device. On any other device these calls do nothing.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::buffer::Buffer;
use super::command::Command;
use super::device::Device;
use super::encoder::CommandEncoder;
use super::shader::ShaderModule;

/// Whether kernels of this device run under a [`Sanitizer`](crate::Sanitizer).
#[must_use]
pub fn is_checked(device: &wgpu::Device) -> bool {
    device
        .as_custom::<Device>()
        .is_some_and(|device| device.state().profile.sanitizer.is_some())
}

/// Records that the bytes of `range` hold nothing from here on, as in memory that a pool has just
/// handed out: a kernel that reads them before they are written is a finding. The bytes behind
/// them, to the buffer's end, are padding that anybody may read.
pub fn mark_undefined(encoder: &wgpu::CommandEncoder, buffer: &wgpu::Buffer, range: Range<u64>) {
    let (Some(encoder), Some(buffer)) = (
        encoder.as_custom::<CommandEncoder>(),
        buffer.as_custom::<Buffer>(),
    ) else {
        return;
    };
    if encoder.0.state.profile.sanitizer.is_some() {
        encoder.0.record(Command::Undefine {
            buffer: Arc::clone(&buffer.0),
            range,
        });
    }
}

/// Says of which files, with how many lines each, a module's text is made, so that findings and
/// prints name them. The first call for a module counts.
pub fn name_lines<'a>(module: &wgpu::ShaderModule, parts: impl Iterator<Item = (&'a str, u32)>) {
    if let Some(data) = module
        .as_custom::<ShaderModule>()
        .and_then(ShaderModule::data)
    {
        let parts = parts.map(|(file, lines)| (file.to_owned(), lines));
        let _ = data.text.parts.set(parts.collect());
    }
}

/// Says that a module's text is the library's own: what is found in it goes to
/// [`Report::internal`](crate::Report::internal), because the program cannot mend it.
pub fn mark_own(module: &wgpu::ShaderModule) {
    let module = module.as_custom::<ShaderModule>();
    if let Some(data) = module.and_then(ShaderModule::data) {
        data.text.own.store(true, Ordering::Relaxed);
    }
}
