//! The samples of each table tell its ops apart: an op with the arithmetic of another would fail its test.
//!
//! Needs no device: it compares references with references on the inputs that the device tests use.

#![allow(clippy::unwrap_used, reason = "tests")]

#[path = "common/samples.rs"]
mod samples;

use ziggurat_kernels::reference::{binary, compare, predicate, round_to, unary};
use ziggurat_kernels::{Binary, Compare, DType, Predicate, Unary};

/// Whether the outputs differ by more than the tolerances of either op.
fn differ(a: &[f64], b: &[f64], allowed: impl Fn(f64) -> f64) -> bool {
    a.iter().zip(b).any(|(&a, &b)| {
        a.is_nan() != b.is_nan() || (a - b).abs() > 4.0 * allowed(a).max(allowed(b))
    })
}

/// Pairs that agree by definition.
fn same(dtype: DType, a: &str, b: &str) -> bool {
    let pair = |x, y| (a, b) == (x, y) || (b, a) == (x, y);
    let unsigned = matches!(dtype, DType::U32 | DType::U8);
    (unsigned && (pair("abs", "relu") || pair("div", "floor_divide") || pair("fmod", "remainder")))
        || (dtype == DType::Bool
            && (pair("add", "maximum")
                || pair("add", "bitwise_or")
                || pair("maximum", "bitwise_or")
                || pair("mul", "minimum")
                || pair("mul", "bitwise_and")
                || pair("minimum", "bitwise_and")))
        // In 8 bits of precision the approximation is as good as the thing.
        || (dtype == DType::BF16 && pair("gelu", "gelu_tanh"))
}

#[test]
fn unary_samples_tell_ops_apart() {
    for dtype in DType::ALL {
        for op in Unary::ALL
            .iter()
            .filter(|op| op.spec().dtypes.contains(&dtype))
        {
            let inputs = samples::unary(*op, dtype, 512);
            let outputs: Vec<f64> = inputs
                .iter()
                .map(|&x| round_to(dtype, unary(*op, dtype, x)))
                .collect();
            let idle =
                matches!(dtype, DType::U32 | DType::U8) && matches!(op, Unary::Abs | Unary::Relu);
            assert!(
                idle || differ(&inputs, &outputs, |_| 0.0),
                "{dtype} samples do not tell {op:?} from doing nothing"
            );
            for other in Unary::ALL
                .iter()
                .filter(|other| *other != op && other.spec().dtypes.contains(&dtype))
            {
                if same(dtype, op.spec().name, other.spec().name) {
                    continue;
                }
                let others: Vec<f64> = inputs
                    .iter()
                    .map(|&x| round_to(dtype, unary(*other, dtype, x)))
                    .collect();
                let allowed = |y: f64| op.spec().tolerance.allowed(dtype, y, 6.0);
                assert!(
                    differ(&outputs, &others, allowed),
                    "{dtype} samples do not tell {op:?} from {other:?}"
                );
            }
        }
    }
}

#[test]
fn binary_samples_tell_ops_apart() {
    for dtype in DType::ALL {
        for op in Binary::ALL
            .iter()
            .filter(|op| op.spec().dtypes.contains(&dtype))
        {
            let (a, b) = samples::binary(*op, dtype, 512);
            let apply = |op: Binary| -> Vec<f64> {
                a.iter()
                    .zip(&b)
                    .map(|(&x, &y)| round_to(dtype, binary(op, dtype, x, y)))
                    .collect()
            };
            let outputs = apply(*op);
            assert!(
                differ(&a, &outputs, |_| 0.0) && differ(&b, &outputs, |_| 0.0),
                "{dtype} {op:?} passes an input through"
            );
            for other in Binary::ALL
                .iter()
                .filter(|other| *other != op && other.spec().dtypes.contains(&dtype))
            {
                if same(dtype, op.spec().name, other.spec().name) {
                    continue;
                }
                let allowed = |y: f64| op.spec().tolerance.allowed(dtype, y, 4.0);
                assert!(
                    differ(&outputs, &apply(*other), allowed),
                    "{dtype} samples do not tell {op:?} from {other:?}"
                );
            }
        }
    }
}

#[test]
fn comparison_samples_tell_ops_apart() {
    for dtype in DType::ALL {
        let (a, b) = samples::pairs(dtype, 512);
        let apply = |op: Compare| -> Vec<bool> {
            a.iter().zip(&b).map(|(&x, &y)| compare(op, x, y)).collect()
        };
        for op in Compare::ALL {
            for other in Compare::ALL.iter().filter(|other| *other != op) {
                assert_ne!(
                    apply(*op),
                    apply(*other),
                    "{dtype} samples do not tell {op:?} from {other:?}"
                );
            }
        }
    }
}

#[test]
fn predicate_samples_tell_ops_apart() {
    for op in Predicate::ALL {
        for &dtype in op.spec().dtypes {
            let inputs = samples::special(dtype, 512);
            let apply =
                |op: Predicate| -> Vec<bool> { inputs.iter().map(|&x| predicate(op, x)).collect() };
            let outputs = apply(*op);
            assert!(
                outputs.contains(&true) && outputs.contains(&false),
                "{dtype} {op:?} is constant"
            );
            for other in Predicate::ALL.iter().filter(|other| *other != op) {
                assert_ne!(
                    outputs,
                    apply(*other),
                    "{dtype} samples do not tell {op:?} from {other:?}"
                );
            }
        }
    }
}
