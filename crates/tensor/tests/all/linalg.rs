//! Linear systems, inverses, determinants and factors through the public interface.

use crate::common;
use ziggurat_tensor::{DType, Device, Error, Tensor};

fn given(device: &Device, values: &[f32], dims: &[usize]) -> Tensor {
    Tensor::from_slice(device, values, dims).unwrap()
}

fn near(got: &Tensor, wanted: &[f64]) {
    let got = got.to_f64_vec_blocking().unwrap();
    assert_eq!(got.len(), wanted.len());
    for (g, w) in got.iter().zip(wanted) {
        assert!(
            (g - w).abs() <= 1e-5 * (1.0 + w.abs()),
            "{got:?}, not {wanted:?}"
        );
    }
}

#[test]
fn systems_broadcast_their_batches_and_take_vectors_and_views() {
    let device = common::device();
    // Rows must be exchanged to solve these.
    let a = given(
        &device,
        &[0.0, 2.0, 1.0, 1.0, 3.0, 0.0, 1.0, -1.0],
        &[2, 2, 2],
    );
    let b = given(&device, &[4.0, 5.0], &[2]);
    let x = a.solve(&b).unwrap();
    assert_eq!(x.dims(), [2, 2]);
    near(&x, &[3.0, 2.0, 4.0 / 3.0, 4.0 / 3.0 - 5.0]);
    let back = a.matmul(&x.unsqueeze(-1).unwrap()).unwrap();
    near(&back, &[4.0, 5.0, 4.0, 5.0]);
    let turned = a.transpose(1, 2).unwrap();
    let right = given(&device, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[3, 2])
        .t()
        .unwrap();
    let x = turned.solve(&right).unwrap();
    assert_eq!(x.dims(), [2, 2, 3]);
    let wanted = right.broadcast_to([2, 2, 3]).unwrap();
    near(
        &turned.matmul(&x).unwrap(),
        &wanted.to_f64_vec_blocking().unwrap(),
    );
    let lower = a.solve_triangular(&b, false, true).unwrap();
    near(&lower, &[4.0, 1.0, 4.0, 1.0]);
    let upper = turned
        .narrow(0, 1, 1)
        .unwrap()
        .solve_triangular(&b, true, false)
        .unwrap();
    near(&upper, &[3.0, -5.0]);
}

#[test]
fn inverses_determinants_and_factors() {
    let device = common::device();
    let a = given(
        &device,
        &[2.0, 1.0, 0.0, 0.0, 1.0, 5.0, 1.0, 0.0, 1.0],
        &[3, 3],
    );
    near(&a.det().unwrap(), &[7.0]);
    near(
        &a.matmul(&a.inverse().unwrap()).unwrap(),
        &[1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0],
    );
    let spd = a.matmul(&a.t().unwrap()).unwrap();
    let l = spd.cholesky().unwrap();
    near(
        &l.matmul(&l.t().unwrap()).unwrap(),
        &spd.to_f64_vec_blocking().unwrap(),
    );
    let half = a.to_dtype(DType::F16).unwrap();
    assert_eq!(half.det().unwrap().dtype(), DType::F16);
    near(&half.det().unwrap(), &[7.0]);
    let singular = given(&device, &[1.0, 2.0, 2.0, 4.0], &[2, 2]);
    assert_eq!(singular.det().unwrap().item_blocking::<f32>().unwrap(), 0.0);
    let inverse = singular
        .inverse()
        .unwrap()
        .to_vec_blocking::<f32>()
        .unwrap();
    assert!(inverse.iter().all(|v| !v.is_finite()));
    // A pivot of 0 before the last one.
    let flat: Vec<f32> = [[0.0; 9], [1.0, 2.0, 3.0, 2.0, 4.0, 6.0, 3.0, 6.0, 9.0]].concat();
    let flat = given(&device, &flat, &[2, 3, 3]);
    assert_eq!(
        flat.det().unwrap().to_vec_blocking::<f32>().unwrap(),
        [0.0; 2]
    );
    let inverse = flat.inverse().unwrap().to_vec_blocking::<f32>().unwrap();
    for matrix in inverse.chunks(9) {
        assert!(matrix.iter().any(|v| !v.is_finite()), "{matrix:?}");
    }
    let none = Tensor::zeros(&device, [4, 0, 0], DType::F32).unwrap();
    near(&none.det().unwrap(), &[1.0; 4]);
    assert_eq!(none.inverse().unwrap().dims(), [4, 0, 0]);
}

#[test]
fn what_does_not_fit_is_refused() {
    let device = common::device();
    let ones = |dims: &[usize]| Tensor::ones(&device, dims, DType::F32).unwrap();
    let text = |result: Result<Tensor, Error>| {
        let error = result.unwrap_err();
        assert!(error.is_shape(), "{error}");
        error.to_string()
    };
    assert_eq!(
        text(ones(&[2, 3]).det()),
        "det: matrices must be square: [2, 3] given"
    );
    assert_eq!(
        text(ones(&[3, 3]).solve(&ones(&[2]))),
        "solve: matrices and right sides differ in rows: left is [3, 3], right is [2, 1]"
    );
    text(ones(&[3]).inverse());
    text(ones(&[2, 3, 3]).solve(&ones(&[4, 3, 1])));
    text(ones(&[3, 3]).solve(&ones(&[])));
    assert_eq!(
        text(ones(&[1025, 1025]).det()),
        "det: determinant: a must have at most 1,024 rows per matrix, but its shape is [1025, 1025]"
    );
    let ints = Tensor::ones(&device, [2, 2], DType::I32).unwrap();
    assert!(ints.cholesky().unwrap_err().is_dtype());
}
