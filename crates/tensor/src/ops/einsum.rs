//! Sums of products by Einstein's convention, and contraction over named axes.
//!
//! A [`Contraction`] says which products there are and in which order; here each is recorded in the lazy graph.
//!
//! Invariant: between steps f16 and bf16 stay in f32, and integers wrap as if all were summed in one.

use ziggurat_core::{DType, Shape, normalize_axes};

use crate::{Error, Tensor};

mod equation;
mod pairs;
mod plan;

use plan::{Arranged, Contraction, ContractionStep};

const EINSUM: &str = "einsum";

impl Tensor {
    /// The sum of products that `equation` names: a letter per axis of each operand, `->`, the letters that stay. A letter
    /// given twice for one operand takes the diagonal, letters missing on the right are summed, `...` stands for axes that
    /// broadcast. Without `->` those that occur once stay, in alphabetical order. Extents of 1 broadcast.
    ///
    /// ```
    /// use ziggurat_tensor::{Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let a = Tensor::from_slice(&device, &[1.0f32, 2.0, 3.0, 4.0], [2, 2])?;
    /// assert_eq!(Tensor::einsum("ij,jk->ik", &[&a, &a])?.to_vec_blocking::<f32>()?, [7.0, 10.0, 15.0, 22.0]);
    /// assert_eq!(Tensor::einsum("ii", &[&a])?.item_blocking::<f32>()?, 5.0);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the equation does not fit the operands, extents of one letter differ, an intermediate result has more than 8
    /// axes, the dtype is bool, or the tensors are on different devices.
    pub fn einsum(equation: &str, operands: &[&Self]) -> Result<Self, Error> {
        let shapes: Vec<Shape> = operands.iter().map(|operand| *operand.shape()).collect();
        let plan = Contraction::einsum(equation, &shapes)?;
        Self::contracted(EINSUM, &plan, operands)
    }

    /// The sum of products over `axes` of `self` and `other_axes` of `other`, pair by pair: the result has the remaining axes
    /// of `self`, then those of `other`.
    ///
    /// ```
    /// use ziggurat_tensor::{DType, Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let a = Tensor::ones(&device, [3, 4, 5], DType::F32)?;
    /// let b = Tensor::ones(&device, [4, 3, 2], DType::F32)?;
    /// let c = a.tensordot(&b, [1, 0], [0, 1])?;
    /// assert_eq!(c.dims(), [5, 2]);
    /// assert_eq!(c.to_vec_blocking::<f32>()?, [12.0; 10]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the lists differ in length, an axis is out of range or given twice, extents differ, or as [`Tensor::matmul`].
    pub fn tensordot(
        &self,
        other: &Self,
        axes: impl AsRef<[isize]>,
        other_axes: impl AsRef<[isize]>,
    ) -> Result<Self, Error> {
        const OP: &str = "tensordot";
        let fail = |error| Error::from_shape(OP, error);
        // Checked for range and repetition; the order given is what pairs them.
        let _ = normalize_axes(axes.as_ref(), self.rank()).map_err(fail)?;
        let _ = normalize_axes(other_axes.as_ref(), other.rank()).map_err(fail)?;
        let (left, right) = (
            absolute(axes.as_ref(), self.rank()),
            absolute(other_axes.as_ref(), other.rank()),
        );
        let plan = Contraction::tensordot(OP, (self.shape(), &left), (other.shape(), &right))?;
        Self::contracted(OP, &plan, &[self, other])
    }

    /// Records the steps of a plan.
    fn contracted(op: &'static str, plan: &Contraction, operands: &[&Self]) -> Result<Self, Error> {
        let none = || Error::argument(op, "there must be an operand: 0 given");
        let (first, rest) = operands.split_first().ok_or_else(none)?;
        let mut dtype = first.dtype();
        for other in rest {
            first.same_device(op, other)?;
            dtype = dtype.promote(other.dtype());
        }
        if dtype.is_bool() {
            return Err(Error::dtype(
                op,
                "bool has no products: convert to a number type first",
            ));
        }
        let mut values = Vec::with_capacity(operands.len() + plan.steps.len());
        for (index, &operand) in operands.iter().enumerate() {
            let operand = operand.converted(op, dtype)?;
            let seen = plan.seen(index, &operand.layout());
            values.push(match seen.map_err(|error| Error::from_shape(op, error))? {
                Some(layout) => operand.with_layout(op, |_| Ok(layout))?,
                None => operand,
            });
        }
        for (at, step) in (1..).zip(&plan.steps) {
            let last = at == plan.steps.len();
            let made = stepped(op, step, &values, (dtype, last))?;
            values.push(made);
        }
        let axes: Vec<isize> = plan.order.iter().map(|&axis| axis as isize).collect();
        let last = values.last().ok_or_else(none)?;
        last.permute(axes)?.converted(op, dtype)
    }
}

/// What a step gives: in the dtype that sums are kept in, unless it is the last.
fn stepped(
    op: &'static str,
    step: &ContractionStep,
    values: &[Tensor],
    (dtype, last): (DType, bool),
) -> Result<Tensor, Error> {
    let wide = dtype.compute();
    let of = |number: usize| {
        let missing = || Error::internal(op, format!("there is no value {number}"));
        values.get(number).ok_or_else(missing)
    };
    let arranged = |how: &Arranged| {
        let axes: Vec<isize> = how.axes.iter().map(|&axis| axis as isize).collect();
        of(how.value)?.permute(axes)?.reshape_to(&how.dims)
    };
    // What an operand before kept wide is rounded after the last step only.
    let written = |a: &Tensor, b: &Tensor| {
        let own = a.dtype().promote(b.dtype());
        if last { own } else { own.compute() }
    };
    match step {
        ContractionStep::Sum { value, axes, .. } => {
            let axes: Vec<isize> = axes.iter().map(|&axis| axis as isize).collect();
            let value = of(*value)?.converted(op, wide)?;
            value.sum(axes, false)
        }
        ContractionStep::Product {
            left, right, dims, ..
        } => {
            let (a, b) = (arranged(left)?, arranged(right)?);
            let written = written(&a, &b);
            a.product(op, &b, Some(written))?.reshape_to(dims)
        }
        ContractionStep::Elementwise { left, right, .. } => {
            let (a, b) = (arranged(left)?, arranged(right)?);
            let written = written(&a, &b);
            a.converted(op, written)?.mul(b.converted(op, written)?)
        }
    }
}

fn absolute(axes: &[isize], rank: usize) -> Vec<usize> {
    axes.iter()
        .filter_map(|&axis| {
            usize::try_from(if axis < 0 { axis + rank as isize } else { axis }).ok()
        })
        .collect()
}
