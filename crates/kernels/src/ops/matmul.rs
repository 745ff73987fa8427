//! Matrix products: any strides, broadcast batches, every number dtype.
//!
//! [`problem`] turns two layouts into numbers, [`choose`] picks the kernel. Floats are multiplied and added in f32,
//! integers wrap. Invariant: every product of a row and a column enters the sum (0 · inf is NaN), and nothing else
//! does: positions outside the matrices count as 0 on both sides.

use ziggurat_core::DType;
use ziggurat_pipeline::Grid;

use crate::fused::{Epilogue, FusedOutput, made};
use crate::limits::budget::{nested, parts};
use crate::num::saturated;
use crate::num::{pack, wrap};
use crate::ops::reduce::Reduce;
use crate::ops::reduce::lanes::{self, Lanes, Side};
use crate::run::completion::Completion;
use crate::run::error::KernelError;
use crate::run::executor::Executor;
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
        .parts(&[prelude::FLOAT, prelude::load(input), prelude::store(output)])
        .without_zeroed_memory()
}

/// The dot kernel; in chunks it leaves accumulators for a reduction.
fn dot(input: DType, output: DType, batch_axes: usize, lanes: &Lanes) -> KernelChoice {
    let choice = if lanes.chunks == 1 {
        base(input, output).name("dot").parts(&[
            prelude::cell(output),
            "matmul/params.wgsl",
            "matmul/batch.wgsl",
            "matmul/dot_elem.wgsl",
            "matmul/dot.wgsl",
        ])
    } else {
        base(input, output).name("dot_chunks").parts(&[
            "matmul/params.wgsl",
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
    let cell = if tile.out_quads {
        prelude::QUAD
    } else {
        prelude::cell(output)
    };
    let pick = |quads, quad, word| if quads { quad } else { word };
    let mut choice = base(input, output);
    if !sums {
        choice = choice.part(cell);
    }
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
            "matmul/params.wgsl",
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
    /// dtype and `out` has it too, or is f32 for floats and i32 or u32 for integers; [`KernelError::Output`].
    pub fn matmul(&self, a: &View, b: &View, out: &View) -> Result<Completion, KernelError> {
        self.matmul_into(a, b, out, None)
    }

    /// [`Executor::matmul`] that writes a value of an expression over the product: with a bias, an activation, a residual
    /// added, cast. The product itself has the dtype of [`Expression::made`](crate::Expression::made).
    ///
    /// # Errors
    /// Those of [`Executor::matmul`] for the product; [`KernelError::FusedTooLarge`] if one kernel cannot do it;
    /// [`KernelError::Dtype`] if `out` has not the value's dtype.
    pub fn matmul_fused(
        &self,
        a: &View,
        b: &View,
        value: &FusedOutput<'_>,
        out: &View,
    ) -> Result<Completion, KernelError> {
        let epilogue = self.epilogue(value, out, 3)?;
        self.matmul_into(a, b, out, Some(&epilogue))
    }

    fn matmul_into(
        &self,
        a: &View,
        b: &View,
        out: &View,
        epilogue: Option<&Epilogue>,
    ) -> Result<Completion, KernelError> {
        let made = made(out, epilogue);
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
        if expected != *out.shape() {
            return Err(KernelError::Output {
                op: OP,
                expected: Box::new(expected),
                got: Box::new(*out.shape()),
            });
        }
        if expected.is_empty() {
            return Ok(self.completion());
        }
        if self.multiply_parts(a, b, out, epilogue)? {
            return Ok(self.completion());
        }
        let mut inputs = vec![a, b];
        inputs.extend(epilogue.into_iter().flat_map(Epilogue::views));
        self.with_dense_out(OP, out, &inputs, |out| {
            self.multiply(a, b, &problem, out, epilogue)
        })?;
        Ok(self.completion())
    }

    fn multiply(
        &self,
        a: &View,
        b: &View,
        p: &Problem,
        out: &View,
        epilogue: Option<&Epilogue>,
    ) -> Result<(), KernelError> {
        let made = made(out, epilogue);
        let caps = self.device().caps();
        let limits = Limits {
            workgroup_size: caps.workgroup_size,
            max_invocations: caps
                .limits
                .max_compute_invocations_per_workgroup
                .min(caps.limits.max_compute_workgroup_size_x),
            turns: self.most_turns(),
        };
        let choice = choose(p, limits);
        if let Choice::Tile(tile) = choice
            && turns(p.k) > limits.turns
        {
            return self.multiply_by_parts(a, b, p, tile, out, epilogue);
        }
        let (left, right, write) = (
            self.bind_read(OP, a)?,
            self.bind_read(OP, b)?,
            self.bind_write(OP, out)?,
        );
        let params = MatmulParams {
            a_offset: left.offset,
            b_offset: right.offset,
            out_offset: write.offset,
            ..params(p)
        };
        let axes = p.batch.len();
        let lanes = match choice {
            Choice::Tile(tile) => {
                let choice = tiled(a.dtype, made, axes, tile, Writes::Results);
                let grid = tiled_grid(p);
                let args = [left.arg, right.arg, write.arg];
                return self.launch_writing(&choice, &args, &params, grid, epilogue);
            }
            Choice::Dot(lanes) => lanes,
        };
        let params = MatmulParams {
            chunks: lanes.chunks,
            chunk_len: lanes.chunk_len,
            ..params
        };
        let grid = Grid::elements(lanes.invocations(p.outputs()), 1);
        let choice = dot(a.dtype, made, axes, &lanes);
        if lanes.chunks == 1 {
            let args = [left.arg, right.arg, write.arg];
            return self.launch_writing(&choice, &args, &params, grid, epilogue);
        }
        let partial = self.partials(a.dtype.compute(), p.outputs(), lanes.chunks)?;
        let scratch = self.bind_write(OP, &partial)?;
        self.launch(&choice, &[left.arg, right.arg, scratch.arg], &params, grid)?;
        self.reduce_partials(Reduce::Sum, a.dtype, &partial, p.k, out, epilogue)
    }

    /// The tiled kernel on one part of the inner extent after the other.
    fn multiply_by_parts(
        &self,
        a: &View,
        b: &View,
        p: &Problem,
        tile: Tile,
        out: &View,
        epilogue: Option<&Epilogue>,
    ) -> Result<(), KernelError> {
        let sums = self.partials(a.dtype.compute(), p.outputs(), 1)?;
        let (left, right, write) = (
            self.bind_read(OP, a)?,
            self.bind_read(OP, b)?,
            self.bind_write(OP, &sums)?,
        );
        let args = [left.arg, right.arg, write.arg];
        let tile = Tile {
            out_quads: false,
            ..tile
        };
        let made = made(out, epilogue);
        let choice = tiled(a.dtype, made, p.batch.len(), tile, Writes::Sums);
        let whole = params(p);
        // Parts are whole tiles deep, so that quads stay quads.
        let depth = p.k.div_ceil(TILE_DEPTH);
        for part in parts([depth], self.most_turns(), |[depth]| {
            turns(depth * TILE_DEPTH)
        }) {
            let [first] = part.from.map(|depth| depth * TILE_DEPTH);
            let [len] = part.len.map(|depth| depth * TILE_DEPTH);
            let moved =
                |offset: u32, step: u32| offset.wrapping_add(saturated(first).wrapping_mul(step));
            let params = MatmulParams {
                a_offset: moved(left.offset, whole.a_depth),
                b_offset: moved(right.offset, whole.b_depth),
                out_offset: write.offset,
                k: saturated(len.min(p.k - first)),
                resumed: u32::from(part.resumed),
                ..whole
            };
            self.launch(&choice, &args, &params, tiled_grid(p))?;
        }
        self.reduce_partials(Reduce::Sum, a.dtype, &sums, p.k, out, epilogue)
    }
}

fn tiled_grid(p: &Problem) -> Grid {
    let groups = tiles(p.m) * tiles(p.n) * p.batches();
    Grid::elements(groups * u64::from(TILE_WG), 1)
}
