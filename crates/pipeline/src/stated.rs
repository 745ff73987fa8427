//! What the author of a kernel states of its dispatches, for profiles.
//!
//! It belongs to a thread while a closure runs, and is looked at only where a profile is made or a dispatch is kept to be
//! recorded again: a dispatch of which nothing is stated costs nothing.

use std::cell::Cell;

thread_local! {
    static OPERATIONS: Cell<u64> = const { Cell::new(0) };
}

/// Arithmetic operations of a dispatch that this thread records now.
pub(crate) fn operations() -> u64 {
    OPERATIONS.get()
}

/// Puts back what was stated before, also if the closure panics.
struct Before(u64);

impl Drop for Before {
    fn drop(&mut self) {
        OPERATIONS.set(self.0);
    }
}

/// States how many arithmetic operations each dispatch has that `run` records on this thread; a multiply-add is two. Profiles
/// ([`KernelTime`](ziggurat_device::KernelTime)) show them with bytes and time. Within another such call the inner one counts;
/// 0 states nothing.
///
/// ```
/// use ziggurat_pipeline::device::{Device, DeviceOptions, block_on};
/// use ziggurat_pipeline::memory::{Memory, MemoryOptions};
/// use ziggurat_pipeline::{Arg, Grid, KernelDescriptor, Pipelines, ShaderSource, with_flops};
///
/// let device = Device::open_blocking(DeviceOptions::default())?;
/// let pipelines = Pipelines::new(&Memory::new(&device, MemoryOptions::default()));
/// let kernel = pipelines.kernel(&KernelDescriptor::new(ShaderSource::wgsl("cube", "
///     @group(0) @binding(0) var<storage, read_write> y: array<f32>;
///     @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
///         if id.x < arrayLength(&y) { y[id.x] = y[id.x] * y[id.x] * y[id.x]; }
///     }")))?;
/// let y = pipelines.memory().alloc(4 * 1000)?;
/// device.set_profiling(true);
/// with_flops(2 * 1000, || pipelines.dispatch(&kernel, &[Arg::write(&y)], &[], Grid::elements(1000, 1)))?;
/// for kernel in block_on(device.take_profile())? {
///     println!("{}: {} operations, {:.1} GFLOP/s", kernel.label, kernel.operations, kernel.gigaflops());
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn with_flops<R>(flops: u64, run: impl FnOnce() -> R) -> R {
    if flops == 0 {
        return run();
    }
    let _before = Before(OPERATIONS.replace(flops));
    run()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_inner_statement_counts_and_the_outer_comes_back() {
        assert_eq!(operations(), 0);
        let seen = with_flops(7, || {
            let inner = with_flops(3, operations);
            let panicked = std::panic::catch_unwind(|| {
                with_flops(5, || std::panic::resume_unwind(Box::new(1)))
            });
            assert!(panicked.is_err());
            [inner, with_flops(0, operations), operations()]
        });
        assert_eq!(seen, [3, 7, 7]);
        assert_eq!(operations(), 0);
        let elsewhere = with_flops(7, || std::thread::spawn(operations).join());
        assert_eq!(elsewhere.ok(), Some(0));
    }
}
