//! Reductions run and compared with the reference.

#![allow(dead_code, reason = "each test file uses its part")]

use super::operands::{Expected, Operand, check, output};
use ziggurat_kernels::reference::{reduce, wrap};
use ziggurat_kernels::{DType, Executor, Reduce};

pub(crate) fn kept(dims: &[usize], axes: &[usize]) -> Vec<usize> {
    dims.iter()
        .enumerate()
        .filter(|(axis, _)| !axes.contains(axis))
        .map(|(_, &dim)| dim)
        .collect()
}

/// What the reduction gives in `dtype`; integer sums and products wrap.
pub(crate) fn expected(
    op: Reduce,
    argument: f64,
    values: &[f64],
    dims: &[usize],
    axes: &[usize],
    dtype: DType,
) -> Vec<Expected> {
    let len = axes.iter().filter_map(|&axis| dims.get(axis)).product();
    if !dtype.is_float() && !matches!(op, Reduce::Max | Reduce::Min) {
        return reduce::reduce_integers(op, values, dims, axes)
            .into_iter()
            .flatten()
            .map(|v| Expected::exact(wrap(dtype, v)))
            .collect();
    }
    reduce::reduce_with(op, argument, values, dims, axes)
        .iter()
        .map(|t| match (op, len) {
            // The reference's identities are infinities; integers and bool have their own.
            (Reduce::Max, 0) => Expected::exact(lowest(dtype)),
            (Reduce::Min, 0) => Expected::exact(greatest(dtype)),
            (Reduce::Max | Reduce::Min, _) => Expected::exact(t.value),
            _ => Expected::sum(t.value, t.magnitude, len, dtype),
        })
        .collect()
}

pub(crate) fn lowest(dtype: DType) -> f64 {
    match dtype {
        DType::I32 => f64::from(i32::MIN),
        DType::I8 => -128.0,
        DType::U32 | DType::U8 | DType::Bool => 0.0,
        _ => f64::NEG_INFINITY,
    }
}

pub(crate) fn greatest(dtype: DType) -> f64 {
    match dtype {
        DType::I32 => f64::from(i32::MAX),
        DType::U32 => f64::from(u32::MAX),
        DType::I8 => 127.0,
        DType::U8 => 255.0,
        DType::Bool => 1.0,
        _ => f64::INFINITY,
    }
}

pub(crate) fn run(
    exec: &Executor,
    op: Reduce,
    a: &Operand,
    axes: &[usize],
    dtype: DType,
    front: usize,
) {
    run_with(exec, op, op.default_argument(), a, axes, dtype, front);
}

pub(crate) fn run_with(
    exec: &Executor,
    op: Reduce,
    argument: f32,
    a: &Operand,
    axes: &[usize],
    dtype: DType,
    front: usize,
) {
    let out = output(exec, dtype, &kept(a.view.dims(), axes), front);
    let _done = exec
        .reduce(op.with(argument), &a.view, axes, &out.view)
        .unwrap();
    let what = format!(
        "{op:?}({argument}) {} to {dtype} {:?} over {axes:?}",
        a.view.dtype, a.view.layout
    );
    let dims = a.view.dims();
    let expected = expected(op, f64::from(argument), &a.values, dims, axes, dtype);
    check(&what, &out.read(exec), &expected);
}

pub(crate) fn run_all(exec: &Executor, a: &Operand, axes: &[usize], front: usize) {
    for op in Reduce::ALL {
        for dtype in DType::ALL
            .into_iter()
            .filter(|&dtype| op.accepts(a.view.dtype, dtype))
        {
            run(exec, op, a, axes, dtype, front);
        }
    }
}
