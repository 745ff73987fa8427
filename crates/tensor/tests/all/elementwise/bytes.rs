//! Bytes seen as another dtype, and tensors written in place.

use super::*;

#[test]
fn bytes_are_seen_as_other_dtypes_without_a_copy() {
    let device = common::device();
    let a = Tensor::arange(&device, 0, 24, 1, DType::I32)
        .unwrap()
        .reshape([2, 3, 4])
        .unwrap();
    let bytes = a.bitcast(DType::U8).unwrap();
    assert_eq!(bytes.dims(), [2, 3, 16]);
    let back = bytes.bitcast(DType::I32).unwrap();
    assert_eq!(
        back.to_vec_blocking::<i32>().unwrap(),
        (0..24).collect::<Vec<i32>>()
    );
    let halves = a.bitcast(DType::BF16).unwrap();
    assert_eq!(halves.dims(), [2, 3, 8]);
    // Views keep their strides and offsets.
    let view = a.permute([1, 0, 2]).unwrap().narrow(0, 1, 2).unwrap();
    let seen = view.bitcast(DType::U8).unwrap().select(2, 0).unwrap();
    assert_eq!(seen.to_vec_blocking::<u8>().unwrap(), [4, 16, 8, 20]);
    let flipped = a
        .flip([0])
        .unwrap()
        .bitcast(DType::F32)
        .unwrap()
        .bitcast(DType::U32)
        .unwrap();
    assert_eq!(flipped.to_vec_blocking::<u32>().unwrap()[0], 12);
    // Of no elements there is nothing whose order could be wrong.
    let none = a.narrow(0, 0, 0).unwrap().flip([-1]).unwrap();
    assert_eq!(none.bitcast(DType::U8).unwrap().dims(), [0, 3, 16]);
    // NaN payloads survive; what is pending is computed first.
    let bits = Tensor::from_slice(&device, &[0x7fc0_1234u32, 5], [2]).unwrap();
    let nan = bits.bitcast(DType::F32).unwrap();
    assert!(floats(Ok(nan.clone()))[0].is_nan());
    assert_eq!(
        nan.bitcast(DType::U32)
            .unwrap()
            .to_vec_blocking::<u32>()
            .unwrap(),
        [0x7fc0_1234, 5]
    );
    assert_eq!(
        (&bits + 1)
            .unwrap()
            .bitcast(DType::I32)
            .unwrap()
            .to_vec_blocking::<i32>()
            .unwrap(),
        [0x7fc0_1235, 6]
    );
    let flags = Tensor::from_slice(&device, &[true, false], [2]).unwrap();
    assert_eq!(
        flags
            .bitcast(DType::U8)
            .unwrap()
            .to_vec_blocking::<u8>()
            .unwrap(),
        [1, 0]
    );
    let empty = Tensor::zeros(&device, [0, 4], DType::U8).unwrap();
    assert_eq!(empty.bitcast(DType::F32).unwrap().dims(), [0, 1]);
}

#[test]
fn bitcasts_without_meaning_are_refused() {
    let device = common::device();
    let a = Tensor::zeros(&device, [3, 6], DType::U8).unwrap();
    let error = a.bitcast(DType::Bool).unwrap_err();
    assert!(error.is_dtype());
    assert_eq!(
        error.to_string(),
        "bitcast: the bytes of a bool must be 0 or 1: use to_dtype to convert: it is u8"
    );
    for wrong in [
        a.bitcast(DType::F32),
        a.t().unwrap().bitcast(DType::F16),
        a.narrow(1, 1, 4).unwrap().bitcast(DType::F16),
        a.narrow(1, 0, 4).unwrap().bitcast(DType::F32),
        Tensor::from_value(&device, 1.0f32)
            .unwrap()
            .bitcast(DType::U8),
        a.slice_step(1, .., 2)
            .unwrap()
            .bitcast(DType::I8)
            .and_then(|x| x.bitcast(DType::F16)),
    ] {
        assert!(wrong.unwrap_err().is_shape());
    }
    assert_eq!(
        a.narrow(1, 2, 4)
            .unwrap()
            .bitcast(DType::F16)
            .unwrap()
            .dims(),
        [3, 2]
    );
}

#[test]
fn in_place_forms_change_one_variable_only() {
    let device = common::device();
    let mut a = row(&device, &[1.0, -4.0]);
    let (copy, view) = (a.clone(), a.flip([0]).unwrap());
    a.mul_(2.0).unwrap();
    a.abs_().unwrap();
    a.sqrt_().unwrap();
    a.add_(&copy).unwrap();
    assert_eq!(
        floats(Ok(a.clone())),
        [2f32.sqrt() + 1.0, 8f32.sqrt() - 4.0]
    );
    assert_eq!(floats(Ok(copy)), [1.0, -4.0]);
    assert_eq!(floats(Ok(view)), [-4.0, 1.0]);
    a.clamp_(0.0, 1.0).unwrap();
    assert_eq!(floats(Ok(a.clone())), [1.0, 0.0]);
    let mask = a.gt(0.5).unwrap();
    a.masked_fill_(&mask, 9.0).unwrap();
    assert_eq!(floats(Ok(a.clone())), [9.0, 0.0]);
    a.fill_(3).unwrap();
    a.pow_(2).unwrap();
    assert_eq!(floats(Ok(a.clone())), [9.0, 9.0]);
    a.zero_().unwrap();
    assert_eq!(floats(Ok(a)), [0.0, 0.0]);
}

#[test]
fn in_place_forms_keep_shape_and_dtype() {
    let device = common::device();
    let mut half = row(&device, &[1.0, 2.0]).to_dtype(DType::F16).unwrap();
    half.add_(row(&device, &[0.5, 0.5])).unwrap();
    assert_eq!(half.dtype(), DType::F16);
    let mut ints = Tensor::from_slice(&device, &[7i32, 8], [2]).unwrap();
    let error = ints.add_(0.5).unwrap_err();
    assert!(error.is_dtype());
    assert_eq!(
        error.to_string(),
        "add_: the result must not be of a higher category than the tensor that it is written to: f32 is written to i32"
    );
    assert!(ints.div_(2).unwrap_err().is_dtype());
    assert!(ints.sqrt_().unwrap_err().is_dtype());
    let error = ints
        .add_(Tensor::ones(&device, [3, 2], DType::I32).unwrap())
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "add_: the result must have the shape of the tensor that it is written to: [3, 2] is written to [2]"
    );
    assert_eq!(
        ints.to_vec_blocking::<i32>().unwrap(),
        [7, 8],
        "nothing has changed"
    );
    ints.floor_divide_(2).unwrap();
    assert_eq!(ints.to_vec_blocking::<i32>().unwrap(), [3, 4]);
}
