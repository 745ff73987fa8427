//! Selections whose size the device says, counts of values, k-th values and random choices, against the host.

use crate::common;
use crate::operands::{
    Arrangement, Expected, Operand, Random, check, given, operand, output, random, shape,
};
use ziggurat_kernels::core::decode;
use ziggurat_kernels::{DType, Executor, Random as Kind, RandomState, View};

const NAN: f64 = f64::NAN;

fn read(exec: &Executor, view: &View) -> Vec<f64> {
    decode(view.dtype, &exec.download(view).unwrap().wait().unwrap())
}

/// Few different values, so that equals and zeros occur.
fn coarse(
    exec: &Executor,
    dtype: DType,
    dims: &[usize],
    how: Arrangement,
    rng: &mut Random,
) -> Operand {
    operand(exec, dtype, dims, how, || match dtype {
        DType::U8 | DType::U32 | DType::Bool => rng.below(4) as f64,
        DType::I32 | DType::I8 => rng.below(5) as f64 - 2.0,
        DType::F32 | DType::F16 | DType::BF16 => match rng.below(6) {
            0 => NAN,
            1 => -0.0,
            n => n as f64 / 2.0 - 1.0,
        },
    })
}

const SHAPES: [&[usize]; 9] = [
    &[],
    &[0],
    &[1],
    &[3, 0, 2],
    &[5],
    &[257],
    &[7, 9],
    &[2, 3, 4, 1, 5],
    &[3, 1025],
];

#[test]
fn nonzero_and_masked_select_name_the_same_elements_as_the_host() {
    let exec = common::executor();
    let mut rng = Random(11);
    for dtype in DType::ALL {
        for dims in SHAPES {
            let how = rng.pick(&Arrangement::ALL);
            let a = coarse(&exec, dtype, dims, how, &mut rng);
            let what = format!("{dtype} {dims:?} {how:?}");
            let chosen: Vec<usize> = (0..a.values.len())
                .filter(|&i| a.values[i] != 0.0)
                .collect();
            let places = exec.nonzero(&a.view).unwrap().wait().unwrap();
            assert_eq!(places.dims(), [chosen.len(), dims.len()], "{what}");
            let expected: Vec<f64> = chosen
                .iter()
                .flat_map(|&i| {
                    (0..dims.len()).map(move |axis| {
                        let step: usize = dims[axis + 1..].iter().product();
                        (i / step % dims[axis]) as f64
                    })
                })
                .collect();
            assert_eq!(read(&exec, &places), expected, "{what}");
            let mask = operand(&exec, DType::Bool, dims, how, || rng.below(2) as f64);
            let picked = exec
                .masked_select(&a.view, &mask.view)
                .unwrap()
                .wait()
                .unwrap();
            let expected: Vec<Expected> = (0..a.values.len())
                .filter(|&i| mask.values[i] != 0.0)
                .map(|i| Expected::exact(a.values[i]))
                .collect();
            assert_eq!(picked.dims(), [expected.len()], "{what}");
            check(&what, &read(&exec, &picked), &expected);
        }
    }
    // Both broadcast, and a future may be awaited.
    let a = given(&exec, DType::I32, &[2, 1], &[5.0, 6.0]);
    let mask = given(&exec, DType::Bool, &[3], &[1.0, 0.0, 1.0]);
    let picked = futures::executor::block_on(exec.masked_select(&a.view, &mask.view).unwrap());
    assert_eq!(read(&exec, &picked.unwrap()), [5.0, 5.0, 6.0, 6.0]);
}

#[test]
fn unique_gives_each_value_once_with_inverse_and_counts() {
    let exec = common::executor();
    let mut rng = Random(12);
    for dtype in DType::ALL {
        for dims in SHAPES {
            let how = rng.pick(&Arrangement::ALL);
            let a = coarse(&exec, dtype, dims, how, &mut rng);
            let what = format!("{dtype} {dims:?} {how:?}");
            let found = exec.unique(&a.view).unwrap().wait().unwrap();
            let mut values: Vec<f64> = a.values.clone();
            values.sort_by(|x, y| match (x.is_nan(), y.is_nan()) {
                (false, false) => x.partial_cmp(y).unwrap(),
                (x, y) => x.cmp(&y),
            });
            // Both zeros are one value, every NaN is one of its own.
            values.dedup_by(|x, y| x == y);
            let got = read(&exec, &found.values);
            check(
                &what,
                &got,
                &values
                    .iter()
                    .map(|&x| Expected::exact(x))
                    .collect::<Vec<_>>(),
            );
            assert_eq!(found.inverse.dims(), dims, "{what}");
            let inverse = read(&exec, &found.inverse);
            let mut counts = vec![0.0; values.len()];
            for (&x, &at) in a.values.iter().zip(&inverse) {
                let value = got[at as usize];
                assert!(
                    value == x || (value.is_nan() && x.is_nan()),
                    "{what}: {x} at {at}"
                );
                counts[at as usize] += 1.0;
            }
            assert_eq!(read(&exec, &found.counts), counts, "{what}");
        }
    }
}

#[test]
fn bincount_counts_weighs_and_refuses_negative_elements() {
    let exec = common::executor();
    let mut rng = Random(13);
    for dtype in [DType::I32, DType::U32, DType::I8, DType::U8] {
        for (len, least) in [(0, 0), (0, 3), (1, 0), (300, 0), (300, 50)] {
            let a = operand(&exec, dtype, &[len], rng.pick(&Arrangement::ALL), || {
                rng.below(9) as f64
            });
            let most = a.values.iter().fold(-1.0f64, |most, &x| most.max(x)) as i64 + 1;
            let mut counts = vec![0.0; least.max(most as usize)];
            a.values.iter().for_each(|&x| counts[x as usize] += 1.0);
            let got = exec.bincount(&a.view, None, least).unwrap().wait().unwrap();
            assert_eq!((got.dtype, read(&exec, &got)), (DType::I32, counts.clone()));
            let halves = given(&exec, DType::F32, &[len], &vec![0.5; len]);
            let got = exec
                .bincount(&a.view, Some(&halves.view), least)
                .unwrap()
                .wait()
                .unwrap();
            let halved: Vec<f64> = counts.iter().map(|n| n / 2.0).collect();
            assert_eq!(read(&exec, &got), halved);
        }
    }
    let negative = given(&exec, DType::I32, &[2], &[3.0, -4.0]);
    let error = exec.bincount(&negative.view, None, 0).unwrap().wait();
    assert_eq!(
        error.unwrap_err().to_string(),
        "bincount: an element must not be negative, but it is -4"
    );
}

#[test]
fn histograms_count_by_comparison_with_their_edges() {
    let exec = common::executor();
    let mut rng = Random(14);
    for dtype in [DType::F32, DType::F16, DType::I32, DType::U8] {
        for dims in SHAPES {
            let a = coarse(&exec, dtype, dims, rng.pick(&Arrangement::ALL), &mut rng);
            let edges = [-1.0, -0.5, 0.5, 1.5];
            let bounds = given(&exec, DType::F32, &[4], &edges);
            let out = output(&exec, DType::I32, &[3], 1);
            let _done = exec.histogram(&a.view, &bounds.view, &out.view).unwrap();
            let mut counts = [0.0; 3];
            for &x in &a.values {
                let within =
                    |i: usize| edges[i] <= x && (x < edges[i + 1] || (i == 2 && x == edges[3]));
                if let Some(i) = (0..3).find(|&i| within(i)) {
                    counts[i] += 1.0;
                }
            }
            assert_eq!(out.read(&exec), counts, "{dtype} {dims:?}");
            let out = output(&exec, DType::F32, &[3], 0);
            let _done = exec.histc(&a.view, -1.0, 2.0, &out.view).unwrap();
            let mut counts = [0.0; 3];
            for &x in a.values.iter().filter(|x| (-1.0..=2.0).contains(*x)) {
                counts[((x + 1.0) as usize).min(2)] += 1.0;
            }
            assert_eq!(out.read(&exec), counts, "histc {dtype} {dims:?}");
        }
    }
    // Bounds of its own: 1 to 5 in four parts, and around the only value.
    let a = given(&exec, DType::F32, &[4], &[1.0, 2.0, 1.0, 5.0]);
    let out = output(&exec, DType::I32, &[4], 0);
    let _done = exec.histc(&a.view, 0.0, 0.0, &out.view).unwrap();
    assert_eq!(out.read(&exec), [2.0, 1.0, 0.0, 1.0]);
    let same = given(&exec, DType::F32, &[2], &[3.0, 3.0]);
    let _done = exec.histc(&same.view, 0.0, 0.0, &out.view).unwrap();
    assert_eq!(out.read(&exec), [0.0, 0.0, 2.0, 0.0]);
}

#[test]
fn repeats_by_position_meet_the_host() {
    let exec = common::executor();
    let mut rng = Random(15);
    for dtype in DType::ALL {
        for how in Arrangement::ALL {
            let a = random(&exec, dtype, &[3, 5, 2], how, &mut rng);
            let times = operand(&exec, DType::I32, &[5], Arrangement::Sliced, || {
                rng.below(4) as f64
            });
            let got = exec
                .repeat_interleave_by(&a.view, &times.view, 1)
                .unwrap()
                .wait()
                .unwrap();
            let rows: Vec<usize> = (0..5)
                .flat_map(|i| vec![i; times.values[i] as usize])
                .collect();
            assert_eq!(got.dims(), [3, rows.len(), 2]);
            let expected: Vec<Expected> = (0..3)
                .flat_map(|i| {
                    rows.iter()
                        .flat_map(move |&j| (0..2).map(move |k| (i * 5 + j) * 2 + k))
                })
                .map(|at| Expected::exact(a.values[at]))
                .collect();
            check(&format!("{dtype} {how:?}"), &read(&exec, &got), &expected);
        }
    }
    let one = given(&exec, DType::I32, &[1], &[70_000.0]);
    let flags = given(&exec, DType::Bool, &[2], &[1.0, 0.0]);
    let long = exec
        .repeat_interleave_by(&flags.view, &one.view, 0)
        .unwrap()
        .wait()
        .unwrap();
    assert_eq!(long.dims(), [140_000]);
    let ones = read(&exec, &long).iter().sum::<f64>();
    assert!(ones == 70_000.0);
    for (times, message) in [
        (
            -1.0,
            "repeat_interleave_by: repeats must not be negative, but it is -1",
        ),
        (
            2e9,
            "repeat_interleave_by: repeats must be less than 2^31 together, but it is 2147483647",
        ),
    ] {
        let times = given(&exec, DType::I32, &[1], &[times]);
        let error = exec
            .repeat_interleave_by(&flags.view, &times.view, 0)
            .unwrap()
            .wait();
        assert_eq!(error.unwrap_err().to_string(), message);
    }
    // Too few elements: the last one again.
}

#[test]
fn kth_values_and_medians_are_those_of_a_sorted_row() {
    let exec = common::executor();
    let mut rng = Random(16);
    for dtype in DType::ALL {
        for len in [1, 2, 5, 300] {
            let how = rng.pick(&Arrangement::ALL);
            let a = coarse(&exec, dtype, &[3, len], how, &mut rng);
            let (values, places) = (
                output(&exec, dtype, &[3, 1], 1),
                output(&exec, DType::I32, &[3, 1], 0),
            );
            let k = 1 + rng.below(len);
            for median in [false, true] {
                let outs = (&values.view, &places.view);
                let _done = match median {
                    true => exec.median(&a.view, 1, outs).unwrap(),
                    false => exec.kthvalue(&a.view, 1, k, outs).unwrap(),
                };
                let (got, at) = (values.read(&exec), places.read(&exec));
                for (i, row) in a.values.chunks(len).enumerate() {
                    let mut order: Vec<usize> = (0..len).collect();
                    order.sort_by(|&x, &y| match (row[x].is_nan(), row[y].is_nan()) {
                        (false, false) => row[x].partial_cmp(&row[y]).unwrap(),
                        (x, y) => x.cmp(&y),
                    });
                    let expected = match (median, row.iter().position(|x| x.is_nan())) {
                        (true, Some(first)) => first,
                        (true, None) => order[(len - 1) / 2],
                        (false, _) => order[k - 1],
                    };
                    let what = format!("{dtype} {len} {how:?} median {median}");
                    assert_eq!(at[i] as usize, expected, "{what}");
                    check(&what, &got[i..=i], &[Expected::exact(row[expected])]);
                }
            }
        }
    }
}

#[test]
fn random_choices_follow_their_weights() {
    let exec = common::executor();
    let state = RandomState {
        seed: 7,
        counter: 0,
        stream: 1,
    };
    // The uniform numbers that the choices are made of.
    let uniform = output(&exec, DType::F32, &[2, 3000], 0);
    let _drawn = exec.random(Kind::Uniform, state, &uniform.view).unwrap();
    let uniform = uniform.read(&exec);
    let weights = given(
        &exec,
        DType::F16,
        &[2, 4],
        &[0.0, 1.0, 3.0, 0.0, 2.0, 2.0, 0.0, 4.0],
    );
    let out = output(&exec, DType::I32, &[2, 3000], 0);
    let _drawn = exec
        .multinomial(&weights.view, true, state, &out.view)
        .unwrap();
    let sums = [[0.0, 1.0, 4.0, 4.0], [2.0, 4.0, 4.0, 8.0]];
    let expected: Vec<f64> = uniform
        .iter()
        .enumerate()
        .map(|(i, u)| {
            let row = sums[i / 3000];
            row.iter().filter(|&&sum| sum <= u * row[3]).count() as f64
        })
        .collect();
    assert_eq!(out.read(&exec), expected);
    assert!(
        expected[..3000].iter().all(|&i| i == 1.0 || i == 2.0),
        "a weight of 0 was drawn"
    );
    let thirds = expected[..3000].iter().filter(|&&i| i == 1.0).count();
    assert!(
        (650..850).contains(&thirds),
        "{thirds} of 3000 with probability 1/4"
    );
    // Without replacement: each once, those of weight 0 last.
    let out = output(&exec, DType::I32, &[2, 4], 0);
    let _drawn = exec
        .multinomial(&weights.view, false, state, &out.view)
        .unwrap();
    let drawn = out.read(&exec);
    for (row, zeros) in drawn.chunks(4).zip([[0.0, 3.0].as_slice(), &[2.0]]) {
        let mut all = row.to_vec();
        all.sort_by(f64::total_cmp);
        assert_eq!(all, [0.0, 1.0, 2.0, 3.0]);
        assert_eq!(&row[4 - zeros.len()..], zeros);
    }
    let p = given(
        &exec,
        DType::BF16,
        &[4, 400],
        &[[0.0; 400], [1.0; 400], [0.5; 400], [NAN; 400]].concat(),
    );
    let out = output(&exec, DType::U8, &[4, 400], 2);
    let _drawn = exec.bernoulli(&p.view, state, &out.view).unwrap();
    let hits = |row: usize| out.read(&exec)[row * 400..][..400].iter().sum::<f64>();
    assert_eq!((hits(0), hits(1), hits(3)), (0.0, 400.0, 0.0));
    assert!((150.0..250.0).contains(&hits(2)), "{} of 400", hits(2));
}

#[test]
fn wrong_operands_are_errors_that_say_the_rule() {
    let exec = common::executor();
    let view = |dtype, dims: &[usize]| exec.alloc(&shape(dims), dtype).unwrap();
    let (f, i) = (
        |dims: &[usize]| view(DType::F32, dims),
        |dims: &[usize]| view(DType::I32, dims),
    );
    let state = RandomState {
        seed: 1,
        counter: 0,
        stream: 0,
    };
    let errors = [
        (
            exec.masked_select(&f(&[2]), &i(&[2])).err(),
            "masked_select: mask is i32, but it must be bool",
        ),
        (
            exec.masked_select(&f(&[2]), &view(DType::Bool, &[3])).err(),
            "masked_select: ",
        ),
        (
            exec.bincount(&f(&[2]), None, 0).err(),
            "bincount: a is f32, but it must be an integer",
        ),
        (
            exec.bincount(&i(&[2, 1]), None, 0).err(),
            "bincount: a must be a vector, but its shape is [2, 1]",
        ),
        (
            exec.bincount(&i(&[2]), Some(&f(&[3])), 0).err(),
            "bincount: there must be as many weights as elements: left is [2], right is [3]",
        ),
        (
            exec.histogram(&f(&[2]), &i(&[2]), &i(&[1])).err(),
            "histogram: edges is i32, but edges are f32",
        ),
        (
            exec.histogram(&f(&[2]), &f(&[1]), &i(&[0])).err(),
            "histogram: edges must be a vector of at least two, but its shape is [1]",
        ),
        (
            exec.histogram(&f(&[2]), &f(&[3]), &i(&[3])).err(),
            "histogram: the output must be [2], but it is [3]",
        ),
        (
            exec.histc(&f(&[2]), 1.0, 0.0, &i(&[3])).err(),
            "histc: low must not be above high, but it is 1",
        ),
        (
            exec.histc(&f(&[2]), 0.0, f32::NAN, &i(&[3])).err(),
            "histc: high must be finite, but it is NaN",
        ),
        (
            exec.histc(&f(&[2]), 0.0, 1.0, &i(&[0])).err(),
            "histc: out must be a vector of at least one, but its shape is [0]",
        ),
        (
            exec.linspace(0.0, f32::INFINITY, &f(&[3])).err(),
            "linspace: end must be finite, but it is inf",
        ),
        (
            exec.repeat_interleave_by(&f(&[2]), &i(&[2]), 1).err(),
            "repeat_interleave_by: axis 1 is out of range",
        ),
        (
            exec.repeat_interleave_by(&f(&[2]), &i(&[3]), 0).err(),
            "repeat_interleave_by: there must be one number of repeats or one per position: left is [2], right is [3]",
        ),
        (
            exec.repeat_interleave_by(&f(&[2]), &f(&[2]), 0).err(),
            "repeat_interleave_by: repeats is f32, but it must be an integer",
        ),
        (
            exec.kthvalue(&f(&[2]), 0, 3, (&f(&[1]), &i(&[1]))).err(),
            "kthvalue: k must be from 1 to the positions of the axis, but it is 3",
        ),
        (
            exec.kthvalue(&f(&[2]), 0, 0, (&f(&[1]), &i(&[1]))).err(),
            "kthvalue: k must be from 1 to the positions of the axis, but it is 0",
        ),
        (
            exec.median(&f(&[0]), 0, (&f(&[1]), &i(&[1]))).err(),
            "median: a must have positions along the axis, but its shape is [0]",
        ),
        (
            exec.median(&f(&[2]), 0, (&f(&[2]), &i(&[1]))).err(),
            "median: the output must be [1], but it is [2]",
        ),
        (
            exec.multinomial(&f(&[]), true, state, &i(&[2])).err(),
            "multinomial: weights and output must have a last axis and agree in the others: left is [], right is [2]",
        ),
        (
            exec.multinomial(&f(&[3]), false, state, &i(&[4])).err(),
            "multinomial: weights must have something to draw",
        ),
        (
            exec.bernoulli(&i(&[3]), state, &i(&[3])).err(),
            "bernoulli: probabilities is i32, but they must be floats",
        ),
    ];
    common::refused(errors);
}
