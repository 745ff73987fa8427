//! Executors for tests: one per profile and test program, on poisoned memory.
//!
//! Every allocation starts as 0xFF bytes (NaN in every float dtype), so an output element that a
//! kernel misses is seen.

use std::sync::OnceLock;

use ziggurat_kernels::device::{Device, DeviceOptions};
use ziggurat_kernels::memory::{Memory, MemoryOptions};
use ziggurat_kernels::pipeline::Pipelines;
use ziggurat_kernels::{Executor, KernelError};

fn open(options: DeviceOptions) -> Executor {
    let device = match Device::open_blocking(options) {
        Ok(device) => device,
        Err(error) => panic!("tests need a device, and the software device is one: {error}"),
    };
    let options = MemoryOptions {
        poison: true,
        ..MemoryOptions::default()
    };
    Executor::new(&Pipelines::new(&Memory::new(&device, options)))
}

/// The executor of this test binary, with everything the adapter offers.
pub(crate) fn executor() -> Executor {
    static EXECUTOR: OnceLock<Executor> = OnceLock::new();
    EXECUTOR.get_or_init(fresh_executor).clone()
}

/// An executor of one test's own, whose counters nothing else moves.
pub(crate) fn fresh_executor() -> Executor {
    open(DeviceOptions {
        pipeline_cache: false,
        ..DeviceOptions::default()
    })
}

/// WebGPU's default limits, without optional features.
fn plain() -> DeviceOptions {
    DeviceOptions {
        pipeline_cache: false,
        default_limits: true,
        immediates: false,
        f16: false,
        subgroups: false,
        cooperative_matrix: false,
        timestamps: false,
        ..DeviceOptions::default()
    }
}

/// An executor on a device restricted to WebGPU's default limits, without optional features.
pub(crate) fn plain_executor() -> Executor {
    static EXECUTOR: OnceLock<Executor> = OnceLock::new();
    EXECUTOR.get_or_init(|| open(plain())).clone()
}

/// As [`plain_executor`], of one test's own, whose counters nothing else moves.
pub(crate) fn fresh_plain_executor() -> Executor {
    open(plain())
}

/// An executor with a small workgroup size, so that grids overflow a row of workgroups with few elements.
pub(crate) fn narrow_executor() -> Executor {
    static EXECUTOR: OnceLock<Executor> = OnceLock::new();
    let options = DeviceOptions {
        pipeline_cache: false,
        workgroup_size: Some(8),
        ..DeviceOptions::default()
    };
    EXECUTOR.get_or_init(|| open(options)).clone()
}

/// An executor whose grids have few workgroups along each dimension and small ones, so that small tensors take rows,
/// planes and more of them.
pub(crate) fn folded_executor() -> Executor {
    static EXECUTOR: OnceLock<Executor> = OnceLock::new();
    let options = DeviceOptions {
        pipeline_cache: false,
        workgroup_size: Some(8),
        max_workgroups: Some(24),
        ..DeviceOptions::default()
    };
    EXECUTOR.get_or_init(|| open(options)).clone()
}

/// An executor of one test's own on a device with bindings of so many bytes and loops of so many iterations.
pub(crate) fn limited_executor(binding_bytes: u64, loop_turns: u32) -> Executor {
    open(DeviceOptions {
        pipeline_cache: false,
        max_binding_bytes: Some(binding_bytes),
        max_loop_turns: Some(loop_turns),
        ..DeviceOptions::default()
    })
}

/// Fails unless each call was refused with a text that begins so.
pub(crate) fn refused<'a>(calls: impl IntoIterator<Item = (Option<KernelError>, &'a str)>) {
    for (error, message) in calls {
        let error = error.unwrap().to_string();
        assert!(
            error.starts_with(message),
            "{error}, should begin with {message}"
        );
    }
}
