//! Matrix products: any strides, broadcast batches, every number dtype.
//!
//! [`problem`] turns two layouts into numbers, [`choose`] lists the kernels. Floats are multiplied and added in f32,
//! integers wrap. Invariant: every product of a row and a column enters the sum (0 · inf is NaN), and nothing else
//! does: positions outside the matrices count as 0 on both sides.

use ziggurat_core::DType;
use ziggurat_pipeline::Grid;

use crate::fused::Operand;
use crate::limits::ability::Ability;
use crate::limits::budget::parts;
use crate::num::saturated;
use crate::num::{pack, wrap};
use crate::ops::reduce::lanes::{self, Lanes, Side};
use crate::ops::reduce::{add_sums, only_memory};
use crate::ops::tile::Tile;
use crate::run::call::{Call, Operands, Sink};
use crate::run::completion::Completion;
use crate::run::ends::Ends;
use crate::run::error::KernelError;
use crate::run::executor::Executor;
use crate::run::plan::{Bound, Planned, Planner};
use crate::run::view::View;
use crate::source::candidate::Candidate;
use crate::source::choice::KernelChoice;
use crate::source::params::{Params, params};
use crate::source::prelude;

mod choose;
mod parts;
mod problem;

use choose::{Choice, Tiled, ways};
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
        // Extents, counts of tiles and of chunks are divided by; a dispatch without results is not recorded.
        .without_division_checks()
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

/// The tiled kernel.
fn tiled(
    input: DType,
    output: DType,
    batch_axes: usize,
    tile: Tiled,
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
            tile.tile.body(),
        ],
        &[
            ("BATCH_AXES", batch_axes as f64),
            ("A_ALONG_DEPTH", f64::from(u8::from(tile.a_along_depth))),
            ("B_ALONG_DEPTH", f64::from(u8::from(tile.b_along_depth))),
        ],
    );
    choice.with_constants(&tile.tile.constants())
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
        dims: pack(p.batch.iter().map(|axis| saturated(axis.dim))),
        a_strides: strides(0),
        b_strides: strides(1),
        ..MatmulParams::default()
    }
}

/// The ways of the sample problems for every pair of dtypes; tiles that are no default where the dtypes are equal.
pub(crate) fn variants() -> Vec<Candidate> {
    let mut all: Vec<KernelChoice> = Vec::new();
    let pairs = DType::ALL
        .into_iter()
        .flat_map(|input| DType::ALL.map(|output| (input, output)))
        .filter(|&(input, output)| accepts(input, output));
    for (input, output) in pairs {
        for p in choose::samples() {
            let axes = p.batch.len();
            for way in ways(&p, &Ability::WEBGPU).all() {
                match way {
                    Choice::Tile(t) if input != output && t.tile != Tile::DEFAULT => {}
                    Choice::Tile(t) => {
                        all.push(tiled(input, output, axes, t, Writes::Results));
                        if !t.out_quads {
                            all.push(tiled(input, output, axes, t, Writes::Sums));
                        }
                    }
                    Choice::Dot(lanes) => all.push(dot(input, output, axes, &lanes)),
                }
            }
        }
    }
    let mut unique: Vec<KernelChoice> = Vec::new();
    for choice in all {
        if !unique.contains(&choice) {
            unique.push(choice);
        }
    }
    unique
        .into_iter()
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
        let lanes = lanes::choose(4, 1 << 16, Side::Reduced, false, &Ability::WEBGPU);
        all.push((dtype, dot(dtype, dtype, 1, &lanes)));
        for out_quads in [false, true] {
            let tile = Tiled {
                tile: Tile::DEFAULT,
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
    let ability = exec.ability();
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
    match ways(p, &ability).default {
        Choice::Tile(tile) if tile.tile.iterations(p.k) <= ability.loop_budget => {
            let write = plan.out()?;
            let choice = tiled(dtype, made, axes, tile, Writes::Results);
            let params = bound(tiled_params(params(p), p, tile), write);
            plan.last(choice, operands(write), &params, tiled_grid(p, tile));
        }
        Choice::Tile(tile) => {
            // One part of the inner extent after the other, which go on with each other's sums.
            let write = plan.partials(sums, p.outputs(), 1)?;
            let tile = Tiled {
                out_quads: false,
                ..tile
            };
            let choice = tiled(dtype, made, axes, tile, Writes::Sums);
            let whole = bound(tiled_params(params(p), p, tile), write);
            // Parts are whole tiles deep, so that quads stay quads.
            let deep = u64::from(tile.tile.depth);
            let depth = p.k.div_ceil(deep);
            let each = parts([depth], ability.loop_budget, |[depth]| {
                tile.tile.iterations(depth * deep)
            });
            for part in each {
                let [first] = part.from.map(|depth| depth * deep);
                let [len] = part.len.map(|depth| depth * deep);
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
                plan.step(
                    choice.clone(),
                    operands(write),
                    &params,
                    tiled_grid(p, tile),
                );
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

/// The parameters of a tiled kernel.
fn tiled_params(params: MatmulParams, p: &Problem, tiled: Tiled) -> MatmulParams {
    let [tiles_m, tiles_n] = tiled.tile.count(p.m, p.n).map(saturated);
    MatmulParams {
        tiles_m,
        tiles_n,
        ..params
    }
}

fn tiled_grid(p: &Problem, tiled: Tiled) -> Grid {
    let [tiles_m, tiles_n] = tiled.tile.count(p.m, p.n);
    let groups = tiles_m * tiles_n * p.batches();
    Grid::elements(groups * u64::from(tiled.tile.invocations()), 1)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use ziggurat_core::{Element, Shape};
    use ziggurat_pipeline::device::DeviceOptions;

    /// The bytes of the product that the kernel of a tile leaves, for elements 0, 1, … of both matrices through `element`.
    fn product<T: Element>(
        exec: &Executor,
        tile: Tile,
        [batch, m, k, n]: [usize; 4],
        element: impl Fn(usize) -> T,
    ) -> Vec<u8> {
        let operand = |dims: [usize; 3], from: usize| {
            let shape = Shape::new(dims).unwrap();
            let elements: Vec<T> = (from..from + shape.len()).map(&element).collect();
            exec.upload(&elements, &shape).unwrap()
        };
        let (a, b) = (operand([batch, m, k], 0), operand([batch, k, n], 7));
        let (p, shape) = Problem::new(&a.layout, &b.layout).unwrap();
        let out = exec.alloc(&shape, a.dtype).unwrap();
        let tiled = choose::tiled(&p, tile);
        let bound = [
            exec.bind_read(OP, &a).unwrap(),
            exec.bind_read(OP, &b).unwrap(),
        ];
        let write = exec.bind_write(OP, &out).unwrap();
        let params = MatmulParams {
            a_offset: bound[0].offset,
            b_offset: bound[1].offset,
            out_offset: write.offset,
            ..tiled_params(params(&p), &p, tiled)
        };
        let args = [bound[0].arg, bound[1].arg, write.arg];
        let choice = super::tiled(a.dtype, a.dtype, p.batch.len(), tiled, Writes::Results);
        exec.launch(&choice, &args, &params, tiled_grid(&p, tiled))
            .unwrap();
        exec.download(&out).unwrap().wait().unwrap()
    }

    #[test]
    fn every_tile_gives_the_bits_of_the_default() {
        let exec = Executor::open_blocking(DeviceOptions::default()).unwrap();
        let [default, others @ ..] = Tile::ALL;
        for extents in [
            [1, 1, 1, 1],
            [1, 65, 33, 70],
            [2, 64, 48, 128],
            [1, 130, 19, 67],
            [3, 31, 100, 36],
        ] {
            let float = |i: usize| ((i * 37 % 101) as f32 - 50.0) / 7.0;
            let whole = |i: usize| (i * 37 % 251) as u8;
            let expected = (
                product(&exec, default, extents, float),
                product(&exec, default, extents, whole),
            );
            assert!(expected.0.iter().any(|byte| *byte != 0));
            for tile in others {
                let got = (
                    product(&exec, tile, extents, float),
                    product(&exec, tile, extents, whole),
                );
                assert_eq!(got, expected, "{tile:?} {extents:?}");
            }
        }
    }
}
