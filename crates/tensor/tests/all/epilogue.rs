//! Matrix products and convolutions and what is done with them while they are written: kernels, memory, values.

use crate::common;
use crate::counts::{counted, own_device};
use ziggurat_tensor::{
    Conv1dOptions, Conv2dOptions, Conv3dOptions, ConvTranspose2dOptions, DType, Device, Error,
    FusionPolicy, Tensor, f16, read_many_blocking,
};

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
    let device = own_device();
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
    let device = common::device();
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
    let wgsl = kernel.wgsl().unwrap();
    for text in [
        "// kernel matmul/f32/f32/",
        "fn op_add_f32",
        "fn op_relu_f32",
        "fn finished(",
        "fn main(",
    ] {
        assert!(wgsl.contains(text), "{text} in {wgsl}");
    }
    assert!(explained.to_string().contains("fn finished("));

    // Beside a product that stays: both are written.
    let product = a.matmul(&b).unwrap();
    let above = product.exp().unwrap();
    let explained = above.explain().unwrap();
    let [kernel] = explained.kernels() else {
        panic!("{explained}");
    };
    assert_eq!(kernel.outputs().len(), 2);
    assert_eq!(kernel.bytes_written(), 4 * 32);
    assert!(kernel.wgsl().unwrap().contains("out_1: array<cell_1>"));
    // A product by itself, and a convolution with something above it.
    let plain = product.explain().unwrap();
    let wgsl = plain.kernels()[0].wgsl().unwrap();
    assert!(wgsl.contains("matmul/params.wgsl") && !wgsl.contains("fn finished("));
    let (x, w) = (
        matrix(&device, &[1, 2, 5, 5]),
        matrix(&device, &[3, 2, 3, 3]),
    );
    let y = x.conv2d(&w, None, &Conv2dOptions::default()).unwrap();
    let explained = y.relu().unwrap().explain().unwrap();
    let wgsl = explained.kernels()[0].wgsl().unwrap();
    assert!(wgsl.contains("// ---- conv/rows.wgsl") && wgsl.contains("fn op_relu_f32"));
}

#[test]
fn a_capture_names_kernels_that_run_when_called() {
    let device = common::device();
    let x = matrix(&device, &[4, 8]);
    let captured = device
        .capture(&[&x], |x| {
            let y = (&x[0] * &x[0])?.layer_norm([8], None, None, 1e-5)?;
            Ok(vec![y.exp()?.sum([-1], false)?])
        })
        .unwrap();
    let kernels: Vec<_> = captured.kernels().collect();
    assert_eq!(kernels.len(), captured.dispatches());
    let [norm, sum] = &kernels[..] else {
        panic!("{kernels:?}");
    };
    assert!(norm.name().starts_with("layer_norm/f32"), "{}", norm.name());
    assert!(norm.wgsl().contains("fn op_mul_f32"));
    assert_eq!((norm.bytes_read(), norm.bytes_written()), (128, 128));
    assert!(sum.wgsl().contains("fn op_exp_f32"));
    assert_eq!((sum.bytes_read(), sum.bytes_written()), (128, 16));
    let text = sum.to_string();
    assert!(text.contains("128 bytes read, 16 written") && text.contains("fn load_value"));
}

/// Formulas over an image `[2, 4, 6, 6]` and filters `[8, 4, 3, 3]` that are one kernel.
const ONE_CONVOLUTION: &[(&str, Formula)] = &[
    ("bias, activation, residual", |x, w| {
        let bias = w.select(1, 0)?.select(1, 1)?.select(1, 2)?;
        let residual = x.narrow(2, 1, 4)?.narrow(3, 1, 4)?.tile([1, 2, 1, 1])?;
        residual.eval_blocking()?;
        x.conv2d(w, Some(&bias), &Conv2dOptions::default())?
            .relu()?
            .add(residual)
    }),
    ("a scale per channel and a cast", |x, w| {
        let scale = w.select(1, 0)?.select(1, 1)?.select(1, 2)?;
        x.conv2d(w, None, &Conv2dOptions::default())?
            .mul(scale.reshape([8, 1, 1])?)?
            .silu()?
            .to_dtype(DType::F16)
    }),
    ("batch norm behind it", |x, w| {
        let scale = w.select(1, 0)?.select(1, 1)?.select(1, 2)?;
        let y = x.conv2d(w, None, &Conv2dOptions::default())?;
        let y = y.batch_norm(1, (&scale, &scale.abs()?), None, Some(&scale), 1e-5)?;
        y.relu()
    }),
    ("without a batch axis", |x, w| {
        x.select(0, 1)?
            .conv2d(w, None, &Conv2dOptions::default())?
            .abs()
    }),
    ("one axis", |x, w| {
        let (x, w) = (x.select(2, 0)?, w.select(2, 1)?);
        x.conv1d(&w, None, &Conv1dOptions::default())?.neg()
    }),
    ("three axes", |x, w| {
        let (x, w) = (x.unsqueeze(2)?, w.unsqueeze(2)?);
        x.conv3d(&w, None, &Conv3dOptions::default())?.gelu()
    }),
    ("transposed", |x, w| {
        let w = w.narrow(0, 0, 4)?;
        x.conv_transpose2d(&w, None, &ConvTranspose2dOptions::default())?
            .maximum(0.5)
    }),
];

#[test]
fn what_follows_a_convolution_is_done_while_it_is_written() {
    let device = own_device();
    let (x, w) = (
        matrix(&device, &[2, 4, 6, 6]),
        matrix(&device, &[8, 4, 3, 3]),
    );
    for (what, formula) in ONE_CONVOLUTION {
        let fused = formula(&x, &w).unwrap();
        let ((), kernels, allocations) = counted(&device, || fused.eval_blocking().unwrap());
        assert_eq!((kernels, allocations), (1, 1), "{what}");
        let unfused = FusionPolicy::Unfused.scope(|| formula(&x, &w)).unwrap();
        assert_eq!(fused.dims(), unfused.dims(), "{what}");
        for (x, y) in floats(&fused).iter().zip(&floats(&unfused)) {
            assert!((x - y).abs() <= 1e-5 * y.abs().max(1.0), "{what}: {x}, {y}");
        }
    }
}

#[test]
fn a_product_that_is_held_or_needed_twice_is_computed_once() {
    let device = own_device();
    let a = matrix(&device, &[5, 5]);
    let held = a.matmul(&a).unwrap();
    let above = held.add(1.0).unwrap();
    let ((), kernels, allocations) = counted(&device, || above.eval_blocking().unwrap());
    assert_eq!((kernels, allocations), (1, 2), "one kernel writes both");
    let (_, kernels, _) = counted(&device, || floats(&held));
    assert_eq!(kernels, 0, "it is in memory");
    let plain = FusionPolicy::Unfused.scope(|| a.matmul(&a)).unwrap();
    assert_eq!(floats(&held), floats(&plain));
    assert_eq!(floats(&above), floats(&plain.add(1.0).unwrap()));

    // Also where something else that is pending needs it.
    let product = a.matmul(&a).unwrap();
    let (left, right) = (product.add(1.0).unwrap(), product.sub(1.0).unwrap());
    drop(product);
    let ((), kernels, _) = counted(&device, || left.eval_blocking().unwrap());
    assert_eq!(kernels, 1);
    assert_eq!(right.explain().unwrap().kernels()[0].ops(), ["sub"]);

    // Asked for together, both are written by the kernel, and nothing else.
    let product = a.matmul(&a).unwrap();
    let (left, right) = (product.add(1.0).unwrap(), product.sub(1.0).unwrap());
    drop(product);
    let (read, kernels, allocations) = counted(&device, || {
        let read = read_many_blocking(&[&left, &right]).unwrap();
        read.len()
    });
    assert_eq!((read, kernels, allocations), (2, 1, 2));
    let (_, kernels, _) = counted(&device, || floats(&left.sub(&right).unwrap()));
    assert_eq!(kernels, 1);

    // With another expression beside.
    let other = a.neg().unwrap();
    let above = a.matmul(&a).unwrap().abs().unwrap();
    let (_, kernels, _) = counted(&device, || read_many_blocking(&[&above, &other]).unwrap());
    assert_eq!(kernels, 2);

    // Something on the way that is held is written by the kernel too; the product itself is not.
    let on_the_way = a.matmul(&a).unwrap().add(1.0).unwrap();
    let above = on_the_way.square().unwrap();
    let ((), kernels, allocations) = counted(&device, || above.eval_blocking().unwrap());
    assert_eq!((kernels, allocations), (1, 2));
    let (_, kernels, _) = counted(&device, || floats(&on_the_way));
    assert_eq!(kernels, 0);
    let plain = plain.add(1.0).unwrap();
    assert_eq!(floats(&on_the_way), floats(&plain));
    assert_eq!(floats(&above), floats(&plain.square().unwrap()));
}

#[test]
fn a_chain_in_one_statement_is_one_kernel_for_each_product() {
    let device = own_device();
    let a = matrix(&device, &[6, 6]);
    let row = a.select(0, 1).unwrap();
    let (once, kernels, _) = counted(&device, || {
        let chain = || -> Result<Vec<f32>, Error> {
            a.matmul(&a)?.add(&row)?.relu()?.mul(0.5)?.to_vec_blocking()
        };
        chain().unwrap()
    });
    assert_eq!(kernels, 1);
    let unfused = FusionPolicy::Unfused.scope(|| a.matmul(&a)?.add(&row)?.relu()?.mul(0.5));
    assert_eq!(once, floats(&unfused.unwrap()));

    // A vector, whose product is seen through a view.
    let (once, kernels, _) = counted(&device, || {
        let chain = || -> Result<Vec<f32>, Error> { row.matmul(&a)?.abs()?.to_vec_blocking() };
        chain().unwrap()
    });
    assert_eq!(kernels, 1);
    let unfused = FusionPolicy::Unfused.scope(|| row.matmul(&a)?.abs());
    assert_eq!(once, floats(&unfused.unwrap()));

    // Layers of layers.
    let (x, w) = (
        matrix(&device, &[1, 2, 8, 8]),
        matrix(&device, &[2, 2, 3, 3]),
    );
    let options = Conv2dOptions::default();
    let network = |x: &Tensor| -> Result<Vec<f32>, Error> {
        x.conv2d(&w, None, &options)?
            .mul(0.1)?
            .relu()?
            .conv2d(&w, None, &options)?
            .relu()?
            .flatten(1, 3)?
            .matmul(&matrix(x.device(), &[32, 3]))?
            .gelu_tanh()?
            .to_vec_blocking()
    };
    let (once, kernels, _) = counted(&device, || network(&x).unwrap());
    assert_eq!(kernels, 3);
    let unfused = FusionPolicy::Unfused.scope(|| network(&x).unwrap());
    for (x, y) in once.iter().zip(&unfused) {
        assert!((x - y).abs() <= 1e-5 * y.abs().max(1.0), "{x}, {y}");
    }
}

#[test]
fn a_view_of_a_product_that_is_held_costs_nothing_afterwards() {
    let device = own_device();
    let a = matrix(&device, &[4, 4]);
    let across = a.matmul(&a).unwrap().t().unwrap();
    let back = across.t().unwrap().add(1.0).unwrap();
    let ((), kernels, _) = counted(&device, || back.eval_blocking().unwrap());
    assert!(kernels <= 2);
    let (_, kernels, _) = counted(&device, || across.eval_blocking().unwrap());
    assert_eq!(kernels, 0);
    let plain = FusionPolicy::Unfused.scope(|| a.matmul(&a)).unwrap();
    assert_eq!(floats(&across), floats(&plain.t().unwrap()));
    assert_eq!(floats(&back), floats(&plain.add(1.0).unwrap()));
}

#[test]
fn of_two_products_one_is_the_residual_of_the_other() {
    let device = own_device();
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
    let device = common::device();
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
    let device = common::device();
    // 64 · 32 + 1 is 2049, no f16: it rounds to 2048, and 2048 + 1 to 2048 again. In f32 it would be 2050.
    let values = [[64.0, 1.0], [32.0, 1.0]].map(|row| row.map(f16::from_f32));
    let a = Tensor::from_slice(&device, &values[0], [1, 2]).unwrap();
    let b = Tensor::from_slice(&device, &values[1], [2, 1]).unwrap();
    let sum = a.matmul(&b).unwrap().add(1.0).unwrap();
    assert_eq!(floats(&sum), [2048.0]);
}

#[test]
fn products_without_elements_and_wrong_shapes() {
    let device = common::device();
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
    let device = own_device();
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
