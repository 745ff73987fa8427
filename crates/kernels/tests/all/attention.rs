//! Attention against the reference: heads, masks, windows, lengths, tiles, and what may never be touched.

use crate::common;
use crate::expect;
use crate::operands::{
    Arrangement, Expected, Operand, Random, check, given, operand, output, random, shape,
};
use ziggurat_kernels::{AttentionOperands, AttentionOptions, DType, Executor, KernelError};

struct Case {
    q: Operand,
    k: Operand,
    v: Operand,
    mask: Option<Operand>,
    lengths: Option<Vec<usize>>,
}

/// Extents: batch, heads, key heads, queries, keys, elements, value elements.
fn case(
    exec: &Executor,
    e: [usize; 7],
    dtype: DType,
    arrangement: Arrangement,
    rng: &mut Random,
) -> Case {
    let [batch, heads, kv_heads, queries, keys, dim, value_dim] = e;
    let mut make = |dims: [usize; 4]| random(exec, dtype, &dims, arrangement, rng);
    Case {
        q: make([batch, heads, queries, dim]),
        k: make([batch, kv_heads, keys, dim]),
        v: make([batch, kv_heads, keys, value_dim]),
        mask: None,
        lengths: None,
    }
}

fn compute(exec: &Executor, case: &Case, options: &AttentionOptions) -> Vec<f64> {
    let (q, v) = (case.q.view.dims(), case.v.view.dims());
    let out = output(exec, case.q.view.dtype, &[q[0], q[1], q[2], v[3]], 3);
    let lengths = case.lengths.as_ref().map(|lengths| {
        let values: Vec<f64> = lengths.iter().map(|&n| n as f64).collect();
        given(exec, DType::I32, &[values.len()], &values)
    });
    let operands = AttentionOperands {
        q: &case.q.view,
        k: &case.k.view,
        v: &case.v.view,
        mask: case.mask.as_ref().map(|mask| &mask.view),
        lengths: lengths.as_ref().map(|lengths| &lengths.view),
    };
    let _done = exec.attention(&operands, options, &out.view).unwrap();
    out.read(exec)
}

fn expected(case: &Case, options: &AttentionOptions) -> Vec<Expected> {
    let of = |operand: &'_ Operand| (operand.values.clone(), operand.view.dims().to_vec());
    let (q, k, v, mask) = (
        of(&case.q),
        of(&case.k),
        of(&case.v),
        case.mask.as_ref().map(of),
    );
    let given = expect::Attention {
        q: (&q.0, &q.1),
        k: (&k.0, &k.1),
        v: (&v.0, &v.1),
        mask: (mask.as_ref().zip(case.mask.as_ref()))
            .map(|((values, dims), mask)| (&values[..], &dims[..], mask.view.dtype)),
        lengths: case.lengths.as_deref(),
    };
    expect::attention(&given, options, case.q.view.dtype)
}

fn run(exec: &Executor, case: &Case, options: &AttentionOptions) {
    let dtype = case.q.view.dtype;
    let mut wanted = expected(case, options);
    if dtype != DType::F32 && !exec.device().caps().cooperative_matrix.is_empty() {
        // Weights are rounded to f16, which moves what they average by half an ULP of the values' distance, up to 4.
        wanted.iter_mut().for_each(|e| e.bound += 2f64.powi(-9));
    }
    let what = format!(
        "{dtype} {} {} {options:?}",
        case.q.view.shape(),
        case.k.view.shape()
    );
    check(&what, &compute(exec, case, options), &wanted);
}

fn scaled(scale: f32) -> AttentionOptions {
    AttentionOptions {
        scale,
        ..AttentionOptions::default()
    }
}

#[test]
fn extents_around_tiles_and_grouped_heads_are_right() {
    let mut rng = Random(1);
    for exec in [common::executor(), common::plain_executor()] {
        for e in [
            [1, 1, 1, 1, 1, 1, 1],
            [2, 3, 3, 7, 9, 8, 5],
            [1, 4, 2, 17, 33, 33, 65],
            [2, 6, 1, 1, 40, 16, 16],
            [1, 2, 2, 16, 16, 32, 64],
            [1, 1, 1, 3, 15, 256, 256],
            [1, 1, 1, 2, 5, 300, 321],
            [1, 1, 1, 5, 70, 0, 3],
        ] {
            let case = case(&exec, e, DType::F32, Arrangement::Contiguous, &mut rng);
            run(&exec, &case, &scaled(0.3));
            let causal = AttentionOptions {
                causal: true,
                ..scaled(0.3)
            };
            run(&exec, &case, &causal);
        }
    }
}

#[test]
fn keys_that_take_several_dispatches_agree_with_the_reference() {
    let mut rng = Random(31);
    let executors = [common::executor(), common::plain_executor()];
    for (exec, dtype) in executors.into_iter().zip([DType::F16, DType::F32]) {
        let e = [2, 2, 1, 2, 9_003, 5, 130];
        let mut case = case(&exec, e, dtype, Arrangement::Contiguous, &mut rng);
        run(&exec, &case, &scaled(0.4));
        // All that a row sees is in the first dispatch, or in the last one.
        let options = AttentionOptions {
            left_window: Some(7),
            shift: 40,
            ..scaled(0.4)
        };
        run(&exec, &case, &options);
        case.lengths = Some(vec![9_000, 2]);
        run(&exec, &case, &options);
    }
}

#[test]
fn positions_windows_and_caps_hide_and_bend_scores() {
    let exec = common::executor();
    let mut rng = Random(3);
    let case = case(
        &exec,
        [2, 2, 1, 11, 37, 8, 8],
        DType::F32,
        Arrangement::Contiguous,
        &mut rng,
    );
    for shift in [0, 26, -4, 100] {
        for causal in [false, true] {
            for (left, right) in [
                (None, None),
                (Some(3), None),
                (None, Some(2)),
                (Some(0), Some(0)),
                (Some(u32::MAX), Some(5)),
            ] {
                let options = AttentionOptions {
                    causal,
                    shift,
                    left_window: left,
                    right_window: right,
                    zero_masked_rows: causal,
                    ..scaled(0.4)
                };
                run(&exec, &case, &options);
            }
        }
    }
    for softcap in [0.5, 2.0, 50.0] {
        let options = AttentionOptions {
            softcap,
            ..scaled(1.5)
        };
        run(&exec, &case, &options);
    }
}

#[test]
fn masks_of_either_kind_and_lengths_hide_keys() {
    let exec = common::executor();
    let mut rng = Random(4);
    for dtype in [DType::F32, DType::F16] {
        for dims in [&[5, 20][..], &[2, 4, 5, 20]] {
            for kind in [DType::Bool, DType::F32] {
                let mut case = case(
                    &exec,
                    [2, 4, 2, 5, 20, 8, 6],
                    dtype,
                    Arrangement::Contiguous,
                    &mut rng,
                );
                let mut next = 0;
                case.mask = Some(operand(&exec, kind, dims, Arrangement::Transposed, || {
                    next += 1;
                    let value = rng.value(kind);
                    if next % 5 == 0 && kind == DType::F32 {
                        f64::NEG_INFINITY
                    } else {
                        value
                    }
                }));
                run(&exec, &case, &scaled(0.3));
                case.lengths = Some(vec![13, 20]);
                let options = AttentionOptions {
                    causal: true,
                    softcap: 3.0,
                    ..scaled(0.3)
                };
                run(&exec, &case, &options);
                case.lengths = Some(vec![0, 3]);
                let options = AttentionOptions {
                    zero_masked_rows: true,
                    ..scaled(0.3)
                };
                run(&exec, &case, &options);
            }
        }
    }
}

#[test]
fn rows_without_keys_are_zero_or_not_numbers() {
    let exec = common::executor();
    let mut rng = Random(5);
    for e in [[1, 2, 2, 3, 0, 4, 5], [1, 2, 1, 3, 4, 4, 5]] {
        let mut case = case(&exec, e, DType::F32, Arrangement::Contiguous, &mut rng);
        if e[4] > 0 {
            case.mask = Some(operand(
                &exec,
                DType::Bool,
                &[3, 4],
                Arrangement::Contiguous,
                || 0.0,
            ));
        }
        assert!(
            compute(&exec, &case, &scaled(1.0))
                .iter()
                .all(|y| y.is_nan())
        );
        let zero = AttentionOptions {
            zero_masked_rows: true,
            ..scaled(1.0)
        };
        assert!(compute(&exec, &case, &zero).iter().all(|&y| y == 0.0));
    }
}

#[test]
fn hidden_keys_may_hold_anything_and_seen_ones_spread_not_a_number() {
    let exec = common::executor();
    let nan = f64::NAN;
    let case = |k: &[f64], v: &[f64]| Case {
        q: given(&exec, DType::F32, &[1, 1, 2, 1], &[1.0, 1.0]),
        k: given(&exec, DType::F32, &[1, 1, 3, 1], k),
        v: given(&exec, DType::F32, &[1, 1, 3, 1], v),
        mask: Some(given(
            &exec,
            DType::Bool,
            &[2, 3],
            &[1.0, 1.0, 0.0, 1.0, 0.0, 0.0],
        )),
        lengths: None,
    };
    let got = compute(
        &exec,
        &case(&[0.0, 0.0, nan], &[2.0, 4.0, nan]),
        &scaled(1.0),
    );
    assert_eq!(got, [3.0, 2.0]);
    let got = compute(
        &exec,
        &case(&[0.0, nan, 0.0], &[2.0, 4.0, 0.0]),
        &scaled(1.0),
    );
    assert!(got[0].is_nan() && got[1] == 2.0, "{got:?}");
    let got = compute(
        &exec,
        &case(&[0.0, f64::INFINITY, 0.0], &[2.0, 4.0, 0.0]),
        &scaled(1.0),
    );
    assert!(got[0].is_nan() && got[1] == 2.0, "{got:?}");
    // Large scores do not overflow.
    let got = compute(
        &exec,
        &case(&[3e4, -3e4, 0.0], &[2.0, 4.0, 0.0]),
        &scaled(1.0),
    );
    assert_eq!(got, [2.0, 2.0]);
}

#[test]
fn many_heads_fold_the_grid_and_nothing_is_nothing() {
    let exec = common::executor();
    let mut rng = Random(6);
    // One workgroup per batch: more than one row of workgroups.
    let case_ = case(
        &exec,
        [65_537, 1, 1, 1, 1, 0, 1],
        DType::F32,
        Arrangement::Contiguous,
        &mut rng,
    );
    run(&exec, &case_, &scaled(1.0));
    for e in [
        [0, 2, 1, 3, 4, 5, 6],
        [2, 0, 0, 3, 4, 5, 6],
        [1, 2, 1, 0, 4, 5, 6],
        [1, 2, 1, 3, 4, 5, 0],
    ] {
        let case = case(&exec, e, DType::F32, Arrangement::Contiguous, &mut rng);
        assert!(compute(&exec, &case, &scaled(1.0)).is_empty());
    }
}

#[test]
fn wrong_calls_are_typed_errors() {
    let exec = common::executor();
    let view = |dtype, dims: &[usize]| exec.alloc(&shape(dims), dtype).unwrap();
    let (q, k) = (
        view(DType::F32, &[2, 4, 3, 8]),
        view(DType::F32, &[2, 2, 5, 8]),
    );
    let operands = AttentionOperands {
        q: &q,
        k: &k,
        v: &k,
        mask: None,
        lengths: None,
    };
    let call =
        |operands: &AttentionOperands<'_>| exec.attention(operands, &scaled(1.0), &q).unwrap_err();
    let three = view(DType::F32, &[2, 3, 5, 8]);
    let error = call(&AttentionOperands {
        k: &three,
        v: &three,
        ..operands
    });
    assert_eq!(
        error.to_string(),
        "attention: the heads of k do not divide those of q: left is [2, 4, 3, 8], right is [2, 3, 5, 8]"
    );
    let narrow = view(DType::F32, &[2, 2, 5, 7]);
    assert!(matches!(
        call(&AttentionOperands {
            k: &narrow,
            ..operands
        }),
        KernelError::Operands { .. }
    ));
    assert!(matches!(
        call(&AttentionOperands { v: &q, ..operands }),
        KernelError::Operands { .. }
    ));
    let half = view(DType::F16, &[2, 2, 5, 8]);
    assert!(matches!(
        call(&AttentionOperands {
            v: &half,
            ..operands
        }),
        KernelError::Dtype { operand: "v", .. }
    ));
    let flat = view(DType::F32, &[3, 8]);
    assert!(matches!(
        call(&AttentionOperands {
            q: &flat,
            ..operands
        }),
        KernelError::Operand { .. }
    ));
    let mask = view(DType::I32, &[3, 5]);
    assert!(matches!(
        call(&AttentionOperands {
            mask: Some(&mask),
            ..operands
        }),
        KernelError::Dtype {
            operand: "mask",
            ..
        }
    ));
    let mask = view(DType::Bool, &[3, 6]);
    assert!(matches!(
        call(&AttentionOperands {
            mask: Some(&mask),
            ..operands
        }),
        KernelError::Operands { .. }
    ));
    let lengths = view(DType::I32, &[3]);
    assert!(matches!(
        call(&AttentionOperands {
            lengths: Some(&lengths),
            ..operands
        }),
        KernelError::Operand {
            operand: "lengths",
            ..
        }
    ));
    let error = exec
        .attention(&operands, &scaled(1.0), &view(DType::F32, &[2, 4, 3, 7]))
        .unwrap_err();
    assert!(matches!(error, KernelError::Output { .. }), "{error}");
    for shift in [i32::MIN, i32::MAX, (1 << 30) + 1] {
        let options = AttentionOptions {
            shift,
            ..scaled(1.0)
        };
        let out = view(DType::F32, &[2, 4, 3, 8]);
        let error = exec.attention(&operands, &options, &out).unwrap_err();
        assert!(
            matches!(&error, KernelError::Option { got, .. } if *got == i64::from(shift)),
            "{error}"
        );
    }
}

/// Every form that an adapter with matrix units has for a case, over what tiles, masks and NaN differ by.
#[test]
fn every_way_of_16_bits_agrees_with_the_reference() {
    for way in 0..6 {
        let exec = common::matrix_executor().in_way(way);
        every_case(&exec, DType::F16);
        every_case(&exec, DType::BF16);
    }
}

fn every_case(exec: &Executor, dtype: DType) {
    let mut rng = Random(41);
    let causal = AttentionOptions {
        causal: true,
        ..scaled(0.3)
    };
    for e in [
        [1, 1, 1, 64, 64, 64, 64],
        [2, 4, 2, 37, 33, 16, 32],
        [1, 2, 1, 33, 100, 128, 128],
        [1, 3, 3, 70, 130, 96, 96],
        [1, 2, 2, 130, 130, 48, 64],
    ] {
        let mut case = case(exec, e, dtype, Arrangement::Contiguous, &mut rng);
        run(exec, &case, &scaled(0.3));
        run(exec, &case, &causal);
        let windows = AttentionOptions {
            left_window: Some(20),
            right_window: Some(3),
            softcap: 2.0,
            shift: 5,
            ..scaled(1.5)
        };
        run(exec, &case, &windows);
        let [batch, heads, _, queries, keys, ..] = e;
        for kind in [DType::Bool, DType::F32] {
            let mut next = 0;
            let dims = [batch, heads, queries, keys];
            let mask = operand(exec, kind, &dims, Arrangement::Contiguous, || {
                next += 1;
                let value = rng.value(kind);
                if next % 5 == 0 && kind == DType::F32 {
                    f64::NEG_INFINITY
                } else {
                    value
                }
            });
            case.mask = Some(mask);
            run(exec, &case, &causal);
        }
        case.mask = None;
        case.lengths = Some((0..batch).map(|i| keys - 7 - 20 * i).collect());
        run(exec, &case, &causal);
    }
}

/// Heads of bf16 that f16 holds by a power of two, and heads that it does not hold, in one call.
#[test]
fn heads_of_any_range_of_bf16_agree_with_the_reference() {
    let exec = common::matrix_executor();
    let (rows, dim) = (33, 64);
    // The first query, key and value element, and what the others are multiplied by.
    let heads: [([f64; 3], [f64; 3]); 9] = [
        ([1.0; 3], [1.0; 3]),
        // Ones that f16 would make 0 or infinite without a power of two.
        ([1.0; 3], [1e-9, 1e9, 1e-12]),
        ([1.0; 3], [1e9, 1e-9, 1e12]),
        ([0.0; 3], [0.0; 3]),
        // Elements that matter beside one that is larger by more than f16 has exponents.
        (
            [0.0, 2f64.powi(40), 1.0],
            [2f64.powi(20), 2f64.powi(-20), 1.0],
        ),
        (
            [2f64.powi(40), 0.0, 1.0],
            [2f64.powi(-20), 2f64.powi(20), 1.0],
        ),
        ([1.0, 1.0, 2f64.powi(50)], [1.0; 3]),
        // Beyond what products of three stay within.
        ([1.0; 3], [1e-30, 1e30, 1e30]),
        ([1.0, f64::NAN, 1.0], [1.0; 3]),
    ];
    let mut rng = Random(47);
    for (keys, shared_by) in [(130, 1), (130, 2), (1_000, 1)] {
        let mut make = |which: usize, rows: usize, shared_by: usize| {
            let mut values = Vec::new();
            for (first, factor) in heads {
                for i in 0..shared_by * rows * dim {
                    let random = rng.value(DType::F32) * factor[which];
                    values.push(if i % dim == 0 { first[which] } else { random });
                }
            }
            given(
                &exec,
                DType::BF16,
                &[1, heads.len() * shared_by, rows, dim],
                &values,
            )
        };
        let case = Case {
            q: make(0, rows, shared_by),
            k: make(1, keys, 1),
            v: make(2, keys, 1),
            mask: None,
            lengths: None,
        };
        // Errors count relative to what is averaged.
        let mut wanted = expected(&case, &scaled(0.3));
        for (i, e) in wanted.iter_mut().enumerate() {
            let (first, factor) = heads[i / (shared_by * rows * dim)];
            e.bound += 2f64.powi(-9) * factor[2].max(first[2]);
        }
        let got = compute(&exec, &case, &scaled(0.3));
        check(&format!("{keys} keys, {shared_by} queries"), &got, &wanted);
    }
}

/// One row and several per key head, whose keys are shared by the invocations of subgroups, and by workgroups.
#[test]
fn every_way_of_few_rows_agrees_with_the_reference() {
    let mut rng = Random(43);
    for way in 0..7 {
        let exec = common::matrix_executor().in_way(way);
        for (e, dtype) in [
            ([1, 2, 2, 1, 300, 64, 64], DType::F32),
            ([2, 2, 2, 1, 130, 128, 96], DType::F16),
            ([1, 8, 2, 1, 1100, 128, 128], DType::BF16),
            ([1, 6, 2, 2, 70, 24, 16], DType::F16),
            ([1, 3, 1, 3, 700, 72, 136], DType::F32),
            ([2, 4, 4, 1, 40, 256, 256], DType::F32),
        ] {
            let mut case = case(&exec, e, dtype, Arrangement::Contiguous, &mut rng);
            run(&exec, &case, &scaled(0.3));
            let windows = AttentionOptions {
                left_window: Some(40),
                softcap: 2.0,
                shift: 60,
                ..scaled(1.5)
            };
            run(&exec, &case, &windows);
            let [batch, heads, _, queries, keys, ..] = e;
            let dims = [batch, heads, queries, keys];
            case.mask = Some(operand(
                &exec,
                DType::Bool,
                &dims,
                Arrangement::Contiguous,
                || rng.value(DType::Bool),
            ));
            case.lengths = Some((0..batch).map(|i| keys - 7 - 20 * i).collect());
            run(&exec, &case, &scaled(0.3));
        }
    }
}

/// Scores that grow from tile to tile, so that sums are scaled; what is NaN or infinite among keys that are seen and hidden.
#[test]
fn matrix_units_scale_sums_and_leave_out_what_is_hidden() {
    let exec = common::matrix_executor();
    let [rows, keys, dim] = [70, 160, 64];
    let q: Vec<f64> = (0..rows * dim)
        .map(|i| {
            if i % dim == 0 {
                1.0 + (i / dim % 3) as f64
            } else {
                0.0
            }
        })
        .collect();
    let growing = |step: f64| -> Vec<f64> {
        let key = |i: usize| {
            if i.is_multiple_of(dim) {
                step * (i / dim) as f64
            } else {
                0.5
            }
        };
        (0..keys * dim).map(key).collect()
    };
    let v: Vec<f64> = (0..keys * dim)
        .map(|i| ((i * 37 + i / dim * 11) % 17) as f64 / 8.0 - 1.0)
        .collect();
    let case = |k: &[f64], v: &[f64]| Case {
        q: given(&exec, DType::F16, &[1, 1, rows, dim], &q),
        k: given(&exec, DType::F16, &[1, 1, keys, dim], k),
        v: given(&exec, DType::F16, &[1, 1, keys, dim], v),
        mask: None,
        lengths: None,
    };
    let causal = AttentionOptions {
        causal: true,
        ..scaled(1.0)
    };
    for step in [0.25, 2.0, -2.0, 300.0] {
        run(&exec, &case(&growing(step), &v), &scaled(1.0));
        run(&exec, &case(&growing(step), &v), &causal);
    }
    // Hidden from the first rows, seen by others.
    for odd in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let mut odd_v = v.clone();
        odd_v[40 * dim + 5] = odd;
        let got = compute(&exec, &case(&growing(0.01), &odd_v), &causal);
        let want = compute(&exec, &case(&growing(0.01), &v), &causal);
        for (i, (got, want)) in got.iter().zip(&want).enumerate() {
            let (row, column) = (i / dim, i % dim);
            if row >= 40 && column == 5 {
                assert!(
                    got.is_nan() == odd.is_nan() && !got.is_finite(),
                    "{i}: {got}"
                );
            } else {
                assert!((got - want).abs() < 4e-3, "{i}: {got} {want}");
            }
        }
        let mut odd_k = growing(0.01);
        odd_k[40 * dim] = odd;
        let got = compute(&exec, &case(&odd_k, &v), &causal);
        for (i, (got, want)) in got.iter().zip(&want).enumerate() {
            let wrong = i / dim >= 40 && odd != f64::NEG_INFINITY;
            assert_eq!(got.is_nan(), wrong, "{i}: {got} {want}");
        }
    }
}

#[test]
fn every_dtype_has_every_mask_with_lengths_and_caps() {
    let exec = common::executor();
    let mut rng = Random(8);
    for dtype in [DType::F32, DType::F16, DType::BF16] {
        // Strided; aligned, with many rows, with few and with one.
        let forms = [
            [2, 2, 1, 3, 70, 5, 6],
            [1, 2, 1, 10, 70, 8, 4],
            [2, 2, 1, 3, 70, 8, 8],
            [2, 1, 1, 1, 70, 64, 64],
        ];
        let masks = [None, Some(DType::Bool), Some(DType::F32)];
        for (extents, mask) in forms.into_iter().flat_map(|e| masks.map(|mask| (e, mask))) {
            let mut case = case(&exec, extents, dtype, Arrangement::Contiguous, &mut rng);
            let dims = [extents[3], extents[4]];
            case.mask =
                mask.map(|kind| random(&exec, kind, &dims, Arrangement::Contiguous, &mut rng));
            let some = (0..extents[0]).map(|batch| 4 + 66 * batch).collect();
            for lengths in [None, Some(some)] {
                case.lengths = lengths;
                for softcap in [0.0, 2.0] {
                    let options = AttentionOptions {
                        softcap,
                        zero_masked_rows: true,
                        ..scaled(0.3)
                    };
                    // Aligned forms have the same parts: all of them, or none.
                    let parts = [mask.is_some(), case.lengths.is_some(), softcap > 0.0];
                    if extents[5] % 4 != 0 || parts == [parts[0]; 3] {
                        run(&exec, &case, &options);
                    }
                }
            }
        }
    }
}

/// Attention by definition to single rows, with plain numbers: what a form may do, others do too.
#[test]
fn every_form_keeps_what_the_contract_says_of_odd_numbers() {
    let exec = common::executor();
    let (nan, inf) = (f64::NAN, f64::INFINITY);
    // Rows, elements: strided, few, tiles, one.
    for (rows, dim) in [(2, 5), (2, 8), (40, 8), (1, 8)] {
        for dtype in [DType::F32, DType::F16, DType::BF16] {
            for keys in [3, 600] {
                let at = |row: usize, d: usize, x: f64| {
                    move |i: usize| if i == row * dim + d { x } else { 0.0 }
                };
                let make = |dims: [usize; 4], f: &dyn Fn(usize) -> f64| {
                    let values: Vec<f64> = (0..dims.iter().product()).map(f).collect();
                    given(&exec, dtype, &dims, &values)
                };
                let call = |k: &dyn Fn(usize) -> f64, v: &dyn Fn(usize) -> f64, hidden: usize| {
                    let mask: Vec<f64> = (0..keys)
                        .map(|key| f64::from(u8::from(key != hidden)))
                        .collect();
                    let case = Case {
                        q: make([1, 1, rows, dim], &|_| 1.0),
                        k: make([1, 1, keys, dim], k),
                        v: make([1, 1, keys, dim], v),
                        mask: Some(given(&exec, DType::Bool, &[1, keys], &mask)),
                        lengths: None,
                    };
                    compute(&exec, &case, &scaled(1.0))
                };
                let what = format!("{rows} {dim} {dtype} {keys}");
                let last = keys - 1;
                for odd in [nan, inf, -inf] {
                    // A hidden key and its value may be anything.
                    let got = call(&at(last, 1, odd), &at(last, 2, odd), last);
                    assert!(got.iter().all(|&y| y == 0.0), "{what} {odd}: {got:?}");
                    // So may a value whose key is far below the others.
                    let got = call(&at(1, 1, -1e4), &at(1, 2, odd), last);
                    assert!(got.iter().all(|&y| y == 0.0), "{what} {odd}: {got:?}");
                    // Also one that was the greatest before.
                    let far = |i: usize| if i / dim == last { 1e4 } else { 0.0 };
                    let got = call(&far, &at(0, 2, odd), keys);
                    assert!(got.iter().all(|&y| y == 0.0), "{what} {odd}: {got:?}");
                }
                for odd in [nan, inf] {
                    let got = call(&at(last, 1, odd), &|_| 1.0, 0);
                    assert!(got.iter().all(|y| y.is_nan()), "{what} {odd}: {got:?}");
                }
                // Large scores of either sign: the greatest alone counts.
                let got = call(
                    &|i| if i / dim == last { 1e4 } else { -1e4 },
                    &|i| if i / dim == last { 3.0 } else { 7.0 },
                    keys,
                );
                assert!(got.iter().all(|&y| y == 3.0), "{what}: {got:?}");
            }
        }
    }
}

#[test]
fn workgroups_share_the_keys_of_few_rows() {
    let exec = common::executor();
    let mut rng = Random(41);
    // The dims of heads at the limits of the form, and its neighbour; one row, some, and a tile; many splits.
    for (extents, dtype) in [
        ([1, 4, 2, 1, 1_000, 8, 16], DType::F32),
        ([2, 2, 2, 1, 700, 64, 128], DType::F16),
        ([1, 3, 1, 2, 520, 136, 256], DType::BF16),
        ([1, 16, 1, 1, 300, 256, 8], DType::F32),
        ([1, 2, 1, 9, 1_030, 24, 40], DType::F16),
        ([1, 1, 1, 1, 40_000, 8, 8], DType::F16),
        ([1, 1, 1, 70, 3_000, 20, 12], DType::F32),
    ] {
        let mut case = case(&exec, extents, dtype, Arrangement::Contiguous, &mut rng);
        run(&exec, &case, &scaled(0.3));
        let options = AttentionOptions {
            causal: true,
            left_window: Some(200),
            shift: extents[4] as i32 / 2,
            ..scaled(0.3)
        };
        run(&exec, &case, &options);
        case.lengths = Some(vec![extents[4] / 3; extents[0]]);
        run(&exec, &case, &options);
        let twice = [(); 2].map(|()| compute(&exec, &case, &options));
        assert_eq!(twice[0], twice[1]);
    }
}
