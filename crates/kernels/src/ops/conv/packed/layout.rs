//! How packed images and filters lie in memory.

use ziggurat_core::{DType, Layout, sort_few_by_key};

use super::super::geometry::Geometry;
use super::super::plan::front;
use super::{FLAGGED, Packing, is_scaled};
use crate::ops::spatial::spatial_strides;
use crate::ops::tile::Tile;

/// What packed operands are like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Packed {
    /// Extents of an image with its padding, as far as it is stored, in pixels that neighbouring positions read.
    pub(super) grid: [u64; 3],
    /// Pixels that one tap may read, and of all parts of a block.
    pub(super) part: u64,
    pub(super) pixels: u64,
    /// Blocks of channels, taps of each, and of both together.
    pub(super) blocks: u64,
    pub(super) taps: u64,
    pub(super) steps: u64,
}

/// Positions behind the last that a tile may read.
const BEHIND: u64 = 64;

/// Rows along an axis of the packed image.
fn rows(g: &Geometry, axis: usize) -> Option<u64> {
    let at = |values: [usize; 3]| values.get(axis).map(|&value| value as u64);
    let [input, kernel, output] = [at(g.input)?, at(g.kernel)?, at(g.output)?];
    let [stride, pad] = [at(g.stride)?, at(g.pads)?];
    let reach = (kernel - 1) * at(g.dilation)?;
    if stride > 1 {
        return Some(output + reach / stride);
    }
    // Padding behind a row is that in front of the next one.
    let behind = (output + reach).saturating_sub(input + pad);
    Some((input + pad.max(behind)).max(output))
}

impl Packed {
    pub(super) fn new(g: &Geometry, tile: Tile, fold: bool) -> Option<Self> {
        let depth = u64::from(tile.depth);
        let mut grid = [0; 3];
        for (axis, slot) in grid.iter_mut().enumerate() {
            *slot = rows(g, axis)?;
        }
        let [_, _, width] = g.kernel.map(|taps| taps as u64);
        let (mut channels, mut taps) = (g.channels as u64, g.taps() as u64);
        let mut kernel = g.kernel;
        if fold {
            grid[2] = g.output[2] as u64;
            channels = channels.checked_mul(width)?;
            taps /= width;
            kernel[2] = 1;
        }
        let (mut parts, mut shift) = (1, 0_u64);
        let axes = kernel.iter().zip(g.stride).zip(g.dilation).zip(grid);
        for (((&kernel, stride), dilation), rows) in axes {
            // Pixels that a stride separates are stored in parts of their own.
            let step = if kernel > 1 { stride as u64 } else { 1 };
            parts *= step;
            let reach = (kernel as u64 - 1) * dilation as u64 / step;
            shift = shift.checked_mul(rows)?.checked_add(reach)?;
        }
        let image = grid[0].checked_mul(grid[1])?.checked_mul(grid[2])?;
        let positions = (g.batch as u64).checked_mul(image)?;
        let all = positions.checked_add(shift)?.checked_add(BEHIND)?;
        let part = all.checked_next_multiple_of(32)?;
        let blocks = channels.div_ceil(depth);
        Some(Self {
            grid,
            part,
            pixels: part.checked_mul(parts)?,
            blocks,
            taps,
            steps: blocks.checked_mul(taps)?,
        })
    }

    /// Pixels at which positions may begin.
    pub(super) fn positions(&self, g: &Geometry) -> u64 {
        g.batch as u64 * self.grid.iter().product::<u64>()
    }

    /// f16 of packed filters and of packed images, and words of what is known about them.
    pub(super) fn lengths(&self, g: &Geometry, dtype: DType, packing: Packing) -> Option<[u64; 3]> {
        let tile = packing.tile;
        let [groups, filters, images] = [g.groups, g.filters, g.batch].map(|n| n as u64);
        let lines = groups.checked_mul(packing.lines(filters))?;
        let halves = u64::from(tile.halves());
        let blocks = groups.checked_mul(self.blocks)?;
        let pixels = blocks.checked_mul(self.pixels)?;
        let positions = images.checked_mul(g.plane() as u64)?;
        let flagged = u64::from(FLAGGED);
        let flags = groups.checked_mul(positions.div_ceil(flagged) + filters.div_ceil(flagged))?;
        let words = if is_scaled(dtype) {
            let scales = groups * filters + images + images.checked_mul(chunks(g))?;
            self.steps
                .checked_add(flags)?
                .checked_add(scales)?
                .checked_add(pixels)?
        } else {
            self.steps
        };
        Some([
            lines.checked_mul(self.steps)?.checked_mul(halves)?,
            pixels.checked_mul(halves)?,
            words,
        ])
    }
}

/// Parts of an image whose largest magnitudes are found by different workgroups.
pub(super) fn chunks(g: &Geometry) -> u64 {
    const GROUPS: u64 = 1056;
    const MOST: u64 = 128;
    let channels = g.groups.saturating_mul(g.channels);
    let elements = g
        .input
        .iter()
        .fold(channels, |n, &extent| n.saturating_mul(extent));
    let wanted = GROUPS.div_ceil((g.batch as u64).max(1));
    wanted
        .min(MOST)
        .min((elements as u64).div_ceil(1024))
        .max(1)
}

/// Where the channels of a pixel lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Channels {
    /// Not side by side, or no more than positions do.
    Strided,
    /// Side by side.
    Neighbours,
    /// Side by side, in whole vectors.
    Vectors,
}

impl Channels {
    pub(super) fn of(g: &Geometry, x: &Layout) -> Self {
        let (batch, channel) = front(x);
        let spatial = spatial_strides(x);
        if channel.abs() != 1 || spatial[2].abs() == 1 {
            return Self::Strided;
        }
        let whole = channel == 1
            && g.channels.is_multiple_of(4)
            && x.offset().is_multiple_of(4)
            && [batch].iter().chain(&spatial).all(|stride| stride % 4 == 0);
        if whole {
            Self::Vectors
        } else {
            Self::Neighbours
        }
    }

    pub(super) const fn are_neighbours(self) -> bool {
        !matches!(self, Self::Strided)
    }
}

/// Where the elements of an image lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Range {
    /// Anywhere.
    Scattered,
    /// They fill a range of memory from the first on, in whatever order.
    Flat,
    /// The range has whole vectors.
    Vectors,
}

impl Range {
    pub(super) fn of(g: &Geometry, x: &Layout) -> Self {
        let channels = g.groups.saturating_mul(g.channels);
        let [depth, height, width] = spatial_strides(x);
        let (batch, channel) = front(x);
        let [planes, rows, elements] = g.input;
        let axes = [
            (channel, channels),
            (depth, planes),
            (height, rows),
            (width, elements),
        ];
        let mut axes: Vec<_> = axes
            .into_iter()
            .filter(|&(_, extent)| extent != 1)
            .collect();
        sort_few_by_key(&mut axes, |axis| *axis);
        let mut next = 1;
        let flat = axes.into_iter().all(|(stride, extent)| {
            let found = stride == next;
            next = next.saturating_mul(isize::try_from(extent).unwrap_or(isize::MAX));
            found
        });
        let whole = x.offset().is_multiple_of(4) && next % 4 == 0 && batch % 4 == 0;
        match (flat, whole) {
            (false, _) => Self::Scattered,
            (true, false) => Self::Flat,
            (true, true) => Self::Vectors,
        }
    }
}
