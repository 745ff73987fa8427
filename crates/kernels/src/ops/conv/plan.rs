//! Which kernel computes a convolution, what it is told, and how long its loops are: pure functions of the geometry and of
//! how operands lie in memory.

use ziggurat_core::{DType, Layout};

use super::Seen;
use super::geometry::{Direction, Geometry};
use super::packed::Packing;
use super::packed::planes::Planes;
use super::rows::Rows;
use super::shares::Shared;
use crate::limits::ability::{Ability, MATRIX_UNITS};
use crate::limits::budget::nested;
use crate::ops::spatial::spatial_strides;
use crate::ops::tile::Tile;
use crate::ops::ways::Ways;
use crate::tune::{Class, Named, WayName, bucket};

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
    /// Tiles whose channels several workgroups share.
    Shared(Shared),
    /// A transposed convolution as a plain one with filters for each phase.
    SubPixel,
    /// A transposed convolution as a plain one with a filter for each tap.
    Columns,
}

impl Method {
    /// The tile, if it computes tiles.
    pub(super) const fn tile(self) -> Option<Tile> {
        match self {
            Self::Direct | Self::Packed(_) | Self::Planes(_) | Self::Rows(_) => None,
            Self::SubPixel | Self::Columns => None,
            Self::Shared(shared) => shared.method().tile(),
            Self::Tiled(tile) | Self::Pointwise { tile, .. } => Some(tile),
        }
    }
}

/// Fewest filters per group, and products per output, for which tiles are not mostly empty.
const MIN_FILTERS: usize = 16;
const MIN_DEPTH: usize = 16;
/// Turns that a greatest common divisor takes.
const GCD_ITERATIONS: u64 = 50;
/// Smallest plane for which tiles of one image are not mostly empty.
const MIN_PLANE: usize = 64;

/// The tile where none is shared: of fewer rows or all where large ones are many and mostly empty. On an H200 16 filters of
/// 32 × 32 × 112 × 112 take 44 µs instead of 64, 32 of 32 × 3 × 224 × 224 with stride 2 73 instead of 106.
fn default_tile(g: &Geometry, pointwise: bool, ability: &Ability) -> Tile {
    let positions = (g.batch as u64).saturating_mul(g.plane() as u64);
    let [rows, columns] = Tile::DEFAULT.count(g.filters as u64, positions);
    let count = rows.saturating_mul(columns);
    let [half, whole] = [32, 64].map(|rows| g.filters.next_multiple_of(rows));
    match pointwise {
        true if half < whole && count >= ability.busy_groups / 2 => Tile::HALF_64,
        false if g.filters <= 32 && count >= ability.busy_groups / 4 => Tile::SQUARE_32,
        _ => Tile::DEFAULT,
    }
}

/// The ways to compute a convolution on a device.
pub(super) fn ways(g: &Geometry, seen: Seen<'_>, ability: &Ability) -> Ways<Method> {
    let Seen { dtype, x, w, .. } = seen;
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
    let rows = Rows::new(g, x, ability);
    let shared = Shared::new(g, vec4, ability);
    let sharing = shared.filter(|shared| shared.pays(g, ability));
    let few = |rows: Option<Rows>| rows.map_or(Method::Direct, Method::Rows);
    let tile = default_tile(g, vec4.is_some(), ability);
    let default = match (planes.first(), packed.first(), sharing) {
        (Some(&planes), ..) if MATRIX_UNITS && planes.pays(g) => Method::Planes(planes),
        _ if rows.is_some_and(|rows| rows.pays_over_tiles(g, dtype)) => few(rows),
        (_, Some(&packing), _)
            if MATRIX_UNITS && packing.pays(g, dtype, (vec4.is_some(), sharing.is_some())) =>
        {
            Method::Packed(packing)
        }
        (.., Some(shared)) => Method::Shared(shared),
        _ if filled && tile.fits(ability) => method(tile),
        _ => few(rows.filter(|_| Rows::pays(g))),
    };
    let tiles = Tile::ALL.into_iter().filter(|tile| tile.fits(ability));
    let packed = packed.into_iter().map(Method::Packed);
    let packed = planes.into_iter().map(Method::Planes).chain(packed);
    let few = rows.map(Method::Rows).into_iter().chain([Method::Direct]);
    let shared = shared.map(Method::Shared);
    let all = packed.chain(shared).chain(tiles.map(method)).chain(few);
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
            Self::Shared(shared) => shared.name(),
            Self::SubPixel => WayName::new("subpixel", [0; 3]),
            Self::Columns => WayName::new("columns", [0; 3]),
        }
    }
}

/// Convolutions that the same kernel is the fastest for: images count by their power of two.
pub(super) fn class(g: &Geometry, x: &Layout, dtype: DType, bias: bool) -> Class {
    let n = |extent: usize| extent as u64;
    let pointwise = pointwise_vec4(g, x).map_or(0, |vec4| 1 + u64::from(vec4));
    let sorts = [
        g.direction as u64,
        dtype as u64,
        bias.into(),
        pointwise,
        lies(x),
    ];
    let channels = [bucket(n(g.batch)), n(g.groups), n(g.channels), n(g.filters)];
    let axes = [g.input, g.kernel, g.output, g.stride, g.dilation, g.pads];
    let axes: Vec<u64> = axes.into_iter().flatten().map(n).collect();
    Class::new("conv", [&sorts[..], &channels, &axes].concat())
}

/// What kernels ask of how images lie: of each axis whether its elements are side by side, or at whole vectors.
fn lies(x: &Layout) -> u64 {
    let begins = u64::from(x.offset().is_multiple_of(4));
    x.strides().iter().fold(begins, |all, stride| {
        let step = match stride {
            1 | -1 => 1,
            _ if stride % 4 == 0 => 2,
            _ => 0,
        };
        3 * all + step
    })
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

/// The strides of the first two axes.
pub(super) fn front(layout: &Layout) -> (isize, isize) {
    match *layout.strides() {
        [first, second, ..] => (first, second),
        _ => (0, 0),
    }
}

mod kernel;
mod list;
mod params;

pub(super) use kernel::{FilterRows, Sort, Writes, choice, taps_of};
pub(crate) use list::{variants, writing_fused};
pub(crate) use params::ConvParams;
pub(super) use params::params;

#[cfg(test)]
mod tests;
