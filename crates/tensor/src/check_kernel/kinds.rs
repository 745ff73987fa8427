//! What [`check_kernel`](super::check_kernel) can check: what its inputs are, and how it is called.

use crate::custom_reduce::Combine;
use crate::tensor_kernel::{InputType, TensorKernel};
use crate::{
    Any, CustomKernel, CustomOp, CustomReduce, CustomScan, DType, Error, Operand, ScanOptions,
    Tensor,
};

pub(super) mod sealed {
    use super::{Error, InputType, Tensor};

    pub trait Sealed {
        fn types(&self) -> Vec<InputType>;
        fn run(&self, inputs: &[&Tensor]) -> Result<Vec<Tensor>, Error>;
    }
}

/// What [`check_kernel`](crate::check_kernel) checks: a [`TensorKernel`], a [`CustomOp`], a [`CustomKernel`] with a signature, a
/// [`CustomReduce`] over the last axis, which the result lacks, or a [`CustomScan`] along the last axis. Of a number, which has
/// no axis, the reduction over no axes and the scan of a row of one. Sealed.
pub trait KernelToCheck: sealed::Sealed {}

impl KernelToCheck for TensorKernel {}
impl sealed::Sealed for TensorKernel {
    fn types(&self) -> Vec<InputType> {
        self.input_types()
    }

    fn run(&self, inputs: &[&Tensor]) -> Result<Vec<Tensor>, Error> {
        self.call(inputs).run_all()
    }
}

impl KernelToCheck for CustomOp {}
impl sealed::Sealed for CustomOp {
    fn types(&self) -> Vec<InputType> {
        self.params().iter().copied().map(type_of).collect()
    }

    fn run(&self, inputs: &[&Tensor]) -> Result<Vec<Tensor>, Error> {
        let operands: Vec<&dyn Operand> = inputs.iter().map(|x| *x as &dyn Operand).collect();
        Ok(vec![self.call(&operands)?])
    }
}

impl KernelToCheck for CustomKernel {}
impl sealed::Sealed for CustomKernel {
    fn types(&self) -> Vec<InputType> {
        self.input_types()
    }

    fn run(&self, inputs: &[&Tensor]) -> Result<Vec<Tensor>, Error> {
        Ok(vec![self.call(inputs).run()?])
    }
}

impl KernelToCheck for CustomReduce {}
impl sealed::Sealed for CustomReduce {
    fn types(&self) -> Vec<InputType> {
        self.combine.types()
    }

    fn run(&self, inputs: &[&Tensor]) -> Result<Vec<Tensor>, Error> {
        let numbers = inputs.iter().all(|x| x.rank() == 0);
        let last: &[isize] = if numbers { &[] } else { &[-1] };
        let operands: Vec<&dyn Operand> = inputs.iter().map(|x| *x as &dyn Operand).collect();
        Ok(vec![self.call_of(&operands, last, false)?])
    }
}

impl KernelToCheck for CustomScan {}
impl sealed::Sealed for CustomScan {
    fn types(&self) -> Vec<InputType> {
        self.combine.types()
    }

    fn run(&self, inputs: &[&Tensor]) -> Result<Vec<Tensor>, Error> {
        let operands: Vec<&dyn Operand> = inputs.iter().map(|x| *x as &dyn Operand).collect();
        let options = ScanOptions::default();
        Ok(vec![self.call_of(&operands, -1, options)?])
    }
}

impl Combine {
    fn types(&self) -> Vec<InputType> {
        match self.op.lift() {
            Some(lift) => lift.params().iter().copied().map(type_of).collect(),
            None => vec![type_of(self.op.element())],
        }
    }
}

/// The dtypes that a text takes as they are where it is of this one.
fn type_of(param: DType) -> InputType {
    match param {
        DType::F32 => Any::floats(),
        DType::I32 => [DType::I32, DType::I8].into(),
        DType::U32 => [DType::U32, DType::U8].into(),
        other => other.into(),
    }
}
