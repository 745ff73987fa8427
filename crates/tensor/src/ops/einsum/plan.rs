//! Which products of two operands a sum of products is made of, in which order, and over which axes: pure, without memory.
//!
//! Operands are contracted in pairs, each pair as one (batched) matrix product, or as an elementwise product where nothing is
//! summed; `pairs` says in which order.

use std::collections::BTreeSet;

use ziggurat_core::{Layout, Shape, ShapeError};

use super::EINSUM;
use super::equation::{Equation, Label};
use super::pairs::Pairs;
use crate::Error;
use crate::tensor::new_shape;

/// Batch axes keep their strides as long as they leave room for the matrix.
const MOST_BATCH_AXES: usize = 6;

/// The steps of a sum of products.
///
/// Values are numbered: first the operands, each through [`Contraction::seen`], then what each step gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Contraction {
    /// The axes of each operand that are one axis of its value.
    inputs: Vec<Vec<Vec<usize>>>,
    /// Every value is used once, and that of the last step, or the only operand, is the result but for its order.
    pub(super) steps: Vec<ContractionStep>,
    /// Which axis of the last value is each axis of the result.
    pub(super) order: Vec<usize>,
}

/// A step of a [`Contraction`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ContractionStep {
    /// The sum of a value over axes.
    Sum {
        /// The value's number.
        value: usize,
        /// The axes, ascending.
        axes: Vec<usize>,
    },
    /// The product of two batches of matrices.
    Product {
        /// `[batch.., m, k]`.
        left: Arranged,
        /// `[batch.., k, n]`.
        right: Arranged,
        /// The result's extents.
        dims: Vec<usize>,
    },
    /// The elementwise product of two values that broadcast.
    Elementwise {
        /// One factor.
        left: Arranged,
        /// The other.
        right: Arranged,
    },
}

/// A value with its axes in another order, and then as another shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Arranged {
    /// The value's number.
    pub(super) value: usize,
    /// The axes in their new order.
    pub(super) axes: Vec<usize>,
    /// The extents.
    pub(super) dims: Vec<usize>,
}

/// A value that a plan works with: one label per axis, none twice.
#[derive(Clone)]
pub(super) struct Term {
    pub(super) value: usize,
    pub(super) labels: Vec<Label>,
    pub(super) dims: Vec<usize>,
}

impl Term {
    /// Elements, where sizes are compared.
    pub(super) fn len(&self) -> f64 {
        self.dims.iter().map(|&dim| dim as f64).product()
    }

    fn axis(&self, label: Label) -> Option<usize> {
        self.labels.iter().position(|own| *own == label)
    }

    /// The extents of these labels.
    fn extents(&self, labels: &[Label]) -> Vec<usize> {
        let of = |&label: &Label| self.dims.get(self.axis(label)?).copied();
        labels.iter().filter_map(of).collect()
    }

    /// The axes in the order of these labels, as a shape of these extents.
    fn arranged(&self, order: &[&[Label]], dims: &[&[usize]]) -> Arranged {
        let labels = order.iter().copied().flatten();
        Arranged {
            value: self.value,
            axes: labels.filter_map(|&label| self.axis(label)).collect(),
            dims: dims.concat(),
        }
    }
}

impl Contraction {
    /// The steps of an einsum for operands of these shapes.
    ///
    /// # Errors
    /// If the equation does not fit the operands, or a result, intermediate ones included, has too many axes or elements.
    pub(super) fn einsum(equation: &str, shapes: &[Shape]) -> Result<Self, Error> {
        let Equation { inputs, output } = Equation::read(equation, shapes)?;
        let mut terms: Vec<Term> = Vec::with_capacity(shapes.len());
        let mut seen = Vec::with_capacity(shapes.len());
        let long: BTreeSet<Label> = (inputs.iter().zip(shapes))
            .flat_map(|(labels, shape)| labels.iter().zip(shape.dims()))
            .filter(|(_, dim)| **dim != 1)
            .map(|(&label, _)| label)
            .collect();
        for (value, (own, shape)) in inputs.iter().zip(shapes).enumerate() {
            let mut term = Term {
                value,
                labels: Vec::new(),
                dims: Vec::new(),
            };
            let mut axes: Vec<Vec<usize>> = Vec::new();
            for (axis, (&label, &dim)) in own.iter().zip(shape.dims()).enumerate() {
                // An axis of extent 1 where another of its label is longer repeats its element: the product is the same
                // without it.
                if dim == 1 && long.contains(&label) {
                    continue;
                }
                if let Some(known) = term.axis(label) {
                    axes.get_mut(known)
                        .into_iter()
                        .for_each(|axes| axes.push(axis));
                    continue;
                }
                term.labels.push(label);
                term.dims.push(dim);
                axes.push(vec![axis]);
            }
            terms.push(term);
            seen.push(axes);
        }
        let mut plan = Self {
            inputs: seen,
            steps: Vec::new(),
            order: Vec::new(),
        };
        let last = plan.contract_all(terms, &output)?;
        plan.order = output
            .iter()
            .filter_map(|&label| last.axis(label))
            .collect();
        let _checked = new_shape(EINSUM, &last.extents(&output))?;
        Ok(plan)
    }

    /// The one step of a sum of products over pairs of axes, which are there and each given once: the result has the remaining
    /// axes of the left operand, then those of the right one.
    ///
    /// # Errors
    /// If the lists differ in length or the extents do, or the result has too many axes or elements.
    pub(super) fn tensordot(
        op: &'static str,
        (left, axes): (&Shape, &[usize]),
        (right, other_axes): (&Shape, &[usize]),
    ) -> Result<Self, Error> {
        if axes.len() != other_axes.len() {
            let rule = "there must be as many axes of the right operand as of the left one";
            let given = format!("{} and {} given", other_axes.len(), axes.len());
            return Err(Error::argument(op, format!("{rule}: {given}")));
        }
        let extents = |shape: &Shape, axes: &[usize]| -> Vec<usize> {
            let of = |&axis: &usize| shape.dims().get(axis).copied();
            axes.iter().filter_map(of).collect()
        };
        let summed = extents(left, axes);
        if summed != extents(right, other_axes) {
            let rule = "extents of the axes that are summed differ";
            let given = format!("left is {left}, right is {right}");
            return Err(Error::shape(op, format!("{rule}: {given}")));
        }
        let kept = |shape: &Shape, axes: &[usize]| -> Vec<usize> {
            (0..shape.dims().len())
                .filter(|axis| !axes.contains(axis))
                .collect()
        };
        let (rows, columns) = (kept(left, axes), kept(right, other_axes));
        let (row_dims, column_dims) = (extents(left, &rows), extents(right, &columns));
        let dims = [&row_dims[..], &column_dims].concat();
        let _checked = new_shape(op, &dims)?;
        let size = |dims: &[usize]| -> usize { dims.iter().product() };
        let (m, n, k) = (size(&row_dims), size(&column_dims), size(&summed));
        let whole = |shape: &Shape| (0..shape.dims().len()).map(|axis| vec![axis]).collect();
        Ok(Self {
            inputs: vec![whole(left), whole(right)],
            order: (0..dims.len()).collect(),
            steps: vec![ContractionStep::Product {
                left: Arranged {
                    value: 0,
                    axes: [&rows, axes].concat(),
                    dims: vec![m, k],
                },
                right: Arranged {
                    value: 1,
                    axes: [other_axes, &columns].concat(),
                    dims: vec![k, n],
                },
                dims,
            }],
        })
    }

    /// Operand `index` as the steps see it: diagonals where a letter is repeated, without axes that broadcast. `None` if that
    /// is as it lies.
    ///
    /// # Errors
    /// None for layouts of the shapes that the plan was made for.
    pub(super) fn seen(&self, index: usize, layout: &Layout) -> Result<Option<Layout>, ShapeError> {
        let axes = self.inputs.get(index).map_or(&[][..], Vec::as_slice);
        let single = |(at, axes): (usize, &Vec<usize>)| matches!(axes[..], [axis] if axis == at);
        if axes.len() == layout.rank() && axes.iter().enumerate().all(single) {
            return Ok(None);
        }
        let dims: Vec<usize> = (axes.iter())
            .filter_map(|axes| layout.dims().get(*axes.first()?).copied())
            .collect();
        let strides: Vec<isize> = (axes.iter())
            .map(|axes| {
                axes.iter()
                    .filter_map(|&axis| layout.strides().get(axis))
                    .sum()
            })
            .collect();
        Layout::new(Shape::new(dims)?, &strides, layout.offset()).map(Some)
    }

    fn contract_all(&mut self, terms: Vec<Term>, output: &[Label]) -> Result<Term, Error> {
        let mut pairs = Pairs::new(terms, output);
        while let Some((a, b)) = pairs.take() {
            let product = self.contract(a, b, |label| pairs.needs(label))?;
            pairs.put(product);
        }
        let none = || Error::argument(EINSUM, "there must be an operand: 0 given");
        let last = pairs.finish().ok_or_else(none)?;
        Ok(self.summed(last, |label| output.contains(&label)))
    }

    fn push(&mut self, step: ContractionStep) -> usize {
        self.steps.push(step);
        self.inputs.len() + self.steps.len() - 1
    }

    /// The term summed over the labels that are not kept.
    fn summed(&mut self, term: Term, keep: impl Fn(Label) -> bool) -> Term {
        let (kept, gone): (Vec<usize>, Vec<usize>) = (0..term.labels.len())
            .partition(|&axis| term.labels.get(axis).is_some_and(|&label| keep(label)));
        if gone.is_empty() {
            return term;
        }
        let labels: Vec<Label> = (kept.iter())
            .filter_map(|&axis| term.labels.get(axis).copied())
            .collect();
        let dims = term.extents(&labels);
        let value = self.push(ContractionStep::Sum {
            value: term.value,
            axes: gone,
        });
        Term {
            value,
            labels,
            dims,
        }
    }

    /// The product of two terms, summed over what nobody else needs.
    fn contract(
        &mut self,
        a: Term,
        b: Term,
        needed: impl Fn(Label) -> bool,
    ) -> Result<Term, Error> {
        let wanted = |label: Label, other: &[Label]| needed(label) || other.contains(&label);
        let (a_labels, b_labels) = (a.labels.clone(), b.labels.clone());
        let a = self.summed(a, |label| wanted(label, &b_labels));
        let b = self.summed(b, |label| wanted(label, &a_labels));
        let (shared, left): (Vec<Label>, Vec<Label>) =
            a.labels.iter().partition(|label| b.labels.contains(label));
        let right: Vec<Label> = (b.labels.iter())
            .filter(|label| !shared.contains(label))
            .copied()
            .collect();
        let (batch, inner): (Vec<Label>, Vec<Label>) =
            shared.iter().partition(|&&label| needed(label));
        let labels = [&batch[..], &left, &right].concat();
        let (batch_dims, left_dims, right_dims) =
            (a.extents(&batch), a.extents(&left), b.extents(&right));
        let dims = [&batch_dims[..], &left_dims, &right_dims].concat();
        let _checked = new_shape(EINSUM, &dims)?;
        let size = |dims: &[usize]| -> usize { dims.iter().product() };
        let step = if inner.is_empty() {
            let one = |count: usize| vec![1; count];
            ContractionStep::Elementwise {
                left: a.arranged(
                    &[&batch, &left],
                    &[&batch_dims, &left_dims, &one(right.len())],
                ),
                right: b.arranged(
                    &[&batch, &right],
                    &[&batch_dims, &one(left.len()), &right_dims],
                ),
            }
        } else {
            let (m, n) = (size(&left_dims), size(&right_dims));
            let k = size(&a.extents(&inner));
            let batch_dims = if batch_dims.len() > MOST_BATCH_AXES {
                vec![size(&batch_dims)]
            } else {
                batch_dims
            };
            ContractionStep::Product {
                left: a.arranged(&[&batch, &left, &inner], &[&batch_dims, &[m, k]]),
                right: b.arranged(&[&batch, &inner, &right], &[&batch_dims, &[k, n]]),
                dims: dims.clone(),
            }
        };
        Ok(Term {
            value: self.push(step),
            labels,
            dims,
        })
    }
}

#[cfg(test)]
mod tests;
