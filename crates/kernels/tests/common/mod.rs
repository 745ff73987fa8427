//! Executors for tests, shared by the tests of a program, on poisoned memory.
//!
//! Every allocation starts as 0xFF bytes (NaN in every float dtype), so an output element that a
//! kernel misses is seen.

use std::sync::{Mutex, PoisonError};

use ziggurat_kernels::device::{Device, DeviceOptions, SoftwareWish};
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

/// Kernels of one shared executor: drivers keep some megabytes for each, and all tests of a program compile thousands.
const AT_ONCE: u64 = 400;

/// An executor that tests share until it has compiled many kernels; whoever asks then gets a new one.
struct Shared {
    open: fn() -> Executor,
    now: Mutex<Option<Executor>>,
}

impl Shared {
    const fn new(open: fn() -> Executor) -> Self {
        let now = Mutex::new(None);
        Self { open, now }
    }

    fn executor(&self) -> Executor {
        let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        match &*now {
            Some(exec) if exec.pipelines().stats().misses < AT_ONCE => exec.clone(),
            _ => now.insert((self.open)()).clone(),
        }
    }
}

/// The executor that the tests share, with everything the adapter offers.
pub(crate) fn executor() -> Executor {
    static EXECUTOR: Shared = Shared::new(fresh_executor);
    EXECUTOR.executor()
}

/// An executor of one test's own, whose counters nothing else moves.
pub(crate) fn fresh_executor() -> Executor {
    open(DeviceOptions {
        pipeline_cache: false,
        ..DeviceOptions::default()
    })
}

/// An executor on the adapter if it has matrix units, otherwise on the software device of a GPU that has.
pub(crate) fn matrix_executor() -> Executor {
    static EXECUTOR: Shared = Shared::new(fresh_matrix_executor);
    EXECUTOR.executor()
}

/// One of a test's own.
pub(crate) fn fresh_matrix_executor() -> Executor {
    open_matrix(None)
}

/// One of a test's own whose grids have few workgroups along each dimension.
pub(crate) fn fresh_folded_matrix_executor() -> Executor {
    open_matrix(Some(24))
}

fn open_matrix(max_workgroups: Option<u32>) -> Executor {
    let mut options = DeviceOptions {
        pipeline_cache: false,
        max_workgroups,
        ..DeviceOptions::default()
    };
    let exec = open(options.clone());
    if !exec.device().caps().cooperative_matrix.is_empty() {
        return exec;
    }
    options.adapter.software = Some(SoftwareWish::Named("nvidia".to_owned()));
    open(options)
}

/// WebGPU's default limits, without optional features.
fn plain() -> DeviceOptions {
    DeviceOptions {
        pipeline_cache: false,
        default_limits: true,
        immediates: false,
        f16: false,
        int64: false,
        float_atomics: false,
        subgroups: false,
        cooperative_matrix: false,
        timestamps: false,
        ..DeviceOptions::default()
    }
}

/// An executor on a device restricted to WebGPU's default limits, without optional features.
pub(crate) fn plain_executor() -> Executor {
    static EXECUTOR: Shared = Shared::new(fresh_plain_executor);
    EXECUTOR.executor()
}

/// As [`plain_executor`], of one test's own, whose counters nothing else moves.
pub(crate) fn fresh_plain_executor() -> Executor {
    open(plain())
}

/// As [`fresh_plain_executor`], with bindings of so many bytes.
pub(crate) fn bounded_executor(binding_bytes: u64) -> Executor {
    open(DeviceOptions {
        max_binding_bytes: Some(binding_bytes),
        ..plain()
    })
}

/// An executor with a small workgroup size, so that grids overflow a row of workgroups with few elements.
pub(crate) fn narrow_executor() -> Executor {
    static EXECUTOR: Shared = Shared::new(|| {
        open(DeviceOptions {
            pipeline_cache: false,
            workgroup_size: Some(8),
            ..DeviceOptions::default()
        })
    });
    EXECUTOR.executor()
}

/// An executor whose grids have few workgroups along each dimension and small ones, so that small tensors take rows,
/// planes and more of them. What it ran is asked for by the sweep.
pub(crate) fn folded_executor() -> Executor {
    static EXECUTOR: Shared = Shared::new(fresh_folded_executor);
    EXECUTOR.executor()
}

/// Such an executor of one test's own.
pub(crate) fn fresh_folded_executor() -> Executor {
    open(DeviceOptions {
        pipeline_cache: false,
        workgroup_size: Some(8),
        max_workgroups: Some(24),
        ..DeviceOptions::default()
    })
}

/// An executor of one test's own on a device with bindings of so many bytes and loops of so many iterations.
pub(crate) fn limited_executor(binding_bytes: u64, loop_iterations: u32) -> Executor {
    open(DeviceOptions {
        pipeline_cache: false,
        max_binding_bytes: Some(binding_bytes),
        max_loop_iterations: Some(loop_iterations),
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
