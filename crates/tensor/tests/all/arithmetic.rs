//! Operators, promotion, comparisons, and the errors of products and windows.

use crate::common;
use ziggurat_tensor::{
    Conv2dOptions, DType, Device, DeviceOptions, Error, PoolOptions, Tensor, f16, scalar,
};

fn row(device: &Device, values: &[f32]) -> Tensor {
    Tensor::from_slice(device, values, [values.len()]).unwrap()
}

fn floats(tensor: Result<Tensor, Error>) -> Vec<f32> {
    tensor.unwrap().to_vec_blocking::<f32>().unwrap()
}

#[test]
fn an_expression_needs_one_question_mark() {
    fn compute(a: &Tensor, b: &Tensor, c: &Tensor) -> Result<Tensor, Error> {
        (a * b + c)?.sqrt()
    }
    let device = common::device();
    let (a, b, c) = (
        row(&device, &[1.0, 2.0]),
        row(&device, &[3.0, 4.0]),
        row(&device, &[1.0, 1.0]),
    );
    assert_eq!(floats(compute(&a, &b, &c)), [2.0, 3.0]);
    assert_eq!(floats(c.clone() - (&a * &b)), [-2.0, -7.0]);
    assert_eq!(floats((&a * &b) * &c / scalar(2.0)), [1.5, 4.0]);
}

#[test]
fn operators_take_tensors_references_and_numbers_on_both_sides() {
    let device = common::device();
    let (a, b) = (row(&device, &[1.0, 2.0]), row(&device, &[4.0, 8.0]));
    assert_eq!(floats(&a + &b), [5.0, 10.0]);
    assert_eq!(floats(a.clone() + &b), [5.0, 10.0]);
    assert_eq!(floats(&a + b.clone()), [5.0, 10.0]);
    assert_eq!(floats(a.clone() + b.clone()), [5.0, 10.0]);
    assert_eq!(floats(&a * 2.0), [2.0, 4.0]);
    assert_eq!(floats(2.0 * &a), [2.0, 4.0]);
    assert_eq!(floats(1 - &a), [0.0, -1.0]);
    assert_eq!(floats(b.clone() / 2), [2.0, 4.0]);
    assert_eq!(floats(8.0 / b.clone()), [2.0, 1.0]);
    assert_eq!(floats(-&a), [-1.0, -2.0]);
    assert_eq!(floats(-a.clone()), [-1.0, -2.0]);
    assert_eq!(floats(&a * 2.0 + scalar(1.0)), [3.0, 5.0]);
    assert_eq!(floats(scalar(1.0) - &a * 2.0), [-1.0, -3.0]);
    assert_eq!(floats(&a - (&a * &b)), [-3.0, -14.0]);
    assert_eq!(floats(a.add(&b)), floats(&a + &b));
    assert_eq!(floats(a.pow(2)), [1.0, 4.0]);
    assert_eq!(floats(a.maximum(1.5)), [1.5, 2.0]);
    assert_eq!(floats(b.clamp(5, 6.5)), [5.0, 6.5]);
}

#[test]
fn the_first_error_of_an_expression_wins() {
    let device = common::device();
    let (a, b) = (row(&device, &[1.0, 2.0]), row(&device, &[1.0, 2.0, 3.0]));
    let error = (&a * &b + &a).unwrap_err();
    assert!(error.is_shape());
    assert_eq!(error.to_string(), "mul: cannot broadcast [2] with [3]");
}

#[test]
fn dtypes_are_promoted_as_in_pytorch() {
    let device = common::device();
    let half = Tensor::from_slice(&device, &[f16::from_f32(1.5)], [1]).unwrap();
    let int = Tensor::from_slice(&device, &[7i32], [1]).unwrap();
    let byte = Tensor::from_slice(&device, &[200u8], [1]).unwrap();
    let flag = Tensor::from_slice(&device, &[true], [1]).unwrap();
    assert_eq!((&half + &int).unwrap().dtype(), DType::F16);
    assert_eq!((&byte + &int).unwrap().dtype(), DType::I32);
    assert_eq!((&half * 2.0).unwrap().dtype(), DType::F16);
    assert_eq!((&int * 2.0).unwrap().dtype(), DType::F32);
    assert_eq!((&int * 2).unwrap().dtype(), DType::I32);
    assert_eq!(
        (&byte + 100).unwrap().to_vec_blocking::<u8>().unwrap(),
        [44]
    );
    assert_eq!((&flag + &flag).unwrap().dtype(), DType::Bool);
    assert!((&flag - &flag).unwrap_err().is_dtype());
    assert_eq!((&int / 2).unwrap().to_vec_blocking::<f32>().unwrap(), [3.5]);
    assert_eq!(
        int.div_trunc(-2).unwrap().to_vec_blocking::<i32>().unwrap(),
        [-3]
    );
    assert_eq!(int.sqrt().unwrap().dtype(), DType::F32);
    assert_eq!(int.floor().unwrap().dtype(), DType::I32);
    assert_eq!(byte.sum_all().unwrap().item_blocking::<i32>().unwrap(), 200);
    assert!(int.mean_all().unwrap_err().is_dtype());
    assert!(byte.add(300).unwrap_err().is_argument());
    let of_rank_0 = Tensor::from_value(&device, 2.0f32).unwrap();
    assert_eq!((&half * &of_rank_0).unwrap().dtype(), DType::F16);
}

#[test]
fn comparisons_and_choice_treat_nan_as_ieee_does() {
    let device = common::device();
    let a = row(&device, &[1.0, f32::NAN, 3.0]);
    let bools = |tensor: Result<Tensor, Error>| tensor.unwrap().to_vec_blocking::<bool>().unwrap();
    assert_eq!(bools(a.eq(&a)), [true, false, true]);
    assert_eq!(bools(a.ne(&a)), [false, true, false]);
    assert_eq!(bools(a.ge(3)), [false, false, true]);
    assert_eq!(
        bools(a.lt(2.0).unwrap().logical_or(&a.gt(2.0).unwrap())),
        [true, false, true]
    );
    assert_eq!(floats(a.eq(&a).unwrap().where_(&a, 0.0)), [1.0, 0.0, 3.0]);
    assert_eq!(a.eq(&a).unwrap().where_(1, 2).unwrap().dtype(), DType::I32);
    assert!(a.where_(&a, &a).unwrap_err().is_dtype());
}

#[test]
fn products_follow_numpy_and_say_what_does_not_fit() {
    let device = common::device();
    let ones = |dims: &[usize]| Tensor::ones(&device, dims, DType::F32).unwrap();
    for (a, b, wanted) in [
        (vec![3], vec![3], vec![]),
        (vec![3], vec![3, 4], vec![4]),
        (vec![2, 3], vec![3], vec![2]),
        (vec![2, 1, 3, 4], vec![5, 4, 6], vec![2, 5, 3, 6]),
        (vec![4], vec![5, 4, 6], vec![5, 6]),
    ] {
        let product = ones(&a).matmul(&ones(&b)).unwrap();
        assert_eq!(product.dims(), wanted, "{a:?} {b:?}");
        let k = *a.last().unwrap() as f32;
        assert!(
            product
                .to_vec_blocking::<f32>()
                .unwrap()
                .iter()
                .all(|&value| value == k)
        );
    }
    let text = |a: &[usize], b: &[usize]| ones(a).matmul(&ones(b)).unwrap_err().to_string();
    assert_eq!(
        text(&[2, 3], &[4, 5]),
        "matmul: inner dimensions differ: left is [2, 3], right is [4, 5]"
    );
    assert_eq!(
        text(&[], &[4]),
        "matmul: both operands must have rank 1 or more: left is [], right is [4]"
    );
    assert_eq!(
        text(&[2, 1, 1], &[3, 1, 1]),
        "matmul: batch dimensions do not broadcast: left is [2, 1, 1], right is [3, 1, 1]"
    );
    let linear = ones(&[2, 3])
        .linear(&ones(&[5, 3]), Some(&ones(&[5])))
        .unwrap();
    assert_eq!(linear.to_vec_blocking::<f32>().unwrap(), [4.0; 10]);
    assert!(
        ones(&[2, 3])
            .linear(&ones(&[3, 5]), None)
            .unwrap_err()
            .is_shape()
    );
}

#[test]
fn windows_that_do_not_fit_are_errors() {
    let device = common::device();
    let ones = |dims: &[usize]| Tensor::ones(&device, dims, DType::F32).unwrap();
    let image = ones(&[1, 2, 4, 4]);
    let options = Conv2dOptions::default();
    assert!(
        image
            .conv2d(&ones(&[1, 2, 5, 5]), None, &options)
            .unwrap_err()
            .is_shape()
    );
    assert!(
        image
            .conv2d(&ones(&[1, 3, 1, 1]), None, &options)
            .unwrap_err()
            .is_shape()
    );
    assert!(
        image
            .conv2d(&ones(&[3, 1, 1, 1]), None, &options.groups(2))
            .unwrap_err()
            .is_shape()
    );
    assert!(
        image
            .conv2d(&ones(&[1, 2, 1, 1]), Some(&ones(&[2])), &options)
            .unwrap_err()
            .is_shape()
    );
    assert!(
        image
            .conv2d(&ones(&[1, 2, 1, 1]), None, &options.stride([0, 1]))
            .unwrap_err()
            .is_argument()
    );
    assert_eq!(
        image
            .conv2d(&ones(&[3, 2, 2, 2]), None, &options)
            .unwrap()
            .dims(),
        [1, 3, 3, 3]
    );
    assert!(
        image
            .max_pool2d(&PoolOptions::square(2).padding([2, 2]))
            .unwrap_err()
            .is_argument()
    );
    assert!(
        image
            .max_pool2d(&PoolOptions::square(0))
            .unwrap_err()
            .is_argument()
    );
    assert!(
        image
            .max_pool2d(&PoolOptions::square(9))
            .unwrap_err()
            .is_shape()
    );
    assert!(
        ones(&[4, 4])
            .max_pool2d(&PoolOptions::square(2))
            .unwrap_err()
            .is_shape()
    );
    assert!(
        image
            .to_dtype(DType::I32)
            .unwrap()
            .avg_pool2d(&PoolOptions::square(2))
            .unwrap_err()
            .is_dtype()
    );
    let empty = ones(&[0, 2, 4, 4]);
    assert_eq!(
        empty.max_pool2d(&PoolOptions::square(2)).unwrap().dims(),
        [0, 2, 2, 2]
    );
}

#[test]
fn maxima_of_padding_alone_are_never_reported() {
    let device = common::device();
    let x = Tensor::full(&device, [1, 1, 2, 2], f32::NEG_INFINITY, DType::F32).unwrap();
    let options = PoolOptions::new([2, 2]).stride([1, 1]).padding([1, 1]);
    let (y, at) = x.max_pool2d_with_indices(&options).unwrap();
    assert!(
        y.to_vec_blocking::<f32>()
            .unwrap()
            .iter()
            .all(|&value| value == f32::NEG_INFINITY)
    );
    assert_eq!(
        at.to_vec_blocking::<i32>().unwrap(),
        [0, 0, 1, 0, 0, 1, 2, 2, 3]
    );
}

#[test]
fn tensors_of_two_devices_do_not_mix() {
    let device = common::device();
    let other = Device::open_blocking(DeviceOptions::default()).unwrap();
    let (a, b) = (row(&device, &[1.0]), row(&other, &[1.0]));
    assert!((&a + &b).unwrap_err().is_argument());
    assert!(a.eq(&a).unwrap().where_(&a, &b).unwrap_err().is_argument());
    assert!(
        ziggurat_tensor::read_many_blocking(&[&a, &b])
            .unwrap_err()
            .is_argument()
    );
}
