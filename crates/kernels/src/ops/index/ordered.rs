//! Updates of floats in a fixed order, so that sums and products have the same bits on every run.
//!
//! Each position's index becomes a key, the element that it names; keys are sorted with their positions by the stable radix
//! sort, so that the updates of one element are a run in the order of positions, which one invocation handles. Few positions are
//! not sorted: each looks at all. Invariant: an element takes part first, then its updates in row-major order, each added (or
//! multiplied) in f32, those beyond the first [`PIECE`] in pieces of as many that are combined before; the result is rounded
//! once per [`CHUNK`] positions, or fewer where each has many elements.

use ziggurat_core::{DType, Shape};
use ziggurat_pipeline::Grid;

use super::plan::{IndexParams, Located, Plan};
use super::{Form, Scatter, located, updating};
use crate::ops::elementwise::dispatch::count;
use crate::ops::sort::Pairs;
use crate::run::error::KernelError;
use crate::run::executor::Executor;
use crate::run::view::View;
use crate::source::candidate::Candidate;
use crate::source::choice::KernelChoice;
use crate::source::params::Params;
use crate::source::prelude;

/// Updates of one element that one invocation handles. No more: llvmpipe leaves a loop after 65,535 iterations.
const PIECE: usize = 4096;
/// Up to so many positions are not sorted.
const FEW: usize = 256;
/// Positions that are sorted together: what that needs in memory is 20 bytes each.
const CHUNK: usize = 1 << 22;
/// Updates per invocation of a full grid, so that it has few runs of [`PIECE`] updates.
const PER_INVOCATION: usize = 4;

fn keys(form: Form) -> KernelChoice {
    located(KernelChoice::new("scatter_keys"), form).part("index/keys.wgsl")
}

fn ordered(op: Scatter, dtype: DType, form: Form, sorted: bool) -> KernelChoice {
    let (name, runs) = if sorted {
        ("sorted", "index/run_sorted.wgsl")
    } else {
        ("few", "index/run_scan.wgsl")
    };
    let choice = updating(op, dtype).name("ordered").name(name);
    let choice = choice.parts(&[
        "index/position.wgsl",
        "index/locate.wgsl",
        "index/located.wgsl",
        runs,
        "index/ordered.wgsl",
    ]);
    form.constants(choice.constant("PIECE", PIECE as f64))
}

fn pieces(op: Scatter, dtype: DType, form: Form) -> KernelChoice {
    let apply = op.binary().map(|binary| binary.spec().snippets.of(dtype));
    let choice = KernelChoice::new(op.name())
        .name(dtype.name())
        .name("pieces")
        .parts(&[prelude::FLOAT, prelude::load(dtype)]);
    let choice = apply.into_iter().fold(choice, KernelChoice::part);
    choice
        .parts(&[
            "index/position.wgsl",
            "index/locate.wgsl",
            "index/pieces.wgsl",
        ])
        .constant("RANK", form.rank)
        .constant("PIECE", PIECE as f64)
}

/// Every reduction of every float, sorted and not.
pub(super) fn variants(form: Form) -> Vec<Candidate> {
    let mut all = vec![keys(form)];
    for op in [Scatter::Add, Scatter::Mul] {
        for dtype in DType::ALL.into_iter().filter(|&dtype| op.rounds(dtype)) {
            all.extend([false, true].map(|sorted| ordered(op, dtype, form, sorted)));
            all.push(pieces(op, dtype, form));
        }
    }
    all.into_iter()
        .map(|choice| Candidate::new(choice, IndexParams::FIELDS))
        .collect()
}

impl Executor {
    /// Updates of floats in the order of positions.
    pub(super) fn scatter_in_order(
        &self,
        op: Scatter,
        plan: &Plan,
        updates: &View,
        indices: &View,
        out: &View,
    ) -> Result<(), KernelError> {
        let name = op.name();
        let (plan, positions, lanes) = plan.indices_first();
        let located = plan.located(name, indices, Some(updates))?;
        let caps = self.device().caps();
        let grid = caps.max_workgroups as usize * caps.workgroup_size as usize;
        let most = CHUNK.min((grid * PER_INVOCATION / lanes.max(1)).max(1));
        let mut first = 0;
        while first < positions {
            let chunk = most.min(positions - first);
            let params = IndexParams {
                positions: count(name, chunk)?,
                lanes: count(name, lanes)?,
                first: count(name, first)?,
                len: count(name, chunk * lanes)?,
                ..located.params
            };
            let located = Located { params, ..located };
            self.scatter_chunk(op, &located, [updates, indices], out)?;
            first += chunk;
        }
        Ok(())
    }

    fn scatter_chunk(
        &self,
        op: Scatter,
        located: &Located,
        [updates, indices]: [&View; 2],
        out: &View,
    ) -> Result<(), KernelError> {
        let name = op.name();
        let form = Form::of(located, indices);
        let positions = located.params.positions;
        let shape = Shape::new([positions as usize]).map_err(KernelError::shape(name))?;
        let keyed = self.alloc(&shape, DType::U32)?;
        let (update, index, data) = (
            self.bind_read(name, updates)?,
            self.bind_read(name, indices)?,
            self.bind_write(name, out)?,
        );
        let params = IndexParams {
            offset_data: data.offset,
            offset_index: index.offset,
            offset_update: update.offset,
            ..located.params
        };
        {
            let write = self.bind_write(name, &keyed)?;
            let params = IndexParams {
                offset_out: write.offset,
                ..params
            };
            let index = self.bind_read(name, indices)?;
            let grid = Grid::stride(u64::from(positions), 1);
            self.launch(&keys(form), &[index.arg, write.arg], &params, grid)?;
        }
        let grid = Grid::stride(u64::from(params.len), 1);
        let sorted = positions as usize > FEW;
        let choice = ordered(op, out.dtype, form, sorted);
        if !sorted {
            let key = self.bind_read(name, &keyed)?;
            let args = [update.arg, index.arg, key.arg, data.arg];
            return self.launch(&choice, &args, &params, grid);
        }
        // Keys are elements of the output's binding.
        let reach = out.layout.span().map_or(0, |(_, high)| high as u64);
        let bits = 64 - (reach + 1).leading_zeros();
        let mut pairs = Pairs::new(self, keyed, positions)?;
        pairs.sort(self, bits)?;
        let count = positions as usize / PIECE * located.params.lanes as usize;
        // Quotients go up to that of the last position.
        let room = count + located.params.lanes as usize;
        let shape = Shape::new([room]).map_err(KernelError::shape(name))?;
        let combined = self.alloc(&shape, DType::F32)?;
        if count > 0 {
            let (key, place, update) = (
                self.bind_read(name, pairs.keys())?,
                self.bind_read(name, pairs.places())?,
                self.bind_read(name, updates)?,
            );
            let write = self.bind_write(name, &combined)?;
            let params = IndexParams {
                offset_out: write.offset,
                ..params
            };
            let args = [update.arg, key.arg, write.arg, place.arg];
            self.launch(&pieces(op, out.dtype, form), &args, &params, grid)?;
        }
        let (key, place, piece) = (
            self.bind_read(name, pairs.keys())?,
            self.bind_read(name, pairs.places())?,
            self.bind_read(name, &combined)?,
        );
        let args = [
            update.arg, index.arg, key.arg, data.arg, place.arg, piece.arg,
        ];
        self.launch(&choice, &args, &params, grid)
    }
}
