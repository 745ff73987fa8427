//! Selections whose size depends on the values, and counts of values.
//!
//! How many there are is known on the device only: what needs the number is a [`Counted`], which reads it once. Places of
//! what is selected come from running counts of the marks, in which the n-th place is found by bisection: two kernels, and
//! places in row-major order.
//!
//! Invariants: nothing is read but these numbers; a result has exactly as many elements as were selected.

use ziggurat_core::{DType, Shape, broadcast_shapes};

use crate::compose::assemble::{along, expand, narrow, unsqueeze, vector};
use crate::compose::composite::Formula;
use crate::fused::{Expression, FusedOp};
use crate::ops::elementwise::binary::Binary;
use crate::ops::elementwise::compare::Compare;
use crate::ops::index::Scatter;
use crate::ops::reduce::Reduce;
use crate::ops::scan::{Scan, ScanOptions};
use crate::run::checks::{check_axis, check_dtype};
use crate::run::completion::Counted;
use crate::run::error::KernelError;
use crate::run::executor::Executor;
use crate::run::view::View;

mod counts;

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
    /// use ziggurat_kernels::{Executor, KernelError, Shape, device::DeviceOptions};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let exec = Executor::open_blocking(DeviceOptions::default())?;
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
            return Err(KernelError::operands(
                OP,
                "there must be one number of repeats or one per position",
                *a.shape(),
                *repeats.shape(),
            ));
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
            let refuse = |rule, got| KernelError::option(OP, "repeats", rule, i64::from(got));
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
        let changed = narrow(op, &marks, 0, 1, changes)?;
        if sorted.dtype.is_float() {
            self.differing(op, sorted, &changed)?;
        } else {
            let _changed = self.ne(&after, &before, &changed)?;
        }
        let ends = self.alloc(sorted.shape(), DType::I32)?;
        let _scanned = self.scan(Scan::Sum, &marks, 0, ScanOptions::default(), &ends)?;
        Ok(ends)
    }

    /// Whether each float of a vector but the first is another value than the one before. By bits, as it was sorted: an
    /// adapter may take subnormals for 0 where it compares numbers. NaN differs from everything, zeros do not differ.
    fn differing(&self, op: &'static str, sorted: &View, out: &View) -> Result<(), KernelError> {
        let wide = self.converted(sorted, DType::F32)?;
        let bits = View {
            dtype: DType::I32,
            ..wide
        };
        let mut e = Expression::new();
        let (before, after) = (
            e.input(narrow(op, &bits, 0, 0, out.len())?),
            e.input(narrow(op, &bits, 0, 1, out.len())?),
        );
        let mut f = Formula(&mut e);
        let magnitude = f.with(Binary::BitwiseAnd, &after, f64::from(i32::MAX))?;
        let nan = f.is(Compare::Gt, &magnitude, f64::from(0x7f80_0000))?;
        let mut values = Vec::with_capacity(2);
        for value in [&before, &after] {
            let negative_zero = f.is(Compare::Eq, value, f64::from(i32::MIN))?;
            let zero = f.constant_like(value, 0.0);
            values.push(f.choose(&negative_zero, &zero, value)?);
        }
        let other = e.op(FusedOp::Compare(Compare::Ne), &values)?;
        let differs = e.op(FusedOp::Binary(Binary::BitwiseOr), &[other, nan])?;
        self.written(e, differs, out).map(drop)
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
        if dims.len() == 1 {
            return unsqueeze(op, places, 1);
        }
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
