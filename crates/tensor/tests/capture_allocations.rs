//! What recording tensors and replaying a captured network cost in heap allocations: counted on this thread, on wgpu's
//! no-op backend.
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
use ziggurat_tensor::{DType, Device, Error, FusionPolicy, Tensor};

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
fn allocating(device: &Device, mut round: impl FnMut()) -> usize {
    // What is recorded while a kernel is compiled is kept in lists.
    round();
    device.synchronize_blocking().unwrap();
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
    let count = allocating(&device, || captured.replay(&[&x]).unwrap());
    assert!(count <= GROWTHS, "{count} of {ROUNDS} replays allocate");
    assert_eq!(memory(), before, "nor is device memory taken");
    // The control: recording the same network does allocate, its nodes at least.
    let count = allocating(&device, || drop(network(&x, &weight).unwrap()));
    assert_eq!(count, ROUNDS, "the counter counts");
}

/// The most allocations that one of many calls makes. What they return is kept in `kept`.
fn most<T>(kept: &mut Vec<T>, mut call: impl FnMut() -> T) -> usize {
    kept.reserve(ROUNDS);
    let counts = (0..ROUNDS).map(|_| {
        let before = COUNT.get();
        kept.push(call());
        COUNT.get() - before
    });
    counts.max().unwrap()
}

#[test]
fn recording_an_elementwise_op_allocates_its_node_and_nothing_else() {
    let device = open();
    let [a, b] = [0; 2].map(|_| Tensor::ones(&device, [256], DType::F32).unwrap());
    let mask = a.lt(&b).unwrap();
    mask.eval_blocking().unwrap();
    let mut kept = Vec::new();
    let mut most = |call: &dyn Fn() -> Tensor| most(&mut kept, call);
    assert_eq!(most(&|| a.add(&b).unwrap()), 1, "the node of an add");
    assert_eq!(most(&|| a.mul(2.0).unwrap()), 1, "a number");
    assert_eq!(most(&|| a.relu().unwrap()), 1, "one operand");
    assert_eq!(most(&|| a.lt(&b).unwrap()), 1, "a comparison");
    assert_eq!(most(&|| a.to_dtype(DType::F16).unwrap()), 1, "a cast");
    assert_eq!(most(&|| mask.where_(&a, &b).unwrap()), 1, "three operands");
    // The control: a mean is several nodes and a kernel.
    assert!(
        most(&|| a.mean([0], false).unwrap()) > 1,
        "the counter counts"
    );
    // Nodes that nobody has any more are used again.
    kept.clear();
    let before = COUNT.get();
    for _ in 0..ROUNDS {
        drop(a.add(&b).unwrap());
    }
    assert_eq!(COUNT.get(), before, "spare nodes");
}

#[test]
fn an_unfused_add_on_the_steady_path_allocates_nothing() {
    let device = open();
    device.set_fusion(FusionPolicy::Unfused);
    let [a, b] = [0; 2].map(|_| Tensor::ones(&device, [256], DType::F32).unwrap());
    let mut sum = a.add(&b).unwrap();
    let count = allocating(&device, || sum = sum.add(&b).unwrap());
    assert!(count <= GROWTHS, "{count} of {ROUNDS} adds allocate");
    // The control: sums that are kept have nodes and memory of their own.
    let mut kept = Vec::with_capacity(ROUNDS + 9);
    let count = allocating(&device, || kept.push(a.add(&b).unwrap()));
    assert_eq!(count, ROUNDS, "the counter counts");
}

#[test]
fn a_product_with_an_epilogue_on_the_steady_path_allocates_nothing() {
    let device = open();
    let x = Tensor::ones(&device, [16, 16], DType::F32).unwrap();
    let layer = |x: &Tensor| x.matmul(x).unwrap().add(1.0).unwrap().relu().unwrap();
    // Each product computes the one before.
    let mut hidden = layer(&x);
    let count = allocating(&device, || hidden = layer(&hidden));
    assert!(count <= GROWTHS, "{count} of {ROUNDS} products allocate");
    // The control: what is kept has nodes and memory of its own.
    let mut kept = Vec::with_capacity(ROUNDS + 9);
    let count = allocating(&device, || kept.push(layer(&x)));
    assert_eq!(count, ROUNDS, "the counter counts");
}

#[test]
fn a_chain_of_adds_on_the_steady_path_allocates_per_kernel_and_not_per_op() {
    const OPS: usize = 64;
    /// Lists of one launch, and those of wgpu that grow.
    const PER_KERNEL: usize = 24;
    let device = open();
    let x = Tensor::ones(&device, [256], DType::F32).unwrap();
    let before = device.pipeline_stats().misses;
    let round = || {
        let before = COUNT.get();
        let mut sum = x.clone();
        for _ in 0..OPS {
            sum = sum.add(&x).unwrap();
        }
        drop(sum.eval());
        drop(sum);
        COUNT.get() - before
    };
    // The first one makes the nodes, which later ones use again.
    assert!(round() >= OPS, "the counter counts");
    device.synchronize_blocking().unwrap();
    round();
    let steady: Vec<usize> = (0..ROUNDS).map(|_| round()).collect();
    let least = *steady.iter().min().unwrap();
    assert!(least <= PER_KERNEL, "{least} allocations for {OPS} adds");
    let growing = steady.iter().filter(|&&count| count > PER_KERNEL).count();
    assert!(
        growing <= GROWTHS,
        "{growing} of {ROUNDS} rounds allocate more"
    );
    assert_eq!(
        device.pipeline_stats().misses,
        before + 1,
        "one kernel for all"
    );
}
