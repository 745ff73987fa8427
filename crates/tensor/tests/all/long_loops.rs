//! Problems for which one invocation would go through a loop more than 65,535 times, where some drivers (Mesa's software
//! ones) end it without a word: the work must be cut into more invocations or more dispatches.

use crate::common;
use ziggurat_tensor::{Attention, DType, Device, Tensor};

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

/// One value, seen everywhere in a shape.
fn everywhere(device: &Device, value: f32, dims: &[usize]) -> Tensor {
    let ones = vec![1; dims.len()];
    let dims: Vec<isize> = dims.iter().map(|&dim| dim as isize).collect();
    let one = Tensor::full(device, ones, value, DType::F32).unwrap();
    one.expand(dims).unwrap()
}

fn far(got: &Tensor, wanted: &Tensor) -> f32 {
    let off = got.sub(wanted).unwrap().abs().unwrap();
    off.max_all().unwrap().item_blocking::<f32>().unwrap()
}

#[test]
fn large_systems_and_factors_meet_their_equations() {
    let device = common::device();
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
    let device = common::device();
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
    let device = common::device();
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
    let device = common::device();
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

#[test]
fn a_query_sees_a_great_many_keys_whatever_hides_some() {
    let device = common::device();
    const KEYS: usize = 100_000;
    let query = everywhere(&device, 0.0, &[1, 2, 3, 64]);
    let keys = everywhere(&device, 0.0, &[1, 1, KEYS, 64]);
    let values = Tensor::arange(&device, 0.0, KEYS as f64, 1.0, DType::F32).unwrap();
    let values = values.mul(1.0 / KEYS as f64).unwrap();
    let values = values.reshape([1, 1, KEYS as isize, 1]).unwrap();
    let attend = |options: &Attention<'_>| {
        let out = query.scaled_dot_product_attention(&keys, &values, options);
        out.unwrap().to_f64_vec_blocking().unwrap()
    };
    for mean in attend(&Attention::default()) {
        assert!((mean - 0.5).abs() < 1e-3, "{mean}");
    }
    // Only the last tenth.
    let number = Tensor::arange(&device, 0.0, KEYS as f64, 1.0, DType::F32).unwrap();
    let mask = number.ge(0.9 * KEYS as f64).unwrap();
    let masked = Attention {
        mask: Some(&mask),
        ..Attention::default()
    };
    for mean in attend(&masked) {
        assert!((mean - 0.95).abs() < 1e-3, "{mean}");
    }
    // All but the last tenth, by lengths.
    let lengths = Tensor::from_slice(&device, &[KEYS as i32 * 9 / 10], [1]).unwrap();
    let counted = Attention {
        key_lengths: Some(&lengths),
        ..Attention::default()
    };
    for mean in attend(&counted) {
        assert!((mean - 0.45).abs() < 1e-3, "{mean}");
    }
}

#[test]
fn wide_products_are_summed_to_their_ends() {
    let device = common::device();
    const DEPTH: usize = 150_000;
    let a = everywhere(&device, 1.0, &[16, DEPTH]);
    let b = everywhere(&device, 1.0, &[DEPTH, 17]);
    let product = a.matmul(&b).unwrap();
    let product = product.mul(2.0).unwrap().add(1.0).unwrap();
    let (least, most) = (product.min_all().unwrap(), product.max_all().unwrap());
    assert_eq!(least.item_blocking::<f32>().unwrap(), 300_001.0);
    assert_eq!(most.item_blocking::<f32>().unwrap(), 300_001.0);
    let a = everywhere(&device, 1.0, &[2, 16, DEPTH])
        .to_dtype(DType::I8)
        .unwrap();
    let b = everywhere(&device, 1.0, &[DEPTH, 16])
        .to_dtype(DType::I8)
        .unwrap();
    let product = a.matmul(&b).unwrap().to_dtype(DType::I32).unwrap();
    // Wrapped to eight bits.
    let wanted = i32::from(DEPTH as u32 as u8 as i8);
    assert_eq!(
        product.min_all().unwrap().item_blocking::<i32>().unwrap(),
        wanted
    );
    assert_eq!(
        product.max_all().unwrap().item_blocking::<i32>().unwrap(),
        wanted
    );
}

/// A row of zeros along memory, or eight across it.
fn rows(device: &Device, len: usize, across: bool) -> Tensor {
    if across {
        let memory = Tensor::zeros(device, [len, 8], DType::F32).unwrap();
        return memory.t().unwrap();
    }
    Tensor::zeros(device, [1, len], DType::F32).unwrap()
}

fn one_value(tensor: &Tensor) -> f32 {
    let (least, most) = (tensor.min_all().unwrap(), tensor.max_all().unwrap());
    let least = least.item_blocking::<f32>().unwrap();
    assert_eq!(most.item_blocking::<f32>().unwrap(), least);
    least
}

#[test]
fn the_longest_rows_have_their_shares() {
    let device = common::device();
    for (len, across) in [(6 << 20, false), (1 << 20, true)] {
        let x = rows(&device, len, across);
        let share = 1.0 / len as f32;
        let shares = one_value(&x.softmax(1).unwrap());
        assert!(
            (shares - share).abs() < 1e-3 * share,
            "{shares}, not {share}"
        );
        // Of a value that is pending, and with something above.
        let shares = x.add(3.0).unwrap().softmax(1).unwrap();
        let shares = one_value(&shares.mul(2.0).unwrap());
        assert!(
            (shares - 2.0 * share).abs() < 2e-3 * share,
            "{shares}, twice {share}"
        );
        let logarithms = one_value(&x.log_softmax(1).unwrap());
        assert!((logarithms - share.ln()).abs() < 1e-3, "{logarithms}");
    }
}

#[test]
fn the_longest_rows_are_normalised() {
    let device = common::device();
    for (len, across) in [(9 << 20, false), (5 << 18, true)] {
        // Ones at even places, threes at odd ones: mean 2, deviation 1, mean of squares 5.
        let number = Tensor::arange(&device, 0.0, 2.0, 1.0, DType::F32).unwrap();
        let number = number.mul(2.0).unwrap().add(1.0).unwrap();
        let odd = number.reshape([1, 1, 2]).unwrap();
        let x = if across {
            let memory = Tensor::zeros(&device, [len / 2, 2, 8], DType::F32).unwrap();
            let odd = number.reshape([1, 2, 1]).unwrap();
            let x = memory.add(&odd).unwrap().contiguous().unwrap();
            x.permute([2, 0, 1]).unwrap()
        } else {
            let x = rows(&device, len, false).reshape([1, -1, 2]).unwrap();
            x.add(&odd).unwrap()
        };
        let weight = everywhere(&device, 2.0, &[len / 2, 2])
            .contiguous()
            .unwrap();
        let y = x
            .layer_norm([len / 2, 2], Some(&weight), None, 0.0)
            .unwrap();
        let y = one_value(&y.abs().unwrap());
        assert!((y - 2.0).abs() < 1e-3, "layer_norm: {y}");
        let y = x.rms_norm([len / 2, 2], None, 0.0).unwrap();
        let y = y.mul(5.0_f64.sqrt()).unwrap().max_all().unwrap();
        let y = y.item_blocking::<f32>().unwrap();
        assert!((y - 3.0).abs() < 1e-3, "rms_norm: {y}");
    }
}

#[test]
fn values_that_loop_themselves_count() {
    let device = common::device();
    // The remainder takes up to 32 turns per element, and softmax reads elements of long rows twice.
    const LEN: usize = 400_000;
    let x = Tensor::full(&device, [1, LEN], 3e38, DType::F32).unwrap();
    let y = Tensor::full(&device, [1, LEN], 3e-38, DType::F32).unwrap();
    let shares = x.remainder(&y).unwrap().softmax(1).unwrap();
    let shares = one_value(&shares);
    assert!((shares * LEN as f32 - 1.0).abs() < 1e-3, "{shares}");
}
