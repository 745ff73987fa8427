//! The shader parts of the kernels that read blocks.

use ziggurat_core::{BlockFormat, DType};

use super::cooperative::{Cooperative, MOST_LINES};
use super::tile::{GROUP, Tile, few_rows};
use super::{BlockParams, BlockShape, LinearForm};
use crate::limits::ability::{Ability, MATRIX_UNITS};
use crate::ops::elementwise::unary::SIGMOID;
use crate::run::call::F32Bits;
use crate::source::candidate::Candidate;
use crate::source::choice::KernelChoice;
use crate::source::params::Params;
use crate::source::prelude;

/// The name in labels, and the parts that decode.
const fn decoding(format: BlockFormat) -> (&'static str, &'static [&'static str]) {
    macro_rules! parts {
        ($name:literal $(, $other:literal)*) => {
            (
                $name,
                &[
                    "quantised/planes.wgsl",
                    concat!("quantised/", $name, ".wgsl"),
                    $(concat!("quantised/", $other, ".wgsl"),)*
                    "quantised/numbers.wgsl",
                ],
            )
        };
    }
    match format {
        BlockFormat::Q4_1 => parts!("q4_1", "bytes", "least"),
        BlockFormat::Q5_0 => parts!("q5_0", "bytes", "no_least"),
        BlockFormat::Q5_1 => parts!("q5_1", "bytes", "least"),
        BlockFormat::Q8_0 => parts!("q8_0", "no_least"),
        BlockFormat::Q2_K => parts!("q2_k", "bytes", "least"),
        BlockFormat::Q3_K => parts!("q3_k", "bytes", "no_least"),
        BlockFormat::Q4_K => parts!("q4_k", "k_groups", "bytes", "least"),
        BlockFormat::Q5_K => parts!("q5_k", "k_groups", "bytes", "least"),
        BlockFormat::Q6_K => parts!("q6_k", "bytes", "no_least"),
        _ => parts!("q4_0", "bytes", "no_least"),
    }
}

/// The part that takes one word of a unit.
const fn word(format: BlockFormat) -> &'static str {
    match format {
        BlockFormat::Q5_0 | BlockFormat::Q5_1 => "quantised/word_fifths.wgsl",
        BlockFormat::Q3_K | BlockFormat::Q5_K | BlockFormat::Q6_K => "quantised/word_high.wgsl",
        _ => "quantised/word.wgsl",
    }
}

/// The part that multiplies the runs of a unit. Written out they take 4 to 13 % less time of K formats on an H200, and up to 13 % more
/// of the others; programs for the web have the loop alone, for their size.
const fn runs(format: BlockFormat) -> &'static str {
    match format {
        BlockFormat::Q2_K | BlockFormat::Q3_K if MATRIX_UNITS => "quantised/four_runs.wgsl",
        BlockFormat::Q4_K | BlockFormat::Q5_K | BlockFormat::Q6_K if MATRIX_UNITS => {
            "quantised/two_runs.wgsl"
        }
        _ => "quantised/each_run.wgsl",
    }
}

/// Where the scales of blocks are converted by functions of their own.
const SCALE: &str = "scale";

/// The product with few rows of an input of a dtype.
pub(super) fn product(
    format: BlockFormat,
    dtypes: [DType; 2],
    form: LinearForm,
    tile: Tile,
) -> KernelChoice {
    product_of(format, dtypes, form, tile, &["quantised/every_tile.wgsl"])
}

/// What adds the sums of [`cooperative`], which are in bands of so many rows, and multiplies once more what f16 has no room for.
pub(super) fn settled(
    format: BlockFormat,
    dtypes: [DType; 2],
    (tile, halves): (Tile, Halves),
    lines: u32,
) -> KernelChoice {
    let form = LinearForm::default();
    let stray = if halves == Halves::One { 8 } else { 32_768 };
    let tiles = &["matmul/scaled_lines.wgsl", "quantised/settled_tiles.wgsl"];
    product_of(format, dtypes, form, tile, tiles)
        .name("settled")
        .enable("enable/subgroups.wgsl")
        .constant("BAND", lines)
        .constant("STRAY_W", stray)
}

fn product_of(
    format: BlockFormat,
    [x, out]: [DType; 2],
    form: LinearForm,
    tile: Tile,
    tiles: &[&'static str],
) -> KernelChoice {
    let (name, parts) = decoding(format);
    let (lines, part) = tile.part();
    let mut choice = KernelChoice::new("quantized_linear")
        .name(name)
        .name(x.name())
        .name(out.name())
        .name(lines)
        .part(prelude::FLOAT);
    let mut besides = ["quantised/as_given.wgsl", "quantised/no_gate.wgsl"];
    if form.rms_norm.is_some() {
        choice = choice.name("normed");
        besides[0] = "quantised/normed.wgsl";
    }
    if form.swiglu {
        choice = choice.name("gated").parts(SIGMOID);
        besides[1] = "quantised/gated.wgsl";
    }
    choice
        .load(x)
        .load_of(SCALE, DType::F16)
        .store(out)
        .cell(out)
        .params("quantised/params.wgsl")
        .part("quantised/blocks_second.wgsl")
        .parts(parts)
        .parts(&besides)
        .part(part)
        .parts(tiles)
        .part(runs(format))
        .part("quantised/product.wgsl")
        .constant("WG", GROUP)
        .constant("LANES", tile.lanes)
        .constant("ROWS", tile.rows)
        .constant("STAGED", u8::from(tile.staged))
        .constant("AHEAD", u8::from(tile.reads_ahead(format)))
        .constant("MEMORY", tile.workgroup_bytes(format, form) / 16)
        .without_zeroed_memory()
        // There is a tile, or nothing is recorded.
        .without_division_checks()
}

/// What packs rows of an input of a dtype for [`cooperative`].
pub(super) fn packed_rows(x: DType) -> KernelChoice {
    KernelChoice::new("quantized_linear")
        .enable("enable/f16.wgsl")
        .enable("enable/subgroups.wgsl")
        .name("packed_rows")
        .name(x.name())
        .part(prelude::FLOAT)
        .load(x)
        .params("quantised/params.wgsl")
        .parts(&["matmul/units_f32.wgsl", "quantised/packed_rows.wgsl"])
        .constant("SPLIT", u8::from(x == DType::F32))
        .without_zeroed_memory()
}

/// How many f16 an element of an input becomes on matrix units, and a number of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Halves {
    /// Two of each: elements are f32.
    Two,
    /// One of an element of f16 or bf16, two of a number.
    TwoOfNumbers,
    /// One of each: numbers are rounded to 11 bits.
    One,
}

impl Halves {
    /// For so many rows of an input. Those of f32 are multiplied by numbers as they are, and so are few of two bytes ([`few_rows`]).
    pub(super) fn of(m: u64, x: DType) -> Self {
        match x {
            DType::F32 => Self::Two,
            _ if m <= few_rows(x) => Self::TwoOfNumbers,
            _ => Self::One,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Two => "two_halves",
            Self::TwoOfNumbers => "two_halves_of_numbers",
            Self::One => "halves",
        }
    }
}

/// The product on matrix units, by so many rows of an input, packed: sums of shares.
pub(super) fn cooperative(format: BlockFormat, halves: Halves, lines: u32) -> KernelChoice {
    let (name, parts) = decoding(format);
    KernelChoice::new("quantized_linear")
        .enable("enable/f16.wgsl")
        .enable("enable/cooperative_matrix.wgsl")
        .enable("enable/subgroups.wgsl")
        .enable("enable/subgroup_barriers.wgsl")
        .name(name)
        .name("cooperative")
        .name(halves.name())
        .part(prelude::FLOAT)
        .load_of(SCALE, DType::F16)
        .params("quantised/params.wgsl")
        .part("quantised/blocks_second.wgsl")
        .parts(parts)
        .part("quantised/cooperative.wgsl")
        .constant("WG", GROUP)
        .constant("LINES", lines)
        .constant("SPLIT", u8::from(halves == Halves::Two))
        .constant("SPLIT_W", u8::from(halves != Halves::One))
        .without_zeroed_memory()
        .without_division_checks()
}

/// Which rows are decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rows {
    All,
    ByIndex { signed: bool },
}

/// The kernel that decodes rows.
pub(super) fn rows(format: BlockFormat, out: DType, rows: Rows) -> KernelChoice {
    let (name, parts) = decoding(format);
    let family = match rows {
        Rows::All => "dequantize",
        Rows::ByIndex { .. } => "quantized_embedding",
    };
    let choice = KernelChoice::new(family)
        .name(name)
        .name(out.name())
        .part(prelude::FLOAT)
        .load_of(SCALE, DType::F16)
        .store(out)
        .vec4()
        .params("quantised/params.wgsl");
    let choice = match rows {
        Rows::All => choice.parts(&["quantised/blocks_first.wgsl", "quantised/row_all.wgsl"]),
        Rows::ByIndex { signed } => choice
            .name(if signed { "by_i32" } else { "by_u32" })
            .parts(&[
                "quantised/blocks_second.wgsl",
                "index/position.wgsl",
                "quantised/row_by_index.wgsl",
            ])
            .constant("SIGNED", u8::from(signed)),
    };
    let out = match rows {
        Rows::All => "quantised/out_first.wgsl",
        Rows::ByIndex { .. } => "quantised/out_second.wgsl",
    };
    choice
        .parts(parts)
        .parts(&[word(format), out, "quantised/rows.wgsl"])
        .constant("WG", super::rows::ROWS_GROUP)
        // A row that is decoded has units.
        .without_division_checks()
}

fn floats() -> impl Iterator<Item = DType> {
    DType::ALL.into_iter().filter(|dtype| dtype.is_float())
}

/// The kernels of a format on matrix units, but what packs: how many rows an input has is no more than a constant. Those of bf16 are those
/// of f16, where results are not of it.
fn on_matrix_units(format: BlockFormat, x: DType) -> Vec<KernelChoice> {
    let weight = BlockShape::new(format, [4096, 16 * format.elements()]).ok();
    let of = |m| Cooperative::new(m, x, weight.as_ref()?, &Ability::LARGE);
    let mut all: Vec<KernelChoice> = Vec::new();
    for way in [16, 64].into_iter().filter_map(of) {
        let product = cooperative(format, way.halves, MOST_LINES);
        if x != DType::BF16 && !all.contains(&product) {
            all.push(product);
        }
    }
    let settled =
        |out| of(64).map(|way| settled(format, [x, out], (way.flagged, way.halves), MOST_LINES));
    all.extend(settled(x));
    if x != DType::F32 {
        all.extend(settled(DType::F32));
    }
    all
}

/// Every format with every float dtype: with all tiles where both are `f32`, with one of each kind elsewhere.
pub(crate) fn variants() -> Vec<Candidate> {
    let mut all = Vec::new();
    for &format in BlockFormat::ALL {
        for x in floats() {
            let form = |norm: bool, swiglu| LinearForm {
                rms_norm: norm.then(F32Bits::default),
                swiglu,
            };
            for form in [false, true]
                .into_iter()
                .flat_map(|norm| [form(norm, false), form(norm, true)])
            {
                if x == DType::F32 {
                    let tiles = Tile::all(format, form).into_iter();
                    all.extend(tiles.map(|tile| product(format, [x, x], form, tile)));
                    continue;
                }
                for tile in Tile::kinds(format, form) {
                    all.extend([x, DType::F32].map(|out| product(format, [x, out], form, tile)));
                }
            }
            all.extend(on_matrix_units(format, x));
            all.push(rows(format, x, Rows::All));
            all.extend([false, true].map(|signed| rows(format, x, Rows::ByIndex { signed })));
        }
    }
    all.extend(floats().map(packed_rows));
    all.into_iter()
        .map(|choice| Candidate::new(choice, BlockParams::FIELDS))
        .collect()
}

/// Kernels that write through an epilogue, for the corpus of those, with their bindings.
pub(crate) fn writing_fused() -> Vec<(DType, KernelChoice, usize)> {
    let mut all = Vec::new();
    for dtype in floats() {
        let tile = Tile {
            lines: 1,
            rows: 8,
            lanes: GROUP,
            staged: false,
        };
        let form = LinearForm::default();
        all.push((dtype, product(BlockFormat::Q4_K, [dtype; 2], form, tile), 3));
        all.push((dtype, rows(BlockFormat::Q8_0, dtype, Rows::All), 2));
        let by_index = Rows::ByIndex { signed: true };
        all.push((dtype, rows(BlockFormat::Q4_0, dtype, by_index), 3));
    }
    all
}
