//! Caches of 8 bits: how far elements are off.

use crate::common;
use crate::kv_slots::{Alone, DIM, HEADS, cache, floats, indices, numbers, worst};
use ziggurat_tensor::{Attention, DType, KvSlots, Tensor};

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
