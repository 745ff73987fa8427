//! Copies to a dense output of an operand whose neighbours in memory lie along another axis than the output's: tile by tile,
//! so that both sides of the copy touch memory in long runs.
//!
//! Elements move as bare bits, like those of all copies.

use ziggurat_core::{DType, coalesce};
use ziggurat_pipeline::Grid;

use crate::limits::ability::Ability;
use crate::num::{saturated, wrap};
use crate::ops::elementwise::copy::bits;
use crate::ops::elementwise::dispatch::count;
use crate::run::error::KernelError;
use crate::run::executor::Executor;
use crate::run::view::View;
use crate::source::candidate::Candidate;
use crate::source::choice::KernelChoice;
use crate::source::params::{Params, params};
use crate::source::prelude;

params! {
    /// Parameters of the copy through tiles.
    pub(crate) struct TransposeParams {
        rows: u32,
        cols: u32,
        row_tiles: u32,
        col_tiles: u32,
        offset_a: u32,
        offset_out: u32,
        a_col: u32,
        out_row: u32,
        batch: u32,
        unused_0: u32,
        unused_1: u32,
        unused_2: u32,
        axes: [[u32; 4]; 8],
    }
}

/// Elements along each side of a tile.
const SIDE: u64 = 64;
/// Invocations of a workgroup: each moves four vectors of four.
const INVOCATIONS: u32 = 256;
/// A side shorter than this leaves most of a tile empty.
const LEAST: usize = 16;

/// A copy through tiles: rows are positions along the axis of the operand's neighbours, columns along that of the output's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Transpose {
    rows: u64,
    cols: u64,
    a_col: isize,
    out_row: isize,
    /// The other axes: extent, steps of the operand and of the output.
    batch: Vec<(usize, [isize; 2])>,
    /// Whether four elements are read at once, and whether four are written.
    vec4: [bool; 2],
    bytes: usize,
}

impl Transpose {
    /// The copy of `a` to the dense `out` of the same shape, if it is one for tiles.
    pub(crate) fn of(a: &View, out: &View, ability: &Ability) -> Option<Self> {
        if ability.invocations < INVOCATIONS {
            return None;
        }
        // Rows that lie in order, which is most copies, are not looked at further: replays write their inputs by copies,
        // and allocate nothing.
        let dims = a.shape().dims();
        if dims
            .iter()
            .rposition(|&dim| dim != 1)
            .is_none_or(|axis| a.layout.strides().get(axis) == Some(&1))
        {
            return None;
        }
        let coalesced = coalesce(&[a.layout]);
        let strides = coalesced.strides.first()?;
        let mut axes = Vec::with_capacity(coalesced.dims.len());
        let mut step = 1_isize;
        for (&dim, &stride) in coalesced.dims.iter().zip(strides).rev() {
            axes.push((dim, [stride, step]));
            step = step.checked_mul(isize::try_from(dim).ok()?)?;
        }
        // Innermost axes first.
        let (cols, [a_col, _]) = axes.first().copied()?;
        let place = axes.iter().position(|(_, [stride, _])| *stride == 1)?;
        if place == 0 {
            return None;
        }
        let (rows, [_, out_row]) = axes.get(place).copied()?;
        if rows.min(cols) < LEAST {
            return None;
        }
        let mut batch = axes;
        batch.remove(place);
        batch.remove(0);
        let bytes = a.dtype.bytes();
        let write = cols.is_multiple_of(4);
        if !write && bytes < 4 {
            return None;
        }
        let in_step = |(_, [stride, _]): &(usize, [isize; 2])| stride % 4 == 0;
        let read = rows.is_multiple_of(4)
            && a_col % 4 == 0
            && a.layout.offset().is_multiple_of(4)
            && batch.iter().all(in_step);
        debug_assert_eq!(a.dtype, out.dtype, "copies keep the dtype");
        Some(Self {
            rows: rows as u64,
            cols: cols as u64,
            a_col,
            out_row,
            batch,
            vec4: [read, write],
            bytes,
        })
    }

    fn tiles(&self) -> [u64; 3] {
        let batch = self.batch.iter().map(|(dim, _)| *dim as u64).product();
        [self.rows.div_ceil(SIDE), self.cols.div_ceil(SIDE), batch]
    }

    fn params(&self, offset_a: u32, offset_out: u32) -> TransposeParams {
        let [row_tiles, col_tiles, batch] = self.tiles().map(saturated);
        let mut axes = [[0; 4]; 8];
        for (row, (dim, [a, out])) in axes.iter_mut().zip(&self.batch) {
            *row = [saturated(*dim as u64), wrap(*a), wrap(*out), 0];
        }
        TransposeParams {
            rows: saturated(self.rows),
            cols: saturated(self.cols),
            row_tiles,
            col_tiles,
            offset_a,
            offset_out,
            a_col: wrap(self.a_col),
            out_row: wrap(self.out_row),
            batch,
            axes,
            ..TransposeParams::default()
        }
    }
}

fn choice(bytes: usize, batch_axes: usize, [read, write]: [bool; 2]) -> KernelChoice {
    let (name, load, store) = bits(bytes);
    let by = |vec4| if vec4 { "vec4" } else { "singles" };
    KernelChoice::new("copy")
        .name(name)
        .name("transpose")
        .name(by(read))
        .name(by(write))
        .part("elementwise/transpose_params.wgsl")
        .part(prelude::FLOAT)
        .part(load)
        .part(store)
        .part(if write {
            prelude::VEC4
        } else {
            prelude::cell(DType::U32)
        })
        .part(if read {
            "elementwise/transpose_from_vec4.wgsl"
        } else {
            "elementwise/transpose_from_singles.wgsl"
        })
        .part(if write {
            "elementwise/transpose_to_vec4.wgsl"
        } else {
            "elementwise/transpose_to_singles.wgsl"
        })
        .part("elementwise/transpose.wgsl")
        .constant("WG", INVOCATIONS)
        .constant("BATCH_AXES", batch_axes as f64)
        .without_zeroed_memory()
}

/// Catalogue entries.
pub(super) fn variants() -> Vec<Candidate> {
    let mut all = Vec::new();
    for bytes in [4, 2, 1] {
        for read in [true, false] {
            for write in [true, false]
                .into_iter()
                .filter(|write| *write || bytes == 4)
            {
                let choice = choice(bytes, 2, [read, write]);
                all.push(Candidate::new(choice, TransposeParams::FIELDS));
            }
        }
    }
    all
}

impl Executor {
    pub(super) fn transpose_part(
        &self,
        op: &'static str,
        transpose: &Transpose,
        a: &View,
        out: &View,
    ) -> Result<(), KernelError> {
        let _ = count(op, out.len())?;
        let (source, target) = (self.bind_read(op, a)?, self.bind_write(op, out)?);
        let groups: u64 = transpose.tiles().iter().product();
        self.launch(
            &choice(transpose.bytes, transpose.batch.len(), transpose.vec4),
            &[source.arg, target.arg],
            &transpose.params(source.offset, target.offset),
            Grid::elements(groups * u64::from(INVOCATIONS), 1),
        )
    }
}
