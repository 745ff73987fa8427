//! The vocabulary of the vectors, spoken through the public `Tensor` interface.

mod elementwise;
mod linear;
mod movement;
mod reduce;

use std::collections::BTreeMap;

use ziggurat_tensor::{DType, Device, Error, Tensor};

use super::Trouble;
use super::case::Case;
use super::data;

type Unary = fn(&Tensor) -> Result<Tensor, Error>;
type Binary = fn(&Tensor, &Tensor) -> Result<Tensor, Error>;
type Inputs = BTreeMap<String, Tensor>;

/// An op of a case by its name.
type Row = (
    &'static str,
    fn(&Device, &Case, &Inputs) -> Result<Vec<Tensor>, Trouble>,
);

/// The tables of the families.
const FAMILIES: &[&[Row]] = &[elementwise::OPS, linear::OPS, movement::OPS, reduce::OPS];

/// The row of an op in the families' tables.
fn row(op: &str) -> Option<&'static Row> {
    FAMILIES
        .iter()
        .copied()
        .flatten()
        .find(|(name, _)| *name == op)
}

const UNARY: &[(&str, Unary)] = &[
    ("abs", Tensor::abs),
    ("bitwise_not", Tensor::bitwise_not),
    ("ceil", Tensor::ceil),
    ("cos", Tensor::cos),
    ("exp", Tensor::exp),
    ("exp2", Tensor::exp2),
    ("floor", Tensor::floor),
    ("global_avg_pool", Tensor::global_avg_pool),
    ("global_max_pool", Tensor::global_max_pool),
    ("identity", |x| Ok(x.clone())),
    ("log", Tensor::log),
    ("log2", Tensor::log2),
    ("logical_not", Tensor::logical_not),
    ("neg", Tensor::neg),
    ("reciprocal", Tensor::reciprocal),
    ("relu", Tensor::relu),
    ("round", Tensor::round),
    ("rsqrt", Tensor::rsqrt),
    ("sigmoid", Tensor::sigmoid),
    ("sign", Tensor::sign),
    ("sin", Tensor::sin),
    ("sqrt", Tensor::sqrt),
    ("square", Tensor::square),
    ("tanh", Tensor::tanh),
    ("trunc", Tensor::trunc),
];

const BINARY: &[(&str, Binary)] = &[
    ("add", |a, b| a + b),
    ("bitwise_and", |a, b| a.bitwise_and(b)),
    ("bitwise_or", |a, b| a.bitwise_or(b)),
    ("bitwise_xor", |a, b| a.bitwise_xor(b)),
    ("div", |a, b| {
        if a.dtype().is_float() {
            a / b
        } else {
            a.div_trunc(b)
        }
    }),
    ("equal", |a, b| a.eq(b)),
    ("greater", |a, b| a.gt(b)),
    ("greater_equal", |a, b| a.ge(b)),
    ("less", |a, b| a.lt(b)),
    ("less_equal", |a, b| a.le(b)),
    ("logical_and", Tensor::logical_and),
    ("logical_or", Tensor::logical_or),
    ("logical_xor", Tensor::logical_xor),
    ("matmul", Tensor::matmul),
    ("max", |a, b| a.maximum(b)),
    ("min", |a, b| a.minimum(b)),
    ("mul", |a, b| a * b),
    ("not_equal", |a, b| a.ne(b)),
    // The result has the base's dtype; an integer exponent is converted with it.
    ("pow", |a, b| a.pow(b)?.to_dtype(a.dtype())),
    ("sub", |a, b| a - b),
];

/// Ops with attributes or another number of inputs.
const OTHERS: &[&str] = &[
    "arg_max",
    "arg_min",
    "cast",
    "clip",
    "expand",
    "eye",
    "flip",
    "full",
    "gelu",
    "linear",
    "max_n",
    "mean_n",
    "min_n",
    "range",
    "reduce_max",
    "reduce_mean",
    "reduce_min",
    "reduce_sum",
    "reshape",
    "slice",
    "softmax",
    "squeeze",
    "sum_n",
    "swish",
    "transpose",
    "unsqueeze",
    "where",
];

/// Whether [`run`] knows the op.
pub(crate) fn is_built(op: &str) -> bool {
    UNARY.iter().any(|(name, _)| *name == op)
        || BINARY.iter().any(|(name, _)| *name == op)
        || OTHERS.contains(&op)
        || row(op).is_some()
}

/// Runs the op of a case.
pub(crate) fn run(device: &Device, case: &Case, inputs: &Inputs) -> Result<Vec<Tensor>, Trouble> {
    let op = case.op.as_str();
    if let Some((_, function)) = UNARY.iter().find(|(name, _)| *name == op) {
        return Ok(vec![function(operand(inputs, "x")?)?]);
    }
    if let Some((_, function)) = BINARY.iter().find(|(name, _)| *name == op) {
        return Ok(vec![function(
            operand(inputs, "a")?,
            operand(inputs, "b")?,
        )?]);
    }
    if let Some((_, function)) = row(op) {
        return function(device, case, inputs);
    }
    let output = match op {
        "full" => Tensor::full(
            device,
            case.extents("shape")?,
            case.number("value")?,
            case.dtype("dtype")?,
        )?,
        "eye" => {
            let (rows, cols) = (case.extent("rows")?, case.extent("cols")?);
            Tensor::eye_of(device, rows, cols, case.axis("k")?, case.dtype("dtype")?)?
        }
        "range" => {
            let (start, limit, delta) = (
                case.number("start")?,
                case.number("limit")?,
                case.number("delta")?,
            );
            Tensor::arange(device, start, limit, delta, case.dtype("dtype")?)?
        }
        "where" => operand(inputs, "cond")?.where_(operand(inputs, "x")?, operand(inputs, "y")?)?,
        "max_n" | "mean_n" | "min_n" | "sum_n" => fold(op, inputs)?,
        _ => of_one(case, operand(inputs, "x")?)?,
    };
    Ok(vec![output])
}

fn operand<'a>(inputs: &'a Inputs, name: &str) -> Result<&'a Tensor, Trouble> {
    inputs
        .get(name)
        .ok_or_else(|| Trouble::Vectors(format!("input {name} is missing")))
}

/// Ops of one tensor with attributes.
fn of_one(case: &Case, x: &Tensor) -> Result<Tensor, Trouble> {
    Ok(match case.op.as_str() {
        "arg_max" if case.flag("select_last_index")? => {
            x.argmax_last(case.axis("axis")?, case.flag("keepdims")?)?
        }
        "arg_max" => x.argmax(case.axis("axis")?, case.flag("keepdims")?)?,
        "arg_min" if case.flag("select_last_index")? => {
            x.argmin_last(case.axis("axis")?, case.flag("keepdims")?)?
        }
        "arg_min" => x.argmin(case.axis("axis")?, case.flag("keepdims")?)?,
        "cast" => x.to_dtype(case.dtype("to")?)?,
        "clip" => {
            let bound = |value: f64| Tensor::full(x.device(), [], value, x.dtype());
            // WebNN takes a NaN bound as none; `clamp`, as PyTorch's, would answer NaN.
            let given =
                |name| Ok::<_, Trouble>(case.number_or_none(name)?.filter(|bound| !bound.is_nan()));
            let low = given("min")?.map(bound).transpose()?;
            let high = given("max")?.map(bound).transpose()?;
            match (low, high) {
                (Some(low), Some(high)) => x.clamp(low, high)?,
                (Some(low), None) => x.maximum(low)?,
                (None, Some(high)) => x.minimum(high)?,
                (None, None) => x.clone(),
            }
        }
        // Both ways: the result may be larger than the attribute's shape.
        "expand" => x.broadcast_to(broadcast(x.dims(), &case.extents("shape")?)?)?,
        "flip" => x.flip(case.axes("axes")?)?,
        "gelu" if case.text("approximate")? == "tanh" => x.gelu_tanh()?,
        "gelu" => x.gelu()?,
        "linear" => x.affine(case.number("alpha")? as f32, case.number("beta")? as f32)?,
        "reduce_max" => {
            let (axes, keep) = (case.axes("axes")?, case.flag("keepdims")?);
            if is_empty_over(x, &axes) {
                x.max_from(axes, keep, lowest(x.dtype()))?
            } else {
                x.max(axes, keep)?
            }
        }
        "reduce_min" => {
            let (axes, keep) = (case.axes("axes")?, case.flag("keepdims")?);
            if is_empty_over(x, &axes) {
                x.min_from(axes, keep, highest(x.dtype()))?
            } else {
                x.min(axes, keep)?
            }
        }
        "reduce_mean" => x.mean(case.axes("axes")?, case.flag("keepdims")?)?,
        "reduce_sum" => x.sum(case.axes("axes")?, case.flag("keepdims")?)?,
        "reshape" => x.reshape_to(case.extents("shape")?)?,
        "slice" => data::slice(
            x,
            &case.extents("starts")?,
            &case.axes("steps")?,
            &case.extents("sizes")?,
        )?,
        "softmax" => x.softmax(case.axis("axis")?)?,
        "squeeze" => {
            let mut axes = case.axes("axes")?;
            axes.sort_unstable();
            axes.iter()
                .rev()
                .try_fold(x.clone(), |x, &axis| x.squeeze_axis(axis))?
        }
        "unsqueeze" => {
            let mut axes = case.axes("axes")?;
            axes.sort_unstable();
            axes.iter()
                .try_fold(x.clone(), |x, &axis| x.unsqueeze(axis))?
        }
        "swish" if case.number("alpha")? == 1.0 => x.silu()?,
        "swish" => x.mul(x.mul(case.number("alpha")?)?.sigmoid()?)?,
        "transpose" => x.permute(case.axes("perm")?)?,
        _ => return Err(Trouble::Unsupported),
    })
}

fn is_empty_over(x: &Tensor, axes: &[isize]) -> bool {
    axes.iter()
        .any(|&axis| usize::try_from(axis).is_ok_and(|axis| x.dims().get(axis) == Some(&0)))
}

fn lowest(dtype: DType) -> f64 {
    match dtype {
        DType::Bool => 0.0,
        _ => f64::NEG_INFINITY,
    }
}

fn highest(dtype: DType) -> f64 {
    match dtype {
        DType::Bool => 1.0,
        _ => f64::INFINITY,
    }
}

fn broadcast(a: &[usize], b: &[usize]) -> Result<Vec<usize>, Trouble> {
    let rank = a.len().max(b.len());
    let extent = |dims: &[usize], axis: usize| {
        (axis + dims.len())
            .checked_sub(rank)
            .and_then(|axis| dims.get(axis))
            .copied()
    };
    (0..rank)
        .map(
            |axis| match (extent(a, axis).unwrap_or(1), extent(b, axis).unwrap_or(1)) {
                (1, other) | (other, 1) => Ok(other),
                (left, right) if left == right => Ok(left),
                _ => Err(Trouble::Vectors(format!(
                    "{a:?} and {b:?} do not broadcast"
                ))),
            },
        )
        .collect()
}

fn fold(op: &str, inputs: &Inputs) -> Result<Tensor, Trouble> {
    let mut all = (0..inputs.len()).map(|i| operand(inputs, &format!("x{i}")));
    let first = all
        .next()
        .ok_or_else(|| Trouble::Vectors("no inputs".to_owned()))??
        .clone();
    let joined = all.try_fold(first, |sum, next| -> Result<Tensor, Trouble> {
        Ok(match op {
            "max_n" => sum.maximum(next?)?,
            "min_n" => sum.minimum(next?)?,
            _ => (sum + next?)?,
        })
    })?;
    Ok(if op == "mean_n" {
        joined.div(inputs.len() as f64)?
    } else {
        joined
    })
}
