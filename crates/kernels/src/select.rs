//! Selections whose size depends on the values, and counts of values.
//!
//! How many there are is known on the device only: what needs the number is a [`Counted`], which reads it once. Places of
//! what is selected come from running counts of the marks, in which the n-th place is found by bisection: two kernels, and
//! places in row-major order.
//!
//! Invariants: nothing is read but these numbers; a result has exactly as many elements as were selected.

use ziggurat_core::{DType, Shape, broadcast_shapes};

use crate::assemble::{
    along, check_axis, check_dtype, check_shape, expand, narrow, unsqueeze, vector,
};
use crate::completion::{Completion, Counted};
use crate::composite::{Composite, Formula, formulas};
use crate::elementwise::binary::Binary;
use crate::elementwise::compare::Compare;
use crate::error::KernelError;
use crate::executor::Executor;
use crate::fused::{Expression, FusedOp};
use crate::index::Scatter;
use crate::reduce::Reduce;
use crate::scan::{Scan, ScanOptions};
use crate::view::View;

/// The different values of a view; see [`Executor::unique`].
#[derive(Clone, Debug)]
pub struct Unique {
    /// Each value once, ascending; every NaN is a value of its own.
    pub values: View,
    /// For each element which of the values it is (i32), in the view's shape.
    pub inverse: View,
    /// How often each value occurs (i32).
    pub counts: View,
}

/// A count that the device gave.
fn count(numbers: &[i32]) -> usize {
    numbers
        .first()
        .and_then(|&n| usize::try_from(n).ok())
        .unwrap_or(0)
}

fn check_mask(op: &'static str, mask: &View) -> Result<(), KernelError> {
    let dtype = mask.dtype;
    check_dtype(op, "mask", dtype, dtype.is_bool(), "it must be bool")
}

fn last(op: &'static str, ends: &View) -> Result<View, KernelError> {
    narrow(op, ends, 0, ends.len().saturating_sub(1), 1)
}

impl Executor {
    /// The places of all elements that are not 0 (NaN is not), as `[count, rank]` (i32), in row-major order.
    ///
    /// ```
    /// # use ziggurat_kernels::{Executor, KernelError, Shape, device::DeviceOptions};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let Ok(exec) = Executor::open_blocking(DeviceOptions::default()) else { return Ok(()) };
    /// let a = exec.upload(&[0.0_f32, 2.0, 3.0, 0.0], &Shape::new([2, 2])?)?;
    /// let places = exec.nonzero(&a)?.wait()?;
    /// assert_eq!(places.dims(), [2, 2]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`KernelError::InCapture`]; [`KernelError::IndexTooLarge`], and the errors of the layers below, where running counts
    /// exceed a binding.
    pub fn nonzero(&self, a: &View) -> Result<Counted<View>, KernelError> {
        const OP: &str = "nonzero";
        let shape = *a.shape();
        let Some(ends) = self.running_marks(OP, a)? else {
            let none = Shape::new([0, shape.rank()]).map_err(KernelError::shape(OP))?;
            return Ok(Counted::known(self.alloc(&none, DType::I32)?));
        };
        let (exec, read) = (self.clone(), self.download_many(&[&last(OP, &ends)?])?);
        Ok(Counted::new(read, move |numbers| {
            let places = exec.marked_places(OP, &ends, count(numbers))?;
            exec.coordinates(OP, &places, &shape)
        }))
    }

    /// The elements of `a` where `mask` (bool) is true, as a vector in row-major order; both broadcast.
    ///
    /// `a` is read when the future resolves.
    ///
    /// # Errors
    /// [`KernelError::Dtype`] if the mask is not bool; [`KernelError::Shape`] if the shapes do not broadcast; and as
    /// [`Executor::nonzero`].
    pub fn masked_select(&self, a: &View, mask: &View) -> Result<Counted<View>, KernelError> {
        const OP: &str = "masked_select";
        check_mask(OP, mask)?;
        let shape =
            broadcast_shapes(&[*a.shape(), *mask.shape()]).map_err(KernelError::shape(OP))?;
        a.check()?;
        let flat = self.flattened(OP, &expand(OP, a, shape)?)?;
        let Some(ends) = self.running_marks(OP, &expand(OP, mask, shape)?)? else {
            return Ok(Counted::known(self.alloc(&vector(OP, 0)?, a.dtype)?));
        };
        let (exec, read) = (self.clone(), self.download_many(&[&last(OP, &ends)?])?);
        Ok(Counted::new(read, move |numbers| {
            let places = exec.marked_places(OP, &ends, count(numbers))?;
            exec.picked(OP, &flat, &places)
        }))
    }

    /// The different values of all elements, which of them each element is, and how often each occurs.
    ///
    /// # Errors
    /// As [`Executor::nonzero`].
    pub fn unique(&self, a: &View) -> Result<Counted<Unique>, KernelError> {
        const OP: &str = "unique";
        a.check()?;
        let inverse = self.alloc(a.shape(), DType::I32)?;
        let none = vector(OP, 0)?;
        if a.is_empty() {
            return Ok(Counted::known(Unique {
                values: self.alloc(&none, a.dtype)?,
                inverse,
                counts: self.alloc(&none, DType::I32)?,
            }));
        }
        let flat = self.flattened(OP, a)?;
        let (sorted, order) = (
            self.alloc(flat.shape(), a.dtype)?,
            self.alloc(flat.shape(), DType::I32)?,
        );
        let _sorted = self.sort(&flat, 0, false, (&sorted, &order))?;
        let ends = self.groups(OP, &sorted)?;
        let mut e = Expression::new();
        let end = e.input(ends.clone());
        let group = Formula(&mut e).with(Binary::Sub, &end, 1.0)?;
        let groups = self.computed(&e, group, ends.shape())?;
        let target = self.flattened(OP, &inverse)?;
        let _placed = self.scatter(Scatter::Set, &groups, 0, &order, &target)?;
        let (exec, read) = (self.clone(), self.download_many(&[&last(OP, &ends)?])?);
        Ok(Counted::new(read, move |numbers| {
            let count = count(numbers);
            // One place more: where the last group ends.
            let bounds = exec.marked_places(OP, &ends, count + 1)?;
            let starts = narrow(OP, &bounds, 0, 0, count)?;
            let counts = exec.alloc(starts.shape(), DType::I32)?;
            let _counted = exec.sub(&narrow(OP, &bounds, 0, 1, count)?, &starts, &counts)?;
            Ok(Unique {
                values: exec.picked(OP, &sorted, &starts)?,
                inverse,
                counts,
            })
        }))
    }

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
            return Err(KernelError::Operand {
                op: OP,
                operand: "a",
                rule: "must be a vector",
                got: Box::new(*a.shape()),
            });
        }
        let weights = match weights {
            Some(weights) if weights.shape() != a.shape() => {
                return Err(KernelError::Operands {
                    op: OP,
                    rule: "there must be as many weights as elements",
                    left: Box::new(*a.shape()),
                    right: Box::new(*weights.shape()),
                });
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
                return Err(KernelError::Option {
                    op: OP,
                    option: "an element",
                    rule: "must not be negative",
                    got: i64::from(least),
                });
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
            return Err(KernelError::Operand {
                op: OP,
                operand: "edges",
                rule: "must be a vector of at least two",
                got: Box::new(*edges.shape()),
            });
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
            return Err(KernelError::Operand {
                op: OP,
                operand: "out",
                rule: "must be a vector of at least one",
                got: Box::new(*out.shape()),
            });
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

    /// As many f32 numbers as `out` has elements, evenly spaced from `start` to `end`, both exact; one is `start`.
    ///
    /// # Errors
    /// [`KernelError::Number`] unless the bounds are finite; [`KernelError::Dtype`] if `out` is no float.
    pub fn linspace(&self, start: f32, end: f32, out: &View) -> Result<Completion, KernelError> {
        const OP: &str = "linspace";
        for (number, got) in [("start", start), ("end", end)] {
            if !got.is_finite() {
                return Err(KernelError::Number {
                    op: OP,
                    number,
                    rule: "must be finite",
                    got: f64::from(got),
                });
            }
        }
        check_dtype(
            OP,
            "out",
            out.dtype,
            out.dtype.is_float(),
            "it must be a float",
        )?;
        if out.len() < 2 {
            return self.fill(out, f64::from(start));
        }
        let places = self.alloc(out.shape(), DType::F32)?;
        let _counted = self.arange(&places, 0.0, 1.0)?;
        let mut e = Expression::new();
        let place = e.input(places);
        let bounds = [f64::from(start), f64::from(end)];
        let value = formulas::linspace(&mut e, &place, bounds, out.len())?;
        self.written(e, value, out)
    }

    /// Each position of an axis as often in a row as its element of `repeats` says: a vector of integers, one for all or
    /// one per position.
    ///
    /// `a` is read when the future resolves.
    ///
    /// # Errors
    /// [`KernelError::Shape`] for an axis that `a` does not have; [`KernelError::Dtype`] unless the repeats are integers;
    /// [`KernelError::Operands`] unless there are one or as many as positions; [`KernelError::Option`], from the future, if
    /// one is negative or they are 2³¹ or more together.
    pub fn repeat_interleave_by(
        &self,
        a: &View,
        repeats: &View,
        axis: usize,
    ) -> Result<Counted<View>, KernelError> {
        const OP: &str = "repeat_interleave_by";
        let extent = check_axis(OP, a, axis)?;
        let dtype = repeats.dtype;
        check_dtype(
            OP,
            "repeats",
            dtype,
            dtype.is_int(),
            "it must be an integer",
        )?;
        if !(matches!(repeats.dims(), [1]) || repeats.dims() == [extent]) {
            return Err(KernelError::Operands {
                op: OP,
                rule: "there must be one number of repeats or one per position",
                left: Box::new(*a.shape()),
                right: Box::new(*repeats.shape()),
            });
        }
        a.check()?;
        if extent == 0 {
            return Ok(Counted::known(self.alloc(a.shape(), a.dtype)?));
        }
        let each = self.positions(repeats)?;
        let each = expand(OP, &each, vector(OP, extent)?)?;
        let (ends, total) = (
            self.alloc(each.shape(), DType::I32)?,
            self.alloc(&vector(OP, 1)?, DType::F32)?,
        );
        let _ends = self.scan(Scan::Sum, &each, 0, ScanOptions::default(), &ends)?;
        let least = self.alloc(total.shape(), DType::I32)?;
        let _least = self.reduce(Reduce::Min, &each, &[0], &least)?;
        // Whether the sum fits is asked of f32, which does not wrap.
        let mut e = Expression::new();
        let number = e.input(each.clone());
        let number = e.op(FusedOp::Cast(DType::F32), &[number])?;
        let all = crate::fused::FusedInput {
            expression: &e,
            value: number,
            shape: *each.shape(),
        };
        let _total = self.reduce_values(Reduce::Sum, &all, &[0], &total)?;
        let total = self.converted(&total, DType::I32)?;
        let (exec, source) = (self.clone(), a.clone());
        let read = self.download_many(&[&last(OP, &ends)?, &least, &total])?;
        Ok(Counted::new(read, move |numbers| {
            let refuse = |rule, got| KernelError::Option {
                op: OP,
                option: "repeats",
                rule,
                got: i64::from(got),
            };
            let (sum, least, about) = match *numbers {
                [sum, least, about, ..] => (sum, least, about),
                _ => (0, 0, 0),
            };
            if least < 0 {
                return Err(refuse("must not be negative", least));
            }
            if about == i32::MAX || sum < 0 {
                return Err(refuse("must be less than 2^31 together", about));
            }
            let sum = usize::try_from(sum).unwrap_or(0);
            let wanted = exec.counting(OP, 0.0, sum)?;
            let places = exec.alloc(wanted.shape(), DType::I32)?;
            let _found = exec.search_sorted(&ends, &wanted, true, &places)?;
            let mut dims = source.dims().to_vec();
            if let Some(dim) = dims.get_mut(axis) {
                *dim = sum;
            }
            let shape = Shape::new(&dims).map_err(KernelError::shape(OP))?;
            let out = exec.alloc(&shape, source.dtype)?;
            let _picked = exec.index_select(&source, axis, &places, &out)?;
            Ok(out)
        }))
    }

    /// `a` with its elements where `mask` (bool, which broadcasts) is true replaced by those of `source`, one after the
    /// other in row-major order. Where `source` has too few, its last one is taken again.
    ///
    /// # Errors
    /// [`KernelError::Dtype`] unless the mask is bool and the others agree; [`KernelError::Shape`] if the mask does not
    /// broadcast; [`KernelError::Output`]; [`KernelError::Operand`] if `source` is empty and `a` is not.
    pub fn masked_scatter(
        &self,
        a: &View,
        mask: &View,
        source: &View,
        out: &View,
    ) -> Result<Completion, KernelError> {
        const OP: &str = "masked_scatter";
        check_mask(OP, mask)?;
        for (operand, view) in [("source", source), ("out", out)] {
            let rule = "it must have the dtype of a";
            check_dtype(OP, operand, view.dtype, view.dtype == a.dtype, rule)?;
        }
        check_shape(OP, out, a.shape())?;
        let mask = expand(OP, mask, *a.shape())?;
        if source.is_empty() && !a.is_empty() {
            return Err(KernelError::Operand {
                op: OP,
                operand: "source",
                rule: "must have elements",
                got: Box::new(*source.shape()),
            });
        }
        let Some(ends) = self.running_marks(OP, &mask)? else {
            return Ok(self.completion());
        };
        let mut e = Expression::new();
        let end = e.input(ends.clone());
        let place = formulas::place_of_mark(&mut e, &end)?;
        let places = self.computed(&e, place, ends.shape())?;
        let spread = self.picked(OP, &self.flattened(OP, source)?, &places)?;
        let layout = ziggurat_core::Layout::contiguous(*a.shape());
        self.where_(&mask, &spread.with_layout(layout)?, a, out)
    }

    /// How many of the elements up to each are not 0, as a vector (i32); nothing where there are none.
    fn running_marks(&self, op: &'static str, a: &View) -> Result<Option<View>, KernelError> {
        a.check()?;
        if a.is_empty() {
            return Ok(None);
        }
        let marks = self.flattened(op, &self.converted(a, DType::Bool)?)?;
        let ends = self.alloc(marks.shape(), DType::I32)?;
        let _scanned = self.scan(Scan::Sum, &marks, 0, ScanOptions::default(), &ends)?;
        Ok(Some(ends))
    }

    /// Running counts of where a sorted vector has another value than before.
    fn groups(&self, op: &'static str, sorted: &View) -> Result<View, KernelError> {
        let marks = self.alloc(sorted.shape(), DType::Bool)?;
        let _first = self.fill(&narrow(op, &marks, 0, 0, 1)?, 1.0)?;
        let changes = sorted.len() - 1;
        let before = narrow(op, sorted, 0, 0, changes)?;
        let after = narrow(op, sorted, 0, 1, changes)?;
        let _changed = self.ne(&after, &before, &narrow(op, &marks, 0, 1, changes)?)?;
        let ends = self.alloc(sorted.shape(), DType::I32)?;
        let _scanned = self.scan(Scan::Sum, &marks, 0, ScanOptions::default(), &ends)?;
        Ok(ends)
    }

    /// Where the first `count` marks stand, from their running counts; beyond the last one it is the length.
    fn marked_places(
        &self,
        op: &'static str,
        ends: &View,
        count: usize,
    ) -> Result<View, KernelError> {
        let wanted = self.counting(op, 1.0, count)?;
        let places = self.alloc(wanted.shape(), DType::I32)?;
        let _found = self.search_sorted(ends, &wanted, false, &places)?;
        Ok(places)
    }

    /// Elements of a vector.
    fn picked(&self, op: &'static str, flat: &View, places: &View) -> Result<View, KernelError> {
        let out = self.alloc(&vector(op, places.len())?, flat.dtype)?;
        if !places.is_empty() {
            let _picked = self.index_select(flat, 0, places, &out)?;
        }
        Ok(out)
    }

    /// Row-major places as a row of indices each.
    fn coordinates(
        &self,
        op: &'static str,
        places: &View,
        shape: &Shape,
    ) -> Result<View, KernelError> {
        let dims = shape.dims();
        let all = Shape::new([places.len(), dims.len()]).map_err(KernelError::shape(op))?;
        let out = self.alloc(&all, DType::I32)?;
        if out.is_empty() {
            return Ok(out);
        }
        let axes = vector(op, dims.len())?;
        let word = |n: usize| i32::try_from(n).unwrap_or(i32::MAX);
        let extents: Vec<i32> = dims.iter().map(|&dim| word(dim)).collect();
        let steps: Vec<i32> = (1..=dims.len())
            .map(|from| word(dims.iter().skip(from).product()))
            .collect();
        let mut e = Expression::new();
        let place = e.input(unsqueeze(op, places, 1)?);
        let step = e.input(along(op, &self.upload(&steps, &axes)?, 1, 2)?);
        let extent = e.input(along(op, &self.upload(&extents, &axes)?, 1, 2)?);
        let outer = e.op(FusedOp::Binary(Binary::Div), &[place, step])?;
        let value = e.op(FusedOp::Binary(Binary::Fmod), &[outer, extent])?;
        let _written = self.written(e, value, &out)?;
        Ok(out)
    }
}
