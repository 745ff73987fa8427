//! Kernels that write an expression over their result: the bits of the path through memory.

use crate::common;
use crate::layer::{Both, Host, layer, op};
use crate::operands::{Arrangement, Operand, Random, random, shape};
use ziggurat_kernels::core::decode;
use ziggurat_kernels::{
    Binary, CannotFuse, Compare, Conv2dOptions, ConvOptions, ConvTransposeOptions, DType, Executor,
    Expression, FusedOp, FusedOutput, KernelError, Layout, Sink, Unary, View,
};

/// Extents of the product: the tiled kernel with and without whole vec4s, the dot kernel in one pass and in two, a batch.
const PROBLEMS: &[(&[usize], &[usize])] = &[
    (&[20, 24], &[24, 32]),
    (&[20, 24], &[24, 30]),
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

/// [`layer`] over a product: the value.
fn dense_layer(
    exec: &Executor,
    (a, b): (&Operand, &Operand),
    with: (&View, &View),
    to: DType,
) -> Both {
    let host = Host {
        dtype: a.view.dtype,
        dims: &extents(a.view.dims(), b.view.dims()),
        fused: &|value, out| exec.matmul(&a.view, &b.view, Sink::new(out).through(value)),
        plain: &|out| exec.matmul(&a.view, &b.view, out),
    };
    let [first, ..] = &layer(exec, &host, with, to, false)[..] else {
        unreachable!()
    };
    let both = first.clone();
    for [fused, stored] in layer(exec, &host, with, to, true) {
        assert_eq!(fused, stored, "beside: {:?}", host.dims);
    }
    both
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
    let exec = common::executor();
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
    let exec = common::plain_executor();
    check_layers(&exec, DType::F32, DType::BF16, &mut Random(22));
}

/// Convolutions: the direct kernel, the tiled one, that of plain products with whole vec4s and without.
const CONVOLUTIONS: &[([usize; 4], [usize; 4], usize)] = &[
    ([2, 3, 7, 6], [5, 3, 3, 2], 1),
    ([1, 4, 6, 6], [4, 1, 3, 3], 4),
    ([1, 4, 9, 8], [17, 4, 2, 3], 1),
    ([1, 16, 8, 8], [20, 16, 1, 1], 1),
    ([1, 16, 5, 7], [20, 16, 1, 1], 1),
    // Too many channels for rows, too few filters for tiles.
    ([1, 20, 6, 6], [3, 20, 3, 3], 1),
];

#[test]
fn a_convolution_layer_has_the_bits_of_the_path_through_memory() {
    let exec = common::executor();
    let mut rng = Random(31);
    for (dtype, to) in [
        (DType::F32, DType::F32),
        (DType::F32, DType::U8),
        (DType::F16, DType::F16),
        (DType::BF16, DType::F32),
    ] {
        for &(x, w, groups) in CONVOLUTIONS {
            for with_bias in [false, true] {
                let options = Conv2dOptions {
                    groups,
                    ..Conv2dOptions::default()
                };
                let plain = Arrangement::Contiguous;
                let [n, _, h, width] = x;
                let [m, _, kh, kw] = w;
                let dims = [n, m, h - kh + 1, width - kw + 1];
                let x = random(&exec, dtype, &x, plain, &mut rng).view;
                let w = random(&exec, dtype, &w, plain, &mut rng).view;
                let bias = random(&exec, dtype, &[m], plain, &mut rng).view;
                let bias = with_bias.then_some(&bias);
                let scale = random(&exec, dtype, &[m, 1, 1], plain, &mut rng).view;
                let residual = random(&exec, dtype, &dims, Arrangement::Sliced, &mut rng).view;
                let host = Host {
                    dtype,
                    dims: &dims,
                    fused: &|value, out| {
                        exec.conv(&x, &w, bias, &options, Sink::new(out).through(value))
                    },
                    plain: &|out| exec.conv(&x, &w, bias, &options, out),
                };
                for beside in [false, true] {
                    let all = layer(&exec, &host, (&scale, &residual), to, beside);
                    for (i, [fused, stored]) in all.iter().enumerate() {
                        assert!(fused == stored, "{dtype} to {to}: {dims:?} value {i}");
                    }
                }
            }
        }
    }
}

#[test]
fn transposed_convolutions_and_other_ranks_write_expressions_too() {
    let exec = common::executor();
    let mut rng = Random(32);
    let plain = Arrangement::Contiguous;
    let mut view = |dims: &[usize]| random(&exec, DType::F32, dims, plain, &mut rng).view;
    let check = |host: &Host<'_>, with: (&View, &View)| {
        for [fused, stored] in layer(&exec, host, with, DType::F16, true) {
            assert_eq!(fused, stored, "{:?}", host.dims);
        }
    };
    let (scale, residual) = (view(&[1]), view(&[1]));
    let (x, w, bias) = (view(&[1, 3, 5, 4]), view(&[3, 2, 3, 2]), view(&[2]));
    let options = ConvTransposeOptions {
        stride: [2, 1],
        ..ConvTransposeOptions::default()
    };
    let fused = |value: &FusedOutput<'_>, out: &View| {
        exec.conv_transpose(&x, &w, Some(&bias), &options, Sink::new(out).through(value))
    };
    let host = Host {
        dtype: DType::F32,
        dims: &[1, 2, 11, 5],
        fused: &fused,
        plain: &|out| exec.conv_transpose(&x, &w, Some(&bias), &options, out),
    };
    check(&host, (&scale, &residual));
    // The tiled kernel, in three dimensions.
    let (x, w) = (view(&[1, 4, 2, 3, 3]), view(&[4, 16, 2, 2, 2]));
    let bias = view(&[16]);
    let options = ConvTransposeOptions::<3>::default();
    let fused = |value: &FusedOutput<'_>, out: &View| {
        exec.conv_transpose(&x, &w, Some(&bias), &options, Sink::new(out).through(value))
    };
    let host = Host {
        dtype: DType::F32,
        dims: &[1, 16, 3, 4, 4],
        fused: &fused,
        plain: &|out| exec.conv_transpose(&x, &w, Some(&bias), &options, out),
    };
    check(&host, (&scale, &residual));
    let (x, w) = (view(&[2, 3, 9]), view(&[4, 3, 2]));
    let options = ConvOptions::<1>::default();
    let host = Host {
        dtype: DType::F32,
        dims: &[2, 4, 8],
        fused: &|value, out| exec.conv(&x, &w, None, &options, Sink::new(out).through(value)),
        plain: &|out| exec.conv(&x, &w, None, &options, out),
    };
    check(&host, (&scale, &residual));
    let (x, w) = (view(&[1, 2, 3, 4, 5]), view(&[16, 2, 2, 2, 2]));
    let options = ConvOptions::<3>::default();
    let host = Host {
        dtype: DType::F32,
        dims: &[1, 16, 2, 3, 4],
        fused: &|value, out| exec.conv(&x, &w, None, &options, Sink::new(out).through(value)),
        plain: &|out| exec.conv(&x, &w, None, &options, out),
    };
    check(&host, (&scale, &residual));
}

#[test]
fn what_is_stored_beside_must_have_memory_of_its_own() {
    let exec = common::executor();
    let a = upload(&exec, &[1.0; 16], &[4, 4]);
    let out = exec.alloc(&shape(&[4, 4]), DType::F32).unwrap();
    let mut e = Expression::new();
    let made = e.computed(DType::F32);
    let value = op(&mut e, FusedOp::Unary(Unary::Neg), &[made]);
    let sum = e.input(out.clone());
    let sum = op(&mut e, FusedOp::Binary(Binary::Add), &[value, sum]);
    let run = |value, view: View| {
        let written = FusedOutput {
            expression: &e,
            value,
            shape: shape(&[4, 4]),
            also: &[(made, view)],
        };
        exec.matmul(&a, &a, Sink::new(&out).through(&written))
            .map(drop)
    };
    let own = exec.alloc(&shape(&[4, 4]), DType::F32).unwrap();
    run(value, own.clone()).unwrap();
    assert_eq!(
        decode(DType::F32, &exec.download(&own).unwrap().wait().unwrap()),
        [4.0; 16]
    );
    let across = own.with_layout(own.layout.transpose(0, 1).unwrap());
    for wrong in [out.clone(), across.unwrap()] {
        assert!(matches!(
            run(value, wrong),
            Err(KernelError::Operand {
                operand: "also",
                ..
            })
        ));
    }
    let short = exec.alloc(&shape(&[4]), DType::F32).unwrap();
    assert!(matches!(run(value, short), Err(KernelError::Output { .. })));
    let half = exec.alloc(&shape(&[4, 4]), DType::F16).unwrap();
    assert!(matches!(run(value, half), Err(KernelError::Dtype { .. })));
    // The output may be an input all the same.
    run(sum, own).unwrap();
}

fn upload(exec: &Executor, values: &[f32], dims: &[usize]) -> View {
    exec.upload(values, &shape(dims)).unwrap()
}

#[test]
fn an_epilogue_takes_no_further_kernel() {
    let exec = common::fresh_executor();
    let a = upload(&exec, &[1.0; 400], &[20, 20]);
    let mut e = Expression::new();
    let made = e.computed(DType::F32);
    let low = e.scalar(DType::F32, 21.0);
    let value = op(&mut e, FusedOp::Compare(Compare::Lt), &[made, low]);
    let value = op(&mut e, FusedOp::Unary(Unary::LogicalNot), &[value]);
    let out = exec.alloc(&shape(&[20, 20]), DType::Bool).unwrap();
    let before = exec.device().queue_stats().dispatches;
    let written = FusedOutput {
        expression: &e,
        value,
        shape: shape(&[20, 20]),
        also: &[],
    };
    let _done = exec
        .matmul(&a, &a, Sink::new(&out).through(&written))
        .unwrap();
    assert_eq!(exec.device().queue_stats().dispatches - before, 1);
    assert_eq!(exec.download(&out).unwrap().wait().unwrap(), [0; 400]);
}

#[test]
fn the_residual_may_be_the_output() {
    let exec = common::executor();
    let a = upload(&exec, &[1.0, 2.0, 3.0, 4.0], &[2, 2]);
    let sum = upload(&exec, &[10.0, 20.0, 30.0, 40.0], &[2, 2]);
    let mut e = Expression::new();
    // The output's elements in another shape.
    let flat = sum.with_layout(Layout::contiguous(shape(&[4]))).unwrap();
    let (made, before) = (e.computed(DType::F32), e.input(flat));
    let value = op(&mut e, FusedOp::Binary(Binary::Add), &[made, before]);
    let written = FusedOutput {
        expression: &e,
        value,
        shape: shape(&[4]),
        also: &[],
    };
    let _done = exec
        .matmul(&a, &a, Sink::new(&sum).through(&written))
        .unwrap();
    let bytes = exec.download(&sum).unwrap().wait().unwrap();
    assert_eq!(decode(DType::F32, &bytes), [17.0, 30.0, 45.0, 62.0]);
}

#[test]
fn mistakes_are_typed_errors_and_what_does_not_fit_is_refused() {
    let exec = common::plain_executor();
    let a = upload(&exec, &[1.0; 4], &[2, 2]);
    let out = exec.alloc(&shape(&[2, 2]), DType::F32).unwrap();
    let mut e = Expression::new();
    let made = e.computed(DType::F32);
    let input = e.input(a.clone());
    let run = |e: &Expression, value, out: &View| {
        let written = FusedOutput {
            expression: e,
            value,
            shape: *out.shape(),
            also: &[],
        };
        exec.matmul(&a, &a, Sink::new(out).through(&written))
            .map(drop)
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
    assert!(run(&e, sum, &out).is_err_and(|error| error.is_shape()));
    let mut wrong = Expression::new();
    let integers = wrong.computed(DType::U8);
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
    let mut value = many.computed(DType::F32);
    for i in 0..exec.fused_limits().bindings - 2 {
        let next = many.input(upload(&exec, &[i as f32], &[1]));
        value = op(&mut many, FusedOp::Binary(Binary::Add), &[value, next]);
    }
    assert!(matches!(
        run(&many, value, &out),
        Err(KernelError::CannotFuse(CannotFuse::Bindings { .. }))
    ));
}

#[test]
fn the_comparison_of_layers_would_show_another_bias() {
    let exec = common::executor();
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
