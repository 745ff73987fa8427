//! Functions of single elements.

use ziggurat_tensor::{DType, Error, Tensor};

use super::size;
use crate::bench::case::{Case, Cost, Ready, dims_text, short};
use crate::bench::expect::pointwise;
use xtask::failure::Outcome;

type Function = fn(&Tensor) -> Result<Tensor, Error>;

pub(super) fn cases(quick: bool) -> Vec<Case> {
    let n = size(quick, 1 << 26, 1 << 18);
    let mut cases = Vec::new();
    for dtype in [DType::F32, DType::F16, DType::BF16] {
        cases.push(add(dtype, n));
        cases.push(unary("exp", dtype, n, Tensor::exp, f64::exp));
        cases.push(unary("gelu", dtype, n, Tensor::gelu, gelu));
        cases.push(unary("tanh", dtype, n, Tensor::tanh, f64::tanh));
    }
    cases.extend([
        unary("relu", DType::F32, n, Tensor::relu, |x| x.max(0.0)),
        unary("relu", DType::F16, n, Tensor::relu, |x| x.max(0.0)),
        unary("sigmoid", DType::F32, n, Tensor::sigmoid, |x| {
            1.0 / (1.0 + (-x).exp())
        }),
        unary("silu", DType::F16, n, Tensor::silu, |x| {
            x / (1.0 + (-x).exp())
        }),
        add(DType::U8, n),
        add(DType::I32, n),
        binary("mul", n, |a, b| a.mul(b), |a, b| a * b),
        binary("div", n, |a, b| a.div(b), |a, b| a / b),
        chain(n),
        cast("cast_f16", DType::F32, DType::F16, n),
        cast("cast_f32", DType::F16, DType::F32, n),
        cast("cast_f32", DType::U8, DType::F32, n),
    ]);
    let side = size(quick, 8192, 256);
    cases.extend([
        broadcast("add_row", side, [1, side]),
        broadcast("add_column", side, [side, 1]),
        slices(side),
        select("where", side, |mask, a, b| mask.where_(a, b)),
        masked_fill(side),
    ]);
    cases
}

/// erf by its Taylor series, which converges quickly for |x| < 1.
pub(super) fn gelu(x: f64) -> f64 {
    let z = x / std::f64::consts::SQRT_2;
    let (mut term, mut sum) = (z, z);
    for n in 1..60_u32 {
        let n = f64::from(n);
        term *= -z * z / n;
        sum += term / (2.0 * n + 1.0);
    }
    0.5 * x * (1.0 + sum * std::f64::consts::FRAC_2_SQRT_PI)
}

pub(super) fn add(dtype: DType, n: usize) -> Case {
    let cost = Cost::bytes(3 * n * dtype.bytes());
    Case::new("add", dtype, short(n), cost, move |lab| {
        let draw = || match dtype.is_float() {
            true => lab.between(&[n], [0.0, 1.0], dtype),
            false => lab.integers(&[n], 100, dtype),
        };
        let (x, y) = (draw()?, draw()?);
        let check = pointwise(&[&x, &y], |at| at[0] + at[1]);
        Ok(Ready::new(dtype, check, move || x.add(&y)))
    })
}

fn unary(name: &str, dtype: DType, n: usize, f: Function, reference: fn(f64) -> f64) -> Case {
    let cost = Cost::bytes(2 * n * dtype.bytes());
    Case::new(name, dtype, short(n), cost, move |lab| {
        let x = lab.between(&[n], [0.0, 1.0], dtype)?;
        let check = pointwise(&[&x], move |at| reference(at[0]));
        Ok(Ready::new(dtype, check, move || f(&x)))
    })
}

fn binary(
    name: &str,
    n: usize,
    f: for<'a> fn(&'a Tensor, &'a Tensor) -> Result<Tensor, Error>,
    reference: fn(f64, f64) -> f64,
) -> Case {
    Case::new(
        name,
        DType::F32,
        short(n),
        Cost::bytes(12 * n),
        move |lab| {
            let x = lab.uniform(&[n], DType::F32)?;
            let y = lab.between(&[n], [0.5, 1.5], DType::F32)?;
            let check = pointwise(&[&x, &y], move |at| reference(at[0], at[1]));
            Ok(Ready::new(DType::F32, check, move || f(&x, &y)))
        },
    )
}

fn chain(n: usize) -> Case {
    let (name, cost) = ("chain_mul_add_sqrt", Cost::bytes(16 * n));
    Case::new(name, DType::F32, short(n), cost, move |lab| {
        let draw = || lab.between(&[n], [0.0, 1.0], DType::F32);
        let (x, y, z) = (draw()?, draw()?, draw()?);
        let check = pointwise(&[&x, &y, &z], |at| (at[0] * at[1] + at[2]).sqrt());
        Ok(Ready::new(DType::F32, check, move || {
            x.mul(&y)?.add(&z)?.sqrt()
        }))
    })
}

fn cast(name: &str, from: DType, to: DType, n: usize) -> Case {
    let cost = Cost::bytes(n * (from.bytes() + to.bytes()));
    Case::new(name, from, short(n), cost, move |lab| {
        let x = match from.is_float() {
            true => lab.uniform(&[n], from)?,
            false => lab.integers(&[n], 256, from)?,
        };
        let check = pointwise(&[&x], |at| at[0]);
        Ok(Ready::new(to, check, move || x.to_dtype(to)))
    })
}

/// A matrix and a row or a column.
fn broadcast(name: &str, side: usize, dims: [usize; 2]) -> Case {
    let cost = Cost::bytes(8 * side * side);
    let shape = dims_text(&[side, side]);
    Case::new(name, DType::F32, shape, cost, move |lab| {
        let x = lab.uniform(&[side, side], DType::F32)?;
        let y = lab.uniform(&dims, DType::F32)?;
        let whole = y.broadcast_to([side, side])?.contiguous()?;
        let check = pointwise(&[&x, &whole], |at| at[0] + at[1]);
        Ok(Ready::new(DType::F32, check, move || x.add(&y)))
    })
}

/// The left halves of two matrices.
fn slices(side: usize) -> Case {
    let half = side / 2;
    let cost = Cost::bytes(12 * side * half);
    let shape = dims_text(&[side, half]);
    Case::new("add_slices", DType::F32, shape, cost, move |lab| {
        let cut = || -> Outcome<Tensor> {
            Ok(lab.uniform(&[side, side], DType::F32)?.narrow(1, 0, half)?)
        };
        let (x, y) = (cut()?, cut()?);
        let check = pointwise(&[&x.contiguous()?, &y.contiguous()?], |at| at[0] + at[1]);
        Ok(Ready::new(DType::F32, check, move || x.add(&y)))
    })
}

fn select(
    name: &str,
    side: usize,
    f: for<'a> fn(&'a Tensor, &'a Tensor, &'a Tensor) -> Result<Tensor, Error>,
) -> Case {
    let cost = Cost::bytes(13 * side * side);
    let shape = dims_text(&[side, side]);
    Case::new(name, DType::F32, shape, cost, move |lab| {
        let dims = [side, side];
        let mask = lab.integers(&dims, 2, DType::Bool)?;
        let (a, b) = (
            lab.uniform(&dims, DType::F32)?,
            lab.uniform(&dims, DType::F32)?,
        );
        let pick = |at: &[f64]| if at[0] != 0.0 { at[1] } else { at[2] };
        let check = pointwise(&[&mask, &a, &b], pick);
        Ok(Ready::new(DType::F32, check, move || f(&mask, &a, &b)))
    })
}

fn masked_fill(side: usize) -> Case {
    let cost = Cost::bytes(9 * side * side);
    let shape = dims_text(&[side, side]);
    Case::new("masked_fill", DType::F32, shape, cost, move |lab| {
        let mask = lab.integers(&[side, side], 2, DType::Bool)?;
        let a = lab.uniform(&[side, side], DType::F32)?;
        let check = pointwise(&[&mask, &a], |at| if at[0] != 0.0 { -1.0 } else { at[1] });
        Ok(Ready::new(DType::F32, check, move || {
            a.masked_fill(&mask, -1.0)
        }))
    })
}
