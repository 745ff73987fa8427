//! The shader parts and constants of each way to multiply.

use ziggurat_core::DType;

use super::OP;
use super::choose::{self, Load, Narrow, Tiled};
use super::dtypes::DTypes;
use super::packed::{Operand, PACK_GROUP};
use crate::ops::reduce::lanes::Lanes;
use crate::ops::tile::{Tile, TileKind};
use crate::source::choice::KernelChoice;
use crate::source::prelude;

fn base(dtypes: DTypes) -> KernelChoice {
    base_by(dtypes, false)
}

/// With `native` both operands are f16, and read as the device's own type.
fn base_by(dtypes: DTypes, native: bool) -> KernelChoice {
    let DTypes { a, b, out } = dtypes;
    let mut choice = KernelChoice::new(OP).name(a.name());
    if a != b {
        choice = choice.name(b.name());
    }
    let choice = choice.name(out.name()).part(prelude::FLOAT);
    let choice = if native {
        choice.load_native_f16()
    } else {
        choice.load(dtypes.read())
    };
    choice
        .store(out)
        .without_zeroed_memory()
        // Extents, counts of tiles and of chunks are divided by; a dispatch without results is not recorded.
        .without_division_checks()
}

/// How vectors and words of both operands become what is multiplied.
fn with_reads(choice: KernelChoice, dtypes: DTypes) -> KernelChoice {
    let choice = if dtypes.a == dtypes.read() {
        choice.part("matmul/reads_a.wgsl")
    } else {
        choice.load_of("a", dtypes.a)
    };
    if dtypes.b == dtypes.read() {
        choice.part("matmul/reads_b.wgsl")
    } else {
        choice.load_of("b", dtypes.b)
    }
}

/// The dot kernel; in chunks it leaves accumulators for a reduction.
pub(super) fn dot(dtypes: DTypes, batch_axes: usize, lanes: &Lanes) -> KernelChoice {
    let choice = with_reads(base(dtypes), dtypes);
    let choice = if lanes.chunks == 1 {
        choice
            .name("dot")
            .cell(dtypes.out)
            .params("matmul/params.wgsl")
            .parts(&[
                "matmul/batch.wgsl",
                "matmul/dot_elem.wgsl",
                "matmul/dot.wgsl",
            ])
    } else {
        choice
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
pub(super) enum Writes {
    Results,
    /// Sums that other dispatches go on with, without an epilogue.
    Sums,
}

/// Which tiles of the output a kernel computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Computes {
    Every,
    /// Those that f16 has room for, from packed operands.
    Packed,
    /// Those that f16 has room for, of operands that become f16 meanwhile.
    Scaled,
    /// The others of the same product, whose sides are these.
    Flagged(u32),
}

/// The part that writes results, and the prelude that it needs.
fn writing(
    choice: KernelChoice,
    output: DType,
    out_vec4: bool,
    writes: Writes,
) -> (KernelChoice, &'static str, &'static str) {
    match writes {
        Writes::Sums if out_vec4 => (choice, "out_sums_vec4", "matmul/tile_out_sum_vec4.wgsl"),
        Writes::Sums => (choice, "out_sums", "matmul/tile_out_sum.wgsl"),
        Writes::Results if out_vec4 => (choice.vec4(), "out_vec4", "matmul/tile_out_vec4.wgsl"),
        Writes::Results => {
            let part = match output.bytes() {
                2 => prelude::OUT_HALVES,
                _ => prelude::OUT_ELEMENT,
            };
            (choice.cell(output), "out_cells", part)
        }
    }
}

/// Blocks of a, and the vectors that they are made of.
const fn blocks_a(load: Load) -> &'static [&'static str] {
    match load {
        Load::Along => &["matmul/tile_a_vec4.wgsl", "matmul/block_a.wgsl"],
        Load::Across => &["matmul/block_a_rows.wgsl"],
        Load::Words => &["matmul/tile_a_word.wgsl", "matmul/block_a.wgsl"],
    }
}

/// Blocks of b, and the vectors that they are made of.
const fn blocks_b(load: Load) -> &'static [&'static str] {
    match load {
        Load::Along => &["matmul/block_b_depth.wgsl"],
        Load::Across => &["matmul/tile_b_vec4.wgsl", "matmul/block_b.wgsl"],
        Load::Words => &["matmul/tile_b_word.wgsl", "matmul/block_b.wgsl"],
    }
}

/// What the kernel of a tile reads its operands by.
const fn reads(tile: Tiled) -> [&'static [&'static str]; 2] {
    match tile.tile.kind {
        TileKind::Vector => [
            match tile.a {
                Load::Along => &["matmul/tile_a_vec4.wgsl"],
                Load::Across | Load::Words => &["matmul/tile_a_word.wgsl"],
            },
            match tile.b {
                Load::Across => &["matmul/tile_b_vec4.wgsl"],
                Load::Along | Load::Words => &["matmul/tile_b_word.wgsl"],
            },
        ],
        TileKind::Wide => [blocks_a(tile.a), blocks_b(tile.b)],
        // The operands of the one are always packed, the other reads them itself.
        TileKind::Split | TileKind::Streamed => [&[], &[]],
        TileKind::Cooperative | TileKind::Pieces => [
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

const fn name_a(load: Load) -> &'static str {
    match load {
        Load::Along => "a_vec4",
        Load::Across => "a_across",
        Load::Words => "a_words",
    }
}

const fn name_b(load: Load) -> &'static str {
    match load {
        Load::Along => "b_along",
        Load::Across => "b_vec4",
        Load::Words => "b_words",
    }
}

/// What matrix units multiply, and how operands become that.
const fn units_of(kind: TileKind, computes: Computes, dtype: DType) -> &'static [&'static str] {
    match (kind, computes, dtype) {
        (TileKind::Cooperative, Computes::Scaled, DType::BF16) => {
            &["matmul/units_bf16.wgsl", "matmul/running.wgsl"]
        }
        (TileKind::Cooperative, Computes::Scaled, _) => {
            &["matmul/units_f32.wgsl", "matmul/running.wgsl"]
        }
        (TileKind::Cooperative, ..) => &["matmul/elements_f16.wgsl", "matmul/units_f16.wgsl"],
        (TileKind::Pieces, ..) => &[
            "matmul/units_f32.wgsl",
            "matmul/running.wgsl",
            "matmul/lower_f32.wgsl",
        ],
        (TileKind::Vector | TileKind::Wide | TileKind::Split | TileKind::Streamed, ..) => &[],
    }
}

/// A kernel on matrix units that flags tiles for small sums: those of which an element that f16 has no room for takes more where
/// elements are two f16, or one.
fn doubting(choice: KernelChoice, kind: TileKind) -> KernelChoice {
    let stray = match kind {
        TileKind::Split | TileKind::Pieces => 16,
        _ => 32_768,
    };
    choice
        .enable("enable/subgroups.wgsl")
        .part("matmul/stray.wgsl")
        .constant("STRAY", stray)
}

/// The tiled kernel.
pub(super) fn tiled(
    dtypes: DTypes,
    batch_axes: usize,
    tile: Tiled,
    writes: Writes,
    computes: Computes,
) -> KernelChoice {
    let kind = tile.tile.kind;
    let choice = base(dtypes);
    let units = !matches!(kind, TileKind::Vector | TileKind::Wide);
    let choice = if units {
        let choice = match kind {
            TileKind::Streamed => choice
                .enable("enable/subgroups.wgsl")
                .enable("enable/subgroup_barriers.wgsl"),
            _ => choice,
        };
        choice
            .enable("enable/f16.wgsl")
            .enable("enable/cooperative_matrix.wgsl")
    } else {
        with_reads(choice, dtypes)
    };
    let (choice, out_name, out) = writing(choice, dtypes.out, tile.out_vec4, writes);
    let mut choice = choice.params("matmul/params.wgsl");
    let names = [
        match kind {
            TileKind::Vector => "tile",
            TileKind::Wide => "wide",
            TileKind::Cooperative if tile.tile == Tile::COOPERATIVE_64_BY_32 => {
                "cooperative_64_by_32"
            }
            TileKind::Cooperative if tile.tile.rows == 64 => "cooperative_64",
            TileKind::Cooperative => "cooperative",
            TileKind::Split => "split",
            TileKind::Pieces => "pieces",
            TileKind::Streamed => ["streamed_16", "streamed_32", "streamed_48", "streamed_64"]
                [tile.tile.rows as usize / 16 - 1],
        },
        name_a(tile.a),
        name_b(tile.b),
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
        TileKind::Cooperative | TileKind::Pieces => &[
            "matmul/raster.wgsl",
            "matmul/cooperative.wgsl",
            "matmul/plain_lines.wgsl",
            "matmul/strips.wgsl",
        ],
        TileKind::Split => &[
            "matmul/raster.wgsl",
            "matmul/strips.wgsl",
            "matmul/split_lines.wgsl",
        ],
        TileKind::Streamed => &[
            "matmul/raster.wgsl",
            "matmul/streamed.wgsl",
            "matmul/strips.wgsl",
        ],
    };
    let which: &[&str] = match (kind, computes) {
        (TileKind::Vector, _) => &[],
        (TileKind::Wide, Computes::Flagged(_)) => &["matmul/flagged_tiles.wgsl"],
        (TileKind::Wide, _) => &["matmul/every_tile.wgsl"],
        (TileKind::Streamed, _) => &["matmul/plain_sums.wgsl"],
        (_, Computes::Packed) => &[
            "matmul/packed_tiles.wgsl",
            "matmul/doubt.wgsl",
            "matmul/scaled_lines.wgsl",
            tile.tile.scales_part(),
        ],
        (_, Computes::Scaled) => &["matmul/every_tile.wgsl", "matmul/doubt.wgsl"],
        (_, _) => &[
            "matmul/every_tile.wgsl",
            "matmul/plain_sums.wgsl",
            "matmul/no_doubts.wgsl",
        ],
    };
    let depth: &[&str] = match (kind, writes) {
        (TileKind::Streamed, _) | (TileKind::Cooperative, Writes::Sums) => {
            &["matmul/share_depth.wgsl"]
        }
        (TileKind::Cooperative, Writes::Results) => &["matmul/whole_depth.wgsl"],
        _ => &[],
    };
    choice = match computes {
        Computes::Every => choice,
        Computes::Packed => doubting(choice.name("packed"), kind),
        Computes::Scaled => doubting(choice.name("scaled"), kind),
        Computes::Flagged(side) => choice.name("flagged_tiles").constant("FLAG_SIDE", side),
    };
    let [a, b] = reads(tile);
    choice = choice
        .parts(tile.tile.depth_part())
        .parts(units_of(kind, computes, dtypes.read()))
        .parts(before)
        .parts(depth)
        .parts(which)
        .parts(a)
        .parts(b);
    let flag = |flag: bool| f64::from(u8::from(flag));
    let sides: &[(&'static str, f64)] = match kind {
        TileKind::Vector | TileKind::Wide => &[
            ("A_ALONG_DEPTH", flag(tile.a_along_depth)),
            ("B_ALONG_DEPTH", flag(tile.b_along_depth)),
        ],
        TileKind::Split | TileKind::Streamed => &[],
        TileKind::Cooperative | TileKind::Pieces => &[
            ("A_ACROSS", flag(!tile.a_along_depth)),
            ("B_ACROSS", flag(!tile.b_along_depth)),
            ("WHOLE", flag(tile.whole)),
            ("PIECES", if kind == TileKind::Pieces { 2.0 } else { 1.0 }),
        ],
    };
    choice = choice.parts(&[out, tile.tile.body()]);
    if matches!(kind, TileKind::Cooperative | TileKind::Pieces) {
        // The next part of the tile is loaded while this one is multiplied.
        choice = choice.ordered_loads();
    }
    let constants = sides.iter().copied().chain(tile.tile.constants());
    constants.fold(choice, |choice, (name, value)| choice.constant(name, value))
}

/// Invocations of a workgroup that copies operands into lines of whole vectors.
pub(super) const ALIGN_GROUP: u32 = 256;

/// What copies operands of f16 into lines of whole vectors.
pub(super) fn align(batch_axes: usize, [a, b]: [bool; 2]) -> KernelChoice {
    let side = |along: bool| if along { "along" } else { "across" };
    KernelChoice::new(OP)
        .enable("enable/f16.wgsl")
        .name("align")
        .name(side(a))
        .name(side(b))
        .part(prelude::FLOAT)
        .load(DType::F16)
        .without_zeroed_memory()
        .without_division_checks()
        .params("matmul/params.wgsl")
        .parts(&[
            "matmul/batch.wgsl",
            "matmul/elements_f16.wgsl",
            "matmul/half_a_word.wgsl",
            "matmul/half_b_word.wgsl",
            "matmul/align.wgsl",
        ])
        .constant("BATCH_AXES", batch_axes as f64)
        .constant("WG", ALIGN_GROUP)
        .constant("A_ACROSS", u32::from(!a))
        .constant("B_ACROSS", u32::from(!b))
}

/// What packs rows of a and columns of b for a tile.
pub(super) fn pack(
    dtypes: DTypes,
    batch_axes: usize,
    operands: [Operand; 2],
    tile: Tile,
) -> KernelChoice {
    let split = tile.kind == TileKind::Split;
    let [a, b] = operands;
    let choice = KernelChoice::new(OP)
        .enable("enable/f16.wgsl")
        .name(dtypes.a.name());
    let choice = if dtypes.a == dtypes.b {
        choice
    } else {
        choice.name(dtypes.b.name())
    };
    let choice = choice
        .name("pack")
        .name(if split { "split" } else { "scaled" })
        .name(name_a(a.load))
        .name(name_b(b.load))
        .part(prelude::FLOAT)
        .load(dtypes.read());
    with_reads(choice, dtypes)
        .without_zeroed_memory()
        .without_division_checks()
        .params("matmul/params.wgsl")
        .parts(&[
            "matmul/batch.wgsl",
            "matmul/tile_origin.wgsl",
            "matmul/block.wgsl",
        ])
        .parts(blocks_a(a.load))
        .parts(blocks_b(b.load))
        .part("matmul/pack.wgsl")
        .constant("BATCH_AXES", batch_axes as f64)
        .constant("WG", PACK_GROUP)
        .constant("A_ALONG_DEPTH", u32::from(a.along_depth))
        .constant("B_ALONG_DEPTH", u32::from(b.along_depth))
        .constant("SPLIT", u32::from(split))
        .constant("DEPTH", tile.depth)
}

/// The kernel of few rows.
pub(super) fn narrow(dtypes: DTypes, batch_axes: usize, narrow: &Narrow) -> KernelChoice {
    let name = if narrow.native {
        "narrow_native"
    } else {
        "narrow"
    };
    let choice = with_reads(base_by(dtypes, narrow.native), dtypes).name(name);
    let (choice, name, out) = if narrow.columns {
        let out = "matmul/out_columns.wgsl";
        (choice.cell(dtypes.out), "out_columns", out)
    } else {
        writing(choice, dtypes.out, narrow.out_vec4, Writes::Results)
    };
    let (rows, lines) = match narrow.lines {
        1 => ("rows_1", "matmul/lines_1.wgsl"),
        2 => ("rows_2", "matmul/lines_2.wgsl"),
        4 => ("rows_4", "matmul/lines_4.wgsl"),
        8 => ("rows_8", "matmul/lines_8.wgsl"),
        _ => ("rows_16", "matmul/lines_16.wgsl"),
    };
    let choice = choice
        .name(name)
        .name(rows)
        .name(name_a(narrow.a))
        .name(name_b(narrow.b))
        .params("matmul/params.wgsl")
        .parts(&[
            "matmul/batch.wgsl",
            "matmul/tile_origin.wgsl",
            "matmul/block.wgsl",
            match narrow.a {
                Load::Along => "matmul/tile_a_vec4.wgsl",
                Load::Across | Load::Words => "matmul/tile_a_word.wgsl",
            },
        ])
        .parts(blocks_b(narrow.b))
        .parts(&[out, lines, "matmul/narrow.wgsl"]);
    let along = u32::from(narrow.b_along_depth);
    choice
        .constant("BATCH_AXES", batch_axes as f64)
        .constant("WG", choose::NARROW_GROUP)
        .constant("VEC4", narrow.vec4)
        .constant("SLICES", narrow.slices)
        .constant("B_ALONG_DEPTH", along)
}
