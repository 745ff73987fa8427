//! Convolutions on matrix units: operands are packed as f16 first, of an image each pixel's channels together and with its
//! padding, so that a tap of all positions is a matrix whose lines lie at equal or known distances.
//!
//! Invariant: results depend on the geometry alone; padding and channels that only fill a block are zeros on both sides, and
//! what multiplies them is finite.

use ziggurat_core::{DType, Shape};
use ziggurat_pipeline::Grid;

mod kernels;
mod layout;
mod packing;
pub(super) mod planes;

use super::Seen;
use super::geometry::Geometry;
use super::plan::{self, ConvParams, FilterRows, Method, Writes, front};
use super::{Sums, shares};
use crate::num::{saturated, wrap};
use crate::ops::spatial::{spatial_strides, steps as strides, vector};
use crate::ops::tile::{Tile, TileKind};
use crate::run::error::KernelError;
use crate::run::plan::{Bound, Planner};
use crate::source::choice::KernelChoice;
use crate::source::params::{Params, params};
use kernels::{extremes, flags, pack};
use layout::{Packed, Range, chunks};

pub(super) use kernels::{product, variants, writing_fused};
pub(crate) use packing::Packing;

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

/// Whether f16 has room for the elements of a dtype only if they are scaled.
fn is_scaled(dtype: DType) -> bool {
    dtype != DType::F16
}

fn params(g: &Geometry, packed: &Packed, packing: Packing, seen: Seen<'_>) -> PackedParams {
    let Seen { x, w, .. } = seen;
    let tile = packing.tile;
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
        w_group: seen.w_group,
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
    whole: &Geometry,
    packing: Packing,
    seen: Seen<'_>,
    wanted: Writes,
) -> Result<Option<Sums>, KernelError> {
    let g = &packing.seen(whole);
    let seen = shares::seen(g, seen, packing.shares);
    let (dtype, x) = (seen.dtype, seen.x);
    let (op, tile) = (p.op, packing.tile);
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
    let mut of_all = PackedParams {
        x_offset: image.offset,
        w_offset: filters.offset,
        bias_offset: bound_bias.map_or(0, |bound| bound.offset),
        bias_step: seen.bias_step.unwrap_or(0),
        ..params(g, &packed, packing, seen)
    };
    if split {
        of_all.n = saturated(packed.positions(g));
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
        let choice = extremes(volume, dtype, Range::of(g, x));
        let grid = groups(g.batch as u64 * chunks(g), group);
        p.step(choice, [image, facts], &of_all, grid);
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
    p.step(choice, bindings, &of_all, groups(blocks + others, group));
    if is_scaled(dtype) {
        let [positions, filters] = [g.batch as u64 * g.plane() as u64, g.filters as u64]
            .map(|lines| lines.div_ceil(u64::from(FLAGGED)));
        let lanes = FLAG_LANES[usize::from(packed.blocks >= SHARED_BLOCKS)];
        let choice = flags(volume, dtype, tile, lanes);
        let count = g.groups as u64 * (positions + filters);
        p.step(
            choice,
            [facts],
            &of_all,
            groups(count, u64::from(FLAGGED * lanes)),
        );
    }

    let operands = [of_filters.read(), of_images.read(), facts.read()];
    let sums = match packing.shares {
        1 => wanted,
        _ => Writes::Shares,
    };
    if sums == Writes::Results {
        let out = p.out()?;
        multiply(p, (g, seen), packing, operands, (&of_all, out, sums))?;
        return Ok(None);
    }
    let out = shares::scratch(p, whole, packing.shares)?;
    multiply(p, (g, seen), packing, operands, (&of_all, out, sums))?;
    Ok(Some((out, packing.shares)))
}

/// Adds the dispatches that multiply what was packed, into results or into sums of shares.
fn multiply(
    p: &mut Planner<'_>,
    (g, seen): (&Geometry, Seen<'_>),
    packing: Packing,
    [of_filters, of_images, facts]: [Bound; 3],
    (of_all, out, writes): (&PackedParams, Bound, Writes),
) -> Result<(), KernelError> {
    let (image, filters, bound_bias) = (p.first()?, p.needed(0)?, p.other(1)?);
    let (dtype, volume, biased) = (seen.dtype, g.is_volume(), seen.bias_step.is_some());
    let count = |tile: Tile, columns: u32| {
        let [rows, cols] = tile.count(g.filters as u64, u64::from(columns));
        let tiles = rows * cols * g.groups as u64;
        let grid = Grid::elements(tiles * u64::from(tile.invocations()), 1);
        ([saturated(rows), saturated(cols)], grid)
    };
    let ([tiles_m, tiles_n], grid) = count(packing.tile, of_all.n);
    let params = PackedParams {
        tiles_m,
        tiles_n,
        out_offset: out.offset,
        ..*of_all
    };
    let choice = product(volume, dtype, packing, biased, writes);
    let bindings = [of_filters, of_images, out, facts].into_iter();
    let bindings = bindings.chain(bound_bias);
    add(p, writes, (choice, bindings), (&params, grid));
    if !is_scaled(dtype) {
        return Ok(());
    }

    let wide = Method::Tiled(Tile::WIDE);
    let positions = saturated((g.batch as u64).saturating_mul(g.plane() as u64));
    let ([tiles_m, tiles_n], grid) = count(Tile::WIDE, positions);
    let params = ConvParams {
        x_offset: image.offset,
        w_offset: filters.offset,
        bias_offset: of_all.bias_offset,
        bias_step: of_all.bias_step,
        out_offset: out.offset,
        tiles_m,
        tiles_n,
        ..plan::params(g, seen)
    };
    let flagged = match writes {
        Writes::Results => Writes::Flagged,
        _ => Writes::FlaggedShares,
    };
    let rows = match FilterRows::of(g, seen.w) {
        FilterRows::Dense => FilterRows::Dense,
        _ => FilterRows::Strided,
    };
    let choice = plan::choice(g, seen, wide, rows, flagged);
    let bindings = [image, filters, out, facts].into_iter();
    let bindings = bindings.chain(bound_bias);
    add(p, writes, (choice, bindings), (&params, grid));
    Ok(())
}

/// Adds a dispatch that multiplies: it writes results, or sums of shares that are added afterwards.
fn add<P: Params>(
    p: &mut Planner<'_>,
    writes: Writes,
    (choice, bindings): (KernelChoice, impl Iterator<Item = Bound>),
    (params, grid): (&P, Grid),
) {
    if writes == Writes::Results {
        p.last(choice, bindings, params, grid);
    } else {
        p.step(choice, bindings, params, grid);
    }
}
