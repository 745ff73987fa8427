//! Pooling through the public interface: the contract's values, all dimensions, and what is refused.

use crate::common;
use ziggurat_tensor::{DType, Device, Error, Pool1dOptions, PoolOptions, Tensor};

fn line(device: &Device, values: &[f32]) -> Tensor {
    Tensor::from_slice(device, values, [1, 1, values.len()]).unwrap()
}

fn f64s(tensor: &Tensor) -> Vec<f64> {
    tensor.to_f64_vec_blocking().unwrap()
}

fn windows(kernel: usize, stride: usize, pad: usize) -> Pool1dOptions {
    PoolOptions::new([kernel]).stride([stride]).padding([pad])
}

#[test]
fn averages_are_those_of_the_contract() {
    let device = common::device();
    let x = line(&device, &[1.0, 2.0, 3.0, 4.0, 5.0]);
    let plain = windows(2, 2, 1);
    let padded = PoolOptions {
        count_include_pad: true,
        ..plain
    };
    let ceiled = PoolOptions {
        ceil_mode: true,
        ..windows(2, 2, 0)
    };
    let divided = PoolOptions {
        divisor_override: Some(4),
        ..plain
    };
    assert_eq!(f64s(&x.avg_pool1d(&plain).unwrap()), [1.0, 2.5, 4.5]);
    assert_eq!(f64s(&x.avg_pool1d(&padded).unwrap()), [0.5, 2.5, 4.5]);
    assert_eq!(f64s(&x.avg_pool1d(&ceiled).unwrap()), [1.5, 3.5, 5.0]);
    assert_eq!(f64s(&x.avg_pool1d(&divided).unwrap()), [0.25, 1.25, 2.25]);
    let edge = PoolOptions {
        ceil_mode: true,
        count_include_pad: true,
        ..windows(3, 2, 1)
    };
    let x = line(&device, &[1.0, 2.0, 3.0, 4.0]);
    assert_eq!(f64s(&x.avg_pool1d(&edge).unwrap()), [1.0, 3.0, 2.0]);
}

#[test]
fn adaptive_windows_are_those_of_the_contract() {
    let device = common::device();
    let x = line(&device, &[1.0, 2.0, 3.0, 4.0, 5.0]);
    assert_eq!(f64s(&x.adaptive_avg_pool1d([3]).unwrap()), [1.5, 3.0, 4.5]);
    assert_eq!(f64s(&x.adaptive_max_pool1d([2]).unwrap()), [3.0, 5.0]);
    let (y, at) = x.adaptive_max_pool1d_with_indices([2]).unwrap();
    assert_eq!((f64s(&y), f64s(&at)), (vec![3.0, 5.0], vec![2.0, 4.0]));
    assert_eq!(f64s(&x.adaptive_avg_pool1d([1]).unwrap()), [3.0]);
    assert_eq!(f64s(&x.adaptive_avg_pool1d([5]).unwrap()), f64s(&x));
    let volume = Tensor::arange(&device, 0, 64, 1, DType::F32)
        .unwrap()
        .reshape([1, 4, 4, 4])
        .unwrap();
    let y = volume.adaptive_avg_pool3d([2, 1, 4]).unwrap();
    assert_eq!(y.dims(), [1, 2, 1, 4]);
    assert_eq!(f64s(&y), [14.0, 15.0, 16.0, 17.0, 46.0, 47.0, 48.0, 49.0]);
    let square = volume.squeeze_axis(0).unwrap();
    assert_eq!(
        square.adaptive_avg_pool2d([1, 1]).unwrap().dims(),
        [4, 1, 1]
    );
    assert_eq!(
        square.adaptive_max_pool2d([3, 2]).unwrap().dims(),
        [4, 3, 2]
    );
}

#[test]
fn three_dimensions_are_two_and_one() {
    let device = common::device();
    let x = Tensor::arange(&device, 0, 2 * 5 * 6 * 7, 1, DType::F32)
        .unwrap()
        .sin()
        .unwrap()
        .reshape([1, 2, 5, 6, 7])
        .unwrap();
    let options = PoolOptions::new([3, 2, 2])
        .stride([2, 1, 3])
        .padding([1, 0, 1]);
    let y = x.max_pool3d(&options).unwrap();
    assert_eq!(y.dims(), [1, 2, 3, 5, 3]);
    // The planes first, then along the depth.
    let planes = x
        .transpose(1, 2)
        .unwrap()
        .reshape([5, 2, 6, 7])
        .unwrap()
        .max_pool2d(&PoolOptions::new([2, 2]).stride([1, 3]).padding([0, 1]))
        .unwrap();
    let columns = planes
        .permute([1, 2, 3, 0])
        .unwrap()
        .reshape([1, 30, 5])
        .unwrap()
        .max_pool1d(&windows(3, 2, 1))
        .unwrap()
        .reshape([2, 5, 3, 3])
        .unwrap()
        .permute([0, 3, 1, 2])
        .unwrap();
    assert_eq!(f64s(&y), f64s(&columns));
    let (z, at) = x.max_pool3d_with_indices(&options).unwrap();
    assert_eq!(f64s(&z), f64s(&y));
    let (values, places) = (f64s(&x), f64s(&at));
    for (i, (value, place)) in f64s(&y).iter().zip(&places).enumerate() {
        assert_eq!(values[i / 45 * 210 + *place as usize], *value, "{i}");
    }
}

#[test]
fn norms_of_windows() {
    let device = common::device();
    let x = line(&device, &[3.0, -4.0, 0.0, -2.0]);
    let pairs = windows(2, 2, 0);
    assert_eq!(f64s(&x.lp_pool1d(2.0, &pairs).unwrap()), [5.0, 2.0]);
    assert_eq!(f64s(&x.lp_pool1d(1.0, &pairs).unwrap()), [7.0, 2.0]);
    let cubes = f64s(&x.lp_pool1d(3.0, &pairs).unwrap());
    assert!((cubes[0] - 91f64.cbrt()).abs() < 1e-5 && (cubes[1] - 2.0).abs() < 1e-6);
    assert!(x.lp_pool1d(0.0, &pairs).unwrap_err().is_argument());
}

#[test]
fn maxima_keep_nan_and_the_first_of_equals() {
    let device = common::device();
    let x = line(&device, &[1.0, f32::NAN, 7.0, 2.0, 2.0, -0.0, 0.0]);
    let (y, at) = x.max_pool1d_with_indices(&windows(3, 2, 0)).unwrap();
    let y = f64s(&y);
    assert!(y[0].is_nan() && y[1] == 7.0 && y[2] == 2.0, "{y:?}");
    assert_eq!(f64s(&at), [1.0, 2.0, 4.0]);
    let zeros = line(&device, &[-0.0, 0.0]);
    let (_, at) = zeros.max_pool1d_with_indices(&windows(2, 1, 0)).unwrap();
    assert_eq!(f64s(&at), [0.0]);
}

#[test]
fn windows_that_hold_nothing_or_do_not_fit_are_refused() {
    let device = common::device();
    let x = line(&device, &[1.0, 2.0]);
    let text = |result: Result<Tensor, Error>| result.unwrap_err().to_string();
    assert_eq!(
        text(x.max_pool1d(&windows(2, 1, 2))),
        "max_pool1d: padding must be smaller than a window, or a window would hold nothing else, but it is 2"
    );
    let gap = PoolOptions {
        dilation: [3],
        ..windows(2, 1, 1)
    };
    assert_eq!(
        text(x.max_pool1d(&gap)),
        "max_pool1d: dilation must not let a window step over the whole input, but it is 3"
    );
    assert_eq!(
        text(x.avg_pool1d(&windows(3, 1, 0))),
        "avg_pool1d: x must, with its padding, be at least as large as a window, but its shape is [1, 1, 2]"
    );
    assert!(x.max_pool2d(&PoolOptions::square(1)).is_ok());
    assert!(
        x.max_pool3d(&PoolOptions::square(1))
            .unwrap_err()
            .is_shape()
    );
    assert!(
        x.to_dtype(DType::I32)
            .unwrap()
            .adaptive_avg_pool1d([1])
            .unwrap_err()
            .is_dtype()
    );
    let none = Tensor::zeros(&device, [0, 3, 4], DType::F32).unwrap();
    assert_eq!(none.adaptive_avg_pool1d([2]).unwrap().dims(), [0, 3, 2]);
    assert_eq!(none.adaptive_avg_pool1d([1]).unwrap().dims(), [0, 3, 1]);
    assert!(x.adaptive_max_pool1d([70_000]).unwrap_err().is_argument());
}

/// `torch.nn.functional.max_unpool2d(*torch.nn.functional.max_pool2d(x, 2, return_indices=True), 2)` of PyTorch 2.15.
#[test]
fn maxima_go_back_to_where_they_were() {
    let device = common::device();
    let x = [
        1.0f32, 5.0, 2.0, 0.0, 3.0, 4.0, 7.0, 6.0, 9.0, 8.0, -1.0, -2.0, 0.0, 1.0, -3.0, -4.0,
    ];
    let x = Tensor::from_slice(&device, &x, [1, 4, 4]).unwrap();
    let expected = [
        0.0, 5.0, 0.0, 0.0, 0.0, 0.0, 7.0, 0.0, 9.0, 0.0, -1.0, 0.0, 0.0, 0.0, 0.0, 0.0,
    ];
    for x in [x.clone(), x.unsqueeze(0).unwrap()] {
        let (most, at) = x.max_pool2d_with_indices(&PoolOptions::square(2)).unwrap();
        let back = most.max_unpool2d(&at, [4, 4]).unwrap();
        assert_eq!(back.dims(), x.dims());
        assert_eq!(f64s(&back), expected);
        // Any integers, and views.
        let (most, at) = (
            most.transpose(-1, -2).unwrap(),
            at.transpose(-1, -2).unwrap(),
        );
        let back = most.max_unpool2d(&at.to_dtype(DType::U8).unwrap(), [4, 4]);
        assert_eq!(f64s(&back.unwrap()), expected);
    }
    let x = line(&device, &[1.0, 2.0]);
    let at = Tensor::from_slice(&device, &[3i32, 0], [1, 1, 2]).unwrap();
    assert_eq!(
        f64s(&x.max_unpool1d(&at, [4]).unwrap()),
        [2.0, 0.0, 0.0, 1.0]
    );
    let cube = x.reshape([1, 1, 1, 1, 2]).unwrap();
    let at = at.reshape([1, 1, 1, 1, 2]).unwrap();
    assert_eq!(
        f64s(&cube.max_unpool3d(&at, [1, 2, 2]).unwrap()),
        [2.0, 0.0, 0.0, 1.0]
    );
    assert!(x.max_unpool1d(&at, [4]).unwrap_err().is_shape());
    assert!(x.max_unpool1d(&x, [4]).unwrap_err().is_dtype());
    assert!(x.max_unpool2d(&x, [4, 4]).is_err());
}

#[test]
fn a_norm_over_whole_planes() {
    let device = common::device();
    let x = Tensor::from_slice(&device, &[3.0f32, -4.0, 1.0, -2.0], [1, 2, 1, 2]).unwrap();
    let x = x.transpose(1, 3).unwrap().transpose(1, 3).unwrap();
    assert_eq!(f64s(&x.global_lp_pool(1.0).unwrap()), [7.0, 3.0]);
    let y = x.to_dtype(DType::F16).unwrap().global_lp_pool(2.0).unwrap();
    assert_eq!((y.dims(), y.dtype()), (&[1, 2, 1, 1][..], DType::F16));
    assert!((f64s(&y)[0] - 5.0).abs() < 1e-2);
    assert!(x.global_lp_pool(0.0).unwrap_err().is_argument());
    assert!(
        x.flatten(0, 2)
            .unwrap()
            .global_lp_pool(2.0)
            .unwrap_err()
            .is_shape()
    );
}
