//! Matmul against the reference: every dtype, arrangement and kernel, edges of the tiles, and the rules of NaN.

use crate::common;
use crate::expect;
use crate::operands::{
    Arrangement, Expected, Operand, Random, check, given, operand, output, random, shape, worst,
};
use ziggurat_kernels::core::{broadcast_shapes, decode, encode};
use ziggurat_kernels::{DType, Executor, KernelError};

const NUMBERS: [DType; 7] = [
    DType::F32,
    DType::F16,
    DType::BF16,
    DType::I32,
    DType::U32,
    DType::I8,
    DType::U8,
];

/// What `a @ b` should be, broadcast batches written out.
fn expected(a: &Operand, b: &Operand, dtype: DType, batch: &[usize]) -> Vec<Expected> {
    let (left, right) = (
        (&a.values[..], a.view.dims()),
        (&b.values[..], b.view.dims()),
    );
    expect::products(left, right, batch, dtype)
}

fn out_dims(a: &[usize], b: &[usize]) -> (Vec<usize>, Vec<usize>) {
    let (left, right) = (shape(&a[..a.len() - 2]), shape(&b[..b.len() - 2]));
    let batch = broadcast_shapes(&[left, right]).unwrap().dims().to_vec();
    let dims = [&batch[..], &[a[a.len() - 2], b[b.len() - 1]]].concat();
    (batch, dims)
}

fn run(exec: &Executor, a: &Operand, b: &Operand, dtype: DType, front: usize) {
    let (batch, dims) = out_dims(a.view.dims(), b.view.dims());
    let out = output(exec, dtype, &dims, front);
    let _done = exec.matmul(&a.view, &b.view, &out.view).unwrap();
    let what = format!("{} {:?} @ {:?}", a.view.dtype, a.view.layout, b.view.layout);
    check(&what, &out.read(exec), &expected(a, b, dtype, &batch));
}

#[test]
fn every_dtype_and_arrangement_gives_the_products() {
    let exec = common::executor();
    let mut rng = Random(1);
    for dtype in NUMBERS {
        for left in Arrangement::ALL {
            for right in Arrangement::ALL {
                let a = random(&exec, dtype, &[33, 20], left, &mut rng);
                let b = random(&exec, dtype, &[20, 36], right, &mut rng);
                run(&exec, &a, &b, dtype, 4);
            }
        }
    }
}

/// Whatever is chosen by itself: every tile and the dot kernel.
#[test]
fn every_way_gives_the_products() {
    let roomy = common::executor();
    let mut rng = Random(12);
    for way in 0..9 {
        let exec = roomy.in_way(way);
        for dtype in [DType::F32, DType::F16, DType::U8] {
            // Whole tiles, and parts of tiles in every direction with a depth that is no multiple of a tile's.
            for (m, k, n) in [(64, 32, 64), (33, 19, 70)] {
                let a = random(&exec, dtype, &[m, k], Arrangement::Contiguous, &mut rng);
                let b = random(&exec, dtype, &[k, n], Arrangement::Contiguous, &mut rng);
                run(&exec, &a, &b, dtype, 4);
            }
        }
    }
}

/// Columns that are rows of the transposed product among them, whose results are written down.
#[test]
fn few_columns_give_the_products_in_every_way() {
    let roomy = common::executor();
    let mut rng = Random(13);
    for way in 0..12 {
        let exec = roomy.in_way(way);
        for dtype in [DType::F32, DType::F16, DType::U8] {
            for (dims, arrangement) in [
                ([130, 40, 3], Arrangement::Contiguous),
                ([70, 35, 9], Arrangement::Transposed),
                ([64, 64, 8], Arrangement::Sliced),
            ] {
                let [m, k, n] = dims;
                let a = random(&exec, dtype, &[2, m, k], arrangement, &mut rng);
                let b = random(&exec, dtype, &[2, k, n], arrangement, &mut rng);
                run(&exec, &a, &b, dtype, 4);
            }
        }
    }
}

/// They are rows of the transposed product, of which those of a batch join where they share the matrix.
#[test]
fn single_columns_give_the_products() {
    let roomy = common::executor();
    let mut rng = Random(14);
    for way in [0, 1, 3, 6] {
        let exec = roomy.in_way(way);
        for dtype in [DType::F32, DType::BF16, DType::I32] {
            for (a, b) in [
                (&[70, 20][..], &[20, 1][..]),
                (&[70, 20], &[5, 20, 1]),
                (&[5, 70, 20], &[20, 1]),
                (&[5, 70, 20], &[5, 20, 1]),
                (&[2, 1, 33, 17], &[3, 17, 1]),
            ] {
                for arrangement in Arrangement::ALL {
                    let a = random(&exec, dtype, a, arrangement, &mut rng);
                    let b = random(&exec, dtype, b, arrangement, &mut rng);
                    run(&exec, &a, &b, dtype, 3);
                }
            }
        }
    }
}

#[test]
fn depths_that_take_several_dispatches_give_the_products() {
    let exec = common::executor();
    let mut rng = Random(77);
    for (dtype, depth, arrangement) in [
        (DType::F32, 90_004, Arrangement::Contiguous),
        (DType::BF16, 90_001, Arrangement::Flipped),
        (DType::U8, 90_001, Arrangement::Transposed),
    ] {
        let a = random(&exec, dtype, &[16, depth], arrangement, &mut rng);
        let b = random(&exec, dtype, &[depth, 17], arrangement, &mut rng);
        run(&exec, &a, &b, dtype, 3);
    }
}

#[test]
fn vectors_of_every_dtype_and_arrangement_give_the_products() {
    let exec = common::executor();
    let mut rng = Random(2);
    for dtype in NUMBERS {
        for arrangement in Arrangement::ALL {
            let a = random(&exec, dtype, &[3, 67], arrangement, &mut rng);
            let b = random(&exec, dtype, &[67, 5], arrangement, &mut rng);
            run(&exec, &a, &b, dtype, 3);
        }
    }
}

#[test]
fn extents_around_the_tile_and_of_one_are_right() {
    let exec = common::executor();
    let mut rng = Random(3);
    for (m, n, k) in [
        (63, 65, 15),
        (64, 64, 16),
        (65, 63, 17),
        (127, 129, 33),
        (128, 128, 64),
        (16, 16, 1),
        (17, 16, 2),
        (15, 64, 9),
        (1, 1, 1),
        (1, 97, 31),
        (97, 1, 31),
        (2, 300, 257),
        (300, 2, 257),
        (1, 1, 4099),
        (1, 3, 70_001),
        (101, 103, 107),
    ] {
        for (left, right) in [
            (Arrangement::Contiguous, Arrangement::Contiguous),
            (Arrangement::Transposed, Arrangement::Transposed),
        ] {
            let a = random(&exec, DType::F32, &[m, k], left, &mut rng);
            let b = random(&exec, DType::F32, &[k, n], right, &mut rng);
            run(&exec, &a, &b, DType::F32, 8);
        }
    }
}

#[test]
fn empty_extents_give_zeros_or_nothing() {
    let exec = common::executor();
    for (a, b) in [
        (&[2, 0][..], &[0, 3][..]),
        (&[64, 0], &[0, 64]),
        (&[0, 4], &[4, 3]),
        (&[3, 4], &[4, 0]),
        (&[0, 3, 4], &[4, 5]),
        (&[0, 0], &[0, 0]),
    ] {
        for dtype in NUMBERS {
            let left = operand(&exec, dtype, a, Arrangement::Contiguous, || 1.0);
            let right = operand(&exec, dtype, b, Arrangement::Contiguous, || 1.0);
            run(&exec, &left, &right, dtype, 5);
        }
    }
}

#[test]
fn batches_broadcast_like_numpy() {
    let exec = common::executor();
    let mut rng = Random(4);
    for (a, b) in [
        (&[2, 1, 3, 4][..], &[5, 4, 6][..]),
        (&[2, 5, 20, 24], &[24, 32]),
        (&[20, 24], &[3, 24, 32]),
        (&[3, 1, 20, 24], &[1, 2, 24, 18]),
        (&[2, 1, 2, 1, 2, 3, 4, 5], &[1, 2, 1, 2, 1, 3, 5, 6]),
    ] {
        for arrangement in Arrangement::ALL {
            let left = random(&exec, DType::F32, a, arrangement, &mut rng);
            let right = random(&exec, DType::F32, b, arrangement, &mut rng);
            run(&exec, &left, &right, DType::F32, 4);
        }
    }
}

#[test]
fn random_shapes_agree_with_the_reference() {
    let exec = common::executor();
    let mut rng = Random(5);
    for _ in 0..60 {
        let dtype = rng.pick(&NUMBERS);
        let [m, n, k] = [(); 3].map(|()| rng.below(90));
        let batch: Vec<usize> = (0..rng.below(3)).map(|_| 1 + rng.below(3)).collect();
        let (left, right) = (rng.pick(&Arrangement::ALL), rng.pick(&Arrangement::ALL));
        let a = random(
            &exec,
            dtype,
            &[&batch[..], &[m, k]].concat(),
            left,
            &mut rng,
        );
        let b = random(&exec, dtype, &[k, n], right, &mut rng);
        run(&exec, &a, &b, dtype, rng.below(9));
    }
}

#[test]
fn small_workgroups_and_default_limits_give_the_products_too() {
    let mut rng = Random(9);
    for exec in [common::narrow_executor(), common::plain_executor()] {
        for (m, n, k) in [
            (65, 63, 17),
            (1, 97, 301),
            (97, 1, 301),
            (1, 1, 4099),
            (3, 30_011, 2),
        ] {
            let a = random(
                &exec,
                DType::F16,
                &[m, k],
                Arrangement::Contiguous,
                &mut rng,
            );
            let b = random(
                &exec,
                DType::F16,
                &[k, n],
                Arrangement::Transposed,
                &mut rng,
            );
            run(&exec, &a, &b, DType::F16, 1);
        }
    }
}

#[test]
fn zero_times_infinity_is_not_a_number_and_nothing_else_is() {
    let exec = common::executor();
    for (m, n, k) in [(20, 20, 20), (1, 5, 70), (5, 1, 70)] {
        let mut a = vec![0.0; m * k];
        let b = vec![1.0; k * n];
        let mut b_values = b;
        b_values[n] = f64::INFINITY; // b[1, 0]
        a[k - 1] = 3.0; // a[0, k - 1]
        let left = given(&exec, DType::F32, &[m, k], &a);
        let right = given(&exec, DType::F32, &[k, n], &b_values);
        let out = output(&exec, DType::F32, &[m, n], 0);
        let _done = exec.matmul(&left.view, &right.view, &out.view).unwrap();
        let y = out.read(&exec);
        for (i, v) in y.iter().enumerate() {
            assert_eq!(v.is_nan(), i % n == 0, "{m} {n} {k}: element {i} is {v}");
        }
    }
}

#[test]
fn floats_may_be_written_wider_and_bytes_too() {
    let exec = common::executor();
    let mut rng = Random(6);
    for (input, wide) in [
        (DType::F16, DType::F32),
        (DType::BF16, DType::F32),
        (DType::I8, DType::I32),
        (DType::U8, DType::U32),
    ] {
        for (m, n) in [(20, 24), (2, 24)] {
            let a = random(&exec, input, &[m, 40], Arrangement::Contiguous, &mut rng);
            let b = random(&exec, input, &[40, n], Arrangement::Contiguous, &mut rng);
            run(&exec, &a, &b, wide, 4);
        }
    }
}

#[test]
fn many_small_batches_fold_the_grid() {
    let exec = common::executor();
    // One workgroup per batch in the tiled kernel, more than 65,535 of them; all share one pair of matrices.
    let batch = 65_537;
    let mut rng = Random(7);
    let a = random(
        &exec,
        DType::U8,
        &[16, 4],
        Arrangement::Contiguous,
        &mut rng,
    );
    let b = random(
        &exec,
        DType::U8,
        &[4, 16],
        Arrangement::Contiguous,
        &mut rng,
    );
    let spread = |o: &Operand, dims: &[usize]| {
        o.view
            .with_layout(o.view.layout.expand(shape(dims)).unwrap())
            .unwrap()
    };
    let (wide_a, wide_b) = (spread(&a, &[batch, 16, 4]), spread(&b, &[batch, 4, 16]));
    // A batch stride of b that is not 0 keeps the batches apart.
    let out = output(&exec, DType::U8, &[batch, 16, 16], 0);
    let _done = exec.matmul(&wide_a, &wide_b, &out.view).unwrap();
    let one = expected(&a, &b, DType::U8, &[]);
    for (i, got) in out.read(&exec).chunks(256).enumerate() {
        assert!(
            got.iter().zip(&one).all(|(g, e)| *g == e.value),
            "batch {i}"
        );
    }
}

#[test]
fn an_output_that_is_an_input_or_strided_goes_through_scratch() {
    let exec = common::executor();
    let mut rng = Random(8);
    let a = random(
        &exec,
        DType::F32,
        &[20, 20],
        Arrangement::Contiguous,
        &mut rng,
    );
    let b = random(
        &exec,
        DType::F32,
        &[20, 20],
        Arrangement::Contiguous,
        &mut rng,
    );
    let wanted = expected(&a, &b, DType::F32, &[]);
    let transposed = output(&exec, DType::F32, &[20, 20], 1);
    let view = transposed
        .view
        .with_layout(transposed.view.layout.transpose(0, 1).unwrap())
        .unwrap();
    let _done = exec.matmul(&a.view, &b.view, &view).unwrap();
    let y = transposed.read(&exec);
    let back: Vec<f64> = (0..400).map(|i| y[(i % 20) * 20 + i / 20]).collect();
    check("transposed output", &back, &wanted);
    let _done = exec.matmul(&a.view, &b.view, &a.view).unwrap();
    let bytes = exec.download(&a.view).unwrap().wait().unwrap();
    check("in place", &decode(DType::F32, &bytes), &wanted);
}

#[test]
fn operands_that_do_not_fit_are_typed_errors() {
    let exec = common::executor();
    let view = |dtype, dims: &[usize]| exec.alloc(&shape(dims), dtype).unwrap();
    let f = |dims: &[usize]| view(DType::F32, dims);
    let error = exec
        .matmul(&f(&[2, 3]), &f(&[4, 5]), &f(&[2, 5]))
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "matmul: inner dimensions differ: left is [2, 3], right is [4, 5]"
    );
    let wrong = [
        exec.matmul(&f(&[3]), &f(&[3, 5]), &f(&[5])),
        exec.matmul(&f(&[2, 3]), &f(&[3, 5]), &f(&[5, 2])),
        // Floats of two dtypes are read as f32, which the result then is; others have no common dtype.
        exec.matmul(
            &f(&[2, 3]),
            &view(DType::F16, &[3, 5]),
            &view(DType::F16, &[2, 5]),
        ),
        exec.matmul(&f(&[2, 3]), &view(DType::I32, &[3, 5]), &f(&[2, 5])),
        exec.matmul(
            &view(DType::Bool, &[2, 3]),
            &view(DType::Bool, &[3, 5]),
            &view(DType::Bool, &[2, 5]),
        ),
        exec.matmul(&f(&[2, 3]), &f(&[3, 5]), &view(DType::F16, &[2, 5])),
    ];
    for result in wrong {
        assert!(matches!(
            result.unwrap_err(),
            KernelError::Operands { .. } | KernelError::Output { .. } | KernelError::Dtype { .. }
        ));
    }
}

#[test]
fn the_comparison_catches_a_wrong_element() {
    let wanted = [
        Expected::sum(1.0, 1.0, 4, DType::F32),
        Expected::exact(f64::NAN),
        Expected::exact(f64::INFINITY),
    ];
    assert_eq!(
        worst(&[1.0, f64::NAN, f64::INFINITY], &wanted).unwrap().0,
        0.0
    );
    for wrong in [
        [1.001, f64::NAN, f64::INFINITY],
        [1.0, 0.0, f64::INFINITY],
        [f64::NAN, f64::NAN, f64::INFINITY],
        [1.0, f64::NAN, f64::NEG_INFINITY],
    ] {
        assert!(worst(&wrong, &wanted).unwrap().0 > 1.0, "{wrong:?}");
    }
    assert_eq!(
        decode(DType::F16, &encode(DType::F16, &[65_520.0])),
        [f64::INFINITY]
    );
}

#[test]
fn every_dtype_moves_by_words_and_by_vec4_and_in_chunks() {
    let (exec, narrow) = (common::executor(), common::narrow_executor());
    let mut rng = Random(11);
    for dtype in NUMBERS {
        let sums = match dtype {
            DType::I8 => DType::I32,
            DType::U8 => DType::U32,
            other if other.is_float() => DType::F32,
            other => other,
        };
        let outputs = [dtype, sums];
        for &to in if dtype == sums {
            &outputs[..1]
        } else {
            &outputs
        } {
            for (k, n) in [(20, 20), (19, 20), (20, 19), (19, 19)] {
                // A sliced b has no four columns side by side.
                for right in [Arrangement::Contiguous, Arrangement::Sliced] {
                    let left = Arrangement::Contiguous;
                    let a = random(&exec, dtype, &[17, k], left, &mut rng);
                    let b = random(&exec, dtype, &[k, n], right, &mut rng);
                    run(&exec, &a, &b, to, 4);
                }
            }
            // Eight invocations cut 600 products into chunks.
            let mut line =
                |dims: &[usize]| random(&narrow, dtype, dims, Arrangement::Contiguous, &mut rng);
            let (a, b) = (line(&[1, 600]), line(&[600, 1]));
            run(&narrow, &a, &b, to, 0);
        }
    }
}
