//! Views and shapes: the values each view shows, and that none copies.

use crate::common;
use ziggurat_tensor::{DType, Device, Error, Tensor, interop};

fn counted(device: &Device, dims: &[usize]) -> Tensor {
    let len = dims.iter().product::<usize>() as i32;
    Tensor::from_slice(device, &(0..len).collect::<Vec<i32>>(), dims).unwrap()
}

fn values(tensor: &Tensor) -> Vec<i32> {
    tensor.to_vec_blocking::<i32>().unwrap()
}

#[test]
fn views_share_the_memory_of_their_source() {
    let device = common::device();
    let a = counted(&device, &[2, 3, 4]);
    let views = [
        a.permute([2, 0, 1]),
        a.transpose(0, -1),
        a.t(),
        a.slice(1, 1..),
        a.slice_step(2, .., -2),
        a.narrow(0, 1, 1),
        a.select(1, -1),
        a.unsqueeze(1),
        a.unsqueeze(0).and_then(|a| a.squeeze()),
        a.unsqueeze(0).and_then(|a| a.expand([5, -1, -1, -1])),
        a.broadcast_to([2, 2, 3, 4]),
        a.flip([0, 2]),
        a.reshape([6, -1]),
        a.flatten(0, -1),
        a.view([3, 8]),
        a.contiguous(),
    ];
    for (i, view) in views.into_iter().enumerate() {
        let (source, seen) = (
            interop::buffer(&a).unwrap(),
            interop::buffer(&view.unwrap()).unwrap(),
        );
        assert!(source.buffer == seen.buffer, "view {i} copied");
    }
}

#[test]
fn views_show_the_right_values() {
    let device = common::device();
    let a = counted(&device, &[2, 3]);
    assert_eq!(values(&a.t().unwrap()), [0, 3, 1, 4, 2, 5]);
    assert_eq!(values(&a.slice(1, 1..=1).unwrap()), [1, 4]);
    assert_eq!(values(&a.slice(1, ..-1).unwrap()), [0, 1, 3, 4]);
    assert_eq!(values(&a.slice(1, (1, 3)).unwrap()), [1, 2, 4, 5]);
    assert_eq!(
        values(&a.slice_step(1, .., -1).unwrap()),
        [2, 1, 0, 5, 4, 3]
    );
    assert_eq!(values(&a.slice(1, (2, 1)).unwrap()), [0i32; 0]);
    assert_eq!(values(&a.slice(0, (-100, 100)).unwrap()), values(&a));
    assert_eq!(values(&a.select(1, -1).unwrap()), [2, 5]);
    assert_eq!(values(&a.flip([0]).unwrap()), [3, 4, 5, 0, 1, 2]);
    assert_eq!(
        values(&a.select(0, 1).unwrap().expand([2, -1]).unwrap()),
        [3, 4, 5, 3, 4, 5]
    );
    assert_eq!(
        values(&a.t().unwrap().reshape([-1]).unwrap()),
        [0, 3, 1, 4, 2, 5]
    );
    assert_eq!(
        values(&a.t().unwrap().contiguous().unwrap()),
        [0, 3, 1, 4, 2, 5]
    );
    assert_eq!(a.t().unwrap().flatten(0, 1).unwrap().dims(), [6]);
    assert_eq!(
        Tensor::from_value(&device, 7)
            .unwrap()
            .flatten(0, -1)
            .unwrap()
            .dims(),
        [1]
    );
}

#[test]
fn empty_tensors_are_ordinary_tensors() {
    let device = common::device();
    let a = Tensor::zeros(&device, [3, 0], DType::F32).unwrap();
    assert!(a.is_empty());
    assert_eq!(a.to_vec_blocking::<f32>().unwrap(), [0f32; 0]);
    assert_eq!((&a + 1.0).unwrap().dims(), [3, 0]);
    assert_eq!(
        (&a + &Tensor::ones(&device, [1], DType::F32).unwrap())
            .unwrap()
            .dims(),
        [3, 0]
    );
    assert_eq!(a.reshape([-1, 3]).unwrap().dims(), [0, 3]);
    assert!(a.reshape([0, -1]).unwrap_err().is_shape());
    assert_eq!(
        a.sum([1], false).unwrap().to_vec_blocking::<f32>().unwrap(),
        [0.0; 3]
    );
    assert!(
        a.mean([1], false)
            .unwrap()
            .to_vec_blocking::<f32>()
            .unwrap()
            .iter()
            .all(|mean| mean.is_nan())
    );
    assert!(a.max([1], false).unwrap_err().is_shape());
    assert!(a.argmax(1, false).unwrap_err().is_shape());
    assert_eq!(a.max([0], false).unwrap().dims(), [0]);
    assert_eq!(
        a.max_from([1], false, -1)
            .unwrap()
            .to_vec_blocking::<f32>()
            .unwrap(),
        [-1.0; 3]
    );
    assert_eq!(a.t().unwrap().matmul(&a).unwrap().dims(), [0, 0]);
    let product = a.matmul(&a.t().unwrap()).unwrap();
    assert_eq!(product.to_vec_blocking::<f32>().unwrap(), [0.0; 9]);
    assert_eq!(a.softmax(1).unwrap().dims(), [3, 0]);
    assert_eq!(a.to_string(), "[]");
}

#[test]
fn misuse_is_an_error_that_says_what_was_given() {
    let device = common::device();
    let a = counted(&device, &[2, 3]);
    let text = |result: Result<Tensor, Error>| {
        let error = result.unwrap_err();
        assert!(error.is_shape(), "{error}");
        error.to_string()
    };
    assert_eq!(
        text(a.permute([0, 0])),
        "permute: axis 0 is given more than once"
    );
    assert_eq!(
        text(a.slice(5, ..)),
        "slice: axis 5 is out of range for rank 2"
    );
    assert_eq!(
        text(a.slice_step(0, .., 0)),
        "slice: a slice of axis 0 has step 0"
    );
    assert_eq!(
        text(a.select(0, 2)),
        "select: index 2 is out of range for axis 0 of 2 elements"
    );
    assert_eq!(
        text(a.narrow(1, 2, 2)),
        "narrow: 2 elements from 2 leave axis 1 of 3 elements"
    );
    assert_eq!(
        text(a.reshape([4, -1])),
        "reshape: cannot reshape [2, 3] (6 elements) to [4, -1]"
    );
    assert_eq!(
        text(a.expand([3, 3])),
        "expand: cannot expand [2, 3] to [3, 3]"
    );
    assert_eq!(
        text(a.flatten(1, 0)),
        "flatten: start must not come after end: axes 1 to 0 of [2, 3]"
    );
    assert_eq!(
        text(a.t().unwrap().view([6])),
        "view: the strides must allow it without a copy: [3, 2] with strides [1, 3] to [6]"
    );
    assert_eq!(
        text(Tensor::from_slice(&device, &[1.0f32; 5], [2, 3])),
        "from_slice: the shape must hold all values: [2, 3] holds 6, 5 given"
    );
    assert!(text(Tensor::zeros(&device, [1; 9], DType::F32)).contains("rank 9"));
    let none = Tensor::zeros(&device, [0], DType::F32).unwrap();
    let error = none.chunk(usize::MAX, 0).unwrap_err();
    assert!(
        error.is_argument()
            && error
                .to_string()
                .starts_with("chunk: one call gives at most"),
        "{error}"
    );
    assert!(
        Tensor::zeros(&device, [usize::MAX, 3], DType::F32)
            .unwrap_err()
            .is_shape()
    );
}

#[test]
fn a_tensor_larger_than_a_buffer_is_refused_with_both_numbers() {
    let device = common::device();
    let limit = device.caps().max_buffer_bytes;
    let rows = usize::try_from(limit / 4 + 1).unwrap();
    let error = Tensor::zeros(&device, [rows], DType::F32).unwrap_err();
    assert!(error.is_too_large());
    let text = error.to_string();
    assert!(
        text.contains(&(rows as u64 * 4).to_string()) && text.contains(&limit.to_string()),
        "{text}"
    );
}
