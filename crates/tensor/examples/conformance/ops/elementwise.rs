//! Functions of one to three elements, activations, casts.

use ziggurat_tensor::{Device, Error, Tensor};

use super::{Case, Inputs, Row, Trouble, operand};

/// A row for a function of `x` alone.
macro_rules! of_x {
    ($name:literal, $function:expr) => {
        ($name, |_, _, inputs| {
            let function: fn(&Tensor) -> Result<Tensor, Error> = $function;
            Ok(vec![function(operand(inputs, "x")?)?])
        })
    };
}

/// A row for a function of `a` and `b`.
macro_rules! of_a_b {
    ($name:literal, $function:expr) => {
        ($name, |_, _, inputs| {
            let function: fn(&Tensor, &Tensor) -> Result<Tensor, Error> = $function;
            let (a, b) = (operand(inputs, "a")?, operand(inputs, "b")?);
            Ok(vec![function(a, b)?])
        })
    };
}

/// A row for a function of `x` and one number.
macro_rules! of_x_and {
    ($name:literal, $attr:literal, $function:expr) => {
        ($name, |_, case, inputs| {
            let function: fn(&Tensor, f64) -> Result<Tensor, Error> = $function;
            Ok(vec![function(operand(inputs, "x")?, case.number($attr)?)?])
        })
    };
}

/// The family's ops by name.
pub(super) const OPS: &[Row] = &[
    of_x!("acos", Tensor::acos),
    of_x!("acosh", Tensor::acosh),
    of_x!("asin", Tensor::asin),
    of_x!("asinh", Tensor::asinh),
    of_x!("atan", Tensor::atan),
    of_x!("atanh", Tensor::atanh),
    ("bitcast", bitcast),
    of_x_and!("celu", "alpha", |x, alpha| x.celu(alpha)),
    of_x!("cosh", Tensor::cosh),
    of_x_and!("elu", "alpha", |x, alpha| x.elu(alpha)),
    of_x!("erf", Tensor::erf),
    of_x!("expm1", Tensor::expm1),
    ("hard_sigmoid", hard_sigmoid),
    of_x!("hard_swish", Tensor::hard_swish),
    ("hardmax", |_, case, inputs| {
        Ok(vec![operand(inputs, "x")?.hardmax(case.axis("axis")?)?])
    }),
    ("is_inf", is_inf),
    of_x!("is_nan", Tensor::is_nan),
    of_x_and!("leaky_relu", "alpha", |x, alpha| x.leaky_relu(alpha)),
    of_x!("log1p", Tensor::log1p),
    of_x!("mish", Tensor::mish),
    ("mod", modulo),
    ("prelu", prelu),
    ("selu", selu),
    of_a_b!("shift_left", |a, b| a.shift_left(b)),
    of_a_b!("shift_right", |a, b| a.shift_right(b)),
    ("shrink", |_, case, inputs| {
        let (lambd, bias) = (case.number("lambd")?, case.number("bias")?);
        Ok(vec![operand(inputs, "x")?.shrink(lambd, bias)?])
    }),
    of_x!("sinh", Tensor::sinh),
    of_x!("softplus", |x| x.softplus(1.0, 20.0)),
    of_x!("softsign", Tensor::softsign),
    ("swiglu", swiglu),
    of_x!("tan", Tensor::tan),
    of_x_and!("thresholded_relu", "alpha", |x, alpha| x
        .thresholded_relu(alpha)),
];

fn bitcast(_: &Device, case: &Case, inputs: &Inputs) -> Result<Vec<Tensor>, Trouble> {
    Ok(vec![operand(inputs, "x")?.bitcast(case.dtype("to")?)?])
}

fn hard_sigmoid(_: &Device, case: &Case, inputs: &Inputs) -> Result<Vec<Tensor>, Trouble> {
    let (alpha, beta) = (case.number("alpha")?, case.number("beta")?);
    Ok(vec![operand(inputs, "x")?.hard_sigmoid(alpha, beta)?])
}

fn is_inf(_: &Device, case: &Case, inputs: &Inputs) -> Result<Vec<Tensor>, Trouble> {
    let x = operand(inputs, "x")?;
    let signs = (case.flag("detect_negative")?, case.flag("detect_positive")?);
    Ok(vec![match signs {
        (true, true) => x.is_inf()?,
        (true, false) => x.eq(f64::NEG_INFINITY)?,
        (false, true) => x.eq(f64::INFINITY)?,
        (false, false) => x.is_inf()?.logical_and(&x.is_nan()?)?,
    }])
}

fn modulo(_: &Device, case: &Case, inputs: &Inputs) -> Result<Vec<Tensor>, Trouble> {
    let (a, b) = (operand(inputs, "a")?, operand(inputs, "b")?);
    Ok(vec![if case.flag("fmod")? {
        a.fmod(b)?
    } else {
        a.remainder(b)?
    }])
}

/// ONNX and WebNN broadcast the slope to the input, from the last axis.
fn prelu(_: &Device, _: &Case, inputs: &Inputs) -> Result<Vec<Tensor>, Trouble> {
    let (x, slope) = (operand(inputs, "x")?, operand(inputs, "slope")?);
    let slope = if slope.rank() == 1 && x.rank() > 2 {
        slope.unsqueeze(0)?
    } else {
        slope.clone()
    };
    Ok(vec![x.prelu(&slope)?])
}

fn selu(_: &Device, case: &Case, inputs: &Inputs) -> Result<Vec<Tensor>, Trouble> {
    let (alpha, gamma) = (case.number("alpha")?, case.number("gamma")?);
    Ok(vec![operand(inputs, "x")?.elu(alpha)?.mul(gamma)?])
}

fn swiglu(_: &Device, case: &Case, inputs: &Inputs) -> Result<Vec<Tensor>, Trouble> {
    let (a, b) = (operand(inputs, "a")?, operand(inputs, "b")?);
    let gate = a.mul(a.mul(case.number("alpha")?)?.sigmoid()?)?;
    Ok(vec![gate.mul(b)?])
}
