//! A matmul as numbers: extents, strides and batch axes, without buffers.
//!
//! Batch axes broadcast as in NumPy. A batch of matrices times one shared matrix is one tall product when the
//! rows of the batch lie at a single stride (a linear layer on `[batch, tokens, features]`), which the tiled kernel
//! does far better than a batch of small ones.
//! Invariant: the output is dense row-major `[batch.., m, n]`.

use ziggurat_core::{Layout, MAX_RANK, Shape, broadcast_shapes};

use super::precision::MatmulPrecision;
use crate::ops::reduce::axes::{Axis, merge, product};
use crate::ops::reduce::geometry::MAX_COUNT;
use crate::run::error::KernelError;

const OP: &str = "matmul";

/// Extents and strides of a batch of products.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) m: u64,
    pub(crate) n: u64,
    pub(crate) k: u64,
    /// Batch axes with the strides of a and b.
    pub(crate) batch: Vec<Axis<2>>,
    /// Whether the operands start at a multiple of four elements.
    pub(crate) a_aligned: bool,
    pub(crate) b_aligned: bool,
    /// Strides of a along (m, k) and of b along (k, n).
    pub(crate) a_row: isize,
    pub(crate) a_depth: isize,
    pub(crate) b_depth: isize,
    pub(crate) b_col: isize,
    /// Whether both operands have the same dtype.
    pub(crate) one_dtype: bool,
    /// How exactly elements of f32 are read.
    pub(crate) precision: MatmulPrecision,
    /// Whether a is the second operand of the call, and b the first.
    pub(crate) flipped: bool,
}

/// The shape of `a @ b`, both of rank 2 or more.
pub(crate) fn output_shape(a: &Shape, b: &Shape) -> Result<Shape, KernelError> {
    let operands = |rule| KernelError::Operands {
        op: OP,
        rule,
        left: Box::new(*a),
        right: Box::new(*b),
    };
    let ([a_batch @ .., m, a_k], [b_batch @ .., b_k, n]) = (a.dims(), b.dims()) else {
        return Err(operands("both operands must have rank 2 or more"));
    };
    if a_k != b_k {
        return Err(operands("inner dimensions differ"));
    }
    let shape = KernelError::shape(OP);
    let batches = [
        Shape::new(a_batch).map_err(&shape)?,
        Shape::new(b_batch).map_err(&shape)?,
    ];
    let batch =
        broadcast_shapes(&batches).map_err(|_| operands("batch dimensions do not broadcast"))?;
    Shape::new([batch.dims(), &[*m, *n]].concat()).map_err(&shape)
}

impl Problem {
    /// The problem of `a @ b`, as exact as can be, and the shape of its result.
    pub(crate) fn new(a: &Layout, b: &Layout) -> Result<(Self, Shape), KernelError> {
        let output = output_shape(a.shape(), b.shape())?;
        let batch_dims = output
            .dims()
            .split_last_chunk::<2>()
            .map_or(&[][..], |(batch, _)| batch);
        let (Some((_, &[m, k])), Some((_, &[_, n]))) = (
            a.dims().split_last_chunk::<2>(),
            b.dims().split_last_chunk::<2>(),
        ) else {
            return Err(KernelError::Operands {
                op: OP,
                rule: "both operands must have rank 2 or more",
                left: Box::new(*a.shape()),
                right: Box::new(*b.shape()),
            });
        };
        let ([a_row, a_depth], [b_depth, b_col]) = (matrix_strides(a), matrix_strides(b));
        // Of a single row or column no step is taken, whatever its layout says.
        let (a_row, b_col) = (
            if m == 1 { 0 } else { a_row },
            if n == 1 { 0 } else { b_col },
        );
        let (a_batch, b_batch) = (
            batch_strides(a, batch_dims.len()),
            batch_strides(b, batch_dims.len()),
        );
        let axes: Vec<Axis<2>> = batch_dims
            .iter()
            .zip(a_batch.iter().zip(&b_batch))
            .map(|(&dim, (&a, &b))| Axis {
                dim: dim as u64,
                strides: [a, b],
            })
            .collect();
        let problem = Self {
            m: m as u64,
            n: n as u64,
            k: k as u64,
            batch: merge(&axes),
            a_aligned: a.offset().is_multiple_of(4),
            b_aligned: b.offset().is_multiple_of(4),
            a_row,
            a_depth,
            b_depth,
            b_col,
            one_dtype: true,
            precision: MatmulPrecision::Highest,
            flipped: false,
        }
        .with_rows_joined();
        for count in [output.len() as u64, problem.k] {
            if count > MAX_COUNT {
                return Err(KernelError::IndexTooLarge {
                    op: OP,
                    elements: count,
                    limit: MAX_COUNT,
                });
            }
        }
        Ok((problem, output))
    }

    /// The product of the transposed operands in the other order, whose result is the transposed one.
    pub(crate) fn flipped(&self) -> Self {
        let swapped = |axis: &Axis<2>| Axis {
            dim: axis.dim,
            strides: [axis.strides[1], axis.strides[0]],
        };
        Self {
            m: self.n,
            n: self.m,
            k: self.k,
            batch: self.batch.iter().map(swapped).collect(),
            a_aligned: self.b_aligned,
            b_aligned: self.a_aligned,
            a_row: self.b_col,
            a_depth: self.b_depth,
            b_depth: self.a_depth,
            b_col: self.a_row,
            one_dtype: self.one_dtype,
            precision: self.precision,
            flipped: !self.flipped,
        }
    }

    /// A single column of results lies as a row does: that of the transposed operands, which kernels of few rows compute.
    pub(crate) fn with_rows_for_columns(self) -> Self {
        // Of operands that differ `out` may have the dtype of a if b is f32, and not the other way round.
        if self.n == 1 && self.m > 1 && self.one_dtype {
            self.flipped().with_rows_joined()
        } else {
            self
        }
    }

    /// Batches that share b become more rows of one product, where a's rows allow it.
    fn with_rows_joined(mut self) -> Self {
        if self.batch.iter().any(|axis| axis.strides[1] != 0) {
            return self;
        }
        let rows: Vec<Axis<1>> = self
            .batch
            .iter()
            .map(|axis| Axis {
                dim: axis.dim,
                strides: [axis.strides[0]],
            })
            .chain([Axis {
                dim: self.m,
                strides: [self.a_row],
            }])
            .collect();
        match merge(&rows).as_slice() {
            [] => {
                self.batch = Vec::new();
            }
            [rows] => {
                self.m = rows.dim;
                self.a_row = rows.strides[0];
                self.batch = Vec::new();
            }
            _ => {}
        }
        self
    }

    /// Number of matrices.
    pub(crate) fn batches(&self) -> u64 {
        product(&self.batch)
    }

    /// Number of output elements.
    pub(crate) fn outputs(&self) -> u64 {
        self.batches().saturating_mul(self.m).saturating_mul(self.n)
    }
}

/// Strides of the last two axes; the caller has checked the rank.
fn matrix_strides(layout: &Layout) -> [isize; 2] {
    layout
        .strides()
        .split_last_chunk::<2>()
        .map_or([0, 0], |(_, last)| *last)
}

/// Strides of an operand's batch axes seen through a batch of `rank` axes: 0 where it is broadcast.
fn batch_strides(layout: &Layout, rank: usize) -> [isize; MAX_RANK] {
    let mut strides = [0; MAX_RANK];
    let own = layout.rank().saturating_sub(2);
    let axes = layout.dims().iter().zip(layout.strides()).take(own);
    for (slot, (&dim, &stride)) in strides.iter_mut().skip(rank.saturating_sub(own)).zip(axes) {
        *slot = if dim == 1 { 0 } else { stride };
    }
    strides
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn layout(dims: &[usize]) -> Layout {
        Layout::contiguous(Shape::new(dims).unwrap())
    }

    fn problem(a: &[usize], b: &[usize]) -> (Problem, Shape) {
        Problem::new(&layout(a), &layout(b)).unwrap()
    }

    #[test]
    fn batches_broadcast_with_stride_zero() {
        let (p, shape) = problem(&[2, 1, 3, 4], &[5, 4, 6]);
        assert_eq!(shape.dims(), [2, 5, 3, 6]);
        assert_eq!(
            p.batch,
            [
                Axis {
                    dim: 2,
                    strides: [12, 0]
                },
                Axis {
                    dim: 5,
                    strides: [0, 24]
                }
            ]
        );
        assert_eq!((p.m, p.n, p.k), (3, 6, 4));
    }

    #[test]
    fn a_shared_right_side_makes_one_tall_product() {
        let (p, shape) = problem(&[2, 5, 3, 4], &[4, 6]);
        assert_eq!(shape.dims(), [2, 5, 3, 6]);
        assert_eq!((p.m, p.a_row, p.batch.len()), (30, 4, 0));
        let transposed = layout(&[2, 4, 3]).transpose(1, 2).unwrap();
        let (p, _) = Problem::new(&transposed, &layout(&[4, 6])).unwrap();
        assert_eq!((p.m, p.batch.len()), (3, 1));
    }

    #[test]
    fn single_rows_of_a_batch_join_too() {
        let (p, _) = problem(&[7, 1, 4], &[4, 6]);
        assert_eq!((p.m, p.a_row, p.batch.len()), (7, 4, 0));
        let (p, _) = problem(&[1, 4], &[4, 1]);
        assert_eq!((p.m, p.n, p.batches(), p.outputs()), (1, 1, 1, 1));
    }

    #[test]
    fn shapes_that_do_not_fit_are_errors_with_both_shapes() {
        let error = Problem::new(&layout(&[2, 3]), &layout(&[4, 5])).unwrap_err();
        assert_eq!(
            error.to_string(),
            "matmul: inner dimensions differ: left is [2, 3], right is [4, 5]"
        );
        assert!(Problem::new(&layout(&[3]), &layout(&[3, 5])).is_err());
        assert!(Problem::new(&layout(&[2, 3, 4]), &layout(&[3, 4, 5])).is_err());
    }
}
