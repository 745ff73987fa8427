//! How often values occur: whole numbers, and those between edges.

use ziggurat_core::DType;

use super::count;
use crate::compose::assemble::{expand, narrow, vector};
use crate::compose::composite::{Composite, Formula};
use crate::fused::{Expression, FusedOp};
use crate::ops::elementwise::binary::Binary;
use crate::ops::elementwise::compare::Compare;
use crate::ops::index::Scatter;
use crate::ops::reduce::Reduce;
use crate::run::checks::{check_dtype, check_shape};
use crate::run::completion::{Completion, Counted};
use crate::run::error::KernelError;
use crate::run::executor::Executor;
use crate::run::view::View;

impl Executor {
    /// How often each of 0, 1, 2, … occurs in a vector of integers (i32), up to its greatest element but at least
    /// `min_length` of them; with weights, their sums in the weights' dtype.
    ///
    /// `a` and the weights are read when the future resolves.
    ///
    /// # Errors
    /// [`KernelError::Operand`] if `a` is no vector; [`KernelError::Dtype`] if it does not hold integers;
    /// [`KernelError::Operands`] if the weights are not as many; [`KernelError::Option`], from the future, for a negative
    /// element; and as [`Executor::nonzero`].
    pub fn bincount(
        &self,
        a: &View,
        weights: Option<&View>,
        min_length: usize,
    ) -> Result<Counted<View>, KernelError> {
        const OP: &str = "bincount";
        check_dtype(OP, "a", a.dtype, a.dtype.is_int(), "it must be an integer")?;
        if a.rank() != 1 {
            return Err(KernelError::operand(
                OP,
                "a",
                "must be a vector",
                *a.shape(),
            ));
        }
        let weights = match weights {
            Some(weights) if weights.shape() != a.shape() => {
                return Err(KernelError::operands(
                    OP,
                    "there must be as many weights as elements",
                    *a.shape(),
                    *weights.shape(),
                ));
            }
            Some(weights) => weights.clone(),
            None => expand(OP, &self.scalar(DType::I32, 1.0)?, *a.shape())?,
        };
        a.check()?;
        let least_len = vector(OP, min_length)?;
        let exec = self.clone();
        if a.is_empty() {
            let none = self.alloc(&least_len, weights.dtype)?;
            let _cleared = self.fill(&none, 0.0)?;
            return Ok(Counted::known(none));
        }
        let places = self.positions(a)?;
        let one = vector(OP, 1)?;
        let (least, most) = (self.alloc(&one, DType::I32)?, self.alloc(&one, DType::I32)?);
        let _least = self.reduce(Reduce::Min, &places, &[0], &least)?;
        let _most = self.reduce(Reduce::Max, &places, &[0], &most)?;
        let read = self.download_many(&[&least, &most])?;
        Ok(Counted::new(read, move |numbers| {
            let least = numbers.first().copied().unwrap_or(0);
            if least < 0 {
                return Err(KernelError::option(
                    OP,
                    "an element",
                    "must not be negative",
                    i64::from(least),
                ));
            }
            let most = count(numbers.get(1..).unwrap_or(&[])).saturating_add(1);
            let counts = exec.alloc(&vector(OP, most.max(min_length))?, weights.dtype)?;
            let _cleared = exec.fill(&counts, 0.0)?;
            let _added = exec.scatter(Scatter::Add, &weights, 0, &places, &counts)?;
            Ok(counts)
        }))
    }

    /// How many elements lie between neighbours of `edges`, an ascending f32 vector, into `out` (i32): by comparison, so
    /// that no rounding of a quotient moves an element. The last edge belongs to the part before it; elements outside and
    /// NaN are not counted.
    ///
    /// # Errors
    /// [`KernelError::Dtype`] unless the edges are f32 and `out` is i32; [`KernelError::Operand`] unless the edges are a
    /// vector of at least two; [`KernelError::Output`] unless `out` has one element less.
    pub fn histogram(&self, a: &View, edges: &View, out: &View) -> Result<Completion, KernelError> {
        const OP: &str = "histogram";
        check_dtype(
            OP,
            "edges",
            edges.dtype,
            edges.dtype == DType::F32,
            "edges are f32",
        )?;
        check_dtype(
            OP,
            "out",
            out.dtype,
            out.dtype == DType::I32,
            "counts are i32",
        )?;
        let bins = edges.len().saturating_sub(1);
        if edges.rank() != 1 || bins == 0 {
            return Err(KernelError::operand(
                OP,
                "edges",
                "must be a vector of at least two",
                *edges.shape(),
            ));
        }
        check_shape(OP, out, &vector(OP, bins)?)?;
        a.check()?;
        edges.check()?;
        if a.is_empty() {
            return self.fill(out, 0.0);
        }
        let values = self.flattened(OP, &self.converted(a, DType::F32)?)?;
        let behind = self.alloc(values.shape(), DType::I32)?;
        let _found = self.search_sorted(edges, &values, true, &behind)?;
        let mut e = Expression::new();
        let at = e.input(behind);
        let mut f = Formula(&mut e);
        let at = f.with(Binary::Sub, &at, 1.0)?;
        let at = f.with(Binary::Minimum, &at, bins as f64 - 1.0)?;
        let at = f.with(Binary::Maximum, &at, 0.0)?;
        let places = self.computed(&e, at, values.shape())?;
        let mut e = Expression::new();
        let x = e.input(values.clone());
        let low = e.input(narrow(OP, edges, 0, 0, 1)?);
        let high = e.input(narrow(OP, edges, 0, bins, 1)?);
        let above = e.op(FusedOp::Compare(Compare::Ge), &[x, low])?;
        let below = e.op(FusedOp::Compare(Compare::Le), &[x, high])?;
        let inside = e.op(FusedOp::Binary(Binary::BitwiseAnd), &[above, below])?;
        let inside = e.op(FusedOp::Cast(DType::I32), &[inside])?;
        let inside = self.computed(&e, inside, values.shape())?;
        let _cleared = self.fill(out, 0.0)?;
        self.scatter(Scatter::Add, &inside, 0, &places, out)
    }

    /// [`Executor::histogram`] with as many equal parts as `out` has elements, of any dtype but bool. With equal bounds they
    /// lie between the least and the greatest element, or where those are equal from one less to one more.
    ///
    /// # Errors
    /// [`KernelError::Number`] unless the bounds are finite and not the wrong way round; [`KernelError::Dtype`] for bool;
    /// [`KernelError::Operand`] unless `out` is a vector of at least one.
    pub fn histc(
        &self,
        a: &View,
        low: f32,
        high: f32,
        out: &View,
    ) -> Result<Completion, KernelError> {
        const OP: &str = "histc";
        for (number, got) in [("low", low), ("high", high)] {
            if !got.is_finite() {
                return Err(KernelError::Number {
                    op: OP,
                    number,
                    rule: "must be finite",
                    got: f64::from(got),
                });
            }
        }
        if low > high {
            return Err(KernelError::Number {
                op: OP,
                number: "low",
                rule: "must not be above high",
                got: f64::from(low),
            });
        }
        check_dtype(
            OP,
            "out",
            out.dtype,
            !out.dtype.is_bool(),
            "counts are numbers",
        )?;
        if out.rank() != 1 || out.is_empty() {
            return Err(KernelError::operand(
                OP,
                "out",
                "must be a vector of at least one",
                *out.shape(),
            ));
        }
        let edges = self.alloc(&vector(OP, out.len() + 1)?, DType::F32)?;
        if low < high || a.is_empty() {
            let (low, high) = if low < high {
                (low, high)
            } else {
                (low - 1.0, low + 1.0)
            };
            let _spaced = self.linspace(low, high, &edges)?;
        } else {
            self.edges_of(OP, a, &edges)?;
        }
        let counts = self.alloc(out.shape(), DType::I32)?;
        let _counted = self.histogram(a, &edges, &counts)?;
        self.cast(&counts, out)
    }

    /// Evenly spaced edges between the extremes of `a`, or around its only value.
    fn edges_of(&self, op: &'static str, a: &View, edges: &View) -> Result<(), KernelError> {
        let values = self.flattened(op, &self.converted(a, DType::F32)?)?;
        let one = vector(op, 1)?;
        let (least, most) = (self.alloc(&one, DType::F32)?, self.alloc(&one, DType::F32)?);
        let _least = self.reduce(Reduce::Min, &values, &[0], &least)?;
        let _most = self.reduce(Reduce::Max, &values, &[0], &most)?;
        let shares = self.alloc(edges.shape(), DType::F32)?;
        let _spaced = self.linspace(0.0, 1.0, &shares)?;
        let mut e = Expression::new();
        let (least, most, shares) = (e.input(least), e.input(most), e.input(shares));
        let same = e.op(FusedOp::Compare(Compare::Eq), &[least, most])?;
        let mut f = Formula(&mut e);
        let lower = f.with(Binary::Sub, &least, 1.0)?;
        let upper = f.with(Binary::Add, &most, 1.0)?;
        let lower = f.choose(&same, &lower, &least)?;
        let upper = f.choose(&same, &upper, &most)?;
        let value = Composite::Lerp.compose(&mut e, &[&lower, &upper, &shares], &[])?;
        let _written = self.written(e, value, edges)?;
        Ok(())
    }
}
