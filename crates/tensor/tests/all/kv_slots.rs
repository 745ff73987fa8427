//! Caches of several sequences, each with a length of its own.

use crate::common;
use ziggurat_tensor::{Attention, DType, Device, Error, KvSlots, Tensor};

pub(crate) const HEADS: usize = 2;
pub(crate) const DIM: usize = 4;

/// Numbers that differ from each other, `[rows, heads, n, DIM]`.
pub(crate) fn numbers(device: &Device, seed: usize, [rows, heads, n]: [usize; 3]) -> Tensor {
    let values: Vec<f32> = (0..rows * heads * n * DIM)
        .map(|i| ((seed * 37 + i * 11) % 23) as f32 / 8.0 - 1.0)
        .collect();
    Tensor::from_slice(device, &values, [rows, heads, n, DIM]).unwrap()
}

pub(crate) fn cache(device: &Device, slots: usize, capacity: usize, dtype: DType) -> KvSlots {
    KvSlots::new(device, [slots, HEADS], capacity, [DIM, DIM], dtype).unwrap()
}

pub(crate) fn floats(tensor: &Tensor) -> Vec<f32> {
    tensor.to_vec_blocking::<f32>().unwrap()
}

pub(crate) fn indices(device: &Device, positions: &[i32]) -> Tensor {
    Tensor::from_slice(device, positions, [positions.len()]).unwrap()
}

pub(crate) fn worst(a: &[f32], b: &[f32]) -> f32 {
    assert_eq!(a.len(), b.len());
    let errors = a.iter().zip(b).map(|(a, b)| (a - b).abs());
    errors.fold(0.0, |most, error| if error <= most { most } else { error })
}

/// A sequence alone: its keys and values are joined by `concat`.
pub(crate) struct Alone(pub(crate) Option<(Tensor, Tensor)>);

impl Alone {
    pub(crate) fn add(&mut self, keys: &Tensor, values: &Tensor) {
        self.0 = Some(match self.0.take() {
            None => (keys.clone(), values.clone()),
            Some((k, v)) => (
                Tensor::concat(&[&k, keys], 2).unwrap(),
                Tensor::concat(&[&v, values], 2).unwrap(),
            ),
        });
    }

    pub(crate) fn see(&self, q: &Tensor) -> Vec<f32> {
        let (k, v) = self.0.as_ref().unwrap();
        let options = Attention::default();
        floats(&q.scaled_dot_product_attention(k, v, &options).unwrap())
    }
}

#[test]
fn every_slot_is_a_sequence_of_its_own() {
    let device = common::device();
    let mut cache = cache(&device, 3, 40, DType::F32);
    let mut alone = [const { Alone(None) }; 3];
    let mut lens = [5, 0, 17];
    for (slot, &len) in lens.iter().enumerate().filter(|(_, len)| **len > 0) {
        let keys = numbers(&device, slot, [1, HEADS, len]);
        let values = numbers(&device, slot + 50, [1, HEADS, len]);
        cache.write(slot, 0, &keys, &values).unwrap();
        alone[slot].add(&keys, &values);
    }
    let of = |x: &Tensor, slot: usize| x.narrow(0, slot, 1).unwrap();
    let (like, at) = (
        numbers(&device, 0, [3, HEADS, 1]),
        indices(&device, &[0; 3]),
    );
    let queries = numbers(&device, 0, [3, 2 * HEADS, 1]);
    let step = device
        .capture(&[&at, &like, &like, &queries], |x| {
            let at = cache.positions(&x[0])?;
            cache.write_each(&at, &x[1], &x[2])?;
            Ok(vec![cache.attend_each(
                &at,
                &x[3],
                &Attention::default(),
            )?])
        })
        .unwrap();
    for round in 0..6 {
        let keys = numbers(&device, round + 100, [3, HEADS, 1]);
        let values = numbers(&device, round + 200, [3, HEADS, 1]);
        let queries = numbers(&device, round + 300, [3, 2 * HEADS, 1]);
        let at = indices(&device, &lens.map(|len| len as i32));
        // By replays and by calls.
        let seen = if round % 3 == 2 {
            let at = cache.positions(&at).unwrap();
            cache.write_each(&at, &keys, &values).unwrap();
            cache
                .attend_each(&at, &queries, &Attention::default())
                .unwrap()
        } else {
            step.run(&[&at, &keys, &values, &queries])
                .unwrap()
                .remove(0)
        };
        for (slot, alone) in alone.iter_mut().enumerate() {
            alone.add(&of(&keys, slot), &of(&values, slot));
            let expected = alone.see(&of(&queries, slot));
            let error = worst(&floats(&of(&seen, slot)), &expected);
            assert!(error < 1e-5, "round {round}, slot {slot}: {error}");
        }
        // Lengths that were exchanged would be seen.
        let exchanged = [lens[1], lens[0], lens[2]].map(|len| len as i32);
        let exchanged = cache.positions(&indices(&device, &exchanged)).unwrap();
        let options = Attention::default();
        let wrong = cache.attend_each(&exchanged, &queries, &options).unwrap();
        for slot in [0, 1] {
            let expected = alone[slot].see(&of(&queries, slot));
            assert!(worst(&floats(&of(&wrong, slot)), &expected) > 1e-2);
        }
        lens = lens.map(|len| len + 1);
    }
    // Several queries of one slot, which see what stands before them.
    let queries = numbers(&device, 7, [1, 2 * HEADS, 3]);
    let causal = Attention {
        causal: true,
        ..Attention::default()
    };
    let seen = cache.attend(2, lens[2], &queries, &causal).unwrap();
    let (k, v) = alone[2].0.as_ref().unwrap();
    for query in 0..3 {
        let upto = lens[2] - 2 + query;
        let one = queries.narrow(2, query, 1).unwrap();
        let (k, v) = (k.narrow(2, 0, upto).unwrap(), v.narrow(2, 0, upto).unwrap());
        let options = Attention::default();
        let expected = one.scaled_dot_product_attention(&k, &v, &options).unwrap();
        let got = seen.narrow(2, query, 1).unwrap();
        assert!(worst(&floats(&got), &floats(&expected)) < 1e-5);
    }
}

#[test]
fn a_slot_is_used_again() {
    let device = common::device();
    let mut cache = cache(&device, 2, 16, DType::F32);
    let long = numbers(&device, 1, [1, HEADS, 16]);
    cache.write(1, 0, &long, &long).unwrap();
    let before = cache.attend(1, 16, &long, &Attention::default()).unwrap();
    let short = numbers(&device, 2, [1, HEADS, 3]);
    cache.write(1, 0, &short, &short).unwrap();
    let q = numbers(&device, 3, [1, HEADS, 1]);
    let got = floats(&cache.attend(1, 3, &q, &Attention::default()).unwrap());
    let mut alone = Alone(None);
    alone.add(&short, &short);
    assert!(worst(&got, &alone.see(&q)) < 1e-5);
    // What was computed before has not changed.
    let mut alone = Alone(None);
    alone.add(&long, &long);
    assert!(worst(&floats(&before), &alone.see(&long)) < 1e-5);
    // A piece behind another one.
    cache
        .write(
            1,
            3,
            &long.narrow(2, 0, 4).unwrap(),
            &short
                .narrow(2, 0, 1)
                .unwrap()
                .broadcast_to([1, HEADS, 4, DIM])
                .unwrap(),
        )
        .unwrap();
    let mut alone = Alone(None);
    alone.add(&short, &short);
    alone.add(
        &long.narrow(2, 0, 4).unwrap(),
        &short
            .narrow(2, 0, 1)
            .unwrap()
            .broadcast_to([1, HEADS, 4, DIM])
            .unwrap(),
    );
    let got = floats(&cache.attend(1, 7, &q, &Attention::default()).unwrap());
    assert!(worst(&got, &alone.see(&q)) < 1e-5);
}

#[test]
fn a_cache_of_halves_serves_queries_of_f32() {
    let device = common::device();
    let [mut exact, mut halves] = [DType::F32, DType::F16].map(|dtype| cache(&device, 2, 9, dtype));
    // Numbers that f16 has not.
    let keys = numbers(&device, 4, [1, HEADS, 9]).mul(0.3).unwrap();
    let queries = numbers(&device, 5, [2, HEADS, 1]).mul(0.7).unwrap();
    let [exact, halves] = [&mut exact, &mut halves].map(|cache| {
        cache.write(0, 0, &keys, &keys).unwrap();
        cache.write(1, 0, &keys, &keys).unwrap();
        let at = cache.positions(&indices(&device, &[8, 4])).unwrap();
        let token = keys
            .narrow(2, 1, 1)
            .unwrap()
            .broadcast_to([2, HEADS, 1, DIM])
            .unwrap();
        cache.write_each(&at, &token, &token).unwrap();
        let seen = cache
            .attend_each(&at, &queries, &Attention::default())
            .unwrap();
        assert_eq!(seen.dtype(), DType::F32);
        floats(&seen)
    });
    let error = worst(&exact, &halves);
    assert!(error > 0.0 && error < 2e-3, "{error}");
}

#[test]
fn a_position_out_of_range_is_found_and_stays_in_its_slot() {
    for checked in [false, true] {
        let device = Device::from_executor(common::device().executor());
        device.set_index_checks(checked);
        let mut cache = cache(&device, 2, 4, DType::F32);
        let keys = numbers(&device, 1, [1, HEADS, 4]);
        for slot in [0, 1] {
            cache.write(slot, 0, &keys, &keys).unwrap();
        }
        let q = numbers(&device, 3, [1, HEADS, 1]);
        let see = |cache: &KvSlots, slot: usize| {
            let seen = cache.attend(slot, 4, &q, &Attention::default()).unwrap();
            seen.to_vec_blocking::<f32>()
        };
        let before = see(&cache, 0).unwrap();
        let one = numbers(&device, 9, [2, HEADS, 1]);
        let at = cache.positions(&indices(&device, &[4, 3])).unwrap();
        cache.write_each(&at, &one, &one).unwrap();
        if checked {
            let error = see(&cache, 0).unwrap_err().to_string();
            let wanted = "KvSlots::write_each: the index 4 at position [0, 0, 2]";
            assert!(error.starts_with(wanted), "{error}");
            continue;
        }
        for slot in [0, 1] {
            let mut alone = Alone(None);
            for row in [
                &keys.narrow(2, 0, 3).unwrap(),
                &one.narrow(0, slot, 1).unwrap(),
            ] {
                alone.add(row, row);
            }
            let after = see(&cache, slot).unwrap();
            assert!(worst(&after, &alone.see(&q)) < 1e-5 && after != before);
        }
    }
}

#[test]
fn what_does_not_fit_is_an_error() {
    let device = common::device();
    let mut cache = cache(&device, 2, 4, DType::F32);
    let text = |error: Result<(), Error>| error.unwrap_err().to_string();
    let three = numbers(&device, 1, [1, HEADS, 3]);
    assert_eq!(
        text(cache.write(0, 2, &three, &three)),
        "KvSlots::write: the slot must have room: 3 positions from 2 on, 4 are its capacity"
    );
    assert_eq!(
        text(cache.write(2, 0, &three, &three)),
        "KvSlots::write: the slot must be below 2: it is 2"
    );
    let wide = numbers(&device, 1, [2, HEADS, 3]);
    assert_eq!(
        text(cache.write(0, 0, &three, &wide)),
        "KvSlots::write: values must fit the cache's [2, 2, 4, 4]: they are [2, 2, 3, 4]"
    );
    let positions = |cache: &KvSlots, t: &Tensor| cache.positions(t).map(drop);
    assert!(
        positions(&cache, &indices(&device, &[0]))
            .unwrap_err()
            .is_shape()
    );
    let floats = Tensor::zeros(&device, [2], DType::F32).unwrap();
    assert!(positions(&cache, &floats).unwrap_err().is_dtype());
    let other = KvSlots::new(&device, [2, HEADS], 5, [DIM, DIM], DType::F32).unwrap();
    let at = other.positions(&indices(&device, &[0, 0])).unwrap();
    let one = numbers(&device, 1, [2, HEADS, 1]);
    assert_eq!(
        text(cache.write_each(&at, &one, &one)),
        "KvSlots::write_each: positions must be made for the slots, heads and capacity of the cache, [2, 2, 4]: they are for [2, 2, 5]"
    );
    assert!(cache.attend_each(&at, &one, &Attention::default()).is_err());
    assert!(cache.attend(0, 5, &three, &Attention::default()).is_err());
    let whole = KvSlots::new(&device, [1, 1], 1, [1, 1], DType::I32).map(drop);
    assert!(whole.unwrap_err().is_dtype());
    // Within a capture only what the device can know.
    let captured = device.capture(&[&three], |x| {
        assert!(KvSlots::new(&device, [1, 1], 1, [1, 1], DType::F32).is_err());
        assert!(cache.attend(0, 1, &x[0], &Attention::default()).is_err());
        cache.write(0, 0, &x[0], &x[0])?;
        Ok(vec![x[0].clone()])
    });
    assert!(captured.unwrap_err().is_argument());
    // Nothing was written.
    let q = numbers(&device, 3, [1, HEADS, 1]);
    let zeros = cache.attend(0, 4, &q, &Attention::default()).unwrap();
    assert!(
        zeros
            .to_vec_blocking::<f32>()
            .unwrap()
            .iter()
            .all(|&x| x == 0.0)
    );
    // Nothing of everything.
    let mut empty = KvSlots::new(&device, [0, HEADS], 4, [DIM, DIM], DType::F32).unwrap();
    let none = numbers(&device, 1, [0, HEADS, 1]);
    let at = empty.positions(&indices(&device, &[])).unwrap();
    empty.write_each(&at, &none, &none).unwrap();
    assert_eq!(
        empty
            .attend_each(&at, &none, &Attention::default())
            .unwrap()
            .dims(),
        [0, HEADS, 1, DIM]
    );
    assert_eq!(
        (cache.slots(), cache.capacity(), cache.dtype()),
        (2, 4, DType::F32)
    );
}
