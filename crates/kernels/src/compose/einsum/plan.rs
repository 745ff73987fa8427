//! Which products of two operands a sum of products is made of, in which order, and over which axes: pure, without memory.
//!
//! Operands are contracted in pairs, each pair as one (batched) matrix product, or as an elementwise product where nothing is
//! summed; `pairs` says in which order.

use std::collections::BTreeSet;

use ziggurat_core::{Layout, Shape, ShapeError};

use super::equation::{Equation, Label};
use super::pairs::Pairs;
use super::{EINSUM, TENSORDOT};
use crate::compose::assemble::signed;
use crate::run::error::KernelError;

/// Batch axes keep their strides as long as they leave room for the matrix.
const MOST_BATCH_AXES: usize = 6;

/// The steps of a sum of products, for whoever runs them: the [`Executor`](crate::Executor), a lazy graph.
///
/// Values are numbered: first the operands, each through [`Contraction::seen`], then what each step gives.
///
/// ```
/// use ziggurat_kernels::{Contraction, ContractionStep, Shape};
///
/// let shapes = [Shape::new([2, 3])?, Shape::new([3, 4])?];
/// let plan = Contraction::einsum("ij,jk->ki", &shapes)?;
/// assert_eq!(plan.shape().dims(), [4, 2]);
/// assert_eq!(plan.order(), [1, 0]);
/// assert!(matches!(plan.steps(), [ContractionStep::Product { .. }]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contraction {
    inputs: Vec<Vec<Vec<usize>>>,
    steps: Vec<ContractionStep>,
    order: Vec<usize>,
    shape: Shape,
}

/// A step of a [`Contraction`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ContractionStep {
    /// The sum of a value over axes.
    Sum {
        /// The value's number.
        value: usize,
        /// The axes, ascending.
        axes: Vec<usize>,
        /// The result's extents.
        dims: Vec<usize>,
    },
    /// The product of two batches of matrices.
    Product {
        /// `[batch.., m, k]`.
        left: Arranged,
        /// `[batch.., k, n]`.
        right: Arranged,
        /// The extents of what is written, `[batch.., m, n]`.
        matrices: Vec<usize>,
        /// The result's extents.
        dims: Vec<usize>,
    },
    /// The elementwise product of two values that broadcast.
    Elementwise {
        /// One factor.
        left: Arranged,
        /// The other.
        right: Arranged,
        /// The result's extents.
        dims: Vec<usize>,
    },
}

/// A value with its axes in another order, and then as another shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arranged {
    /// The value's number.
    pub value: usize,
    /// The axes in their new order.
    pub axes: Vec<usize>,
    /// The extents.
    pub dims: Vec<usize>,
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
    /// [`KernelError::Equation`] and [`KernelError::Option`] if the equation is none for so many operands;
    /// [`KernelError::Operand`] and [`KernelError::Operands`] if it does not fit their shapes; [`KernelError::Shape`] if a
    /// result, intermediate ones included, has too many axes or elements.
    pub fn einsum(equation: &str, shapes: &[Shape]) -> Result<Self, KernelError> {
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
                // An axis of extent 1 beside a longer one of its label repeats its element: the product is the same
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
            shape: Shape::scalar(),
        };
        let last = plan.contract_all(terms, &output)?;
        plan.order = output
            .iter()
            .filter_map(|&label| last.axis(label))
            .collect();
        plan.shape = Shape::new(last.extents(&output)).map_err(KernelError::shape(EINSUM))?;
        Ok(plan)
    }

    /// The one step of a sum of products over pairs of axes: the result has the remaining axes of the left operand, then
    /// those of the right one.
    ///
    /// # Errors
    /// [`KernelError::Shape`] for an axis that is not there or given twice, or a result with too many axes or elements;
    /// [`KernelError::Option`] if the lists differ in length; [`KernelError::Operands`] if extents differ.
    pub fn tensordot(
        (left, axes): (&Shape, &[usize]),
        (right, other_axes): (&Shape, &[usize]),
    ) -> Result<Self, KernelError> {
        const OP: &str = TENSORDOT;
        for (shape, axes) in [(left, axes), (right, other_axes)] {
            let axes: Vec<isize> = axes.iter().map(|&axis| signed(axis)).collect();
            let _checked = ziggurat_core::normalize_axes(&axes, shape.dims().len())
                .map_err(KernelError::shape(OP))?;
        }
        if axes.len() != other_axes.len() {
            return Err(KernelError::Option {
                op: OP,
                option: "the number of axes of the right operand",
                rule: "must be that of the left one",
                got: i64::try_from(other_axes.len()).unwrap_or(i64::MAX),
            });
        }
        let extents = |shape: &Shape, axes: &[usize]| -> Vec<usize> {
            let of = |&axis: &usize| shape.dims().get(axis).copied();
            axes.iter().filter_map(of).collect()
        };
        let summed = extents(left, axes);
        if summed != extents(right, other_axes) {
            return Err(KernelError::Operands {
                op: OP,
                rule: "extents of the axes that are summed differ",
                left: Box::new(*left),
                right: Box::new(*right),
            });
        }
        let kept = |shape: &Shape, axes: &[usize]| -> Vec<usize> {
            (0..shape.dims().len())
                .filter(|axis| !axes.contains(axis))
                .collect()
        };
        let (rows, columns) = (kept(left, axes), kept(right, other_axes));
        let dims = [extents(left, &rows), extents(right, &columns)].concat();
        let shape = Shape::new(&dims).map_err(KernelError::shape(OP))?;
        let size = |dims: Vec<usize>| -> usize { dims.iter().product() };
        let (m, n, k) = (
            size(extents(left, &rows)),
            size(extents(right, &columns)),
            size(summed),
        );
        let whole = |shape: &Shape| (0..shape.dims().len()).map(|axis| vec![axis]).collect();
        Ok(Self {
            inputs: vec![whole(left), whole(right)],
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
                matrices: vec![m, n],
                dims,
            }],
            order: (0..shape.dims().len()).collect(),
            shape,
        })
    }

    /// The result's shape.
    #[must_use]
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The steps. Every value is used once, and that of the last step, or the only operand, is the result but for its order.
    #[must_use]
    pub fn steps(&self) -> &[ContractionStep] {
        &self.steps
    }

    /// Which axis of the last value is each axis of the result.
    #[must_use]
    pub fn order(&self) -> &[usize] {
        &self.order
    }

    /// Operand `index` as the steps see it: diagonals where a letter is repeated, without axes that broadcast. `None` if that
    /// is as it lies.
    ///
    /// # Errors
    /// None for layouts of the shapes that the plan was made for.
    pub fn seen(&self, index: usize, layout: &Layout) -> Result<Option<Layout>, ShapeError> {
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

    fn contract_all(&mut self, terms: Vec<Term>, output: &[Label]) -> Result<Term, KernelError> {
        let mut pairs = Pairs::new(terms, output);
        while let Some((a, b)) = pairs.take() {
            let product = self.contract(a, b, |label| pairs.needs(label))?;
            pairs.put(product);
        }
        let last = pairs.finish().ok_or(KernelError::Option {
            op: EINSUM,
            option: "the number of operands",
            rule: "must be at least 1",
            got: 0,
        })?;
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
            dims: dims.clone(),
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
    ) -> Result<Term, KernelError> {
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
        let _checked = Shape::new(&dims).map_err(KernelError::shape(EINSUM))?;
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
                dims: dims.clone(),
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
                matrices: [&batch_dims[..], &[m, n]].concat(),
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
