//! Sorting by radix: any number of rows of any length, stable.
//!
//! Elements become unsigned keys in the order wanted; pairs of a key and a place are then sorted by one digit of eight bits
//! after the other, least first, each pass keeping the order of equal digits. Rows are sorted together, with the row as the
//! most significant digits.
//!
//! Invariants: equal elements keep their order, in both directions; NaN is greater than everything, −0 equals +0; the same
//! result on every run.

use ziggurat_core::{DType, DTypeKind, Layout, Shape, coalesce};
use ziggurat_pipeline::Grid;

use crate::limits::split::{halves, halving_except};
use crate::ops::elementwise::dispatch::{StridedParams, axes, count};
use crate::run::checks::check_shape;
use crate::run::completion::Completion;
use crate::run::error::KernelError;
use crate::run::executor::Executor;
use crate::run::view::View;
use crate::source::candidate::Candidate;
use crate::source::choice::KernelChoice;
use crate::source::params::{Params, params};
use crate::source::prelude;

mod block;
mod digits;
mod merge;
mod ranked;
mod search;

pub(crate) use digits::Pairs;

const OP: &str = "argsort";
/// Elements that are sorted at once: blocks and their digits are counted in u32, with room for a folded grid.
const MAX_SORTED: u64 = 1 << 30;

params! {
    /// Parameters of the split of places.
    pub(crate) struct SplitParams {
        len: u32,
        by: u32,
        offset_out: u32,
    }
}

/// Bits of a dtype's keys: floats of any width are sorted by the bits of their value in f32.
const fn key_bits(dtype: DType) -> u32 {
    match dtype.info().kind {
        DTypeKind::Bool => 1,
        DTypeKind::Int { .. } => 8 * dtype.bytes() as u32,
        DTypeKind::Float { .. } => 32,
    }
}

/// A choice with the parts that turn elements into keys.
fn keyed(choice: KernelChoice, dtype: DType) -> KernelChoice {
    let choice = choice.parts(&[prelude::FLOAT, prelude::load(dtype)]);
    match dtype.info().kind {
        DTypeKind::Float { .. } => choice.part("sort/key/float.wgsl"),
        DTypeKind::Bool => choice.part("sort/key/bool.wgsl"),
        // The sign bit is flipped, so that negative numbers come first.
        DTypeKind::Int { signed } => choice.part("sort/key/int.wgsl").constant(
            "BIAS",
            if signed {
                1_u32 << (key_bits(dtype) - 1)
            } else {
                0
            },
        ),
    }
}

/// A choice with the parts that turn elements into keys in the order wanted.
fn directed(choice: KernelChoice, dtype: DType, descending: bool) -> KernelChoice {
    keyed(choice, dtype)
        .part("sort/direction.wgsl")
        .constant("DESCENDING", u8::from(descending))
        .constant("KEY_MASK", u32::MAX >> (32 - key_bits(dtype)))
}

fn keys(dtype: DType, rank: u32, descending: bool) -> KernelChoice {
    let choice = KernelChoice::new("sort")
        .name("keys")
        .name(dtype.name())
        .part("elementwise/strided_params.wgsl");
    directed(choice, dtype, descending)
        .parts(&["elementwise/address.wgsl", "sort/keys.wgsl"])
        .constant("RANK", rank)
}

fn split(remainder: bool) -> KernelChoice {
    KernelChoice::new("sort")
        .name("split")
        .part("sort/split.wgsl")
        .constant("REMAINDER", u8::from(remainder))
}

/// Keys of and searches for every dtype, and the passes.
pub(crate) fn variants() -> Vec<Candidate> {
    let mut all = vec![
        Candidate::new(split(false), SplitParams::FIELDS),
        Candidate::new(split(true), SplitParams::FIELDS),
    ];
    all.extend(digits::variants());
    all.extend(block::variants());
    for dtype in DType::ALL {
        all.push(Candidate::new(keys(dtype, 4, true), StridedParams::FIELDS));
        all.push(search::variant(dtype));
    }
    all
}

/// The widest workgroup whose marks fit the least workgroup memory that a device may have (16 KiB).
fn workgroup(preferred: u32) -> u32 {
    preferred.clamp(1, 256)
}

impl Executor {
    /// Writes the positions along `axis` that sort `a`: `out[.., i, ..]` is where the `i`-th element of its row stands, as
    /// i32. Equal elements keep their order, also when descending; NaN is the greatest.
    ///
    /// # Errors
    /// [`KernelError::Dtype`] if `out` is not i32; [`KernelError::Shape`] for an axis that `a` does not have;
    /// [`KernelError::Output`] for another shape.
    pub fn argsort(
        &self,
        a: &View,
        axis: usize,
        descending: bool,
        out: &View,
    ) -> Result<Completion, KernelError> {
        if out.dtype != DType::I32 {
            return Err(KernelError::dtype(
                OP,
                "out",
                "positions are i32",
                out.dtype,
            ));
        }
        if axis >= a.rank() {
            return Err(KernelError::axis(OP, axis, a.rank()));
        }
        check_shape(OP, out, a.shape())?;
        a.check()?;
        if a.is_empty() {
            return Ok(self.completion());
        }
        let len = a.dims().get(axis).copied().unwrap_or(1);
        if len == 1 {
            return self.fill(out, 0.0);
        }
        let (a, out) = (rows_last(a, axis)?, rows_last(out, axis)?);
        self.with_dense_out(OP, &out, &[&a], |out| {
            self.sort_parts(&a, count(OP, len)?, descending, out)
        })?;
        Ok(self.completion())
    }

    /// Sorts into a dense output, some rows after the others where the elements or their keys exceed a binding.
    fn sort_parts(
        &self,
        a: &View,
        row: u32,
        descending: bool,
        out: &View,
    ) -> Result<(), KernelError> {
        let keys = (a.len() as u64).saturating_mul(DType::U32.bytes() as u64);
        let many = keys > self.device().caps().max_binding_bytes;
        let last = out.rank().saturating_sub(1);
        if (many || a.len() as u64 > MAX_SORTED || self.exceeds_binding(&[a, out]))
            && let Some((cut, at)) = halving_except(&out.layout, last)
        {
            let (a, out) = (halves(OP, a, cut, at)?, halves(OP, out, cut, at)?);
            for (a, out) in a.iter().zip(&out) {
                self.with_dense_out(OP, out, &[], |out| self.sort_parts(a, row, descending, out))?;
            }
            return Ok(());
        }
        if row > 1 && (many || self.exceeds_binding(&[out]) || a.len() as u64 > MAX_SORTED) {
            return self.sort_long_row(a, descending, out);
        }
        if self.exceeds_binding(&[a]) {
            let a = self.to_dense(OP, a)?;
            return self.sort_rows(&a, row, descending, out);
        }
        self.sort_rows(a, row, descending, out)
    }

    /// The elements of `a` in order along `axis` into `values`, and where they stood into `places` (i32); see
    /// [`Executor::argsort`].
    ///
    /// # Errors
    /// As [`Executor::argsort`]; [`KernelError::Dtype`] if `values` has not the dtype of `a`.
    pub fn sort(
        &self,
        a: &View,
        axis: usize,
        descending: bool,
        (values, places): (&View, &View),
    ) -> Result<Completion, KernelError> {
        check_values(OP, a, values, a.shape())?;
        let _sorted = self.argsort(a, axis, descending, places)?;
        self.gather(a, axis, places, values)
    }

    /// The greatest (or least) elements of `a` along `axis` in order into `values`, as many as that has there, and where
    /// they stood into `places` (i32): of equals the first ones.
    ///
    /// # Errors
    /// As [`Executor::sort`]; [`KernelError::Output`] if the outputs differ in shape, from each other or but for `axis` from
    /// `a`, or are longer than `a`.
    pub fn topk(
        &self,
        a: &View,
        axis: usize,
        largest: bool,
        (values, places): (&View, &View),
    ) -> Result<Completion, KernelError> {
        let op = "topk";
        let at = isize::try_from(axis).unwrap_or(isize::MAX);
        let k = values.dims().get(axis).copied().unwrap_or(0);
        let shape = a.layout.narrow(at, 0, k).map_err(KernelError::shape(op))?;
        check_values(op, a, values, shape.shape())?;
        check_shape(op, places, values.shape())?;
        if self.top_of_blocks(a, axis, largest, places)? {
            return self.gather(a, axis, places, values);
        }
        let all = self.alloc(a.shape(), DType::I32)?;
        let _sorted = self.argsort(a, axis, largest, &all)?;
        let first = all
            .layout
            .narrow(at, 0, k)
            .map_err(KernelError::shape(op))?;
        let _copied = self.copy(&all.with_layout(first)?, places)?;
        self.gather(a, axis, places, values)
    }

    /// The places of [`Executor::topk`] where few elements of each row are wanted, and one binding holds the rows: whether
    /// that is so.
    fn top_of_blocks(
        &self,
        a: &View,
        axis: usize,
        largest: bool,
        places: &View,
    ) -> Result<bool, KernelError> {
        if axis >= a.rank() || places.is_empty() || a.len() as u64 > MAX_SORTED {
            return Ok(false);
        }
        a.check()?;
        let extent = |view: &View| count(OP, view.dims().get(axis).copied().unwrap_or(1));
        let (row, keep) = (extent(a)?, extent(places)?);
        // What blocks keep for the next level takes no more bytes than there are elements.
        let is_large = a.len() as u64 > self.device().caps().max_binding_bytes;
        if !self.sorts_blocks(row, keep) || is_large || self.exceeds_binding(&[a, places]) {
            return Ok(false);
        }
        let (a, places) = (rows_last(a, axis)?, rows_last(places, axis)?);
        self.with_dense_out(OP, &places, &[&a], |out| {
            self.sort_blocks(&a, (row, keep), largest, out)
        })?;
        Ok(true)
    }

    fn sort_rows(
        &self,
        a: &View,
        row: u32,
        descending: bool,
        out: &View,
    ) -> Result<(), KernelError> {
        if self.sorts_blocks(row, row) {
            return self.sort_blocks(a, (row, row), descending, out);
        }
        let len = count(OP, a.len())?;
        let flat = Shape::new([a.len()]).map_err(KernelError::shape(OP))?;
        let keys = self.alloc(&flat, DType::U32)?;
        self.sort_keys(a, len, descending, &keys)?;
        let mut pairs = Pairs::new(self, keys, len)?;
        pairs.sort(self, key_bits(a.dtype))?;
        let row_bits = 32 - (len / row - 1).leading_zeros();
        if row_bits > 0 {
            self.split_places(pairs.places(), row, false, pairs.keys())?;
            pairs.sort(self, row_bits)?;
        }
        self.split_places(pairs.places(), row, true, out)
    }

    fn sort_keys(
        &self,
        a: &View,
        len: u32,
        descending: bool,
        out: &View,
    ) -> Result<(), KernelError> {
        let (read, write) = (self.bind_read(OP, a)?, self.bind_write(OP, out)?);
        let access = coalesce(&[a.layout]);
        let params = StridedParams {
            len,
            offset_out: write.offset,
            offset_a: read.offset,
            axes: axes(&access),
            ..StridedParams::default()
        };
        let rank = u32::try_from(access.dims.len()).unwrap_or(1);
        self.launch(
            &keys(a.dtype, rank, descending),
            &[read.arg, write.arg],
            &params,
            Grid::stride(u64::from(len), 1),
        )
    }

    /// Places divided by the length of a row: quotients or remainders.
    fn split_places(
        &self,
        places: &View,
        by: u32,
        remainder: bool,
        out: &View,
    ) -> Result<(), KernelError> {
        let (read, write) = (self.bind_read(OP, places)?, self.bind_write(OP, out)?);
        let params = SplitParams {
            len: count(OP, places.len())?,
            by,
            offset_out: write.offset,
        };
        self.launch(
            &split(remainder),
            &[read.arg, write.arg],
            &params,
            Grid::stride(u64::from(params.len), 1),
        )
    }
}

/// The output for elements of `a`.
fn check_values(
    op: &'static str,
    a: &View,
    values: &View,
    expected: &Shape,
) -> Result<(), KernelError> {
    if values.dtype != a.dtype {
        return Err(KernelError::dtype(
            op,
            "values",
            "it must have the dtype of a",
            values.dtype,
        ));
    }
    check_shape(op, values, expected)?;
    Ok(())
}

/// The view with `axis` moved behind the others.
fn rows_last(view: &View, axis: usize) -> Result<View, KernelError> {
    let order: Vec<isize> = (0..view.rank())
        .filter(|&at| at != axis)
        .chain([axis])
        .map(usize::cast_signed)
        .collect();
    let layout: Layout = view
        .layout
        .permute(&order)
        .map_err(KernelError::shape(OP))?;
    view.with_layout(layout)
}
