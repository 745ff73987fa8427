//! The layers above, on the software device: every kernel of the catalogue, ops against their
//! references on every profile, and the conformance vectors.

#[allow(
    dead_code,
    reason = "its negative controls run where the suite is at home"
)]
#[path = "../../../tensor/examples/conformance/suite.rs"]
mod suite;

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use ziggurat_kernels::device::{Device, DeviceOptions};
use ziggurat_kernels::memory::{Memory, MemoryOptions};
use ziggurat_kernels::pipeline::Pipelines;
use ziggurat_kernels::reference::binary;
use ziggurat_kernels::reference::matmul::{Extents, matmul};
use ziggurat_kernels::reference::reduce::{Term, reduce};
use ziggurat_kernels::reference::softmax::softmax;
use ziggurat_kernels::{Binary, DType, Executor, Reduce, Shape, Variant, View, catalogue};
use ziggurat_software::{Profile, open};

/// An executor on fresh memory full of NaN, so that an element that a kernel misses is seen.
fn executor(profile: Profile) -> Executor {
    let (adapter, device, queue) = open(profile).unwrap();
    let device = Device::from_wgpu(&adapter, device, queue, DeviceOptions::default());
    let options = MemoryOptions {
        poison: true,
        ..MemoryOptions::default()
    };
    Executor::new(&Pipelines::new(&Memory::new(&device, options)))
}

/// Numbers between -2 and 2 without a pattern that kernels could profit from.
fn samples(len: usize, seed: u64) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 40) as f32 / (1 << 22) as f32 - 2.0
    };
    (0..len).map(|_| next()).collect()
}

fn wide(values: &[f32]) -> Vec<f64> {
    values.iter().copied().map(f64::from).collect()
}

fn upload(executor: &Executor, values: &[f32], dims: &[usize]) -> View {
    executor.upload(values, &Shape::new(dims).unwrap()).unwrap()
}

fn alloc(executor: &Executor, dims: &[usize]) -> View {
    executor
        .alloc(&Shape::new(dims).unwrap(), DType::F32)
        .unwrap()
}

fn download(executor: &Executor, view: &View) -> Vec<f64> {
    let bytes = executor.download(view).unwrap().wait().unwrap();
    ziggurat_kernels::core::decode(DType::F32, &bytes)
}

/// The first element that is farther from the reference than the bound for its sum allows.
fn far(got: &[f64], want: &[Term]) -> Option<String> {
    if got.len() != want.len() {
        return Some(format!("{} elements, not {}", got.len(), want.len()));
    }
    let mut pairs = got.iter().zip(want).enumerate();
    pairs.find_map(|(i, (got, want))| {
        let bound = 1e-6 * want.magnitude + 1e-30;
        let near = (got - want.value).abs() <= bound;
        (!near).then(|| format!("element {i}: {got}, not {} ± {bound}", want.value))
    })
}

#[test]
fn addition_is_exact_on_every_profile() {
    let (a, b) = (samples(10_007, 1), samples(10_007, 2));
    let want: Vec<f64> = a
        .iter()
        .zip(&b)
        .map(|(&x, &y)| {
            let sum = binary(Binary::Add, DType::F32, f64::from(x), f64::from(y));
            f64::from(sum as f32)
        })
        .collect();
    for profile in Profile::all() {
        let name = profile.name.clone();
        let executor = executor(profile);
        let out = alloc(&executor, &[10_007]);
        let (a, b) = (
            upload(&executor, &a, &[10_007]),
            upload(&executor, &b, &[10_007]),
        );
        let _done = executor.binary(Binary::Add, &a, &b, &out).unwrap();
        assert!(download(&executor, &out) == want, "{name}");
    }
}

#[test]
fn matrix_products_are_right_on_every_profile() {
    for [m, k, n] in [
        [1, 1, 1],
        [5, 7, 3],
        [64, 64, 64],
        [130, 70, 65],
        [33, 300, 40],
    ] {
        let (a, b) = (samples(m * k, 3), samples(k * n, 4));
        let want = matmul(&wide(&a), &wide(&b), Extents { batch: 1, m, n, k });
        for profile in Profile::all() {
            let name = profile.name.clone();
            let executor = executor(profile);
            let (a, b) = (
                upload(&executor, &a, &[m, k]),
                upload(&executor, &b, &[k, n]),
            );
            let out = alloc(&executor, &[m, n]);
            let _done = executor.matmul(&a, &b, &out).unwrap();
            let far = far(&download(&executor, &out), &want);
            assert!(far.is_none(), "{name}, {m}x{k}x{n}: {}", far.unwrap());
        }
    }
}

#[test]
fn reductions_are_right_on_every_profile() {
    let dims = [17, 130, 9];
    let values = samples(dims.iter().product(), 5);
    for axes in [&[0][..], &[1], &[2], &[0, 2], &[0, 1, 2]] {
        for op in [Reduce::Sum, Reduce::Mean, Reduce::Max, Reduce::Min] {
            let want = reduce(op, &wide(&values), &dims, axes);
            for profile in Profile::all() {
                let name = profile.name.clone();
                let executor = executor(profile);
                let a = upload(&executor, &values, &dims);
                let kept: Vec<_> = (0..3).filter(|axis| !axes.contains(axis)).collect();
                let out_dims: Vec<_> = kept.iter().map(|&axis| dims[axis]).collect();
                let out = alloc(&executor, &out_dims);
                let _done = executor.reduce(op, &a, axes, &out).unwrap();
                let far = far(&download(&executor, &out), &want);
                assert!(far.is_none(), "{name}, {op:?} {axes:?}: {}", far.unwrap());
            }
        }
    }
}

#[test]
fn softmax_is_right_on_every_profile() {
    let dims = [33, 1000];
    let values = samples(33_000, 6);
    for axis in [0, 1] {
        let want: Vec<_> = softmax(&wide(&values), &dims, axis)
            .into_iter()
            .map(|value| Term {
                value,
                magnitude: 4.0 * value,
            })
            .collect();
        for profile in Profile::all() {
            let name = profile.name.clone();
            let executor = executor(profile);
            let a = upload(&executor, &values, &dims);
            let out = alloc(&executor, &dims);
            let _done = executor.softmax(&a, axis, &out).unwrap();
            let far = far(&download(&executor, &out), &want);
            assert!(far.is_none(), "{name}, axis {axis}: {}", far.unwrap());
        }
    }
}

#[test]
fn the_comparison_notices_a_wrong_element() {
    let term = |value: f64| Term {
        value,
        magnitude: value.abs(),
    };
    let want = [term(1.0), term(2.0)];
    assert!(far(&[1.0, 2.0], &want).is_none());
    assert!(far(&[1.0, 2.0001], &want).is_some());
    assert!(far(&[1.0, f64::NAN], &want).is_some());
    assert!(far(&[1.0], &want).is_some());
}

#[test]
fn every_kernel_of_the_catalogue_becomes_a_pipeline() {
    let executor = executor(Profile::nvidia());
    let all = catalogue().unwrap();
    assert!(all.len() > 500, "only {} variants", all.len());
    let failure = &|variant: &Variant| {
        let made = executor.pipelines().kernel(&variant.descriptor);
        made.err().map(|error| format!("{}: {error}", variant.name))
    };
    // Each thread takes the next one, for neighbours share their texts, and some families take longer than others.
    let next = &AtomicUsize::new(0);
    let all = all.as_slice();
    let failures_of = move || -> Vec<String> {
        let take = || all.get(next.fetch_add(1, Ordering::Relaxed));
        std::iter::from_fn(take).filter_map(failure).collect()
    };
    let mut failures: Vec<String> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..ziggurat_kernels::core::processors().max(1))
            .map(|_| scope.spawn(failures_of))
            .collect();
        let results = threads.into_iter().map(|thread| thread.join().unwrap());
        results.flatten().collect()
    });
    println!(
        "{} of {} kernels compile",
        all.len() - failures.len(),
        all.len()
    );
    let count = failures.len();
    failures.truncate(20);
    assert!(count == 0, "{count} fail:\n{}", failures.join("\n"));
}

/// Runs the vectors whose op or name contains `filter`.
fn conform(profile: Profile, filter: Option<&str>) {
    let executor = executor(profile);
    let device = ziggurat_tensor::Device::from_executor(&executor);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tensor/conformance");
    let report =
        suite::folder::run_folder(&device, &folder, filter, |op| println!("{}", op.text()))
            .unwrap();
    println!("{}", report.totals());
    let failures: Vec<String> = report
        .ops
        .iter()
        .filter(|op| op.failed() > 0)
        .map(suite::report::OpReport::text)
        .collect();
    assert!(report.passed() > 0, "nothing passed");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn the_conformance_vectors_pass_with_the_default_profile() {
    conform(Profile::webgpu_default(), None);
}

#[test]
fn the_conformance_vectors_pass_with_the_cooperative_profile() {
    conform(Profile::nvidia(), None);
}

#[test]
fn the_conformance_vectors_pass_with_the_profiles_of_other_makers() {
    conform(Profile::apple(), None);
    conform(Profile::intel(), None);
}
