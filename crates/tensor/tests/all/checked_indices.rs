//! The checked mode of indices: an error stays with what was computed from a bad index, and with nothing else.

use crate::common;
use std::thread;

use ziggurat_tensor::{DType, Device, Error, KvCache, Tensor, read_many_blocking};

const TEXT: &str = "index_select: the index 7 at position [1] is out of range for 3 positions";

/// A device with checks, a table [3, 2], and indices of which one is out of range.
fn checked() -> (Device, Tensor, Tensor) {
    let device = Device::from_executor(common::device().executor());
    device.set_index_checks(true);
    let table = Tensor::arange(&device, 0, 6, 1, DType::F32).unwrap();
    let bad = Tensor::from_slice(&device, &[0i32, 7], [2]).unwrap();
    (device.clone(), table.reshape([3, 2]).unwrap(), bad)
}

fn text(result: Result<Vec<f32>, Error>) -> String {
    result.unwrap_err().to_string()
}

#[test]
fn reads_of_other_tensors_are_told_nothing() {
    let (device, table, bad) = checked();
    let rows = table.index_select(0, &bad).unwrap();
    assert_eq!(table.to_vec_blocking::<f32>().unwrap().len(), 6);
    assert_eq!(bad.to_vec_blocking::<i32>().unwrap(), [0, 7]);
    let innocent = thread::scope(|scope| {
        let other = scope.spawn(|| {
            let other = Tensor::ones(&device, [2], DType::F32)?.add(1.0)?;
            other.to_vec_blocking::<f32>()
        });
        other.join().unwrap()
    });
    assert_eq!(innocent.unwrap(), [2.0, 2.0]);
    assert_eq!(text(rows.to_vec_blocking()), TEXT);
}

#[test]
fn neither_dropped_reads_nor_synchronize_swallow_it() {
    let (device, table, bad) = checked();
    let rows = table.index_select(0, &bad).unwrap();
    drop(rows.to_vec::<f32>());
    drop(device.check_indices());
    drop(device.synchronize());
    // Told once by the device, which has one list for everybody ...
    assert_eq!(device.synchronize_blocking().unwrap_err().to_string(), TEXT);
    device.synchronize_blocking().unwrap();
    // ... and by the tensor for ever.
    for _ in 0..2 {
        assert_eq!(text(rows.to_vec_blocking()), TEXT);
    }
    device.synchronize_blocking().unwrap();
}

#[test]
fn what_is_computed_from_a_bad_index_has_its_error() {
    let (device, table, bad) = checked();
    let rows = table.index_select(0, &bad).unwrap();
    let fused = rows.mul(2.0).unwrap().sqrt().unwrap();
    let product = fused
        .matmul(&Tensor::eye(&device, 2, DType::F32).unwrap())
        .unwrap();
    let summed = product.softmax(-1).unwrap().sum([0, 1], false).unwrap();
    let view = rows.t().unwrap().narrow(0, 1, 1).unwrap();
    let (largest, _) = rows.topk(1, -1, true).unwrap();
    let joined = Tensor::concat(&[&table, &rows], 0).unwrap();
    for tensor in [&fused, &product, &summed, &view, &largest, &joined] {
        assert_eq!(text(tensor.to_vec_blocking()), TEXT);
    }
    // On another thread too, and among others.
    thread::scope(|scope| {
        let error = scope.spawn(|| read_many_blocking(&[&table, &summed]).unwrap_err());
        assert_eq!(error.join().unwrap().to_string(), TEXT);
    });
    assert!(format!("{summed}").contains(TEXT));
    // A good index leaves nothing behind.
    let good = Tensor::from_slice(&device, &[2i32, -3], [2]).unwrap();
    let rows = table.index_select(0, &good).unwrap();
    for _ in 0..2 {
        assert_eq!(rows.to_vec_blocking::<f32>().unwrap(), [4.0, 5.0, 0.0, 1.0]);
    }
    assert!(rows.storage().unwrap().buffer.marks().is_empty());
}

#[test]
fn the_device_tells_of_tensors_that_are_gone() {
    let (device, table, bad) = checked();
    drop(table.index_select(0, &bad).unwrap());
    let error = futures::executor::block_on(device.check_indices()).unwrap_err();
    assert_eq!(error.to_string(), TEXT);
    futures::executor::block_on(device.check_indices()).unwrap();
}

#[test]
fn each_replay_has_its_own_verdict() {
    let (device, table, bad) = checked();
    let captured = device
        .capture(&[&bad], |x| {
            Ok(vec![table.index_select(0, &x[0])?.add(1.0)?])
        })
        .unwrap();
    let good = Tensor::from_slice(&device, &[0i32, 1], [2]).unwrap();
    let run = |index: &Tensor| captured.run(&[index]).unwrap().remove(0);
    let (first, second, third) = (run(&good), run(&bad), run(&good));
    assert_eq!(
        first.to_vec_blocking::<f32>().unwrap(),
        [1.0, 2.0, 3.0, 4.0]
    );
    assert_eq!(text(second.to_vec_blocking()), TEXT);
    assert_eq!(
        third.to_vec_blocking::<f32>().unwrap(),
        [1.0, 2.0, 3.0, 4.0]
    );
    // What a replay is given may be bad already.
    let rows = table.index_select(0, &bad).unwrap();
    let doubled = device
        .capture(&[&rows], |x| Ok(vec![x[0].mul(2.0)?]))
        .unwrap();
    let results =
        [&rows, &table.narrow(0, 0, 2).unwrap()].map(|x| doubled.run(&[x]).unwrap().remove(0));
    assert_eq!(text(results[0].to_vec_blocking()), TEXT);
    assert_eq!(
        results[1].to_vec_blocking::<f32>().unwrap(),
        [0.0, 2.0, 4.0, 6.0]
    );
}

#[test]
fn a_bad_token_that_a_replay_appends_stays_with_the_cache() {
    let (device, table, bad) = checked();
    let tokens = |rows: &Tensor| rows.reshape([1, 1, 2, 2]).unwrap();
    let good = Tensor::from_slice(&device, &[0i32, 1], [2]).unwrap();
    let cache = || KvCache::new(&device, [1, 1], 16, [2, 2], DType::F32).unwrap();
    let read = |cache: &KvCache| {
        let keys = cache.keys().unwrap().to_vec_blocking::<f32>();
        assert_eq!(
            keys.is_ok(),
            cache.values().unwrap().to_vec_blocking::<f32>().is_ok()
        );
        keys
    };
    // The index is looked up within the capture.
    let (mut own, mut other) = (cache(), cache());
    let step = device
        .capture(&[&good], |x| {
            let rows = tokens(&table.index_select(0, &x[0])?);
            own.append(&rows, &rows)?;
            Ok(vec![own.padded_keys().sum_all()?])
        })
        .unwrap();
    own.append(
        &tokens(&table.narrow(0, 0, 2).unwrap()),
        &tokens(&table.narrow(0, 1, 2).unwrap()),
    )
    .unwrap();
    assert_eq!(read(&own).unwrap(), [0.0, 1.0, 2.0, 3.0], "no replay yet");
    let sum = |index: &Tensor| {
        step.run(&[index])
            .unwrap()
            .remove(0)
            .to_vec_blocking::<f32>()
    };
    assert_eq!(sum(&good).unwrap(), [12.0]);
    assert_eq!(read(&own).unwrap().len(), 8);
    step.replay(&[&bad]).unwrap();
    step.replay(&[&good]).unwrap();
    assert_eq!(text(read(&own)), TEXT);
    assert_eq!(text(sum(&good)), TEXT, "what attends to the cache");
    // Before it, and what the replay is given brings the mark.
    let rows = tokens(&table.index_select(0, &bad).unwrap());
    let append = device
        .capture(&[&rows], |x| {
            other.append(&x[0], &x[0])?;
            Ok(Vec::new())
        })
        .unwrap();
    append
        .replay(&[&tokens(&table.narrow(0, 0, 2).unwrap())])
        .unwrap();
    assert!(read(&other).is_ok());
    append.replay(&[&rows]).unwrap();
    assert_eq!(text(read(&other)), TEXT);
}
