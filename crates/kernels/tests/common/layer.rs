//! An epilogue that a dense layer has, in one kernel with what makes its input, and op by op through memory.

use super::operands::{output, shape};
use ziggurat_kernels::fused::Id;
use ziggurat_kernels::{
    Binary, CannotFuse, Completion, DType, Executor, Expression, FusedOp, FusedOutput, KernelError,
    View,
};

pub(crate) fn op(e: &mut Expression, op: FusedOp, of: &[Id]) -> Id {
    e.op(op, of).unwrap()
}

/// A kernel with an epilogue, and without.
pub(crate) struct Host<'a> {
    pub(crate) dtype: DType,
    pub(crate) dims: &'a [usize],
    pub(crate) fused: &'a dyn Fn(&FusedOutput<'_>, &View) -> Result<Completion, KernelError>,
    pub(crate) plain: &'a dyn Fn(&View) -> Result<Completion, KernelError>,
}

/// The bytes of values that were stored beside others, by one kernel and through memory.
pub(crate) type Both = [Vec<u8>; 2];

/// `max(made + bias · 2, residual)` in the kernel's dtype, then cast; computed op by op through memory too. With `beside`,
/// what is made and the maximum are stored as well.
pub(crate) fn layer(
    exec: &Executor,
    host: &Host<'_>,
    (bias, residual): (&View, &View),
    to: DType,
    beside: bool,
) -> Vec<Both> {
    let (add, most) = (
        FusedOp::Binary(Binary::Add),
        FusedOp::Binary(Binary::Maximum),
    );
    let twice = FusedOp::Binary(Binary::Mul);
    let (dtype, dims) = (host.dtype, host.dims);
    let mut e = Expression::new();
    let made = e.computed(dtype);
    let (bias_id, residual_id) = (e.input(bias.clone()), e.input(residual.clone()));
    let two = e.scalar(dtype, 2.0);
    let scaled = op(&mut e, twice, &[bias_id, two]);
    let sum = op(&mut e, add, &[made, scaled]);
    let max = op(&mut e, most, &[sum, residual_id]);
    let value = op(&mut e, FusedOp::Cast(to), &[max]);
    let fused = output(exec, to, dims, 3);
    let others = [made, max].map(|id| (id, exec.alloc(&shape(dims), dtype).unwrap()));
    let written = FusedOutput {
        expression: &e,
        value,
        shape: shape(dims),
        also: if beside { &others } else { &[] },
    };
    match (host.fused)(&written, &fused.view) {
        // On WebGPU's default limits not every kernel has bindings for further outputs.
        Err(KernelError::CannotFuse(CannotFuse::Bindings { .. }))
            if beside && exec.fused_limits().bindings < 8 =>
        {
            return layer(exec, host, (bias, residual), to, false);
        }
        done => drop(done.unwrap()),
    }
    let fused_values = fused.read(exec);
    assert_eq!(fused_values.len(), shape(dims).len());

    let alloc = |dtype| exec.alloc(&shape(dims), dtype).unwrap();
    let [product, scaled, sum, max] = [0; 4].map(|_| alloc(dtype));
    let cast = alloc(to);
    let two = exec.scalar(dtype, 2.0).unwrap();
    let _done = (host.plain)(&product).unwrap();
    let _done = exec.binary(Binary::Mul, bias, &two, &scaled).unwrap();
    let _done = exec.binary(Binary::Add, &product, &scaled, &sum).unwrap();
    let _done = exec.binary(Binary::Maximum, &sum, residual, &max).unwrap();
    let _done = exec.cast(&max, &cast).unwrap();
    let bytes = |view: &View| exec.download(view).unwrap().wait().unwrap();
    let fused_bytes = ziggurat_kernels::core::encode(to, &fused_values);
    let mut all = vec![[fused_bytes, bytes(&cast)]];
    if beside {
        let [made, most] = others;
        all.push([bytes(&made.1), bytes(&product)]);
        all.push([bytes(&most.1), bytes(&max)]);
    }
    all
}
