//! What recording costs in heap allocations: counted on this thread, on wgpu's no-op backend.
//!
//! All ops of a measurement go into one batch. wgpu's list of commands grows by doubling, so a few of many ops see
//! one allocation; what must not happen is that each op allocates.

#![allow(
    clippy::unwrap_used,
    unsafe_code,
    reason = "tests; an allocator is unsafe by its trait"
)]

use std::alloc::{GlobalAlloc, Layout as Block, System};
use std::cell::Cell;

use ziggurat_kernels::device::{Device, DeviceOptions};
use ziggurat_kernels::memory::{Memory, MemoryOptions};
use ziggurat_kernels::pipeline::Pipelines;
use ziggurat_kernels::{Completion, DType, Executor, KernelError, Reduce, Shape, View};

struct Counting;

thread_local!(static COUNT: Cell<usize> = const { Cell::new(0) });

// SAFETY: every call goes to the system's allocator as it is; the counter does not allocate.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, block: Block) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(block) }
    }

    unsafe fn dealloc(&self, at: *mut u8, block: Block) {
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(at, block) }
    }

    unsafe fn realloc(&self, at: *mut u8, block: Block, bytes: usize) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.realloc(at, block, bytes) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const OPS: usize = 200;
/// Doublings of wgpu's lists, and chunks of uniform memory, among so many ops.
const GROWTHS: usize = 24;

fn open(immediates: bool) -> Executor {
    let options = DeviceOptions {
        immediates,
        pipeline_cache: false,
        submit_after: u32::MAX,
        // wgpu copies labels.
        labels: false,
        ..DeviceOptions::default()
    };
    let device = Device::noop(options, None).unwrap();
    let memory = Memory::new(&device, MemoryOptions::default());
    let exec = Executor::new(&Pipelines::new(&memory));
    // A debug build assembles every kernel's text again, to compare it.
    exec.pipelines().set_key_checks(false);
    exec
}

fn view(exec: &Executor, dims: &[usize], dtype: DType) -> View {
    exec.alloc(&Shape::new(dims).unwrap(), dtype).unwrap()
}

/// How many of [`OPS`] calls allocate anything.
fn allocating<T>(exec: &Executor, mut op: impl FnMut() -> Result<T, KernelError>) -> usize {
    // What is recorded while a kernel is compiled is kept in lists.
    let _first = op().unwrap();
    exec.synchronize().wait().unwrap();
    for _ in 0..8 {
        let _warm = op().unwrap();
    }
    (0..OPS)
        .filter(|_| {
            let before = COUNT.get();
            let _done = op().unwrap();
            COUNT.get() > before
        })
        .count()
}

#[track_caller]
fn assert_steady(what: &str, count: usize) {
    assert!(count <= GROWTHS, "{what}: {count} of {OPS} ops allocate");
}

#[test]
fn recording_an_op_allocates_nothing() {
    for immediates in [true, false] {
        let exec = open(immediates);
        let [a, b, out] = [0; 3].map(|_| view(&exec, &[256], DType::F32));
        let scalar = exec.scalar(DType::F32, 2.0).unwrap();
        let mask = view(&exec, &[256], DType::Bool);
        let half = view(&exec, &[256], DType::F16);
        assert_steady("add", allocating(&exec, || exec.add(&a, &b, &out)));
        assert_steady(
            "add scalar",
            allocating(&exec, || exec.add(&a, &scalar, &out)),
        );
        assert_steady("gelu", allocating(&exec, || exec.gelu(&a, &out)));
        assert_steady("lt", allocating(&exec, || exec.lt(&a, &b, &mask)));
        assert_steady(
            "where",
            allocating(&exec, || exec.where_(&mask, &a, &b, &out)),
        );
        assert_steady("cast", allocating(&exec, || exec.cast(&a, &half)));
        assert_steady("copy", allocating(&exec, || exec.copy(&a, &out)));
        assert_steady("arange", allocating(&exec, || exec.arange(&out, 0.0, 1.0)));
    }
}

#[test]
fn replaying_a_capture_allocates_nothing() {
    for immediates in [true, false] {
        let exec = open(immediates);
        let [x, y, sum] = [0; 3].map(|_| view(&exec, &[16, 16], DType::F32));
        let rows = view(&exec, &[16], DType::F32);
        let captured = exec
            .capture(|exec| {
                let _done: Completion = exec.matmul(&x, &y, &sum)?;
                let _done: Completion = exec.tanh(&sum, &y)?;
                exec.reduce(Reduce::Sum, &y, &[1], &rows).map(drop)
            })
            .unwrap();
        assert_eq!(captured.len(), 3);
        assert_steady("replay", allocating(&exec, || captured.replay()));
    }
}

#[test]
fn an_op_with_a_new_output_is_seen_to_allocate() {
    let exec = open(true);
    let a = view(&exec, &[256], DType::F32);
    // Kept: memory that is given back stays with its handle.
    let kept = std::cell::RefCell::new(Vec::with_capacity(2 * OPS));
    let count = allocating(&exec, || {
        let out = view(&exec, &[256], DType::F32);
        let done = exec.add(&a, &a, &out);
        kept.borrow_mut().push(out);
        done
    });
    assert_eq!(count, OPS, "the counter misses allocations");
}
