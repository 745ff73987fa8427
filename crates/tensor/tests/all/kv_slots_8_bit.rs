//! Caches of 8 bits: how far elements are off, and that attention to them is attention to what they keep.

use crate::common;
use crate::kv_slots::{Alone, DIM, HEADS, cache, floats, indices, numbers, worst};
use ziggurat_tensor::{Attention, DType, Device, KvSlots, MaskedRows, QueryPosition, Tensor};

/// What a cache of 8 bits keeps of keys or values.
pub(crate) fn kept(x: &Tensor) -> Tensor {
    let greatest = x.abs().unwrap().amax([-1], true).unwrap();
    let factor = greatest.maximum(1e-30).unwrap().div(127.0).unwrap();
    let numbers = x.div(&factor).unwrap().round().unwrap();
    numbers.mul(&factor).unwrap()
}

#[test]
fn eight_bits_are_near_and_their_error_is_bounded() {
    let device = common::device();
    let mut cache = cache(&device, 2, 9, DType::I8);
    let keys = numbers(&device, 4, [1, HEADS, 9]).mul(0.3).unwrap();
    let values = numbers(&device, 6, [1, HEADS, 9]).mul(0.3).unwrap();
    cache.write(0, 0, &keys, &values).unwrap();
    // A query that sees one key has its value.
    let one = numbers(&device, 5, [1, HEADS, 1]);
    let most = floats(&values.abs().unwrap().amax([-1], true).unwrap());
    let mut worst_part = 0.0f32;
    let check = |got: Vec<f32>, expected: Vec<f32>, most: &[f32], worst_part: &mut f32| {
        for (at, (got, expected)) in got.iter().zip(&expected).enumerate() {
            *worst_part = worst_part.max((got - expected).abs() / most[at / DIM]);
        }
    };
    let first = floats(&cache.attend(0, 1, &one, &Attention::default()).unwrap());
    let of_first: Vec<f32> = (0..HEADS).map(|head| most[head * 9]).collect();
    let expected = floats(&values.narrow(2, 0, 1).unwrap());
    check(first, expected, &of_first, &mut worst_part);
    // The same of what a replay writes.
    let (like, at) = (
        numbers(&device, 0, [2, HEADS, 1]),
        indices(&device, &[0, 0]),
    );
    let step = device
        .capture(&[&at, &like], |x| {
            let at = cache.positions(&x[0])?;
            cache.write_each(&at, &x[1], &x[1])?;
            let options = Attention::default();
            Ok(vec![cache.attend_each(&at, &x[1], &options)?])
        })
        .unwrap();
    for round in 0..4 {
        let token = numbers(&device, round + 70, [2, HEADS, 1])
            .mul(0.7)
            .unwrap();
        let got = floats(&step.run(&[&at, &token]).unwrap()[0]);
        let most = floats(&token.abs().unwrap().amax([-1], true).unwrap());
        check(got, floats(&token), &most, &mut worst_part);
    }
    // 1/254 of the greatest magnitude, and f32's rounding; a bound of half as much would be exceeded.
    assert!(worst_part < 1.001 / 254.0, "{worst_part}");
    assert!(worst_part > 0.5 / 254.0, "{worst_part}");
    // Attention to all of them is near.
    cache.write(0, 0, &keys, &values).unwrap();
    let seen = floats(&cache.attend(0, 9, &one, &Attention::default()).unwrap());
    let mut alone = Alone(None);
    alone.add(&keys, &values);
    let error = worst(&seen, &alone.see(&one));
    assert!(error > 1e-5 && error < 5e-3, "{error}");
}

#[test]
fn eight_bits_keep_zeros_extremes_and_nan() {
    let device = common::device();
    let mut cache = KvSlots::new(&device, [1, 1], 4, [2, 4], DType::I8).unwrap();
    let rows = [
        [0.0f32, -0.0, 0.0, 0.0],
        [1e30, -1e30, 0.0, 5e29],
        [1.0, f32::NAN, 0.0, 2.0],
        [1e-20, -1e-20, 0.0, 1e-38],
    ];
    let values = Tensor::from_slice(&device, &rows.concat(), [1, 1, 4, 4]).unwrap();
    let keys = Tensor::zeros(&device, [1, 1, 4, 2], DType::F32).unwrap();
    let q = Tensor::zeros(&device, [1, 1, 1, 2], DType::F32).unwrap();
    for (at, row) in rows.iter().enumerate() {
        let value = values.narrow(2, at, 1).unwrap();
        cache
            .write(0, 0, &keys.narrow(2, at, 1).unwrap(), &value)
            .unwrap();
        let got = floats(&cache.attend(0, 1, &q, &Attention::default()).unwrap());
        if at == 2 {
            assert!(got.iter().all(|x| x.is_nan()), "{got:?}");
            continue;
        }
        let most = row.iter().fold(0.0f32, |most, x| most.max(x.abs()));
        assert!(worst(&got, row) <= most / 253.0, "{got:?} of {row:?}");
    }
    let integers = Tensor::zeros(&device, [1, 1, 1, 2], DType::I32).unwrap();
    let error = cache.write(0, 0, &integers, &q).unwrap_err();
    assert!(error.is_dtype(), "{error}");
}

/// Waves of numbers up to 2, of any dims.
fn waves(device: &Device, seed: usize, dims: [usize; 4]) -> Tensor {
    let wave = |i: usize| 2.0 * ((seed * 31 + i * 7) as f32 * 0.37).sin();
    let values: Vec<f32> = (0..dims.iter().product()).map(wave).collect();
    Tensor::from_slice(device, &values, dims).unwrap()
}

#[test]
fn attention_to_eight_bits_is_that_to_what_they_keep() {
    let device = common::device();
    // Heads that are read eight elements at a time, four and one; a query head for each key head, and three.
    for (dims, group) in [([64, 64], 3), ([16, 8], 1), ([12, 4], 2), ([5, 3], 1)] {
        let [dim, value_dim] = dims;
        let mut cache = KvSlots::new(&device, [2, HEADS], 90, dims, DType::I8).unwrap();
        let keys = waves(&device, 1, [1, HEADS, 90, dim]);
        let values = waves(&device, 2, [1, HEADS, 90, value_dim]);
        let (all_keys, all_values) = (kept(&keys), kept(&values));
        let mut len = 0;
        // It grows by pieces.
        for piece in [1, 6, 40, 43] {
            let part = |x: &Tensor| x.narrow(2, len, piece).unwrap();
            cache.write(1, len, &part(&keys), &part(&values)).unwrap();
            len += piece;
            // One query, some, and many.
            for queries in [1, 3, piece] {
                let queries = waves(&device, len, [1, group * HEADS, queries, dim]);
                for (dtype, bound) in [(DType::F32, 1e-5), (DType::F16, 4e-3)] {
                    let queries = queries.to_dtype(dtype).unwrap();
                    for (causal, left_window, softcap) in
                        [(true, None, 0.0), (true, Some(5), 0.0), (false, None, 2.0)]
                    {
                        let options = Attention {
                            causal,
                            left_window,
                            softcap,
                            position: QueryPosition::BottomRight,
                            masked_rows: MaskedRows::Zero,
                            ..Attention::default()
                        };
                        let seen = cache.attend(1, len, &queries, &options).unwrap();
                        assert_eq!(seen.dtype(), dtype);
                        let upto = |x: &Tensor| x.narrow(2, 0, len).unwrap();
                        let exact = queries.to_dtype(DType::F32).unwrap();
                        let (k, v) = (upto(&all_keys), upto(&all_values));
                        let expected = exact.scaled_dot_product_attention(&k, &v, &options);
                        let seen = seen.to_dtype(DType::F32).unwrap();
                        let error = worst(&floats(&seen), &floats(&expected.unwrap()));
                        assert!(error < bound, "{dims:?} {len} {dtype}: {error}");
                    }
                }
            }
        }
        // A mask, and one position of each slot; the other slot is empty but for that.
        let at = cache.positions(&indices(&device, &[0, 70])).unwrap();
        let queries = waves(&device, 9, [2, group * HEADS, 1, dim]);
        let mask: Vec<bool> = (0..90).map(|key| key % 3 != 1).collect();
        let mask = Tensor::from_slice(&device, &mask, [1, 90]).unwrap();
        let options = Attention {
            mask: Some(&mask),
            ..Attention::default()
        };
        let token = [dim, value_dim].map(|dim| waves(&device, 8, [2, HEADS, 1, dim]));
        cache.write_each(&at, &token[0], &token[1]).unwrap();
        let seen = cache.attend_each(&at, &queries, &options).unwrap();
        let slot = |x: &Tensor, slot: usize| x.narrow(0, slot, 1).unwrap();
        let whole = |all: &Tensor, token: &Tensor| {
            let before = all.narrow(2, 0, 70).unwrap();
            Tensor::concat(&[&before, &slot(&kept(token), 1)], 2).unwrap()
        };
        let (k, v) = (whole(&all_keys, &token[0]), whole(&all_values, &token[1]));
        let near = mask.narrow(1, 0, 71).unwrap();
        let options = Attention {
            mask: Some(&near),
            ..options
        };
        let expected = slot(&queries, 1).scaled_dot_product_attention(&k, &v, &options);
        let error = worst(&floats(&slot(&seen, 1)), &floats(&expected.unwrap()));
        assert!(error < 1e-5, "{dims:?}: {error}");
        let alone = kept(&slot(&token[1], 0));
        let alone = alone.unsqueeze(2).unwrap();
        let alone = alone.broadcast_to([1, HEADS, group, 1, value_dim]).unwrap();
        let error = worst(&floats(&slot(&seen, 0)), &floats(&alone));
        assert!(error < 1e-5, "{dims:?}: {error}");
    }
}

#[test]
fn no_positions_of_eight_bits_are_no_keys() {
    let device = common::device();
    let cache = cache(&device, 2, 9, DType::I8);
    let q = numbers(&device, 5, [1, HEADS, 2]);
    let none = cache.attend(0, 0, &q, &Attention::default()).unwrap();
    assert!(floats(&none).iter().all(|x| x.is_nan()));
    let options = Attention {
        masked_rows: MaskedRows::Zero,
        ..Attention::default()
    };
    let zeros = cache.attend(0, 0, &q, &options).unwrap();
    assert!(floats(&zeros).iter().all(|&x| x == 0.0));
    let past = Attention {
        past: Some((&q, &q)),
        ..Attention::default()
    };
    let error = cache.attend(0, 4, &q, &past).unwrap_err();
    assert!(error.is_argument(), "{error}");
    assert_eq!(
        error.to_string(),
        "KvSlots::attend: keys and values from before cannot stand in front of a cache of i8"
    );
}

#[test]
fn keys_of_eight_bits_that_are_no_numbers_reach_who_sees_them() {
    let device = common::device();
    for odd in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let mut cache = KvSlots::new(&device, [1, 1], 6, [8, 8], DType::I8).unwrap();
        let mut keys = floats(&waves(&device, 3, [1, 1, 6, 8]));
        keys[4 * 8 + 2] = odd;
        let keys = Tensor::from_slice(&device, &keys, [1, 1, 6, 8]).unwrap();
        let fine = waves(&device, 4, [1, 1, 6, 8]);
        let q = waves(&device, 5, [1, 1, 6, 8]);
        let causal = Attention {
            causal: true,
            ..Attention::default()
        };
        // As a key, and as a value.
        for (k, v) in [(&keys, &fine), (&fine, &keys)] {
            cache.write(0, 0, k, v).unwrap();
            let seen = floats(&cache.attend(0, 6, &q, &causal).unwrap());
            for (at, x) in seen.iter().enumerate() {
                assert_eq!(x.is_nan(), at / 8 >= 4, "{odd} {at}: {seen:?}");
            }
        }
    }
}

#[test]
fn attention_to_eight_bits_takes_no_dispatch_more() {
    let device = common::device();
    let queries = waves(&device, 1, [2, 6, 1, 64]);
    let at = indices(&device, &[5, 30]);
    let step = |dtype| {
        let cache = KvSlots::new(&device, [2, 2], 64, [64, 64], dtype).unwrap();
        let captured = device.capture(&[&at, &queries], |x| {
            let at = cache.positions(&x[0])?;
            let options = Attention::default();
            Ok(vec![cache.attend_each(&at, &x[1], &options)?])
        });
        let captured = captured.unwrap();
        let read: u64 = captured.kernels().map(|kernel| kernel.bytes_read()).sum();
        (captured.dispatches(), read)
    };
    let (floats, bytes) = (step(DType::F32), step(DType::I8));
    assert_eq!(floats.0, bytes.0);
    // Keys and values of 2 slots, 2 heads, 64 positions: 3 bytes less of each of 64 elements, 4 more for each factor.
    let rows = 2 * 2 * 2 * 64;
    assert_eq!(floats.1 - bytes.1, rows * (3 * 64 - 4));
}
