//! Every way that attention runs, where the ways may differ.

use super::*;

// Every form that an adapter with matrix units has for a case, over what tiles, masks and NaN differ by: a test for each dtype, for they
// take minutes under the sanitizer.

#[test]
fn every_way_of_many_rows_of_f16_agrees_with_the_reference() {
    every_way(DType::F16);
}

#[test]
fn every_way_of_many_rows_of_bf16_agrees_with_the_reference() {
    every_way(DType::BF16);
}

#[test]
fn every_way_of_many_rows_of_f32_agrees_with_the_reference() {
    every_way(DType::F32);
}

fn every_way(dtype: DType) {
    for way in 0..6 {
        every_case(&common::matrix_executor().in_way(way), dtype);
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
        // Heads that end within a block of 16 keys' elements or of 32 columns.
        [1, 2, 1, 45, 70, 80, 72],
        [1, 2, 2, 40, 100, 36, 44],
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
        // A bias of NaN or infinity makes its row so, and no other.
        let values: Vec<f64> = (0..queries * keys)
            .map(|i| match (i / keys, i % keys) {
                (2, 1) => f64::NAN,
                (4, 0) => f64::INFINITY,
                (_, key) => f64::from(u8::from(key % 3 == 0)),
            })
            .collect();
        case.mask = Some(given(exec, DType::F32, &[queries, keys], &values));
        run(exec, &case, &scaled(0.3));
        case.mask = None;
        case.lengths = Some((0..batch).map(|i| keys - 7 - 20 * i).collect());
        run(exec, &case, &causal);
    }
}

/// Heads that f16 holds by a power of two, and heads that it does not hold, in one call.
#[test]
fn heads_of_any_range_agree_with_the_reference() {
    let exec = common::matrix_executor();
    heads_of_any_range(&exec, DType::BF16, 2f64.powi(-9));
    for way in 0..5 {
        // What every form of f32 may be off by: 8 ε (4 · dim · scale + 8).
        let error = 2f64.powi(-21) * (4.0 * 64.0 * 0.3 + 8.0);
        heads_of_any_range(&exec.in_way(way), DType::F32, error);
    }
}

/// `rounding` is what results may be off by, relative to the largest value.
fn heads_of_any_range(exec: &Executor, dtype: DType, rounding: f64) {
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
                exec,
                dtype,
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
            factors: None,
        };
        // Errors count relative to what is averaged.
        let mut wanted = expected(&case, &scaled(0.3));
        for (i, e) in wanted.iter_mut().enumerate() {
            let (first, factor) = heads[i / (shared_by * rows * dim)];
            e.bound += rounding * factor[2].max(first[2]);
        }
        let got = compute(exec, &case, &scaled(0.3));
        let what = format!("{dtype}, {keys} keys, {shared_by} queries");
        check(&what, &got, &wanted);
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

#[test]
fn matrix_units_scale_sums_and_leave_out_what_is_hidden() {
    // Keys and values each with memory of their own, and in turns in the same; whole blocks, and a part of one.
    for dim in [64, 128, 72] {
        let exec = common::matrix_executor();
        // Keys of one workgroup, and of several, whose sums are merged.
        for keys in [100, 400] {
            for dtype in [DType::F16, DType::BF16] {
                growing_scores(&exec.in_way(0), dtype, [keys, dim]);
                growing_scores(&exec.in_way(1), dtype, [keys, dim]);
            }
        }
        for way in 0..5 {
            growing_scores(&exec.in_way(way), DType::F32, [160, dim]);
        }
    }
}

/// Scores that grow from tile to tile, so that sums are scaled; what is NaN or infinite among keys that are seen and hidden.
fn growing_scores(exec: &Executor, dtype: DType, [keys, dim]: [usize; 2]) {
    let rows = 70;
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
        q: given(exec, dtype, &[1, 1, rows, dim], &q),
        k: given(exec, dtype, &[1, 1, keys, dim], k),
        v: given(exec, dtype, &[1, 1, keys, dim], v),
        mask: None,
        lengths: None,
        factors: None,
    };
    let causal = AttentionOptions {
        causal: true,
        ..scaled(1.0)
    };
    for step in [0.25, 2.0, -2.0, 300.0] {
        run(exec, &case(&growing(step), &v), &scaled(1.0));
        run(exec, &case(&growing(step), &v), &causal);
    }
    // Hidden from the first rows, seen by others.
    for odd in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let mut odd_v = v.clone();
        odd_v[40 * dim + 5] = odd;
        let got = compute(exec, &case(&growing(0.01), &odd_v), &causal);
        let want = compute(exec, &case(&growing(0.01), &v), &causal);
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
        let got = compute(exec, &case(&odd_k, &v), &causal);
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
                        factors: None,
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
