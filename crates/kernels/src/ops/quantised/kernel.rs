//! The shader parts of the kernels that read blocks.

use ziggurat_core::{BlockFormat, DType};

use super::BlockParams;
use crate::source::candidate::Candidate;
use crate::source::choice::KernelChoice;
use crate::source::params::Params;
use crate::source::prelude;

/// Invocations of a workgroup of a product.
pub(super) const GROUP: u32 = 128;
/// Rows of the input up to which blocks are multiplied as they are.
pub(super) const FEW_ROWS: u64 = 16;

/// How many rows of the input and of the blocks a workgroup multiplies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lines {
    pub(super) lines: u32,
    pub(super) rows: u32,
    name: &'static str,
    part: &'static str,
}

impl Lines {
    pub(super) const ALL: [Self; 4] = [
        Self::new(1, 8, "rows_1", "quantised/lines_1.wgsl"),
        Self::new(2, 8, "rows_2", "quantised/lines_2.wgsl"),
        Self::new(4, 4, "rows_4", "quantised/lines_4.wgsl"),
        Self::new(8, 4, "rows_8", "quantised/lines_8.wgsl"),
    ];

    const fn new(lines: u32, rows: u32, name: &'static str, part: &'static str) -> Self {
        Self {
            lines,
            rows,
            name,
            part,
        }
    }

    /// The least that takes all rows of an input at once; the greatest, if none does.
    pub(super) fn of(m: u64) -> Self {
        let [.., greatest] = Self::ALL;
        let mut all = Self::ALL.into_iter();
        all.find(|lines| u64::from(lines.lines) >= m)
            .unwrap_or(greatest)
    }

    /// Bytes of workgroup memory.
    pub(super) const fn workgroup_bytes(self) -> u32 {
        4 * self.lines * self.rows * GROUP
    }
}

/// The name in labels, and the parts that decode.
const fn decoding(format: BlockFormat) -> (&'static str, &'static [&'static str]) {
    macro_rules! parts {
        ($name:literal $(, $shared:literal)*) => {
            ($name, &["quantised/planes.wgsl", $($shared,)* concat!("quantised/", $name, ".wgsl")])
        };
    }
    match format {
        BlockFormat::Q4_1 => parts!("q4_1"),
        BlockFormat::Q5_0 => parts!("q5_0"),
        BlockFormat::Q5_1 => parts!("q5_1"),
        BlockFormat::Q8_0 => parts!("q8_0"),
        BlockFormat::Q2_K => parts!("q2_k"),
        BlockFormat::Q3_K => parts!("q3_k"),
        BlockFormat::Q4_K => parts!("q4_k", "quantised/k_groups.wgsl"),
        BlockFormat::Q5_K => parts!("q5_k", "quantised/k_groups.wgsl"),
        BlockFormat::Q6_K => parts!("q6_k"),
        _ => parts!("q4_0"),
    }
}

/// Where the scales of blocks are converted by functions of their own.
const SCALE: &str = "scale";

/// The product with few rows of an input of a dtype.
pub(super) fn product(format: BlockFormat, [x, out]: [DType; 2], lines: Lines) -> KernelChoice {
    let (name, parts) = decoding(format);
    KernelChoice::new("quantized_linear")
        .name(name)
        .name(x.name())
        .name(out.name())
        .name(lines.name)
        .part(prelude::FLOAT)
        .load(x)
        .load_of(SCALE, DType::F16)
        .store(out)
        .cell(out)
        .params("quantised/params.wgsl")
        .part("quantised/blocks_second.wgsl")
        .parts(parts)
        .parts(&[lines.part, "quantised/product.wgsl"])
        .constant("WG", GROUP)
        .constant("LOG_WG", GROUP.ilog2())
        .without_zeroed_memory()
        // There is a tile, or nothing is recorded.
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
        .parts(&[out, "quantised/rows.wgsl"])
        .constant("WG", super::rows::ROWS_GROUP)
        // A row that is decoded has units.
        .without_division_checks()
}

fn floats() -> impl Iterator<Item = DType> {
    DType::ALL.into_iter().filter(|dtype| dtype.is_float())
}

/// Every format with every float dtype.
pub(crate) fn variants() -> Vec<Candidate> {
    let mut all = Vec::new();
    for &format in BlockFormat::ALL {
        for x in floats() {
            for lines in Lines::ALL {
                all.push(product(format, [x, x], lines));
                if x != DType::F32 {
                    all.push(product(format, [x, DType::F32], lines));
                }
            }
            all.push(rows(format, x, Rows::All));
            all.extend([false, true].map(|signed| rows(format, x, Rows::ByIndex { signed })));
        }
    }
    all.into_iter()
        .map(|choice| Candidate::new(choice, BlockParams::FIELDS))
        .collect()
}

/// Kernels that write through an epilogue, for the corpus of those, with their bindings.
pub(crate) fn writing_fused() -> Vec<(DType, KernelChoice, usize)> {
    let mut all = Vec::new();
    for dtype in floats() {
        let lines = Lines::of(1);
        all.push((dtype, product(BlockFormat::Q4_K, [dtype; 2], lines), 3));
        all.push((dtype, rows(BlockFormat::Q8_0, dtype, Rows::All), 2));
        let by_index = Rows::ByIndex { signed: true };
        all.push((dtype, rows(BlockFormat::Q4_0, dtype, by_index), 3));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_of_rows_has_a_kernel_that_fits_any_device() {
        let of = [1, 2, 3, 5, 9, 16, 17].map(|m| Lines::of(m).lines);
        assert_eq!(of, [1, 2, 4, 8, 8, 8, 8]);
        for lines in Lines::ALL {
            assert!(lines.workgroup_bytes() <= 16_384, "{lines:?}");
        }
    }
}
