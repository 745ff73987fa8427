//! Writes to caches of 8 bits: what is kept, in every bit, and with how many dispatches.

use crate::common;
use crate::kv_slots::{HEADS, cache, floats, indices, numbers};
use crate::kv_slots_8_bit::kept;
use ziggurat_tensor::{Attention, DType, Device, DeviceOptions, KvSlots, Tensor};

/// Bits of floats, those of every NaN alike.
fn bits(tensor: &Tensor) -> Vec<u32> {
    let bits = |x: f32| if x.is_nan() { u32::MAX } else { x.to_bits() };
    // A product of attention has no negative zero.
    floats(tensor).iter().map(|&x| bits(x + 0.0)).collect()
}

/// The first `count` values of a slot, each seen by a query that sees nothing else.
fn values(device: &Device, cache: &KvSlots, slot: usize, [count, key_dim]: [usize; 2]) -> Tensor {
    let queries = Tensor::zeros(device, [1, HEADS, count, key_dim], DType::F32).unwrap();
    let options = Attention {
        causal: true,
        left_window: Some(0),
        ..Attention::default()
    };
    cache.attend(slot, count, &queries, &options).unwrap()
}

/// Rows of random numbers, zeros, of tiny and huge ones, and with one that is not finite.
fn rows(device: &Device, seed: usize, dims: [usize; 4], dtype: DType) -> Tensor {
    let len = dims[3];
    let element = |i: usize| {
        let wave = ((seed * 31 + i * 7) as f32 * 0.37).sin();
        match (seed + i / len) % 8 {
            1 => 0.0,
            2 => wave * 1e-38,
            3 => wave * 6e4,
            4 if i % len == len / 2 => f32::NAN,
            5 if i % len == len - 1 => f32::NEG_INFINITY,
            _ => wave,
        }
    };
    let all: Vec<f32> = (0..dims.iter().product()).map(element).collect();
    let all = Tensor::from_slice(device, &all, dims).unwrap();
    all.to_dtype(dtype).unwrap()
}

fn dispatches(device: &Device) -> u64 {
    device.executor().device().queue_stats().dispatches
}

#[test]
fn what_is_kept_is_that_of_the_ops_one_by_one() {
    let device = common::device();
    let mut not_finite = 0;
    for dtype in [DType::F32, DType::F16, DType::BF16] {
        for dim in [1, 3, 4, 64, 65, 128, 200] {
            let mut cache = KvSlots::new(&device, [2, HEADS], 12, [dim, dim], DType::I8).unwrap();
            let prompt = rows(&device, dim, [1, HEADS, 9, dim], dtype);
            // Through a view with heads behind positions, as projections leave them.
            let turned = rows(&device, dim, [1, 9, HEADS, dim], dtype);
            let turned = turned.permute([0, 2, 1, 3]).unwrap();
            for (start, new) in [(0, &prompt), (3, &turned)] {
                cache.write(1, start, new, new).unwrap();
                let seen = values(&device, &cache, 1, [start + 9, dim]);
                let seen = seen.narrow(2, start, 9).unwrap();
                let expected = bits(&kept(&new.to_dtype(DType::F32).unwrap()));
                assert_eq!(bits(&seen), expected, "{dtype} {dim} {start}");
                not_finite += expected.iter().filter(|&&x| x == u32::MAX).count();
                let mut other = expected.clone();
                other[dim / 2] ^= 1;
                assert_ne!(bits(&seen), other, "a bit is seen");
            }
            // The same by replays, one position of each slot.
            let (like, at) = (prompt.narrow(2, 0, 1).unwrap(), indices(&device, &[0, 0]));
            let like = Tensor::concat(&[&like, &like], 0).unwrap();
            let step = device.capture(&[&at, &like], |x| {
                let at = cache.positions(&x[0])?;
                cache.write_each(&at, &x[1], &x[1])?;
                let q = Tensor::zeros(x[1].device(), x[1].shape(), DType::F32)?;
                let options = Attention {
                    left_window: Some(0),
                    ..Attention::default()
                };
                Ok(vec![cache.attend_each(&at, &q, &options)?])
            });
            let step = step.unwrap();
            for round in 0..8 {
                let new = rows(&device, round, [2, HEADS, 1, dim], dtype);
                let at = indices(&device, &[round as i32, 11 - round as i32]);
                let seen = step.run(&[&at, &new]).unwrap().remove(0);
                let expected = bits(&kept(&new.to_dtype(DType::F32).unwrap()));
                assert_eq!(bits(&seen), expected, "{dtype} {dim} {round}");
            }
        }
    }
    assert!(not_finite > 1000, "{not_finite}");
}

#[test]
fn a_long_prompt_is_kept() {
    let device = common::device();
    let mut cache = KvSlots::new(&device, [1, HEADS], 3000, [4, 20], DType::I8).unwrap();
    let keys = rows(&device, 1, [1, HEADS, 2999, 4], DType::F32);
    let new = rows(&device, 2, [1, HEADS, 2999, 20], DType::F32);
    cache.write(0, 0, &keys, &new).unwrap();
    let seen = values(&device, &cache, 0, [2999, 4]);
    // Keys that are not finite are seen too.
    let odd = kept(&keys).sum([-1], true).unwrap().mul(0.0).unwrap();
    let expected = kept(&new).add(&odd).unwrap();
    assert!(bits(&seen) == bits(&expected));
}

#[test]
fn a_write_takes_a_dispatch_for_keys_and_one_for_values() {
    // One of this test's own, whose counters nothing else moves.
    let device = Device::open_blocking(DeviceOptions::default()).unwrap();
    let prompt = numbers(&device, 1, [1, HEADS, 5]);
    let token = numbers(&device, 2, [2, HEADS, 1]);
    for dtype in [DType::F32, DType::I8] {
        let mut cache = cache(&device, 2, 9, dtype);
        let at = cache.positions(&indices(&device, &[5, 0])).unwrap();
        prompt.eval_blocking().unwrap();
        token.eval_blocking().unwrap();
        let before = dispatches(&device);
        cache.write(0, 0, &prompt, &prompt).unwrap();
        assert_eq!(dispatches(&device) - before, 2, "{dtype}");
        cache.write_each(&at, &token, &token).unwrap();
        assert_eq!(dispatches(&device) - before, 4, "{dtype}");
        let captured = device.capture(&[&token], |x| {
            cache.write_each(&at, &x[0], &x[0])?;
            Ok(vec![x[0].add(1.0)?])
        });
        assert_eq!(captured.unwrap().dispatches(), 2 + 1, "{dtype}");
    }
}

#[test]
fn positions_out_of_range_are_found_and_stay_in_their_slots() {
    for checked in [false, true] {
        let device = Device::from_executor(common::device().executor());
        device.set_index_checks(checked);
        let mut cache = cache(&device, 3, 4, DType::I8);
        let before = numbers(&device, 1, [1, HEADS, 4]);
        for slot in 0..3 {
            cache.write(slot, 0, &before, &before).unwrap();
        }
        let one = numbers(&device, 9, [3, HEADS, 1]);
        let at = cache.positions(&indices(&device, &[7, -2, -9])).unwrap();
        cache.write_each(&at, &one, &one).unwrap();
        for (slot, to) in [3, 2, 0].into_iter().enumerate() {
            let seen = values(&device, &cache, slot, [4, 4]);
            if checked {
                let error = seen.to_vec_blocking::<f32>().unwrap_err().to_string();
                let wanted = "KvSlots::write_each: the index 7 at position [0, 0, 2]";
                assert!(error.starts_with(wanted), "{error}");
                continue;
            }
            let part = |from, count| before.narrow(2, from, count).unwrap();
            let new = one.narrow(0, slot, 1).unwrap();
            let all = [part(0, to), new, part(to + 1, 3 - to)];
            let all = Tensor::concat(&all.each_ref(), 2).unwrap();
            assert_eq!(bits(&seen), bits(&kept(&all)), "{slot}");
        }
    }
}

#[test]
fn writes_of_nothing_are_fine() {
    let device = common::device();
    let mut cache = cache(&device, 2, 9, DType::I8);
    let none = numbers(&device, 1, [1, HEADS, 0]);
    cache.write(1, 9, &none, &none).unwrap();
    let mut narrow = KvSlots::new(&device, [2, HEADS], 3, [0, 4], DType::I8).unwrap();
    let keys = Tensor::zeros(&device, [1, HEADS, 2, 0], DType::F32).unwrap();
    let new = numbers(&device, 3, [1, HEADS, 2]);
    narrow.write(0, 1, &keys, &new).unwrap();
}
