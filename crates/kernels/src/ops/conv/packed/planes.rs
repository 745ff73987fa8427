//! [`Planes`]: convolutions of f16 with kernels of one element on matrix units, which read images as they lie.

use ziggurat_core::{DType, Layout, sort_few_by_key};
use ziggurat_pipeline::Grid;

use super::super::Seen;
use super::super::geometry::Geometry;
use super::super::plan::{Writes, plane_step};
use super::super::{Sums, shares};
use super::kernels::base;
use super::{PackedParams, front};
use crate::limits::ability::{Ability, MATRIX_UNITS};
use crate::num::{saturated, wrap};
use crate::ops::tile::Tile;
use crate::run::error::KernelError;
use crate::run::plan::Planner;
use crate::source::choice::KernelChoice;

/// A product of the filters and each image, which needs no packing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Planes {
    pub(in crate::ops::conv) tile: Tile,
    /// Positions of an image lie side by side; else the channels of one do.
    across: bool,
    /// Filters lie side by side; else the channels of one do.
    filters_across: bool,
    /// The channels are a multiple of the tile's depth.
    whole: bool,
}

impl Planes {
    const TILES: [Tile; 3] = [
        Tile::COOPERATIVE,
        Tile::COOPERATIVE_64,
        Tile::COOPERATIVE_64_BY_32,
    ];

    /// The ways to compute a convolution of images `x` and filters `w` so, the best one first.
    pub(in crate::ops::conv) fn all(
        g: &Geometry,
        [x, w]: [&Layout; 2],
        dtype: DType,
        ability: &Ability,
    ) -> Vec<Self> {
        let (channels, filters, plane) = (g.channels as u64, g.filters as u64, g.plane() as u64);
        let in_vectors = |n: u64| n > 0 && n.is_multiple_of(4);
        let fits = MATRIX_UNITS
            && dtype == DType::F16
            && g.is_pointwise()
            && g.groups == 1
            && [channels, plane].into_iter().all(in_vectors)
            && w.offset().is_multiple_of(4)
            && x.offset().is_multiple_of(4);
        let across = plane_step(g, x).and_then(|step| lies(front(x), step));
        let filters_across = w.is_contiguous().then_some(false).or_else(|| {
            let (filter, channel) = front(w);
            (filter == 1 && channel % 4 == 0 && in_vectors(filters)).then_some(true)
        });
        let (Some(across), Some(filters_across), true) = (across, filters_across, fits) else {
            return Vec::new();
        };
        let mut all: Vec<Self> = Self::TILES
            .into_iter()
            .filter(|tile| tile.fits(ability) && tile.iterations(channels) <= ability.loop_budget)
            .map(|tile| Self {
                tile,
                across,
                filters_across,
                whole: channels.is_multiple_of(u64::from(tile.depth)),
            })
            .collect();
        // Large tiles where they keep the device busy and are not emptier; of the small ones deep steps where tiles are few.
        let full = |tile: Tile| tile.count(filters, 1)[0] * u64::from(tile.rows);
        let batch = g.batch as u64;
        let [rows, columns] = Tile::COOPERATIVE_64.count(filters, plane);
        let count = rows.saturating_mul(columns).saturating_mul(batch);
        let few = match channels {
            ..64 => false,
            64..512 => count < ability.busy_groups / 4,
            _ => count < ability.busy_groups / 2,
        };
        let best = if Tile::COOPERATIVE.fills(filters, plane, batch, ability)
            && full(Tile::COOPERATIVE) == full(Tile::COOPERATIVE_64)
        {
            Tile::COOPERATIVE
        } else if few {
            Tile::COOPERATIVE_64
        } else {
            Tile::COOPERATIVE_64_BY_32
        };
        sort_few_by_key(&mut all, |planes| planes.tile != best);
        all
    }

    /// Whether it takes less time than packing images first, whose positions fill tiles whatever a plane has.
    pub(in crate::ops::conv) fn pays(self, g: &Geometry) -> bool {
        const FILTERS: usize = 24;
        // Of fewer channels a step is mostly empty.
        const CHANNELS: usize = 24;
        let (plane, side) = (g.plane() as u64, u64::from(self.tile.cols));
        let covered = plane.next_multiple_of(side);
        g.filters >= FILTERS
            && g.channels >= CHANNELS
            && covered.saturating_mul(3) <= plane.saturating_mul(4)
    }

    /// The kernel.
    pub(in crate::ops::conv) fn choice(
        self,
        volume: bool,
        bias: bool,
        writes: Writes,
    ) -> KernelChoice {
        let tile = self.tile;
        let dtype = DType::F16;
        let choice = base(volume, dtype, "planes")
            .enable("enable/f16.wgsl")
            .enable("enable/cooperative_matrix.wgsl")
            .name(match (tile.rows, tile.depth) {
                (64, 64) => "tile_64_deep",
                (64, _) => "tile_64",
                _ => "tile_128",
            })
            .name(if bias { "bias" } else { "no_bias" })
            .load(dtype)
            .store(dtype);
        let (choice, out) = match writes {
            Writes::Results => (choice.vec4(), "conv/out_vec4.wgsl"),
            _ => (choice.name("shares"), "conv/out_share_vec4.wgsl"),
        };
        let choice = choice
            .params("conv/packed/params.wgsl")
            .parts(&["conv/common.wgsl", "matmul/raster.wgsl"])
            .part(if bias {
                "conv/bias.wgsl"
            } else {
                "conv/no_bias.wgsl"
            })
            .parts(&["matmul/every_tile.wgsl", out])
            .parts(tile.depth_part())
            .parts(&[
                "matmul/elements_f16.wgsl",
                "matmul/units_f16.wgsl",
                "matmul/whole_depth.wgsl",
                "matmul/cooperative.wgsl",
                "matmul/strips.wgsl",
                "matmul/plain_sums.wgsl",
                "matmul/no_doubts.wgsl",
                "conv/packed/planes.wgsl",
                "matmul/plain_lines.wgsl",
            ])
            .part(tile.body())
            .constant("A_ACROSS", u32::from(self.filters_across))
            .constant("B_ACROSS", u32::from(self.across))
            .constant("WHOLE", u32::from(self.whole));
        let sizes = tile.constants();
        sizes.fold(choice, |choice, (name, value)| choice.constant(name, value))
    }

    /// The same for filters that lie side by side.
    pub(super) const fn of_filters_across(self) -> Self {
        Self {
            filters_across: true,
            ..self
        }
    }

    /// One of each tile, for the catalogue.
    pub(super) fn samples() -> [Self; 3] {
        Self::TILES.map(|tile| Self {
            tile,
            across: tile != Tile::COOPERATIVE_64_BY_32,
            filters_across: false,
            whole: tile != Tile::COOPERATIVE_64,
        })
    }
}

/// Whether positions lie side by side, or channels; `None` if they lie otherwise, or not in vectors of four.
fn lies((batch, channel): (isize, isize), step: isize) -> Option<bool> {
    let in_vectors = |stride: isize| stride % 4 == 0;
    match (step, channel) {
        (1, _) if in_vectors(channel) && in_vectors(batch) => Some(true),
        (_, 1) if in_vectors(step) && in_vectors(batch) => Some(false),
        _ => None,
    }
}

/// Adds the dispatch.
pub(in crate::ops::conv) fn steps(
    p: &mut Planner<'_>,
    g: &Geometry,
    planes: Planes,
    seen: Seen<'_>,
    wanted: Writes,
) -> Result<Option<Sums>, KernelError> {
    let Seen {
        x, w, bias_step, ..
    } = seen;
    let (image, filters, bound_bias) = (p.first()?, p.needed(0)?, p.other(1)?);
    let out = match wanted {
        Writes::Results => p.out()?,
        _ => shares::scratch(p, g, 1)?,
    };
    let n = |value: usize| saturated(value as u64);
    let [rows, cols] = planes.tile.count(g.filters as u64, g.plane() as u64);
    let params = PackedParams {
        m: n(g.filters),
        n: n(g.plane()),
        k: n(g.channels),
        batch: n(g.batch),
        tiles_m: saturated(rows),
        tiles_n: saturated(cols),
        x_offset: image.offset,
        w_offset: filters.offset,
        bias_offset: bound_bias.map_or(0, |bound| bound.offset),
        bias_step: bias_step.unwrap_or(0),
        out_offset: out.offset,
        x_batch: wrap(front(x).0),
        x_channel: wrap(front(x).1),
        w_filter: wrap(front(w).0),
        w_channel: wrap(front(w).1),
        x_steps: [0, 0, plane_step(g, x).map_or(0, wrap), 0],
        ..PackedParams::default()
    };
    let tiles = [rows, cols]
        .into_iter()
        .fold(g.batch as u64, u64::saturating_mul);
    let invocations = u64::from(planes.tile.invocations());
    let grid = Grid::elements(tiles.saturating_mul(invocations), 1);
    let bindings = [image, filters, out].into_iter().chain(bound_bias);
    let choice = planes.choice(g.is_volume(), bias_step.is_some(), wanted);
    if wanted == Writes::Results {
        p.last(choice, bindings, &params, grid);
        return Ok(None);
    }
    p.step(choice, bindings, &params, grid);
    Ok(Some((out, 1)))
}
