//! Every op of one input on every number of 16 bits: all 65,536 of f16 and of bf16, subnormals, infinities and NaN included;
//! and in f32 on those of bf16, which lie over its whole range.

use crate::common;
use crate::operands::shape;
use ziggurat_kernels::core::{decode, encode, round_to};
use ziggurat_kernels::{DType, Unary, reference};

const FLOATS: [DType; 3] = [DType::F16, DType::BF16, DType::F32];

fn all_numbers(dtype: DType) -> Vec<f64> {
    let bytes: Vec<u8> = (0..=u16::MAX).flat_map(u16::to_le_bytes).collect();
    let of = if dtype == DType::F32 {
        DType::BF16
    } else {
        dtype
    };
    decode(of, &bytes)
}

/// What kernels that look at four elements at once may overlook: one that is NaN or infinite in each place, and both infinities.
/// The software device's `max` keeps a NaN that comes first, so clamps in `shaders/elementwise/unary/narrow` have their bound first:
/// a NaN that is overlooked is lost there too.
fn vectors_with_one_other() -> Vec<f64> {
    let mut all = Vec::new();
    for special in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        for place in 0..4 {
            let mut four = [0.5, -1.25, -0.0, 3.0];
            four[place] = special;
            all.extend(four);
            four[(place + 1) % 4] = f64::NEG_INFINITY;
            all.extend(four);
        }
    }
    all
}

/// A number, and zero where adapters may take it for that: they compute in f32, whose subnormals they may flush.
fn flushed(x: f64) -> Vec<f64> {
    let subnormal = x != 0.0 && x.abs() < f64::from(f32::MIN_POSITIVE);
    if subnormal {
        vec![x, 0.0_f64.copysign(x)]
    } else {
        vec![x]
    }
}

/// How far a result near the least normal number of f32 may be off: a term of it may have been flushed.
fn slack(exact: f64) -> f64 {
    let least = f64::from(f32::MIN_POSITIVE);
    if exact.abs() < 4.0 * least {
        least
    } else {
        0.0
    }
}

/// Whether `got` is what the op gives for `x` within its row's tolerance, which is in units of f32, and one rounding.
fn is_right(op: Unary, dtype: DType, x: f64, got: f64) -> bool {
    let results = flushed(x).into_iter();
    let mut results = results.flat_map(|x| flushed(reference::unary(op, dtype, x)));
    results.any(|exact| {
        let rounded = round_to(dtype, exact);
        got == rounded
            || got.is_nan() && exact.is_nan()
            || rounded.is_finite()
                && (got - exact).abs()
                    <= op.spec().tolerance.allowed(dtype, exact, x) + slack(exact)
    })
}

fn wrong(op: Unary, dtype: DType, given: &[f64], got: &[f64]) -> Vec<String> {
    let pairs = given.iter().zip(got);
    let wrong = pairs.filter(|&(&x, &got)| !is_right(op, dtype, x, got));
    wrong
        .map(|(&x, got)| {
            let exact = reference::unary(op, dtype, x);
            let name = op.spec().name;
            format!("{name}({x:e}) in {dtype} is {got:e}, should be {exact:e}")
        })
        .collect()
}

#[test]
fn every_unary_op_holds_on_every_number_of_16_bits() {
    let exec = common::executor();
    let mut all = Vec::new();
    for dtype in FLOATS {
        let given = [all_numbers(dtype), vectors_with_one_other()].concat();
        let dims = shape(&[given.len()]);
        let input = exec
            .upload_bytes(dtype, &encode(dtype, &given), &dims)
            .unwrap();
        for op in Unary::ALL {
            if !op.spec().dtypes.contains(&dtype) {
                continue;
            }
            let out = exec.alloc(&dims, dtype).unwrap();
            drop(exec.unary(*op, &input, &out).unwrap());
            let got = decode(dtype, &exec.download(&out).unwrap().wait().unwrap());
            let mut found = wrong(*op, dtype, &given, &got);
            let count = found.len();
            found.truncate(6);
            all.extend(found.into_iter().map(|text| format!("{text} ({count})")));
        }
    }
    assert!(all.is_empty(), "{} are wrong: {all:#?}", all.len());
}

#[test]
fn the_comparison_of_halves_sees_two_units_and_a_lost_nan() {
    let dtype = DType::F16;
    let exact = reference::unary(Unary::Exp, dtype, 1.0);
    let near = round_to(dtype, exact);
    assert!(is_right(Unary::Exp, dtype, 1.0, near));
    let two = 2.0 * f64::powi(2.0, -9);
    assert!(!is_right(Unary::Exp, dtype, 1.0, near + two));
    assert!(!is_right(Unary::Exp, dtype, f64::NAN, 1.0));
    assert!(!is_right(Unary::Exp, dtype, 12.0, 65_504.0));
    assert_eq!(
        wrong(Unary::Neg, dtype, &[1.0, 2.0], &[-1.0, 2.0]),
        ["neg(2e0) in f16 is 2e0, should be -2e0"]
    );
}
