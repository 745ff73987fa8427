//! Convolutions, pools and resampling with more taps per output than an invocation may take in one dispatch: 65,535 turns of
//! its loops on Mesa's software drivers, which end it there without a word. Each is seen to reach the last of its taps.

use crate::common;
use ziggurat_tensor::{
    Conv1dOptions, Conv2dOptions, Conv3dOptions, ConvTranspose1dOptions, ConvTranspose2dOptions,
    DType, Device, InterpolateMode, InterpolateOptions, Pool1dOptions, Pool2dOptions, Tensor,
};

/// One value, seen everywhere in a shape.
fn everywhere(device: &Device, value: f32, dims: &[usize]) -> Tensor {
    let ones = vec![1; dims.len()];
    let dims: Vec<isize> = dims.iter().map(|&dim| dim as isize).collect();
    let one = Tensor::full(device, ones, value, DType::F32).unwrap();
    one.expand(dims).unwrap()
}

/// Zeros with one value at the end.
fn at_the_end(device: &Device, value: f32, dims: &[usize]) -> Tensor {
    let mut values = vec![0.0; dims.iter().product()];
    *values.last_mut().unwrap() = value;
    Tensor::from_slice(device, &values, dims).unwrap()
}

fn values(tensor: &Tensor) -> Vec<f64> {
    tensor.to_f64_vec_blocking().unwrap()
}

fn all_are(tensor: &Tensor, wanted: f64, what: &str) {
    for value in values(tensor) {
        assert!(
            (value - wanted).abs() <= 1e-4 * wanted.abs(),
            "{what}: {value}, not {wanted}"
        );
    }
}

#[test]
fn convolutions_add_up_all_of_their_products() {
    let device = common::device();
    const CHANNELS: usize = 5000;
    let x = everywhere(&device, 1.0, &[2, CHANNELS, 3, 4]);
    let w = everywhere(&device, 1.0, &[3, CHANNELS, 3, 3]);
    let bias = everywhere(&device, 7.0, &[3]);
    let y = x
        .conv2d(&w, Some(&bias), &Conv2dOptions::default())
        .unwrap();
    all_are(&y, 45_007.0, "conv2d");
    // What is above a convolution is not applied to the sums in between.
    let y = x
        .conv2d(&w, Some(&bias), &Conv2dOptions::default())
        .unwrap();
    let y = y.sub(45_000.0).unwrap().relu().unwrap().mul(2.0).unwrap();
    all_are(&y, 14.0, "conv2d and what follows");
    let w = everywhere(&device, 1.0, &[4, CHANNELS / 2, 3, 3]);
    let x = everywhere(&device, 1.0, &[1, CHANNELS, 3, 3]);
    let groups = Conv2dOptions {
        groups: 2,
        ..Conv2dOptions::default()
    };
    let y = x.conv2d(&w, None, &groups).unwrap();
    all_are(&y, 22_500.0, "groups");
    let x = everywhere(&device, 0.5, &[1, 4551, 3, 3])
        .to_dtype(DType::F16)
        .unwrap();
    let w = everywhere(&device, 1.0, &[1, 4551, 3, 3])
        .to_dtype(DType::F16)
        .unwrap();
    let y = x.conv2d(&w, None, &Conv2dOptions::default()).unwrap();
    // 20,479.5, rounded once.
    all_are(&y, 20_480.0, "f16");
}

#[test]
fn kernels_may_be_as_long_as_a_signal() {
    let device = common::device();
    const TAPS: usize = 100_000;
    let x = everywhere(&device, 1.0, &[1, 1, TAPS + 9]);
    let w = at_the_end(&device, 3.0, &[1, 1, TAPS]);
    let y = x.conv1d(&w, None, &Conv1dOptions::default()).unwrap();
    all_are(&y, 3.0, "the last tap");
    let ones = everywhere(&device, 1.0, &[1, 1, TAPS]);
    let padded = Conv1dOptions {
        padding_begin: [4],
        ..Conv1dOptions::default()
    };
    let y = values(&x.conv1d(&ones, None, &padded).unwrap());
    let wanted: Vec<f64> = (0..14)
        .map(|o| (TAPS + o).min(TAPS + 4) as f64 - 4.0)
        .collect();
    assert_eq!(y, wanted);
    let x = everywhere(&device, 1.0, &[1, 2, 3, 2, 20_000]);
    let w = everywhere(&device, 1.0, &[1, 2, 3, 2, 20_000]);
    let y = x.conv3d(&w, None, &Conv3dOptions::default()).unwrap();
    all_are(&y, 240_000.0, "conv3d");
}

#[test]
fn transposed_convolutions_add_up_all_of_their_products() {
    let device = common::device();
    let x = everywhere(&device, 1.0, &[1, 5000, 3, 3]);
    let w = everywhere(&device, 1.0, &[5000, 1, 3, 3]);
    let y = x
        .conv_transpose2d(&w, None, &ConvTranspose2dOptions::default())
        .unwrap();
    assert_eq!(values(&y)[12], 45_000.0);
    let w = everywhere(&device, 1.0, &[5000, 1, 6, 6]);
    let strided = ConvTranspose2dOptions {
        stride: [2, 2],
        ..ConvTranspose2dOptions::default()
    };
    let y = x.conv_transpose2d(&w, None, &strided).unwrap();
    assert_eq!(values(&y)[55], 45_000.0);
    // Steps so long that looking for an output's taps is the long loop.
    const STRIDE: usize = 70_000;
    let x = everywhere(&device, 1.0, &[1, 1, 2]);
    let w = at_the_end(&device, 3.0, &[1, 1, STRIDE]);
    let cut = ConvTranspose1dOptions {
        stride: [STRIDE],
        padding_begin: [STRIDE - 3],
        padding_end: [STRIDE - 3],
        ..ConvTranspose1dOptions::default()
    };
    let y = x.conv_transpose1d(&w, None, &cut).unwrap();
    assert_eq!(values(&y), [0.0, 0.0, 3.0, 0.0, 0.0, 0.0]);
}

#[test]
fn tiles_add_up_all_of_their_products() {
    let device = common::device();
    // Beyond what one dispatch of a tiled kernel takes, gathered and as it lies.
    let x = everywhere(&device, 1.0, &[1, 12_000, 6, 6]);
    let w = everywhere(&device, 1.0, &[16, 12_000, 3, 3]);
    let y = x.conv2d(&w, None, &Conv2dOptions::default()).unwrap();
    all_are(&y, 108_000.0, "gathered");
    let x = everywhere(&device, 1.0, &[1, 100_000, 4, 4]);
    let w = everywhere(&device, 1.0, &[16, 100_000, 1, 1]);
    let bias = everywhere(&device, 1.0, &[16]);
    let y = x
        .conv2d(&w, Some(&bias), &Conv2dOptions::default())
        .unwrap();
    all_are(&y.neg().unwrap(), -100_001.0, "pointwise");
}

#[test]
fn overlapping_windows_are_summed_to_the_last() {
    let device = common::device();
    const TAPS: usize = 70_000;
    // Outputs near the kernel's end: only its last taps fall on a window.
    let columns = everywhere(&device, 1.0, &[1, TAPS, 11]);
    let padded = Conv2dOptions {
        padding_begin: [0, TAPS - 5],
        padding_end: [0, 5],
        ..Conv2dOptions::default()
    };
    let x = columns.col2im([1, 10], [1, TAPS], &padded).unwrap();
    let taps = TAPS as i32;
    let covers = |o: i32, window: &i32| (0..taps).contains(&(o + taps - 5 - window));
    let wanted: Vec<f64> = (0..10)
        .map(|o| (0..11).filter(|window| covers(o, window)).count() as f64)
        .collect();
    assert!(wanted.iter().all(|&sum| sum > 0.0));
    assert_eq!(values(&x), wanted);
}

#[test]
fn pools_see_all_of_their_windows() {
    let device = common::device();
    const SIDE: usize = 300;
    let last = at_the_end(&device, 90_000.0, &[1, 1, SIDE, SIDE]);
    let whole = Pool2dOptions::new([SIDE, SIDE]);
    all_are(&last.max_pool2d(&whole).unwrap(), 90_000.0, "max");
    all_are(&last.avg_pool2d(&whole).unwrap(), 1.0, "average");
    all_are(&last.lp_pool2d(2.0, &whole).unwrap(), 90_000.0, "length");
    all_are(&last.lp_pool2d(3.0, &whole).unwrap(), 90_000.0, "3-norm");
    let (most, at) = last.max_pool2d_with_indices(&whole).unwrap();
    all_are(&most, 90_000.0, "max with its place");
    all_are(&at, 89_999.0, "its place");
    let two = at_the_end(&device, 90_000.0, &[1, 1, SIDE, 2 * SIDE]);
    assert_eq!(
        values(&two.adaptive_max_pool2d([1, 2]).unwrap()),
        [0.0, 90_000.0]
    );
    let means = values(&two.adaptive_avg_pool2d([1, 2]).unwrap());
    assert!(
        means[0] == 0.0 && (means[1] - 1.0).abs() < 1e-4,
        "{means:?}"
    );
    let (_, at) = two.adaptive_max_pool2d_with_indices([1, 2]).unwrap();
    assert_eq!(values(&at), [0.0, 179_999.0]);
    // Steps of windows, padding that counts, and NaN at the far end.
    let long = at_the_end(&device, f32::NAN, &[1, 1, 70_001]);
    let options = Pool1dOptions {
        padding_begin: [1],
        count_include_pad: true,
        ..Pool1dOptions::new([70_000])
    }
    .stride([2]);
    let most = values(&long.max_pool1d(&options).unwrap());
    assert!(most[0] == 0.0 && most[1].is_nan(), "{most:?}");
    let ones = everywhere(&device, 1.0, &[1, 1, 70_001]);
    let means = values(&ones.avg_pool1d(&options).unwrap());
    assert!((means[0] - 69_999.0 / 70_000.0).abs() < 1e-7, "{means:?}");
    assert!((means[1] - 1.0).abs() < 1e-7, "{means:?}");
}

#[test]
fn resampling_averages_over_all_that_an_output_covers() {
    let device = common::device();
    let options = InterpolateOptions {
        mode: InterpolateMode::Linear,
        antialias: true,
        ..InterpolateOptions::default()
    };
    let ones = everywhere(&device, 1.0, &[1, 2, 300, 300]);
    all_are(&ones.interpolate(&[1, 1], &options).unwrap(), 1.0, "plane");
    let line = everywhere(&device, 1.0, &[1, 1, 100_000]);
    all_are(&line.interpolate(&[2], &options).unwrap(), 1.0, "line");
    let half = line.to_dtype(DType::BF16).unwrap();
    all_are(&half.interpolate(&[2], &options).unwrap(), 1.0, "bf16");
}

#[test]
fn a_capture_replays_all_dispatches_of_a_convolution() {
    let device = common::device();
    let ones = everywhere(&device, 1.0, &[1, 5000, 3, 3])
        .contiguous()
        .unwrap();
    let w = ones.clone();
    let captured = device
        .capture(&[&ones], |inputs| {
            let y = inputs[0].conv2d(&w, None, &Conv2dOptions::default())?;
            Ok(vec![y.add(1.0)?])
        })
        .unwrap();
    for factor in [1.0, 2.0] {
        let y = captured.run(&[&ones.mul(factor).unwrap()]).unwrap();
        all_are(&y[0], 45_000.0 * factor + 1.0, "replayed");
    }
}
