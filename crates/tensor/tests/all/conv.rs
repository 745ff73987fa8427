//! Convolution, its transpose, and images as columns, through the public interface.

use crate::common;
use ziggurat_tensor::{
    Conv1dOptions, Conv2dOptions, Conv3dOptions, ConvTranspose1dOptions, ConvTranspose2dOptions,
    ConvTranspose3dOptions, DType, Device, Error, Tensor,
};

/// Small integers, exact in every sum that the tests make.
fn numbers(device: &Device, dims: &[usize], seed: i32) -> Tensor {
    let len: usize = dims.iter().product();
    let values: Vec<f32> = (0..len as i32)
        .map(|i| ((i * 7 + seed * 3) % 11 - 5) as f32)
        .collect();
    Tensor::from_slice(device, &values, dims).unwrap()
}

fn f64s(tensor: &Tensor) -> Vec<f64> {
    tensor.to_f64_vec_blocking().unwrap()
}

fn given(device: &Device, values: &[f32], dims: &[usize]) -> Tensor {
    Tensor::from_slice(device, values, dims).unwrap()
}

#[test]
fn same_padding_puts_the_odd_element_at_the_end() {
    let device = common::device();
    let x = given(&device, &[1.0, 2.0, 3.0], &[1, 1, 3]);
    let w = given(&device, &[1.0, 1.0], &[1, 1, 2]);
    let y = x
        .conv1d(&w, None, &Conv1dOptions::default().same())
        .unwrap();
    assert_eq!(f64s(&y), [3.0, 5.0, 3.0]);
    let w = numbers(&device, &[2, 1, 4, 3], 1);
    let x = numbers(&device, &[1, 1, 5, 6], 2);
    let y = x
        .conv2d(&w, None, &Conv2dOptions::default().same().dilation([2, 1]))
        .unwrap();
    assert_eq!(y.dims(), [1, 2, 5, 6]);
    let same = Conv2dOptions {
        padding_begin: [3, 1],
        padding_end: [3, 1],
        ..Conv2dOptions::default().dilation([2, 1])
    };
    assert_eq!(f64s(&y), f64s(&x.conv2d(&w, None, &same).unwrap()));
    let strided = Conv2dOptions::default().same().stride([2, 1]);
    let error = x.conv2d(&w, None, &strided).unwrap_err();
    assert_eq!(
        error.to_string(),
        "conv2d: stride must be 1 where the padding keeps the extents, but it is 2"
    );
    assert!(error.is_argument());
    let both = Conv2dOptions::default().same().padding([1, 1]);
    assert!(x.conv2d(&w, None, &both).unwrap_err().is_argument());
}

#[test]
fn an_even_kernel_keeps_the_sequence_of_the_contract() {
    let device = common::device();
    // PyTorch: conv1d([1, 2, 3], [1, 1], padding="same") is [3, 5, 3]; cross-correlation with [1, 0] is [1, 2].
    let x = given(&device, &[1.0, 2.0, 3.0], &[1, 3]);
    let w = given(&device, &[1.0, 0.0], &[1, 1, 2]);
    let y = x.conv1d(&w, None, &Conv1dOptions::default()).unwrap();
    assert_eq!((y.dims(), f64s(&y)), (&[1, 2][..], vec![1.0, 2.0]));
}

#[test]
fn three_dimensions_and_no_batch_axis() {
    let device = common::device();
    let x = numbers(&device, &[2, 3, 4, 5], 1);
    let w = numbers(&device, &[4, 2, 2, 3, 1], 2);
    let bias = numbers(&device, &[4], 3);
    let options = Conv3dOptions::default().padding([1, 0, 2]);
    let y = x.conv3d(&w, Some(&bias), &options).unwrap();
    assert_eq!(y.dims(), [4, 4, 2, 9]);
    // The depth as a sum of planes.
    let padded = Conv2dOptions::default().padding([0, 2]);
    let mut planes = Vec::new();
    for out in 0..4isize {
        let mut sum: Option<Tensor> = None;
        for tap in 0..2isize {
            let at = out + tap - 1;
            if (0..3).contains(&at) {
                let plane = x.select(1, at).unwrap();
                let part = plane
                    .conv2d(&w.select(2, tap).unwrap(), None, &padded)
                    .unwrap();
                sum = Some(match sum {
                    Some(sum) => (sum + part).unwrap(),
                    None => part,
                });
            }
        }
        let column = bias.reshape([4, 1, 1]).unwrap();
        planes.push(f64s(&(sum.unwrap() + column).unwrap()));
    }
    let y = f64s(&y.permute([1, 0, 2, 3]).unwrap());
    assert_eq!(y, planes.concat());
    let t = y.len();
    assert_eq!(t, 4 * 4 * 2 * 9);
}

#[test]
fn the_transpose_is_the_adjoint() {
    let device = common::device();
    // <conv(x, w), y> = <x, conv_transpose(y, w)>, exact in small integers.
    let x = numbers(&device, &[2, 4, 9, 8], 1);
    let w = numbers(&device, &[6, 2, 3, 2], 2);
    let options = Conv2dOptions {
        stride: [2, 3],
        padding_begin: [1, 0],
        padding_end: [0, 1],
        dilation: [1, 2],
        groups: 2,
        same: false,
    };
    let z = x.conv2d(&w, None, &options).unwrap();
    let y = numbers(&device, z.dims(), 3);
    let back = |output_padding| {
        let options = ConvTranspose2dOptions {
            stride: options.stride,
            padding_begin: options.padding_begin,
            padding_end: options.padding_end,
            output_padding,
            dilation: options.dilation,
            groups: 2,
        };
        y.conv_transpose2d(&w, None, &options).unwrap()
    };
    let short = back([0, 0]);
    let rest = [9 - short.dims()[2], 8 - short.dims()[3]];
    let t = back(rest);
    assert_eq!(t.dims(), x.dims());
    let dot = |a: &Tensor, b: &Tensor| a.vdot(b).unwrap().item_blocking::<f32>().unwrap();
    assert_eq!(dot(&z, &y), dot(&x, &t));
}

#[test]
fn transposes_of_one_and_three_dimensions_agree_with_two() {
    let device = common::device();
    let x = numbers(&device, &[3, 7], 1);
    let w = numbers(&device, &[3, 2, 4], 2);
    let bias = numbers(&device, &[2], 3);
    let line = ConvTranspose1dOptions::default()
        .stride([3])
        .padding([1])
        .output_padding([2])
        .dilation([2]);
    let y = x.conv_transpose1d(&w, Some(&bias), &line).unwrap();
    assert_eq!(y.dims(), [2, 6 * 3 + 6 + 1 + 2 - 2]);
    let flat = ConvTranspose2dOptions::default()
        .stride([1, 3])
        .padding([0, 1])
        .output_padding([0, 2])
        .dilation([1, 2]);
    let (x2, w2) = (x.unsqueeze(1).unwrap(), w.unsqueeze(2).unwrap());
    let y2 = x2.conv_transpose2d(&w2, Some(&bias), &flat).unwrap();
    assert_eq!(f64s(&y), f64s(&y2));
    let deep = ConvTranspose3dOptions::default()
        .stride([3, 1, 1])
        .padding([1, 0, 0])
        .output_padding([2, 0, 0])
        .dilation([2, 1, 1]);
    let x3 = x.reshape([3, 7, 1, 1]).unwrap();
    let w3 = w.reshape([3, 2, 4, 1, 1]).unwrap();
    let y3 = x3.conv_transpose3d(&w3, Some(&bias), &deep).unwrap();
    assert_eq!(f64s(&y), f64s(&y3));
    assert_eq!(
        x.narrow(0, 0, 3)
            .unwrap()
            .unsqueeze(0)
            .unwrap()
            .narrow(0, 0, 0)
            .unwrap()
            .conv_transpose1d(&w, None, &line)
            .unwrap()
            .dims(),
        [0, 2, 25]
    );
}

#[test]
fn columns_times_filters_are_the_convolution_and_fold_back_to_counts() {
    let device = common::device();
    let x = numbers(&device, &[2, 3, 6, 7], 1);
    let w = numbers(&device, &[4, 3, 2, 3], 2);
    let options = Conv2dOptions {
        stride: [2, 1],
        padding_begin: [1, 0],
        padding_end: [0, 2],
        dilation: [1, 2],
        ..Conv2dOptions::default()
    };
    let columns = x.im2col([2, 3], &options).unwrap();
    let y = x.conv2d(&w, None, &options).unwrap();
    let product = w.reshape([4, 18]).unwrap().matmul(&columns).unwrap();
    assert_eq!(f64s(&product), f64s(&y));

    let ones = Tensor::ones(&device, [3, 6, 7], DType::F32).unwrap();
    let columns = ones.im2col([2, 3], &options).unwrap();
    let counts = columns.col2im([6, 7], [2, 3], &options).unwrap();
    assert_eq!(counts.dims(), [3, 6, 7]);
    let kernel = Tensor::ones(&device, [1, 1, 2, 3], DType::F32).unwrap();
    let line = Tensor::ones(&device, [1, 1, 6, 7], DType::F32).unwrap();
    let seen = line.conv2d(&kernel, None, &options).unwrap();
    let adjoint = ConvTranspose2dOptions {
        stride: options.stride,
        padding_begin: options.padding_begin,
        padding_end: options.padding_end,
        dilation: options.dilation,
        output_padding: [1, 0],
        groups: 1,
    };
    let spread = seen
        .ones_like()
        .unwrap()
        .conv_transpose2d(&kernel, None, &adjoint)
        .unwrap();
    assert_eq!(
        f64s(&counts),
        [f64s(&spread), f64s(&spread), f64s(&spread)].concat()
    );
    let empty = Tensor::zeros(&device, [0, 3, 6, 7], DType::F32).unwrap();
    assert_eq!(empty.im2col([2, 3], &options).unwrap().dims(), [0, 18, 15]);
}

#[test]
fn nan_in_memory_never_enters_through_the_padding() {
    let device = common::device();
    // The slice is surrounded by NaN.
    let values: Vec<f32> = (0..20 * 64)
        .map(|i| {
            let (y, x) = (i / 8 % 8, i % 8);
            let inside = (2..6).contains(&y) && (2..6).contains(&x);
            if inside { 1.0 } else { f32::NAN }
        })
        .collect();
    let frame = given(&device, &values, &[1, 20, 8, 8]);
    let inner = frame.narrow(2, 2, 4).unwrap().narrow(3, 2, 4).unwrap();
    for filters in [2, 20] {
        let w = Tensor::ones(&device, [filters, 20, 3, 3], DType::F32).unwrap();
        let y = inner
            .conv2d(&w, None, &Conv2dOptions::default().padding([1, 1]))
            .unwrap();
        assert!(f64s(&y).iter().all(|v| v.is_finite()));
    }
}

#[test]
fn f16_is_summed_wide() {
    let device = common::device();
    for filters in [1, 16] {
        let x = Tensor::full(&device, [1, 4096, 1, 1], 1.0, DType::F16).unwrap();
        let w = Tensor::full(&device, [filters, 4096, 1, 1], 1.0, DType::F16).unwrap();
        let y = x.conv2d(&w, None, &Conv2dOptions::default()).unwrap();
        assert_eq!(y.dtype(), DType::F16);
        assert_eq!(f64s(&y), vec![4096.0; filters]);
    }
}

#[test]
fn wrong_operands_name_op_rule_and_shapes() {
    let device = common::device();
    let ones = |dims: &[usize]| Tensor::ones(&device, dims, DType::F32).unwrap();
    let text = |result: Result<Tensor, Error>| result.unwrap_err().to_string();
    let plain = ConvTranspose1dOptions::default();
    assert_eq!(
        text(ones(&[2, 3, 4]).conv_transpose1d(&ones(&[2, 3, 1]), None, &plain)),
        "conv_transpose1d: the channels of x must be groups times the channels of w: left is [2, 3, 4], right is [2, 3, 1]"
    );
    assert_eq!(
        text(ones(&[2, 3, 4]).conv1d(&ones(&[2, 3, 5]), None, &Conv1dOptions::default())),
        "conv1d: the dilated kernel must fit the padded input: left is [2, 3, 4], right is [2, 3, 5]"
    );
    assert_eq!(
        text(ones(&[4]).conv1d(&ones(&[2, 3, 5]), None, &Conv1dOptions::default())),
        "conv1d: the input must have 1 axes behind a channel axis, and may have a batch axis in front: it is [4]"
    );
    assert_eq!(
        text(ones(&[1, 3, 4]).conv_transpose1d(&ones(&[3, 1, 1]), None, &plain.padding([2]))),
        "conv_transpose1d: padding must leave something of the result, but it is 4"
    );
    let ints = Tensor::ones(&device, [1, 1, 3], DType::I32).unwrap();
    assert!(
        ints.conv1d(&ints, None, &Conv1dOptions::default())
            .unwrap_err()
            .is_dtype()
    );
    let options = Conv2dOptions::default();
    assert!(
        ones(&[1, 4, 4])
            .col2im([2, 2], [3, 1], &options)
            .unwrap_err()
            .is_shape()
    );
    assert!(
        ones(&[4, 4])
            .im2col([2, 2], &options)
            .unwrap_err()
            .is_shape()
    );
    assert!(
        ones(&[1, 4, 4])
            .im2col([5, 2], &options)
            .unwrap_err()
            .is_shape()
    );
}
