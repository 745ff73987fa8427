//! Sums of products by Einstein's convention, and contraction over named axes.
//!
//! [`equation`] reads the text. Operands are contracted in pairs, each pair as one (batched) matrix product, or as an
//! elementwise product where nothing is summed. The pair whose result adds least memory goes first; that is the greedy
//! order of D. Smith and J. Gray, "opt_einsum", JOSS 3(26), 2018.
//!
//! Invariant: between pairs f16 and bf16 stay in f32, and integers wrap as if all were summed in one.

mod equation;

use ziggurat_core::{Layout, normalize_axes};

use crate::tensor::new_shape;
use crate::{Error, Tensor};
use equation::{Equation, Label};

const OP: &str = "einsum";

/// An operand, or the product of some: one label per axis, none twice.
#[derive(Clone)]
struct Term {
    tensor: Tensor,
    labels: Vec<Label>,
}

impl Tensor {
    /// The sum of products that `equation` names: a letter per axis of each operand, `->`, the letters that stay. A letter
    /// given twice for one operand takes the diagonal, letters missing on the right are summed, `...` stands for axes that
    /// broadcast. Without `->` those that occur once stay, in alphabetical order. Extents of 1 broadcast.
    ///
    /// ```
    /// # use ziggurat_tensor::{doc, Tensor};
    /// # let Some(device) = doc::device() else { return Ok(()) };
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
        let Some((first, rest)) = operands.split_first() else {
            return Err(Error::argument(OP, "there must be an operand: 0 given"));
        };
        let mut dtype = first.dtype();
        for other in rest {
            first.same_device(OP, other)?;
            dtype = dtype.promote(other.dtype());
        }
        if dtype.is_bool() {
            return Err(Error::dtype(
                OP,
                "bool has no products: convert to a number type first",
            ));
        }
        let shapes: Vec<&[usize]> = operands.iter().map(|operand| operand.dims()).collect();
        let Equation { inputs, output } = Equation::read(equation, &shapes)?;
        let mut terms = Vec::with_capacity(operands.len());
        for (&operand, labels) in operands.iter().zip(inputs) {
            terms.push(diagonal(&operand.converted(OP, dtype)?, &labels)?);
        }
        let terms = without_broadcast_axes(terms)?;
        contract_all(terms, &output)?.converted(OP, dtype)
    }

    /// The sum of products over `axes` of `self` and `other_axes` of `other`, pair by pair: the result has the remaining axes
    /// of `self`, then those of `other`.
    ///
    /// ```
    /// # use ziggurat_tensor::{doc, DType, Tensor};
    /// # let Some(device) = doc::device() else { return Ok(()) };
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
        if left.len() != right.len() {
            return Err(Error::shape(
                OP,
                format!(
                    "both operands must be summed over as many axes: {left:?} and {right:?} given"
                ),
            ));
        }
        let extent = |tensor: &Self, axis: usize| tensor.dims().get(axis).copied();
        if left
            .iter()
            .zip(&right)
            .any(|(&a, &b)| extent(self, a) != extent(other, b))
        {
            let rule = format!("the extents of axes {left:?} and {right:?} differ");
            return Err(self.mismatch(OP, &rule, other));
        }
        let kept = |rank: usize, summed: &[usize]| -> Vec<usize> {
            (0..rank).filter(|axis| !summed.contains(axis)).collect()
        };
        let (left_kept, right_kept) = (kept(self.rank(), &left), kept(other.rank(), &right));
        let size = |tensor: &Self, axes: &[usize]| -> usize {
            axes.iter()
                .filter_map(|&axis| extent(tensor, axis))
                .product()
        };
        let dims: Vec<usize> = left_kept
            .iter()
            .filter_map(|&axis| extent(self, axis))
            .chain(right_kept.iter().filter_map(|&axis| extent(other, axis)))
            .collect();
        let shape = new_shape(OP, &dims)?;
        let (m, n, k) = (
            size(self, &left_kept),
            size(other, &right_kept),
            size(self, &left),
        );
        let a = self
            .permute(signed(&[&left_kept[..], &left].concat()))?
            .reshape_to([m, k])?;
        let b = other
            .permute(signed(&[&right[..], &right_kept].concat()))?
            .reshape_to([k, n])?;
        a.product(OP, &b, None)?.reshape_to(shape.dims())
    }
}

fn absolute(axes: &[isize], rank: usize) -> Vec<usize> {
    axes.iter()
        .filter_map(|&axis| {
            usize::try_from(if axis < 0 { axis + rank as isize } else { axis }).ok()
        })
        .collect()
}

fn signed(axes: &[usize]) -> Vec<isize> {
    axes.iter().map(|&axis| axis as isize).collect()
}

/// The operand with each label once: repeated ones become the diagonal over their axes.
fn diagonal(tensor: &Tensor, labels: &[Label]) -> Result<Term, Error> {
    let mut unique: Vec<Label> = Vec::new();
    for &label in labels {
        if !unique.contains(&label) {
            unique.push(label);
        }
    }
    if unique.len() == labels.len() {
        return Ok(Term {
            tensor: tensor.clone(),
            labels: unique,
        });
    }
    let layout = tensor.layout();
    let walked = || {
        labels
            .iter()
            .zip(layout.dims().iter().zip(layout.strides()))
    };
    let of = |label: Label| walked().filter(move |(own, _)| **own == label);
    let dims: Vec<usize> = unique
        .iter()
        .filter_map(|&label| of(label).map(|(_, (&dim, _))| dim).next())
        .collect();
    let strides: Vec<isize> = unique
        .iter()
        .map(|&label| of(label).map(|(_, (_, &stride))| stride).sum())
        .collect();
    let shape = new_shape(OP, &dims)?;
    let tensor = tensor.with_layout(OP, |layout| Layout::new(shape, &strides, layout.offset()))?;
    Ok(Term {
        tensor,
        labels: unique,
    })
}

/// An axis of extent 1 beside a longer one of its label repeats its element: the product is the same without it.
fn without_broadcast_axes(mut terms: Vec<Term>) -> Result<Vec<Term>, Error> {
    let long: Vec<Label> = terms
        .iter()
        .flat_map(|term| term.labels.iter().zip(term.tensor.dims()))
        .filter(|(_, dim)| **dim != 1)
        .map(|(&label, _)| label)
        .collect();
    for term in &mut terms {
        for axis in (0..term.labels.len()).rev() {
            let repeated = term.tensor.dims().get(axis) == Some(&1)
                && term
                    .labels
                    .get(axis)
                    .is_some_and(|label| long.contains(label));
            if repeated {
                term.tensor = term.tensor.squeeze_axis(axis as isize)?;
                term.labels.remove(axis);
            }
        }
    }
    Ok(terms)
}

fn contract_all(mut terms: Vec<Term>, output: &[Label]) -> Result<Tensor, Error> {
    while terms.len() > 1 {
        let (i, j) = best_pair(&terms, output);
        // j > i, so taking j first leaves i where it is.
        let (b, a) = (terms.remove(j), terms.remove(i));
        let needed = needed_elsewhere(&terms, output);
        let last = terms.is_empty();
        terms.push(contract(a, b, &needed, last)?);
    }
    let Some(term) = terms.pop() else {
        return Err(Error::argument(OP, "there must be an operand: 0 given"));
    };
    let term = summed(term, |label| output.contains(&label))?;
    arranged(&term, output)
}

fn needed_elsewhere(others: &[Term], output: &[Label]) -> Vec<Label> {
    let mut needed = output.to_vec();
    needed.extend(others.iter().flat_map(|term| &term.labels));
    needed
}

/// The pair whose product takes least memory beyond what its operands took; the first of equals.
fn best_pair(terms: &[Term], output: &[Label]) -> (usize, usize) {
    let mut best = ((0, 1), f64::INFINITY);
    for (i, a) in terms.iter().enumerate() {
        for (j, b) in terms.iter().enumerate().skip(i + 1) {
            let others: Vec<Term> = terms
                .iter()
                .enumerate()
                .filter(|(k, _)| *k != i && *k != j)
                .map(|(_, term)| term.clone())
                .collect();
            let needed = needed_elsewhere(&others, output);
            let fresh = b.labels.iter().zip(b.tensor.dims());
            let result: f64 = a
                .labels
                .iter()
                .zip(a.tensor.dims())
                .chain(fresh.filter(|(label, _)| !a.labels.contains(label)))
                .filter(|(label, _)| needed.contains(label))
                .map(|(_, &dim)| dim as f64)
                .product();
            let cost = result - a.tensor.len() as f64 - b.tensor.len() as f64;
            if cost < best.1 {
                best = ((i, j), cost);
            }
        }
    }
    best.0
}

/// The term summed over the labels that are not kept.
fn summed(term: Term, keep: impl Fn(Label) -> bool) -> Result<Term, Error> {
    let axes: Vec<isize> = (0..)
        .zip(&term.labels)
        .filter(|(_, label)| !keep(**label))
        .map(|(axis, _)| axis)
        .collect();
    if axes.is_empty() {
        return Ok(term);
    }
    let wide = term.tensor.dtype().compute();
    Ok(Term {
        tensor: term
            .tensor
            .converted(OP, wide)?
            .sum(&axes, false)?
            .converted(OP, wide)?,
        labels: term
            .labels
            .into_iter()
            .filter(|&label| keep(label))
            .collect(),
    })
}

/// The term with its axes in this order of its labels.
fn arranged(term: &Term, order: &[Label]) -> Result<Tensor, Error> {
    let axes: Vec<isize> = order
        .iter()
        .filter_map(|label| term.labels.iter().position(|own| own == label))
        .map(|axis| axis as isize)
        .collect();
    term.tensor.permute(axes)
}

/// The product of two terms, summed over what nobody else needs.
fn contract(a: Term, b: Term, needed: &[Label], last: bool) -> Result<Term, Error> {
    let wanted = |label: Label, other: &[Label]| needed.contains(&label) || other.contains(&label);
    let (a_labels, b_labels) = (a.labels.clone(), b.labels.clone());
    let a = summed(a, |label| wanted(label, &b_labels))?;
    let b = summed(b, |label| wanted(label, &a_labels))?;
    let (shared, left): (Vec<Label>, Vec<Label>) =
        a.labels.iter().partition(|label| b.labels.contains(label));
    let right: Vec<Label> = b
        .labels
        .iter()
        .filter(|label| !shared.contains(label))
        .copied()
        .collect();
    let (batch, inner): (Vec<Label>, Vec<Label>) =
        shared.iter().partition(|label| needed.contains(label));
    let labels = [&batch[..], &left, &right].concat();
    let dtype = a.tensor.dtype().promote(b.tensor.dtype());
    let written = if last { dtype } else { dtype.compute() };
    let one = |count: usize| vec![1; count];

    let extents = |term: &Term, wanted: &[Label]| -> Vec<usize> {
        let of = |label| term.labels.iter().position(|own| *own == label);
        wanted
            .iter()
            .filter_map(|&label| term.tensor.dims().get(of(label)?).copied())
            .collect()
    };
    let (batch_dims, left_dims, right_dims) =
        (extents(&a, &batch), extents(&a, &left), extents(&b, &right));
    let dims = [&batch_dims[..], &left_dims, &right_dims].concat();
    let shape = new_shape(OP, &dims)?;
    if inner.is_empty() {
        let a = arranged(&a, &[&batch[..], &left].concat())?
            .reshape_to([&batch_dims[..], &left_dims, &one(right.len())].concat())?;
        let b = arranged(&b, &[&batch[..], &right].concat())?
            .reshape_to([&batch_dims[..], &one(left.len()), &right_dims].concat())?;
        let tensor = a.converted(OP, written)?.mul(b.converted(OP, written)?)?;
        return Ok(Term { tensor, labels });
    }
    let size = |dims: &[usize]| -> usize { dims.iter().product() };
    let (m, n, k) = (
        size(&left_dims),
        size(&right_dims),
        size(&extents(&a, &inner)),
    );
    // Batch axes keep their strides as long as they leave room for the matrix.
    let batch_dims = if batch_dims.len() > 6 {
        vec![size(&batch_dims)]
    } else {
        batch_dims
    };
    let a = arranged(&a, &[&batch[..], &left, &inner].concat())?
        .reshape_to([&batch_dims[..], &[m, k]].concat())?;
    let b = arranged(&b, &[&batch[..], &inner, &right].concat())?
        .reshape_to([&batch_dims[..], &[k, n]].concat())?;
    let tensor = a.product(OP, &b, Some(written))?.reshape_to(shape.dims())?;
    Ok(Term { tensor, labels })
}
