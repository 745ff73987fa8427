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
use crate::ops::tile::{Tile, TileKind};
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

use choose::{Choice, Load, Narrow, Tiled, ways};
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
    base_by(input, output, false)
}

/// With `native` the input is f16, and read as the device's own type.
fn base_by(input: DType, output: DType, native: bool) -> KernelChoice {
    let choice = KernelChoice::new(OP)
        .name(input.name())
        .name(output.name())
        .part(prelude::FLOAT);
    let choice = if native {
        choice.load_native_f16()
    } else {
        choice.load(input)
    };
    choice
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

/// The part that writes results, and the prelude that it needs.
fn writing(
    choice: KernelChoice,
    output: DType,
    out_quads: bool,
    writes: Writes,
) -> (KernelChoice, &'static str, &'static str) {
    match writes {
        Writes::Sums => (choice, "out_sums", "matmul/tile_out_sum.wgsl"),
        Writes::Results if out_quads => (choice.quad(), "out_quads", "matmul/tile_out_quad.wgsl"),
        Writes::Results => (
            choice.cell(output),
            "out_cells",
            "matmul/tile_out_cell.wgsl",
        ),
    }
}

/// Blocks of a, and the vectors that they are made of.
const fn blocks_a(load: Load) -> &'static [&'static str] {
    match load {
        Load::Along => &["matmul/tile_a_quad.wgsl", "matmul/block_a.wgsl"],
        Load::Across => &["matmul/block_a_rows.wgsl"],
        Load::Words => &["matmul/tile_a_word.wgsl", "matmul/block_a.wgsl"],
    }
}

/// Blocks of b, and the vectors that they are made of.
const fn blocks_b(load: Load) -> &'static [&'static str] {
    match load {
        Load::Along => &["matmul/block_b_depth.wgsl"],
        Load::Across => &["matmul/tile_b_quad.wgsl", "matmul/block_b.wgsl"],
        Load::Words => &["matmul/tile_b_word.wgsl", "matmul/block_b.wgsl"],
    }
}

/// What the kernel of a tile reads its operands by.
const fn reads(tile: Tiled) -> [&'static [&'static str]; 2] {
    match tile.tile.kind {
        TileKind::Vector => [
            match tile.a {
                Load::Along => &["matmul/tile_a_quad.wgsl"],
                Load::Across | Load::Words => &["matmul/tile_a_word.wgsl"],
            },
            match tile.b {
                Load::Across => &["matmul/tile_b_quad.wgsl"],
                Load::Along | Load::Words => &["matmul/tile_b_word.wgsl"],
            },
        ],
        TileKind::Wide => [blocks_a(tile.a), blocks_b(tile.b)],
        TileKind::Cooperative => [
            match tile.a {
                Load::Along | Load::Across => &["matmul/half_a.wgsl"],
                Load::Words => &["matmul/half_a_word.wgsl"],
            },
            match tile.b {
                Load::Along | Load::Across => &["matmul/half_b.wgsl"],
                Load::Words => &["matmul/half_b_word.wgsl"],
            },
        ],
    }
}

/// The tiled kernel.
fn tiled(
    input: DType,
    output: DType,
    batch_axes: usize,
    tile: Tiled,
    writes: Writes,
) -> KernelChoice {
    let kind = tile.tile.kind;
    let mut choice = base(input, output);
    if kind == TileKind::Cooperative {
        choice = choice
            .enable("enable/f16.wgsl")
            .enable("enable/cooperative_matrix.wgsl");
    }
    let (choice, out_name, out) = writing(choice, output, tile.out_quads, writes);
    let mut choice = choice.params("matmul/params.wgsl");
    let name = |load, names: [&'static str; 3]| match load {
        Load::Along => names[0],
        Load::Across => names[1],
        Load::Words => names[2],
    };
    let names = [
        match kind {
            TileKind::Vector => "tile",
            TileKind::Wide => "wide",
            TileKind::Cooperative => "cooperative",
        },
        name(tile.a, ["a_quads", "a_across", "a_words"]),
        name(tile.b, ["b_along", "b_quads", "b_words"]),
        out_name,
    ];
    choice.append(
        &names,
        &["matmul/batch.wgsl"],
        &[("BATCH_AXES", batch_axes as f64)],
    );
    let before: &[&str] = match kind {
        TileKind::Vector => &["matmul/tile_origin.wgsl"],
        TileKind::Wide => &[
            "matmul/tile_origin.wgsl",
            "matmul/raster.wgsl",
            "matmul/block.wgsl",
        ],
        TileKind::Cooperative => &["matmul/raster.wgsl", "matmul/cooperative.wgsl"],
    };
    let [a, b] = reads(tile);
    choice = choice.parts(before).parts(a).parts(b);
    let flag = |flag: bool| f64::from(u8::from(flag));
    let sides: &[(&'static str, f64)] = match kind {
        TileKind::Vector | TileKind::Wide => &[
            ("A_ALONG_DEPTH", flag(tile.a_along_depth)),
            ("B_ALONG_DEPTH", flag(tile.b_along_depth)),
        ],
        TileKind::Cooperative => &[
            ("A_ACROSS", flag(!tile.a_along_depth)),
            ("B_ACROSS", flag(!tile.b_along_depth)),
            ("WHOLE", flag(tile.whole)),
        ],
    };
    choice = choice.parts(&[out, tile.tile.body()]);
    let constants = sides.iter().copied().chain(tile.tile.constants());
    constants.fold(choice, |choice, (name, value)| choice.constant(name, value))
}

/// The kernel of few rows.
fn narrow(input: DType, output: DType, batch_axes: usize, narrow: &Narrow) -> KernelChoice {
    let name = if narrow.native {
        "narrow_native"
    } else {
        "narrow"
    };
    let choice = base_by(input, output, narrow.native).name(name);
    let (choice, name, out) = writing(choice, output, narrow.out_quads, Writes::Results);
    let lines = match narrow.lines {
        1 => "matmul/lines_1.wgsl",
        2 => "matmul/lines_2.wgsl",
        4 => "matmul/lines_4.wgsl",
        8 => "matmul/lines_8.wgsl",
        _ => "matmul/lines_16.wgsl",
    };
    let choice = choice
        .name(name)
        .params("matmul/params.wgsl")
        .parts(&[
            "matmul/batch.wgsl",
            "matmul/tile_origin.wgsl",
            "matmul/block.wgsl",
            match narrow.a {
                Load::Along => "matmul/tile_a_quad.wgsl",
                Load::Across | Load::Words => "matmul/tile_a_word.wgsl",
            },
        ])
        .parts(blocks_b(narrow.b))
        .parts(&[out, lines, "matmul/narrow.wgsl"]);
    let along = u32::from(narrow.b_along_depth);
    choice
        .constant("BATCH_AXES", batch_axes as f64)
        .constant("WG", choose::NARROW_GROUP)
        .constant("QUADS", narrow.quads)
        .constant("SLICES", narrow.slices)
        .constant("B_ALONG_DEPTH", along)
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
    let mut unique: Vec<KernelChoice> = Vec::new();
    let mut add = |choice| {
        if !unique.contains(&choice) {
            unique.push(choice);
        }
    };
    let pairs = DType::ALL
        .into_iter()
        .flat_map(|input| DType::ALL.map(|output| (input, output)))
        .filter(|&(input, output)| accepts(input, output));
    for ((input, output), ability) in
        pairs.flat_map(|pair| Ability::SAMPLES.map(|ability| (pair, ability)))
    {
        for p in choose::samples() {
            let axes = p.batch.len();
            for way in ways(&p, input, &ability).all() {
                match way {
                    Choice::Tile(t) if input != output && Tile::SMALL.contains(&t.tile) => {}
                    Choice::Tile(t) => {
                        add(tiled(input, output, axes, t, Writes::Results));
                        if !t.out_quads {
                            add(tiled(input, output, axes, t, Writes::Sums));
                        }
                    }
                    Choice::Narrow(n) => add(narrow(input, output, axes, &n)),
                    Choice::Dot(lanes) => add(dot(input, output, axes, &lanes)),
                }
            }
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
        let units = (dtype == DType::F16).then_some(Tile::COOPERATIVE);
        for tile in [Tile::DEFAULT, Tile::WIDE].into_iter().chain(units) {
            for out_quads in [false, true] {
                let b = if out_quads { Load::Across } else { Load::Words };
                let tile = Tiled {
                    tile,
                    a: Load::Along,
                    b,
                    out_quads,
                    a_along_depth: true,
                    b_along_depth: false,
                    whole: out_quads,
                };
                all.push((dtype, tiled(dtype, dtype, 1, tile, Writes::Results)));
            }
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
            others: [Some(b), None, None, None],
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
    let (axes, sums) = (p.batch.len(), dtype.compute());
    let totals = [p.outputs(), p.k];
    let (left, right) = (plan.first()?, plan.other(0)?);
    let operands = |write: Bound| [Some(left), right, Some(write)].into_iter().flatten();
    let bound = |params: MatmulParams, write: Bound| MatmulParams {
        a_offset: left.offset,
        b_offset: right.map_or(0, |right| right.offset),
        out_offset: write.offset,
        ..params
    };
    let way = match ability.way {
        0 => choose::default(p, dtype, &ability),
        _ => ways(p, dtype, &ability).chosen(&ability),
    };
    let (choice, params, grid) = dispatch(p, way, [dtype, made]);
    match way {
        Choice::Tile(tile) if tile.tile.iterations(p.k) > ability.loop_budget => {
            // One part of the inner extent after the other, which go on with each other's sums.
            let write = plan.partials(sums, p.outputs(), 1)?;
            let tile = Tiled {
                out_quads: false,
                ..tile
            };
            let choice = tiled(dtype, made, axes, tile, Writes::Sums);
            let whole = bound(params, write);
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
                plan.step(choice.clone(), operands(write), &params, grid);
            }
            let out = plan.out()?;
            add_sums(plan, dtype, (write.read(), 1), totals, out);
        }
        Choice::Dot(lanes) if lanes.chunks > 1 => {
            let write = plan.partials(sums, p.outputs(), lanes.chunks)?;
            plan.step(choice, operands(write), &bound(params, write), grid);
            let out = plan.out()?;
            add_sums(plan, dtype, (write.read(), lanes.chunks), totals, out);
        }
        Choice::Tile(_) | Choice::Narrow(_) | Choice::Dot(_) => {
            let write = plan.out()?;
            plan.last(choice, operands(write), &bound(params, write), grid);
        }
    }
    Ok(())
}

/// The dispatch of a way that writes results of the second dtype, or sums of chunks; offsets come with the bindings.
fn dispatch(
    p: &Problem,
    way: Choice,
    [input, output]: [DType; 2],
) -> (KernelChoice, MatmulParams, Grid) {
    let (params, axes) = (params(p), p.batch.len());
    let counted = |[tiles_m, tiles_n]: [u64; 2], invocations: u32| {
        let groups = tiles_m.saturating_mul(tiles_n).saturating_mul(p.batches());
        let params = MatmulParams {
            tiles_m: saturated(tiles_m),
            tiles_n: saturated(tiles_n),
            ..params
        };
        let invocations = groups.saturating_mul(u64::from(invocations));
        (params, Grid::elements(invocations, 1))
    };
    match way {
        Choice::Tile(tile) => {
            let choice = tiled(input, output, axes, tile, Writes::Results);
            let tile = tile.tile;
            let (params, grid) = counted(tile.count(p.m, p.n), tile.invocations());
            (choice, params, grid)
        }
        Choice::Narrow(lies) => {
            let choice = narrow(input, output, axes, &lies);
            let (params, grid) = counted(lies.count(p.m, p.n), choose::NARROW_GROUP);
            (choice, params, grid)
        }
        Choice::Dot(lanes) => {
            let params = MatmulParams {
                chunks: lanes.chunks,
                chunk_len: lanes.chunk_len,
                ..params
            };
            let grid = Grid::elements(lanes.invocations(p.outputs()), 1);
            (dot(input, output, axes, &lanes), params, grid)
        }
    }
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use ziggurat_core::{Shape, decode, encode};
    use ziggurat_pipeline::device::{DeviceOptions, SoftwareWish};

    /// A matrix of each batch entry, and its elements in row-major order.
    struct Matrix {
        view: View,
        values: Vec<f64>,
    }

    /// Elements from `from` on, stored transposed if that is said.
    fn matrix(
        exec: &Executor,
        dtype: DType,
        [batch, rows, cols]: [usize; 3],
        transposed: bool,
        from: usize,
    ) -> Matrix {
        // Nothing is lost in any dtype, and sums of some hundred products are exact in f32.
        let value =
            |i: usize| ((from + i) * 37 % 13) as f64 - if dtype.is_float() { 6.0 } else { 0.0 };
        let stored = if transposed {
            [batch, cols, rows]
        } else {
            [batch, rows, cols]
        };
        let shape = Shape::new(stored).unwrap();
        let elements: Vec<f64> = (0..shape.len()).map(value).collect();
        let words = encode(dtype, &elements);
        let mut view = exec.upload_bytes(dtype, &words, &shape).unwrap();
        let place = |i: usize| {
            let (b, row, col) = (i / (rows * cols), i / cols % rows, i % cols);
            if transposed {
                (b * cols + col) * rows + row
            } else {
                i
            }
        };
        if transposed {
            view.layout = view.layout.transpose(1, 2).unwrap();
        }
        Matrix {
            values: (0..shape.len()).map(|i| elements[place(i)]).collect(),
            view,
        }
    }

    fn expected(a: &Matrix, b: &Matrix, [batch, m, k, n]: [usize; 4]) -> Vec<f64> {
        let one = |i: usize| {
            let (entry, row, col) = (i / (m * n), i / n % m, i % n);
            (0..k)
                .map(|d| a.values[(entry * m + row) * k + d] * b.values[(entry * k + d) * n + col])
                .sum()
        };
        (0..batch * m * n).map(one).collect()
    }

    /// Every way of a product gives the exact sums, in the dtype that sums are kept in; how many ways there were.
    fn all_ways(
        exec: &Executor,
        dtype: DType,
        extents: [usize; 4],
        transposed: [bool; 2],
    ) -> usize {
        let [batch, m, k, n] = extents;
        let a = matrix(exec, dtype, [batch, m, k], transposed[0], 0);
        let b = matrix(exec, dtype, [batch, k, n], transposed[1], 7);
        let want = expected(&a, &b, extents);
        let (p, shape) = Problem::new(&a.view.layout, &b.view.layout).unwrap();
        let ways = ways(&p, dtype, &exec.ability());
        let single = |way: &Choice| !matches!(way, Choice::Dot(lanes) if lanes.chunks > 1);
        let bound = [&a.view, &b.view].map(|view| exec.bind_read(OP, view).unwrap());
        let sums = dtype.compute();
        for way in ways.all().filter(single) {
            let out = exec.alloc(&shape, sums).unwrap();
            let write = exec.bind_write(OP, &out).unwrap();
            let (choice, params, grid) = dispatch(&p, way, [dtype, sums]);
            let params = MatmulParams {
                a_offset: bound[0].offset,
                b_offset: bound[1].offset,
                out_offset: write.offset,
                ..params
            };
            let args = [bound[0].arg, bound[1].arg, write.arg];
            exec.launch(&choice, &args, &params, grid).unwrap();
            let bytes = exec.download(&out).unwrap().wait().unwrap();
            let got = decode(sums, &bytes);
            assert_eq!(got, want, "{dtype} {extents:?} {transposed:?} {way:?}");
        }
        ways.all().filter(single).count()
    }

    #[test]
    fn every_way_gives_exact_sums() {
        let default = Executor::open_blocking(DeviceOptions::default()).unwrap();
        let mut options = DeviceOptions::default();
        options.adapter.software = Some(SoftwareWish::Named("nvidia".to_owned()));
        let large = Executor::open_blocking(options).unwrap();
        let few: &[_] = &[[1, 1, 17, 16], [2, 36, 20, 40]];
        let many: &[_] = &[
            [1, 1, 17, 16],
            [1, 130, 33, 70],
            [2, 64, 48, 132],
            [3, 3, 100, 36],
        ];
        let narrow = [DType::F32, DType::F16];
        let wide = [DType::F32, DType::F16, DType::BF16, DType::U8];
        let devices: [(_, _, &[DType]); 2] = [(&default, many, &wide), (&large, few, &narrow)];
        for (exec, all, dtypes) in devices {
            for extents in all {
                for dtype in dtypes {
                    for transposed in [[false, false], [false, true], [true, false]] {
                        let count = all_ways(exec, *dtype, *extents, transposed);
                        assert!(count > 4, "{count} ways");
                    }
                }
            }
        }
    }
}
