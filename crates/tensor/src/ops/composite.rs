//! Functions of the kernels' composed table, recorded in the lazy graph: the formulas are theirs.
//!
//! Floats are computed in f32; whoever calls rounds once.

use ziggurat_core::DType;
use ziggurat_kernels::{BrokenRule, Composer, Composite, FusedOp};

use super::arithmetic::broadcast;
use crate::node::Input;
use crate::operand::Side;
use crate::{Error, Tensor};

/// A value of a formula.
#[derive(Clone)]
pub(super) enum Value {
    Tensor(Tensor),
    Number(DType, f64),
}

/// A formula on behalf of an operation.
pub(super) struct Recording {
    pub(super) op: &'static str,
}

impl Composer for Recording {
    type Value = Value;
    type Error = Error;

    fn apply(&mut self, op: FusedOp, operands: &[&Value]) -> Result<Value, Error> {
        let tensors = operands.iter().filter_map(|value| match value {
            Value::Tensor(tensor) => Some(tensor),
            Value::Number(..) => None,
        });
        let Some(first) = tensors.clone().next() else {
            return Err(Error::argument(self.op, "one operand must be a tensor"));
        };
        let shapes: Vec<_> = tensors.map(|tensor| *tensor.shape()).collect();
        let shape = broadcast(self.op, &shapes)?;
        let mut inputs = [None, None, None];
        for (slot, value) in inputs.iter_mut().zip(operands) {
            *slot = Some(match value {
                Value::Tensor(tensor) => tensor.as_input(first.device())?,
                Value::Number(dtype, number) => Input::Scalar(*dtype, *number),
            });
        }
        // A cast to what it is already is nothing to record.
        if op == FusedOp::Cast(first.dtype()) {
            return Ok(Value::Tensor(first.clone()));
        }
        let made = Tensor::record(first.device(), self.op, op, &shape, inputs)?;
        Ok(Value::Tensor(made))
    }

    fn number(&mut self, dtype: DType, value: f64) -> Value {
        Value::Number(dtype, value)
    }

    fn dtype(&self, value: &Value) -> DType {
        match value {
            Value::Tensor(tensor) => tensor.dtype(),
            Value::Number(dtype, _) => *dtype,
        }
    }

    fn known(&self, value: &Value) -> Option<f64> {
        match value {
            Value::Tensor(_) => None,
            Value::Number(_, number) => Some(*number),
        }
    }

    fn miscounted(&self, op: &'static str, given: usize) -> Error {
        Error::argument(
            self.op,
            format!("{op} must have its own operands: {given} given"),
        )
    }
}

impl From<&Tensor> for Value {
    fn from(tensor: &Tensor) -> Self {
        Self::Tensor(tensor.clone())
    }
}

/// An error if the numbers break the row's rule.
pub(super) fn check_numbers(
    op: &'static str,
    row: Composite,
    numbers: &[f64],
) -> Result<(), Error> {
    match row.spec().broken(numbers) {
        None => Ok(()),
        Some(BrokenRule { number, rule, got }) => {
            Err(Error::argument(op, format!("{number} {rule}: it is {got}")))
        }
    }
}

impl Tensor {
    /// What a formula gives, of which one operand at least is on this tensor's device.
    pub(super) fn formula(
        &self,
        op: &'static str,
        build: impl FnOnce(&mut Recording) -> Result<Value, Error>,
    ) -> Result<Self, Error> {
        match build(&mut Recording { op })? {
            Value::Tensor(made) => Ok(made),
            Value::Number(dtype, number) => Self::full(self.device(), [], number, dtype),
        }
    }

    /// A composed function of operands that are taken to `dtype`, the first of them a tensor: floats are computed, and left,
    /// in f32.
    pub(super) fn composed(
        op: &'static str,
        row: Composite,
        operands: &[Side<'_>],
        numbers: &[f64],
        dtype: DType,
    ) -> Result<Self, Error> {
        check_numbers(op, row, numbers)?;
        if !row.spec().dtypes.contains(&dtype) {
            let rule = "the operation does not exist for the dtype";
            return Err(Error::dtype(op, format!("{rule}: it is {dtype}")));
        }
        let Some(&Side::Tensor(first)) = operands.first() else {
            return Err(Error::argument(op, "the first operand must be a tensor"));
        };
        let wide = if dtype.is_float() { DType::F32 } else { dtype };
        let mut values = Vec::with_capacity(operands.len());
        for &side in operands {
            values.push(match side {
                Side::Tensor(tensor) => {
                    first.same_device(op, tensor)?;
                    Value::Tensor(tensor.converted(op, wide)?)
                }
                Side::Scalar(number) => match side.to_input(op, dtype, first)? {
                    Input::Scalar(..) => Value::Number(wide, number.value()),
                    Input::Node(_) => Value::Number(wide, f64::NAN),
                },
            });
        }
        let values: Vec<&Value> = values.iter().collect();
        first.formula(op, |recording| row.compose(recording, &values, numbers))
    }

    /// A composed function of `self` and perhaps others, rounded to the dtype of `self`; integers and bool become f32.
    pub(super) fn composed_float(
        &self,
        op: &'static str,
        row: Composite,
        others: &[&Self],
        numbers: &[f64],
    ) -> Result<Self, Error> {
        let x = self.as_float(op)?;
        let mut operands = vec![Side::Tensor(&x)];
        operands.extend(others.iter().map(|&other| Side::Tensor(other)));
        Self::composed(op, row, &operands, numbers, x.dtype())?.converted(op, x.dtype())
    }
}
