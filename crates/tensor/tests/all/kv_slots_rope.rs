//! Queries, keys and values of one product, rotated and written: what the operations do one by one, in the same bits.

use crate::common;
use crate::kv_slots::{HEADS, cache, floats, indices};
use ziggurat_tensor::{
    Attention, DType, Device, DeviceOptions, KvSlots, RopeForm, RopeTable, SlotPositions, Tensor,
};

const QUERIES: usize = 4;
const CAPACITY: usize = 6;

fn joined(device: &Device, slots: usize, dim: usize, seed: usize, dtype: DType) -> Tensor {
    let dims = [slots, QUERIES + 2 * HEADS, dim];
    let values: Vec<f32> = (0..dims.iter().product())
        .map(|i| ((seed * 37 + i * 11) % 23) as f32 / 8.0 - 1.0)
        .collect();
    let tensor = Tensor::from_slice(device, &values, dims).unwrap();
    tensor.to_dtype(dtype).unwrap()
}

/// Rotated queries, and what the cache then has.
fn one_by_one(
    cache: &mut KvSlots,
    at: &SlotPositions,
    joined: &Tensor,
    table: &RopeTable,
    interleaved: bool,
) -> Tensor {
    let positions = at.tensor().unsqueeze(1).unwrap();
    let form = RopeForm {
        interleaved,
        positions_before_heads: true,
        positions: Some(&positions),
        ..RopeForm::default()
    };
    let rows = joined.unsqueeze(1).unwrap();
    let rotated = rows.rope(table, form).unwrap().transpose(1, 2).unwrap();
    let rows = rows.transpose(1, 2).unwrap();
    let keys = rotated.narrow(1, QUERIES, HEADS).unwrap();
    let values = rows.narrow(1, QUERIES + HEADS, HEADS).unwrap();
    cache.write_each(at, &keys, &values).unwrap();
    let queries = rotated.narrow(1, 0, QUERIES).unwrap();
    match cache.dtype() {
        kept if kept.is_float() => queries.to_dtype(kept).unwrap(),
        _ => queries,
    }
}

fn seen(cache: &KvSlots, at: &SlotPositions, queries: &Tensor) -> Vec<u32> {
    let seen = cache.attend_each(at, queries, &Attention::default());
    let seen = seen.unwrap().to_dtype(DType::F32).unwrap();
    floats(&seen).into_iter().map(f32::to_bits).collect()
}

#[test]
fn each_dtype_of_rows_and_caches_is_as_one_by_one() {
    let device = common::device();
    let f = [DType::F32, DType::F16, DType::BF16];
    let alike = f.map(|dtype| (dtype, dtype, 8, 4));
    // By several dispatches: other dtypes, and heads that are no whole vectors.
    let others = [
        (DType::F32, DType::F16, 8, 4),
        (DType::F16, DType::F32, 8, 4),
        (DType::F32, DType::I8, 8, 4),
        (DType::F32, DType::F32, 6, 3),
        (DType::F16, DType::F16, 8, 3),
    ];
    for (dtype, kept, dim, pairs) in alike.into_iter().chain(others) {
        for interleaved in [false, true] {
            let table = RopeTable::new(&device, CAPACITY, 2 * pairs, 100.0).unwrap();
            let new = || KvSlots::new(&device, [3, HEADS], CAPACITY, [dim, dim], kept).unwrap();
            let (mut own, mut other) = (new(), new());
            for round in 0..3 {
                let at = [round, round + 2, 0];
                let at = own.positions(&indices(&device, &at)).unwrap();
                let rows = joined(&device, 3, dim, round as usize, dtype);
                let got = own.rope_write_each(&at, &rows, &table, interleaved);
                let got = got.unwrap();
                let want = one_by_one(&mut other, &at, &rows, &table, interleaved);
                assert_eq!(got.dims(), [3, QUERIES, 1, dim]);
                let of_queries = if kept.is_float() { kept } else { dtype };
                assert_eq!(got.dtype(), of_queries);
                let what = format!("{dtype} in {kept}, {dim}, {interleaved}, round {round}");
                assert_eq!(seen(&own, &at, &got), seen(&other, &at, &want), "{what}");
                // Unrotated queries see something else.
                let plain = rows.narrow(1, 0, QUERIES).unwrap().unsqueeze(2).unwrap();
                assert_ne!(seen(&own, &at, &plain), seen(&other, &at, &want), "{what}");
            }
        }
    }
}

/// A cache of heads of whole vectors.
fn eights(device: &Device, slots: usize) -> KvSlots {
    KvSlots::new(device, [slots, HEADS], CAPACITY, [8, 8], DType::F32).unwrap()
}

#[test]
fn a_step_is_one_dispatch_and_may_be_captured() {
    // Of its own: dispatches are counted.
    let device = Device::open_blocking(DeviceOptions::default()).unwrap();
    let table = RopeTable::new(&device, CAPACITY, 8, 100.0).unwrap();
    let (mut own, mut other) = (eights(&device, 2), eights(&device, 2));
    let like = joined(&device, 2, 8, 0, DType::F32);
    let step = device
        .capture(&[&indices(&device, &[0, 0]), &like], |x| {
            let at = own.positions(&x[0])?;
            let q = own.rope_write_each(&at, &x[1], &table, false)?;
            Ok(vec![own.attend_each(&at, &q, &Attention::default())?])
        })
        .unwrap();
    for round in 0..4 {
        let at = indices(&device, &[round, 3 - round]);
        let rows = joined(&device, 2, 8, round as usize + 5, DType::F32);
        let got = step.run(&[&at, &rows]).unwrap().remove(0);
        let at = other.positions(&at).unwrap();
        let q = one_by_one(&mut other, &at, &rows, &table, false);
        let bits: Vec<u32> = floats(&got).into_iter().map(f32::to_bits).collect();
        assert_eq!(bits, seen(&other, &at, &q), "round {round}");
    }
    let at = own.positions(&indices(&device, &[1, 2])).unwrap();
    like.storage().unwrap();
    let dispatches = || device.executor().device().queue_stats().dispatches;
    let before = dispatches();
    drop(own.rope_write_each(&at, &like, &table, false).unwrap());
    assert_eq!(dispatches() - before, 1);
}

#[test]
fn what_does_not_fit_is_an_error() {
    let device = common::device();
    let table = RopeTable::new(&device, CAPACITY, 4, 100.0).unwrap();
    let mut own = cache(&device, 2, CAPACITY, DType::F32);
    let at = own.positions(&indices(&device, &[0, 1])).unwrap();
    let mut refused = |joined: &Tensor, table: &RopeTable, part: &str| {
        let error = own.rope_write_each(&at, joined, table, false).unwrap_err();
        assert!(error.is_shape() || error.is_argument(), "{error}");
        assert!(error.to_string().contains(part), "{error}");
    };
    let rows = |dims: &[usize]| Tensor::zeros(&device, dims, DType::F32).unwrap();
    refused(&rows(&[2, 32]), &table, "must have rank 3");
    refused(&rows(&[3, 8, 4]), &table, "heads of 2 slots");
    refused(&rows(&[2, 3, 4]), &table, "2 each of keys and values");
    refused(&rows(&[2, 8, 8]), &table, "keys");
    let wide = RopeTable::new(&device, CAPACITY, 8, 100.0).unwrap();
    refused(&rows(&[2, 8, 4]), &wide, "cos");
    // Positions of another cache.
    let larger = cache(&device, 2, CAPACITY + 1, DType::F32);
    let other = larger.positions(&indices(&device, &[0, 1])).unwrap();
    let rows = rows(&[2, 8, 4]);
    assert!(own.rope_write_each(&other, &rows, &table, false).is_err());
}

#[test]
fn a_position_out_of_range_is_found() {
    let device = Device::from_executor(common::device().executor());
    device.set_index_checks(true);
    let table = RopeTable::new(&device, CAPACITY, 8, 100.0).unwrap();
    let mut own = eights(&device, 1);
    let at = own.positions(&indices(&device, &[6])).unwrap();
    let rows = joined(&device, 1, 8, 3, DType::F32);
    let q = own.rope_write_each(&at, &rows, &table, false).unwrap();
    let seen = own.attend_each(&at, &q, &Attention::default()).unwrap();
    let error = seen.to_vec_blocking::<f32>().unwrap_err();
    assert!(error.to_string().contains("rope_write_each"), "{error}");
}
