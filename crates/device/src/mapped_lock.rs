//! Mapped memory that bytes are copied from or to, while some thread may destroy or lose the device.
//!
//! wgpu frees the memory of such a device at the next poll, whoever polls, and borrows of it notwithstanding. It takes a lock
//! of its own for that, which it lends with a driver's handle.

use crate::AdapterSummary;

/// Holds wgpu back from freeing memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MappedLock {
    /// `None` where nothing needs holding back: views of the software device share its memory, and a browser gives copies.
    #[cfg_attr(target_arch = "wasm32", allow(dead_code, reason = "see above"))]
    backend: Option<wgpu::Backend>,
}

/// Calls `touch` under wgpu's lock; `None` if `buffer` has been destroyed.
#[cfg(not(target_arch = "wasm32"))]
fn hold<A: wgpu::hal::Api, R>(buffer: &wgpu::Buffer, touch: impl FnOnce() -> R) -> Option<R> {
    #[expect(unsafe_code, reason = "wgpu lends its lock with a handle only")]
    // SAFETY: the handle is neither used nor destroyed, and the guard is dropped here.
    let held = unsafe { buffer.as_hal::<A>() }?;
    let touched = touch();
    drop(held);
    Some(touched)
}

impl MappedLock {
    pub(crate) fn of(adapter: &AdapterSummary) -> Self {
        let shares = cfg!(target_arch = "wasm32") || adapter.is_software_device();
        Self {
            backend: (!shares).then_some(adapter.backend),
        }
    }

    /// Calls `touch` while the mapped memory of `buffer` stays where it is; `None`, and no call, if it is gone.
    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn during<R>(self, buffer: &wgpu::Buffer, touch: impl FnOnce() -> R) -> Option<R> {
        use wgpu::{Backend, hal::api};
        match self.backend {
            #[cfg(any(
                windows,
                target_os = "linux",
                target_os = "android",
                target_os = "freebsd"
            ))]
            Some(Backend::Vulkan) => hold::<api::Vulkan, R>(buffer, touch),
            #[cfg(any(
                windows,
                target_os = "linux",
                target_os = "android",
                target_os = "freebsd"
            ))]
            Some(Backend::Gl) => hold::<api::Gles, R>(buffer, touch),
            #[cfg(target_vendor = "apple")]
            Some(Backend::Metal) => hold::<api::Metal, R>(buffer, touch),
            #[cfg(windows)]
            Some(Backend::Dx12) => hold::<api::Dx12, R>(buffer, touch),
            Some(Backend::Noop) => hold::<api::Noop, R>(buffer, touch),
            _ => Some(touch()),
        }
    }

    /// Calls `touch`.
    #[cfg(target_arch = "wasm32")]
    #[allow(clippy::unnecessary_wraps, reason = "as where memory can be gone")]
    pub(crate) fn during<R>(self, _: &wgpu::Buffer, touch: impl FnOnce() -> R) -> Option<R> {
        Some(touch())
    }
}
