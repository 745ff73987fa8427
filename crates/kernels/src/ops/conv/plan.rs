//! Which kernel computes a convolution, what it is told, and how long its loops are: pure functions of the geometry and of
//! how operands lie in memory.

use ziggurat_core::{DType, Layout};

use super::geometry::{Direction, Geometry};
use super::packed::planes::Planes;
use super::packed::{self, Packing};
use super::rows::Rows;
use crate::limits::ability::{Ability, MATRIX_UNITS};
use crate::limits::budget::{Part, nested};
use crate::num::{saturated, wrap};
use crate::ops::spatial::{spatial_strides, steps, vector};
use crate::ops::tile::{Tile, TileKind};
use crate::ops::ways::Ways;
use crate::source::choice::KernelChoice;
use crate::source::params::params;
use crate::source::prelude;
use crate::tune::{Class, Named, WayName, bucket};

params! {
    /// Parameters of the convolution kernels.
    pub(crate) struct ConvParams {
        batch: u32,
        groups: u32,
        channels: u32,
        filters: u32,
        tiles_m: u32,
        tiles_n: u32,
        k: u32,
        plane: u32,
        x_offset: u32,
        w_offset: u32,
        bias_offset: u32,
        bias_step: u32,
        out_offset: u32,
        x_batch: u32,
        x_channel: u32,
        w_group: u32,
        w_filter: u32,
        w_channel: u32,
        x_group: u32,
        resumed: u32,
        extent: [u32; 4],
        result: [u32; 4],
        kernel: [u32; 4],
        stride: [u32; 4],
        dilation: [u32; 4],
        pad: [u32; 4],
        x_steps: [u32; 4],
        w_steps: [u32; 4],
    }
}

/// The kernel of a convolution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Method {
    /// Four filters of one position per invocation.
    Direct,
    /// Tiles of (filters, positions of all images), gathered.
    Tiled(Tile),
    /// Tiles of (filters, positions of one image), read as they lie, four at a time if they may.
    Pointwise { tile: Tile, vec4: bool },
    /// Tiles on matrix units, of operands that are packed for them first.
    Packed(Packing),
    /// Tiles on matrix units that read images as they lie.
    Planes(Planes),
    /// Four rows of four outputs of one channel per invocation.
    Rows(Rows),
}

impl Method {
    /// The tile, if it computes tiles.
    pub(super) const fn tile(self) -> Option<Tile> {
        match self {
            Self::Direct | Self::Packed(_) | Self::Planes(_) | Self::Rows(_) => None,
            Self::Tiled(tile) | Self::Pointwise { tile, .. } => Some(tile),
        }
    }
}

/// What the kernel of a convolution leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Writes {
    Results,
    /// Sums that other dispatches go on with, without an epilogue.
    Sums,
    /// Results of tiles that matrix units leave out.
    Flagged,
    /// The same of shares of the channels: sums that are added afterwards.
    FlaggedSums,
}

/// Fewest filters per group, and products per output, for which tiles are not mostly empty.
const MIN_FILTERS: usize = 16;
const MIN_DEPTH: usize = 16;
/// Turns that a greatest common divisor takes.
const GCD_ITERATIONS: u64 = 50;
/// Smallest plane for which tiles of one image are not mostly empty.
const MIN_PLANE: usize = 64;

/// The ways to compute a convolution on a device.
pub(super) fn ways(
    g: &Geometry,
    [x, w]: [&Layout; 2],
    dtype: DType,
    ability: &Ability,
) -> Ways<Method> {
    let vec4 = pointwise_vec4(g, x);
    let method = |tile| match vec4 {
        Some(vec4) => Method::Pointwise { tile, vec4 },
        None => Method::Tiled(tile),
    };
    let positions = g.batch.saturating_mul(g.plane());
    let filled = g.filters >= MIN_FILTERS && g.depth() >= MIN_DEPTH && positions >= MIN_FILTERS;
    let (packed, planes) = match MATRIX_UNITS {
        true => (
            Packing::all(g, x, dtype, ability),
            Planes::all(g, [x, w], dtype, ability),
        ),
        false => (Vec::new(), Vec::new()),
    };
    let rows = Rows::new(g, x, ability).map(Method::Rows);
    let default = match (planes.first(), packed.first()) {
        (Some(&planes), _) if planes.pays(g) => Method::Planes(planes),
        (_, Some(&packing)) if packing.pays(g, dtype) => Method::Packed(packing),
        _ if filled && Tile::DEFAULT.fits(ability) => method(Tile::DEFAULT),
        _ => rows.filter(|_| Rows::pays(g)).unwrap_or(Method::Direct),
    };
    let tiles = Tile::ALL.into_iter().filter(|tile| tile.fits(ability));
    let packed = packed.into_iter().map(Method::Packed);
    let packed = planes.into_iter().map(Method::Planes).chain(packed);
    let few = rows.into_iter().chain([Method::Direct]);
    let all = packed.chain(tiles.map(method)).chain(few);
    Ways::new(default, all.filter(|way| *way != default))
}

impl Named for Method {
    fn name(&self) -> WayName {
        match self {
            Self::Direct => WayName::new("direct", [0; 3]),
            Self::Tiled(tile) => tile.name("tiled"),
            Self::Pointwise { tile, .. } => tile.name("pointwise"),
            Self::Packed(packing) => packing.name(),
            Self::Planes(planes) => planes.tile.name("planes"),
            Self::Rows(_) => WayName::new("rows", [0; 3]),
        }
    }
}

/// Convolutions that the same kernel is the fastest for: images count by their power of two.
pub(super) fn class(g: &Geometry, x: &Layout, dtype: DType, bias: bool) -> Class {
    let n = |extent: usize| extent as u64;
    let pointwise = pointwise_vec4(g, x).map_or(0, |vec4| 1 + u64::from(vec4));
    let sorts = [g.direction as u64, dtype as u64, bias.into(), pointwise];
    let channels = [bucket(n(g.batch)), n(g.groups), n(g.channels), n(g.filters)];
    let axes = [g.input, g.kernel, g.output, g.stride, g.dilation, g.pads];
    let axes: Vec<u64> = axes.into_iter().flatten().map(n).collect();
    Class::new("conv", [&sorts[..], &channels, &axes].concat())
}

/// Whether a convolution is a plain product of each image's plane, and then whether it may read four positions at a time.
fn pointwise_vec4(g: &Geometry, x: &Layout) -> Option<bool> {
    if !g.is_pointwise() || (g.batch > 1 && g.plane() < MIN_PLANE) {
        return None;
    }
    let step = plane_step(g, x)?;
    let &[x_batch, x_channel, ..] = x.strides() else {
        return None;
    };
    let vec4 = |step: isize| step % 4 == 0;
    Some(
        step == 1
            && g.plane().is_multiple_of(4)
            && x.offset().is_multiple_of(4)
            && vec4(x_batch)
            && vec4(x_channel),
    )
}

/// The one stride at which the elements of a plane lie, if there is one.
pub(super) fn plane_step(g: &Geometry, x: &Layout) -> Option<isize> {
    let mut step = None;
    let mut walked = 1;
    let axes = g.input.iter().zip(spatial_strides(x));
    for (&extent, stride) in axes.rev().filter(|(extent, _)| **extent != 1) {
        let first = *step.get_or_insert(stride);
        if stride != first * walked {
            return None;
        }
        walked *= isize::try_from(extent).ok()?;
    }
    Some(step.unwrap_or(1))
}

pub(super) fn choice(
    direction: Direction,
    dtype: DType,
    method: Method,
    volume: bool,
    dense_rows: bool,
    bias: bool,
    writes: Writes,
) -> KernelChoice {
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
        Writes::FlaggedSums => choice.name("flagged_sums"),
    };
    choice = choice.params("conv/params.wgsl").parts(&[
        "conv/common.wgsl",
        "conv/filter.wgsl",
        match (bias, writes) {
            (false, _) => "conv/no_bias.wgsl",
            (true, Writes::Flagged | Writes::FlaggedSums) => "conv/packed/bias.wgsl",
            (true, _) => "conv/bias.wgsl",
        },
        match writes {
            Writes::Results if vec4 => "conv/out_vec4.wgsl",
            Writes::Results | Writes::Flagged => "conv/out_element.wgsl",
            Writes::Sums => "conv/out_sum.wgsl",
            Writes::FlaggedSums => "conv/packed/out_share.wgsl",
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
        Method::Direct => {
            return choice
                .name("direct")
                .parts(&["conv/taps.wgsl", "conv/direct.wgsl"]);
        }
        Method::Rows(rows) => return rows.choice(choice),
        Method::Packed(packing) => return packed::product(volume, dtype, packing, bias),
        Method::Planes(planes) => return planes.choice(volume, bias),
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
            if matches!(writes, Writes::Flagged | Writes::FlaggedSums) {
                "conv/packed/flagged_tiles.wgsl"
            } else {
                "matmul/every_tile.wgsl"
            },
            "matmul/block.wgsl",
            "conv/block_rows.wgsl",
            "matmul/block_b.wgsl",
        ],
        TileKind::Vector | TileKind::Cooperative | TileKind::Split | TileKind::Pieces => &[],
    };
    let choice = choice
        .name(name)
        .parts(parts)
        .part("conv/filter_rows.wgsl")
        .parts(wide)
        .part(tile.body())
        .constant("A_ALONG_DEPTH", 1)
        .constant("B_ALONG_DEPTH", 0)
        .constant("DENSE_ROWS", u32::from(dense_rows));
    let sizes = tile.constants();
    sizes.fold(choice, |choice, (name, value)| choice.constant(name, value))
}

/// Iterations of the loops of an invocation for a part of the channels and of the taps along each axis.
pub(super) fn iterations(
    g: &Geometry,
    method: Method,
    [channels, depth, height, width]: [u64; 4],
) -> u64 {
    if let Method::Rows(rows) = method {
        return rows.iterations(g);
    }
    if let Some(tile) = method.tile() {
        return tile.iterations(channels * depth * height * width);
    }
    let [depth, height, width] = [(depth, 0), (height, 1), (width, 2)].map(|(taps, axis)| {
        let step = g.tap_step(axis);
        (taps.div_ceil(step), taps.min(step))
    });
    // Which taps an output has is found first.
    let search = match g.direction {
        Direction::Forward => 0,
        Direction::Transposed => 3 * GCD_ITERATIONS + depth.1 + height.1 + width.1,
    };
    search + nested(&[channels, depth.0, height.0, width.0])
}

pub(super) const fn taps_of(direction: Direction) -> &'static str {
    match direction {
        Direction::Forward => "conv/forward.wgsl",
        Direction::Transposed => "conv/transposed.wgsl",
    }
}

/// The strides of the first two axes.
pub(super) fn front(layout: &Layout) -> (isize, isize) {
    match *layout.strides() {
        [first, second, ..] => (first, second),
        _ => (0, 0),
    }
}

/// What the geometry and the operands' strides say; offsets come with the bindings.
pub(super) fn params(g: &Geometry, x: &Layout, w: &Layout) -> ConvParams {
    let n = |value: usize| saturated(value as u64);
    let ((x_batch, x_channel), (w_first, w_second)) = (front(x), front(w));
    let times = |stride: isize, by: usize| wrap(stride).wrapping_mul(n(by));
    let (w_group, w_filter, w_channel) = match g.direction {
        Direction::Forward => (times(w_first, g.filters), w_first, w_second),
        Direction::Transposed => (times(w_first, g.channels), w_second, w_first),
    };
    ConvParams {
        batch: n(g.batch),
        groups: n(g.groups),
        channels: n(g.channels),
        filters: n(g.filters),
        k: n(g.depth()),
        plane: n(g.plane()),
        x_batch: wrap(x_batch),
        x_channel: wrap(x_channel),
        x_group: times(x_channel, g.channels),
        w_group,
        w_filter: wrap(w_filter),
        w_channel: wrap(w_channel),
        extent: vector(g.input),
        result: vector(g.output),
        kernel: vector(g.kernel),
        stride: vector(g.stride),
        dilation: vector(g.dilation),
        pad: vector(g.pads),
        x_steps: steps(spatial_strides(x)),
        w_steps: steps(spatial_strides(w)),
        ..ConvParams::default()
    }
}

impl ConvParams {
    /// Those of a dispatch that adds up some of the channels and taps (of the axes).
    pub(super) fn of_part(self, part: &Part<4>) -> Self {
        let [channel, taps @ ..] = part.from.map(saturated);
        let [channels, kernel @ ..] = part.len.map(saturated);
        let mut some = Self {
            channels,
            k: saturated(part.len.iter().product()),
            x_offset: self
                .x_offset
                .wrapping_add(channel.wrapping_mul(self.x_channel)),
            w_offset: self
                .w_offset
                .wrapping_add(channel.wrapping_mul(self.w_channel)),
            resumed: u32::from(part.resumed),
            ..self
        };
        let axes = some.kernel.iter_mut().zip(&mut some.pad);
        let axes = axes.zip(self.w_steps.iter().zip(&self.dilation));
        for (((len, pad), (step, dilation)), (first, count)) in axes.zip(taps.iter().zip(kernel)) {
            *len = count;
            *pad = pad.wrapping_sub(first.wrapping_mul(*dilation));
            some.w_offset = some.w_offset.wrapping_add(first.wrapping_mul(*step));
        }
        some
    }
}

mod list;

pub(crate) use list::{variants, writing_fused};

#[cfg(test)]
mod tests;
