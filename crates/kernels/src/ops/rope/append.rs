//! Rotary embedding of a step of a decoder: queries rotated, rotated keys and values written to their caches, by one kernel where
//! [`Executor::rope`] and two writes take three.
//!
//! Invariant: results are those of the three, in every bit.

use ziggurat_core::DType;
use ziggurat_pipeline::Grid;

use super::{check_tables, count};
use crate::num::wrap;
use crate::run::checks::check_dtype;
use crate::run::completion::Completion;
use crate::run::ends::Ends;
use crate::run::error::{CannotFuse, KernelError};
use crate::run::executor::Executor;
use crate::run::plan::Planner;
use crate::run::view::View;
use crate::source::candidate::Candidate;
use crate::source::choice::KernelChoice;
use crate::source::params::{Params, params};
use crate::source::prelude;

const OP: &str = "rope_append";
/// Buffers that the kernel binds.
const BUFFERS: usize = 7;

params! {
    /// Parameters of the rotary embedding whose keys and values go to caches.
    pub(crate) struct AppendParams {
        vectors: u32,
        width: u32,
        heads: u32,
        key_heads: u32,
        rotary: u32,
        table_rows: u32,
        capacity: u32,
        offset: u32,
        slot_step: u32,
        head_step: u32,
        out_offset: u32,
        keys_offset: u32,
        values_offset: u32,
        cos_offset: u32,
        sin_offset: u32,
        positions_offset: u32,
    }
}

/// What [`Executor::rope_append`] reads.
#[derive(Clone, Copy, Debug)]
pub struct RopeAppend<'a> {
    /// `[slots, heads + 2 · key heads, D]`: of each slot the queries, the keys and the values of one position.
    pub joined: &'a View,
    /// Cosines, f32 `[rows, rotary / 2]`, and sines of the same shape.
    pub tables: [&'a View; 2],
    /// The position in each slot, i32 `[slots]`.
    pub positions: &'a View,
    /// Pairs are neighbours; else they are the halves of what is rotated.
    pub interleaved: bool,
}

/// What [`Executor::rope_append`] writes.
#[derive(Clone, Copy, Debug)]
pub struct RopeAppended<'a> {
    /// Rotated queries, `[slots, heads, 1, D]`, in the dtype of the caches.
    pub queries: &'a View,
    /// The cache of keys, `[slots, key heads, capacity, D]`, of which one position in each slot is written.
    pub keys: &'a View,
    /// That of values, of the same shape.
    pub values: &'a View,
}

fn choice([given, kept]: [DType; 2], interleaved: bool) -> KernelChoice {
    KernelChoice::new(OP)
        .name(given.name())
        .name(kept.name())
        .parts(&[prelude::FLOAT, "rope/append_params.wgsl"])
        .load(given)
        .store(kept)
        .parts(&["index/position.wgsl", "rope/append.wgsl"])
        .constant("INTERLEAVED", u8::from(interleaved))
        // Rows that are rotated have heads of keys and elements.
        .without_division_checks()
}

/// Whether rows of one dtype are kept in another: in their own, or those of f32 in fewer bits.
fn keeps([given, kept]: [DType; 2]) -> bool {
    given.is_float() && (given == kept || given == DType::F32 && kept.is_float())
}

/// Every float dtype, as it is kept.
pub(crate) fn variants() -> impl Iterator<Item = Candidate> {
    let pairs = DType::ALL
        .into_iter()
        .flat_map(|given| DType::ALL.map(|kept| [given, kept]));
    let pairs = pairs.filter(|pair| keeps(*pair));
    pairs.map(|pair| Candidate::new(choice(pair, false), AppendParams::FIELDS))
}

impl Executor {
    /// Whether [`Executor::rope_append`] takes these: if heads, and the halves of what is rotated in them, are whole vectors of four
    /// elements, caches are dense and of the rows' dtype (or rows are of f32), and the device binds all of them in one kernel.
    #[must_use]
    pub fn rope_append_is_one_kernel(&self, a: &RopeAppend<'_>, to: &RopeAppended<'_>) -> bool {
        let (joined, layout) = (a.joined, &a.joined.layout);
        let pairs = a.tables[0].dims().last().copied().unwrap_or(0);
        let whole = if a.interleaved { 2 } else { 4 };
        let in_vectors = layout.offset().is_multiple_of(4)
            && matches!(*layout.strides(), [slot, head, 1] if slot % 4 == 0 && head % 4 == 0)
            && joined
                .dims()
                .last()
                .is_some_and(|len| len.is_multiple_of(4))
            && pairs.is_multiple_of(whole);
        let views = [joined, a.tables[0], a.tables[1], a.positions];
        let outs = [to.queries, to.keys, to.values];
        let kept = to.keys.dtype;
        let alike = keeps([joined.dtype, kept])
            && outs.iter().all(|out| out.dtype == kept && out.is_vec4());
        let buffers = self.device().caps().max_storage_buffers;
        in_vectors
            && alike
            && usize::try_from(buffers).unwrap_or(usize::MAX) >= BUFFERS
            && !self.exceeds_binding(&views)
            && !self.exceeds_binding(&outs)
    }

    /// Rotates queries and keys by the angles of their positions, as [`Executor::rope`] does, and writes keys and values to caches. A
    /// position out of the table's range takes its nearest row; one that is none of the cache's is taken for the nearest end, a
    /// negative one counts from the end first.
    ///
    /// # Errors
    /// [`KernelError::Dtype`], [`KernelError::Operand`] and [`KernelError::Output`] for views that are not as said, or share memory;
    /// [`KernelError::BindingTooLarge`]; [`KernelError::CannotFuse`] if this is not [one kernel](Executor::rope_append_is_one_kernel).
    pub fn rope_append(
        &self,
        a: &RopeAppend<'_>,
        to: &RopeAppended<'_>,
    ) -> Result<Completion, KernelError> {
        check(a, to)?;
        if to.queries.is_empty() {
            return Ok(self.completion());
        }
        let [cos, sin] = a.tables;
        let all = [
            a.joined,
            cos,
            sin,
            a.positions,
            to.queries,
            to.keys,
            to.values,
        ];
        if let Some(view) = all.into_iter().find(|view| self.exceeds_binding(&[view])) {
            return Err(KernelError::BindingTooLarge {
                op: OP,
                bytes: view.buffer.bytes(),
                limit: self.device().caps().max_binding_bytes,
            });
        }
        if !self.rope_append_is_one_kernel(a, to) {
            return Err(CannotFuse::Heads.into());
        }
        let ends = Ends {
            others: [
                Some(a.tables[0]),
                Some(a.tables[1]),
                Some(a.positions),
                Some(to.values),
                None,
            ],
            also: Some(to.keys),
            ..Ends::plain(a.joined, to.queries)
        };
        self.run_planned(OP, &ends, |p| steps(p, a, to))?;
        Ok(self.completion())
    }
}

fn steps(
    p: &mut Planner<'_>,
    a: &RopeAppend<'_>,
    to: &RopeAppended<'_>,
) -> Result<(), KernelError> {
    let (joined, queries) = (p.first()?, p.raw_out()?);
    let keys = p
        .raw_also()?
        .ok_or(KernelError::internal(OP, "keys are missing"))?;
    let [cos, sin, positions] = [p.needed(0)?, p.needed(1)?, p.needed(2)?];
    let values = p.needed(3)?.written();
    let extent = |view: &View, axis: usize| view.dims().get(axis).copied().unwrap_or(0);
    let step = |axis: usize| a.joined.layout.strides().get(axis).copied().unwrap_or(0);
    let pairs = extent(a.tables[0], 1);
    let params = AppendParams {
        vectors: count(a.joined.len() / 4),
        width: count(extent(a.joined, 2) / 4),
        heads: count(extent(to.queries, 1)),
        key_heads: count(extent(to.keys, 1)),
        rotary: count(2 * pairs),
        table_rows: count(extent(a.tables[0], 0)),
        capacity: count(extent(to.keys, 2)),
        offset: joined.offset,
        slot_step: wrap(step(0)),
        head_step: wrap(step(1)),
        out_offset: queries.offset,
        keys_offset: keys.offset,
        values_offset: values.offset,
        cos_offset: cos.offset,
        sin_offset: sin.offset,
        positions_offset: positions.offset,
    };
    let grid = Grid::elements(u64::from(params.vectors), 1);
    let choice = choice([a.joined.dtype, to.keys.dtype], a.interleaved);
    let bindings = [joined, queries, keys, values, cos, sin, positions];
    p.last(choice, bindings, &params, grid);
    Ok(())
}

fn check(a: &RopeAppend<'_>, to: &RopeAppended<'_>) -> Result<(), KernelError> {
    let wrong =
        |operand, rule, view: &View| Err(KernelError::operand(OP, operand, rule, *view.shape()));
    let (&[slots, all, len], &[of_slots, heads, 1, of_len]) = (a.joined.dims(), to.queries.dims())
    else {
        let rule = "must have rank 3, and the queries rank 4 with one position";
        return wrong("a", rule, a.joined);
    };
    let dtype = a.joined.dtype;
    check_dtype(OP, "a", dtype, dtype.is_float(), "it must be a float")?;
    let [cos, sin] = a.tables;
    check_tables(OP, cos, sin)?;
    let &[rows, pairs] = cos.dims() else {
        return wrong("cos", "must have rank 2", cos);
    };
    if rows == 0 || pairs == 0 || pairs.saturating_mul(2) > len {
        let rule = "must have a row, and a column for each pair of a head";
        return wrong("cos", rule, cos);
    }
    let is_index = a.positions.dtype == DType::I32;
    check_dtype(OP, "positions", a.positions.dtype, is_index, "they are i32")?;
    if a.positions.dims() != [slots] || !a.positions.layout.is_contiguous() {
        return wrong(
            "positions",
            "must be one for each slot, contiguous",
            a.positions,
        );
    }
    let &[in_slots, key_heads, capacity, width] = to.keys.dims() else {
        return wrong("keys", "must have rank 4", to.keys);
    };
    let fits = [of_slots, in_slots] == [slots; 2]
        && [of_len, width] == [len; 2]
        && heads.saturating_add(key_heads.saturating_mul(2)) == all
        && [heads, key_heads].iter().all(|&heads| heads > 0);
    if !fits {
        let rule = "must have a head of each query, each key and each value";
        return wrong("a", rule, a.joined);
    }
    if capacity == 0 {
        return wrong("keys", "must have room for a position", to.keys);
    }
    if to.values.dims() != to.keys.dims() {
        return wrong("values", "must have the shape of the keys", to.values);
    }
    for (name, view) in [
        ("out", to.queries),
        ("keys", to.keys),
        ("values", to.values),
    ] {
        let rule = "all outputs must have one dtype: that of a, or any float if a is f32";
        let fits = view.dtype == to.keys.dtype && keeps([dtype, view.dtype]);
        check_dtype(OP, name, view.dtype, fits, rule)?;
        view.check()?;
    }
    let read = [a.joined, cos, sin, a.positions];
    read.iter().try_for_each(|view| view.check())?;
    let outs = [to.queries, to.keys, to.values];
    let shares = |at: usize, out: &View| {
        let others = read.iter().chain(outs.iter().skip(at + 1));
        others
            .into_iter()
            .any(|view| view.buffer.same_memory(&out.buffer))
    };
    match outs.iter().enumerate().find(|(at, out)| shares(*at, out)) {
        Some((_, out)) => wrong(
            "out",
            "must not be memory that is read, or another output's",
            out,
        ),
        None => Ok(()),
    }
}
