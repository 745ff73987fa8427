//! Products of f16 on matrix units of operands that do not lie in vectors of four elements, or whose inner extent is no
//! multiple of the tile's depth: one dispatch copies them into lines that begin at such vectors, with zeros behind their ends,
//! and the tiles read the copies.
//!
//! Invariant: the inner extent only grows if both operands are copied, so zeros only meet zeros.

use ziggurat_core::{DType, Shape};
use ziggurat_pipeline::Grid;

use super::choose::{Load, Tiled, tiled};
use super::dispatch::{dispatch_tiles, params as params_of};
use super::dtypes::DTypes;
use super::kernel::{ALIGN_GROUP, Writes, align};
use super::problem::Problem;
use super::{MatmulParams, operands_of};
use crate::limits::ability::Ability;
use crate::num::saturated;
use crate::ops::tile::{Tile, TileKind};
use crate::run::error::KernelError;
use crate::run::plan::{Bound, Planner};
use crate::tune::WayName;

/// Elements of a vector.
const VECTOR: u64 = 4;
/// Outputs from which on rows that are no whole vectors are written as such, and copied: on an H100 4096 × 4095 of them take
/// 0.13 ms longer element by element. An expression over the product wants their own order.
const MANY_OUTPUTS: u64 = 1 << 22;

/// A product by tiles of copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Aligned {
    /// How the tiles read operands, copied or not.
    pub(super) tile: Tiled,
    /// Whether a is copied, and whether b is.
    pub(super) copied: [bool; 2],
    /// The inner extent of the copies.
    depth: u64,
}

/// A copy of an operand: a matrix for each batch entry.
#[derive(Clone, Copy)]
struct Copied {
    lines: u64,
    /// Elements from one line to the next.
    pitch: u64,
}

impl Copied {
    const fn elements(self, batches: u64) -> u64 {
        batches
            .saturating_mul(self.lines)
            .saturating_mul(self.pitch)
    }
}

/// Copies of both operands, whose lines lie along k or across it.
fn copies(p: &Problem, along_depth: [bool; 2]) -> [Copied; 2] {
    let copy = |side: u64, along: bool| {
        let [lines, len] = if along { [side, p.k] } else { [p.k, side] };
        Copied {
            lines,
            pitch: len.next_multiple_of(VECTOR),
        }
    };
    [copy(p.m, along_depth[0]), copy(p.n, along_depth[1])]
}

impl Aligned {
    /// The product by tiles on matrix units, if a device can compute it so and there is an operand to copy.
    pub(super) fn new(p: &Problem, tile: Tile, ability: &Ability) -> Option<Self> {
        let lies = tiled(p, tile);
        let copied = match lies.whole {
            true => [lies.a, lies.b].map(|load| load == Load::Words),
            false => [true; 2],
        };
        let depth = p.k.next_multiple_of(u64::from(tile.depth));
        let deep = Problem {
            k: depth,
            ..p.clone()
        };
        let along_depth = [lies.a_along_depth, lies.b_along_depth];
        let fits = |copy: Copied| copy.elements(p.batches()) <= ability.binding_bytes / 2;
        let can = tile.kind == TileKind::Cooperative
            && tile.fits(ability)
            && p.k > 0
            && tile.iterations(depth) <= ability.loop_budget
            && copies(&deep, along_depth).into_iter().all(fits);
        if !can || copied == [false; 2] {
            return None;
        }
        let load = |own: Load, copied: bool, along: bool| match (copied, along) {
            (false, _) => own,
            (true, true) => Load::Along,
            (true, false) => Load::Across,
        };
        let tile = Tiled {
            a: load(lies.a, copied[0], along_depth[0]),
            b: load(lies.b, copied[1], along_depth[1]),
            whole: true,
            ..lies
        };
        Some(Self {
            tile,
            copied,
            depth,
        })
    }

    /// As tuning calls it.
    pub(super) const fn name(self) -> WayName {
        self.tile.tile.name("aligned")
    }

    /// Whether lines lie along k, of both operands.
    pub(super) const fn along_depth(self) -> [bool; 2] {
        [self.tile.a_along_depth, self.tile.b_along_depth]
    }

    /// The tiles where they write whole vectors.
    pub(super) const fn in_vectors(self) -> Tiled {
        Tiled {
            out_vec4: true,
            ..self.tile
        }
    }

    /// Adds the dispatches.
    pub(super) fn steps(
        self,
        plan: &mut Planner<'_>,
        p: &Problem,
        dtypes: DTypes,
    ) -> Result<(), KernelError> {
        let operands = operands_of(plan, p)?;
        let along_depth = self.along_depth();
        let in_lines = !self.tile.out_vec4
            && self.copied[1]
            && p.outputs() >= MANY_OUTPUTS
            // Lines of f32 fit a binding, however much longer they become.
            && p.outputs().saturating_mul(8) <= plan.exec.ability().binding_bytes
            && plan.ends.epilogue.is_none()
            // The lines of a flipped product are columns of the output.
            && !p.flipped;
        let padded = Problem {
            k: self.depth,
            n: match in_lines {
                true => p.n.next_multiple_of(VECTOR),
                false => p.n,
            },
            ..p.clone()
        };
        let copies = copies(&padded, along_depth);
        let mut vectors = [0; 2];
        let mut reads = operands;
        // Of an operand that is not copied nothing is written; the binding needs memory all the same.
        let mut writes = [None::<Bound>; 2];
        for (at, copy) in copies.into_iter().enumerate() {
            let elements = match self.copied[at] {
                true => copy.elements(p.batches()),
                false => VECTOR,
            };
            let write = plan.scratch(shape(elements)?, DType::F16)?;
            writes[at] = Some(write);
            if self.copied[at] {
                vectors[at] = elements / VECTOR;
                reads[at] = write.read();
            }
        }
        let params = MatmulParams {
            a_offset: operands[0].offset,
            b_offset: operands[1].offset,
            tiles_m: saturated(vectors[0]),
            tiles_n: saturated(vectors[1]),
            chunk_len: saturated(padded.k),
            chunks: saturated(padded.n),
            ..params_of(p)
        };
        let grid = Grid::elements(
            (vectors[0] + vectors[1]).next_multiple_of(u64::from(ALIGN_GROUP)),
            1,
        );
        let bindings = operands.into_iter().chain(writes.into_iter().flatten());
        plan.step(align(p.batch.len(), along_depth), bindings, &params, grid);

        let (out, tile) = match in_lines {
            true => (plan.out_in_lines(padded.n)?, self.in_vectors()),
            false => (plan.out()?, self.tile),
        };
        let copy_of = self.problem(&padded, copies);
        let (choice, params, grid) = dispatch_tiles(&copy_of, tile, dtypes, Writes::Results);
        let params = MatmulParams {
            a_offset: reads[0].offset,
            b_offset: reads[1].offset,
            out_offset: out.offset,
            ..params
        };
        plan.last(choice, [reads[0], reads[1], out], &params, grid);
        Ok(())
    }

    /// The product of the copies, whose extents `p` has.
    fn problem(self, p: &Problem, copies: [Copied; 2]) -> Problem {
        // Elements of a copy fit a binding, whose indices have 32 bits.
        let stride = |n: u64| isize::try_from(n).unwrap_or(isize::MAX);
        let [a, b] = [0, 1].map(|at| {
            let pitch = stride(copies[at].pitch);
            match self.along_depth()[at] {
                true => [pitch, 1],
                false => [1, pitch],
            }
        });
        let mut same = p.clone();
        if self.copied[0] {
            [same.a_row, same.a_depth] = a;
        }
        if self.copied[1] {
            [same.b_col, same.b_depth] = b;
        }
        let mut matrices = 1;
        for axis in same.batch.iter_mut().rev() {
            for (at, copy) in copies.into_iter().enumerate() {
                if self.copied[at] {
                    axis.strides[at] = stride(matrices * copy.elements(1));
                }
            }
            matrices *= axis.dim;
        }
        same
    }
}

fn shape(len: u64) -> Result<Shape, KernelError> {
    Shape::new([usize::try_from(len).unwrap_or(usize::MAX)]).map_err(KernelError::shape(super::OP))
}
