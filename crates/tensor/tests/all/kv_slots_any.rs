//! Caches of several sequences, of any extents and options.

use crate::common;
use crate::kv_slots::{Alone, floats, indices, worst};
use crate::kv_slots_8_bit::kept;
use crate::operands::Random;
use ziggurat_tensor::{Attention, DType, Device, DeviceOptions, KvSlots, QueryPosition, Tensor};

/// One problem: sequences of any lengths, by calls and by replays, against each of them alone.
fn any_problem(device: &Device, seed: u64, rng: &mut Random) {
    let [slots, heads, group] = [4, 3, 2].map(|most| 1 + rng.below(most));
    let capacity = 6 + rng.below(60);
    let [key_dim, value_dim] = [0; 2].map(|_| rng.pick(&[1usize, 3, 8, 16, 20]));
    let dtype = rng.pick(&[DType::F32, DType::F16, DType::I8]);
    let options = Attention {
        left_window: (rng.below(2) > 0).then(|| rng.below(9) as u32),
        softcap: if rng.below(3) == 0 { 2.0 } else { 0.0 },
        ..Attention::default()
    };
    // What 8 bits keep is known, so attention to it is as exact as to f32.
    let bound = if dtype == DType::F16 { 5e-3 } else { 2e-5 };
    let stays = |x: &Tensor| match dtype {
        DType::I8 => kept(x),
        _ => x.clone(),
    };
    let mut random = |dims: [usize; 4]| {
        let values: Vec<f32> = (0..dims.iter().product())
            .map(|_| rng.below(4001) as f32 / 2000.0 - 1.0)
            .collect();
        Tensor::from_slice(device, &values, dims).unwrap()
    };
    let mut cache = KvSlots::new(
        device,
        [slots, heads],
        capacity,
        [key_dim, value_dim],
        dtype,
    )
    .unwrap();
    let mut alone: Vec<Alone> = (0..slots).map(|_| Alone(None)).collect();
    let mut lens = vec![0; slots];
    for (slot, len) in lens.iter_mut().enumerate() {
        *len = (seed as usize * 7 + slot * 13) % (capacity - 4);
        let (keys, values) = (
            random([1, heads, *len, key_dim]),
            random([1, heads, *len, value_dim]),
        );
        cache.write(slot, 0, &keys, &values).unwrap();
        alone[slot].add(&stays(&keys), &stays(&values));
    }
    let mut step = None;
    for round in 0..4 {
        let (keys, values) = (
            random([slots, heads, 1, key_dim]),
            random([slots, heads, 1, value_dim]),
        );
        let queries = random([slots, heads * group, 1, key_dim]);
        let at: Vec<i32> = lens.iter().map(|&len| len as i32).collect();
        let at = indices(device, &at);
        let inputs = [&at, &keys, &values, &queries];
        let step = step.get_or_insert_with(|| {
            let captured = device.capture(&inputs, |x| {
                let at = cache.positions(&x[0])?;
                cache.write_each(&at, &x[1], &x[2])?;
                Ok(vec![cache.attend_each(&at, &x[3], &options)?])
            });
            captured.unwrap()
        });
        let seen = step.run(&inputs).unwrap().remove(0);
        for (slot, alone) in alone.iter_mut().enumerate() {
            let of = |x: &Tensor| x.narrow(0, slot, 1).unwrap();
            alone.add(&stays(&of(&keys)), &stays(&of(&values)));
            let (k, v) = alone.0.as_ref().unwrap();
            let options = Attention {
                position: QueryPosition::BottomRight,
                ..options
            };
            let expected = of(&queries).scaled_dot_product_attention(k, v, &options);
            let error = worst(&floats(&of(&seen)), &floats(&expected.unwrap()));
            assert!(
                error < bound,
                "seed {seed}, round {round}, slot {slot}: {error} {dtype}"
            );
        }
        lens.iter_mut().for_each(|len| *len += 1);
    }
}

#[test]
fn slots_of_any_extents_are_sequences_also_over_small_bindings() {
    // Room for the keys of one head, and not for those of several slots.
    let small = Device::open_blocking(DeviceOptions {
        max_binding_bytes: Some(8 << 10),
        ..DeviceOptions::default()
    });
    for device in [common::device(), small.unwrap()] {
        for seed in 0..10 {
            any_problem(&device, seed, &mut Random(seed.wrapping_mul(0x9e37_79b9)));
        }
    }
}
