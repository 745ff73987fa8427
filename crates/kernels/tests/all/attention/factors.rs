//! Keys and values of i8 with factors, against the reference of what they stand for, in every way.

use super::*;

const FLOATS: [DType; 3] = [DType::F32, DType::F16, DType::BF16];

/// Extents as [`case`]. Integers of all values, factors that make them numbers up to 2.
fn integers(
    exec: &Executor,
    e: [usize; 7],
    dtype: DType,
    arrangement: Arrangement,
    rng: &mut Random,
) -> Case {
    let [batch, heads, kv_heads, queries, keys, dim, value_dim] = e;
    let queries = [batch, heads, queries, dim];
    let q = random(exec, dtype, &queries, Arrangement::Contiguous, rng);
    let mut make = |dims: [usize; 4]| random(exec, DType::I8, &dims, arrangement, rng);
    let (k, v) = (
        make([batch, kv_heads, keys, dim]),
        make([batch, kv_heads, keys, value_dim]),
    );
    let each = [batch, kv_heads, keys, 2];
    let factors = operand(exec, DType::F32, &each, arrangement, || {
        rng.value(DType::F32) / 128.0
    });
    Case {
        q,
        k,
        v,
        mask: None,
        lengths: None,
        factors: Some(factors),
    }
}

/// Plain, causal with a window and a cap, with masks, with lengths: over each everything that kernels differ by.
fn every_option(exec: &Executor, case: &mut Case, rng: &mut Random) {
    let (q, k) = (case.q.view.dims(), case.k.view.dims());
    let dims = [q[0], q[1], q[2], k[2]];
    run(exec, case, &scaled(0.3));
    let bent = AttentionOptions {
        causal: true,
        left_window: Some(dims[3] as u32 / 2),
        softcap: 2.0,
        shift: dims[3] as i32 / 2,
        zero_masked_rows: true,
        ..scaled(0.5)
    };
    run(exec, case, &bent);
    for kind in [DType::Bool, DType::F32] {
        let mut next = 0;
        let hidden = || {
            next += 1;
            match kind {
                DType::F32 if next % 5 == 0 => f64::NEG_INFINITY,
                kind => rng.value(kind),
            }
        };
        case.mask = Some(operand(exec, kind, &dims, Arrangement::Transposed, hidden));
        run(exec, case, &bent);
    }
    // With mask and lengths: as many bindings as there can be.
    case.lengths = Some((0..dims[0]).map(|batch| dims[3] / (1 + batch)).collect());
    run(exec, case, &bent);
    case.mask = None;
    run(exec, case, &scaled(0.3));
    case.lengths = Some(vec![0; dims[0]]);
    run(exec, case, &bent);
    case.lengths = None;
}

#[test]
fn every_way_reads_integers_as_what_they_stand_for() {
    let mut rng = Random(51);
    for way in 0..7 {
        let exec = common::matrix_executor().in_way(way);
        for (e, dtype) in [
            // One row, several, many; aligned for each width of loads, and not.
            ([2, 3, 3, 1, 70, 64, 32], DType::F32),
            ([1, 6, 2, 2, 130, 24, 40], DType::F16),
            ([1, 3, 1, 1, 75, 136, 200], DType::BF16),
            ([2, 2, 1, 37, 33, 16, 32], DType::F16),
            ([1, 2, 2, 70, 66, 64, 64], DType::F16),
            ([1, 2, 1, 20, 40, 12, 4], DType::F32),
            ([1, 2, 2, 3, 19, 5, 7], DType::BF16),
        ] {
            let mut case = integers(&exec, e, dtype, Arrangement::Contiguous, &mut rng);
            every_option(&exec, &mut case, &mut rng);
        }
    }
}

#[test]
fn integers_and_factors_may_be_any_views() {
    let mut rng = Random(52);
    for exec in [common::executor(), common::plain_executor()] {
        for dtype in FLOATS {
            for arrangement in Arrangement::ALL {
                for e in [[2, 2, 2, 1, 20, 8, 16], [2, 4, 2, 3, 9, 6, 5]] {
                    let case = integers(&exec, e, dtype, arrangement, &mut rng);
                    run(&exec, &case, &scaled(0.3));
                }
                // The first positions of a longer cache, of one of its slots.
                let mut case = integers(
                    &exec,
                    [3, 4, 2, 2, 50, 16, 8],
                    dtype,
                    Arrangement::Contiguous,
                    &mut rng,
                );
                let part = |operand: &mut Operand, positions: Option<usize>| {
                    let dims = operand.view.dims().to_vec();
                    let len = positions.unwrap_or(dims[2]);
                    let layout = operand.view.layout.narrow(0, 1, 1).unwrap();
                    let layout = layout.narrow(2, 0, len).unwrap();
                    let mut kept = Vec::new();
                    for (i, x) in operand.values.iter().enumerate() {
                        let (row, batch) = (i / dims[3], i / dims[1..].iter().product::<usize>());
                        if batch == 1 && row % dims[2] < len {
                            kept.push(*x);
                        }
                    }
                    *operand = Operand {
                        view: operand.view.with_layout(layout).unwrap(),
                        values: kept,
                    };
                };
                part(&mut case.q, None);
                part(&mut case.k, Some(41));
                part(&mut case.v, Some(41));
                if let Some(factors) = &mut case.factors {
                    part(factors, Some(41));
                }
                run(&exec, &case, &scaled(0.3));
            }
        }
    }
}

#[test]
fn workgroups_share_the_keys_of_integers() {
    let exec = common::executor();
    let mut rng = Random(53);
    for (e, dtype) in [
        ([1, 4, 2, 1, 1_000, 8, 16], DType::F32),
        ([2, 2, 2, 1, 700, 64, 128], DType::F16),
        ([1, 1, 1, 70, 3_000, 20, 12], DType::F32),
    ] {
        let mut case = integers(&exec, e, dtype, Arrangement::Contiguous, &mut rng);
        run(&exec, &case, &scaled(0.3));
        case.lengths = Some(vec![e[4] / 3; e[0]]);
        run(&exec, &case, &scaled(0.3));
        let twice = [(); 2].map(|()| compute(&exec, &case, &scaled(0.3)));
        assert_eq!(twice[0], twice[1]);
    }
}

#[test]
fn integers_beyond_a_binding_are_read_in_parts() {
    // Room for one head's integers, not for all of them; and for some factors.
    let exec = common::limited_executor(4 << 10, 1 << 20);
    let mut rng = Random(54);
    for e in [[1, 4, 2, 3, 60, 64, 64], [3, 2, 1, 1, 40, 64, 64]] {
        let mut case = integers(&exec, e, DType::F32, Arrangement::Contiguous, &mut rng);
        run(&exec, &case, &scaled(0.3));
        case.lengths = Some(vec![17; e[0]]);
        run(&exec, &case, &scaled(0.3));
    }
}

/// What is not a number, in factors: of what is seen it stays, what is hidden or has no weight may be anything.
#[test]
fn factors_that_are_no_numbers_make_their_key_or_value_so() {
    let (nan, inf) = (f64::NAN, f64::INFINITY);
    for way in 0..6 {
        let exec = common::matrix_executor().in_way(way);
        // Rows, elements: strided, few and lanes, tiles and matrix units.
        for (rows, dim, dtype) in [
            (2, 5, DType::F32),
            (1, 8, DType::F32),
            (2, 8, DType::BF16),
            (40, 32, DType::F16),
        ] {
            for keys in [3, 600] {
                let last = keys - 1;
                let call = |of_keys: &dyn Fn(usize) -> f64,
                            of_values: &dyn Fn(usize) -> f64,
                            hidden: usize| {
                    let mask: Vec<f64> = (0..keys)
                        .map(|key| f64::from(u8::from(key != hidden)))
                        .collect();
                    let ones = |dims: [usize; 4], dtype| {
                        let len = dims.iter().product();
                        given(&exec, dtype, &dims, &vec![1.0; len])
                    };
                    let both = |key: usize| [of_keys(key), of_values(key)];
                    let factors: Vec<f64> = (0..keys).flat_map(both).collect();
                    let case = Case {
                        q: ones([1, 1, rows, dim], dtype),
                        k: ones([1, 1, keys, dim], DType::I8),
                        v: ones([1, 1, keys, dim], DType::I8),
                        mask: Some(given(&exec, DType::Bool, &[1, keys], &mask)),
                        lengths: None,
                        factors: Some(given(&exec, DType::F32, &[1, 1, keys, 2], &factors)),
                    };
                    compute(&exec, &case, &scaled(1.0))
                };
                let what = format!("way {way}: {rows} {dim} {dtype} {keys}");
                for odd in [nan, inf, -inf] {
                    let at =
                        |key: usize, low: f64| move |i: usize| if i == key { odd } else { low };
                    // Seen: the key makes scores so, the value makes columns so.
                    let got = call(&at(last, 0.0), &|_| 1.0, 0);
                    assert!(got.iter().all(|y| y.is_nan()), "{what} {odd}: {got:?}");
                    let got = call(&|_| 0.0, &at(last, 1.0), 0);
                    assert!(got.iter().all(|y| y.is_nan()), "{what} {odd}: {got:?}");
                    // Hidden.
                    let got = call(&at(last, 0.0), &at(last, 3.0), last);
                    assert!(got.iter().all(|&y| y == 3.0), "{what} {odd}: {got:?}");
                    // Of no weight, at first and since a greater score came.
                    let far = |low: usize| move |i: usize| if i == low { -1e3 } else { 0.0 };
                    let got = call(&far(1), &at(1, 3.0), keys);
                    assert!(got.iter().all(|&y| y == 3.0), "{what} {odd}: {got:?}");
                    let greatest = |i: usize| if i == last { 1e3 } else { 0.0 };
                    let got = call(&greatest, &at(0, 3.0), keys);
                    assert!(got.iter().all(|&y| y == 3.0), "{what} {odd}: {got:?}");
                }
            }
        }
    }
}

#[test]
fn nothing_of_integers_is_nothing() {
    let exec = common::executor();
    let mut rng = Random(55);
    for dtype in FLOATS {
        for e in [
            [0, 2, 1, 3, 4, 5, 6],
            [2, 0, 0, 3, 4, 5, 6],
            [1, 2, 1, 0, 4, 5, 6],
            [1, 2, 1, 3, 4, 5, 0],
        ] {
            let case = integers(&exec, e, dtype, Arrangement::Contiguous, &mut rng);
            assert!(compute(&exec, &case, &scaled(1.0)).is_empty());
        }
        // No key, and keys of no element, whose scores are 0.
        let case = integers(
            &exec,
            [1, 2, 2, 3, 0, 4, 5],
            dtype,
            Arrangement::Contiguous,
            &mut rng,
        );
        let got = compute(&exec, &case, &scaled(1.0));
        assert!(got.iter().all(|y| y.is_nan()), "{got:?}");
        let case = integers(
            &exec,
            [1, 1, 1, 5, 70, 0, 3],
            dtype,
            Arrangement::Contiguous,
            &mut rng,
        );
        run(&exec, &case, &scaled(1.0));
    }
}
