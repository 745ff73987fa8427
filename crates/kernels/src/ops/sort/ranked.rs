//! The k-th least value of each row, and the middle one.

use ziggurat_core::DType;

use crate::compose::assemble::narrow;
use crate::fused::{Expression, FusedOp};
use crate::ops::elementwise::predicate::Predicate;
use crate::run::checks::{check_axis, check_dtype, check_shape};
use crate::run::completion::Completion;
use crate::run::error::KernelError;
use crate::run::executor::Executor;
use crate::run::view::View;
use crate::{ArgReduce, Shape};

impl Executor {
    /// The `k`-th least value along `axis`, counted from 1, into `values`, and where it stands into `places` (i32); both
    /// keep the axis with extent 1.
    ///
    /// # Errors
    /// As [`Executor::sort`]; [`KernelError::Option`] if `k` is 0 or more than the axis has positions.
    pub fn kthvalue(
        &self,
        a: &View,
        axis: usize,
        k: usize,
        (values, places): (&View, &View),
    ) -> Result<Completion, KernelError> {
        const OP: &str = "kthvalue";
        let extent = check_axis(OP, a, axis)?;
        if k == 0 || k > extent {
            return Err(KernelError::option(
                OP,
                "k",
                "must be from 1 to the positions of the axis",
                i64::try_from(k).unwrap_or(i64::MAX),
            ));
        }
        self.check_ranked(OP, a, axis, (values, places))?;
        let order = self.alloc(a.shape(), DType::I32)?;
        let _sorted = self.argsort(a, axis, false, &order)?;
        let _copied = self.copy(&narrow(OP, &order, axis, k - 1, 1)?, places)?;
        self.gather(a, axis, places, values)
    }

    /// The middle value along `axis`, the lower of two, into `values`, and where it stands into `places` (i32): NaN, and the
    /// place of the first, if there is one. Both keep the axis with extent 1.
    ///
    /// # Errors
    /// As [`Executor::sort`]; [`KernelError::Operand`] if the axis has no positions.
    pub fn median(
        &self,
        a: &View,
        axis: usize,
        (values, places): (&View, &View),
    ) -> Result<Completion, KernelError> {
        const OP: &str = "median";
        let extent = check_axis(OP, a, axis)?;
        if extent == 0 {
            return Err(KernelError::operand(
                OP,
                "a",
                "must have positions along the axis",
                *a.shape(),
            ));
        }
        self.check_ranked(OP, a, axis, (values, places))?;
        if a.is_empty() {
            return Ok(self.completion());
        }
        let order = self.alloc(a.shape(), DType::I32)?;
        let _sorted = self.argsort(a, axis, false, &order)?;
        let middle = narrow(OP, &order, axis, (extent - 1) / 2, 1)?;
        if !a.dtype.is_float() {
            let _copied = self.copy(&middle, places)?;
            return self.gather(a, axis, places, values);
        }
        // NaN is last in order; the first one of the row counts.
        let greatest = self.alloc(values.shape(), a.dtype)?;
        let last = narrow(OP, &order, axis, extent - 1, 1)?;
        let _last = self.gather(a, axis, &last, &greatest)?;
        let first = self.alloc(values.shape(), DType::I32)?;
        let _first = self.arg_reduce(ArgReduce::Max, a, &[axis], false, &first)?;
        let mut e = Expression::new();
        let greatest = e.input(greatest);
        let is_nan = e.op(FusedOp::Predicate(Predicate::IsNan), &[greatest])?;
        let (first, middle) = (e.input(first), e.input(middle));
        let at = e.op(FusedOp::Where, &[is_nan, first, middle])?;
        let _placed = self.written(e, at, places)?;
        self.gather(a, axis, places, values)
    }

    fn check_ranked(
        &self,
        op: &'static str,
        a: &View,
        axis: usize,
        (values, places): (&View, &View),
    ) -> Result<(), KernelError> {
        let mut dims = a.dims().to_vec();
        if let Some(dim) = dims.get_mut(axis) {
            *dim = 1;
        }
        let expected = Shape::new(&dims).map_err(KernelError::shape(op))?;
        check_shape(op, values, &expected)?;
        check_shape(op, places, &expected)?;
        let rule = "it must have the dtype of a";
        check_dtype(op, "values", values.dtype, values.dtype == a.dtype, rule)?;
        let rule = "positions are i32";
        check_dtype(op, "places", places.dtype, places.dtype == DType::I32, rule)
    }
}
