//! Small linear algebra over batches: LU, linear systems, determinants, Cholesky, triangular systems. f32.
//!
//! One workgroup factors one matrix in global memory, so that its size is bound by patience alone ([`MAX_SIDE`]).
//! Nothing waits for the device to say that a matrix is singular: a pivot of 0 divides, and infinities and NaN follow.
//! Invariant: the factorisation has partial pivoting, NaN first, so no NaN of a matrix is lost.

use ziggurat_core::{DType, Shape};
use ziggurat_pipeline::{Arg, Grid};

use crate::limits::budget::pieces;
use crate::limits::split::{Joint, alike};
use crate::num::saturated;
use crate::ops::reduce::geometry::MAX_COUNT;
use crate::run::checks::check_shape;
use crate::run::completion::Completion;
use crate::run::error::KernelError;
use crate::run::executor::Executor;
use crate::run::view::View;
use crate::source::candidate::Candidate;
use crate::source::choice::KernelChoice;
use crate::source::params::{Params, params};
use crate::source::prelude;

/// Most rows of a matrix: one workgroup works through n³ / 3 products.
const MAX_SIDE: usize = 1024;

/// Invocations of a workgroup that factors a matrix, at least, if the device has so many.
const FEWEST_LANES: u32 = 64;

params! {
    /// Parameters of the linear algebra kernels.
    pub(crate) struct LinalgParams {
        batch: u32,
        n: u32,
        columns: u32,
        a_offset: u32,
        b_offset: u32,
        c_offset: u32,
        upper: u32,
        unit: u32,
        first: u32,
        end: u32,
    }
}

/// The kernels, by what they do to matrices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kernel {
    Lu,
    Cholesky,
    Triangular,
    Exchange,
    Determinant,
}

impl Kernel {
    const ALL: [Self; 5] = [
        Self::Lu,
        Self::Cholesky,
        Self::Triangular,
        Self::Exchange,
        Self::Determinant,
    ];

    fn choice(self) -> KernelChoice {
        let (name, body) = match self {
            Self::Lu => ("lu", "linalg/lu.wgsl"),
            Self::Cholesky => ("cholesky", "linalg/cholesky.wgsl"),
            Self::Triangular => ("solve_triangular", "linalg/triangular.wgsl"),
            Self::Exchange => ("exchange_rows", "linalg/exchange.wgsl"),
            Self::Determinant => ("determinant", "linalg/determinant.wgsl"),
        };
        let functions: &[&'static str] = match self {
            Self::Lu | Self::Triangular => &["functions/divide.wgsl"],
            Self::Cholesky => &["functions/divide.wgsl", "functions/sqrt.wgsl"],
            Self::Exchange | Self::Determinant => &[],
        };
        KernelChoice::new(name)
            .name(DType::F32.name())
            .parts(&[prelude::FLOAT, "linalg/params.wgsl"])
            .parts(functions)
            .part(body)
    }
}

pub(crate) fn variants() -> Vec<Candidate> {
    Kernel::ALL
        .into_iter()
        .map(|kernel| Candidate::new(kernel.choice(), LinalgParams::FIELDS))
        .collect()
}

/// A batch of square matrices, and of right sides.
#[derive(Clone, Copy, Debug)]
struct Systems {
    batch: usize,
    n: usize,
    columns: usize,
}

/// The number and side of square matrices.
fn square(op: &'static str, a: &View) -> Result<Systems, KernelError> {
    only_f32(op, "a", a)?;
    let operand = |rule| KernelError::operand(op, "a", rule, *a.shape());
    let (Some((batch, &[rows, cols])), true) = (
        a.dims().split_last_chunk::<2>(),
        a.len() as u64 <= MAX_COUNT,
    ) else {
        return Err(operand("must be [.., n, n] with at most 2^31 elements"));
    };
    if rows != cols {
        return Err(operand("must be square in its last two axes"));
    }
    if rows > MAX_SIDE {
        return Err(operand("must have at most 1,024 rows per matrix"));
    }
    Ok(Systems {
        batch: batch.iter().product(),
        n: rows,
        columns: 0,
    })
}

/// Square matrices and right sides of the same batch.
fn systems(op: &'static str, a: &View, b: &View) -> Result<Systems, KernelError> {
    only_f32(op, "b", b)?;
    let s = square(op, a)?;
    let operands = |rule| KernelError::operands(op, rule, *a.shape(), *b.shape());
    match (
        a.dims().split_last_chunk::<2>(),
        b.dims().split_last_chunk::<2>(),
    ) {
        (Some((a_batch, _)), Some((b_batch, &[rows, columns])))
            if a_batch == b_batch && rows == s.n && b.len() as u64 <= MAX_COUNT =>
        {
            Ok(Systems { columns, ..s })
        }
        _ => Err(operands(
            "right sides must be [.., n, columns] for matrices [.., n, n]",
        )),
    }
}

fn only_f32(op: &'static str, operand: &'static str, view: &View) -> Result<(), KernelError> {
    if view.dtype == DType::F32 {
        return Ok(());
    }
    Err(KernelError::dtype(
        op,
        operand,
        "it must be f32",
        view.dtype,
    ))
}

fn check_output(op: &'static str, expected: &Shape, out: &View) -> Result<(), KernelError> {
    only_f32(op, "out", out)?;
    check_shape(op, out, expected)
}

/// Every axis of the batch.
fn batches<const N: usize>(a: &View) -> Vec<Joint<N>> {
    alike(a.rank().saturating_sub(2), |_| false)
}

impl Executor {
    /// X with A X = B, for `a` `[.., n, n]` and `b` `[.., n, columns]` of the same batch, by LU with partial pivoting, into
    /// `out` of b's shape. A singular matrix gives infinities and NaN. n is at most 1,024.
    ///
    /// # Errors
    /// [`KernelError::Dtype`] unless all are f32; [`KernelError::Operand`] and [`KernelError::Operands`] where shapes do not
    /// fit; [`KernelError::Output`].
    pub fn solve(&self, a: &View, b: &View, out: &View) -> Result<Completion, KernelError> {
        const OP: &str = "solve";
        let s = systems(OP, a, b)?;
        check_output(OP, b.shape(), out)?;
        if out.is_empty() {
            return Ok(self.completion());
        }
        let each = |[a, b, out]: &[View; 3]| self.solve(a, b, out);
        self.whole_or_split(
            OP,
            [a, b, out],
            || batches(a),
            each,
            |out| {
                let (factors, pivots) = self.factors(OP, a, s)?;
                let _recorded = self.copy(b, out)?;
                self.exchange(OP, &pivots, s, out)?;
                self.substitute(OP, &factors, s, [false, true], out)?;
                self.substitute(OP, &factors, s, [true, false], out)
            },
        )
    }

    /// X with T X = B for the upper or lower triangle T of `a` `[.., n, n]`, with ones on its diagonal if `unit`; the rest of
    /// a is ignored. A 0 on the diagonal divides.
    ///
    /// # Errors
    /// Like [`Self::solve`].
    pub fn solve_triangular(
        &self,
        a: &View,
        b: &View,
        upper: bool,
        unit: bool,
        out: &View,
    ) -> Result<Completion, KernelError> {
        const OP: &str = "solve_triangular";
        let s = systems(OP, a, b)?;
        check_output(OP, b.shape(), out)?;
        if out.is_empty() {
            return Ok(self.completion());
        }
        let each = |[a, b, out]: &[View; 3]| self.solve_triangular(a, b, upper, unit, out);
        self.whole_or_split(
            OP,
            [a, b, out],
            || batches(a),
            each,
            |out| {
                let matrices = if a.layout.is_contiguous() {
                    a.clone()
                } else {
                    self.to_dense(OP, a)?
                };
                let _recorded = self.copy(b, out)?;
                self.substitute(OP, &matrices, s, [upper, unit], out)
            },
        )
    }

    /// The determinants of `a` `[.., n, n]` into `out` `[..]`; of a matrix without rows it is 1.
    ///
    /// # Errors
    /// Like [`Self::solve`].
    pub fn determinant(&self, a: &View, out: &View) -> Result<Completion, KernelError> {
        const OP: &str = "determinant";
        let s = square(OP, a)?;
        let batch = a.dims().split_last_chunk::<2>().map_or(&[][..], |(b, _)| b);
        let expected = Shape::new(batch).map_err(KernelError::shape(OP))?;
        check_output(OP, &expected, out)?;
        if out.is_empty() {
            return Ok(self.completion());
        }
        if s.n == 0 {
            return self.fill(out, 1.0);
        }
        let each = |[a, out]: &[View; 2]| self.determinant(a, out);
        self.whole_or_split(
            OP,
            [a, out],
            || batches(a),
            each,
            |out| {
                let (factors, pivots) = self.factors(OP, a, s)?;
                let (read, swaps, write) = (
                    self.bind_read(OP, &factors)?,
                    self.bind_read(OP, &pivots)?,
                    self.bind_write(OP, out)?,
                );
                let params = LinalgParams {
                    a_offset: read.offset,
                    b_offset: swaps.offset,
                    c_offset: write.offset,
                    ..numbers(s)
                };
                let args = [read.arg, swaps.arg, write.arg];
                let grid = Grid::elements(s.batch as u64, 1);
                self.launch(&Kernel::Determinant.choice(), &args, &params, grid)
            },
        )
    }

    /// L with A = L Lᵀ for symmetric positive definite `a` `[.., n, n]`, of which the lower triangle is read; `out` has zeros
    /// above the diagonal. A matrix that is not positive definite gives NaN from the first bad pivot on.
    ///
    /// # Errors
    /// Like [`Self::solve`].
    pub fn cholesky(&self, a: &View, out: &View) -> Result<Completion, KernelError> {
        const OP: &str = "cholesky";
        let s = square(OP, a)?;
        check_output(OP, a.shape(), out)?;
        if out.is_empty() {
            return Ok(self.completion());
        }
        let each = |[a, out]: &[View; 2]| self.cholesky(a, out);
        self.whole_or_split(
            OP,
            [a, out],
            || batches(a),
            each,
            |out| {
                let _recorded = self.copy(a, out)?;
                let write = self.bind_write(OP, out)?;
                let params = LinalgParams {
                    a_offset: write.offset,
                    ..numbers(s)
                };
                self.per_matrix(Kernel::Cholesky, s, &[write.arg], &params)
            },
        )
    }

    /// The LU factors of `a` in one dense view, and the exchanges of rows.
    fn factors(&self, op: &'static str, a: &View, s: Systems) -> Result<(View, View), KernelError> {
        let factors = self.alloc(a.shape(), DType::F32)?;
        let _recorded = self.copy(a, &factors)?;
        let rows = Shape::new([s.batch, s.n]).map_err(KernelError::shape(op))?;
        let pivots = self.alloc(&rows, DType::U32)?;
        let (write, swaps) = (
            self.bind_write(op, &factors)?,
            self.bind_write(op, &pivots)?,
        );
        let params = LinalgParams {
            a_offset: write.offset,
            b_offset: swaps.offset,
            ..numbers(s)
        };
        self.per_matrix(Kernel::Lu, s, &[write.arg, swaps.arg], &params)?;
        Ok((factors, pivots))
    }

    fn exchange(
        &self,
        op: &'static str,
        pivots: &View,
        s: Systems,
        out: &View,
    ) -> Result<(), KernelError> {
        let (read, write) = (self.bind_read(op, pivots)?, self.bind_write(op, out)?);
        let params = LinalgParams {
            a_offset: read.offset,
            b_offset: write.offset,
            ..numbers(s)
        };
        let grid = Grid::elements(s.batch as u64 * s.columns as u64, 1);
        let args = [read.arg, write.arg];
        self.launch(&Kernel::Exchange.choice(), &args, &params, grid)
    }

    fn substitute(
        &self,
        op: &'static str,
        matrices: &View,
        s: Systems,
        [upper, unit]: [bool; 2],
        out: &View,
    ) -> Result<(), KernelError> {
        let (read, write) = (self.bind_read(op, matrices)?, self.bind_write(op, out)?);
        let params = LinalgParams {
            a_offset: read.offset,
            b_offset: write.offset,
            upper: u32::from(upper),
            unit: u32::from(unit),
            ..numbers(s)
        };
        let grid = Grid::elements(s.batch as u64 * s.columns as u64, 1);
        let args = [read.arg, write.arg];
        for [first, end] in pieces(s.n as u64, self.max_iterations(), |step| step + 1) {
            let params = LinalgParams {
                first: saturated(first),
                end: saturated(end),
                ..params
            };
            self.launch(&Kernel::Triangular.choice(), &args, &params, grid)?;
        }
        Ok(())
    }

    fn per_matrix(
        &self,
        kernel: Kernel,
        s: Systems,
        args: &[Arg<'_>],
        params: &LinalgParams,
    ) -> Result<(), KernelError> {
        let limits = &self.device().caps().limits;
        let most = limits
            .max_compute_invocations_per_workgroup
            .min(limits.max_compute_workgroup_size_x);
        // A small workgroup would take too long for one column of a large matrix.
        let wg = self
            .device()
            .caps()
            .workgroup_size
            .max(FEWEST_LANES.min(most));
        let choice = kernel.choice().constant("WG", wg);
        let lanes = u64::from(wg);
        let grid = Grid::elements(s.batch as u64 * lanes, 1);
        for [first, end] in pieces(s.n as u64, self.max_iterations(), |column| {
            column_iterations(s.n as u64 - column, lanes)
        }) {
            let params = LinalgParams {
                first: saturated(first),
                end: saturated(end),
                ..*params
            };
            self.launch(&choice, args, &params, grid)?;
        }
        Ok(())
    }
}

/// Iterations of the loops of one invocation of so many lanes for a column with so many rows from its diagonal on, at most: the
/// search for the pivot, the exchange of rows, the division, and what is left of the matrix.
fn column_iterations(rows: u64, lanes: u64) -> u64 {
    let searched = 64 + MAX_SIDE as u64 / lanes;
    searched + 2 * rows.div_ceil(lanes) + (rows * rows).div_ceil(lanes)
}

fn numbers(s: Systems) -> LinalgParams {
    LinalgParams {
        batch: saturated(s.batch as u64),
        n: saturated(s.n as u64),
        columns: saturated(s.columns as u64),
        ..LinalgParams::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: u64 = 1 << 15;

    #[test]
    fn long_eliminations_are_cut_into_dispatches() {
        for lanes in [u64::from(FEWEST_LANES), 256] {
            let iterations = |column| column_iterations(MAX_SIDE as u64 - column, lanes);
            let pieces = pieces(MAX_SIDE as u64, MOST, iterations);
            assert!(pieces.len() > 1);
            let mut next = 0;
            for &[first, end] in &pieces {
                assert!(first == next && end > first);
                next = end;
                let sum: u64 = (first..end).map(iterations).sum();
                assert!(sum <= MOST);
            }
            assert_eq!(next, MAX_SIDE as u64);
        }
    }
}
