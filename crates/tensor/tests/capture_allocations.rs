//! What replaying a captured network costs in heap allocations: counted on this thread, on wgpu's no-op backend.
#![allow(
    clippy::unwrap_used,
    unsafe_code,
    reason = "tests; an allocator is unsafe by its trait"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use ziggurat_device::{Device as Lower, DeviceOptions};
use ziggurat_kernels::Executor;
use ziggurat_memory::{Memory, MemoryOptions};
use ziggurat_pipeline::Pipelines;
use ziggurat_tensor::{DType, Device, Error, Tensor};

struct Counting;

thread_local!(static COUNT: Cell<usize> = const { Cell::new(0) });

// SAFETY: every call goes to the system's allocator as it is; the counter does not allocate.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, block: Layout) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(block) }
    }

    unsafe fn dealloc(&self, at: *mut u8, block: Layout) {
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(at, block) }
    }

    unsafe fn realloc(&self, at: *mut u8, block: Layout, bytes: usize) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.realloc(at, block, bytes) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const ROUNDS: usize = 200;
/// Doublings of wgpu's lists among so many replays.
const GROWTHS: usize = 24;

fn open() -> Device {
    let options = DeviceOptions {
        pipeline_cache: false,
        submit_after: u32::MAX,
        // wgpu copies labels.
        labels: false,
        ..DeviceOptions::default()
    };
    let device = Lower::noop(options, None).unwrap();
    let memory = Memory::new(&device, MemoryOptions::default());
    let executor = Executor::new(&Pipelines::new(&memory));
    executor.pipelines().set_key_checks(false);
    Device::from_executor(&executor)
}

fn network(x: &Tensor, weight: &Tensor) -> Result<Vec<Tensor>, Error> {
    let hidden = x.matmul(weight)?.add(1.0)?.relu()?;
    let next = hidden.matmul(weight)?.mul(&hidden)?.softmax(-1)?;
    Ok(vec![next.sum([0], false)?])
}

/// How many rounds allocate anything.
fn allocating(mut round: impl FnMut()) -> usize {
    for _ in 0..8 {
        round();
    }
    let rounds = (0..ROUNDS).filter(|_| {
        let before = COUNT.get();
        round();
        COUNT.get() > before
    });
    rounds.count()
}

#[test]
fn replaying_a_network_allocates_nothing() {
    let device = open();
    let weight = Tensor::ones(&device, [16, 16], DType::F32).unwrap();
    let x = Tensor::ones(&device, [4, 16], DType::F32).unwrap();
    let captured = device
        .capture(&[&x], |inputs| network(&inputs[0], &weight))
        .unwrap();
    assert!(captured.dispatches() >= 4);
    let memory = || device.usage().allocations;
    let before = memory();
    let count = allocating(|| captured.replay(&[&x]).unwrap());
    assert!(count <= GROWTHS, "{count} of {ROUNDS} replays allocate");
    assert_eq!(memory(), before, "nor is device memory taken");
    // The control: recording the same network does allocate, its nodes at least.
    let count = allocating(|| drop(network(&x, &weight).unwrap()));
    assert_eq!(count, ROUNDS, "the counter counts");
}
