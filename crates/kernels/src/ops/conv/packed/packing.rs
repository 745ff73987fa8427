//! [`Packing`]: how a convolution is packed for matrix units, and when that pays.

use ziggurat_core::{DType, Layout};

use super::super::geometry::{Direction, Geometry};
use super::super::shares::{in_shares, most_shares, sums};
use super::layout::{Channels, Packed};
use super::{FLAG_LANES, FLAGGED, is_scaled};
use crate::limits::ability::{Ability, MATRIX_UNITS};
use crate::limits::budget::nested;
use crate::ops::tile::{Tile, TileKind};
use crate::tune::WayName;

/// How a convolution is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Packing {
    pub(super) tile: Tile,
    /// The taps along the width count as channels: of few channels, blocks would be mostly empty.
    pub(super) fold: bool,
    /// Results are written four positions at a time.
    pub(super) vec4: bool,
    pub(super) channels: Channels,
    /// So many workgroups share the channels of each tile; their sums are added afterwards.
    pub(in crate::ops::conv) shares: u32,
}

/// The tiles that can compute packed operands of a dtype, the larger first; `deep` ones take blocks of 64 channels.
pub(super) const fn tiles(dtype: DType, deep: bool) -> &'static [Tile] {
    match (dtype, deep) {
        (DType::F32, _) => &[Tile::SPLIT],
        (DType::F16 | DType::BF16, true) => &[Tile::COOPERATIVE, Tile::COOPERATIVE_64],
        (DType::F16 | DType::BF16, false) => &[Tile::COOPERATIVE, Tile::COOPERATIVE_64_BY_32],
        _ => &[],
    }
}

impl Packing {
    /// The ways to pack a convolution of a dtype on a device, the best one first.
    pub(in crate::ops::conv) fn all(
        g: &Geometry,
        x: &Layout,
        dtype: DType,
        ability: &Ability,
    ) -> Vec<Self> {
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
            .filter_map(|&tile| Self::new(g, x, dtype, (tile, 1), ability))
            .collect();
        // Of few tiles small ones are better, and where large ones would be emptier by more than a quarter: on an H200 320 filters of
        // 2 × 320 × 64 × 64 take 104 µs by large ones, 129 by small ones.
        let full = |tile: Tile| tile.count(filters, 1)[0] * u64::from(tile.rows);
        let large = |tile: Tile| {
            tile.fills(filters, positions, groups, ability)
                && full(tile) * 4 <= full(Tile::COOPERATIVE_64) * 5
        };
        if all.first().is_some_and(|packing| !large(packing.tile)) {
            all.reverse();
        }
        let shared = all.first().and_then(|first| {
            let shares = first.paying_shares(g, ability)?;
            Self::new(g, x, dtype, (first.tile, shares), ability)
        });
        shared.into_iter().chain(all).collect()
    }

    fn new(
        g: &Geometry,
        x: &Layout,
        dtype: DType,
        (tile, shares): (Tile, u32),
        ability: &Ability,
    ) -> Option<Self> {
        let g = &in_shares(g, shares);
        let [plain, folded] = [false, true].map(|fold| Packed::new(g, tile, fold).map(|p| p.steps));
        let fold = folded.is_some_and(|folded| plain.is_none_or(|plain| folded < plain));
        let packing = Self {
            tile,
            fold,
            vec4: tile.kind == TileKind::Cooperative && g.plane().is_multiple_of(4),
            // Taps that count as channels are not side by side.
            channels: match Channels::of(g, x) {
                Channels::Vectors if fold => Channels::Neighbours,
                channels => channels,
            },
            shares,
        };
        packing.fits(g, dtype, ability).then_some(packing)
    }

    /// How many workgroups share each tile where tiles are too few to keep a device busy: a power of two, each with whole blocks
    /// of channels. On an H200 one image of 512 channels of 14 × 14 takes 87 µs in 8 shares instead of 188 for f32, and 40 instead
    /// of 60 for f16.
    fn paying_shares(self, g: &Geometry, ability: &Ability) -> Option<u32> {
        /// Products of each output that are worth a sum more.
        const LEAST_DEPTH: u64 = 512;
        // Adding takes 7 µs there, which is what 128 channels of f16 take less.
        let least_shares = match self.tile.kind {
            TileKind::Split => 2,
            _ => 4,
        };
        let block = u64::from(self.tile.depth);
        let shares = most_shares(g, self.tile, [block, LEAST_DEPTH], ability.busy_groups / 4)?;
        let pays = g.depth() as u64 >= least_shares * LEAST_DEPTH;
        pays.then_some(shares)
    }

    /// As tuning calls it: the tile, or a side of it and how many share it.
    pub(in crate::ops::conv) const fn name(self) -> WayName {
        let Tile { rows, cols, .. } = self.tile;
        match self.shares {
            1 => self.tile.name("packed"),
            shares => WayName::new("packed shares", [rows, cols, shares]),
        }
    }

    /// The convolution that kernels see.
    pub(super) fn seen(self, g: &Geometry) -> Geometry {
        in_shares(g, self.shares)
    }

    /// Whether a device can run it; of the convolution that kernels see.
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
        let sums = match self.shares {
            1 => 0,
            // Shares are groups here.
            _ => sums(g, 1),
        };
        let [_, most_lanes] = FLAG_LANES;
        tiles.all(|tile| tile.is_none_or(can))
            && sums.saturating_mul(4) <= ability.binding_bytes
            && FLAGGED * most_lanes <= ability.invocations
            && found <= ability.loop_budget
            && packed.lengths(g, dtype, self).is_some_and(bound)
    }

    /// Whether it takes less time than tiles that gather, or that read a kernel of one element's planes as they lie (`pointwise`), and
    /// whose channels may be `shared`.
    pub(in crate::ops::conv) fn pays(
        self,
        g: &Geometry,
        dtype: DType,
        (pointwise, shared): (bool, bool),
    ) -> bool {
        const FILTERS: u64 = 24;
        // Products of each output from which on tiles that are mostly empty pay, which those that gather are too.
        const DEEP: u64 = 2048;
        let g = &self.seen(g);
        let Some(packed) = Packed::new(g, self.tile, self.fold) else {
            return false;
        };
        let [filters, depth, positions, groups, channels] = [
            g.filters,
            g.depth(),
            g.batch.saturating_mul(g.plane()),
            g.groups,
            g.channels,
        ]
        .map(|n| n as u64);
        // Multiplications that take as long as packing; and times as many as without what fills blocks and tiles.
        let (least, most) = match dtype {
            DType::F16 if g.taps() > 1 && depth >= 128 => (1 << 21, 5),
            DType::F16 => (1 << 25, 5),
            DType::BF16 => (1 << 27, 4),
            _ => (1 << 28, 2),
        };
        let least = match shared {
            true => 2 * least,
            // Few channels that nobody can share, of large kernels: 768 filters of 3 × 16 × 16 take 43 µs of bf16 instead of 70 on an H200.
            false if depth >= 512 => least / 4,
            false => least,
        };
        let side = u64::from(self.tile.rows);
        let few = match dtype {
            DType::F16 => 16,
            _ => FILTERS,
        };
        let rows = match dtype {
            DType::F16 if (few..FILTERS).contains(&filters) => side,
            DType::F16 | DType::BF16 if depth >= DEEP => filters.max(side),
            _ => filters,
        };
        let filled = rows.next_multiple_of(side).saturating_mul(packed.steps);
        let filled = filled.saturating_mul(u64::from(self.tile.depth));
        let work = rows.saturating_mul(depth);
        let all = work.saturating_mul(positions).saturating_mul(groups);
        // Planes as they lie have no passes over images before them, which many products of each element make up for: on an H200 of f32
        // 1,024 channels of 32 × 14 × 14 and 256 filters take 102 µs instead of 140; of bf16 8 images 44 instead of 56, and 64 channels
        // of 8 × 56 × 56 and 256 filters 55 instead of 36.
        let long = match dtype {
            DType::F32 => channels >= 1024 && all >= 1 << 30,
            DType::BF16 => channels >= 512 || channels >= 64 && all >= 1 << 30,
            _ => channels >= 32 && filters >= FILTERS,
        };
        rows >= few
            && (long || !pointwise)
            && positions.saturating_mul(4) >= side
            && filled <= work.saturating_mul(most)
            && all >= least
    }

    /// Lines that filters of a group are packed in.
    pub(super) const fn lines(self, filters: u64) -> u64 {
        match self.tile.kind {
            TileKind::Split => filters.next_multiple_of(16),
            _ => filters,
        }
    }

    /// Invocations that pack a pixel.
    pub(super) fn lanes(self) -> u64 {
        if self.channels.are_neighbours() {
            u64::from(self.tile.depth / 8)
        } else {
            1
        }
    }
}
