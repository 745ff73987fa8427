//! Random calls: elementwise ops against the f64 references here, every family of the public interface below.
//!
//! Each test runs the same cases everywhere; [`Campaign`] says how to ask for others.

use crate::campaign::Campaign;
use crate::common;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestCaseError, TestRunner};
use ziggurat_kernels::core::{decode, encode};
use ziggurat_kernels::reference::{binary, compare, predicate, round_to, unary};
use ziggurat_kernels::{
    Binary, Compare, Executor, Layout, Predicate, Shape, Tolerance, Unary, View,
};
use ziggurat_tensor::DType;

mod calls;
mod limits;

/// Nothing but the rounding to the dtype.
const EXACT: Tolerance = Tolerance {
    ulps: 0.0,
    ulps_per_input: 0.0,
    absolute: 0.0,
};

/// Runs so many cases, each from a seed of its own, or those that the environment asks for; a failure is shrunk and printed.
fn fuzz<S: Strategy>(
    strategy: &S,
    wanted: u64,
    test: impl Fn(S::Value) -> Result<(), TestCaseError>,
) {
    let mut campaign = Campaign::new(wanted);
    while let Some(seed) = campaign.next() {
        campaign.note(seed, "");
        let config = Config {
            cases: 1,
            failure_persistence: None,
            rng_seed: RngSeed::Fixed(seed),
            ..Config::default()
        };
        TestRunner::new(config)
            .run(strategy, &test)
            .unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    }
    println!("{} cases", campaign.done());
}

/// A small deterministic generator (SplitMix64), giving numbers in [0, 1).
struct Unit(u64);

impl Unit {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A value of a dtype: floats from a range, at times special ones, integers small or any.
    fn value(&mut self, dtype: DType, low: f64, high: f64) -> f64 {
        const SPECIAL: [f64; 5] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0];
        let (choice, unit) = (self.next(), self.next());
        let raw = match dtype {
            _ if !dtype.is_float() && choice < 0.5 => (unit * 20.0).floor() - 10.0,
            DType::I32 => (unit * 4_294_967_296.0).floor() - 2_147_483_648.0,
            DType::U32 => (unit * 4_294_967_296.0).floor(),
            DType::U8 | DType::I8 | DType::Bool => (unit * 256.0).floor() - 128.0,
            _ if choice < 0.15 => SPECIAL[(unit * 5.0) as usize],
            _ => low + unit * (high - low),
        };
        round_to(dtype, raw)
    }
}

fn any_dtype() -> impl Strategy<Value = DType> {
    prop::sample::select(DType::ALL.to_vec())
}

/// Extents, small and often 0 or 1.
fn any_dims(rank: usize) -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(
        prop::sample::select(vec![0usize, 1, 1, 2, 3, 4, 5, 7]),
        0..=rank,
    )
}

/// A way to look at a tensor: which kind, which axis, from where.
fn any_steps() -> impl Strategy<Value = Vec<(u8, isize, usize)>> {
    prop::collection::vec((0u8..5, -3isize..3, 0usize..3), 0..3)
}

/// The layout after these steps, as far as each is possible.
fn walked(mut layout: Layout, steps: &[(u8, isize, usize)]) -> Layout {
    for &(kind, axis, at) in steps {
        let next = match kind {
            0 => layout.transpose(axis, 0),
            1 => layout.flip(&[axis]),
            2 => layout.slice(axis, at.cast_signed(), None, 2),
            3 => layout.unsqueeze(axis),
            _ => layout.narrow(axis, at, 1),
        };
        layout = next.unwrap_or(layout);
    }
    layout
}

/// A view of random values and what it shows, row-major.
fn operand(
    exec: &Executor,
    dtype: DType,
    layout: Layout,
    mut value: impl FnMut() -> f64,
) -> (View, Vec<f64>) {
    let len = layout.span().map_or(0, |(_, high)| high + 1);
    let stored: Vec<f64> = (0..len).map(|_| value()).collect();
    let bytes = encode(dtype, &stored);
    let held = decode(dtype, &bytes);
    let dense = exec
        .upload_bytes(dtype, &bytes, &Shape::new([len]).unwrap())
        .unwrap();
    let shown = layout.offsets().map(|at| held[at]).collect();
    (dense.with_layout(layout).unwrap(), shown)
}

/// Whether an element is what the reference says, within its op's tolerance.
fn meets(got: f64, exact: f64, dtype: DType, tolerance: Tolerance, input: f64) -> bool {
    let rounded = round_to(dtype, exact);
    if got == rounded || (got.is_nan() && rounded.is_nan()) {
        return true;
    }
    // An adapter may flush subnormals.
    let flushed = got == 0.0 && exact.abs() < f64::from(f32::MIN_POSITIVE);
    let near = (got - exact).abs() <= tolerance.allowed(dtype, exact, input);
    flushed || (got.is_finite() && rounded.is_finite() && near)
}

#[test]
fn the_comparison_with_the_reference_catches_what_it_should() {
    let meets = |got, exact| meets(got, exact, DType::F32, EXACT, 1.0);
    assert!(meets(1.0, 1.0) && meets(f64::NAN, f64::NAN) && meets(0.0, 1e-40));
    assert!(!meets(1.000_001, 1.0) && !meets(f64::NAN, 1.0) && !meets(1.0, f64::NAN));
    assert!(
        !meets(f64::INFINITY, 1.0)
            && !meets(f64::NEG_INFINITY, f64::INFINITY)
            && !meets(0.0, 1e-30)
    );
}

#[derive(Clone, Copy, Debug)]
enum Op {
    Unary(Unary),
    Binary(Binary),
    Compare(Compare),
    Predicate(Predicate),
}

fn any_op() -> impl Strategy<Value = Op> {
    prop_oneof![
        3 => prop::sample::select(Unary::ALL.to_vec()).prop_map(Op::Unary),
        3 => prop::sample::select(Binary::ALL.to_vec()).prop_map(Op::Binary),
        1 => prop::sample::select(Compare::ALL.to_vec()).prop_map(Op::Compare),
        1 => prop::sample::select(Predicate::ALL.to_vec()).prop_map(Op::Predicate),
    ]
}

#[test]
fn elementwise_ops_meet_the_reference_over_any_views() {
    let device = common::device();
    let exec = device.executor();
    let strategy = (
        any_op(),
        any_dtype(),
        any_dims(4),
        any_steps(),
        any::<u64>(),
    );
    fuzz(&strategy, 1600, |(op, dtype, dims, steps, seed)| {
        let mut unit = Unit(seed);
        let layout = walked(Layout::contiguous(Shape::new(dims).unwrap()), &steps);
        let (dtypes, samples, tolerance) = match op {
            Op::Unary(op) => (
                op.spec().dtypes,
                Some(op.spec().samples),
                op.spec().tolerance,
            ),
            Op::Binary(op) => (
                op.spec().dtypes,
                Some(op.spec().samples),
                op.spec().tolerance,
            ),
            Op::Compare(op) => (op.spec().dtypes, None, EXACT),
            Op::Predicate(op) => (op.spec().dtypes, None, EXACT),
        };
        let (low, high) = samples.map_or((-4.0, 4.0), |range| (range.low, range.high));
        let (a, x) = operand(exec, dtype, layout, || unit.value(dtype, low, high));
        let powers = matches!(op, Op::Binary(Binary::Pow));
        let (low, high) = if powers { (-4.0, 4.0) } else { (low, high) };
        let plain = Layout::contiguous(*layout.shape());
        let (b, y) = operand(exec, dtype, plain, || unit.value(dtype, low, high));
        let to = if matches!(op, Op::Compare(_) | Op::Predicate(_)) {
            DType::Bool
        } else {
            dtype
        };
        let out = exec.alloc(layout.shape(), to).unwrap();
        let recorded = match op {
            Op::Unary(op) => exec.unary(op, &a, &out),
            Op::Binary(op) => exec.binary(op, &a, &b, &out),
            Op::Compare(op) => exec.compare(op, &a, &b, &out),
            Op::Predicate(op) => exec.predicate(op, &a, &out),
        };
        prop_assert_eq!(
            recorded.is_ok(),
            dtypes.contains(&dtype),
            "{:?} of {}",
            op,
            dtype
        );
        if recorded.is_err() {
            return Ok(());
        }
        let got = decode(to, &exec.download(&out).unwrap().wait().unwrap());
        for ((&got, &x), &y) in got.iter().zip(&x).zip(&y) {
            let (exact, input) = match op {
                Op::Unary(op) => (unary(op, dtype, x), x),
                Op::Binary(op) => (binary(op, dtype, x, y), y),
                Op::Compare(op) => (f64::from(u8::from(compare(op, x, y))), x),
                Op::Predicate(op) => (f64::from(u8::from(predicate(op, x))), x),
            };
            prop_assert!(
                meets(got, exact, to, tolerance, input),
                "{:?} of {}: {} and {} give {}, should be {}",
                op,
                dtype,
                x,
                y,
                got,
                exact
            );
        }
        Ok(())
    });
}
