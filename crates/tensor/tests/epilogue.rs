//! Matrix products and what is done with them while they are written: kernels, memory, values.
#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use ziggurat_tensor::{DType, Device, Error, FusionPolicy, Tensor, f16, read_many_blocking};

/// A device of its own, so that counts are of one test.
fn own_device() -> Option<Device> {
    common::device()?;
    Some(Device::open_blocking(ziggurat_tensor::DeviceOptions::default()).unwrap())
}

/// Dispatches and allocations of `f`.
fn counted<R>(device: &Device, f: impl FnOnce() -> R) -> (R, u64, u64) {
    let count = || {
        let dispatches = device.executor().device().queue_stats().dispatches;
        (dispatches, device.usage().allocations)
    };
    let before = count();
    let result = f();
    let after = count();
    (result, after.0 - before.0, after.1 - before.1)
}

fn matrix(device: &Device, dims: &[usize]) -> Tensor {
    let len = dims.iter().product();
    let values: Vec<f32> = (0..len)
        .map(|i| ((i * 7 + 3) % 11) as f32 * 0.5 - 2.0)
        .collect();
    Tensor::from_slice(device, &values, dims).unwrap()
}

fn floats(tensor: &Tensor) -> Vec<f32> {
    let tensor = tensor.to_dtype(DType::F32).unwrap();
    tensor.to_vec_blocking::<f32>().unwrap()
}

type Formula = fn(&Tensor, &Tensor) -> Result<Tensor, Error>;

/// Formulas over two square matrices that are one kernel.
const ONE_KERNEL: &[(&str, Formula)] = &[
    ("product", |a, b| a.matmul(b)),
    ("bias, activation, cast", |a, b| {
        (a.matmul(b)? + a.select(0, 1)?)?
            .relu()?
            .to_dtype(DType::F16)
    }),
    ("scaled, with a residual", |a, b| {
        a.matmul(b)?.mul(0.5)?.add(b)
    }),
    ("a column of biases", |a, b| {
        a.matmul(b)?.sub(b.narrow(1, 0, 1)?)
    }),
    ("a bias that is pending", |a, b| {
        a.matmul(b)?.maximum(b.select(0, 2)?.neg()?)
    }),
    ("a comparison", |a, b| a.matmul(b)?.gt(a)),
    ("a residual across", |a, b| a.matmul(b)?.add(b.t()?)),
    ("linear", |a, b| {
        a.linear(b, Some(&b.select(0, 0)?))?.gelu_tanh()
    }),
    ("a vector", |a, b| {
        a.select(0, 1)?.matmul(b)?.add(b.select(0, 0)?)?.abs()
    }),
    ("columns", |a, b| {
        a.matmul(&b.select(1, 1)?.unsqueeze(1)?)?.neg()
    }),
    ("itself twice", |a, b| {
        let product = a.matmul(b)?;
        let square = product.mul(&product)?;
        drop(product);
        square.add(1.0)
    }),
];

#[test]
fn what_follows_a_product_is_done_while_it_is_written() {
    let Some(device) = own_device() else {
        return;
    };
    for side in [6, 20] {
        let (a, b) = (
            matrix(&device, &[side, side]),
            matrix(&device, &[side, side]).neg().unwrap(),
        );
        b.eval_blocking().unwrap();
        for (what, formula) in ONE_KERNEL {
            let (fused, kernels, allocations) = counted(&device, || formula(&a, &b).unwrap());
            assert_eq!(
                (kernels, allocations),
                (0, 0),
                "{what}: recording runs nothing"
            );
            let explained = fused.explain().unwrap();
            assert_eq!(explained.kernels().len(), 1, "{what}: {explained}");
            let ((), kernels, allocations) = counted(&device, || fused.eval_blocking().unwrap());
            assert_eq!((kernels, allocations), (1, 1), "{what}");
            let unfused = FusionPolicy::Unfused.scope(|| formula(&a, &b)).unwrap();
            assert_eq!(
                (fused.shape(), fused.dtype()),
                (unfused.shape(), unfused.dtype())
            );
            let (fused, unfused) = (floats(&fused), floats(&unfused));
            for (x, y) in fused.iter().zip(&unfused) {
                assert!((x - y).abs() <= 1e-6 * y.abs(), "{what}: {x}, unfused {y}");
            }
        }
    }
}

#[test]
fn an_explanation_names_all_of_it() {
    let Some(device) = common::device() else {
        return;
    };
    let (a, b) = (matrix(&device, &[4, 8]), matrix(&device, &[8, 4]));
    let bias = matrix(&device, &[4]);
    let y = a.matmul(&b).unwrap().add(&bias).unwrap().relu().unwrap();
    let explained = y.explain().unwrap();
    let [kernel] = explained.kernels() else {
        panic!("{explained}");
    };
    assert_eq!(kernel.ops(), ["matmul", "add", "relu"]);
    assert_eq!(kernel.bytes_read(), 4 * (32 + 32 + 4));
    assert_eq!(kernel.bytes_written(), 4 * 16);
    let unfused_bytes = 4 * (32 + 32 + 16) + 4 * (16 + 4 + 16) + 4 * (16 + 16);
    assert!(explained.bytes_moved() < unfused_bytes);
}

#[test]
fn a_product_that_is_held_or_needed_twice_is_computed_once() {
    let Some(device) = own_device() else {
        return;
    };
    let a = matrix(&device, &[5, 5]);
    let held = a.matmul(&a).unwrap();
    let above = held.add(1.0).unwrap();
    let ((), kernels, _) = counted(&device, || above.eval_blocking().unwrap());
    assert_eq!(kernels, 2);
    let (_, kernels, _) = counted(&device, || floats(&held));
    assert_eq!(kernels, 0, "it is in memory");

    let product = a.matmul(&a).unwrap();
    let (left, right) = (product.add(1.0).unwrap(), product.sub(1.0).unwrap());
    drop(product);
    let (read, kernels, _) = counted(&device, || read_many_blocking(&[&left, &right]).unwrap());
    assert_eq!((read.len(), kernels), (2, 2));
    let (_, kernels, _) = counted(&device, || floats(&left.sub(&right).unwrap()));
    assert_eq!(kernels, 1);

    // Something on the way that is held is written by the kernel, and read by the next.
    let on_the_way = a.matmul(&a).unwrap().add(1.0).unwrap();
    let above = on_the_way.square().unwrap();
    let ((), kernels, _) = counted(&device, || above.eval_blocking().unwrap());
    assert_eq!(kernels, 2);
    let (_, kernels, _) = counted(&device, || floats(&on_the_way));
    assert_eq!(kernels, 0);
}

#[test]
fn of_two_products_one_is_the_residual_of_the_other() {
    let Some(device) = own_device() else {
        return;
    };
    let a = matrix(&device, &[7, 7]);
    let b = a.t().unwrap();
    let sum = a.matmul(&b).unwrap().add(b.matmul(&a).unwrap()).unwrap();
    let ((), kernels, allocations) = counted(&device, || sum.eval_blocking().unwrap());
    assert_eq!((kernels, allocations), (2, 2));
    let unfused = FusionPolicy::Unfused
        .scope(|| a.matmul(&b)?.add(b.matmul(&a)?))
        .unwrap();
    assert_eq!(floats(&sum), floats(&unfused));
}

#[test]
fn views_broadcasts_and_reductions_of_a_product_find_it_in_memory() {
    let Some(device) = common::device() else {
        return;
    };
    let a = matrix(&device, &[3, 3]);
    let formulas: &[Formula] = &[
        |a, _| a.matmul(a)?.t()?.add(1.0),
        |a, _| a.matmul(a)?.narrow(0, 0, 1)?.add(a),
        |a, _| a.select(0, 0)?.matmul(a)?.add(a),
        |a, _| a.matmul(a)?.reshape([9])?.mul(2.0),
        |a, _| a.matmul(a)?.unsqueeze(0)?.expand([2, 3, 3])?.add(1.0),
        |a, _| a.matmul(a)?.sum([0], false)?.add(1.0),
        |a, _| a.matmul(a)?.add(1.0)?.softmax(-1),
        |a, _| a.matmul(a)?.matmul(a)?.mul(0.5)?.matmul(a),
        |a, _| a.matmul(a)?.flip([1])?.add(a.matmul(a)?),
    ];
    for (i, formula) in formulas.iter().enumerate() {
        let fused = formula(&a, &a).unwrap();
        let unfused = FusionPolicy::Unfused.scope(|| formula(&a, &a)).unwrap();
        assert_eq!(floats(&fused), floats(&unfused), "formula {i}");
    }
}

#[test]
fn half_precision_products_are_rounded_before_anything_is_added() {
    let Some(device) = common::device() else {
        return;
    };
    // 64 · 32 + 1 is 2049, no f16: it rounds to 2048, and 2048 + 1 to 2048 again. In f32 it would be 2050.
    let values = [[64.0, 1.0], [32.0, 1.0]].map(|row| row.map(f16::from_f32));
    let a = Tensor::from_slice(&device, &values[0], [1, 2]).unwrap();
    let b = Tensor::from_slice(&device, &values[1], [2, 1]).unwrap();
    let sum = a.matmul(&b).unwrap().add(1.0).unwrap();
    assert_eq!(floats(&sum), [2048.0]);
}

#[test]
fn products_without_elements_and_wrong_shapes() {
    let Some(device) = common::device() else {
        return;
    };
    let none = Tensor::zeros(&device, [0, 3], DType::F32).unwrap();
    let a = matrix(&device, &[3, 2]);
    let y = none.matmul(&a).unwrap().add(1.0).unwrap();
    assert_eq!((y.dims(), floats(&y)), (&[0, 2][..], vec![]));
    let zeros = none.t().unwrap().matmul(&none).unwrap().add(1.0).unwrap();
    assert_eq!(floats(&zeros), [1.0; 9]);
    let error = a.matmul(&a).unwrap_err();
    assert!(error.is_shape(), "{error}");
}

#[test]
fn inputs_stay_alive_until_the_product_runs_and_no_longer() {
    let Some(device) = own_device() else {
        return;
    };
    let a = matrix(&device, &[64, 64]);
    let product = a.matmul(&a).unwrap().add(1.0).unwrap();
    let expected = floats(&a.matmul(&a).unwrap().add(1.0).unwrap());
    drop(a);
    // What would overwrite the memory, were it free.
    let _other = Tensor::ones(&device, [64, 64], DType::F32).unwrap();
    assert_eq!(floats(&product), expected);
    let in_use = device.usage().live;
    drop(product);
    assert!(device.usage().live < in_use);
}
