//! Random graphs, elementwise with reductions, products, convolutions and norms at random places: fused, unfused, and the
//! reference on the CPU give the same bits.
//!
//! Graphs mix dtypes, views, broadcasts and shared nodes; some of the values are dropped before anything is computed, the
//! others are read in any order. All ops in them are exact, so there is no tolerance; a second test has the inexact ones.

use crate::common;
use std::cell::Cell;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use ziggurat_kernels::{Binary, Compare, Executor, Unary, reference};
use ziggurat_memory::{Memory, MemoryOptions};
use ziggurat_pipeline::Pipelines;
use ziggurat_tensor::{
    Conv1dOptions, DType, Device, DeviceOptions, Element, FusionPolicy, Layout, Shape, Tensor, f16,
    read_many_blocking,
};

/// A tensor and what it should hold.
#[derive(Clone)]
struct Value {
    tensor: Tensor,
    expected: Vec<f64>,
}

/// A random choice: what to do, and with which operands.
type Step = (u8, u8, u8, u8);

const START: &[(&[usize], DType)] = &[
    (&[4, 6], DType::F32),
    (&[6], DType::F32),
    (&[4, 1], DType::F16),
    (&[4, 6], DType::BF16),
    (&[4, 6], DType::I32),
    (&[1], DType::U8),
    (&[6], DType::I8),
    (&[4, 6], DType::Bool),
    (&[], DType::F32),
];

fn start(device: &Device) -> Vec<Value> {
    START
        .iter()
        .enumerate()
        .map(|(at, (dims, dtype))| {
            let len: usize = dims.iter().product();
            let raw = (0..len).map(|i| ((i * 7 + at * 5) % 23) as f64 * 0.5 - 4.0);
            let expected: Vec<f64> = raw.map(|x| reference::round_to(*dtype, x)).collect();
            let bytes = ziggurat_kernels::core::encode(*dtype, &expected);
            let tensor = Tensor::from_bytes(device, &bytes, dims, *dtype).unwrap();
            Value { tensor, expected }
        })
        .collect()
}

fn broadcast(value: &Value, shape: Shape) -> Option<Vec<f64>> {
    let layout = Layout::contiguous(*value.tensor.shape())
        .expand(shape)
        .ok()?;
    Some(layout.offsets().map(|at| value.expected[at]).collect())
}

fn cast(value: &Value, to: DType) -> Value {
    let from = value.tensor.dtype();
    Value {
        tensor: value.tensor.to_dtype(to).unwrap(),
        expected: match from == to {
            true => value.expected.clone(),
            false => value
                .expected
                .iter()
                .map(|&x| reference::cast(from, to, x))
                .collect(),
        },
    }
}

fn unary(value: &Value, which: u8) -> Option<Value> {
    type Method = fn(&Tensor) -> Result<Tensor, ziggurat_tensor::Error>;
    let ops: [(Unary, Method); 7] = [
        (Unary::Abs, Tensor::abs),
        (Unary::Neg, Tensor::neg),
        (Unary::Square, Tensor::square),
        (Unary::Relu, Tensor::relu),
        (Unary::Sign, Tensor::sign),
        (Unary::BitwiseNot, Tensor::bitwise_not),
        (Unary::LogicalNot, Tensor::logical_not),
    ];
    let (op, method) = ops[usize::from(which) % ops.len()];
    let dtype = value.tensor.dtype();
    if !op.spec().dtypes.contains(&dtype) {
        return None;
    }
    let compute = |&x: &f64| reference::round_to(dtype, reference::unary(op, dtype, x));
    Some(Value {
        tensor: method(&value.tensor).unwrap(),
        expected: value.expected.iter().map(compute).collect(),
    })
}

fn binary(a: &Value, b: &Value, which: u8) -> Option<Value> {
    type Method = fn(&Tensor, &Tensor) -> Result<Tensor, ziggurat_tensor::Error>;
    let ops: [(Binary, Method); 8] = [
        (Binary::Add, |a, b| a.add(b)),
        (Binary::Sub, |a, b| a.sub(b)),
        (Binary::Mul, |a, b| a.mul(b)),
        (Binary::Maximum, |a, b| a.maximum(b)),
        (Binary::Minimum, |a, b| a.minimum(b)),
        (Binary::BitwiseAnd, |a, b| a.bitwise_and(b)),
        (Binary::BitwiseOr, |a, b| a.bitwise_or(b)),
        (Binary::BitwiseXor, |a, b| a.bitwise_xor(b)),
    ];
    let (op, method) = ops[usize::from(which) % ops.len()];
    let dtype = a.tensor.dtype();
    if !op.spec().dtypes.contains(&dtype) {
        return None;
    }
    let b = cast(b, dtype);
    zip(
        a,
        &b,
        |x, y| reference::round_to(dtype, reference::binary(op, dtype, x, y)),
        method,
    )
}

fn compare(a: &Value, b: &Value, which: u8) -> Option<Value> {
    type Method = fn(&Tensor, &Tensor) -> Result<Tensor, ziggurat_tensor::Error>;
    let ops: [(Compare, Method); 3] = [
        (Compare::Lt, |a, b| a.lt(b)),
        (Compare::Ge, |a, b| a.ge(b)),
        (Compare::Ne, |a, b| a.ne(b)),
    ];
    let (op, method) = ops[usize::from(which) % ops.len()];
    let b = cast(b, a.tensor.dtype());
    zip(
        a,
        &b,
        |x, y| f64::from(u8::from(reference::compare(op, x, y))),
        method,
    )
}

fn zip(
    a: &Value,
    b: &Value,
    compute: impl Fn(f64, f64) -> f64,
    method: fn(&Tensor, &Tensor) -> Result<Tensor, ziggurat_tensor::Error>,
) -> Option<Value> {
    let shapes = [*a.tensor.shape(), *b.tensor.shape()];
    let shape = ziggurat_kernels::core::broadcast_shapes(&shapes).ok()?;
    let (x, y) = (broadcast(a, shape)?, broadcast(b, shape)?);
    Some(Value {
        tensor: method(&a.tensor, &b.tensor).unwrap(),
        expected: x.iter().zip(&y).map(|(&x, &y)| compute(x, y)).collect(),
    })
}

fn choose(condition: &Value, a: &Value, b: &Value) -> Option<Value> {
    let (condition, b) = (cast(condition, DType::Bool), cast(b, a.tensor.dtype()));
    let shapes = [&condition, a, &b].map(|value| *value.tensor.shape());
    let shape = ziggurat_kernels::core::broadcast_shapes(&shapes).ok()?;
    let (c, x, y) = (
        broadcast(&condition, shape)?,
        broadcast(a, shape)?,
        broadcast(&b, shape)?,
    );
    let picked = c.iter().zip(x.iter().zip(&y));
    Some(Value {
        tensor: condition.tensor.where_(&a.tensor, &b.tensor).unwrap(),
        expected: picked
            .map(|(&c, (&x, &y))| if c == 0.0 { y } else { x })
            .collect(),
    })
}

fn view(value: &Value, which: u8) -> Option<Value> {
    let (tensor, space) = (&value.tensor, Layout::contiguous(*value.tensor.shape()));
    let rank = tensor.rank();
    let (tensor, layout) = match which % 7 {
        0 if rank == 2 => (tensor.t(), space.transpose(0, 1)),
        1 if rank > 0 => (tensor.flip([-1]), space.flip(&[-1])),
        2 if rank > 0 => (tensor.slice_step(-1, .., -1), space.slice(-1, -1, None, -1)),
        3 if rank < 3 => (tensor.unsqueeze(0), space.unsqueeze(0)),
        4 if rank == 1 => (
            tensor.expand([4, -1]),
            space.expand(Shape::new([4, tensor.len()]).unwrap()),
        ),
        5 if rank > 0 => (tensor.narrow(0, 0, 1), space.narrow(0, 0, 1)),
        6 => (
            tensor.reshape([-1]),
            Ok(Layout::contiguous(Shape::new([tensor.len()]).unwrap())),
        ),
        _ => return None,
    };
    let expected = layout
        .unwrap()
        .offsets()
        .map(|at| value.expected[at])
        .collect();
    Some(Value {
        tensor: tensor.unwrap(),
        expected,
    })
}

fn scalar(value: &Value, which: u8) -> Option<Value> {
    let dtype = value.tensor.dtype();
    let number = f64::from(which % 3);
    if !Binary::Sub.spec().dtypes.contains(&dtype) {
        return None;
    }
    let compute =
        |&x: &f64| reference::round_to(dtype, reference::binary(Binary::Add, dtype, x, number));
    Some(Value {
        tensor: value.tensor.add(i32::from(which % 3)).unwrap(),
        expected: value.expected.iter().map(compute).collect(),
    })
}

/// The greatest, the least or (of integers) the sum along the last axis.
fn reduced(value: &Value, which: u8) -> Option<Value> {
    let (tensor, dtype) = (&value.tensor, value.tensor.dtype());
    let along = *tensor.dims().last()?;
    let rows = value.expected.chunks(along);
    let extreme = |pick: fn(f64, f64) -> f64| -> Vec<f64> {
        let of_row = |row: &[f64]| match row.iter().any(|x| x.is_nan()) {
            true => f64::NAN,
            false => row.iter().copied().reduce(pick).unwrap(),
        };
        value.expected.chunks(along).map(of_row).collect()
    };
    let (tensor, expected) = match which % 3 {
        0 if !dtype.is_float() => {
            let sum = tensor.sum([-1], which.is_multiple_of(2)).unwrap();
            let exact = rows.map(|row| row.iter().sum::<f64>());
            let wrapped = exact
                .map(|x| reference::wrap(sum.dtype(), x as i64))
                .collect();
            (sum, wrapped)
        }
        1 => (tensor.min([-1], true).unwrap(), extreme(f64::min)),
        _ => (
            tensor.max([-1], which.is_multiple_of(2)).unwrap(),
            extreme(f64::max),
        ),
    };
    Some(Value { tensor, expected })
}

/// A matrix times its transpose, as integers that wrap or as zeros and ones.
fn product(value: &Value, which: u8) -> Option<Value> {
    let dtype = [DType::I32, DType::F32, DType::I8, DType::BF16][usize::from(which) % 4];
    let value = match dtype.is_float() {
        true => cast(&cast(value, DType::Bool), dtype),
        false => cast(value, dtype),
    };
    let &[rows, columns] = value.tensor.dims() else {
        return None;
    };
    let x = |row: usize, column: usize| value.expected[row * columns + column] as i128;
    let expected = (0..rows * rows).map(|at| {
        let exact: i128 = (0..columns)
            .map(|k| x(at / rows, k) * x(at % rows, k))
            .sum();
        match dtype {
            DType::I32 => f64::from(exact as i32),
            DType::I8 => f64::from(exact as i8),
            _ => exact as f64,
        }
    });
    Some(Value {
        tensor: value.tensor.matmul(&value.tensor.t().unwrap()).unwrap(),
        expected: expected.collect(),
    })
}

/// A matrix of zeros and ones, as floats; sums of a few of its products are exact in every dtype.
fn ones_and_zeros(value: &Value, which: u8) -> Option<(Value, [usize; 2])> {
    let dtype = [DType::F32, DType::BF16, DType::F16][usize::from(which) % 3];
    let value = cast(&cast(value, DType::Bool), dtype);
    match *value.tensor.dims() {
        [rows, columns] if rows > 0 && columns > 1 => Some((value, [rows, columns])),
        _ => None,
    }
}

/// Rows correlated with their own first two elements: each by itself, or all together.
fn convolution(value: &Value, which: u8) -> Option<Value> {
    let (value, [rows, columns]) = ones_and_zeros(value, which)?;
    let apart = which.is_multiple_of(2);
    let x = |row: usize, at: Option<usize>| at.map_or(0.0, |at| value.expected[row * columns + at]);
    let one = |row: usize, at: usize| {
        x(row, at.checked_sub(1)) * x(row, Some(0)) + x(row, Some(at)) * x(row, Some(1))
    };
    let expected = match apart {
        true => (0..rows * columns)
            .map(|i| one(i / columns, i % columns))
            .collect(),
        false => (0..columns)
            .map(|at| (0..rows).map(|row| one(row, at)).sum())
            .collect(),
    };
    let options = Conv1dOptions {
        padding_begin: [1],
        groups: if apart { rows } else { 1 },
        ..Conv1dOptions::default()
    };
    let filters = value.tensor.narrow(1, 0, 2).unwrap();
    let filters = filters.unsqueeze(if apart { 1 } else { 0 }).unwrap();
    Some(Value {
        tensor: value.tensor.conv1d(&filters, None, &options).unwrap(),
        expected,
    })
}

/// Rows of 1 and -1, whose mean square is 1, times the first row of ones and zeros: what is normalised is an expression.
fn norm(value: &Value, which: u8) -> Option<Value> {
    let (value, [rows, columns]) = ones_and_zeros(value, which)?;
    // The mean is exact on every adapter.
    if !columns.is_power_of_two() {
        return None;
    }
    let sign = |x: &f64| 2.0 * x - 1.0;
    let row = &value.expected[..columns];
    let expected = (0..rows * columns).map(|i| sign(&value.expected[i]) * row[i % columns]);
    let signs = value.tensor.mul(2.0).unwrap().sub(1.0).unwrap();
    let weight = value.tensor.select(0, 0).unwrap();
    Some(Value {
        tensor: signs.rms_norm([columns], Some(&weight), 0.0).unwrap(),
        expected: expected.collect(),
    })
}

/// The values of a graph, in the order they were made. Operands are mostly recent, so that graphs are deep.
fn build(device: &Device, steps: &[Step]) -> Vec<Value> {
    let mut values = start(device);
    for &(kind, a, b, c) in steps {
        let pick = |n: u8| {
            let back = if n < 160 {
                usize::from(n) % 3
            } else {
                usize::from(n) % values.len()
            };
            values[values.len() - 1 - back].clone()
        };
        let (x, y, z) = (pick(a), pick(b), pick(c));
        let made = match kind % 16 {
            0..=1 => unary(&x, c),
            2..=5 => binary(&x, &y, c),
            6 => compare(&x, &y, c),
            7 => choose(&z, &x, &y),
            8 => Some(cast(&x, DType::ALL[usize::from(c) % 8])),
            9 => scalar(&x, c),
            10 => reduced(&x, c),
            11 => product(&x, c),
            12 => convolution(&x, c),
            13 => norm(&x, c),
            _ => view(&x, c),
        };
        values.extend(made);
    }
    values
}

fn same(dtype: DType, got: &[u8], expected: &[f64]) -> Result<(), TestCaseError> {
    let got = ziggurat_kernels::core::decode(dtype, got);
    prop_assert_eq!(got.len(), expected.len());
    for (at, (got, expected)) in got.iter().zip(expected).enumerate() {
        let equal = got == expected || (got.is_nan() && expected.is_nan());
        prop_assert!(equal, "element {at} of {dtype}: {got}, expected {expected}");
    }
    Ok(())
}

/// A device of its own, whose memory is NaN when it is handed out.
fn own_device() -> Device {
    let device = Device::open_blocking(DeviceOptions::default()).unwrap();
    let options = MemoryOptions {
        poison: true,
        ..MemoryOptions::default()
    };
    let memory = Memory::new(device.executor().device(), options);
    Device::from_executor(&Executor::new(&Pipelines::new(&memory)))
}

/// Reads and compares all values; the dispatches that it took.
fn check(device: &Device, values: &[Value], together: bool) -> Result<u64, TestCaseError> {
    let before = device.executor().device().queue_stats().dispatches;
    let tensors: Vec<&Tensor> = values.iter().map(|value| &value.tensor).collect();
    let read = if together {
        read_many_blocking(&tensors).unwrap()
    } else {
        tensors
            .iter()
            .map(|tensor| tensor.to_bytes_blocking().unwrap())
            .collect()
    };
    for (value, bytes) in values.iter().zip(&read) {
        same(value.tensor.dtype(), bytes, &value.expected)?;
    }
    Ok(device.executor().device().queue_stats().dispatches - before)
}

/// Graphs to try: `PROPTEST_CASES` asks for a long search.
fn cases() -> u32 {
    let asked = std::env::var("PROPTEST_CASES").ok();
    asked.and_then(|text| text.parse().ok()).unwrap_or(40)
}

#[test]
fn random_graphs_are_the_same_fused_unfused_and_on_the_cpu() {
    let device = own_device();
    let steps = prop::collection::vec(any::<Step>(), 1..=40);
    // One in three handles is kept, on average.
    let kept = prop::collection::vec(0u8..3, 60);
    let config = Config {
        cases: cases(),
        failure_persistence: None,
        ..Config::default()
    };
    let mut runner = TestRunner::new(config);
    let (fused_kernels, unfused_kernels) = (Cell::new(0), Cell::new(0));
    let modes = (any::<bool>(), any::<bool>());
    let outcome = runner.run(
        &(steps, kept, modes),
        |(steps, kept, (backwards, together))| {
            let mut fused = build(&device, &steps);
            let last = fused.len() - 1;
            // Most values are forgotten before anything is computed.
            let mut at = 0;
            fused.retain(|_| {
                at += 1;
                at > last || kept[at % kept.len()] == 0
            });
            if backwards {
                fused.reverse();
            }
            let count = check(&device, &fused, together)?;
            fused_kernels.set(fused_kernels.get() + count);
            FusionPolicy::Unfused.scope(|| {
                let before = device.executor().device().queue_stats().dispatches;
                let unfused = build(&device, &steps);
                let count = device.executor().device().queue_stats().dispatches - before;
                unfused_kernels.set(unfused_kernels.get() + count);
                check(&device, &unfused, together)
            })?;
            Ok(())
        },
    );
    if let Err(error) = outcome {
        panic!("{error}");
    }
    let (fused, unfused) = (fused_kernels.get(), unfused_kernels.get());
    assert!(fused < unfused, "{fused} kernels fused, {unfused} unfused");
}

#[test]
fn the_comparison_notices_a_wrong_element() {
    let bytes = f32::write_bytes(&[1.0, 2.0]).into_owned();
    assert!(same(DType::F32, &bytes, &[1.0, 2.0]).is_ok());
    assert!(same(DType::F32, &bytes, &[1.0, 2.5]).is_err());
    assert!(same(DType::F32, &bytes, &[f64::NAN, 2.0]).is_err());
    assert!(same(DType::F32, &bytes, &[1.0]).is_err());
}

#[test]
fn cheap_ops_between_a_reduction_and_its_broadcast_belong_to_the_reduction() {
    let device = common::device();
    let values: Vec<f32> = (0..35).map(|i| (i % 11) as f32 - 4.0).collect();
    let x = Tensor::from_slice(&device, &values, [5, 7]).unwrap();
    let normed = |x: &Tensor| {
        let mean = x.mul(x)?.mean([-1], true)?;
        x.div(&mean.add(0.5)?.sqrt()?)
    };
    let y = normed(&x).unwrap();
    let explained = y.explain().unwrap();
    let ops: Vec<_> = explained
        .kernels()
        .iter()
        .map(|kernel| kernel.ops())
        .collect();
    assert_eq!(ops, [&["mul", "mean", "add", "sqrt"][..], &["div"]]);
    let unfused = FusionPolicy::Unfused.scope(|| normed(&x)).unwrap();
    assert_eq!(
        y.to_vec_blocking::<f32>().unwrap(),
        unfused.to_vec_blocking::<f32>().unwrap()
    );
}

#[test]
fn inexact_functions_stay_within_their_tolerance() {
    let device = common::device();
    let compute = |x: &Tensor| {
        let gate = x.sigmoid()?.mul(&x.tanh()?)?;
        let smooth = x.square()?.add(1.0)?.log()?.sqrt()?;
        gate.div(smooth.add(0.5)?)?.exp()?.add(x.gelu()?)
    };
    let values: Vec<f32> = (0..300).map(|i| i as f32 * 0.03 - 4.5).collect();
    let x = Tensor::from_slice(&device, &values, [300]).unwrap();
    let fused = compute(&x).unwrap();
    assert_eq!(fused.explain().unwrap().kernels().len(), 1);
    let fused = fused.to_vec_blocking::<f32>().unwrap();
    let unfused = FusionPolicy::Unfused.scope(|| compute(&x)).unwrap();
    let unfused = unfused.to_vec_blocking::<f32>().unwrap();
    for ((&x, &fused), &unfused) in values.iter().zip(&fused).zip(&unfused) {
        let x = f64::from(x);
        let gate = 1.0 / (1.0 + (-x).exp()) * x.tanh();
        let smooth = (x * x + 1.0).ln().sqrt();
        let expected = (gate / (smooth + 0.5)).exp() + reference::unary(Unary::Gelu, DType::F32, x);
        let allowed = 1e-5 * expected.abs().max(1.0);
        assert!(
            (f64::from(fused) - expected).abs() <= allowed,
            "{x}: {fused}, expected {expected}"
        );
        assert!(
            (f64::from(unfused) - expected).abs() <= allowed,
            "{x}: {unfused}, expected {expected}"
        );
    }
}

#[test]
fn half_precision_rounds_between_fused_ops() {
    let device = common::device();
    // 2048 + 1 rounds to 2048 in f16: without rounding in between the sum would be 2050.
    let a = Tensor::from_slice(&device, &[f16::from_f32(2048.0); 5], [5]).unwrap();
    let sum = a.add(1.0).unwrap().add(1.0).unwrap();
    assert_eq!(
        sum.to_vec_blocking::<f16>().unwrap(),
        [f16::from_f32(2048.0); 5]
    );
}
