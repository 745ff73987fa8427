//! Convolutions on matrix units: operands are packed as f16 first, of an image each pixel's channels together and with its
//! padding, so that a tap of all positions is a matrix whose lines lie at equal or known distances.
//!
//! Invariant: results depend on the geometry alone; padding and channels that only fill a block are zeros on both sides, and
//! what multiplies them is finite.

use ziggurat_core::{DType, Layout, Shape};
use ziggurat_pipeline::Grid;

mod kernels;
mod layout;
pub(super) mod planes;

use super::Images;
use super::geometry::{Direction, Geometry};
use super::plan::{self, ConvParams, Method, Writes, front};
use crate::limits::ability::{Ability, MATRIX_UNITS};
use crate::limits::budget::nested;
use crate::num::{saturated, wrap};
use crate::ops::spatial::{spatial_strides, steps as strides, vector};
use crate::ops::tile::{Tile, TileKind};
use crate::run::error::KernelError;
use crate::run::plan::Planner;
use crate::source::params::params;
use kernels::{extremes, flags, pack};
use layout::{Channels, Packed, Range, chunks};

pub(super) use kernels::{product, variants, writing_fused};

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
/// Positions, or filters, that are flagged together.
const FLAGGED: u32 = 128;
/// Invocations that share a position of those that flag: with many blocks of channels four. On an H200 512 channels of 7 × 7 take
/// 7 µs instead of 14, 64 channels of 56 × 56 12 instead of 7.
const FLAG_LANES: [u32; 2] = [1, 4];
/// Blocks that are many.
const SHARED_BLOCKS: u64 = 16;

/// How a convolution is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Packing {
    pub(super) tile: Tile,
    /// The taps along the width count as channels: of few channels, blocks would be mostly empty.
    fold: bool,
    /// Results are written four positions at a time.
    vec4: bool,
    channels: Channels,
}

/// The tiles that can compute packed operands of a dtype, the larger first; `deep` ones take blocks of 64 channels.
const fn tiles(dtype: DType, deep: bool) -> &'static [Tile] {
    match (dtype, deep) {
        (DType::F32, _) => &[Tile::SPLIT],
        (DType::F16 | DType::BF16, true) => &[Tile::COOPERATIVE, Tile::COOPERATIVE_64],
        (DType::F16 | DType::BF16, false) => &[Tile::COOPERATIVE, Tile::COOPERATIVE_64_BY_32],
        _ => &[],
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
        let channels = Channels::of(g, x);
        let can = MATRIX_UNITS && g.direction == Direction::Forward && g.channels > 0;
        let [filters, positions, groups] =
            [g.filters, g.batch.saturating_mul(g.plane()), g.groups].map(|n| n as u64);
        // Few tiles wait for each step: on an H100 512 channels of 14 × 14 take 0.052 ms instead of 0.067. Many hide that, and take
        // 0.071 instead of 0.068 for 64 channels of 56 × 56.
        let [rows, columns] = Tile::COOPERATIVE_64.count(filters, positions);
        let count = rows.saturating_mul(columns).saturating_mul(groups);
        let deep = g.channels.is_multiple_of(64) && count < ability.busy_groups / 2;
        let tiles = tiles(dtype, deep).iter().filter(move |_| can);
        let mut all: Vec<Self> = tiles
            .filter_map(|&tile| {
                let [plain, folded] =
                    [false, true].map(|fold| Packed::new(g, tile, fold).map(|p| p.steps));
                let fold = folded.is_some_and(|folded| plain.is_none_or(|plain| folded < plain));
                let packing = Self {
                    tile,
                    fold,
                    vec4: tile.kind == TileKind::Cooperative && g.plane().is_multiple_of(4),
                    // Taps that count as channels are not side by side.
                    channels: match channels {
                        Channels::Vectors if fold => Channels::Neighbours,
                        channels => channels,
                    },
                };
                packing.fits(g, dtype, ability).then_some(packing)
            })
            .collect();
        // Of few tiles small ones are better, and where large ones would be emptier.
        let full = |tile: Tile| tile.count(filters, 1)[0] * u64::from(tile.rows);
        let large = |tile: Tile| {
            tile.fills(filters, positions, groups, ability)
                && full(tile) == full(Tile::COOPERATIVE_64)
        };
        if all.first().is_some_and(|packing| !large(packing.tile)) {
            all.reverse();
        }
        all.into_iter()
    }

    fn fits(self, g: &Geometry, dtype: DType, ability: &Ability) -> bool {
        let Some(packed) = Packed::new(g, self.tile, self.fold) else {
            return false;
        };
        let k = packed.steps.saturating_mul(u64::from(self.tile.depth));
        let mut tiles = [Some(self.tile), is_scaled(dtype).then_some(Tile::WIDE)].into_iter();
        let can = |tile: Tile| tile.fits(ability) && tile.iterations(k) <= ability.loop_budget;
        let found = nested(&[packed.taps, packed.blocks]);
        let bound = |lengths: [u64; 3]| {
            let words = lengths[2].saturating_mul(2);
            let most = lengths[0].max(lengths[1]).max(words);
            most.saturating_mul(2) <= ability.binding_bytes
        };
        let [_, most_lanes] = FLAG_LANES;
        tiles.all(|tile| tile.is_none_or(can))
            && FLAGGED * most_lanes <= ability.invocations
            && found <= ability.loop_budget
            && packed.lengths(g, dtype, self).is_some_and(bound)
    }

    /// Whether it takes less time than tiles that gather.
    pub(super) fn pays(self, g: &Geometry, dtype: DType) -> bool {
        const FILTERS: u64 = 24;
        // Multiplications that take as long as packing; and times as many as without what fills blocks and tiles.
        let (least, most) = match dtype {
            DType::F16 => (1 << 25, 5),
            DType::BF16 => (1 << 27, 4),
            _ => (1 << 28, 2),
        };
        let Some(packed) = Packed::new(g, self.tile, self.fold) else {
            return false;
        };
        let [filters, depth, positions, groups] = [
            g.filters,
            g.depth(),
            g.batch.saturating_mul(g.plane()),
            g.groups,
        ]
        .map(|n| n as u64);
        let side = u64::from(self.tile.rows);
        let filled = filters.next_multiple_of(side).saturating_mul(packed.steps);
        let filled = filled.saturating_mul(u64::from(self.tile.depth));
        let work = filters.saturating_mul(depth);
        let all = work.saturating_mul(positions).saturating_mul(groups);
        // f32 of one tap is not multiplied long enough.
        let few = dtype == DType::F32 && g.taps() == 1;
        filters >= FILTERS
            && !few
            && positions >= side
            && filled <= work.saturating_mul(most)
            && all >= least
    }

    /// Lines that filters of a group are packed in.
    const fn lines(self, filters: u64) -> u64 {
        match self.tile.kind {
            TileKind::Split => filters.next_multiple_of(16),
            _ => filters,
        }
    }

    /// Invocations that pack a pixel.
    fn lanes(self) -> u64 {
        if self.channels.are_neighbours() {
            u64::from(self.tile.depth / 8)
        } else {
            1
        }
    }
}

/// Whether f16 has room for the elements of a dtype only if they are scaled.
fn is_scaled(dtype: DType) -> bool {
    dtype != DType::F16
}

fn params(g: &Geometry, packed: &Packed, tile: Tile, x: &Layout, w: &Layout) -> PackedParams {
    let n = |value: usize| saturated(value as u64);
    let ((x_batch, x_channel), (w_filter, w_channel)) = (front(x), front(w));
    PackedParams {
        m: n(g.filters),
        n: n(g.batch.saturating_mul(g.plane())),
        k: saturated(packed.steps.saturating_mul(u64::from(tile.halves()))),
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
        chunks: saturated(chunks(g)),
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

/// Adds the dispatches.
pub(super) fn steps(
    p: &mut Planner<'_>,
    g: &Geometry,
    packing: Packing,
) -> Result<(), KernelError> {
    let Images { x, w, bias } = Images::of(p.op, p.ends)?;
    let (op, dtype, tile) = (p.op, x.dtype, packing.tile);
    let split = tile.kind == TileKind::Split;
    let packed = Packed::new(g, tile, packing.fold);
    let lengths = packed.and_then(|packed| packed.lengths(g, dtype, packing));
    let (Some(packed), Some([of_filters, of_images, words])) = (packed, lengths) else {
        return Err(KernelError::internal(
            op,
            "a convolution is packed that cannot be",
        ));
    };
    let (image, filters, bound_bias) = (p.first()?, p.needed(0)?, p.other(1)?);
    let bias_step = bias.and_then(|bias| bias.layout.strides().first());
    let mut whole = PackedParams {
        x_offset: image.offset,
        w_offset: filters.offset,
        bias_offset: bound_bias.map_or(0, |bound| bound.offset),
        bias_step: bias_step.map_or(0, |&step| wrap(step)),
        ..params(g, &packed, tile, &x.layout, &w.layout)
    };
    if split {
        whole.n = saturated(packed.positions(g));
    }
    let mut scratch = |len: u64, dtype| {
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        let shape = Shape::new([len]).map_err(KernelError::shape(op))?;
        p.scratch(shape, dtype)
    };
    let of_filters = scratch(of_filters, DType::F16)?;
    let of_images = scratch(of_images, DType::F16)?;
    let facts = scratch(words, DType::U32)?;

    let volume = g.is_volume();
    let group = u64::from(PACK_GROUP);
    let groups = |count: u64, invocations: u64| Grid::elements(count * invocations, 1);
    if is_scaled(dtype) {
        let choice = extremes(volume, dtype, Range::of(g, &x.layout));
        let grid = groups(g.batch as u64 * chunks(g), group);
        p.step(choice, [image, facts], &whole, grid);
    }
    let lines = g.groups as u64 * packing.lines(g.filters as u64);
    let of_block = (packed.pixels * packing.lanes()).div_ceil(group);
    let blocks = g.groups as u64 * packed.blocks * of_block;
    let others = if is_scaled(dtype) {
        lines + packed.steps.div_ceil(group)
    } else {
        (lines * packed.steps * u64::from(tile.depth / 8) + packed.steps).div_ceil(group)
    };
    let choice = pack(volume, dtype, packing);
    let bindings = [image, filters, of_filters, of_images, facts];
    p.step(choice, bindings, &whole, groups(blocks + others, group));
    if is_scaled(dtype) {
        let [positions, filters] = [g.batch as u64 * g.plane() as u64, g.filters as u64]
            .map(|lines| lines.div_ceil(u64::from(FLAGGED)));
        let lanes = FLAG_LANES[usize::from(packed.blocks >= SHARED_BLOCKS)];
        let choice = flags(volume, dtype, tile, lanes);
        let count = g.groups as u64 * (positions + filters);
        p.step(
            choice,
            [facts],
            &whole,
            groups(count, u64::from(FLAGGED * lanes)),
        );
    }

    let out = p.out()?;
    let count = |tile: Tile, columns: u32| {
        let [rows, cols] = tile.count(g.filters as u64, u64::from(columns));
        let grid = groups(rows * cols * g.groups as u64, u64::from(tile.invocations()));
        ([saturated(rows), saturated(cols)], grid)
    };
    let ([tiles_m, tiles_n], grid) = count(tile, whole.n);
    let params = PackedParams {
        tiles_m,
        tiles_n,
        out_offset: out.offset,
        ..whole
    };
    let bindings = [of_filters.read(), of_images.read(), out, facts.read()];
    let bindings = bindings.into_iter().chain(bound_bias);
    let choice = product(volume, dtype, packing, bias.is_some());
    p.last(choice, bindings, &params, grid);
    if !is_scaled(dtype) {
        return Ok(());
    }

    let wide = Method::Tiled(Tile::WIDE);
    let positions = saturated((g.batch as u64).saturating_mul(g.plane() as u64));
    let ([tiles_m, tiles_n], grid) = count(Tile::WIDE, positions);
    let params = ConvParams {
        x_offset: image.offset,
        w_offset: filters.offset,
        bias_offset: whole.bias_offset,
        bias_step: whole.bias_step,
        out_offset: out.offset,
        tiles_m,
        tiles_n,
        ..plan::params(g, &x.layout, &w.layout)
    };
    let dense = w.layout.is_contiguous();
    let (forward, flagged) = (Direction::Forward, Writes::Flagged);
    let choice = plan::choice(forward, dtype, wide, volume, dense, bias.is_some(), flagged);
    let bindings = [image, filters, out, facts.read()];
    let bindings = bindings.into_iter().chain(bound_bias);
    p.last(choice, bindings, &params, grid);
    Ok(())
}
