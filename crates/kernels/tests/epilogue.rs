//! Kernels that write an expression over their result: the bits of the path through memory.

#![allow(clippy::unwrap_used, reason = "tests")]

mod common;
#[path = "common/operands.rs"]
mod operands;

use operands::{Arrangement, Operand, Random, output, random, shape};
use ziggurat_kernels::core::decode;
use ziggurat_kernels::fused::Id;
use ziggurat_kernels::{
    Binary, Compare, DType, Executor, Expression, FusedOp, FusedOutput, KernelError, Layout, Unary,
    View,
};

/// Extents of the product: the tiled kernel with and without whole quads, the dot kernel in one pass and in two, a batch.
const PROBLEMS: &[(&[usize], &[usize])] = &[
    (&[20, 24], &[24, 32]),
    (&[17, 19], &[19, 23]),
    (&[1, 70], &[70, 9]),
    (&[1, 40_000], &[40_000, 2]),
    (&[3, 18, 5], &[3, 5, 16]),
];

fn extents(a: &[usize], b: &[usize]) -> Vec<usize> {
    let mut out = a[..a.len() - 1].to_vec();
    out.push(b[b.len() - 1]);
    out
}

fn op(e: &mut Expression, op: FusedOp, of: &[Id]) -> Id {
    e.op(op, of).unwrap()
}

/// `max(made + bias · 0.5, residual)` in the product's dtype, then cast; computed op by op through memory too.
fn dense_layer(
    exec: &Executor,
    (a, b): (&Operand, &Operand),
    (bias, residual): (&View, &View),
    to: DType,
) -> [Vec<u8>; 2] {
    let (add, most) = (
        FusedOp::Binary(Binary::Add),
        FusedOp::Binary(Binary::Maximum),
    );
    let half = FusedOp::Binary(Binary::Mul);
    let dtype = a.view.dtype;
    let dims = extents(a.view.dims(), b.view.dims());
    let mut e = Expression::new();
    let made = e.made(dtype);
    let (bias_id, residual_id) = (e.input(bias.clone()), e.input(residual.clone()));
    let two = e.scalar(dtype, 2.0);
    let scaled = op(&mut e, half, &[bias_id, two]);
    let sum = op(&mut e, add, &[made, scaled]);
    let max = op(&mut e, most, &[sum, residual_id]);
    let value = op(&mut e, FusedOp::Cast(to), &[max]);
    let fused = output(exec, to, &dims, 3);
    let written = FusedOutput {
        expression: &e,
        value,
        shape: shape(&dims),
    };
    let _done = exec
        .matmul_fused(&a.view, &b.view, &written, &fused.view)
        .unwrap();
    let fused_values = fused.read(exec);
    assert_eq!(fused_values.len(), shape(&dims).len());

    let alloc = |dtype| exec.alloc(&shape(&dims), dtype).unwrap();
    let [product, scaled, sum, max] = [0; 4].map(|_| alloc(dtype));
    let cast = alloc(to);
    let two = exec.scalar(dtype, 2.0).unwrap();
    let _done = exec.matmul(&a.view, &b.view, &product).unwrap();
    let _done = exec.binary(Binary::Mul, bias, &two, &scaled).unwrap();
    let _done = exec.binary(Binary::Add, &product, &scaled, &sum).unwrap();
    let _done = exec.binary(Binary::Maximum, &sum, residual, &max).unwrap();
    let _done = exec.cast(&max, &cast).unwrap();
    let stored = exec.download(&cast).unwrap().wait().unwrap();
    let fused_bytes = ziggurat_kernels::core::encode(to, &fused_values);
    [fused_bytes, stored]
}

fn check_layers(exec: &Executor, dtype: DType, to: DType, rng: &mut Random) {
    for (left, right) in PROBLEMS {
        let arrangements: &[Arrangement] = match dtype {
            DType::F32 => &[Arrangement::Contiguous, Arrangement::Transposed],
            _ => &[Arrangement::Contiguous],
        };
        for &arrangement in arrangements {
            let a = random(exec, dtype, left, arrangement, rng);
            let b = random(exec, dtype, right, Arrangement::Contiguous, rng);
            let dims = extents(left, right);
            let columns = &dims[dims.len() - 1..];
            let bias = random(exec, dtype, columns, Arrangement::Contiguous, rng);
            let residual = random(exec, dtype, &dims, arrangement, rng);
            let [fused, stored] = dense_layer(exec, (&a, &b), (&bias.view, &residual.view), to);
            let differ = fused
                .chunks(to.bytes())
                .zip(stored.chunks(to.bytes()))
                .position(|(a, b)| a != b);
            assert_eq!(
                differ, None,
                "{dtype} to {to}: {left:?} x {right:?} {arrangement:?}"
            );
        }
    }
}

#[test]
fn a_dense_layer_has_the_bits_of_the_path_through_memory() {
    let Some(exec) = common::executor() else {
        return;
    };
    let mut rng = Random(21);
    for (dtype, to) in [
        (DType::F32, DType::F32),
        (DType::F32, DType::F16),
        (DType::F32, DType::Bool),
        (DType::F16, DType::F16),
        (DType::BF16, DType::F32),
        (DType::I32, DType::U8),
        (DType::I8, DType::I8),
    ] {
        check_layers(&exec, dtype, to, &mut rng);
    }
}

#[test]
fn a_dense_layer_agrees_without_optional_features() {
    let Some(exec) = common::plain_executor() else {
        return;
    };
    check_layers(&exec, DType::F32, DType::BF16, &mut Random(22));
}

fn upload(exec: &Executor, values: &[f32], dims: &[usize]) -> View {
    exec.upload(values, &shape(dims)).unwrap()
}

#[test]
fn an_epilogue_takes_no_further_kernel() {
    let Some(exec) = common::fresh_executor() else {
        return;
    };
    let a = upload(&exec, &[1.0; 400], &[20, 20]);
    let mut e = Expression::new();
    let made = e.made(DType::F32);
    let low = e.scalar(DType::F32, 21.0);
    let value = op(&mut e, FusedOp::Compare(Compare::Lt), &[made, low]);
    let value = op(&mut e, FusedOp::Unary(Unary::LogicalNot), &[value]);
    let out = exec.alloc(&shape(&[20, 20]), DType::Bool).unwrap();
    let before = exec.device().queue_stats().dispatches;
    let written = FusedOutput {
        expression: &e,
        value,
        shape: shape(&[20, 20]),
    };
    let _done = exec.matmul_fused(&a, &a, &written, &out).unwrap();
    assert_eq!(exec.device().queue_stats().dispatches - before, 1);
    assert_eq!(exec.download(&out).unwrap().wait().unwrap(), [0; 400]);
}

#[test]
fn the_residual_may_be_the_output() {
    let Some(exec) = common::executor() else {
        return;
    };
    let a = upload(&exec, &[1.0, 2.0, 3.0, 4.0], &[2, 2]);
    let sum = upload(&exec, &[10.0, 20.0, 30.0, 40.0], &[2, 2]);
    let mut e = Expression::new();
    // The output's elements in another shape.
    let flat = sum.with_layout(Layout::contiguous(shape(&[4]))).unwrap();
    let (made, before) = (e.made(DType::F32), e.input(flat));
    let value = op(&mut e, FusedOp::Binary(Binary::Add), &[made, before]);
    let written = FusedOutput {
        expression: &e,
        value,
        shape: shape(&[4]),
    };
    let _done = exec.matmul_fused(&a, &a, &written, &sum).unwrap();
    let bytes = exec.download(&sum).unwrap().wait().unwrap();
    assert_eq!(decode(DType::F32, &bytes), [17.0, 30.0, 45.0, 62.0]);
}

#[test]
fn mistakes_are_typed_errors_and_what_does_not_fit_is_refused() {
    let Some(exec) = common::plain_executor() else {
        return;
    };
    let a = upload(&exec, &[1.0; 4], &[2, 2]);
    let out = exec.alloc(&shape(&[2, 2]), DType::F32).unwrap();
    let mut e = Expression::new();
    let made = e.made(DType::F32);
    let input = e.input(a.clone());
    let run = |e: &Expression, value, out: &View| {
        let written = FusedOutput {
            expression: e,
            value,
            shape: *out.shape(),
        };
        exec.matmul_fused(&a, &a, &written, out).map(drop)
    };
    run(&e, made, &out).unwrap();
    assert!(matches!(
        run(&e, input, &out),
        Err(KernelError::Option { .. })
    ));
    let half = exec.alloc(&shape(&[2, 2]), DType::F16).unwrap();
    assert!(matches!(
        run(&e, made, &half),
        Err(KernelError::Dtype { .. })
    ));
    let bias = e.input(upload(&exec, &[1.0; 3], &[3]));
    let sum = op(&mut e, FusedOp::Binary(Binary::Add), &[made, bias]);
    assert!(matches!(run(&e, sum, &out), Err(KernelError::Shape { .. })));
    let mut wrong = Expression::new();
    let integers = wrong.made(DType::U8);
    let wide = op(&mut wrong, FusedOp::Cast(DType::F32), &[integers]);
    assert!(matches!(
        run(&wrong, wide, &out),
        Err(KernelError::Dtype { .. })
    ));
    // Only a kernel that makes it can write it.
    assert!(matches!(
        exec.fused(&e, &shape(&[2, 2]), &[(made, out.clone())]),
        Err(KernelError::Option { .. })
    ));
    let mut many = Expression::new();
    let mut value = many.made(DType::F32);
    for i in 0..exec.fused_limits().bindings - 2 {
        let next = many.input(upload(&exec, &[i as f32], &[1]));
        value = op(&mut many, FusedOp::Binary(Binary::Add), &[value, next]);
    }
    assert!(matches!(
        run(&many, value, &out),
        Err(KernelError::FusedTooLarge {
            what: "bindings",
            ..
        })
    ));
}

#[test]
fn the_comparison_of_layers_would_show_another_bias() {
    let Some(exec) = common::executor() else {
        return;
    };
    let mut rng = Random(23);
    let a = random(
        &exec,
        DType::F32,
        &[20, 24],
        Arrangement::Contiguous,
        &mut rng,
    );
    let b = random(
        &exec,
        DType::F32,
        &[24, 32],
        Arrangement::Contiguous,
        &mut rng,
    );
    let residual = upload(&exec, &[-1e9], &[1]);
    let [one, other] = [1.0, 1.0001].map(|x| upload(&exec, &[x; 32], &[32]));
    let [fused, _] = dense_layer(&exec, (&a, &b), (&one, &residual), DType::F32);
    let [_, stored] = dense_layer(&exec, (&a, &b), (&other, &residual), DType::F32);
    assert_ne!(fused, stored);
}
