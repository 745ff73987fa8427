//! Matrix products: any strides, broadcast batches, every number dtype.
//!
//! [`problem`] turns two layouts into numbers, [`choose`] picks the kernel. Floats are multiplied and added in f32,
//! integers wrap. Invariant: every product of a row and a column enters the sum (0 · inf is NaN), and nothing else
//! does: positions outside the matrices count as 0 on both sides.

use ziggurat_core::DType;
use ziggurat_pipeline::Grid;

use crate::fused::Operand;
use crate::limits::budget::{nested, parts};
use crate::num::saturated;
use crate::num::{pack, wrap};
use crate::ops::reduce::lanes::{self, Lanes, Side};
use crate::ops::reduce::{add_sums, only_memory};
use crate::run::call::{Call, Operands, Sink};
use crate::run::completion::Completion;
use crate::run::ends::Ends;
use crate::run::error::KernelError;
use crate::run::executor::Executor;
use crate::run::plan::{Bound, Planned, Planner};
use crate::run::view::View;
use crate::source::candidate::Candidate;
use crate::source::choice::{CATALOGUE_WG, KernelChoice};
use crate::source::params::{Params, params};
use crate::source::prelude;

mod choose;
mod parts;
mod problem;

use choose::{Choice, Limits, TILE, TILE_DEPTH, TILE_WG, Tile, choose};
use problem::Problem;

const OP: &str = "matmul";

params! {
    /// Parameters of the matmul kernels.
    pub(crate) struct MatmulParams {
        m: u32,
        n: u32,
        k: u32,
        batch: u32,
        a_offset: u32,
        b_offset: u32,
        out_offset: u32,
        chunks: u32,
        a_row: u32,
        a_depth: u32,
        b_depth: u32,
        b_col: u32,
        chunk_len: u32,
        tiles_m: u32,
        tiles_n: u32,
        resumed: u32,
        dims: [[u32; 4]; 2],
        a_strides: [[u32; 4]; 2],
        b_strides: [[u32; 4]; 2],
    }
}

/// Whether products of `input` may be written as `output`: the same dtype, or the one that sums are kept in.
const fn accepts(input: DType, output: DType) -> bool {
    let same = input as u8 == output as u8;
    !input.is_bool() && (same || input.compute() as u8 == output as u8)
}

fn base(input: DType, output: DType) -> KernelChoice {
    KernelChoice::new(OP)
        .name(input.name())
        .name(output.name())
        .part(prelude::FLOAT)
        .load(input)
        .store(output)
        .without_zeroed_memory()
}

/// The dot kernel; in chunks it leaves accumulators for a reduction.
fn dot(input: DType, output: DType, batch_axes: usize, lanes: &Lanes) -> KernelChoice {
    let choice = if lanes.chunks == 1 {
        base(input, output)
            .name("dot")
            .cell(output)
            .params("matmul/params.wgsl")
            .parts(&[
                "matmul/batch.wgsl",
                "matmul/dot_elem.wgsl",
                "matmul/dot.wgsl",
            ])
    } else {
        base(input, output)
            .name("dot_chunks")
            .params("matmul/params.wgsl")
            .parts(&[
                "matmul/batch.wgsl",
                "matmul/dot_acc.wgsl",
                "matmul/dot.wgsl",
            ])
    };
    let choice = choice.constant("BATCH_AXES", batch_axes as f64);
    lanes
        .constants()
        .into_iter()
        .fold(choice, |choice, (name, value)| choice.constant(name, value))
}

/// What a tiled kernel leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Writes {
    Results,
    /// Sums that other dispatches go on with, without an epilogue.
    Sums,
}

/// Turns of the loops of an invocation of the tiled kernel.
fn turns(k: u64) -> u64 {
    nested(&[k.div_ceil(TILE_DEPTH), TILE_DEPTH / 4])
}

/// The tiled kernel.
fn tiled(
    input: DType,
    output: DType,
    batch_axes: usize,
    tile: Tile,
    writes: Writes,
) -> KernelChoice {
    let sums = writes == Writes::Sums;
    let pick = |quads, quad, word| if quads { quad } else { word };
    let mut choice = base(input, output);
    if !sums {
        choice = if tile.out_quads {
            choice.quad()
        } else {
            choice.cell(output)
        };
    }
    choice = choice.params("matmul/params.wgsl");
    choice.append(
        &[
            "tile",
            pick(tile.a_quads, "a_quads", "a_words"),
            pick(tile.b_quads, "b_quads", "b_words"),
            match writes {
                Writes::Results => pick(tile.out_quads, "out_quads", "out_cells"),
                Writes::Sums => "out_sums",
            },
        ],
        &[
            "matmul/batch.wgsl",
            "matmul/tile_origin.wgsl",
            pick(
                tile.a_quads,
                "matmul/tile_a_quad.wgsl",
                "matmul/tile_a_word.wgsl",
            ),
            pick(
                tile.b_quads,
                "matmul/tile_b_quad.wgsl",
                "matmul/tile_b_word.wgsl",
            ),
            match writes {
                Writes::Results => pick(
                    tile.out_quads,
                    "matmul/tile_out_quad.wgsl",
                    "matmul/tile_out_cell.wgsl",
                ),
                Writes::Sums => "matmul/tile_out_sum.wgsl",
            },
            "matmul/tile.wgsl",
        ],
        &[
            ("WG", f64::from(TILE_WG)),
            ("BATCH_AXES", batch_axes as f64),
            ("A_ALONG_DEPTH", f64::from(u8::from(tile.a_along_depth))),
            ("B_ALONG_DEPTH", f64::from(u8::from(tile.b_along_depth))),
        ],
    );
    choice
}

/// Tiles that cover a side.
fn tiles(side: u64) -> u64 {
    side.div_ceil(TILE)
}

fn params(p: &Problem) -> MatmulParams {
    let strides = |operand: usize| {
        pack(
            p.batch
                .iter()
                .map(|axis| wrap(axis.strides.get(operand).copied().unwrap_or(0))),
        )
    };
    MatmulParams {
        m: saturated(p.m),
        n: saturated(p.n),
        k: saturated(p.k),
        batch: saturated(p.batches()),
        chunks: 1,
        chunk_len: saturated(p.k),
        a_row: wrap(p.a_row),
        a_depth: wrap(p.a_depth),
        b_depth: wrap(p.b_depth),
        b_col: wrap(p.b_col),
        tiles_m: saturated(tiles(p.m)),
        tiles_n: saturated(tiles(p.n)),
        dims: pack(p.batch.iter().map(|axis| saturated(axis.dim))),
        a_strides: strides(0),
        b_strides: strides(1),
        ..MatmulParams::default()
    }
}

/// Both kernels for every pair of dtypes, the tiled one with every way to load and store.
pub(crate) fn variants() -> Vec<Candidate> {
    let mut all = Vec::new();
    for input in DType::ALL {
        for output in DType::ALL
            .into_iter()
            .filter(|&output| accepts(input, output))
        {
            for split in [false, true] {
                let lanes = lanes::choose(4, 1 << 16, Side::Reduced, split, CATALOGUE_WG);
                all.push(dot(input, output, 1, &lanes));
            }
            for bits in 0..8 {
                let tile = Tile {
                    a_quads: bits & 1 != 0,
                    b_quads: bits & 2 != 0,
                    out_quads: bits & 4 != 0,
                    a_along_depth: true,
                    b_along_depth: false,
                };
                // Both follow from columns in fours: b never moves in quads where the output does not.
                if tile.b_quads && !tile.out_quads {
                    continue;
                }
                all.push(tiled(input, output, 1, tile, Writes::Results));
                if !tile.out_quads {
                    all.push(tiled(input, output, 1, tile, Writes::Sums));
                }
            }
        }
    }
    all.into_iter()
        .map(|choice| Candidate::new(choice, MatmulParams::FIELDS))
        .collect()
}

/// Kernels that write through an epilogue over products of a dtype, for the corpus of those.
pub(crate) fn writing_fused() -> Vec<(DType, KernelChoice)> {
    let mut all = Vec::new();
    for dtype in DType::ALL
        .into_iter()
        .filter(|&dtype| accepts(dtype, dtype))
    {
        let lanes = lanes::choose(4, 1 << 16, Side::Reduced, false, CATALOGUE_WG);
        all.push((dtype, dot(dtype, dtype, 1, &lanes)));
        for out_quads in [false, true] {
            let tile = Tile {
                a_quads: true,
                b_quads: out_quads,
                out_quads,
                a_along_depth: true,
                b_along_depth: false,
            };
            all.push((dtype, tiled(dtype, dtype, 1, tile, Writes::Results)));
        }
    }
    all
}

impl Executor {
    /// The matrix product of `a` `[.., m, k]` and `b` `[.., k, n]` into `out` `[.., m, n]`; batch axes broadcast as in
    /// NumPy. No inner extent gives zeros.
    ///
    /// # Errors
    /// [`KernelError::Operands`] if the shapes do not fit; [`KernelError::Dtype`] unless a and b have the same number
    /// dtype and `out` has it too, or is f32 for floats and i32 or u32 for integers; [`KernelError::Output`];
    /// [`KernelError::CannotFuse`] if one kernel cannot write an expression over the product.
    pub fn matmul<'a>(
        &self,
        a: &'a View,
        b: &'a View,
        out: impl Into<Sink<'a>>,
    ) -> Result<Completion, KernelError> {
        let operands = Operands {
            first: a.into(),
            others: [Some(b), None, None],
        };
        self.run(&Call::Matmul, &operands, out.into())
    }
}

/// Both matrices.
fn matrices<'a>(ends: &Ends<'a>) -> Result<[&'a View; 2], KernelError> {
    match ends.a {
        Operand::Memory(a) => Ok([a, ends.other(OP, 0, "b")?]),
        Operand::Fused(_) => Err(only_memory(OP)),
    }
}

/// Plans [`Call::Matmul`].
pub(crate) fn plan(p: &mut Planner<'_>) -> Result<Planned, KernelError> {
    let ends = p.ends;
    let ([a, b], made) = (matrices(ends)?, ends.made());
    if a.dtype.is_bool() {
        return Err(KernelError::Dtype {
            op: OP,
            operand: "a",
            rule: "it must be a number",
            got: a.dtype,
        });
    }
    if a.dtype != b.dtype {
        return Err(KernelError::Dtype {
            op: OP,
            operand: "b",
            rule: "it must have the dtype of a",
            got: b.dtype,
        });
    }
    if !accepts(a.dtype, made) {
        let rule = "it must have the dtype of a, or the one that sums are kept in";
        return Err(KernelError::Dtype {
            op: OP,
            operand: "out",
            rule,
            got: made,
        });
    }
    let (problem, expected) = Problem::new(&a.layout, &b.layout)?;
    if expected != *ends.out.shape() {
        return Err(KernelError::Output {
            op: OP,
            expected: Box::new(expected),
            got: Box::new(*ends.out.shape()),
        });
    }
    if expected.is_empty() {
        return Ok(Planned::Nothing);
    }
    let all = [a, b, ends.out];
    if p.exec.exceeds_binding(&all) {
        if ends.epilogue.is_some() {
            p.exec.refuse_over_binding(all.into_iter())?;
        }
        return Ok(Planned::Parts);
    }
    steps(p, &problem)?;
    Ok(Planned::Steps)
}

fn steps(plan: &mut Planner<'_>, p: &Problem) -> Result<(), KernelError> {
    let (exec, ends) = (plan.exec, plan.ends);
    let (dtype, made) = (ends.a.dtype(), ends.made());
    let caps = exec.device().caps();
    let limits = Limits {
        workgroup_size: caps.workgroup_size,
        max_invocations: caps
            .limits
            .max_compute_invocations_per_workgroup
            .min(caps.limits.max_compute_workgroup_size_x),
        turns: exec.most_turns(),
    };
    let axes = p.batch.len();
    let sums = dtype.compute();
    let totals = [p.outputs(), p.k];
    let (left, right) = (plan.first()?, plan.other(0)?);
    let operands = |write: Bound| [Some(left), right, Some(write)].into_iter().flatten();
    let bound = |params: MatmulParams, write: Bound| MatmulParams {
        a_offset: left.offset,
        b_offset: right.map_or(0, |right| right.offset),
        out_offset: write.offset,
        ..params
    };
    match choose(p, limits) {
        Choice::Tile(tile) if turns(p.k) <= limits.turns => {
            let write = plan.out()?;
            let choice = tiled(dtype, made, axes, tile, Writes::Results);
            let params = bound(params(p), write);
            plan.last(choice, operands(write), &params, tiled_grid(p));
        }
        Choice::Tile(tile) => {
            // One part of the inner extent after the other, which go on with each other's sums.
            let write = plan.partials(sums, p.outputs(), 1)?;
            let tile = Tile {
                out_quads: false,
                ..tile
            };
            let choice = tiled(dtype, made, axes, tile, Writes::Sums);
            let whole = bound(params(p), write);
            // Parts are whole tiles deep, so that quads stay quads.
            let depth = p.k.div_ceil(TILE_DEPTH);
            let each = parts([depth], limits.turns, |[depth]| turns(depth * TILE_DEPTH));
            for part in each {
                let [first] = part.from.map(|depth| depth * TILE_DEPTH);
                let [len] = part.len.map(|depth| depth * TILE_DEPTH);
                let moved = |offset: u32, step: u32| {
                    offset.wrapping_add(saturated(first).wrapping_mul(step))
                };
                let params = MatmulParams {
                    a_offset: moved(whole.a_offset, whole.a_depth),
                    b_offset: moved(whole.b_offset, whole.b_depth),
                    k: saturated(len.min(p.k - first)),
                    resumed: u32::from(part.resumed),
                    ..whole
                };
                plan.step(choice.clone(), operands(write), &params, tiled_grid(p));
            }
            let out = plan.out()?;
            add_sums(plan, dtype, (write.read(), 1), totals, out);
        }
        Choice::Dot(lanes) => {
            let params = MatmulParams {
                chunks: lanes.chunks,
                chunk_len: lanes.chunk_len,
                ..params(p)
            };
            let grid = Grid::elements(lanes.invocations(p.outputs()), 1);
            let choice = dot(dtype, made, axes, &lanes);
            if lanes.chunks == 1 {
                let write = plan.out()?;
                plan.last(choice, operands(write), &bound(params, write), grid);
            } else {
                let write = plan.partials(sums, p.outputs(), lanes.chunks)?;
                plan.step(choice, operands(write), &bound(params, write), grid);
                let out = plan.out()?;
                add_sums(plan, dtype, (write.read(), lanes.chunks), totals, out);
            }
        }
    }
    Ok(())
}

/// Runs [`Call::Matmul`] on parts of matrices that one binding cannot hold.
pub(crate) fn run_parts(exec: &Executor, ends: &Ends<'_>) -> Result<(), KernelError> {
    let [a, b] = matrices(ends)?;
    if exec.multiply_parts(a, b, ends.out)? {
        return Ok(());
    }
    let (problem, _) = Problem::new(&a.layout, &b.layout)?;
    exec.run_planned(OP, ends, |p| steps(p, &problem))
}

fn tiled_grid(p: &Problem) -> Grid {
    let groups = tiles(p.m) * tiles(p.n) * p.batches();
    Grid::elements(groups * u64::from(TILE_WG), 1)
}
