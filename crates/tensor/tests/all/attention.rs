//! Attention, rotary embedding and the key/value cache through `Tensor`.

use crate::common;
use ziggurat_tensor::{
    Attention, DType, Device, KvCache, MaskedRows, QueryPosition, RopeForm, RopeTable, ScoreStage,
    Tensor,
};

fn floats(t: &Tensor) -> Vec<f32> {
    t.to_dtype(DType::F32).unwrap().to_vec_blocking().unwrap()
}

fn near(what: &str, got: &Tensor, wanted: &Tensor, bound: f32) {
    assert_eq!(got.dims(), wanted.dims(), "{what}");
    for (i, (a, b)) in floats(got).into_iter().zip(floats(wanted)).enumerate() {
        assert!(
            (a - b).abs() <= bound || (a.is_nan() && b.is_nan()),
            "{what}, element {i}: {a} is not {b}"
        );
    }
}

fn waves(device: &Device, dims: &[usize], step: f32) -> Tensor {
    let len = dims.iter().product::<usize>() as i32;
    let line = Tensor::arange(device, 0, len, 1, DType::F32).unwrap();
    let waves = (line * step).unwrap().sin().unwrap();
    waves.reshape_to(dims).unwrap()
}

/// The composed scores times the values.
fn composed(q: &Tensor, k: &Tensor, v: &Tensor, options: &Attention<'_>) -> Tensor {
    let weights = q.attention_scores(k, options, ScoreStage::Weights).unwrap();
    let (heads, kv_heads) = (q.dims()[1], v.dims()[1]);
    let mut dims = v.dims().to_vec();
    dims.insert(2, heads / kv_heads);
    let shared = v.unsqueeze(2).unwrap().broadcast_to(&dims).unwrap();
    let shared = shared
        .reshape_to([dims[0], heads, dims[3], dims[4]])
        .unwrap();
    weights.matmul(&shared).unwrap()
}

#[test]
fn one_kernel_agrees_with_the_composed_scores() {
    let device = common::device();
    let q = waves(&device, &[2, 4, 7, 8], 1.3);
    let k = waves(&device, &[2, 2, 21, 8], 0.7);
    let v = waves(&device, &[2, 2, 21, 5], 2.1);
    let seen = waves(&device, &[7, 21], 3.1).gt(-0.5).unwrap();
    let added = waves(&device, &[2, 1, 7, 21], 0.9);
    let lengths = Tensor::from_slice(&device, &[9i32, 21], [2]).unwrap();
    let plain = Attention::default();
    for (what, options) in [
        ("plain", plain),
        (
            "bool mask",
            Attention {
                mask: Some(&seen),
                ..plain
            },
        ),
        (
            "float mask",
            Attention {
                mask: Some(&added),
                softcap: 1.5,
                ..plain
            },
        ),
        (
            "causal",
            Attention {
                causal: true,
                ..plain
            },
        ),
        (
            "causal to the right",
            Attention {
                causal: true,
                position: QueryPosition::BottomRight,
                ..plain
            },
        ),
        (
            "window",
            Attention {
                position: QueryPosition::At(9),
                left_window: Some(4),
                right_window: Some(2),
                ..plain
            },
        ),
        (
            "lengths",
            Attention {
                key_lengths: Some(&lengths),
                causal: true,
                mask: Some(&seen),
                ..plain
            },
        ),
        (
            "no key in sight",
            Attention {
                position: QueryPosition::At(-3),
                causal: true,
                masked_rows: MaskedRows::Zero,
                scale: Some(0.1),
                ..plain
            },
        ),
        (
            "no key in sight",
            Attention {
                position: QueryPosition::At(-3),
                causal: true,
                ..plain
            },
        ),
    ] {
        let got = q.scaled_dot_product_attention(&k, &v, &options).unwrap();
        near(what, &got, &composed(&q, &k, &v, &options), 1e-5);
    }
    // Heads behind positions, as a view.
    let turned = q.transpose(1, 2).unwrap().contiguous().unwrap();
    let turned = turned.transpose(1, 2).unwrap();
    near(
        "view",
        &turned.scaled_dot_product_attention(&k, &v, &plain).unwrap(),
        &q.scaled_dot_product_attention(&k, &v, &plain).unwrap(),
        0.0,
    );
    let (q1, k1, v1) = (
        q.select(1, 0).unwrap(),
        k.select(1, 0).unwrap(),
        v.select(1, 0).unwrap(),
    );
    let all = q.scaled_dot_product_attention(&k, &v, &plain).unwrap();
    near(
        "without heads",
        &q1.scaled_dot_product_attention(&k1, &v1, &plain).unwrap(),
        &all.select(1, 0).unwrap(),
        0.0,
    );
}

#[test]
fn a_cache_grows_in_place_and_decodes_like_the_whole() {
    let device = common::device();
    for dtype in [DType::F32, DType::F16] {
        let make = |dims: &[usize], step| waves(&device, dims, step).to_dtype(dtype).unwrap();
        let q = make(&[1, 4, 9, 6], 1.3);
        let k = make(&[1, 2, 9, 6], 0.7);
        let v = make(&[1, 2, 9, 3], 2.1);
        let causal = Attention {
            causal: true,
            ..Attention::default()
        };
        let whole = q.scaled_dot_product_attention(&k, &v, &causal).unwrap();
        let mut cache = KvCache::new(&device, [1, 2], 9, [6, 3], dtype).unwrap();
        assert!(cache.is_empty() && cache.capacity() == 9);
        let mut first = None;
        for (start, count) in [(0, 4), (4, 1), (5, 1), (6, 3)] {
            let part = |t: &Tensor| t.narrow(2, start, count).unwrap();
            cache.append(&part(&k), &part(&v)).unwrap();
            assert_eq!(cache.len(), start + count);
            let options = Attention {
                position: QueryPosition::BottomRight,
                ..causal
            };
            let (keys, values) = (cache.keys().unwrap(), cache.values().unwrap());
            let got = part(&q)
                .scaled_dot_product_attention(&keys, &values, &options)
                .unwrap();
            near("step", &got, &part(&whole), 2e-3);
            first.get_or_insert(keys);
        }
        // What was handed out did not change.
        near("first", &first.unwrap(), &k.narrow(2, 0, 4).unwrap(), 0.0);
        near("values", &cache.values().unwrap(), &v, 0.0);
        let one = (k.narrow(2, 0, 1).unwrap(), v.narrow(2, 0, 1).unwrap());
        let error = cache.append(&one.0, &one.1).unwrap_err();
        assert_eq!(
            error.to_string(),
            "KvCache::append: the cache must have room: 1 positions, room for 0 of 9"
        );
        assert!(error.is_argument());
        assert!(cache.append(&q, &v).unwrap_err().is_shape());
        assert!(
            cache
                .append(&k, &v.narrow(2, 0, 2).unwrap())
                .unwrap_err()
                .is_shape()
        );
        let other = one.0.to_dtype(DType::BF16).unwrap();
        assert!(cache.append(&other, &one.1).unwrap_err().is_dtype());
        assert_eq!(cache.len(), 9);
    }
}

#[test]
fn rotation_keeps_scores_a_function_of_distance() {
    let device = common::device();
    let table = RopeTable::new(&device, 64, 8, 10_000.0).unwrap();
    let x = waves(&device, &[1, 2, 5, 10], 1.9);
    for interleaved in [false, true] {
        let at = |start| {
            let form = RopeForm {
                interleaved,
                start,
                ..RopeForm::default()
            };
            let turned = x.rope(&table, form).unwrap();
            turned.matmul(&turned.transpose(-2, -1).unwrap()).unwrap()
        };
        near("distance", &at(0), &at(40), 2e-5);
        let ids = Tensor::from_slice(&device, &[7i32, 8, 9, 10, 11], [1, 5]).unwrap();
        let given = RopeForm {
            interleaved,
            positions: Some(&ids),
            ..RopeForm::default()
        };
        let counted = RopeForm {
            interleaved,
            start: 7,
            ..RopeForm::default()
        };
        near(
            "positions",
            &x.rope(&table, given).unwrap(),
            &x.rope(&table, counted).unwrap(),
            0.0,
        );
        let turned = x.transpose(1, 2).unwrap();
        let form = RopeForm {
            positions_before_heads: true,
            ..counted
        };
        near(
            "axes",
            &turned.rope(&table, form).unwrap().transpose(1, 2).unwrap(),
            &x.rope(&table, counted).unwrap(),
            0.0,
        );
    }
    // Positions beyond the last row, however large, take it.
    let rows = [70u32, u32::MAX, 63, 1 << 31, 64];
    let beyond = Tensor::from_slice(&device, &rows, [1, 5]).unwrap();
    let last = Tensor::full(&device, [1, 5], 63, DType::I32).unwrap();
    let [far, near_by] = [&beyond, &last].map(|ids| {
        let form = RopeForm {
            positions: Some(ids),
            ..RopeForm::default()
        };
        x.rope(&table, form).unwrap()
    });
    near("rows beyond the last", &far, &near_by, 0.0);
    let late = RopeForm {
        start: 60,
        ..RopeForm::default()
    };
    let error = x.rope(&table, late).unwrap_err();
    assert_eq!(
        error.to_string(),
        "rope: the table must have a row per position: it has 64, the last position is 65"
    );
    assert!(
        RopeTable::new(&device, 4, 3, 1e4)
            .unwrap_err()
            .is_argument()
    );
    assert!(
        RopeTable::new(&device, 4, 4, f64::NAN)
            .unwrap_err()
            .is_argument()
    );
    assert!(
        x.select(0, 0)
            .unwrap()
            .rope(&table, late)
            .unwrap_err()
            .is_shape()
    );
    // Tables and positions that do not fit are errors of the call, not of the read behind it.
    let ready = Tensor::ones(&device, [2, 1, 3, 4], DType::F32).unwrap();
    let of = |dims: &[usize]| Tensor::ones(&device, dims, DType::F32).unwrap();
    for (cos, sin) in [([3, 2], [3, 1]), ([3, 3], [3, 3]), ([3, 0], [3, 0])] {
        let (cos, sin) = (of(&cos), of(&sin));
        let error = ready
            .rope(&RopeTable { cos, sin }, RopeForm::default())
            .unwrap_err();
        assert!(error.is_shape(), "{error}");
    }
    let ids = Tensor::zeros(&device, [2, 2], DType::I32).unwrap();
    let form = RopeForm {
        positions: Some(&ids),
        ..RopeForm::default()
    };
    let table = RopeTable {
        cos: of(&[3, 2]),
        sin: of(&[3, 2]),
    };
    assert!(ready.rope(&table, form).unwrap_err().is_shape());
}

#[test]
fn mistakes_are_told() {
    let device = common::device();
    let q = waves(&device, &[1, 4, 3, 8], 1.0);
    let k = waves(&device, &[1, 3, 5, 8], 1.0);
    let plain = Attention::default();
    let error = q.scaled_dot_product_attention(&k, &k, &plain).unwrap_err();
    assert!(
        error.is_shape() && error.to_string().contains("heads of k do not divide"),
        "{error}"
    );
    assert!(
        q.attention_scores(&k, &plain, ScoreStage::Raw)
            .unwrap_err()
            .is_shape()
    );
    let whole = q.to_dtype(DType::I32).unwrap();
    assert!(
        whole
            .scaled_dot_product_attention(&whole, &whole, &plain)
            .unwrap_err()
            .is_dtype()
    );
    let flat = q.select(0, 0).unwrap().select(0, 0).unwrap();
    assert!(
        flat.scaled_dot_product_attention(&flat, &flat, &plain)
            .unwrap_err()
            .is_shape()
    );
    // Extents of 1 do not broadcast, lengths and positions are integers, positions do not overflow.
    let (thin, one) = (
        k.narrow(3, 0, 1).unwrap(),
        waves(&device, &[2, 4, 3, 8], 1.0),
    );
    for stage in [ScoreStage::Raw, ScoreStage::Weights] {
        for (q, k) in [(&k, &thin), (&one, &q)] {
            let error = q.attention_scores(k, &plain, stage).unwrap_err();
            assert!(error.is_shape(), "{error}");
            assert!(error.to_string().starts_with("attention_scores: "));
        }
    }
    let mask = Tensor::zeros(&device, [2, 1, 3, 3], DType::F32).unwrap();
    let batches = Attention {
        mask: Some(&mask),
        ..plain
    };
    let error = q.attention_scores(&q, &batches, ScoreStage::Masked);
    assert!(error.unwrap_err().is_shape());
    let lengths = Tensor::ones(&device, [1], DType::F32).unwrap();
    let at = |position| Attention {
        position: QueryPosition::At(position),
        causal: true,
        left_window: Some(u32::MAX),
        ..plain
    };
    let floats_as_lengths = Attention {
        key_lengths: Some(&lengths),
        ..plain
    };
    for (options, text) in [
        (floats_as_lengths, "indices must be integers"),
        (at(i32::MAX), "from -2^30 to 2^30: it is 2147483647"),
        (at(i32::MIN), "from -2^30 to 2^30: it is -2147483648"),
    ] {
        for result in [
            q.scaled_dot_product_attention(&q, &q, &options),
            q.attention_scores(&q, &options, ScoreStage::Weights),
        ] {
            let error = result.unwrap_err();
            assert!(error.to_string().contains(text), "{error}");
        }
    }
    for (position, seen) in [(1 << 30, true), (-(1 << 30), false)] {
        let y = q.scaled_dot_product_attention(&q, &q, &at(position));
        let weights = q.attention_scores(&q, &at(position), ScoreStage::Weights);
        for y in [floats(&y.unwrap()), floats(&weights.unwrap())] {
            assert!(y.iter().all(|y| y.is_nan() != seen), "{position}: {y:?}");
        }
    }
    let table = RopeTable::new(&device, 8, 4, 10_000.0).unwrap();
    let form = RopeForm {
        positions: Some(&lengths),
        ..RopeForm::default()
    };
    assert!(q.rope(&table, form).unwrap_err().is_dtype());
    // Refused before the host's memory is asked for.
    for (positions, rotary) in [
        (usize::MAX, 2),
        (1 << 60, 2),
        (1 << 40, 2),
        (2, usize::MAX - 1),
    ] {
        let error = RopeTable::new(&device, positions, rotary, 10_000.0).unwrap_err();
        assert!(error.is_too_large() || error.is_shape(), "{error}");
    }
    let mask = Tensor::zeros(&device, [3, 3], DType::I32).unwrap();
    let options = Attention {
        mask: Some(&mask),
        ..plain
    };
    assert!(
        q.scaled_dot_product_attention(&q, &q, &options)
            .unwrap_err()
            .is_dtype()
    );
    let mask = Tensor::zeros(&device, [3, 4], DType::F32).unwrap();
    let options = Attention {
        mask: Some(&mask),
        ..plain
    };
    assert!(
        q.scaled_dot_product_attention(&q, &q, &options)
            .unwrap_err()
            .is_shape()
    );
}

#[test]
fn keys_from_before_stand_in_front() {
    let device = common::device();
    let q = waves(&device, &[2, 4, 3, 8], 1.3);
    let k = waves(&device, &[2, 2, 9, 8], 0.7);
    let v = waves(&device, &[2, 2, 9, 5], 2.1);
    let cut = |x: &Tensor| (x.narrow(2, 0, 6).unwrap(), x.narrow(2, 6, 3).unwrap());
    let ((past_k, new_k), (past_v, new_v)) = (cut(&k), cut(&v));
    let plain = Attention {
        causal: true,
        left_window: Some(5),
        ..Attention::default()
    };
    let past = Attention {
        past: Some((&past_k, &past_v)),
        ..plain
    };
    let all = Attention {
        position: QueryPosition::At(6),
        ..plain
    };
    let got = q
        .scaled_dot_product_attention(&new_k, &new_v, &past)
        .unwrap();
    let wanted = q.scaled_dot_product_attention(&k, &v, &all).unwrap();
    near("past", &got, &wanted, 0.0);
    let scores = |k: &Tensor, options: &Attention<'_>| {
        q.attention_scores(k, options, ScoreStage::Weights).unwrap()
    };
    near("scores", &scores(&new_k, &past), &scores(&k, &all), 0.0);
    // One head, of rank 3.
    let one = |x: &Tensor| x.select(1, 0).unwrap();
    let (past_k, past_v) = (one(&past_k), one(&past_v));
    let flat = Attention {
        past: Some((&past_k, &past_v)),
        ..plain
    };
    let got = one(&q).scaled_dot_product_attention(&one(&new_k), &one(&new_v), &flat);
    let wanted = one(&q).scaled_dot_product_attention(&one(&k), &one(&v), &all);
    near("rank 3", &got.unwrap(), &wanted.unwrap(), 0.0);
    let wrong = q.scaled_dot_product_attention(&new_k, &new_v, &flat);
    assert!(wrong.unwrap_err().is_shape());
    let (half_k, half_v) = (
        past_k.to_dtype(DType::F16).unwrap(),
        past_v.to_dtype(DType::F16).unwrap(),
    );
    let half = Attention {
        past: Some((&half_k, &half_v)),
        ..plain
    };
    let wrong = one(&q).scaled_dot_product_attention(&one(&new_k), &one(&new_v), &half);
    assert!(wrong.unwrap_err().is_dtype());
}
