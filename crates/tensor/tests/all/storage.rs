//! The memory of tensors, read and written by calls of the layers below.

use ziggurat_tensor::{DType, Element, Tensor};

use crate::common;

fn floats(tensor: &Tensor) -> Vec<f32> {
    tensor.to_vec_blocking::<f32>().unwrap()
}

#[test]
fn what_shares_memory_keeps_its_values_when_it_is_written_to() {
    let device = common::device();
    let memory = device.executor().memory();
    let mut a = Tensor::from_slice(&device, &[1.0f32, 2.0, 3.0, 4.0], [2, 2]).unwrap();
    let (clone, view) = (a.clone(), a.t().unwrap());
    let (pending, sum) = (a.mul(2.0).unwrap(), a.sum([0], false).unwrap());
    let storage = a.storage_mut().unwrap().clone();
    memory
        .write(&storage.buffer, 4, &f32::write_bytes(&[7.0]))
        .unwrap();
    assert_eq!(floats(&a), [1.0, 7.0, 3.0, 4.0]);
    assert_eq!(floats(&clone), [1.0, 2.0, 3.0, 4.0]);
    assert_eq!(floats(&view), [1.0, 3.0, 2.0, 4.0]);
    assert_eq!(floats(&pending), [2.0, 4.0, 6.0, 8.0]);
    assert_eq!(floats(&sum), [4.0, 6.0]);
    // What nobody shares is written where it is.
    drop((clone, view, pending, sum, storage));
    let before = a.storage().unwrap().buffer.id();
    let zeros = Tensor::zeros(&device, [2], DType::F32).unwrap();
    let place = a.storage_mut().unwrap().clone();
    assert_eq!(place.buffer.id(), before);
    let row = place
        .with_layout(place.layout.select(0, 0).unwrap())
        .unwrap();
    let _done = device
        .executor()
        .copy(zeros.storage().unwrap(), &row)
        .unwrap();
    assert_eq!(floats(&a), [0.0, 0.0, 3.0, 4.0]);
}

#[test]
fn pending_and_strided_tensors_have_storage() {
    let device = common::device();
    let memory = device.executor().memory();
    let mut a = Tensor::arange(&device, 0, 6, 1, DType::F32).unwrap();
    a = a.mul(1.5).unwrap().reshape([2, 3]).unwrap().t().unwrap();
    assert!(!a.storage().unwrap().layout.is_contiguous());
    let storage = a.storage_mut().unwrap().clone();
    assert!(storage.layout.is_contiguous());
    let mut bytes = [0; 24];
    let read = memory
        .read_into(&storage.buffer, 0..24, &mut bytes)
        .unwrap();
    read.wait().unwrap();
    assert_eq!(f32::read_bytes(&bytes), [0.0, 4.5, 1.5, 6.0, 3.0, 7.5]);
    let mapped = memory
        .read_mapped(&storage.buffer, 0..8)
        .unwrap()
        .wait()
        .unwrap();
    assert_eq!(f32::read_bytes(&mapped), [0.0, 4.5]);
}
