//! The shader parts and constants of convolutions.

use ziggurat_core::{DType, Layout};

use super::super::Seen;
use super::super::geometry::{Direction, Geometry};
use super::super::packed;
use super::super::rows::Rows;
use super::{Method, front};
use crate::ops::tile::TileKind;
use crate::source::choice::KernelChoice;
use crate::source::prelude;

/// What the kernel of a convolution leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::ops::conv) enum Writes {
    Results,
    /// Sums that other dispatches go on with, without an epilogue.
    Sums,
    /// Results of tiles that matrix units leave out.
    Flagged,
    /// Sums of shares of the channels that are added afterwards, and those of tiles that matrix units leave out.
    Shares,
    FlaggedShares,
}

/// How the elements of filters lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::ops::conv) enum FilterRows {
    Strided,
    /// The channels and taps of a filter side by side.
    Dense,
    /// Filters of one tap side by side.
    Across,
}

impl FilterRows {
    pub(in crate::ops::conv) fn of(g: &Geometry, w: &Layout) -> Self {
        match (g.direction, front(w)) {
            (Direction::Forward, _) if w.is_contiguous() => Self::Dense,
            (Direction::Forward, (1, _)) if g.taps() == 1 => Self::Across,
            _ => Self::Strided,
        }
    }
}

/// The kernel of a convolution of a geometry.
pub(in crate::ops::conv) fn choice(
    g: &Geometry,
    seen: Seen<'_>,
    method: Method,
    rows: FilterRows,
    writes: Writes,
) -> KernelChoice {
    let sort = Sort {
        direction: g.direction,
        dtype: seen.dtype,
        volume: g.is_volume(),
        bias: seen.bias_step.is_some(),
    };
    sort.choice(method, rows, writes)
}

/// Which convolutions a kernel is for.
#[derive(Clone, Copy, Debug)]
pub(in crate::ops::conv) struct Sort {
    pub(in crate::ops::conv) direction: Direction,
    pub(in crate::ops::conv) dtype: DType,
    pub(in crate::ops::conv) volume: bool,
    pub(in crate::ops::conv) bias: bool,
}

impl Sort {
    /// The kernel of a method.
    pub(in crate::ops::conv) fn choice(
        self,
        method: Method,
        rows: FilterRows,
        writes: Writes,
    ) -> KernelChoice {
        let Self {
            direction,
            dtype,
            volume,
            bias,
        } = self;
        let vec4 = matches!(
            method,
            Method::Pointwise { vec4: true, .. } | Method::Rows(Rows { vec4: true, .. })
        );
        let mut choice = KernelChoice::new(direction.op(if volume { 3 } else { 2 }))
            .name(dtype.name())
            .name(if bias { "bias" } else { "no_bias" })
            .part(prelude::FLOAT)
            .load(dtype)
            .store(dtype);
        choice = match writes {
            Writes::Results if vec4 => choice.vec4(),
            Writes::Results => choice.cell(dtype),
            Writes::Flagged => choice.name("flagged").cell(dtype),
            Writes::Sums => choice.name("sums"),
            Writes::Shares => choice.name("shares"),
            Writes::FlaggedShares => choice.name("flagged_shares"),
        };
        choice = choice.params("conv/params.wgsl").parts(&[
            "conv/common.wgsl",
            "conv/filter.wgsl",
            match (bias, writes) {
                (false, _) => "conv/no_bias.wgsl",
                (true, Writes::Flagged | Writes::FlaggedShares) => "conv/packed/bias.wgsl",
                (true, _) => "conv/bias.wgsl",
            },
            match writes {
                Writes::Results if vec4 => "conv/out_vec4.wgsl",
                Writes::Results | Writes::Flagged => "conv/out_element.wgsl",
                Writes::Sums => "conv/out_sum.wgsl",
                Writes::Shares if vec4 => "conv/out_share_vec4.wgsl",
                Writes::Shares | Writes::FlaggedShares => "conv/out_share.wgsl",
            },
        ]);
        if !vec4 {
            choice = choice.part("conv/image.wgsl");
        }
        if !matches!(method, Method::Pointwise { .. } | Method::Rows(_)) {
            choice = choice.part(taps_of(direction));
        }
        choice = choice
            .constant("VOLUME", u32::from(volume))
            .without_zeroed_memory();
        let (name, parts, tile): (_, &[_], _) = match method {
            Method::SubPixel | Method::Columns | Method::Direct => {
                return choice
                    .name("direct")
                    .parts(&["conv/taps.wgsl", "conv/direct.wgsl"]);
            }
            Method::Rows(rows) => return rows.choice(choice),
            Method::Shared(shared) => {
                return self.choice(shared.method(), rows, writes);
            }
            Method::Packed(packing) => {
                return packed::product(volume, dtype, packing, bias, writes);
            }
            Method::Planes(planes) => return planes.choice(volume, bias, writes),
            Method::Tiled(tile) => ("tiled", &["conv/gather.wgsl"], tile),
            Method::Pointwise { tile, vec4: true } => (
                "pointwise_vec4",
                &["conv/pointwise.wgsl", "conv/pointwise_vec4.wgsl"],
                tile,
            ),
            Method::Pointwise { tile, vec4: false } => (
                "pointwise",
                &["conv/pointwise.wgsl", "conv/pointwise_word.wgsl"],
                tile,
            ),
        };
        let wide: &[_] = match tile.kind {
            TileKind::Wide => &[
                "matmul/raster.wgsl",
                if matches!(writes, Writes::Flagged | Writes::FlaggedShares) {
                    "conv/packed/flagged_tiles.wgsl"
                } else {
                    "matmul/every_tile.wgsl"
                },
                "matmul/block.wgsl",
                "conv/block_rows.wgsl",
                "matmul/block_b.wgsl",
            ],
            TileKind::Vector
            | TileKind::Cooperative
            | TileKind::Split
            | TileKind::Pieces
            | TileKind::Streamed => &[],
        };
        let choice = choice
            .name(name)
            .parts(parts)
            .part("conv/filter_rows.wgsl")
            .parts(wide)
            .part(tile.body())
            .constant("A_ALONG_DEPTH", u32::from(rows != FilterRows::Across))
            .constant("B_ALONG_DEPTH", 0)
            .constant("DENSE_ROWS", rows as u32);
        let sizes = tile.constants();
        sizes.fold(choice, |choice, (name, value)| choice.constant(name, value))
    }
}

pub(in crate::ops::conv) const fn taps_of(direction: Direction) -> &'static str {
    match direction {
        Direction::Forward => "conv/forward.wgsl",
        Direction::Transposed => "conv/transposed.wgsl",
    }
}
