//! The measured ops, each with the bytes it must move and the operations it must do.

use ziggurat_kernels::{
    ArgReduce, Binary, Conv2dOptions, DType, Executor, Pool, Pool2dOptions, Reduce, Shape, Unary,
    View,
};

use crate::bench::measure::{self, Patience};
use crate::bench::report::Row;
use crate::bench::sizes::Sizes;
use xtask::failure::Outcome;

/// One call of an op, recorded on the device.
type Call = Box<dyn FnMut(&Executor) -> Outcome>;

/// Allocates the operands of an op and returns its call.
type Prepare = Box<dyn Fn(&Executor) -> Outcome<Call>>;

/// One row of the table.
pub(crate) struct Case {
    pub(crate) op: String,
    pub(crate) dtype: DType,
    pub(crate) shape: String,
    /// Bytes read and written, each operand once.
    bytes: f64,
    /// Additions and multiplications.
    flops: f64,
    /// Allocates the operands.
    prepare: Prepare,
}

impl Case {
    /// What filters look at.
    pub(crate) fn label(&self) -> String {
        format!("{} {} {}", self.op, self.dtype, self.shape)
    }

    fn new(
        op: &str,
        dtype: DType,
        shape: String,
        cost: (f64, f64),
        prepare: impl Fn(&Executor) -> Outcome<Call> + 'static,
    ) -> Self {
        Self {
            op: op.into(),
            dtype,
            shape,
            bytes: cost.0,
            flops: cost.1,
            prepare: Box::new(prepare),
        }
    }
}

/// Allocates the operands, measures, frees them.
pub(crate) fn measure(executor: &Executor, case: &Case, patience: &Patience) -> Outcome<Row> {
    let mut call = (case.prepare)(executor)?;
    let time = measure::time(executor, patience, || call(executor))?;
    Ok(Row::new(
        &case.op,
        case.dtype.name(),
        &case.shape,
        time,
        case.bytes,
        case.flops,
    ))
}

/// GB/s of a plain copy kernel over an f32 tensor, reads and writes counted.
pub(crate) fn copy_bandwidth(
    executor: &Executor,
    sizes: &Sizes,
    patience: &Patience,
) -> Outcome<f64> {
    let row = measure(executor, &copy(sizes.elements), patience)?;
    Ok(row.gb_per_s.unwrap_or(0.0))
}

/// Every case, for these sizes.
pub(crate) fn all(sizes: &Sizes) -> Vec<Case> {
    let n = sizes.elements;
    let mut cases = vec![copy(n), fill(n)];
    for dtype in [DType::F32, DType::F16, DType::I32, DType::U8] {
        cases.push(binary("add", Binary::Add, dtype, n));
    }
    cases.push(binary("mul", Binary::Mul, DType::F32, n));
    cases.push(binary("div", Binary::Div, DType::F32, n));
    cases.push(row_broadcast(n));
    for (name, op) in [
        ("relu", Unary::Relu),
        ("gelu", Unary::Gelu),
        ("sigmoid", Unary::Sigmoid),
        ("tanh", Unary::Tanh),
    ] {
        cases.push(unary(name, op, DType::F32, n));
    }
    cases.push(unary("relu", Unary::Relu, DType::F16, n));
    cases.push(cast(n, DType::F32, DType::F16));
    cases.push(cast(n, DType::U8, DType::F32));
    cases.push(transpose(n));
    for axes in [&[0_usize, 1][..], &[1], &[0]] {
        cases.push(reduce(n, axes));
    }
    cases.push(arg_max(n));
    cases.push(softmax(n));
    for dtype in [DType::F32, DType::F16] {
        for &side in &sizes.matmul {
            cases.push(matmul(dtype, &[side, side, side]));
        }
    }
    let side = sizes.matmul.last().copied().unwrap_or(128);
    cases.push(matmul(DType::F32, &[1, side, side]));
    cases.push(conv2d(sizes.images));
    cases.push(max_pool(sizes.images));
    cases
}

fn copy(n: usize) -> Case {
    Case::new(
        "copy",
        DType::F32,
        format!("[{n}]"),
        (amount(8 * n), 0.0),
        move |executor| {
            let (a, out) = (
                filled(executor, &[n], DType::F32)?,
                empty(executor, &[n], DType::F32)?,
            );
            Ok(Box::new(move |executor| done(executor.copy(&a, &out))))
        },
    )
}

fn fill(n: usize) -> Case {
    Case::new(
        "fill",
        DType::F32,
        format!("[{n}]"),
        (amount(4 * n), 0.0),
        move |executor| {
            let out = empty(executor, &[n], DType::F32)?;
            Ok(Box::new(move |executor| done(executor.fill(&out, 1.5))))
        },
    )
}

fn unary(name: &str, op: Unary, dtype: DType, n: usize) -> Case {
    let bytes = 2 * n * dtype.bytes();
    Case::new(
        name,
        dtype,
        format!("[{n}]"),
        (amount(bytes), 0.0),
        move |executor| {
            let (a, out) = (
                filled(executor, &[n], dtype)?,
                empty(executor, &[n], dtype)?,
            );
            Ok(Box::new(move |executor| done(executor.unary(op, &a, &out))))
        },
    )
}

fn binary(name: &str, op: Binary, dtype: DType, n: usize) -> Case {
    let bytes = 3 * n * dtype.bytes();
    Case::new(
        name,
        dtype,
        format!("[{n}]"),
        (amount(bytes), 0.0),
        move |executor| {
            let (a, b) = (
                filled(executor, &[n], dtype)?,
                filled(executor, &[n], dtype)?,
            );
            let out = empty(executor, &[n], dtype)?;
            Ok(Box::new(move |executor| {
                done(executor.binary(op, &a, &b, &out))
            }))
        },
    )
}

fn row_broadcast(n: usize) -> Case {
    let (rows, columns) = split(n);
    let shape = format!("[{rows}, {columns}] + [{columns}]");
    Case::new(
        "add",
        DType::F32,
        shape,
        (amount(8 * n + 4 * columns), 0.0),
        move |executor| {
            let (a, b) = (
                filled(executor, &[rows, columns], DType::F32)?,
                filled(executor, &[columns], DType::F32)?,
            );
            let out = empty(executor, &[rows, columns], DType::F32)?;
            Ok(Box::new(move |executor| {
                done(executor.binary(Binary::Add, &a, &b, &out))
            }))
        },
    )
}

fn cast(n: usize, from: DType, to: DType) -> Case {
    let bytes = n * (from.bytes() + to.bytes());
    Case::new(
        &format!("cast to {to}"),
        from,
        format!("[{n}]"),
        (amount(bytes), 0.0),
        move |executor| {
            let (a, out) = (filled(executor, &[n], from)?, empty(executor, &[n], to)?);
            Ok(Box::new(move |executor| done(executor.cast(&a, &out))))
        },
    )
}

fn transpose(n: usize) -> Case {
    let (rows, columns) = split(n);
    Case::new(
        "copy transposed",
        DType::F32,
        format!("[{rows}, {columns}]"),
        (amount(8 * n), 0.0),
        move |executor| {
            let a = filled(executor, &[rows, columns], DType::F32)?;
            let a = View::new(a.buffer.clone(), a.layout.transpose(0, 1)?, a.dtype)?;
            let out = empty(executor, &[columns, rows], DType::F32)?;
            Ok(Box::new(move |executor| done(executor.copy(&a, &out))))
        },
    )
}

fn reduce(n: usize, axes: &[usize]) -> Case {
    let (rows, columns) = split(n);
    let axes = axes.to_vec();
    let outputs: usize = match axes.as_slice() {
        [0] => columns,
        [1] => rows,
        _ => 1,
    };
    let shape = format!("[{rows}, {columns}] axes {axes:?}");
    Case::new(
        "sum",
        DType::F32,
        shape,
        (amount(4 * (n + outputs)), 0.0),
        move |executor| {
            let (a, out) = (
                filled(executor, &[rows, columns], DType::F32)?,
                empty(executor, &[outputs], DType::F32)?,
            );
            let axes = axes.clone();
            Ok(Box::new(move |executor| {
                done(executor.reduce(Reduce::Sum, &a, &axes, &out))
            }))
        },
    )
}

fn arg_max(n: usize) -> Case {
    let (rows, columns) = split(n);
    let shape = format!("[{rows}, {columns}] axes [1]");
    Case::new(
        "argmax",
        DType::F32,
        shape,
        (amount(4 * (n + rows)), 0.0),
        move |executor| {
            let (a, out) = (
                filled(executor, &[rows, columns], DType::F32)?,
                empty(executor, &[rows], DType::I32)?,
            );
            Ok(Box::new(move |executor| {
                done(executor.arg_reduce(ArgReduce::Max, &a, &[1], false, &out))
            }))
        },
    )
}

fn softmax(n: usize) -> Case {
    let (rows, columns) = split(n);
    Case::new(
        "softmax",
        DType::F32,
        format!("[{rows}, {columns}] axis 1"),
        (amount(8 * n), 0.0),
        move |executor| {
            let (a, out) = (
                filled(executor, &[rows, columns], DType::F32)?,
                empty(executor, &[rows, columns], DType::F32)?,
            );
            Ok(Box::new(move |executor| {
                done(executor.softmax(&a, 1, &out))
            }))
        },
    )
}

fn matmul(dtype: DType, extents: &[usize; 3]) -> Case {
    let [m, n, k] = *extents;
    let bytes = (m * k + k * n + m * n) * dtype.bytes();
    let cost = (amount(bytes), 2.0 * amount(m) * amount(n) * amount(k));
    Case::new(
        "matmul",
        dtype,
        format!("{m} x {n} x {k}"),
        cost,
        move |executor| {
            let (a, b) = (
                filled(executor, &[m, k], dtype)?,
                filled(executor, &[k, n], dtype)?,
            );
            let out = empty(executor, &[m, n], dtype)?;
            Ok(Box::new(move |executor| {
                done(executor.matmul(&a, &b, &out))
            }))
        },
    )
}

fn conv2d(images: usize) -> Case {
    let (channels, side) = (64, 56);
    let dims = [images, channels, side, side];
    let elements = images * channels * side * side;
    let cost = (
        amount(8 * elements + 4 * channels * channels * 9),
        2.0 * amount(elements) * amount(channels * 9),
    );
    let shape = format!("{dims:?} 64 3x3");
    Case::new("conv2d", DType::F32, shape, cost, move |executor| {
        let (x, w) = (
            filled(executor, &dims, DType::F32)?,
            filled(executor, &[channels, channels, 3, 3], DType::F32)?,
        );
        let out = empty(executor, &dims, DType::F32)?;
        let options = Conv2dOptions {
            padding_begin: [1, 1],
            padding_end: [1, 1],
            ..Conv2dOptions::default()
        };
        Ok(Box::new(move |executor| {
            done(executor.conv2d(&x, &w, None, &options, &out))
        }))
    })
}

fn max_pool(images: usize) -> Case {
    let dims = [images, 64, 56, 56];
    let elements: usize = dims.iter().product();
    let cost = (amount(4 * elements + elements), 0.0);
    Case::new(
        "max_pool2d",
        DType::F32,
        format!("{dims:?} 2x2"),
        cost,
        move |executor| {
            let (x, out) = (
                filled(executor, &dims, DType::F32)?,
                empty(executor, &[images, 64, 28, 28], DType::F32)?,
            );
            let options = Pool2dOptions {
                stride: [2, 2],
                ..Pool2dOptions::new([2, 2])
            };
            Ok(Box::new(move |executor| {
                done(executor.pool2d(Pool::Max, &x, &options, &out))
            }))
        },
    )
}

/// Rows of 1024 elements, or fewer where there are not as many.
fn split(n: usize) -> (usize, usize) {
    let columns = n.clamp(1, 1024);
    (n / columns, columns)
}

fn empty(executor: &Executor, dims: &[usize], dtype: DType) -> Outcome<View> {
    Ok(executor.alloc(&Shape::new(dims)?, dtype)?)
}

/// A tensor of one small number: the time does not depend on values.
fn filled(executor: &Executor, dims: &[usize], dtype: DType) -> Outcome<View> {
    let view = empty(executor, dims, dtype)?;
    let value = if dtype.is_float() { 0.5 } else { 1.0 };
    done(executor.fill(&view, value))?;
    Ok(view)
}

/// An op's completion is dropped: the batch waits for all of them.
fn done<T, E: std::error::Error>(recorded: Result<T, E>) -> Outcome {
    recorded.map(drop).map_err(Into::into)
}

#[expect(
    clippy::cast_precision_loss,
    reason = "amounts of memory and work, to be printed with four digits"
)]
fn amount(n: usize) -> f64 {
    n as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_has_its_own_label() {
        let sizes = Sizes {
            elements: 1 << 20,
            matmul: vec![128, 256],
            images: 2,
            transfer: 1 << 20,
        };
        let mut labels: Vec<String> = all(&sizes).iter().map(Case::label).collect();
        let count = labels.len();
        labels.sort();
        labels.dedup();
        assert_eq!(labels.len(), count);
    }

    #[test]
    fn splitting_keeps_every_element_of_a_power_of_two() {
        for n in [1, 512, 1 << 20] {
            let (rows, columns) = split(n);
            assert_eq!(rows * columns, n);
        }
    }
}
