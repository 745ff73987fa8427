//! Even spacing, against the host.

use crate::common;
use crate::operands::{Expected, check, epsilon, output};
use ziggurat_kernels::DType;

const FLOATS: [DType; 3] = [DType::F32, DType::F16, DType::BF16];

/// Computed in f32 with a few roundings, then rounded to the dtype.
fn near(value: f64, magnitude: f64, dtype: DType) -> Expected {
    let bound = 16.0 * f64::from(f32::EPSILON) * magnitude + epsilon(dtype) * value.abs();
    Expected { value, bound }
}

#[test]
fn even_spacing_meets_both_ends() {
    let exec = common::executor();
    for dtype in FLOATS {
        for n in [0, 1, 2, 5, 1000] {
            let out = output(&exec, dtype, &[n], 1);
            let _done = exec.linspace(-1.5, 3.0, &out.view).unwrap();
            let expected: Vec<Expected> = (0..n)
                .map(|i| near(-1.5 + 4.5 * i as f64 / (n.max(2) - 1) as f64, 3.0, dtype))
                .collect();
            let got = out.read(&exec);
            check(&format!("{dtype} {n}"), &got, &expected);
            if n > 1 {
                assert_eq!((got[0], got[n - 1]), (-1.5, 3.0));
            }
        }
    }
}

/// The comparator of this file refuses what is wrong.
#[test]
fn a_wrong_value_is_seen() {
    let wrong =
        std::panic::catch_unwind(|| check("wrong", &[1.001], &[near(1.0, 1.0, DType::F32)]));
    assert!(wrong.is_err());
    check("right", &[1.000_001], &[near(1.0, 1.0, DType::F32)]);
}
