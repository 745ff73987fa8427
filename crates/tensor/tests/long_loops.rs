//! Problems for which one invocation would go through a loop more than 65,535 times, where some drivers (Mesa's software
//! ones) end it without a word: the work must be cut into more invocations or more dispatches.
#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use ziggurat_tensor::{Attention, DType, Tensor};

const SIDE: usize = 450;

/// A diagonally dominant symmetric matrix: 4 on the diagonal, 1 beside it, so that every row counts.
fn banded() -> Vec<f32> {
    (0..SIDE * SIDE)
        .map(|e| match (e / SIDE).abs_diff(e % SIDE) {
            0 => 4.0,
            1 => 1.0,
            _ => 0.0,
        })
        .collect()
}

fn far(got: &Tensor, wanted: &Tensor) -> f32 {
    let off = got.sub(wanted).unwrap().abs().unwrap();
    off.max_all().unwrap().item_blocking::<f32>().unwrap()
}

#[test]
fn large_systems_and_factors_meet_their_equations() {
    let Some(device) = common::device() else {
        return;
    };
    let a = Tensor::from_slice(&device, &banded(), [SIDE, SIDE]).unwrap();
    let b = Tensor::arange(&device, 0.0, SIDE as f64, 1.0, DType::F32).unwrap();
    let b = b.mul(0.01).unwrap().sin().unwrap();
    let x = a.solve(&b).unwrap();
    assert!(far(&a.mv(&x).unwrap(), &b) < 1e-5);
    let l = a.cholesky().unwrap();
    let square = l.matmul(&l.t().unwrap()).unwrap();
    assert!(far(&square, &a) < 1e-5);
    for upper in [false, true] {
        let t = if upper { a.triu(0) } else { a.tril(0) }.unwrap();
        let x = a.solve_triangular(&b, upper, false).unwrap();
        assert!(far(&t.mv(&x).unwrap(), &b) < 1e-5, "upper: {upper}");
    }
}

#[test]
fn the_greatest_of_a_large_image_is_found_wherever_it_is() {
    let Some(device) = common::device() else {
        return;
    };
    let mut values = vec![0.0f32; 300 * 300];
    *values.last_mut().unwrap() = 1.0;
    let x = Tensor::from_slice(&device, &values, [1, 1, 300, 300]).unwrap();
    let most = x.adaptive_max_pool2d([1, 1]).unwrap();
    assert_eq!(most.item_blocking::<f32>().unwrap(), 1.0);
    let (most, at) = x.adaptive_max_pool2d_with_indices([1, 1]).unwrap();
    assert_eq!(most.item_blocking::<f32>().unwrap(), 1.0);
    assert_eq!(at.item_blocking::<i32>().unwrap(), 300 * 300 - 1);
}

#[test]
fn long_rows_and_products_are_summed_to_their_ends() {
    let Some(device) = common::device() else {
        return;
    };
    const LEN: usize = 1 << 21;
    let ones = Tensor::ones(&device, [1, LEN], DType::F32).unwrap();
    let product = ones.matmul(&ones.t().unwrap()).unwrap();
    assert_eq!(product.item_blocking::<f32>().unwrap(), LEN as f32);
    let wide = Tensor::ones(&device, [20, LEN / 8], DType::F32).unwrap();
    let product = wide.matmul(&wide.t().unwrap()).unwrap().min_all().unwrap();
    assert_eq!(product.item_blocking::<f32>().unwrap(), (LEN / 8) as f32);
    let sums = ones.cumsum(1).unwrap().select(1, -1).unwrap();
    assert_eq!(sums.item_blocking::<f32>().unwrap(), LEN as f32);
    let shares = ones.softmax(1).unwrap().max_all().unwrap();
    assert_eq!(shares.item_blocking::<f32>().unwrap(), 1.0 / LEN as f32);
}

#[test]
fn attention_sees_all_of_its_keys() {
    let Some(device) = common::device() else {
        return;
    };
    const KEYS: usize = 40_000;
    let zeros = |rows| Tensor::zeros(&device, [1, 1, rows, 64], DType::F32).unwrap();
    let values = Tensor::arange(&device, 0.0, KEYS as f64, 1.0, DType::F32).unwrap();
    let values = values.reshape([1, 1, KEYS as isize, 1]).unwrap();
    let options = Attention::default();
    let mean = zeros(1).scaled_dot_product_attention(&zeros(KEYS), &values, &options);
    let mean = mean.unwrap().item_blocking::<f32>().unwrap();
    // The last 16 keys alone would make a difference of 8.
    assert!((mean - (KEYS - 1) as f32 / 2.0).abs() < 2.0, "{mean}");
}
