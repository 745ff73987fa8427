//! Resampling through the public interface: PyTorch's and ONNX's values, and what is refused.

use crate::common;
use ziggurat_tensor::{
    AspectRatio, DType, Device, GridMode, GridPadding, GridSampleOptions, InterpolateMode,
    InterpolateOptions, NearestMode, ResizeMode, ResizeOptions, Tensor,
};

fn line(device: &Device, values: &[f32]) -> Tensor {
    Tensor::from_slice(device, values, [1, 1, values.len()]).unwrap()
}

fn f64s(tensor: &Tensor) -> Vec<f64> {
    tensor.to_f64_vec_blocking().unwrap()
}

fn options(mode: InterpolateMode) -> InterpolateOptions {
    InterpolateOptions {
        mode,
        ..InterpolateOptions::default()
    }
}

fn near(got: &[f64], wanted: &[f64]) {
    assert_eq!(got.len(), wanted.len());
    for (g, w) in got.iter().zip(wanted) {
        assert!(
            (g - w).abs() <= 1e-6 * (1.0 + w.abs()),
            "{got:?}, not {wanted:?}"
        );
    }
}

#[test]
fn interpolation_is_that_of_the_contract() {
    let device = common::device();
    let x = line(&device, &[1.0, 2.0]);
    let y = x
        .interpolate(&[3], &options(InterpolateMode::Nearest))
        .unwrap();
    assert_eq!(f64s(&y), [1.0, 1.0, 2.0]);
    let x = line(&device, &[0.0, 1.0]);
    let linear = options(InterpolateMode::Linear);
    let y = x.interpolate(&[4], &linear).unwrap();
    assert_eq!(f64s(&y), [0.0, 0.25, 0.75, 1.0]);
    let corners = InterpolateOptions {
        align_corners: true,
        ..linear
    };
    near(
        &f64s(&x.interpolate(&[4], &corners).unwrap()),
        &[0.0, 1.0 / 3.0, 2.0 / 3.0, 1.0],
    );
    // One output at a corner.
    assert_eq!(f64s(&x.interpolate(&[1], &corners).unwrap()), [0.0]);
    let y = x.interpolate_by(&[2.0], &linear).unwrap();
    assert_eq!(f64s(&y), [0.0, 0.25, 0.75, 1.0]);
    let long = line(&device, &[0.0, 1.0, 2.0, 3.0, 4.0]);
    let exact = options(InterpolateMode::NearestExact);
    assert_eq!(
        f64s(&long.interpolate(&[3], &exact).unwrap()),
        [0.0, 2.0, 4.0]
    );
    let area = options(InterpolateMode::Area);
    assert_eq!(
        f64s(&long.interpolate(&[3], &area).unwrap()),
        [0.5, 2.0, 3.5]
    );
}

#[test]
fn planes_and_volumes_are_lines_in_every_direction() {
    let device = common::device();
    let x = Tensor::arange(&device, 0, 2 * 3 * 4 * 5, 1, DType::F32)
        .unwrap()
        .sin()
        .unwrap()
        .reshape([1, 2, 3, 4, 5])
        .unwrap();
    let linear = options(InterpolateMode::Linear);
    let y = x.interpolate(&[5, 3, 7], &linear).unwrap();
    assert_eq!(y.dims(), [1, 2, 5, 3, 7]);
    let mut z = x.clone();
    for (axis, size) in [(2, 5), (3, 3), (4, 7)] {
        z = z
            .resize_to(
                &[axis],
                &[size],
                AspectRatio::Stretch,
                &ResizeOptions::default(),
            )
            .unwrap();
    }
    near(&f64s(&y), &f64s(&z));
    let cubic = options(InterpolateMode::Cubic);
    let plane = x.select(2, 1).unwrap();
    let y = plane.interpolate(&[9, 2], &cubic).unwrap();
    assert_eq!(y.dims(), [1, 2, 9, 2]);
    let turned = plane
        .transpose(2, 3)
        .unwrap()
        .interpolate(&[2, 9], &cubic)
        .unwrap()
        .transpose(2, 3)
        .unwrap();
    near(&f64s(&y), &f64s(&turned));
}

#[test]
fn nearest_takes_any_dtype_and_weights_do_not() {
    let device = common::device();
    let x = Tensor::from_slice(&device, &[true, false], [1, 1, 2]).unwrap();
    let y = x
        .interpolate(&[4], &options(InterpolateMode::Nearest))
        .unwrap();
    assert_eq!(
        y.to_vec_blocking::<bool>().unwrap(),
        [true, true, false, false]
    );
    let linear = options(InterpolateMode::Linear);
    assert!(x.interpolate(&[4], &linear).unwrap_err().is_dtype());
}

#[test]
fn sizes_that_keep_the_ratio_and_crops() {
    let device = common::device();
    let x = Tensor::arange(&device, 0, 8, 1, DType::F32)
        .unwrap()
        .reshape([2, 4])
        .unwrap();
    let nearest = ResizeOptions {
        mode: ResizeMode::Nearest(NearestMode::RoundPreferFloor),
        ..ResizeOptions::default()
    };
    let sized = |aspect| {
        x.resize_to(&[0, 1], &[1, 3], aspect, &nearest)
            .unwrap()
            .dims()
            .to_vec()
    };
    assert_eq!(sized(AspectRatio::Stretch), [1, 3]);
    assert_eq!(sized(AspectRatio::NotLarger), [1, 2]);
    assert_eq!(sized(AspectRatio::NotSmaller), [2, 3]);
    let outside = ResizeOptions {
        extrapolation: -1.0,
        ..ResizeOptions::default()
    };
    let y = x
        .crop_and_resize(&[-1], &[3], &[[0.5, 1.5]], &outside)
        .unwrap();
    assert_eq!(f64s(&y), [1.5, 3.0, -1.0, 5.5, 7.0, -1.0]);
}

#[test]
fn a_crop_leaves_the_other_axes_alone() {
    let device = common::device();
    let values: Vec<f32> = (0..2 * 3 * 2 * 4).map(|i| i as f32).collect();
    let x = Tensor::from_slice(&device, &values, [2, 3, 2, 4]).unwrap();
    let options = ResizeOptions::default();
    let cropped = x
        .crop_and_resize(&[-1, 1], &[2, 3], &[[0.0, 1.0], [0.0, 1.0]], &options)
        .unwrap();
    assert_eq!(cropped.dims(), [2, 3, 2, 2]);
    let ends = x.slice_step(-1, .., 3).unwrap();
    assert_eq!(f64s(&cropped), f64s(&ends));
}

#[test]
fn what_does_not_fit_is_refused() {
    let device = common::device();
    let x = line(&device, &[1.0, 2.0]);
    let plain = InterpolateOptions::default();
    assert!(x.interpolate(&[2, 2], &plain).unwrap_err().is_shape());
    assert!(x.interpolate(&[0], &plain).unwrap_err().is_shape());
    assert!(x.interpolate(&[], &plain).unwrap_err().is_shape());
    assert!(x.interpolate_by(&[-1.0], &plain).unwrap_err().is_argument());
    assert!(x.interpolate_by(&[0.1], &plain).unwrap_err().is_shape());
    assert!(
        x.interpolate_by(&[1.0, 1.0], &plain)
            .unwrap_err()
            .is_shape()
    );
    let corners = InterpolateOptions {
        align_corners: true,
        ..plain
    };
    assert!(x.interpolate(&[2], &corners).unwrap_err().is_argument());
    let resize = ResizeOptions::default();
    let stretch = AspectRatio::Stretch;
    assert!(
        x.resize_to(&[3], &[2], stretch, &resize)
            .unwrap_err()
            .is_shape()
    );
    assert!(
        x.resize_to(&[2, 2], &[2, 2], stretch, &resize)
            .unwrap_err()
            .is_shape()
    );
    assert!(
        x.resize_to(&[2], &[2, 2], stretch, &resize)
            .unwrap_err()
            .is_argument()
    );
    assert!(
        x.crop_and_resize(&[2], &[2], &[], &resize)
            .unwrap_err()
            .is_argument()
    );
    let none = Tensor::zeros(&device, [0, 1, 2], DType::F32).unwrap();
    assert_eq!(none.interpolate(&[5], &plain).unwrap().dims(), [0, 1, 5]);
}

/// `torch.nn.functional.grid_sample(x, grid, mode, 'border', align_corners=False)` of PyTorch 2.15.
#[test]
fn a_grid_names_places_of_an_image() {
    let device = common::device();
    let x = [
        1.0f32, -2.0, 3.0, 0.5, 4.0, 2.5, -1.0, 6.0, 0.25, 7.0, -3.0, 2.0,
    ];
    let x = Tensor::from_slice(&device, &x, [1, 1, 3, 4]).unwrap();
    let places = [-0.9f32, -0.8, 0.1, 0.3, 1.3, -0.2];
    let grid = Tensor::from_slice(&device, &places, [1, 1, 3, 2]).unwrap();
    let with = |mode| GridSampleOptions {
        mode,
        padding: GridPadding::Border,
        ..GridSampleOptions::default()
    };
    for (mode, expected) in [
        (GridMode::Nearest, [1.0, -1.0, 6.0]),
        (GridMode::Linear, [1.0, 0.027_499_7, 4.350_000_4]),
        (GridMode::Cubic, [1.058_626_1, -0.943_985_9, 4.906_501_3]),
    ] {
        let y = x.grid_sample(&grid, &with(mode)).unwrap();
        assert_eq!(y.dims(), [1, 1, 1, 3]);
        // A pending image through a view is computed first.
        let turned = x.transpose(2, 3).unwrap().neg().unwrap().neg().unwrap();
        let again = turned
            .transpose(2, 3)
            .unwrap()
            .grid_sample(&grid, &with(mode));
        for y in [y, again.unwrap()] {
            for (got, expected) in y.to_f64_vec_blocking().unwrap().iter().zip(expected) {
                assert!((got - expected).abs() < 1e-5, "{mode:?}: {got} {expected}");
            }
        }
    }
    let half = x.to_dtype(DType::F16).unwrap();
    let y = half.grid_sample(
        &grid.to_dtype(DType::F16).unwrap(),
        &with(GridMode::Nearest),
    );
    assert_eq!(y.unwrap().to_f64_vec_blocking().unwrap(), [1.0, -1.0, 6.0]);
    let whole = x.to_dtype(DType::I32).unwrap();
    let y = whole.grid_sample(&grid, &with(GridMode::Nearest)).unwrap();
    assert_eq!(y.to_vec_blocking::<i32>().unwrap(), [1, -1, 6]);
    assert!(
        whole
            .grid_sample(&grid, &with(GridMode::Linear))
            .unwrap_err()
            .is_dtype()
    );
    assert!(
        x.grid_sample(&whole, &with(GridMode::Linear))
            .unwrap_err()
            .is_dtype()
    );
    assert!(
        x.grid_sample(&x, &with(GridMode::Linear))
            .unwrap_err()
            .is_shape()
    );
}
