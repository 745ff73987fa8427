//! Products of blocks with tens and hundreds of rows of an input on matrix units that multiply f16: blocks are decoded on their way into
//! workgroup memory, once for each 64 rows.
//!
//! Numbers and elements of f32 are two f16 each; of inputs of two bytes with many rows numbers are one, as if a tensor had them.
//!
//! Three dispatches: one packs the input, with a power of two for each row; one leaves the sums of
//! every share of the inner extent; one adds them, or computes blocks of outputs once more where f16 has no room for an element that
//! matters, which is known on the device alone.

use ziggurat_core::{BlockFormat, DType, Shape};
use ziggurat_pipeline::Grid;

use super::kernel::{self, Halves};
use super::plan::Input;
use super::tile::{GROUP, Tile, runs};
use super::{BlockParams, BlockShape, LinearForm};
use crate::limits::ability::{Ability, MATRIX_UNITS};
use crate::limits::budget::nested;
use crate::num::{saturated, wrap};
use crate::ops::tile::Tile as MatrixTile;
use crate::run::error::KernelError;
use crate::run::plan::{Bound, Planner};
use crate::source::choice::KernelChoice;
use crate::tune::WayName;

/// Rows of blocks of a workgroup.
const COLUMNS: u64 = 64;
/// Rows of an input that are packed, and flagged, together.
const BLOCK: u64 = 16;
/// The most rows of an input that a workgroup has.
pub(super) const MOST_LINES: u32 = 64;
/// The inner extent from which on bounds of sums have room for what two f16 leave of an element.
const LEAST_DEPTH: usize = 256;
/// The most workgroups that share an inner extent.
const MOST_SHARES: u64 = 8;
/// Elements of a weight from which on it pays to pack an input.
const LEAST_ELEMENTS: usize = 1 << 23;
/// Invocations of a workgroup that packs a row.
const PACKED_GROUP: u32 = 256;

/// A product on matrix units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cooperative {
    /// Rows of the input of a workgroup: a multiple of [`BLOCK`].
    pub(super) lines: u32,
    /// Workgroups that share the inner extent.
    pub(super) shares: u64,
    /// What elements and numbers become.
    pub(super) halves: Halves,
    /// How what is flagged is computed.
    pub(super) flagged: Tile,
}

impl Cooperative {
    /// The product, if a device can compute it so.
    pub(super) fn new(m: u64, x: DType, weight: &BlockShape, ability: &Ability) -> Option<Self> {
        if !MATRIX_UNITS {
            return None;
        }
        let units = weight.units();
        let lines = m.next_multiple_of(BLOCK).clamp(BLOCK, MOST_LINES.into());
        let flagged = Tile::of(MOST_LINES.into(), weight, LinearForm::default(), 0);
        let along = (weight.rows as u64).div_ceil(COLUMNS);
        let whole = |shares: &u64| units.is_multiple_of(2 * shares);
        let shares = shares(along.saturating_mul(m.div_ceil(lines)), lines, ability);
        let shares = std::iter::successors(Some(shares), |shares| Some(shares / 2));
        let shares = shares.take_while(|&shares| shares > 0).find(whole)?;
        let all = Self {
            lines: saturated(lines),
            shares,
            halves: Halves::of(m, x),
            flagged,
        };
        let steps = units / shares / 2;
        let each = nested(&[u64::from(runs(weight.format)), 2]);
        let iterations = nested(&[steps, each]);
        let fits = MatrixTile::SPLIT.fits(ability)
            && ability.subgroup_barriers
            && ability.workgroup_bytes
                >= flagged.workgroup_bytes(weight.format, LinearForm::default())
            && iterations.max(all.flagged_iterations(weight)) <= ability.loop_budget
            && all.sums(m, along).saturating_mul(4) <= ability.binding_bytes
            && packed_halves(m, weight).saturating_mul(2) <= ability.binding_bytes;
        (fits && weight.cols >= LEAST_DEPTH && all.covers()).then_some(all)
    }

    /// Whether tiles of what is flagged fill a block's columns.
    fn covers(self) -> bool {
        let columns = self.flagged.rows * (GROUP / self.flagged.lanes);
        u64::from(columns) <= COLUMNS && BLOCK.is_multiple_of(u64::from(self.flagged.lines))
    }

    fn flagged_iterations(self, weight: &BlockShape) -> u64 {
        let tiles = BLOCK / u64::from(self.flagged.lines)
            * (COLUMNS * u64::from(self.flagged.lanes) / u64::from(self.flagged.rows * GROUP));
        nested(&[tiles.max(1), super::plan::iterations(weight, self.flagged)])
    }

    /// Rows of sums that a workgroup leaves, for all rows of the input.
    fn bands(self, m: u64) -> u64 {
        m.div_ceil(u64::from(self.lines))
    }

    /// Elements of the sums of all shares.
    fn sums(self, m: u64, along: u64) -> u64 {
        let rows = self.bands(m) * u64::from(self.lines);
        rows.saturating_mul(self.shares)
            .saturating_mul(along * COLUMNS)
    }

    /// Whether it takes less time than other ways, by an H200: in f32 than decoding first up to 768 rows.
    pub(super) fn pays(m: u64, x: DType, weight: &BlockShape) -> bool {
        let most = if x == DType::F32 { 768 } else { 64 };
        (9..=most).contains(&m) && weight.rows.saturating_mul(weight.cols) >= LEAST_ELEMENTS
    }

    /// As tuning calls it.
    pub(super) fn name(self) -> WayName {
        WayName::new("cooperative", [self.lines, saturated(self.shares), 0])
    }

    /// Its kernels, in their order.
    pub(super) fn kernels(self, format: BlockFormat, [x, out]: [DType; 2]) -> [KernelChoice; 3] {
        [
            kernel::packed_rows(x),
            kernel::cooperative(format, self.halves, self.lines),
            kernel::settled(format, [x, out], (self.flagged, self.halves), self.lines),
        ]
    }

    /// Adds the dispatches.
    pub(super) fn steps(
        self,
        plan: &mut Planner<'_>,
        (input, weight): (Input, &BlockShape),
        [x, out_dtype]: [DType; 2],
    ) -> Result<(), KernelError> {
        let (left, blocks) = (plan.first()?, plan.needed(0)?);
        let m = input.m;
        let along = (weight.rows as u64).div_ceil(COLUMNS);
        let blocks_of_x = m.div_ceil(BLOCK);
        let [k, padded] = [weight.cols as u64, blocks_of_x * BLOCK];
        let op = plan.op;
        let mut scratch = |len, dtype| plan.scratch(shape(op, len)?, dtype);
        let lines = scratch(packed_halves(m, weight), DType::F16)?;
        let scales = scratch(2 * padded, DType::U32)?;
        let sums: Bound = scratch(self.sums(m, along), DType::F32)?;
        let of_weight = scratch(self.shares * along * 4, DType::U32)?;
        let out = plan.out()?;
        let params = BlockParams {
            m: saturated(m),
            x_offset: left.offset,
            x_row: wrap(input.row),
            out_offset: out.offset,
            along: saturated(along),
            share: saturated(weight.units() / self.shares),
            ..super::plan::params(weight, blocks)
        };
        let grid = |groups: u64, invocations: u32| {
            Grid::elements(groups.saturating_mul(u64::from(invocations)), 1)
        };
        let [packed_rows, cooperative, settled] = self.kernels(weight.format, [x, out_dtype]);
        let steps = BlockParams {
            units: saturated(k / 16),
            ..params
        };
        let bindings = [left, lines, scales];
        plan.step(packed_rows, bindings, &steps, grid(padded, PACKED_GROUP));
        let groups = along * self.shares * self.bands(m);
        let bindings = [lines.read(), blocks, sums, of_weight];
        plan.step(cooperative, bindings, &params, grid(groups, GROUP));
        let groups = along * blocks_of_x;
        let read = [scales, sums, of_weight].map(Bound::read);
        let bindings = [left, blocks, out].into_iter().chain(read);
        plan.last(settled, bindings, &params, grid(groups, GROUP));
        Ok(())
    }
}

/// The f16 that an input becomes: two for each element.
fn packed_halves(m: u64, weight: &BlockShape) -> u64 {
    m.next_multiple_of(BLOCK)
        .saturating_mul(2 * weight.cols as u64)
}

/// How many workgroups share an inner extent, at most: a power of two; `groups` there are without. On an H200 512 workgroups or more of up
/// to 32 rows are the fastest, 256 of more, which have more to do; and two shares make waves more even.
fn shares(groups: u64, lines: u64, ability: &Ability) -> u64 {
    let busy = ability.busy_groups * 5 / 8;
    let enough = if lines > 32 { busy / 3 } else { busy };
    let shares = enough.div_ceil(groups.max(1)).next_power_of_two();
    let least = if groups >= 2 * busy { 1 } else { 2 };
    shares.clamp(least, MOST_SHARES)
}

fn shape(op: &'static str, len: u64) -> Result<Shape, KernelError> {
    Shape::new([usize::try_from(len).unwrap_or(usize::MAX)]).map_err(KernelError::shape(op))
}
