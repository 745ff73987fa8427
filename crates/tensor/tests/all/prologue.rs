//! Reductions, searches, softmax and norms of pending expressions: how many kernels they take, what they allocate, and what they give.

use crate::common;
use crate::counts::{counted, own_device};
use ziggurat_kernels::{Call, CallKind, SoftmaxKind};
use ziggurat_tensor::{DType, Device, Error, FusionPolicy, Tensor, f16};

/// As [`counted`], with the value computed.
fn ran(device: &Device, f: impl FnOnce() -> Result<Tensor, Error>) -> (Tensor, u64, u64) {
    counted(device, || {
        let value = f().unwrap();
        value.eval_blocking().unwrap();
        value
    })
}

fn matrix(device: &Device, rows: usize, columns: usize) -> Tensor {
    let values: Vec<f32> = (0..rows * columns)
        .map(|i| ((i * 7 + 3) % 19) as f32 * 0.25 - 2.0)
        .collect();
    Tensor::from_slice(device, &values, [rows, columns]).unwrap()
}

fn floats(tensor: &Tensor) -> Vec<f32> {
    tensor.to_vec_blocking::<f32>().unwrap()
}

type Formula = fn(&Tensor) -> Result<Tensor, Error>;

/// Formulas that are one kernel over a matrix.
const ONE_KERNEL: &[(&str, Formula)] = &[
    ("sum of squares", |x| (x * x)?.sum([-1], false)),
    ("over columns", |x| x.abs()?.max([0], true)),
    ("over everything", |x| x.mul(2.0)?.add(1.0)?.mean_all()),
    ("of a cast", |x| x.to_dtype(DType::F16)?.sum([-1], false)),
    ("of a comparison", |x| x.gt(0.5)?.sum_all()),
    ("softmax", |x| x.mul(0.125)?.softmax(-1)),
    ("softmax of exp", |x| x.exp()?.softmax(0)),
    ("of a view of a value", |x| x.square()?.t()?.sum([1], false)),
    ("with a broadcast row", |x| {
        x.sub(x.narrow(0, 1, 1)?)?.square()?.mean([-1], true)
    }),
    ("of a masked value", |x| {
        x.ge(0.0)?.where_(x, x.mul(0.01)?)?.min([1], false)
    }),
    ("where it is largest", |x| x.abs()?.argmax(-1, false)),
    ("layer norm of a sum", |x| {
        x.add(x.abs()?)?.layer_norm([33], None, None, 1e-5)
    }),
    ("layer norm with a weight and a bias", |x| {
        let (w, b) = (x.select(0, 1)?, x.select(0, 2)?);
        x.mul(0.5)?.layer_norm([33], Some(&w), Some(&b), 1e-5)
    }),
    ("rms norm of a residual", |x| {
        let w = x.select(0, 3)?;
        x.add(x.neg()?.relu()?)?.rms_norm([33], Some(&w), 1e-5)
    }),
    ("normalised over both axes", |x| {
        x.sub(1.0)?.normalize(2.0, [0, 1], 1e-12)
    }),
    ("group norm", |x| {
        x.reshape([1, 9, 33])?
            .square()?
            .group_norm(3, None, None, 1e-5)
    }),
    ("instance norm", |x| {
        let w = x.select(1, 0)?.contiguous()?;
        let y = x.square()?.reshape([1, 9, 33])?;
        y.instance_norm(Some(&w), None, 1e-5)
    }),
    ("variances", |x| Ok(x.mul(0.5)?.var_mean([-1], 1, false)?.0)),
];

#[test]
fn a_reduction_of_an_expression_is_one_kernel_without_a_temporary() {
    let device = own_device();
    let x = matrix(&device, 9, 33);
    for (what, formula) in ONE_KERNEL {
        let (fused, kernels, allocations) = ran(&device, || formula(&x));
        // Weights that are strided in memory are copied before.
        let copies = u64::from(*what == "instance norm");
        assert_eq!((kernels, allocations), (1 + copies, 1 + copies), "{what}");
        let (unfused, kernels, _) = counted(&device, || {
            FusionPolicy::Unfused.scope(|| formula(&x)).unwrap()
        });
        assert!(kernels > 1, "{what}: {kernels} kernels unfused");
        assert_eq!(fused.dtype(), unfused.dtype());
        let [a, b] = [fused, unfused].map(|t| floats(&t.to_dtype(DType::F32).unwrap()));
        for (a, b) in a.iter().zip(&b) {
            let bound = 1e-5 * b.abs().max(1.0);
            assert!((a - b).abs() <= bound, "{what}: {a} fused, {b} unfused");
        }
        assert_eq!(a.len(), b.len());
    }
}

/// What is one kernel of a tensor in memory, over `[2, 4, 6]` and another of the same shape; and how many kernels it takes
/// of an expression.
const EACH_ONE_KERNEL: &[(&str, u64, Formula)] = &[
    ("layer_norm", 1, |x| {
        let (w, b) = (x.select(0, 0)?.select(0, 1)?, x.select(0, 1)?.select(0, 2)?);
        x.layer_norm([6], Some(&w), Some(&b), 1e-5)
    }),
    ("rms_norm", 1, |x| x.rms_norm([6], None, 1e-5)),
    ("group_norm", 1, |x| x.group_norm(2, None, None, 1e-5)),
    ("instance_norm", 1, |x| x.instance_norm(None, None, 1e-5)),
    ("softmax", 1, |x| x.softmax(1)),
    ("log_softmax", 1, |x| x.log_softmax(-1)),
    ("softmin", 1, |x| x.neg()?.softmax(-1)),
    ("logsumexp", 1, |x| x.logsumexp([-1], false)),
    ("argmin", 1, |x| x.argmin(1, true)),
    ("norm", 1, |x| x.norm(2.0, [1, 2], false)),
    // Both halves are of one tensor, which is computed where each of them is read.
    ("glu", 1, |x| x.glu(-1)),
    ("swiglu", 1, |x| {
        x.swiglu(-1, ziggurat_tensor::GateHalf::First)
    }),
];

#[test]
fn norms_softmax_and_gates_are_one_kernel_each() {
    let device = own_device();
    let x = matrix(&device, 8, 6).reshape([2, 4, 6]).unwrap();
    for (what, of_expression, formula) in EACH_ONE_KERNEL {
        let (_y, kernels, _) = ran(&device, || formula(&x));
        assert_eq!(kernels, 1, "{what}");
        let pending = || x.mul(0.5)?.add(&x);
        let sum = pending().unwrap();
        if *what == "layer_norm" {
            // Its weights are views of the sum, which is stored for them.
            continue;
        }
        let (y, kernels, _) = ran(&device, || formula(&sum));
        assert_eq!(kernels, *of_expression, "{what} of an expression");
        let plain = FusionPolicy::Unfused
            .scope(|| formula(&pending()?))
            .unwrap();
        let [y, plain] = [y, plain].map(|t| floats(&t.to_dtype(DType::F32).unwrap()));
        for (y, plain) in y.iter().zip(&plain) {
            assert!((y - plain).abs() <= 1e-5 * plain.abs().max(1.0), "{what}");
        }
    }
    let c = matrix(&device, 1, 4).reshape([4]).unwrap();
    let var = c.abs().unwrap();
    var.eval_blocking().unwrap();
    for (x, what) in [(x.clone(), "in memory"), (x.mul(2.0).unwrap(), "pending")] {
        let ((), kernels, _) = counted(&device, || {
            let y = x.batch_norm(1, (&c, &var), Some(&c), Some(&var), 1e-5);
            y.unwrap().eval_blocking().unwrap();
        });
        assert_eq!(kernels, 1, "batch_norm of what is {what}");
    }
}

#[test]
fn rope_is_one_kernel_with_what_is_around_it() {
    let device = own_device();
    let table = ziggurat_tensor::RopeTable::new(&device, 4, 6, 10_000.0).unwrap();
    let x = matrix(&device, 8, 6).reshape([1, 2, 4, 6]).unwrap();
    let ids = Tensor::from_slice(&device, &[3i32, 0, 2, 1], [1, 4]).unwrap();
    for positions in [None, Some(&ids)] {
        let form = ziggurat_tensor::RopeForm {
            positions,
            ..ziggurat_tensor::RopeForm::default()
        };
        let formulas: [&dyn Fn() -> Result<Tensor, Error>; 4] = [
            &|| x.rope(&table, form),
            &|| x.mul(0.5)?.rope(&table, form),
            &|| x.to_dtype(DType::F16)?.rope(&table, form),
            // Heads and positions exchanged, as projections give them.
            &|| {
                let y = x.neg()?.reshape([1, 4, 2, 6])?.transpose(1, 2)?;
                y.rope(&table, form)?.mul(2.0)?.add(&x)
            },
        ];
        for (i, formula) in formulas.into_iter().enumerate() {
            let (fused, kernels, allocations) = ran(&device, formula);
            assert_eq!((kernels, allocations), (1, 1), "formula {i}");
            let plain = FusionPolicy::Unfused.scope(formula).unwrap();
            let [a, b] = [fused, plain].map(|t| floats(&t.to_dtype(DType::F32).unwrap()));
            assert_eq!(a.len(), b.len());
            for (a, b) in a.iter().zip(&b) {
                assert!((a - b).abs() <= 1e-5 * b.abs().max(1.0), "formula {i}");
            }
        }
    }
}

#[test]
fn the_extreme_and_its_place_come_from_one_kernel() {
    let device = own_device();
    let x = matrix(&device, 5, 12);
    let square = x.square().unwrap();
    let ((most, at), kernels, allocations) =
        counted(&device, || square.max_with_indices(-1, false).unwrap());
    assert_eq!((kernels, allocations), (1, 2));
    let values = floats(&x);
    let at = at.to_vec_blocking::<i32>().unwrap();
    for ((row, most), at) in values.chunks(12).zip(floats(&most)).zip(at) {
        let expected = row.iter().map(|x| x * x).fold(0.0, f32::max);
        assert_eq!(most, expected);
        assert_eq!(row[at as usize] * row[at as usize], expected);
    }
}

#[test]
fn the_variance_of_rows_takes_two_kernels() {
    let device = own_device();
    let x = matrix(&device, 5, 40);
    let (variance, kernels, allocations) = ran(&device, || {
        let mean = x.mean([-1], true)?;
        x.sub(&mean)?.square()?.mean([-1], false)
    });
    assert_eq!((kernels, allocations), (2, 2));
    let values = floats(&x);
    for (row, got) in values.chunks(40).zip(floats(&variance)) {
        let mean: f64 = row.iter().map(|&x| f64::from(x)).sum::<f64>() / 40.0;
        let squares = row.iter().map(|&x| (f64::from(x) - mean).powi(2));
        let expected = squares.sum::<f64>() / 40.0;
        assert!((f64::from(got) - expected).abs() <= 1e-5 * expected);
    }
}

#[test]
fn a_value_that_is_asked_for_again_is_stored_the_second_time() {
    let device = own_device();
    let x = matrix(&device, 4, 6);
    let e = x.mul(0.5).unwrap().exp().unwrap();
    let (_sum, kernels, _) = ran(&device, || e.sum_all());
    assert_eq!(kernels, 1, "computed on the way");
    let (_max, kernels, _) = ran(&device, || e.max_all());
    assert_eq!(kernels, 2, "stored, then read");
    let (_min, kernels, _) = ran(&device, || e.min_all());
    assert_eq!(kernels, 1, "read");
}

#[test]
fn a_value_that_something_pending_needs_is_stored_at_once() {
    let device = own_device();
    let x = matrix(&device, 4, 6);
    let e = x.mul(0.5).unwrap().exp().unwrap();
    let waiting = e.add(1.0).unwrap();
    let (_sum, kernels, _) = ran(&device, || e.sum_all());
    assert_eq!(kernels, 2);
    assert_eq!(waiting.explain().unwrap().kernels()[0].ops(), ["add"]);
    // Also where it is below what is reduced.
    let e = x.mul(0.25).unwrap().exp().unwrap();
    let waiting = e.add(1.0).unwrap();
    let above = e.square().unwrap();
    drop(e);
    let (_sum, kernels, _) = ran(&device, || above.sum_all());
    assert_eq!(kernels, 2);
    assert_eq!(waiting.explain().unwrap().kernels()[0].ops(), ["add"]);
}

#[test]
fn what_a_product_can_write_is_stored_with_it() {
    let device = own_device();
    let (x, w) = (matrix(&device, 4, 6), matrix(&device, 6, 6));
    let hidden = |keep: &mut Vec<Tensor>| {
        let product = x.matmul(&w).unwrap();
        let sum = product.add(0.5).unwrap();
        let hidden = sum.relu().unwrap();
        keep.push(sum);
        hidden
    };
    let of_hidden = |hidden: &Tensor| hidden.softmax(-1);
    let y = hidden(&mut Vec::new());
    let (first, kernels, _) = ran(&device, || of_hidden(&y));
    assert_eq!(kernels, 2, "the product with what follows, softmax");
    let (_sum, kernels, _) = ran(&device, || y.sum_all());
    assert_eq!(kernels, 1, "it is in memory");
    // What somebody holds between both is computed on the way, as ever.
    let mut kept = Vec::new();
    let y = hidden(&mut kept);
    let (second, kernels, _) = ran(&device, || of_hidden(&y));
    assert_eq!(kernels, 2, "the product, softmax of what follows");
    let (_sum, kernels, _) = ran(&device, || y.sum_all());
    assert_eq!(kernels, 2, "stored, then read");
    let plain = FusionPolicy::Unfused.scope(|| of_hidden(&hidden(&mut Vec::new())).unwrap());
    assert_eq!(floats(&first), floats(&plain));
    assert_eq!(floats(&second), floats(&plain));
}

#[test]
fn too_much_work_for_softmax_goes_through_memory() {
    let device = own_device();
    let costly = |x: &Tensor| (0..8).fold(x.clone(), |x, _| x.tanh().unwrap());
    // Rows that fit in registers are read once, so that nothing is computed twice; longer ones are not.
    let (short, long) = (matrix(&device, 4, 6), matrix(&device, 2, 65_536));
    for (x, reads) in [(&short, 1), (&long, 2)] {
        let call = Call::new(CallKind::Softmax {
            kind: SoftmaxKind::Softmax,
            axis: 1,
        });
        let [read, _] = device.executor().reading(&call, x.shape());
        assert_eq!(read, reads, "{:?}", x.shape());
        let (_y, of_memory, _) = ran(&device, || x.softmax(-1));
        let (_y, kernels, _) = ran(&device, || x.mul(0.5)?.softmax(-1));
        assert_eq!(kernels, of_memory, "little work is done on the way");
        let value = costly(x);
        let (_y, kernels, _) = ran(&device, || value.softmax(-1));
        assert_eq!(kernels, of_memory + u64::from(reads > 1), "{:?}", x.shape());
        if reads > 1 {
            let (_y, kernels, _) = ran(&device, || value.softmax(-1));
            assert_eq!(kernels, of_memory, "it is in memory");
        }
    }
}

#[test]
fn half_precision_is_rounded_before_it_is_reduced() {
    let device = common::device();
    let x = Tensor::from_slice(&device, &[f16::from_f32(2048.0); 4], [4]).unwrap();
    let sum = x.add(1.0).unwrap().sub(2048.0).unwrap().sum_all().unwrap();
    assert_eq!(sum.item_blocking::<f16>().unwrap().to_f32(), 0.0);
}

#[test]
fn errors_are_those_of_the_reduction_and_nans_arrive() {
    let device = common::device();
    let x = matrix(&device, 2, 3);
    let error = x.exp().unwrap().sum([2], false).unwrap_err();
    assert!(error.is_shape(), "{error}");
    let nan = x.mul(f32::NAN).unwrap();
    assert!(
        nan.max_all()
            .unwrap()
            .item_blocking::<f32>()
            .unwrap()
            .is_nan()
    );
    assert!(
        floats(&nan.add(1.0).unwrap().softmax(0).unwrap())
            .iter()
            .all(|x| x.is_nan())
    );
    let none = Tensor::zeros(&device, [0, 3], DType::F32).unwrap();
    let sum = none.add(1.0).unwrap().sum([0], false).unwrap();
    assert_eq!(floats(&sum), [0.0; 3]);
}
