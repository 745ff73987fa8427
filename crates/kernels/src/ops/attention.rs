//! Scaled dot-product attention in one kernel that never stores the scores.
//!
//! Keys are passed over in tiles with a running maximum and sum per row, in f32 for every float dtype. The query heads that
//! share a key head are rows of one matrix, so decoding one token with grouped heads still fills tiles. Invariants: a key
//! that may not be seen never touches the result, whatever its memory holds; a row is NaN if one of its scores is.

use ziggurat_core::{DType, Shape};
use ziggurat_pipeline::Grid;

use crate::limits::budget::{nested, parts};
use crate::num::{saturated, wrap};
use crate::run::completion::Completion;
use crate::run::error::KernelError;
use crate::run::executor::Executor;
use crate::run::view::View;
use crate::source::candidate::Candidate;
use crate::source::choice::KernelChoice;
use crate::source::params::{Params, params};
use crate::source::prelude;

mod parts;

const OP: &str = "attention";

/// Rows of the result, and keys, that a workgroup handles at a time; the kernel has this squared as its workgroup size.
const TILE: u64 = 16;
const WG: u32 = 256;
/// Columns of the result per workgroup.
const COLUMNS: u64 = 256;
/// Columns in one step of the kernel.
const STEP: u64 = 64;
/// Elements of heads that are in workgroup memory at a time.
const DEPTH: u64 = 32;
/// Words of what an invocation has of its row between two dispatches, as in `attention/state.wgsl`.
const ROW_WORDS: u32 = 20;

/// How far from the first key the first query may be.
const FURTHEST: u32 = 1 << 30;

/// Bits of the parameter `flags`.
const CAUSAL: u32 = 1;
const LEFT: u32 = 2;
const RIGHT: u32 = 4;
const ZERO: u32 = 8;

/// Which keys a query sees, and how scores are made.
///
/// Query `i` stands at position `i + shift`; with [`lengths`](AttentionOperands::lengths) the shift is the batch's length
/// less the number of queries.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AttentionOptions {
    /// Factor of the scores.
    pub scale: f32,
    /// Scores become `softcap · tanh(score / softcap)`; 0 leaves them.
    pub softcap: f32,
    /// Keys after the query's position are hidden.
    pub causal: bool,
    /// The position of the first query, from -2^30 to 2^30, so that differences of positions are within i32.
    pub shift: i32,
    /// Keys further than this before the position are hidden.
    pub left_window: Option<u32>,
    /// Keys further than this after the position are hidden.
    pub right_window: Option<u32>,
    /// Rows without a key that may be seen are 0, not NaN.
    pub zero_masked_rows: bool,
}

impl Default for AttentionOptions {
    fn default() -> Self {
        Self {
            scale: 1.0,
            softcap: 0.0,
            causal: false,
            shift: 0,
            left_window: None,
            right_window: None,
            zero_masked_rows: false,
        }
    }
}

/// What [`Executor::attention`] reads.
#[derive(Clone, Copy, Debug)]
pub struct AttentionOperands<'a> {
    /// `[batch, heads, queries, element]`.
    pub q: &'a View,
    /// `[batch, key heads, keys, element]`; the key heads divide the heads.
    pub k: &'a View,
    /// `[batch, key heads, keys, value element]`.
    pub v: &'a View,
    /// Bool (true: may be seen) or f32 (added; −inf hides), broadcast to `[batch, heads, queries, keys]`.
    pub mask: Option<&'a View>,
    /// i32, contiguous, `[batch]`: how many keys of each batch count.
    pub lengths: Option<&'a View>,
}

params! {
    /// Parameters of attention.
    pub(crate) struct AttentionParams {
        heads: u32,
        kv_heads: u32,
        queries: u32,
        keys: u32,
        head_dim: u32,
        value_dim: u32,
        row_tiles: u32,
        column_tiles: u32,
        batches: u32,
        flags: u32,
        left: i32,
        right: i32,
        shift: i32,
        scale: f32,
        softcap: f32,
        q_offset: u32,
        k_offset: u32,
        v_offset: u32,
        out_offset: u32,
        mask_offset: u32,
        lengths_offset: u32,
        first_key: u32,
        end_key: u32,
        reserved_2: u32,
        q_strides: [u32; 4],
        k_strides: [u32; 4],
        v_strides: [u32; 4],
        out_strides: [u32; 4],
        mask_strides: [u32; 4],
    }
}

/// How keys are hidden by memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Hiding {
    mask: Option<DType>,
    lengths: bool,
    capped: bool,
    /// Whether keys are passed over in several dispatches.
    cut: bool,
}

fn choice(dtype: DType, hiding: Hiding, steps: u32) -> KernelChoice {
    let (mask_name, mask) = match hiding.mask {
        None => ("no_mask", "attention/no_mask.wgsl"),
        Some(DType::Bool) => ("bool_mask", "attention/bool_mask.wgsl"),
        Some(_) => ("float_mask", "attention/float_mask.wgsl"),
    };
    let (lengths_name, lengths) = if hiding.lengths {
        ("some_keys", "attention/some_keys.wgsl")
    } else {
        ("all_keys", "attention/all_keys.wgsl")
    };
    let (cap_name, cap): (_, &[_]) = if hiding.capped {
        let parts = &[
            "functions/exp.wgsl",
            "elementwise/unary/tanh.wgsl",
            "attention/cap.wgsl",
        ];
        ("cap", parts)
    } else {
        ("no_cap", &["attention/no_cap.wgsl"])
    };
    let mut choice = KernelChoice::new(OP)
        .name(dtype.name())
        .name(mask_name)
        .name(lengths_name)
        .name(cap_name);
    if hiding.cut {
        choice = choice.name("some");
    }
    choice = choice.parts(&[
        prelude::FLOAT,
        prelude::load(dtype),
        prelude::store(dtype),
        prelude::cell(dtype),
    ]);
    if hiding.mask == Some(DType::Bool) {
        choice = choice.part(prelude::LOAD_COND);
    }
    choice
        .parts(&[
            "attention/params.wgsl",
            "softmax/exp.wgsl",
            "attention/weight.wgsl",
            mask,
            lengths,
            if hiding.cut {
                "attention/state.wgsl"
            } else {
                "attention/no_state.wgsl"
            },
        ])
        .parts(cap)
        .part("attention/body.wgsl")
        .constant("WG", WG)
        .constant("STEPS", steps)
        .without_zeroed_memory()
}

/// Every float dtype with every mask, with and without lengths and cap.
pub(crate) fn variants() -> Vec<Candidate> {
    let mut all = Vec::new();
    for dtype in DType::ALL.into_iter().filter(|dtype| dtype.is_float()) {
        for mask in [None, Some(DType::Bool), Some(DType::F32)] {
            for (lengths, capped) in [(false, false), (true, false), (false, true), (true, true)] {
                for cut in [false, true] {
                    let hiding = Hiding {
                        mask,
                        lengths,
                        capped,
                        cut,
                    };
                    let choice = choice(dtype, hiding, if capped { 4 } else { 1 });
                    all.push(Candidate::new(choice, AttentionParams::FIELDS));
                }
            }
        }
    }
    all
}

impl Executor {
    /// [`Executor::attention`] to keys and values from before and new ones behind them: joins `past` and those of `operands`
    /// in `present` `[batch, key heads, past + new, ..]`, keys first, and attends to that. A present that begins with the past
    /// in its own memory, as a cache does, is only appended to. Positions count from the first key of the past.
    ///
    /// # Errors
    /// Those of [`Executor::attention`] for the joined keys and values, and of [`Executor::copy`] for the parts.
    pub fn attention_with_past(
        &self,
        operands: &AttentionOperands<'_>,
        past: (&View, &View),
        present: (&View, &View),
        options: &AttentionOptions,
        out: &View,
    ) -> Result<Completion, KernelError> {
        let parts = [
            (past.0, operands.k, present.0),
            (past.1, operands.v, present.1),
        ];
        let joined = AttentionOperands {
            k: present.0,
            v: present.1,
            ..*operands
        };
        let _extents = check(&joined, out)?;
        let mut copies = Vec::new();
        for (old, new, all) in parts {
            let length = |view: &View| view.dims().get(2).copied().unwrap_or(0);
            let (before, added) = (length(old), length(new));
            if before + added != length(all) {
                return Err(KernelError::Operands {
                    op: OP,
                    rule: "the present must be as long as past and new ones together",
                    left: Box::new(*old.shape()),
                    right: Box::new(*all.shape()),
                });
            }
            let cut = |start, len| {
                let layout = all.layout.narrow(2, start, len);
                all.with_layout(layout.map_err(KernelError::shape(OP))?)
            };
            let front = cut(0, before)?;
            let there = old.layout == front.layout && old.buffer.same_memory(&all.buffer);
            copies.extend((!there).then_some((old, front)));
            copies.push((new, cut(before, added)?));
        }
        for (from, to) in &copies {
            let _copied = self.copy(from, to)?;
        }
        self.attention(&joined, options, out)
    }

    /// `softmax(cap(scale · q kᵀ) + mask) v` over the keys that a query may see, into `out`
    /// `[batch, heads, queries, value element]`, which may have any strides that do not overlap.
    ///
    /// # Errors
    /// [`KernelError::Dtype`], [`KernelError::Operand`], [`KernelError::Operands`], [`KernelError::Output`] and
    /// [`KernelError::Shape`] for operands that are not as [`AttentionOperands`] says; [`KernelError::Option`] for a shift
    /// beyond 2^30.
    pub fn attention(
        &self,
        operands: &AttentionOperands<'_>,
        options: &AttentionOptions,
        out: &View,
    ) -> Result<Completion, KernelError> {
        let extents = check(operands, out)?;
        if options.shift.unsigned_abs() > FURTHEST {
            return Err(KernelError::Option {
                op: OP,
                option: "the shift",
                rule: "must be from -2^30 to 2^30",
                got: options.shift.into(),
            });
        }
        if out.is_empty() {
            return Ok(self.completion());
        }
        let AttentionOperands { q, k, v, .. } = *operands;
        let [batch, heads, queries, head_dim] = extents.q;
        let mask = operands
            .mask
            .map(|mask| {
                let shape = Shape::new([batch, heads, queries, extents.keys]);
                let layout = shape.and_then(|shape| mask.layout.expand(shape));
                mask.with_layout(layout.map_err(KernelError::shape(OP))?)
            })
            .transpose()?;
        let seen = AttentionOperands {
            mask: mask.as_ref(),
            ..*operands
        };
        if self.attend_parts(&seen, &extents, options, out)? {
            return Ok(self.completion());
        }
        let mut inputs = vec![q, k, v];
        inputs.extend(&mask);
        inputs.extend(operands.lengths);
        let values = extents.value_dim as u64;
        let steps = values.min(COLUMNS).div_ceil(STEP).max(1);
        let rows = (heads / extents.kv_heads.max(1)) as u64 * queries as u64;
        let (row_tiles, column_tiles) = (rows.div_ceil(TILE), values.div_ceil(COLUMNS));
        let groups = [
            batch as u64,
            extents.kv_heads as u64,
            row_tiles,
            column_tiles,
        ]
        .into_iter()
        .fold(1u64, u64::saturating_mul);
        self.with_dense_out(OP, out, &inputs, |out| {
            let (read_q, read_k, read_v) = (
                self.bind_read(OP, q)?,
                self.bind_read(OP, k)?,
                self.bind_read(OP, v)?,
            );
            let write = self.bind_write(OP, out)?;
            let mut args = vec![read_q.arg, write.arg, read_k.arg, read_v.arg];
            let mut params = AttentionParams {
                heads: count(heads),
                kv_heads: count(extents.kv_heads),
                queries: count(queries),
                keys: count(extents.keys),
                head_dim: count(head_dim),
                value_dim: count(extents.value_dim),
                row_tiles: saturated(row_tiles),
                column_tiles: saturated(column_tiles),
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
                q_strides: four(q),
                k_strides: four(k),
                v_strides: four(v),
                out_strides: four(out),
                ..AttentionParams::default()
            };
            let mask = mask.as_ref().filter(|mask| !mask.is_empty());
            if let Some(mask) = mask {
                let bound = self.bind_read(OP, mask)?;
                params.mask_offset = bound.offset;
                params.mask_strides = four(mask);
                args.push(bound.arg);
            }
            if let Some(lengths) = operands.lengths {
                let bound = self.bind_read(OP, lengths)?;
                params.lengths_offset = bound.offset;
                args.push(bound.arg);
            }
            let parts = parts(
                [(extents.keys as u64).div_ceil(TILE)],
                self.most_turns(),
                |[tiles]| turns(tiles, head_dim as u64, steps),
            );
            let hiding = Hiding {
                mask: mask.map(|mask| mask.dtype),
                lengths: operands.lengths.is_some(),
                capped: options.softcap > 0.0,
                cut: parts.len() > 1,
            };
            let choice = choice(q.dtype, hiding, saturated(steps));
            let grid = Grid::elements(groups.saturating_mul(u64::from(WG)), 1);
            let rows = if hiding.cut {
                let invocations = groups.saturating_mul(u64::from(WG));
                Some(self.partials(DType::F32, invocations, ROW_WORDS)?)
            } else {
                None
            };
            if let Some(rows) = &rows {
                args.push(self.bind_write(OP, rows)?.arg);
            }
            for part in &parts {
                let [first, len] = [part.from[0] * TILE, part.len[0] * TILE];
                let params = AttentionParams {
                    first_key: saturated(first),
                    end_key: saturated((first + len).min(extents.keys as u64)),
                    ..params
                };
                self.launch(&choice, &args, &params, grid)?;
            }
            Ok(())
        })?;
        Ok(self.completion())
    }
}

/// Turns of the loops of an invocation for so many tiles of keys, as lavapipe counts them, whose compiler unrolls only loops
/// over the elements of a tile that compute no memory's addresses.
fn turns(tiles: u64, head_dim: u64, steps: u64) -> u64 {
    let scores = nested(&[head_dim.div_ceil(DEPTH)]);
    tiles.saturating_mul(scores + steps * (TILE + 2) + 3)
}

fn flags(options: &AttentionOptions) -> u32 {
    let bit = |on: bool, bit: u32| if on { bit } else { 0 };
    bit(options.causal, CAUSAL)
        | bit(options.left_window.is_some(), LEFT)
        | bit(options.right_window.is_some(), RIGHT)
        | bit(options.zero_masked_rows, ZERO)
}

/// Extents that fit each other.
#[derive(Clone, Copy, Debug)]
struct Extents {
    q: [usize; 4],
    kv_heads: usize,
    keys: usize,
    value_dim: usize,
}

fn check(operands: &AttentionOperands<'_>, out: &View) -> Result<Extents, KernelError> {
    let AttentionOperands { q, k, v, .. } = *operands;
    if !q.dtype.is_float() {
        return Err(dtype_error("q", "it must be a float", q));
    }
    for (operand, view) in [("k", k), ("v", v), ("out", out)] {
        if view.dtype != q.dtype {
            return Err(dtype_error(operand, "it must have the dtype of q", view));
        }
    }
    let rank_4 = |operand, view: &View| {
        <[usize; 4]>::try_from(view.dims())
            .map_err(|_| operand_error(operand, "must have rank 4", view))
    };
    let [batch, heads, queries, head_dim] = rank_4("q", q)?;
    let [k_batch, kv_heads, keys, k_dim] = rank_4("k", k)?;
    let [v_batch, v_heads, v_keys, value_dim] = rank_4("v", v)?;
    let pair = |rule, left: &View, right: &View| KernelError::Operands {
        op: OP,
        rule,
        left: Box::new(*left.shape()),
        right: Box::new(*right.shape()),
    };
    if (k_batch, k_dim) != (batch, head_dim) {
        return Err(pair("batches and elements of q and k differ", q, k));
    }
    if (v_batch, v_heads, v_keys) != (batch, kv_heads, keys) {
        return Err(pair("batches, heads and keys of k and v differ", k, v));
    }
    if kv_heads == 0 && heads > 0 || kv_heads > 0 && !heads.is_multiple_of(kv_heads) {
        return Err(pair("the heads of k do not divide those of q", q, k));
    }
    if let Some(mask) = operands.mask
        && !matches!(mask.dtype, DType::Bool | DType::F32)
    {
        return Err(dtype_error("mask", "masks are bool or f32", mask));
    }
    if let Some(lengths) = operands.lengths {
        if lengths.dtype != DType::I32 {
            return Err(dtype_error("lengths", "lengths are i32", lengths));
        }
        if lengths.dims() != [batch] || !lengths.layout.is_contiguous() {
            return Err(operand_error(
                "lengths",
                "must be [batch] and contiguous",
                lengths,
            ));
        }
    }
    let expected =
        Shape::new([batch, heads, queries, value_dim]).map_err(KernelError::shape(OP))?;
    if *out.shape() != expected {
        return Err(KernelError::Output {
            op: OP,
            expected: Box::new(expected),
            got: Box::new(*out.shape()),
        });
    }
    Ok(Extents {
        q: [batch, heads, queries, head_dim],
        kv_heads,
        keys,
        value_dim,
    })
}

fn operand_error(operand: &'static str, rule: &'static str, view: &View) -> KernelError {
    KernelError::Operand {
        op: OP,
        operand,
        rule,
        got: Box::new(*view.shape()),
    }
}

fn dtype_error(operand: &'static str, rule: &'static str, view: &View) -> KernelError {
    KernelError::Dtype {
        op: OP,
        operand,
        rule,
        got: view.dtype,
    }
}

/// Windows beyond what positions can differ by hide nothing.
fn window(extent: Option<u32>) -> i32 {
    i32::try_from(extent.unwrap_or(0)).unwrap_or(i32::MAX)
}

/// Counts are bounded by the views' 32-bit indices, which binding checks.
fn count(value: usize) -> u32 {
    saturated(value as u64)
}

/// The strides of a view of rank 4.
fn four(view: &View) -> [u32; 4] {
    let mut packed = [0; 4];
    for (slot, &stride) in packed.iter_mut().zip(view.layout.strides()) {
        *slot = wrap(stride);
    }
    packed
}
