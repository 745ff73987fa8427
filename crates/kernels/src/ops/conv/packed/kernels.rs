//! The shader parts and constants of packed convolutions.

use ziggurat_core::DType;

use super::super::geometry::Direction;
use super::super::plan::Writes;
use super::layout::{Channels, Range};
use super::packing::{Packing, tiles};
use super::planes::Planes;
use super::{FLAG_LANES, FLAGGED, PACK_GROUP, PackedParams, is_scaled};
use crate::ops::tile::{Tile, TileKind};
use crate::source::candidate::Candidate;
use crate::source::choice::KernelChoice;
use crate::source::params::Params;
use crate::source::prelude;

pub(super) fn base(volume: bool, dtype: DType, name: &'static str) -> KernelChoice {
    KernelChoice::new(Direction::Forward.op(if volume { 3 } else { 2 }))
        .constant("VOLUME", u32::from(volume))
        .name(dtype.name())
        .name(name)
        .part(prelude::FLOAT)
        .without_zeroed_memory()
        // Extents are divided by; a dispatch without results is not recorded.
        .without_division_checks()
}

/// What the kernels know that are told about all of them.
const FACTS: &[&str] = &["conv/packed/facts.wgsl", "conv/packed/scaling.wgsl"];

/// What finds the largest magnitudes of images.
pub(super) fn extremes(volume: bool, dtype: DType, range: Range) -> KernelChoice {
    let choice = base(volume, dtype, "extremes")
        .enable("enable/subgroups.wgsl")
        .name(match range {
            Range::Scattered => "strided",
            Range::Flat => "flat",
            Range::Vectors => "vec4",
        })
        .load(dtype)
        .params("conv/packed/params.wgsl")
        .parts(&["conv/common.wgsl", "conv/packed/facts.wgsl"])
        .constant("WG", PACK_GROUP);
    let choice = if range == Range::Vectors {
        choice.part("conv/packed/greatest_vec4.wgsl")
    } else {
        choice
            .parts(&["conv/image.wgsl", "conv/packed/greatest.wgsl"])
            .constant("FLAT", u32::from(range == Range::Flat))
    };
    choice.part("conv/packed/extremes.wgsl")
}

/// What packs the operands of a dtype.
pub(super) fn pack(volume: bool, dtype: DType, packing: Packing) -> KernelChoice {
    let choice = base(volume, dtype, "pack").name(if packing.fold { "fold" } else { "channels" });
    let scaled = is_scaled(dtype);
    let choice = if scaled {
        choice.load(dtype).enable("enable/subgroups.wgsl")
    } else {
        choice.part(prelude::LOAD_BITS16)
    };
    let choice = choice
        .params("conv/packed/params.wgsl")
        .parts(&[
            "conv/common.wgsl",
            "conv/filter.wgsl",
            "conv/packed/taps.wgsl",
            "conv/packed/elements.wgsl",
        ])
        .constant("WG", PACK_GROUP)
        .constant("FOLD", u32::from(packing.fold))
        .constant("DEPTH", packing.tile.depth)
        .constant("BY_CHANNELS", u32::from(packing.channels.are_neighbours()));
    let choice = if packing.channels == Channels::Vectors {
        choice.name("vec4").part("conv/packed/channels_vec4.wgsl")
    } else {
        choice.parts(&["conv/image.wgsl", "conv/packed/channels.wgsl"])
    };
    if scaled {
        let split = packing.tile.kind == TileKind::Split;
        return choice
            .parts(FACTS)
            .part("conv/packed/pack_scaled.wgsl")
            .constant("SPLIT", u32::from(split));
    }
    choice.part("conv/packed/pack.wgsl")
}

/// What flags positions and filters that f16 has no room for; so many invocations share the blocks of a position.
pub(super) fn flags(volume: bool, dtype: DType, tile: Tile, lanes: u32) -> KernelChoice {
    base(volume, dtype, "flags")
        .enable("enable/subgroups.wgsl")
        .load(dtype)
        .params("conv/packed/params.wgsl")
        .parts(&[
            "conv/common.wgsl",
            "conv/packed/position.wgsl",
            "conv/packed/facts.wgsl",
        ])
        .part("conv/packed/flags.wgsl")
        .constant("WG", FLAGGED * lanes)
        .constant("LANES", lanes)
        .constant("SPLIT", u32::from(tile.kind == TileKind::Split))
}

/// What multiplies them.
pub(in crate::ops::conv) fn product(
    volume: bool,
    dtype: DType,
    packing: Packing,
    bias: bool,
    writes: Writes,
) -> KernelChoice {
    let tile = packing.tile;
    let split = tile.kind == TileKind::Split;
    let choice = base(volume, dtype, "packed")
        .enable("enable/f16.wgsl")
        .enable("enable/cooperative_matrix.wgsl")
        .name(match (tile.rows, tile.kind, tile.depth) {
            (64, TileKind::Cooperative, 64) => "tile_64_deep",
            (64, ..) => "tile_64",
            _ => "tile_128",
        })
        .name(if bias { "bias" } else { "no_bias" })
        .load(dtype)
        .store(dtype);
    let shared = writes != Writes::Results;
    // Where tiles are few nothing but the tile's own work hides the time of its loads.
    let choice = if (tile.rows, tile.kind, tile.depth) == (64, TileKind::Cooperative, 64) {
        choice.ordered_loads()
    } else {
        choice
    };
    let choice = match (shared, packing.vec4) {
        (false, true) => choice.vec4().name("out_vec4"),
        (false, false) => choice.cell(dtype).name("out_cells"),
        (true, true) => choice.name("shares_vec4"),
        (true, false) => choice.name("shares"),
    };
    let choice = choice
        .params("conv/packed/params.wgsl")
        .parts(&["conv/common.wgsl", "matmul/raster.wgsl"])
        .part(if bias {
            "conv/packed/bias.wgsl"
        } else {
            "conv/no_bias.wgsl"
        })
        .parts(if is_scaled(dtype) {
            &["conv/packed/facts.wgsl", "conv/packed/scaled.wgsl"]
        } else {
            &["conv/packed/unscaled.wgsl"]
        })
        .part(match (shared, packing.vec4) {
            (false, true) => "conv/out_vec4.wgsl",
            (false, false) => "conv/out_element.wgsl",
            (true, true) => "conv/out_share_vec4.wgsl",
            (true, false) => "conv/out_share.wgsl",
        })
        .parts(tile.depth_part())
        .parts(if split {
            &[
                "conv/packed/strips.wgsl",
                "conv/packed/split_lines.wgsl",
                "matmul/no_doubts.wgsl",
            ]
        } else {
            &[
                "matmul/elements_f16.wgsl",
                "matmul/units_f16.wgsl",
                "matmul/whole_depth.wgsl",
                "matmul/cooperative.wgsl",
                "matmul/strips.wgsl",
                "matmul/no_doubts.wgsl",
                "conv/packed/position.wgsl",
                "conv/packed/halves.wgsl",
            ]
        });
    let choice = match (split, is_scaled(dtype)) {
        (true, _) => choice,
        (false, true) => choice
            .part("matmul/scaled_lines.wgsl")
            .part(tile.scales_part()),
        (false, false) => choice.part("matmul/plain_sums.wgsl"),
    };
    let choice = match (split, packing.vec4) {
        (true, _) => choice,
        (false, true) => choice.part("conv/packed/out_quads.wgsl"),
        (false, false) => choice.part("conv/packed/out_elements.wgsl"),
    };
    let choice = choice.part(tile.body());
    let sides: &[_] = if split {
        &[]
    } else {
        &[("A_ACROSS", 0.0), ("B_ACROSS", 0.0), ("WHOLE", 1.0)]
    };
    let constants = sides.iter().copied().chain(tile.constants());
    constants.fold(choice, |choice, (name, value)| choice.constant(name, value))
}

/// What packs and flags, and what leaves sums of shares; and what writes results, with the dtype, and whether there is a bias: for
/// the catalogue.
fn kernels() -> (Vec<KernelChoice>, Vec<(DType, KernelChoice, bool)>) {
    let (mut packs, mut shares, mut products) = (Vec::new(), Vec::new(), Vec::new());
    for dtype in DType::ALL {
        let mut all = tiles(dtype, true).to_vec();
        let shallow = tiles(dtype, false).iter();
        all.extend(shallow.filter(|tile| !tiles(dtype, true).contains(tile)));
        for (i, tile) in all.into_iter().enumerate() {
            let packing = |fold, vec4, channels| Packing {
                tile,
                fold,
                vec4,
                channels,
                shares: 1,
            };
            // What packs is the same for all tiles of a dtype.
            if i == 0 {
                for (fold, channels) in [
                    (false, Channels::Strided),
                    (true, Channels::Neighbours),
                    (false, Channels::Vectors),
                ] {
                    packs.push(pack(false, dtype, packing(fold, true, channels)));
                }
                if is_scaled(dtype) {
                    let ranges = [Range::Scattered, Range::Flat, Range::Vectors];
                    packs.extend(ranges.map(|range| extremes(false, dtype, range)));
                    packs.extend(FLAG_LANES.map(|lanes| flags(false, dtype, tile, lanes)));
                }
            }
            for (vec4, bias) in [(true, false), (true, true), (false, false), (false, true)] {
                if vec4 && tile.kind != TileKind::Cooperative {
                    continue;
                }
                let packing = packing(false, vec4, Channels::Strided);
                let write = |writes| product(false, dtype, packing, bias, writes);
                products.push((dtype, write(Writes::Results), bias));
                // Large tiles are not taken where tiles are few, nor filters of taps with a bias.
                if tile.rows == 64 || !bias {
                    shares.push(write(Writes::Shares));
                }
            }
        }
    }
    packs.extend(shares);
    (packs, products)
}

pub(in crate::ops::conv) fn variants() -> Vec<Candidate> {
    let (others, products) = kernels();
    let products = products.into_iter().map(|(_, choice, _)| choice);
    let all = others.into_iter().chain(products);
    let planes = Planes::samples().into_iter();
    let all = all.chain(planes.flat_map(|planes| {
        let results = [false, true].map(|bias| planes.choice(false, bias, Writes::Results));
        let sums = planes.of_filters_across();
        results
            .into_iter()
            .chain([sums.choice(false, false, Writes::Shares)])
    }));
    let candidate = |choice| Candidate::new(choice, PackedParams::FIELDS);
    all.map(candidate).collect()
}

/// Kernels that write through an epilogue over sums of a dtype, for the corpus of those, and their bindings.
pub(in crate::ops::conv) fn writing_fused() -> Vec<(DType, KernelChoice, usize)> {
    let (_, products) = kernels();
    let own = |(dtype, choice, bias)| (dtype, choice, 4 + usize::from(bias));
    let planes = Planes::samples().into_iter().enumerate();
    let planes = planes.map(|(i, planes)| {
        let bias = i == 0;
        (
            DType::F16,
            planes.choice(false, bias, Writes::Results),
            3 + usize::from(bias),
        )
    });
    products.into_iter().map(own).chain(planes).collect()
}
