//! Tensors larger than one storage binding: every family of ops gives what it gives on a device with room for them.
//!
//! Bindings of 24 KiB stand for the 128 MiB of WebGPU's defaults, so that tensors of some 10,000 elements are cut.

mod order;

use crate::common;
use std::sync::OnceLock;

use ziggurat_tensor::{
    Attention, Conv1dOptions, Conv2dOptions, Conv3dOptions, ConvTranspose2dOptions, DType, Device,
    DeviceOptions, Error, Generator, GridSampleOptions, InterpolateMode, InterpolateOptions, Pad,
    Pool2dOptions, RopeForm, RopeTable, Tensor,
};

const LIMIT: u64 = 24 << 10;

/// A device with room and one without.
fn devices() -> [Device; 2] {
    static SMALL: OnceLock<Device> = OnceLock::new();
    let roomy = common::device();
    let small = SMALL.get_or_init(|| {
        let options = DeviceOptions {
            max_binding_bytes: Some(LIMIT),
            ..DeviceOptions::default()
        };
        Device::open_blocking(options).unwrap()
    });
    assert_eq!(small.caps().max_binding_bytes, LIMIT);
    [roomy, small.clone()]
}

/// Whole numbers from -8 to 8 in no order: their sums and products are exact.
fn whole(device: &Device, shape: &[usize], seed: u32) -> Tensor {
    let len: usize = shape.iter().product();
    let mut state = seed.wrapping_mul(2_654_435_761) | 1;
    let values: Vec<f32> = (0..len)
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            ((state >> 16) % 17) as f32 - 8.0
        })
        .collect();
    Tensor::from_slice(device, &values, shape).unwrap()
}

fn places(device: &Device, shape: &[usize], extent: usize) -> Tensor {
    let values = whole(device, shape, 77).to_vec_blocking::<f32>().unwrap();
    let values: Vec<i32> = (values.iter().enumerate())
        .map(|(i, v)| {
            ((i * 7919 + (*v + 8.0) as usize * 104_729) % extent) as i32
                - (i % 3 / 2 * extent) as i32
        })
        .collect();
    Tensor::from_slice(device, &values, shape).unwrap()
}

/// The first element in which two results differ by more than `tolerance` of their size.
fn difference(a: &[f64], b: &[f64], tolerance: f64) -> Option<usize> {
    if a.len() != b.len() {
        return Some(a.len().min(b.len()));
    }
    a.iter().zip(b).position(|(a, b)| {
        let near = |a: f64, b: f64| (a - b).abs() <= tolerance * (1.0 + a.abs());
        a != b && !(a.is_nan() && b.is_nan()) && !near(*a, *b)
    })
}

type Made = Result<Vec<Tensor>, Error>;

/// Runs `f` on both devices and compares.
fn agree(name: &str, tolerance: f64, f: impl Fn(&Device) -> Made) {
    let [roomy, small] = devices();
    let read = |device| -> Vec<Vec<f64>> {
        let made = f(device).unwrap_or_else(|error| panic!("{name}: {error}"));
        let read = |tensor: &Tensor| {
            let values = tensor.to_f64_vec_blocking();
            values.unwrap_or_else(|error| panic!("{name}: {error}"))
        };
        made.iter().map(read).collect()
    };
    let (expected, got) = (read(&roomy), read(&small));
    assert_eq!(expected.len(), got.len(), "{name}");
    for (at, (expected, got)) in expected.iter().zip(&got).enumerate() {
        let wrong = difference(expected, got, tolerance);
        assert_eq!(
            wrong.map(|i| (i, expected.get(i), got.get(i))),
            None,
            "{name}, result {at}"
        );
    }
}

#[test]
fn the_comparator_sees_one_wrong_element() {
    let right = vec![1.0, f64::NAN, -2.0];
    assert_eq!(difference(&right, &right, 0.0), None);
    assert_eq!(difference(&right, &[1.0, f64::NAN, -2.1], 1e-3), Some(2));
    assert_eq!(difference(&right, &[1.0, 0.0, -2.0], 1e-3), Some(1));
    assert_eq!(difference(&right, &[1.0, f64::NAN], 1e-3), Some(2));
}

#[test]
fn elementwise_ops_and_views() {
    agree("fused", 0.0, |d| {
        let (a, b) = (whole(d, &[90, 100], 1), whole(d, &[90, 100], 2));
        let row = whole(d, &[100], 3);
        let y = (((&a * &b)? + &row)?.relu()? + a.t()?.contiguous()?.t()?)?;
        let flags = y.gt(&b)?;
        Ok(vec![
            y.clone(),
            flags,
            y.to_dtype(DType::F16)?,
            y.to_dtype(DType::U8)?,
            y.flip([0, 1])?,
        ])
    });
    agree("moves", 0.0, |d| {
        let a = whole(d, &[90, 100], 1);
        Ok(vec![
            Tensor::concat(&[&a, &a.flip([1])?], 0)?,
            Tensor::stack(&[&a, &a], 2)?,
            a.tile([2, 1])?,
            a.roll([7, -3], [0, 1])?,
            a.pad([[3, 4], [2, -5]], Pad::Reflect, 0.0)?,
            a.pad([[3, 4], [2, 5]], Pad::Constant, 2.0)?,
            a.pad([[3, 4], [2, 5]], Pad::Replicate, 2.0)?,
            a.pad([[-3, 85], [2, 5]], Pad::Symmetric, 2.0)?,
            a.tril(3)?,
            a.triu(-2)?,
            a.repeat_interleave(3, 1)?,
            a.reshape([30, 300])?.t()?.contiguous()?,
        ])
    });
    agree("random numbers", 0.0, |d| {
        let mut generator = Generator::new(5);
        Ok(vec![
            Tensor::rand(d, [9000], DType::F32, &mut generator)?,
            Tensor::randint(d, [9000], 0, 50, &mut generator)?,
            Tensor::randperm(d, 6000, &mut generator)?,
        ])
    });
}

#[test]
fn reductions() {
    let all = |name: &'static str, shape: &'static [usize], axes: &'static [isize]| {
        agree(name, 0.0, move |d| {
            let a = whole(d, shape, 4);
            Ok(vec![
                a.sum(axes, false)?,
                a.amax(axes, true)?,
                a.amin(axes, false)?,
                a.to_dtype(DType::Bool)?.all(axes, false)?,
                a.to_dtype(DType::I8)?.sum(axes, false)?,
                a.sum_squares(axes, false)?,
                (&a * 2.0)?.sum(axes, false)?,
            ])
        });
        agree(name, 2e-6, move |d| {
            let a = whole(d, shape, 5);
            let (var, mean) = a.var_mean(axes, 1, false)?;
            Ok(vec![
                var,
                mean,
                a.mean(axes, true)?,
                a.std(axes, 0, false)?,
                a.norm(3.0, axes, false)?,
                a.logsumexp(axes, false)?,
                (&a * 0.5)?.exp()?.mean(axes, false)?.sqrt()?,
            ])
        });
    };
    all("everything", &[90, 100], &[0, 1]);
    all("rows", &[90, 100], &[1]);
    all("columns", &[90, 100], &[0]);
    all("few columns", &[9000, 2], &[0]);
    all("long rows", &[2, 9000], &[1]);
    all("the middle", &[5, 300, 6], &[1]);
    all("both ends", &[30, 10, 30], &[0, 2]);
    agree("transposed", 0.0, |d| {
        let a = whole(d, &[90, 100], 6).t()?;
        Ok(vec![
            a.sum([0], false)?,
            a.sum([1], false)?,
            a.argmax(0, false)?,
        ])
    });
    agree("positions", 0.0, |d| {
        let a = whole(d, &[90, 100], 7);
        let (value, place) = a.max_with_indices(1, false)?;
        let (least, first) = a.min_with_indices(0, true)?;
        let long = whole(d, &[9000], 8);
        let peak = long.index_fill(0, &places(d, &[1], 9000), 100.0)?;
        Ok(vec![
            value,
            place,
            least,
            first,
            a.argmax_all()?,
            a.argmin_all()?,
            a.argmax_last(0, false)?,
            a.to_dtype(DType::U8)?.argmax(1, false)?,
            long.argmax(0, false)?,
            long.argmin_last(0, false)?,
            peak.argmax(0, false)?,
            // Of NaN the first.
            peak.log()?.argmax(0, false)?,
        ])
    });
}

#[test]
fn rows_are_normalised() {
    agree("softmax", 2e-6, |d| {
        let a = (whole(d, &[90, 100], 9) * 0.25)?;
        let long = (whole(d, &[2, 7000], 10) * 0.25)?;
        Ok(vec![
            a.softmax(1)?,
            a.softmax(0)?,
            a.log_softmax(1)?,
            (a.softmax(1)? * &a)?,
            long.softmax(1)?,
            long.log_softmax(-1)?,
            long.to_dtype(DType::F16)?.softmax(1)?,
            // A row of NaN, and one with infinities.
            long.log()?.softmax(1)?,
        ])
    });
    agree("norms", 4e-6, |d| {
        let a = whole(d, &[90, 100], 11);
        let (w, b) = (whole(d, &[100], 12), whole(d, &[100], 13));
        let long = whole(d, &[2, 7000], 14);
        let (wl, bl) = (whole(d, &[7000], 15), whole(d, &[7000], 16));
        let image = whole(d, &[1, 8, 40, 30], 17);
        let (wc, bc) = (whole(d, &[8], 18), whole(d, &[8], 19));
        Ok(vec![
            a.layer_norm([100], Some(&w), Some(&b), 1e-5)?,
            (a.layer_norm([100], Some(&w), Some(&b), 1e-5)? + &a)?,
            a.rms_norm([100], Some(&w), 1e-5)?,
            a.normalize(2.0, [0], 1e-12)?,
            long.layer_norm([7000], Some(&wl), Some(&bl), 1e-5)?,
            long.rms_norm([7000], None, 1e-5)?,
            long.normalize(2.0, [1], 1e-12)?,
            image.group_norm(4, Some(&wc), Some(&bc), 1e-5)?,
            image.instance_norm(Some(&wc), Some(&bc), 1e-5)?,
            image
                .batch_norm_train(1, Some(&wc), Some(&bc), 1e-5)?
                .output,
        ])
    });
}

#[test]
fn products() {
    agree("matmul", 0.0, |d| {
        let (a, b) = (whole(d, &[90, 80], 20), whole(d, &[80, 110], 21));
        let (left, right) = (whole(d, &[3, 40, 50], 22), whole(d, &[50, 60], 23));
        let (row, column) = (whole(d, &[1, 9000], 24), whole(d, &[9000, 2], 25));
        Ok(vec![
            a.matmul(&b)?,
            (a.matmul(&b)?.relu()? + 1.0)?,
            b.t()?.matmul(&a.t()?)?,
            left.matmul(&right)?,
            row.matmul(&column)?,
            a.mv(&whole(d, &[80], 26))?,
            row.reshape([9000])?.dot(&column.select(1, 0)?)?,
            a.to_dtype(DType::I8)?.matmul(&b.to_dtype(DType::I8)?)?,
            Tensor::einsum("bij,jk->ik", &[&left, &right])?,
            whole(d, &[110], 27).outer(&whole(d, &[100], 28))?,
        ])
    });
    agree("solve", 1e-4, |d| {
        let a = (whole(d, &[600, 3, 3], 29) + (Tensor::eye(d, 3, DType::F32)? * 50.0)?)?;
        Ok(vec![
            a.solve(&whole(d, &[600, 3, 4], 30))?,
            a.inverse()?,
            a.det()?,
        ])
    });
}

#[test]
fn windows() {
    agree("conv2d", 0.0, |d| {
        let x = whole(d, &[5, 4, 24, 20], 31);
        let w = whole(d, &[12, 4, 3, 3], 32);
        let wide = whole(d, &[300, 4, 3, 3], 33);
        let b = whole(d, &[12], 34);
        let options = Conv2dOptions::default().padding([1, 2]).stride([2, 1]);
        Ok(vec![
            x.conv2d(&w, Some(&b), &options)?,
            x.conv2d(&w, Some(&b), &options)?.relu()?,
            x.conv2d(&wide, None, &options)?,
            x.conv_transpose2d(&whole(d, &[4, 6, 3, 3], 35), None, &Default::default())?,
            x.im2col([3, 3], &options)?,
        ])
    });
    agree("pools", 2e-6, |d| {
        let x = whole(d, &[5, 4, 24, 20], 36);
        let options = Pool2dOptions {
            kernel: [3, 3],
            stride: [2, 2],
            padding_begin: [1, 1],
            padding_end: [1, 1],
            ..Pool2dOptions::default()
        };
        let (most, at) = x.max_pool2d_with_indices(&options)?;
        Ok(vec![
            most,
            at,
            x.avg_pool2d(&options)?,
            x.adaptive_avg_pool2d([5, 3])?,
            x.global_max_pool()?,
        ])
    });
    agree("resampling", 2e-6, |d| {
        let x = whole(d, &[5, 4, 24, 20], 37);
        let linear = InterpolateOptions {
            mode: InterpolateMode::Linear,
            ..InterpolateOptions::default()
        };
        let grid = (whole(d, &[5, 9, 7, 2], 38) * 0.12)?;
        Ok(vec![
            x.interpolate(&[37, 11], &linear)?,
            x.grid_sample(&grid, &GridSampleOptions::default())?,
        ])
    });
    agree("large images", 0.0, |d| {
        let x = whole(d, &[1, 3, 80, 60], 39);
        let w = whole(d, &[4, 3, 5, 3], 40);
        let options = Conv2dOptions::default()
            .padding([3, 1])
            .stride([2, 1])
            .dilation([2, 1]);
        let up = ConvTranspose2dOptions::default()
            .stride([2, 1])
            .padding([1, 0]);
        let signal = whole(d, &[1, 1, 20_000], 66);
        let volume = whole(d, &[1, 1, 20, 20, 40], 67);
        Ok(vec![
            x.conv2d(&w, Some(&whole(d, &[4], 41)), &options)?,
            (x.conv2d(&w, None, &options)?.relu()? + 1.0)?,
            x.conv_transpose2d(&whole(d, &[3, 2, 3, 3], 68), None, &up)?,
            signal.conv1d(&whole(d, &[2, 1, 5], 69), None, &Conv1dOptions::default())?,
            volume.conv3d(
                &whole(d, &[1, 1, 3, 3, 3], 70),
                None,
                &Conv3dOptions::default(),
            )?,
            x.transpose(2, 3)?.conv2d(&w, None, &options)?,
        ])
    });
    agree("large planes", 2e-6, |d| {
        let x = whole(d, &[1, 1, 120, 100], 71);
        let options = Pool2dOptions {
            kernel: [3, 4],
            stride: [2, 3],
            padding_begin: [1, 2],
            padding_end: [1, 1],
            dilation: [2, 1],
            ceil_mode: true,
            ..Pool2dOptions::default()
        };
        let (most, at) = x.max_pool2d_with_indices(&options)?;
        Ok(vec![
            most,
            at,
            x.avg_pool2d(&options)?,
            x.lp_pool2d(2.0, &options)?,
        ])
    });
}

#[test]
fn attention_and_positions() {
    agree("attention", 4e-6, |d| {
        let (q, k, v) = (
            whole(d, &[2, 8, 20, 24], 41),
            whole(d, &[2, 4, 30, 24], 42),
            whole(d, &[2, 4, 30, 24], 43),
        );
        let mask = whole(d, &[20, 30], 44).gt(0.0)?;
        let q = (q * 0.1)?;
        let causal = Attention {
            causal: true,
            ..Attention::default()
        };
        let masked = Attention {
            mask: Some(&mask),
            ..Attention::default()
        };
        Ok(vec![
            q.scaled_dot_product_attention(&k, &v, &causal)?,
            q.scaled_dot_product_attention(&k, &v, &masked)?,
            q.slice(0, 0..1)?.scaled_dot_product_attention(
                &k.slice(0, 0..1)?,
                &v.slice(0, 0..1)?,
                &causal,
            )?,
        ])
    });
    agree("rope", 2e-6, |d| {
        let table = RopeTable::new(d, 40, 16, 10_000.0)?;
        let x = whole(d, &[3, 8, 20, 16], 45);
        let ids = places(d, &[3, 20], 40).abs()?.clamp(0, 39)?;
        let given = RopeForm {
            positions: Some(&ids),
            ..RopeForm::default()
        };
        Ok(vec![
            x.rope(&table, RopeForm::default())?,
            x.rope(&table, given)?,
            (x.rope(&table, RopeForm::default())? + &x)?,
        ])
    });
}

#[test]
fn what_one_kernel_must_see_whole_is_an_error_with_both_numbers() {
    let [_, small] = devices();
    let one = whole(&small, &[1, 1, 90, 100], 63);
    let grid = whole(&small, &[1, 2, 2, 2], 64);
    let error = one.grid_sample(&grid, &GridSampleOptions::default());
    let error = error.and_then(|y| y.to_f64_vec_blocking()).unwrap_err();
    assert!(error.is_too_large(), "{error}");
    assert!(error.to_string().contains(&LIMIT.to_string()), "{error}");
    assert_eq!(
        one.sum_all().unwrap().item_blocking::<f32>().unwrap(),
        whole(&small, &[9000], 63)
            .sum_all()
            .unwrap()
            .item_blocking::<f32>()
            .unwrap()
    );
}
