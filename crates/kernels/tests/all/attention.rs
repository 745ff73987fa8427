//! Attention against the reference: heads, masks, windows, lengths, tiles, and what may never be touched.

use crate::common;
use crate::expect;
use crate::operands::{
    Arrangement, Expected, Operand, Random, check, given, operand, output, random, shape,
};
use ziggurat_kernels::{AttentionOperands, AttentionOptions, DType, Executor, KernelError};

mod errors;
mod factors;
mod forms;
mod small;

struct Case {
    q: Operand,
    k: Operand,
    v: Operand,
    mask: Option<Operand>,
    lengths: Option<Vec<usize>>,
    /// Of keys and values, `[batch, key heads, keys, 2]`.
    factors: Option<Operand>,
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
        factors: None,
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
        factors: case.factors.as_ref().map(|factors| &factors.view),
    };
    let _done = exec.attention(&operands, options, &out.view).unwrap();
    out.read(exec)
}

fn expected(case: &Case, options: &AttentionOptions) -> Vec<Expected> {
    let of = |operand: &'_ Operand| (operand.values.clone(), operand.view.dims().to_vec());
    let times = |(mut values, dims): (Vec<f64>, Vec<usize>), which: usize| {
        if let Some(factors) = &case.factors {
            let element = dims[3].max(1);
            for (i, x) in values.iter_mut().enumerate() {
                *x *= factors.values[i / element * 2 + which];
            }
        }
        (values, dims)
    };
    let (q, k, v, mask) = (
        of(&case.q),
        times(of(&case.k), 0),
        times(of(&case.v), 1),
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
        factors: None,
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
