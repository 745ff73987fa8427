//! Sums of products by Einstein's convention, and contraction over named axes.
//!
//! [`plan`] says which products there are; here they run: matrix products, sums, and elementwise products where nothing is
//! summed. Diagonals, permutations and broadcast axes are views.
//!
//! Invariants: between steps f16 and bf16 stay in f32, and integers wrap as if all were summed in one; only the last step
//! writes to the output, and straight to it where its strides express the product's matrices.

use ziggurat_core::{Layout, Shape};

use crate::compose::assemble::{check_dtype, check_shape, signed};
use crate::fused::{Expression, FusedOp};
use crate::ops::elementwise::binary::Binary;
use crate::ops::reduce::Reduce;
use crate::run::completion::Completion;
use crate::run::error::KernelError;
use crate::run::executor::Executor;
use crate::run::view::View;

mod equation;
mod pairs;
mod plan;

pub use plan::{Arranged, Contraction, ContractionStep};

const EINSUM: &str = "einsum";
const TENSORDOT: &str = "tensordot";

impl Executor {
    /// The sum of products that `equation` names: a letter per axis of each operand, `->`, the letters that stay. A letter
    /// given twice for one operand takes the diagonal, letters missing on the right are summed, `...` stands for axes that
    /// broadcast. Without `->` those that occur once stay, in alphabetical order. Extents of 1 broadcast.
    ///
    /// `out` has the operands' dtype or the one that sums are kept in: f32 for floats, i32 and u32 for integers.
    ///
    /// ```
    /// use ziggurat_kernels::{DType, Executor, Shape, device::DeviceOptions};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let exec = Executor::open_blocking(DeviceOptions::default())?;
    /// let a = exec.upload(&[1.0_f32, 2.0, 3.0, 4.0], &Shape::new([2, 2])?)?;
    /// let trace = exec.alloc(&Shape::scalar(), DType::F32)?;
    /// let _done = exec.einsum("ii", &[&a], &trace)?;
    /// assert_eq!(exec.download(&trace)?.wait()?, 5.0_f32.to_le_bytes());
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`KernelError::Equation`], [`KernelError::Option`], [`KernelError::Operand`] and [`KernelError::Operands`] if the
    /// equation does not fit the operands; [`KernelError::Shape`] if an intermediate result has too many axes;
    /// [`KernelError::Dtype`] for bool, for operands of different dtypes and for another dtype of `out`;
    /// [`KernelError::Output`].
    pub fn einsum(
        &self,
        equation: &str,
        operands: &[&View],
        out: &View,
    ) -> Result<Completion, KernelError> {
        let shapes: Vec<Shape> = operands.iter().map(|operand| *operand.shape()).collect();
        let plan = Contraction::einsum(equation, &shapes)?;
        self.contract(EINSUM, &plan, operands, out)
    }

    /// The sum of products over `axes` of `a` and `other_axes` of `b`, pair by pair: `out` has the remaining axes of `a`,
    /// then those of `b`. Dtypes are those of [`Executor::einsum`].
    ///
    /// ```
    /// use ziggurat_kernels::{DType, Executor, Shape, device::DeviceOptions};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let exec = Executor::open_blocking(DeviceOptions::default())?;
    /// let a = exec.upload(&[1_i32, 2, 3, 4], &Shape::new([2, 2])?)?;
    /// let out = exec.alloc(&Shape::scalar(), DType::I32)?;
    /// let _done = exec.tensordot((&a, &[0, 1]), (&a, &[1, 0]), &out)?;
    /// assert_eq!(exec.download(&out)?.wait()?, 29_i32.to_le_bytes());
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`KernelError::Shape`] for an axis that is not there or given twice; [`KernelError::Option`] if the lists differ in
    /// length; [`KernelError::Operands`] if extents differ; [`KernelError::Dtype`] and [`KernelError::Output`] as
    /// [`Executor::einsum`].
    pub fn tensordot(
        &self,
        (a, axes): (&View, &[usize]),
        (b, other_axes): (&View, &[usize]),
        out: &View,
    ) -> Result<Completion, KernelError> {
        let plan = Contraction::tensordot((a.shape(), axes), (b.shape(), other_axes))?;
        self.contract(TENSORDOT, &plan, &[a, b], out)
    }

    /// Runs the steps of a plan.
    fn contract(
        &self,
        op: &'static str,
        plan: &Contraction,
        operands: &[&View],
        out: &View,
    ) -> Result<Completion, KernelError> {
        let dtype = operands.first().map_or(out.dtype, |first| first.dtype);
        check_dtype(op, "a", dtype, !dtype.is_bool(), "it must be a number")?;
        for operand in operands {
            let rule = "all operands must have one dtype";
            check_dtype(
                op,
                "an operand",
                operand.dtype,
                operand.dtype == dtype,
                rule,
            )?;
            operand.check()?;
        }
        let fits = out.dtype == dtype || out.dtype == dtype.compute();
        let rule = "it must have the dtype of the operands, or the one that sums are kept in";
        check_dtype(op, "out", out.dtype, fits, rule)?;
        check_shape(op, out, plan.shape())?;
        crate::run::launch::check_output(op, out)?;
        let mut values = Vec::with_capacity(operands.len() + plan.steps().len());
        for (index, operand) in operands.iter().enumerate() {
            let seen = plan.seen(index, &operand.layout);
            values.push(match seen.map_err(KernelError::shape(op))? {
                Some(layout) => operand.with_layout(layout)?,
                None => (*operand).clone(),
            });
        }
        // The output as the last step writes it.
        let mut places = vec![0; plan.order().len()];
        for (place, &axis) in plan.order().iter().enumerate() {
            if let Some(slot) = places.get_mut(axis) {
                *slot = signed(place);
            }
        }
        let target = out
            .layout
            .permute(&places)
            .map_err(KernelError::shape(op))?;
        let target = out.with_layout(target)?;
        let Some((last, before)) = plan.steps().split_last() else {
            return match values.first() {
                Some(only) if only.dtype == target.dtype => self.copy(only, &target),
                Some(only) => self.cast(only, &target),
                None => Ok(self.completion()),
            };
        };
        for step in before {
            let dims = match step {
                ContractionStep::Sum { dims, .. }
                | ContractionStep::Product { dims, .. }
                | ContractionStep::Elementwise { dims, .. } => dims,
            };
            let shape = Shape::new(dims).map_err(KernelError::shape(op))?;
            let made = self.alloc(&shape, dtype.compute())?;
            self.step(op, step, &values, &made)?;
            values.push(made);
        }
        self.step(op, last, &values, &target)?;
        Ok(self.completion())
    }

    fn step(
        &self,
        op: &'static str,
        step: &ContractionStep,
        values: &[View],
        out: &View,
    ) -> Result<(), KernelError> {
        let what = "a step's operand must be a value before it";
        let missing = KernelError::Internal { op, what };
        match step {
            ContractionStep::Sum { value, axes, .. } => {
                let value = values.get(*value).ok_or(missing)?;
                self.summed(value, axes, out)
            }
            ContractionStep::Product {
                left,
                right,
                matrices,
                ..
            } => {
                let (Some(a), Some(b)) = (values.get(left.value), values.get(right.value)) else {
                    return Err(missing);
                };
                let (a, b) = (self.arranged(op, a, left)?, self.arranged(op, b, right)?);
                let shape = Shape::new(matrices).map_err(KernelError::shape(op))?;
                let fits = out.layout.reshape(shape).map_err(KernelError::shape(op))?;
                if let Some(layout) = fits {
                    return self.multiplied(&a, &b, &out.with_layout(layout)?);
                }
                let made = self.alloc(&shape, out.dtype)?;
                self.multiplied(&a, &b, &made)?;
                let made = made.with_layout(Layout::contiguous(*out.shape()))?;
                self.copy(&made, out).map(drop)
            }
            ContractionStep::Elementwise { left, right, .. } => {
                let (Some(a), Some(b)) = (values.get(left.value), values.get(right.value)) else {
                    return Err(missing);
                };
                let mut e = Expression::new();
                let (a, b) = (self.arranged(op, a, left)?, self.arranged(op, b, right)?);
                let wide = FusedOp::Cast(out.dtype.compute());
                let (a, b) = (e.input(a), e.input(b));
                let (a, b) = (e.op(wide, &[a])?, e.op(wide, &[b])?);
                let product = e.op(FusedOp::Binary(Binary::Mul), &[a, b])?;
                self.written(e, product, out).map(drop)
            }
        }
    }

    /// The sum over axes, through the dtype that sums are kept in.
    fn summed(&self, value: &View, axes: &[usize], out: &View) -> Result<(), KernelError> {
        if Reduce::Sum.accepts(value.dtype, out.dtype) {
            return self.reduce(Reduce::Sum, value, axes, out).map(drop);
        }
        let wide = self.alloc(out.shape(), value.dtype.compute())?;
        let _summed = self.reduce(Reduce::Sum, value, axes, &wide)?;
        self.cast(&wide, out).map(drop)
    }

    /// The matrix product of operands of which one may be wider, in any of their dtypes.
    fn multiplied(&self, a: &View, b: &View, out: &View) -> Result<(), KernelError> {
        let dtype = if a.dtype == b.dtype {
            a.dtype
        } else {
            a.dtype.compute()
        };
        let (a, b) = (self.converted(a, dtype)?, self.converted(b, dtype)?);
        self.product_through(&a, &b, out, |_, product| Ok(product))
            .map(drop)
    }

    /// A value with its axes in another order and as another shape; copied where strides do not express that.
    fn arranged(
        &self,
        op: &'static str,
        value: &View,
        how: &Arranged,
    ) -> Result<View, KernelError> {
        let fail = KernelError::shape(op);
        let axes: Vec<isize> = how.axes.iter().map(|&axis| signed(axis)).collect();
        let turned = value.with_layout(value.layout.permute(&axes).map_err(&fail)?)?;
        let shape = Shape::new(&how.dims).map_err(&fail)?;
        self.reshaped(op, &turned, shape)
    }
}
