//! Executors for tests: one per profile and test binary, on poisoned memory.
//!
//! Without an adapter a test is skipped: the skip is printed and counted, and with `ZIGGURAT_REQUIRE_GPU=1` it
//! is a failure instead. Every allocation starts as 0xFF bytes (NaN in every float dtype), so an output element that a
//! kernel misses is seen.

#![allow(dead_code, reason = "each test file uses its part")]

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use ziggurat_kernels::device::{Device, DeviceError, DeviceOptions};
use ziggurat_kernels::memory::{Memory, MemoryOptions};
use ziggurat_kernels::pipeline::Pipelines;
use ziggurat_kernels::{Executor, KernelError};

static SKIPPED: AtomicUsize = AtomicUsize::new(0);

fn open(options: DeviceOptions) -> Option<Executor> {
    match Device::open_blocking(options) {
        Ok(device) => {
            let options = MemoryOptions {
                poison: true,
                ..MemoryOptions::default()
            };
            Some(Executor::new(&Pipelines::new(&Memory::new(
                &device, options,
            ))))
        }
        Err(error @ DeviceError::NoAdapter { .. }) => {
            let required = std::env::var("ZIGGURAT_REQUIRE_GPU").is_ok_and(|value| value == "1");
            assert!(
                !required,
                "ZIGGURAT_REQUIRE_GPU is set, but there is no adapter: {error}"
            );
            None
        }
        Err(error) => panic!("an adapter is there, but it does not open: {error}"),
    }
}

fn counted(executor: Option<Executor>) -> Option<Executor> {
    if executor.is_none() {
        let count = SKIPPED.fetch_add(1, Ordering::Relaxed) + 1;
        eprintln!("SKIPPED: no adapter ({count} tests skipped so far in this binary)");
    }
    executor
}

/// The executor of this test binary, with everything the adapter offers.
pub(crate) fn executor() -> Option<Executor> {
    static EXECUTOR: OnceLock<Option<Executor>> = OnceLock::new();
    counted(
        EXECUTOR
            .get_or_init(|| {
                open(DeviceOptions {
                    pipeline_cache: false,
                    ..DeviceOptions::default()
                })
            })
            .clone(),
    )
}

/// An executor of one test's own, whose counters nothing else moves.
pub(crate) fn fresh_executor() -> Option<Executor> {
    counted(open(DeviceOptions {
        pipeline_cache: false,
        ..DeviceOptions::default()
    }))
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
pub(crate) fn plain_executor() -> Option<Executor> {
    static EXECUTOR: OnceLock<Option<Executor>> = OnceLock::new();
    counted(EXECUTOR.get_or_init(|| open(plain())).clone())
}

/// As [`plain_executor`], of one test's own, whose counters nothing else moves.
pub(crate) fn fresh_plain_executor() -> Option<Executor> {
    counted(open(plain()))
}

/// An executor with a small workgroup size, so that grids overflow a row of workgroups with few elements.
pub(crate) fn narrow_executor() -> Option<Executor> {
    static EXECUTOR: OnceLock<Option<Executor>> = OnceLock::new();
    let options = DeviceOptions {
        pipeline_cache: false,
        workgroup_size: Some(8),
        ..DeviceOptions::default()
    };
    counted(EXECUTOR.get_or_init(|| open(options)).clone())
}

/// An executor whose grids have few workgroups along each dimension and small ones, so that small tensors take rows,
/// planes and more of them.
pub(crate) fn folded_executor() -> Option<Executor> {
    static EXECUTOR: OnceLock<Option<Executor>> = OnceLock::new();
    let options = DeviceOptions {
        pipeline_cache: false,
        workgroup_size: Some(8),
        max_workgroups: Some(24),
        ..DeviceOptions::default()
    };
    counted(EXECUTOR.get_or_init(|| open(options)).clone())
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
