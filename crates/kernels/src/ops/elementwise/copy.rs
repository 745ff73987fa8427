//! Copies between views of any strides, as bare bits.
//!
//! A copy must not change a NaN's payload or flush a subnormal, so elements move as u32, 16-bit or 8-bit integers
//! and three kernels serve all eight dtypes. A dense output is written in vec4s, four by four elements at a
//! time where the operand's neighbours lie along another axis ([`transpose`]); any other by the scatter: in vec4s
//! where its rows have whole ones, else element by element, packed dtypes with atomics so that neighbours survive.

use ziggurat_core::{Coalesced, DType, coalesce};
use ziggurat_pipeline::Grid;

use crate::fused::form::{Access, row};
use crate::num::saturated;
use crate::ops::elementwise::dispatch::{
    Bodies, PER_INVOCATION, Recipe, StridedParams, axes, count,
};
use crate::ops::elementwise::transpose::{self, Transpose};
use crate::run::completion::Completion;
use crate::run::error::KernelError;
use crate::run::executor::Executor;
use crate::run::launch::check_output;
use crate::run::view::View;
use crate::source::candidate::Candidate;
use crate::source::choice::KernelChoice;
use crate::source::list::List;
use crate::source::params::Params;
use crate::source::prelude;

/// Load and store parts for elements of so many bytes as bare bits, and their name.
pub(crate) const fn bits(bytes: usize) -> (&'static str, &'static str, &'static str) {
    match bytes {
        1 => ("bits8", prelude::load(DType::U8), prelude::store(DType::U8)),
        2 => ("bits16", prelude::LOAD_BITS16, prelude::STORE_BITS16),
        _ => (
            "bits32",
            prelude::load(DType::U32),
            prelude::store(DType::U32),
        ),
    }
}

fn gather(bytes: usize) -> Recipe {
    let (name, load, store) = bits(bytes);
    Recipe {
        op: "copy",
        names: List::of(&[name]),
        preludes: List::of(&[load, store]),
        snippet: List::of(&["elementwise/identity.wgsl"]),
        bodies: Bodies::UNARY,
        steps: Bodies::UNARY.steps(bytes),
    }
}

fn scatter(dtype: DType, rank: u32) -> KernelChoice {
    let (name, load, store) = bits(dtype.bytes());
    KernelChoice::new("copy")
        .name(name)
        .name("scatter")
        .part("elementwise/strided_params.wgsl")
        .part(prelude::FLOAT)
        .part(load)
        .part(store)
        .part(prelude::cell(dtype))
        .part("elementwise/address.wgsl")
        .part("elementwise/scatter.wgsl")
        .constant("RANK", rank)
}

/// The scatter of whole vec4s, from neighbours or, splat, from one element for each row.
fn scatter_rows(bytes: usize, rank: u32, splat: bool) -> KernelChoice {
    let (name, load, store) = bits(bytes);
    KernelChoice::new("copy")
        .name(name)
        .name("scatter_rows")
        .part("elementwise/strided_params.wgsl")
        .part(prelude::FLOAT)
        .part(load)
        .part(store)
        .part("elementwise/address.wgsl")
        .part("elementwise/scatter_rows.wgsl")
        .constant("RANK", rank)
        .constant("SPLAT_A", u8::from(splat))
}

/// A copy whose rows are whole vectors of four on both sides: of elements, or of words where packed elements fill them.
struct Rows {
    /// In units of so many bytes.
    bytes: usize,
    coalesced: Coalesced,
    /// Whether a row of the source is one element.
    splat: bool,
}

impl Rows {
    fn of(a: &View, out: &View) -> Option<Self> {
        let coalesced = coalesce(&[a.layout, out.layout]);
        let [from, to] = coalesced.strides.as_slice() else {
            return None;
        };
        let from = row(a, &coalesced.dims, from)?;
        if row(out, &coalesced.dims, to)? != Access::Row {
            return None;
        }
        let bytes = out.dtype.bytes();
        let splat = from == Access::Splat;
        let unit = 4 / bytes.max(1);
        if !splat
            && unit > 1
            && let Some(words) = in_units(&coalesced, unit)
        {
            return Some(Self {
                bytes: 4,
                coalesced: words,
                splat,
            });
        }
        Some(Self {
            bytes,
            coalesced,
            splat,
        })
    }
}

/// The access in units of `unit` elements, where all rows are whole vectors of four of these, beginning at multiples of that.
fn in_units(coalesced: &Coalesced, unit: usize) -> Option<Coalesced> {
    let vector = 4 * unit;
    let mut dims = coalesced.dims.clone();
    let inner = dims.last_mut()?;
    if !inner.is_multiple_of(vector)
        || !coalesced.offsets.iter().all(|at| at.is_multiple_of(vector))
    {
        return None;
    }
    *inner /= unit;
    let steps = |strides: &Vec<isize>| {
        let (inner, outer) = strides.split_last()?;
        let outer = outer
            .iter()
            .map(|stride| (stride % vector as isize == 0).then_some(stride / unit as isize));
        outer.chain([Some(*inner)]).collect::<Option<Vec<_>>>()
    };
    Some(Coalesced {
        dims,
        strides: coalesced.strides.iter().map(steps).collect::<Option<_>>()?,
        offsets: coalesced.offsets.iter().map(|at| at / unit).collect(),
    })
}

/// Catalogue entries.
pub(crate) fn variants() -> Vec<Candidate> {
    let mut all = Vec::new();
    for dtype in [DType::U32, DType::F16, DType::U8] {
        all.extend(Candidate::of_recipe(&gather(dtype.bytes()), 1));
        all.push(Candidate::new(scatter(dtype, 4), StridedParams::FIELDS));
        let rows = [false, true].map(|splat| scatter_rows(dtype.bytes(), 3, splat));
        all.extend(rows.map(|choice| Candidate::new(choice, StridedParams::FIELDS)));
    }
    all.extend(transpose::variants());
    all
}

impl Executor {
    /// Copies `a`, broadcast to `out`'s shape, into `out`. Same dtype, any strides on both sides; the two may overlap.
    ///
    /// # Errors
    /// [`KernelError::Dtype`] if the dtypes differ, [`KernelError::Shape`] if `a` does not broadcast to `out`, and
    /// the errors of the layers below.
    pub fn copy(&self, a: &View, out: &View) -> Result<Completion, KernelError> {
        if a.dtype != out.dtype {
            return Err(KernelError::dtype(
                "copy",
                "a",
                "it must have the output's dtype",
                a.dtype,
            ));
        }
        let a = a.with_layout(
            a.layout
                .expand(*out.shape())
                .map_err(KernelError::shape("copy"))?,
        )?;
        self.copy_into("copy", &a, out)?;
        Ok(self.completion())
    }

    /// Copies between views of the same shape and element width.
    pub(crate) fn copy_into(
        &self,
        op: &'static str,
        a: &View,
        out: &View,
    ) -> Result<(), KernelError> {
        check_output(op, out)?;
        if out.is_empty() {
            return Ok(());
        }
        if a.buffer.same_memory(&out.buffer) {
            return self.copy_into(op, &self.to_dense(op, a)?, out);
        }
        if out.is_vec4() {
            a.check()?;
            return self.in_parts(op, &[a, out], &mut |part| match part {
                // Halves of a dense output are dense, but may start within a vec4.
                [a, out] => self.with_dense_out(op, out, &[], |out| self.gather_part(op, a, out)),
                _ => Ok(()),
            });
        }
        self.in_parts(op, &[a, out], &mut |part| match part {
            [a, out] => self.scatter_part(op, a, out),
            _ => Ok(()),
        })
    }

    fn gather_part(&self, op: &'static str, a: &View, out: &View) -> Result<(), KernelError> {
        if let Some(transpose) = Transpose::of(a, out, &self.ability()) {
            return self.transpose_part(op, &transpose, a, out);
        }
        if !a.is_vec4() && Rows::of(a, out).is_some_and(|rows| rows.bytes > out.dtype.bytes()) {
            return self.scatter_part(op, a, out);
        }
        self.elementwise_part(&gather(a.dtype.bytes()), &[a], out)
    }

    fn scatter_part(&self, op: &'static str, a: &View, out: &View) -> Result<(), KernelError> {
        let (source, target) = (self.bind_read(op, a)?, self.bind_write(op, out)?);
        let rows = Rows::of(a, out);
        let (coalesced, unit) = match &rows {
            Some(rows) => (
                rows.coalesced.clone(),
                (rows.bytes / out.dtype.bytes()).max(1),
            ),
            None => (coalesce(&[a.layout, out.layout]), 1),
        };
        let rank = u32::try_from(coalesced.dims.len()).unwrap_or(1);
        let in_units = |elements: u32| elements / saturated(unit as u64);
        let params = StridedParams {
            len: count(op, out.len() / unit)?,
            offset_a: in_units(source.offset),
            offset_b: in_units(target.offset),
            axes: axes(&coalesced),
            ..StridedParams::default()
        };
        let (choice, each) = match &rows {
            Some(rows) => (scatter_rows(rows.bytes, rank, rows.splat), PER_INVOCATION),
            None => (scatter(out.dtype, rank), 1),
        };
        let grid = Grid::stride(u64::from(params.len), each);
        self.launch(&choice, &[source.arg, target.arg], &params, grid)
    }

    /// A dense copy of a view, in memory of its own.
    pub(crate) fn to_dense(&self, op: &'static str, view: &View) -> Result<View, KernelError> {
        view.check()?;
        let dense = self.alloc(view.shape(), view.dtype)?;
        self.copy_into(op, view, &dense)?;
        Ok(dense)
    }
}
