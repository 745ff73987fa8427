//! What follows a reduction, softmax or norm is part of its kernel: kernels, memory, values, explanations.

use crate::common;
use crate::counts::{counted, own_device};
use ziggurat_tensor::{DType, Device, Error, FusionPolicy, Tensor, read_many_blocking};

fn matrix(device: &Device, rows: usize, columns: usize) -> Tensor {
    let values: Vec<f32> = (0..rows * columns)
        .map(|i| ((i * 7 + 3) % 19) as f32 * 0.25 - 2.0)
        .collect();
    Tensor::from_slice(device, &values, [rows, columns]).unwrap()
}

fn floats(tensor: &Tensor) -> Vec<f32> {
    let tensor = tensor.to_dtype(DType::F32).unwrap();
    tensor.to_vec_blocking::<f32>().unwrap()
}

type Formula = fn(&Tensor, &Tensor) -> Result<Tensor, Error>;

/// Formulas over two matrices `[9, 33]` that are one kernel.
const ONE_KERNEL: &[(&str, Formula)] = &[
    ("square of a sum", |_, y| y.sum([-1], false)?.square()),
    ("length of rows", |x, _| {
        (x * x)?.sum([-1], false)?.sqrt()?.add(1.0)
    }),
    ("columns, cast", |x, _| {
        x.max([0], true)?.mul(2.0)?.to_dtype(DType::F16)
    }),
    ("with a row", |x, y| x.sum([0], false)?.sub(y.select(0, 1)?)),
    ("deviation", |x, _| {
        x.var([-1], 1, false)?.add(1e-5)?.sqrt()?.reciprocal()
    }),
    ("everything", |x, y| {
        x.mul(y)?.mean_all()?.mul(3.0)?.sub(1.0)
    }),
    ("softmax, masked", |x, y| x.softmax(-1)?.mul(y)),
    ("softmax of columns, both ends", |x, y| {
        x.mul(0.5)?.add(y)?.softmax(0)?.mul(y)?.sub(x)
    }),
    ("negative log likelihood", |x, y| {
        x.log_softmax(-1)?.mul(y)?.neg()
    }),
    ("layer norm and a residual", |x, y| {
        x.layer_norm([33], None, None, 1e-5)?.add(y)
    }),
    ("rms norm of a residual, in half precision", |x, y| {
        let w = y.select(0, 3)?;
        x.add(y)?
            .rms_norm([33], Some(&w), 1e-5)?
            .silu()?
            .to_dtype(DType::F16)
    }),
    ("group norm, activated", |x, y| {
        let x = x.reshape([1, 9, 33])?;
        x.group_norm(3, None, None, 1e-5)?
            .relu()?
            .add(y.reshape([1, 9, 33])?)
    }),
    ("used twice", |x, _| {
        let sum = x.sum([-1], true)?;
        let both = sum.mul(&sum)?.add(&sum)?;
        drop(sum);
        both.sqrt()
    }),
];

#[test]
fn what_follows_is_done_while_the_result_is_written() {
    let device = own_device();
    let (x, y) = (
        matrix(&device, 9, 33),
        matrix(&device, 9, 33).neg().unwrap(),
    );
    y.eval_blocking().unwrap();
    for (what, formula) in ONE_KERNEL {
        let (fused, kernels, allocations) = counted(&device, || formula(&x, &y).unwrap());
        assert_eq!((kernels, allocations), (0, 0), "{what}: recording");
        let explained = fused.explain().unwrap();
        assert_eq!(explained.kernels().len(), 1, "{what}: {explained}");
        let wgsl = explained.kernels()[0].wgsl().unwrap();
        assert!(
            wgsl.contains("fn load_value") && wgsl.contains("fn store1"),
            "{what}"
        );
        let ((), kernels, allocations) = counted(&device, || fused.eval_blocking().unwrap());
        assert_eq!((kernels, allocations), (1, 1), "{what}");
        let unfused = FusionPolicy::Unfused.scope(|| formula(&x, &y)).unwrap();
        assert_eq!(
            (fused.shape(), fused.dtype()),
            (unfused.shape(), unfused.dtype())
        );
        let (fused, unfused) = (floats(&fused), floats(&unfused));
        assert_eq!(fused.len(), unfused.len());
        for (a, b) in fused.iter().zip(&unfused) {
            let bound = 1e-5 * b.abs().max(1.0);
            assert!((a - b).abs() <= bound, "{what}: {a} fused, {b} unfused");
        }
    }
}

#[test]
fn an_explanation_names_both_ends_and_what_is_moved() {
    let device = common::device();
    let x = matrix(&device, 4, 6);
    let length = (&x * &x).unwrap().sum([-1], false).unwrap().sqrt().unwrap();
    let explained = length.explain().unwrap();
    let [kernel] = explained.kernels() else {
        panic!("{explained}");
    };
    assert_eq!(kernel.ops(), ["mul", "sum", "sqrt"]);
    assert_eq!((kernel.bytes_read(), kernel.bytes_written()), (96, 16));
    let wgsl = kernel.wgsl().unwrap();
    for part in ["fn op_mul_f32", "fn op_sqrt_f32", "fn combine"] {
        assert!(wgsl.contains(part), "{part} in\n{explained}");
    }
    assert_eq!(floats(&length).len(), 4);
    assert!(length.explain().unwrap().kernels().is_empty());
}

#[test]
fn a_result_that_is_kept_is_written_beside() {
    let device = own_device();
    let x = matrix(&device, 5, 8);
    let sum = x.square().unwrap().sum([-1], false).unwrap();
    let root = sum.sqrt().unwrap();
    let ((), kernels, _) = counted(&device, || {
        drop(read_many_blocking(&[&root, &sum]).unwrap());
    });
    assert_eq!(kernels, 1);
    for (sum, root) in floats(&sum).iter().zip(floats(&root)) {
        assert!((root * root - sum).abs() <= 1e-5 * sum);
    }
}

#[test]
fn of_two_reductions_one_is_stored() {
    let device = own_device();
    let (x, y) = (matrix(&device, 4, 8), matrix(&device, 4, 8).exp().unwrap());
    let (loss, kernels, _) = counted(&device, || {
        let loss = x.mean_all().unwrap().add(y.mean_all().unwrap()).unwrap();
        loss.eval_blocking().unwrap();
        loss
    });
    assert_eq!(kernels, 2);
    let mean = |x: &Tensor| floats(x).iter().sum::<f32>() / 32.0;
    assert!((floats(&loss)[0] - mean(&x) - mean(&y)).abs() < 1e-4);
}

#[test]
fn a_mean_that_is_broadcast_is_computed_once() {
    let device = own_device();
    let x = matrix(&device, 4, 8);
    let (centred, kernels, _) = counted(&device, || {
        let centred = x.sub(x.mean([-1], true).unwrap()).unwrap();
        centred.eval_blocking().unwrap();
        centred
    });
    assert_eq!(kernels, 2);
    for row in floats(&centred).chunks(8) {
        assert!(row.iter().sum::<f32>().abs() < 1e-4);
    }
}

/// A loop that adds up losses must not keep what they were computed from.
#[test]
fn a_reduction_of_something_large_runs_at_once() {
    let device = own_device();
    let large = Tensor::ones(&device, [3 << 10, 1 << 10], DType::F32).unwrap();
    large.eval_blocking().unwrap();
    let (sum, kernels, _) = counted(&device, || large.sum_all().unwrap());
    assert!(kernels > 0, "it would hold 12 MiB");
    let held = device.usage().live;
    drop(large);
    assert!(device.usage().live < held);
    assert_eq!(floats(&sum), [(3 << 20) as f32]);
    let small = Tensor::ones(&device, [8, 8], DType::F32).unwrap();
    small.eval_blocking().unwrap();
    let (_sum, kernels, _) = counted(&device, || small.sum_all().unwrap());
    assert_eq!(kernels, 0);
}

#[test]
fn results_without_elements_and_of_nothing_are_written_too() {
    let device = common::device();
    let none = Tensor::zeros(&device, [0, 3], DType::F32).unwrap();
    let sum = none.sum([0], false).unwrap().add(2.0).unwrap();
    assert_eq!(floats(&sum), [2.0; 3]);
    let empty = none.sum([1], false).unwrap().add(2.0).unwrap();
    assert!(floats(&empty).is_empty());
    let nan = Tensor::full(&device, [2, 3], f32::NAN, DType::F32).unwrap();
    let most = nan.max([1], false).unwrap().maximum(0.0).unwrap();
    assert!(floats(&most).iter().all(|x| x.is_nan()));
}
