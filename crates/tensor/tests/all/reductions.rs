//! Reductions through `Tensor`: axes, dtypes, empty extents, views, and what is refused.

use crate::common;
use ziggurat_tensor::{DType, Tensor};

const INF: f64 = f64::INFINITY;

fn floats(t: &Tensor) -> Vec<f32> {
    t.to_dtype(DType::F32).unwrap().to_vec_blocking().unwrap()
}

#[test]
fn sums_take_a_dtype() {
    let device = common::device();
    let small = Tensor::full(&device, [300], 200, DType::U8).unwrap();
    assert_eq!(small.sum([0], false).unwrap().dtype(), DType::I32);
    let wide = small.sum_to([0], false, DType::U32).unwrap();
    assert_eq!(wide.item_blocking::<u32>().unwrap(), 60_000);
    // Converted first, then added: wraps as u8 does.
    let narrow = small.sum_to([0], false, DType::U8).unwrap();
    assert_eq!(narrow.item_blocking::<u8>().unwrap(), (60_000 % 256) as u8);
    let float = small.sum_to([0], false, DType::F32).unwrap();
    assert_eq!(float.item_blocking::<f32>().unwrap(), 60_000.0);
    let half = Tensor::full(&device, [70_000], 1.0, DType::F16).unwrap();
    assert_eq!(floats(&half.sum_all().unwrap()), [f32::INFINITY]);
    assert_eq!(
        floats(&half.sum_to([0], false, DType::F32).unwrap()),
        [70_000.0]
    );
    let truth = small.sum_to([0], false, DType::Bool).unwrap();
    assert!(truth.item_blocking::<bool>().unwrap());
}

#[test]
fn products_any_and_all_follow_the_contract() {
    let device = common::device();
    let none = Tensor::zeros(&device, [2, 0], DType::F32).unwrap();
    let ones = none.prod([1], true).unwrap();
    assert_eq!((ones.dims(), floats(&ones)), (&[2, 1][..], vec![1.0; 2]));
    let bytes = Tensor::from_slice(&device, &[20u8, 20], [2]).unwrap();
    let product = bytes.prod_all().unwrap();
    assert_eq!(product.item_blocking::<i32>().unwrap(), 400);
    let truth = Tensor::from_slice(&device, &[true, true, false, true], [2, 2]).unwrap();
    assert_eq!(
        truth
            .prod([1], false)
            .unwrap()
            .to_vec_blocking::<i32>()
            .unwrap(),
        [1, 0]
    );
    assert_eq!(
        truth
            .all([1], false)
            .unwrap()
            .to_vec_blocking::<bool>()
            .unwrap(),
        [true, false]
    );
    assert!(!none.any_all().unwrap().item_blocking::<bool>().unwrap());
    assert!(none.all_all().unwrap().item_blocking::<bool>().unwrap());
    let odd = Tensor::from_slice(&device, &[f32::NAN, 0.0, -0.0], [3]).unwrap();
    assert!(odd.any_all().unwrap().item_blocking::<bool>().unwrap());
    assert!(!odd.all_all().unwrap().item_blocking::<bool>().unwrap());
}

#[test]
fn norms_of_every_order() {
    let device = common::device();
    let a = Tensor::from_slice(&device, &[3.0f32, -4.0, 0.0, 12.0], [2, 2]).unwrap();
    for (p, expected) in [
        (2.0, [5.0, 12.0]),
        (1.0, [7.0, 12.0]),
        (0.0, [2.0, 1.0]),
        (INF, [4.0, 12.0]),
        (-INF, [3.0, 0.0]),
        (-1.0, [12.0 / 7.0, 0.0]),
        (3.0, [91f32.cbrt(), 12.0]),
    ] {
        let got = floats(&a.norm(p, [-1], false).unwrap());
        for (got, wanted) in got.iter().zip(expected) {
            assert!((got - wanted).abs() <= 1e-6 * wanted, "{p}: {got} {wanted}");
        }
    }
    let whole = Tensor::from_slice(&device, &[3i32, -4], [2]).unwrap();
    assert_eq!(floats(&whole.norm(2, [0], false).unwrap()), [5.0]);
    let none = Tensor::zeros(&device, [2, 0], DType::F32).unwrap();
    assert_eq!(floats(&none.norm(2, [1], false).unwrap()), [0.0, 0.0]);
    for p in [INF, -INF, -1.0] {
        assert!(none.norm(p, [1], false).unwrap_err().is_shape(), "{p}");
        assert_eq!(none.norm(p, [0], false).unwrap().dims(), [0]);
    }
    assert!(a.norm(f64::NAN, [0], false).unwrap_err().is_argument());
}

#[test]
fn variances_through_views_and_of_rank_0() {
    let device = common::device();
    let a = Tensor::arange(&device, 0, 24, 1, DType::F32)
        .unwrap()
        .reshape([2, 3, 4])
        .unwrap();
    let turned = a.permute([2, 0, 1]).unwrap().slice(0, 1..3).unwrap();
    let (var, mean) = turned.var_mean([0, 2], 0, true).unwrap();
    assert_eq!((var.dims(), mean.dims()), (&[1, 2, 1][..], &[1, 2, 1][..]));
    // Columns 1 and 2 of three rows of four: 1 2 5 6 9 10, and the same 12 further on.
    let expected = 65.5 / 6.0;
    for got in floats(&var) {
        assert!((got - expected).abs() < 1e-5, "{got}");
    }
    assert_eq!(floats(&mean), [5.5, 17.5]);
    let one = Tensor::from_value(&device, 3.0f32).unwrap();
    assert!(floats(&one.var([0], 1, false).unwrap())[0].is_nan());
    assert_eq!(floats(&one.std([-1], 0, false).unwrap()), [0.0]);
    assert_eq!(floats(&one.logsumexp([], false).unwrap()), [3.0]);
    assert_eq!(floats(&one.sum_squares([], false).unwrap()), [9.0]);
    let error = Tensor::zeros(&device, [3], DType::I32)
        .unwrap()
        .var([0], 1, false)
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "var: the dtype must be a float: it is i32"
    );
}

#[test]
fn extremes_with_indices_of_pending_values() {
    let device = common::device();
    let a = Tensor::from_slice(&device, &[1i32, -7, 3, 3, 9, -9], [2, 3]).unwrap();
    let (values, at) = (&a * 2).unwrap().max_with_indices(1, true).unwrap();
    assert_eq!((values.dims(), at.dims()), (&[2, 1][..], &[2, 1][..]));
    assert_eq!(values.to_vec_blocking::<i32>().unwrap(), [6, 18]);
    assert_eq!(at.to_vec_blocking::<i32>().unwrap(), [2, 1]);
    let (values, at) = a.min_with_indices(0, false).unwrap();
    assert_eq!(values.to_vec_blocking::<i32>().unwrap(), [1, -7, -9]);
    assert_eq!(at.to_vec_blocking::<i32>().unwrap(), [0, 0, 1]);
    let one = Tensor::from_value(&device, 3.0f32).unwrap();
    let (value, at) = one.max_with_indices(-1, false).unwrap();
    assert_eq!((value.rank(), floats(&value)), (0, vec![3.0]));
    assert_eq!(at.item_blocking::<i32>().unwrap(), 0);
    let none = Tensor::zeros(&device, [3, 0], DType::F32).unwrap();
    assert!(none.max_with_indices(1, false).unwrap_err().is_shape());
    assert!(none.amax([1], false).unwrap_err().is_shape());
    assert_eq!(none.max_with_indices(0, false).unwrap().0.dims(), [0]);
    assert_eq!(none.amin([0], true).unwrap().dims(), [1, 0]);
    assert!(a.max_with_indices(2, false).unwrap_err().is_shape());
}

#[test]
fn reductions_of_pending_values_share_their_functions() {
    let device = common::device();
    // The expression and the reduction need the same helper functions: each must be in the kernel once.
    let a = Tensor::from_slice(&device, &[1.0f32, 4.0, 9.0, 16.0], [4]).unwrap();
    let close = |got: Tensor, wanted: f32| {
        let got = floats(&got)[0];
        assert!((got - wanted).abs() <= 1e-5 * wanted, "{got} {wanted}");
    };
    let roots = a.pow(0.5).unwrap();
    close(roots.norm(3.0, [0], false).unwrap(), 100f32.cbrt());
    let roots = a.sqrt().unwrap();
    close(roots.norm(2, [0], false).unwrap(), 30f32.sqrt());
    close(
        a.sqrt().unwrap().std([0], 0, false).unwrap(),
        1.25f32.sqrt(),
    );
    close(a.log().unwrap().logsumexp([0], false).unwrap(), 30f32.ln());
    let shares = floats(&a.log().unwrap().log_softmax(0).unwrap());
    assert!(
        (shares[3] - (16.0f32 / 30.0).ln()).abs() < 1e-5,
        "{shares:?}"
    );
}

#[test]
fn the_mean_beside_a_variance_is_infinite_where_a_value_is() {
    let device = common::device();
    let rows: [[f32; 3]; 4] = [
        [f32::INFINITY, 1.0, 2.0],
        [1.0, f32::NEG_INFINITY, f32::NEG_INFINITY],
        [f32::INFINITY, 1.0, f32::NEG_INFINITY],
        [f32::INFINITY, f32::NAN, 1.0],
    ];
    let x = Tensor::from_slice(&device, rows.as_flattened(), [4, 3]).unwrap();
    let (var, mean) = x.var_mean([1], 1, false).unwrap();
    let mean = mean.to_vec_blocking::<f32>().unwrap();
    assert_eq!(mean[..2], [f32::INFINITY, f32::NEG_INFINITY]);
    assert!(mean[2].is_nan() && mean[3].is_nan(), "{mean:?}");
    let var = var.to_vec_blocking::<f32>().unwrap();
    assert!(var.iter().all(|var| var.is_nan()), "{var:?}");
}
