//! Convolutions on matrix units: operands are packed as f16 first, of an image each pixel's channels together and with its
//! padding, so that a tap of all positions is a matrix whose lines lie at equal or known distances.
//!
//! Invariant: results depend on the geometry alone; padding and channels that only fill a block are zeros on both sides, and
//! what multiplies them is finite.

use ziggurat_core::{DType, Layout, Shape};
use ziggurat_pipeline::Grid;

use super::Images;
use super::geometry::{Direction, Geometry};
use super::plan::front;
use crate::limits::ability::Ability;
use crate::num::{saturated, wrap};
use crate::ops::spatial::{spatial_strides, steps as strides, vector};
use crate::ops::tile::Tile;
use crate::run::error::KernelError;
use crate::run::plan::Planner;
use crate::source::candidate::Candidate;
use crate::source::choice::KernelChoice;
use crate::source::params::{Params, params};
use crate::source::prelude;

params! {
    /// Parameters of the kernels that pack a convolution and multiply what was packed.
    pub(crate) struct PackedParams {
        m: u32,
        n: u32,
        k: u32,
        batch: u32,
        tiles_m: u32,
        tiles_n: u32,
        images: u32,
        plane: u32,
        channels: u32,
        blocks: u32,
        taps: u32,
        pixels: u32,
        part: u32,
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
        chunks: u32,
        extent: [u32; 4],
        result: [u32; 4],
        kernel: [u32; 4],
        stride: [u32; 4],
        dilation: [u32; 4],
        pad: [u32; 4],
        x_steps: [u32; 4],
        w_steps: [u32; 4],
        grid: [u32; 4],
    }
}

/// Invocations of the workgroups that pack.
const PACK_GROUP: u32 = 256;
/// Positions behind the last that a tile may read.
const BEHIND: u64 = 64;

/// How a convolution is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Packing {
    pub(super) tile: Tile,
    /// The taps along the width count as channels: of few channels, blocks would be mostly empty.
    fold: bool,
    /// Results are written four positions at a time.
    vec4: bool,
    /// Channels of a pixel lie side by side.
    by_channels: bool,
}

/// What packed operands are like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Packed {
    /// Extents of an image with its padding, as far as it is stored, in pixels that neighbouring positions read.
    grid: [u64; 3],
    /// Pixels that one tap may read, and of all parts of a block.
    part: u64,
    pixels: u64,
    /// Blocks of channels, taps of each, and f16 of a line.
    blocks: u64,
    taps: u64,
    k: u64,
}

/// The tiles that can compute packed operands of a dtype, the larger first.
const fn tiles(dtype: DType) -> &'static [Tile] {
    match dtype {
        DType::F16 => &[Tile::COOPERATIVE, Tile::COOPERATIVE_64],
        _ => &[],
    }
}

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
    fn new(g: &Geometry, depth: u64, fold: bool) -> Option<Self> {
        let mut grid = [0; 3];
        for (axis, slot) in grid.iter_mut().enumerate() {
            *slot = rows(g, axis)?;
        }
        let mut parts = 1;
        let mut shift = 0_u64;
        let axes = g.kernel.iter().zip(g.stride).zip(g.dilation).zip(grid);
        for (((&kernel, stride), dilation), rows) in axes {
            let apart = if kernel > 1 { stride as u64 } else { 1 };
            parts *= apart;
            let reach = (kernel as u64 - 1) * dilation as u64 / apart;
            shift = shift.checked_mul(rows)?.checked_add(reach)?;
        }
        let [_, height, width] = g.kernel.map(|taps| taps as u64);
        let (mut channels, mut taps) = (g.channels as u64, g.taps() as u64);
        if fold {
            grid[2] = g.output[2] as u64;
            channels = channels.checked_mul(width)?;
            taps /= width;
            let across = if width > 1 { g.stride[2] as u64 } else { 1 };
            parts /= across;
            shift = (g.kernel[0] as u64 - 1) * g.dilation[0] as u64 * grid[1];
            shift = (shift + (height - 1) * g.dilation[1] as u64).checked_mul(grid[2])?;
        }
        let image = grid[0].checked_mul(grid[1])?.checked_mul(grid[2])?;
        let all = (g.batch as u64).checked_mul(image)?.checked_add(shift)?;
        let part = all.checked_add(BEHIND)?.next_multiple_of(32);
        let blocks = channels.div_ceil(depth);
        Some(Self {
            grid,
            part,
            pixels: part.checked_mul(parts)?,
            blocks,
            taps,
            k: blocks.checked_mul(taps)?.checked_mul(depth)?,
        })
    }

    /// Bytes of packed filters and of packed images.
    fn bytes(&self, g: &Geometry, depth: u64) -> [Option<u64>; 2] {
        let groups = g.groups as u64;
        let lines = groups.checked_mul(g.filters as u64);
        let pixels = groups
            .checked_mul(self.blocks)
            .and_then(|blocks| blocks.checked_mul(self.pixels));
        [
            lines.and_then(|lines| lines.checked_mul(2 * self.k)),
            pixels.and_then(|pixels| pixels.checked_mul(2 * depth)),
        ]
    }
}

impl Packing {
    /// The ways to pack a convolution of a dtype on a device, the best one first.
    pub(super) fn all(
        g: &Geometry,
        x: &Layout,
        dtype: DType,
        ability: &Ability,
    ) -> impl Iterator<Item = Self> {
        let vec4 = g.plane().is_multiple_of(4);
        let by_channels = front(x).1.abs() == 1 && spatial_strides(x)[2].abs() != 1;
        let can = g.direction == Direction::Forward && g.channels > 0;
        let tiles = tiles(dtype).iter().filter(move |_| can);
        let positions = g.batch.saturating_mul(g.plane()) as u64;
        let large = |tile: Tile| {
            let filters = g.filters as u64;
            let groups = g.groups as u64;
            let small = Tile::COOPERATIVE_64.count(filters, 1)[0] * 64;
            tile.fills(filters, positions, groups, ability)
                && tile.count(filters, 1)[0] * u64::from(tile.rows) == small
        };
        let mut all: Vec<Self> = tiles
            .filter_map(|&tile| {
                let depth = u64::from(tile.depth);
                let [plain, folded] =
                    [false, true].map(|fold| Packed::new(g, depth, fold).map(|p| p.k));
                let fold = folded.is_some_and(|folded| plain.is_none_or(|plain| folded < plain));
                let packed = Packed::new(g, depth, fold)?;
                let fits = tile.fits(ability) && tile.iterations(packed.k) <= ability.loop_budget;
                let bytes = packed.bytes(g, depth);
                let bound = |bytes: Option<u64>| bytes.is_some_and(|n| n <= ability.binding_bytes);
                (fits && bytes.into_iter().all(bound)).then_some(Self {
                    tile,
                    fold,
                    vec4,
                    by_channels,
                })
            })
            .collect();
        if all.first().is_some_and(|packing| !large(packing.tile)) {
            all.reverse();
        }
        all.into_iter()
    }

    /// Whether it takes less time than tiles that gather.
    pub(super) fn pays(self, g: &Geometry) -> bool {
        const FILTERS: usize = 24;
        const WORK: u64 = 1 << 25;
        /// Times as much work as without what fills blocks.
        const MOST: u64 = 4;
        let Some(packed) = Packed::new(g, u64::from(self.tile.depth), self.fold) else {
            return false;
        };
        let depth = g.depth() as u64;
        let positions = (g.batch as u64).saturating_mul(g.plane() as u64);
        let work = (g.filters as u64)
            .saturating_mul(g.groups as u64)
            .saturating_mul(positions);
        g.filters >= FILTERS
            && positions >= u64::from(self.tile.cols)
            && packed.k <= depth.saturating_mul(MOST)
            && work.saturating_mul(depth) >= WORK
    }
}

fn params(g: &Geometry, packed: &Packed, x: &Layout, w: &Layout) -> PackedParams {
    let n = |value: usize| saturated(value as u64);
    let ((x_batch, x_channel), (w_filter, w_channel)) = (front(x), front(w));
    PackedParams {
        m: n(g.filters),
        n: n(g.batch.saturating_mul(g.plane())),
        k: saturated(packed.k),
        batch: n(g.groups),
        images: n(g.batch),
        plane: n(g.plane()),
        channels: n(g.channels),
        blocks: saturated(packed.blocks),
        taps: saturated(packed.taps),
        pixels: saturated(packed.pixels),
        part: saturated(packed.part),
        x_batch: wrap(x_batch),
        x_channel: wrap(x_channel),
        w_group: wrap(w_filter).wrapping_mul(n(g.filters)),
        w_filter: wrap(w_filter),
        w_channel: wrap(w_channel),
        extent: vector(g.input),
        result: vector(g.output),
        kernel: vector(g.kernel),
        stride: vector(g.stride),
        dilation: vector(g.dilation),
        pad: vector(g.pads),
        x_steps: strides(spatial_strides(x)),
        w_steps: strides(spatial_strides(w)),
        grid: vector(
            packed
                .grid
                .map(|rows| usize::try_from(rows).unwrap_or(usize::MAX)),
        ),
        ..PackedParams::default()
    }
}

fn base(volume: bool, dtype: DType, name: &'static str) -> KernelChoice {
    KernelChoice::new(Direction::Forward.op(if volume { 3 } else { 2 }))
        .name(dtype.name())
        .name(name)
        .part(prelude::FLOAT)
        .without_zeroed_memory()
        // Extents are divided by; a dispatch without results is not recorded.
        .without_division_checks()
}

/// What packs the operands of a dtype.
fn pack(volume: bool, dtype: DType, packing: Packing) -> KernelChoice {
    base(volume, dtype, "pack")
        .name(if packing.fold { "fold" } else { "channels" })
        .part(prelude::LOAD_BITS16)
        .params("conv/packed/params.wgsl")
        .parts(&[
            "conv/common.wgsl",
            "conv/filter.wgsl",
            "conv/image.wgsl",
            "conv/packed/taps.wgsl",
            "conv/packed/pair_bits.wgsl",
            "conv/packed/pack.wgsl",
        ])
        .constant("WG", PACK_GROUP)
        .constant("FOLD", u32::from(packing.fold))
        .constant("DEPTH", packing.tile.depth)
        .constant("BY_CHANNELS", u32::from(packing.by_channels))
}

/// What multiplies them.
pub(super) fn product(volume: bool, dtype: DType, packing: Packing, bias: bool) -> KernelChoice {
    let tile = packing.tile;
    let choice = base(volume, dtype, "packed")
        .enable("enable/f16.wgsl")
        .enable("enable/cooperative_matrix.wgsl")
        .name(if tile == Tile::COOPERATIVE_64 {
            "tile_64"
        } else {
            "tile_128"
        })
        .name(if bias { "bias" } else { "no_bias" })
        .load(dtype)
        .store(dtype);
    let choice = if packing.vec4 {
        choice.vec4().name("out_vec4")
    } else {
        choice.cell(dtype).name("out_cells")
    };
    let choice = choice
        .params("conv/packed/params.wgsl")
        .parts(&["conv/common.wgsl", "matmul/raster.wgsl"])
        .part(if bias {
            "conv/packed/bias.wgsl"
        } else {
            "conv/no_bias.wgsl"
        })
        .parts(if packing.vec4 {
            &["conv/out_vec4.wgsl", "conv/packed/out_quads.wgsl"]
        } else {
            &["conv/out_element.wgsl", "conv/packed/out_elements.wgsl"]
        })
        .parts(&[
            "matmul/cooperative.wgsl",
            "matmul/strips.wgsl",
            "matmul/every_tile.wgsl",
            "matmul/plain_sums.wgsl",
            "conv/packed/halves.wgsl",
        ])
        .part(tile.body());
    let sizes = [("A_ACROSS", 0.0), ("B_ACROSS", 0.0), ("WHOLE", 1.0)];
    let constants = sizes.into_iter().chain(tile.constants());
    constants.fold(choice, |choice, (name, value)| choice.constant(name, value))
}

/// Adds the dispatches.
pub(super) fn steps(
    p: &mut Planner<'_>,
    g: &Geometry,
    packing: Packing,
) -> Result<(), KernelError> {
    let Images { x, w, bias } = Images::of(p.op, p.ends)?;
    let tile = packing.tile;
    let depth = u64::from(tile.depth);
    let packed = Packed::new(g, depth, packing.fold).ok_or(KernelError::Internal {
        op: p.op,
        what: "a convolution is packed that cannot be",
    })?;
    let (image, filters, bound_bias) = (p.first()?, p.needed(0)?, p.other(1)?);
    let bias_step = bias.and_then(|bias| bias.layout.strides().first());
    let whole = PackedParams {
        x_offset: image.offset,
        w_offset: filters.offset,
        bias_offset: bound_bias.map_or(0, |bound| bound.offset),
        bias_step: bias_step.map_or(0, |&step| wrap(step)),
        ..params(g, &packed, &x.layout, &w.layout)
    };
    let groups = g.groups as u64;
    let lines = groups * g.filters as u64;
    let op = p.op;
    let mut scratch = |len: u64, dtype| {
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        let shape = Shape::new([len]).map_err(KernelError::shape(op))?;
        p.scratch(shape, dtype)
    };
    let of_filters = scratch(lines * packed.k, DType::F16)?;
    let of_images = scratch(groups * packed.blocks * packed.pixels * depth, DType::F16)?;
    let table = scratch(packed.k / depth, DType::U32)?;

    let group = u64::from(PACK_GROUP);
    let single = lines * (packed.k / 8) + packed.k / depth;
    let workgroups =
        groups * packed.blocks * packed.pixels.div_ceil(group) + single.div_ceil(group);
    let volume = g.is_volume();
    p.step(
        pack(volume, x.dtype, packing),
        [image, filters, of_filters, of_images, table],
        &whole,
        Grid::elements(workgroups * group, 1),
    );

    let out = p.out()?;
    let [tiles_m, tiles_n] = tile.count(g.filters as u64, u64::from(whole.n));
    let params = PackedParams {
        tiles_m: saturated(tiles_m),
        tiles_n: saturated(tiles_n),
        out_offset: out.offset,
        ..whole
    };
    let invocations = tiles_m * tiles_n * groups * u64::from(tile.invocations());
    let bindings = [of_filters.read(), of_images.read(), out, table.read()];
    let bindings = bindings.into_iter().chain(bound_bias);
    let choice = product(volume, x.dtype, packing, bias.is_some());
    p.last(choice, bindings, &params, Grid::elements(invocations, 1));
    Ok(())
}

/// What packs and multiplies, for the catalogue; and those products that write through an epilogue.
fn kernels() -> (Vec<KernelChoice>, Vec<(DType, KernelChoice, bool)>) {
    let (mut all, mut writing) = (Vec::new(), Vec::new());
    for dtype in DType::ALL {
        for (i, &tile) in tiles(dtype).iter().enumerate() {
            let packing = |fold, vec4| Packing {
                tile,
                fold,
                vec4,
                by_channels: fold,
            };
            all.extend([false, true].map(|fold| pack(false, dtype, packing(fold, true))));
            for (vec4, bias) in [(true, false), (true, true), (false, false), (false, true)] {
                let choice = product(false, dtype, packing(false, vec4), bias);
                all.push(choice.clone());
                if i == 0 && vec4 != bias {
                    writing.push((dtype, choice, bias));
                }
            }
        }
    }
    (all, writing)
}

pub(super) fn variants() -> Vec<Candidate> {
    let (all, _) = kernels();
    let candidate = |choice| Candidate::new(choice, PackedParams::FIELDS);
    all.into_iter().map(candidate).collect()
}

/// Kernels that write through an epilogue over sums of a dtype, for the corpus of those, and their bindings.
pub(super) fn writing_fused() -> Vec<(DType, KernelChoice, usize)> {
    let (_, writing) = kernels();
    let own = |(dtype, choice, bias)| (dtype, choice, 4 + usize::from(bias));
    writing.into_iter().map(own).collect()
}
