//! The plan of attention: one dispatch, or for a block of rows at a time the dispatch that leaves what workgroups have of
//! them and the one that merges it.
//!
//! bf16 and f32 on matrix units that multiply f16 take two more: one finds the range of exponents of each head, and the heads that f16
//! does not hold are left to the kernel of tiles. Invariant: each result is written by exactly one of the two.

use ziggurat_core::{DType, Layout};
use ziggurat_pipeline::Grid;

use super::choice::{
    Heads, Hiding, Kinds, Leaves, MERGE_WG, RANGES, RANGES_WG, kernel, merge, ranges,
};
use super::form::{Form, Problem, Splits, row_bytes, splits};
use super::params::AttentionParams;
use super::parts::cut;
use super::rules::ways;
use super::{
    AttentionOperands, AttentionOptions, Extents, FURTHEST, OP, check, operands, seen_mask,
};
use crate::limits::ability::Ability;
use crate::num::{saturated, wrap};
use crate::run::error::KernelError;
use crate::run::plan::{Bound, Planned, Planner};
use crate::run::view::View;
use crate::source::choice::KernelChoice;

/// Bits of the parameter `flags`, as in `attention/sight.wgsl`.
const CAUSAL: u32 = 1;
const LEFT: u32 = 2;
const RIGHT: u32 = 4;
const ZERO: u32 = 8;

/// Bytes of state between two dispatches that are not worth more blocks of rows.
const STATE_BYTES: u64 = 256 << 20;

/// Plans [`Call::Attention`](crate::Call::Attention).
pub(crate) fn plan(
    p: &mut Planner<'_>,
    options: &AttentionOptions,
) -> Result<Planned, KernelError> {
    let (given, out) = (operands(p.ends)?, p.ends.out);
    let extents = check(&given, out)?;
    if options.shift.unsigned_abs() > FURTHEST {
        return Err(KernelError::Option {
            op: OP,
            option: "the shift",
            rule: "must be from -2^30 to 2^30",
            got: options.shift.into(),
        });
    }
    if out.is_empty() {
        return Ok(Planned::Nothing);
    }
    let sight = given.mask.map(|mask| seen_mask(mask, &extents));
    let sight = sight.transpose()?;
    let mask = given
        .mask
        .zip(sight)
        .map(|(mask, sight)| mask.with_layout(sight));
    let mask = mask.transpose()?;
    let seen = AttentionOperands {
        mask: mask.as_ref(),
        ..given
    };
    if cut(p.exec, &seen, &extents, out).is_some() {
        return Ok(Planned::Parts);
    }
    steps(p, options, &seen, &extents)?;
    Ok(Planned::Steps)
}

fn steps(
    p: &mut Planner<'_>,
    options: &AttentionOptions,
    given: &AttentionOperands<'_>,
    extents: &Extents,
) -> Result<(), KernelError> {
    let AttentionOperands { q, k, v, .. } = *given;
    let none = || KernelError::Internal {
        op: OP,
        what: "keys or values that a plan does not bind",
    };
    let read_q = p.first()?;
    let (read_k, read_v) = (p.other(0)?.ok_or_else(none)?, p.other(1)?.ok_or_else(none)?);
    let mask = given.mask.filter(|mask| !mask.is_empty());
    let read_mask = if mask.is_some() { p.other(2)? } else { None };
    let read_lengths = p.other(3)?;
    let read_factors = p.other(4)?;
    let offset = |bound: Option<Bound>| bound.map_or(0, |bound| bound.offset);
    let [batch, heads, queries, head_dim] = extents.q;
    let group = heads / extents.kv_heads.max(1);
    let read = [(q, read_q), (k, read_k), (v, read_v)];
    let vec4 = read
        .iter()
        .all(|(view, bound)| aligned(&view.layout, bound.offset, 4));
    let whole_octs = |view: &View, bound: Bound| match view.dtype {
        // Eight of them are two loads.
        DType::F32 => view.dims().last().is_some_and(|n| n.is_multiple_of(8)),
        _ => aligned(&view.layout, bound.offset, 8),
    };
    let octs = vec4 && read.iter().all(|&(view, bound)| whole_octs(view, bound));
    let kinds = Kinds {
        dtype: q.dtype,
        bytes: given.factors.is_some(),
    };
    let problem = Problem {
        heads: (batch as u64).saturating_mul(extents.kv_heads as u64),
        rows: (group as u64).saturating_mul(queries as u64),
        keys: extents.keys as u64,
        head_dim: head_dim as u64,
        value_dim: extents.value_dim as u64,
        vec4,
        octs,
        pieces: kinds.pieces(),
        scaled: kinds.dtype != DType::F16,
    };
    let ability = p.exec.ability();
    let class = || {
        let mask = given.mask.map_or(0, |mask| 1 + mask.dtype as u64);
        let hides = [
            options.causal,
            read_lengths.is_some(),
            options.softcap > 0.0,
        ];
        let windows = [options.left_window, options.right_window];
        let windows = windows.map(|window| window.map_or(0, |extent| 1 + u64::from(extent)));
        let dtypes = [q.dtype as u64, k.dtype as u64, mask];
        let more = [&dtypes, &hides.map(u64::from)[..], &windows].concat();
        problem.class(&more)
    };
    let all = |ability: &Ability| ways(&problem, ability);
    let form = p.way(class, |ability| all(ability).default, all);
    let room = p.exec.device().caps().max_binding_bytes.min(STATE_BYTES);
    let splits = splits(form, &problem, &ability, room);
    let write = p.out()?;
    let params = AttentionParams {
        heads: count(heads),
        kv_heads: count(extents.kv_heads),
        queries: count(queries),
        keys: count(extents.keys),
        head_dim: count(head_dim),
        value_dim: count(extents.value_dim),
        column_tiles: saturated(form.column_tiles(&problem)),
        splits: saturated(splits.count),
        span: saturated(splits.span),
        batches: count(batch),
        flags: flags(options),
        left: window(options.left_window),
        right: window(options.right_window),
        shift: options.shift,
        scale: options.scale,
        softcap: options.softcap,
        q_offset: read_q.offset,
        k_offset: read_k.offset,
        v_offset: read_v.offset,
        out_offset: write.offset,
        mask_offset: offset(read_mask),
        lengths_offset: offset(read_lengths),
        q_strides: four(&q.layout),
        k_strides: four(&k.layout),
        v_strides: four(&v.layout),
        mask_strides: mask.map_or([0; 4], |mask| four(&mask.layout)),
        factors_offset: offset(read_factors),
        factors_strides: given.factors.map_or([0; 4], |all| four(&all.layout)),
        ..AttentionParams::default()
    };
    let hiding = Hiding {
        mask: read_mask.and(mask).map(|mask| mask.dtype),
        lengths: read_lengths.is_some(),
        capped: options.softcap > 0.0,
    };
    let passes = match form {
        Form::Matrix(_) if kinds.dtype != DType::F16 => [
            Some((form, Heads::Fitting)),
            Some((form.of_flagged(&problem, &ability), Heads::Flagged)),
        ],
        _ => [Some((form, Heads::Every)), None],
    };
    let job = Job {
        kinds,
        passes,
        problem,
        splits,
        hiding,
        params,
    };
    let found = match passes {
        [_, None] => None,
        _ => Some(p.partials(DType::U32, problem.heads, saturated(RANGES))?),
    };
    let bindings = |to: Bound| {
        [Some(read_q), Some(to), Some(read_k), Some(read_v)]
            .into_iter()
            .chain([
                read_mask,
                read_lengths,
                read_factors,
                found.map(Bound::read),
            ])
            .flatten()
    };
    if let Some(found) = found {
        let kernel = ranges(q.dtype, hiding.lengths);
        let read = [
            Some(read_q),
            Some(found),
            Some(read_k),
            Some(read_v),
            read_lengths,
        ];
        let groups = problem.heads.saturating_mul(RANGES);
        let grid = Grid::elements(groups.saturating_mul(u64::from(RANGES_WG)), 1);
        p.step(kernel, read.into_iter().flatten(), &params, grid);
    }
    if splits.count == 1 {
        for (form, heads) in job.passes() {
            let params = job.rows(form, 0, problem.rows);
            let kernel = job.kernel(form, heads, Leaves::result(vec4));
            p.last(kernel, bindings(write), &params, job.grid(form, &params));
        }
        return Ok(());
    }
    job.split(p, room, bindings, write)
}

/// What all dispatches of a call have in common.
struct Job {
    kinds: Kinds,
    /// The kernels that share the heads, the first of which decides about blocks of rows.
    passes: [Option<(Form, Heads)>; 2],
    problem: Problem,
    splits: Splits,
    hiding: Hiding,
    params: AttentionParams,
}

impl Job {
    fn passes(&self) -> impl Iterator<Item = (Form, Heads)> {
        self.passes.into_iter().flatten()
    }

    fn kernel(&self, form: Form, heads: Heads, leaves: Leaves) -> KernelChoice {
        let hiding = (self.hiding, heads);
        kernel(self.kinds, form, self.problem.vec4, hiding, leaves)
    }

    /// Parameters for some of the rows of each key head.
    fn rows(&self, form: Form, first: u64, rows: u64) -> AttentionParams {
        AttentionParams {
            row0: saturated(first),
            row_tiles: saturated(rows.div_ceil(u64::from(form.rows()))),
            state_rows: saturated(rows),
            ..self.params
        }
    }

    fn grid(&self, form: Form, params: &AttentionParams) -> Grid {
        let groups = [params.row_tiles, params.column_tiles, params.splits]
            .map(u64::from)
            .into_iter()
            .fold(self.problem.heads, u64::saturating_mul);
        Grid::elements(groups.saturating_mul(u64::from(form.invocations())), 1)
    }

    /// Two dispatches for each block of rows whose state finds room.
    fn split<B: IntoIterator<Item = Bound>>(
        &self,
        p: &mut Planner<'_>,
        room: u64,
        bindings: impl Fn(Bound) -> B,
        write: Bound,
    ) -> Result<(), KernelError> {
        let rows_of = |(form, _): (Form, Heads)| u64::from(form.rows());
        let tile = self.passes().map(rows_of).next().unwrap_or(1);
        let (rows, value_dim) = (self.problem.rows, self.problem.value_dim);
        // Rows of all key heads and splits that are in one block of rows.
        let states = self.problem.heads.saturating_mul(self.splits.count);
        let most = room / states.saturating_mul(row_bytes(value_dim)).max(1);
        let block = (most / tile * tile).clamp(tile, rows.max(tile)).min(rows);
        let words = saturated(row_bytes(value_dim) / 4);
        let state = p.partials(DType::F32, states.saturating_mul(block), words)?;
        let vectors = value_dim.div_ceil(4);
        let lanes = vectors.next_power_of_two().min(64);
        let column_tiles = vectors.div_ceil(lanes);
        let many = rows.saturating_mul(self.problem.heads) >= p.exec.ability().busy_groups;
        // Up to four splits are on their way to an invocation at a time.
        let each = if many { 4 } else { 1 };
        let shares = self.splits.count.div_ceil(each).next_power_of_two();
        let shares = shares.min(u64::from(MERGE_WG) / lanes);
        let mut first = 0;
        while first < rows {
            let len = block.min(rows - first);
            for (form, heads) in self.passes() {
                let params = self.rows(form, first, len);
                let kernel = self.kernel(form, heads, Leaves::State);
                p.step(kernel, bindings(state), &params, self.grid(form, &params));
            }
            let merging = AttentionParams {
                row0: saturated(first),
                state_rows: saturated(len),
                column_tiles: saturated(column_tiles),
                ..self.params
            };
            let kernel = merge(
                self.kinds.dtype,
                [lanes, shares].map(saturated),
                Leaves::result(value_dim.is_multiple_of(4)),
            );
            let merged = len.saturating_mul(self.problem.heads);
            let groups = merged.div_ceil(u64::from(MERGE_WG) / (lanes * shares));
            let groups = groups.saturating_mul(column_tiles);
            let grid = Grid::elements(groups.saturating_mul(u64::from(MERGE_WG)), 1);
            p.last(kernel, [state.read(), write], &merging, grid);
            first += len;
        }
        Ok(())
    }
}

/// Whether groups of `n` neighbouring elements are whole loads: rows of such groups, each at a multiple of `n`.
fn aligned(layout: &Layout, offset: u32, n: usize) -> bool {
    let axes = layout.dims().iter().zip(layout.strides());
    let mut axes: Vec<_> = axes.collect();
    let Some((&len, &step)) = axes.pop() else {
        return false;
    };
    let whole = |stride: isize| stride.unsigned_abs().is_multiple_of(n);
    len.is_multiple_of(n)
        && (offset as usize).is_multiple_of(n)
        && step == 1
        && axes
            .iter()
            .all(|&(&dim, &stride)| dim <= 1 || whole(stride))
}

fn flags(options: &AttentionOptions) -> u32 {
    let bit = |on: bool, bit: u32| if on { bit } else { 0 };
    bit(options.causal, CAUSAL)
        | bit(options.left_window.is_some(), LEFT)
        | bit(options.right_window.is_some(), RIGHT)
        | bit(options.zero_masked_rows, ZERO)
}

/// Windows beyond what positions can differ by hide nothing.
fn window(extent: Option<u32>) -> i32 {
    i32::try_from(extent.unwrap_or(0)).unwrap_or(i32::MAX)
}

/// Counts are bounded by the views' 32-bit indices, which binding checks.
fn count(value: usize) -> u32 {
    saturated(value as u64)
}

/// The strides of a layout of rank 4.
fn four(layout: &Layout) -> [u32; 4] {
    let mut packed = [0; 4];
    for (slot, &stride) in packed.iter_mut().zip(layout.strides()) {
        *slot = wrap(stride);
    }
    packed
}
