//! Ops applied to tables of values, and comparisons that know the sign of zero.

use ziggurat_kernels::{Binary, DType, Executor, Unary};

use crate::operands::{given, output};

pub(crate) const INF: f64 = f64::INFINITY;
pub(crate) const NAN: f64 = f64::NAN;
pub(crate) const MIN: f64 = -2_147_483_648.0;
pub(crate) const MAX: f64 = 2_147_483_647.0;

pub(crate) fn run_unary(exec: &Executor, op: Unary, dtype: DType, inputs: &[f64]) -> Vec<f64> {
    let a = given(exec, dtype, &[inputs.len()], inputs);
    let out = output(exec, dtype, &[inputs.len()], 0);
    let _done = exec.unary(op, &a.view, &out.view).unwrap();
    out.read(exec)
}

pub(crate) fn run_binary(
    exec: &Executor,
    op: Binary,
    dtype: DType,
    pairs: &[[f64; 3]],
) -> Vec<f64> {
    let column = |i: usize| -> Vec<f64> { pairs.iter().map(|row| row[i]).collect() };
    let (a, b) = (
        given(exec, dtype, &[pairs.len()], &column(0)),
        given(exec, dtype, &[pairs.len()], &column(1)),
    );
    let out = output(exec, dtype, &[pairs.len()], 0);
    let _done = exec.binary(op, &a.view, &b.view, &out.view).unwrap();
    out.read(exec)
}

/// Equal, the sign of zero included; NaN equals NaN.
pub(crate) fn same(a: f64, b: f64) -> bool {
    (a.is_nan() && b.is_nan())
        || (a == b && (a != 0.0 || a.is_sign_negative() == b.is_sign_negative()))
}

pub(crate) fn exactly(what: &str, inputs: &[[f64; 2]], actual: &[f64]) {
    for (&[x, expected], &got) in inputs.iter().zip(actual) {
        assert!(
            same(got, expected),
            "{what}({x}) is {got:?}, should be {expected:?}"
        );
    }
}
