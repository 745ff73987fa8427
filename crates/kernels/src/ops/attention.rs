//! Scaled dot-product attention that never stores the scores.
//!
//! Keys are passed over in tiles with a running maximum and sum per row, in f32 for every float dtype. The query heads that
//! share a key head are rows of one matrix, so decoding one token with grouped heads still fills tiles. Where rows are too few
//! to keep a device busy, workgroups share the keys of a row, and a second step merges what they have of it. Invariants: a key
//! that may not be seen never touches the result, whatever its memory holds; a row is NaN if one of its scores is.
//!
//! Keys and values may be i8 with a factor for each position of a head. All forms multiply by it within the kernel, so that the
//! floats are never in memory.

use std::hash::{Hash, Hasher};

use ziggurat_core::{DType, Layout, Shape};

use crate::fused::Operand;
use crate::run::call::{Call, CallKind, F32Bits, Operands, Sink};
use crate::run::completion::Completion;
use crate::run::ends::Ends;
use crate::run::error::KernelError;
use crate::run::executor::Executor;
use crate::run::view::View;

mod choice;
mod form;
mod lanes;
mod matrix;
mod params;
mod parts;
mod plan;
mod rules;

pub(crate) use choice::variants;
pub(crate) use parts::run_parts;
pub(crate) use plan::plan;

const OP: &str = "attention";

/// How far from the first key the first query may be.
const FURTHEST: u32 = 1 << 30;

/// Which keys a query sees, and how scores are made.
///
/// Numbers are compared by their bits. Query `i` stands at position `i + shift`; with [`lengths`](AttentionOperands::lengths) the shift is the batch's length
/// less the number of queries.
#[derive(Clone, Copy, Debug)]
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

impl AttentionOptions {
    /// Everything, comparable by bits.
    fn bits(&self) -> impl Eq + Hash {
        let numbers = [self.scale, self.softcap].map(F32Bits::from);
        let windows = (self.left_window, self.right_window);
        let flags = (self.causal, self.zero_masked_rows);
        (numbers, windows, flags, self.shift)
    }
}

impl PartialEq for AttentionOptions {
    fn eq(&self, other: &Self) -> bool {
        self.bits() == other.bits()
    }
}

impl Eq for AttentionOptions {}

impl Hash for AttentionOptions {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.bits().hash(state);
    }
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
    /// `[batch, key heads, keys, element]`; the key heads divide the heads. Of the dtype of q, or with factors i8.
    pub k: &'a View,
    /// `[batch, key heads, keys, value element]`, of the dtype of k.
    pub v: &'a View,
    /// Bool (true: may be seen) or f32 (added; −inf hides), broadcast to `[batch, heads, queries, keys]`.
    pub mask: Option<&'a View>,
    /// i32, contiguous, `[batch]`: how many keys of each batch count.
    pub lengths: Option<&'a View>,
    /// What the integers of a key, and those of its value, are multiplied by: f32 `[batch, key heads, keys, 2]`, of any strides.
    /// A key or value is NaN if its factor is NaN or infinite.
    pub factors: Option<&'a View>,
}

impl Executor {
    /// [`Executor::attention`] to keys and values from before and new ones behind them: joins `past` and those of `operands`
    /// in `present` `[batch, key heads, past + new, ..]`, keys first, and attends to that. A present that begins with the past
    /// in its own memory, as a cache does, is only appended to. Positions count from the first key of the past, and factors are
    /// those of the present.
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
    /// `[batch, heads, queries, value element]`, of the dtype of q, which may have any strides that do not overlap. Keys and values
    /// of i8 are read as they are, and count as each integer times its factor, which only matrix units of f16 round, to f16. The
    /// product of a query and the integers of a key has to stay within f32.
    ///
    /// ```
    /// use ziggurat_kernels::{AttentionOperands, AttentionOptions, DType, Executor, Shape, device::DeviceOptions};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let exec = Executor::open_blocking(DeviceOptions::default())?;
    /// let q = exec.upload(&[0.0_f32, 0.0], &Shape::new([1, 1, 1, 2])?)?;
    /// // Two positions of 8 bits, and the factors of each as a key and as a value.
    /// let k = exec.upload(&[100_i8, -20, 3, 4], &Shape::new([1, 1, 2, 2])?)?;
    /// let factors = exec.upload(&[1.0_f32, 0.5, 1.0, 0.25], &Shape::new([1, 1, 2, 2])?)?;
    /// let operands = AttentionOperands {
    ///     q: &q,
    ///     k: &k,
    ///     v: &k,
    ///     mask: None,
    ///     lengths: None,
    ///     factors: Some(&factors),
    /// };
    /// let out = exec.alloc(q.shape(), DType::F32)?;
    /// let _done = exec.attention(&operands, &AttentionOptions::default(), &out)?;
    /// // Both scores are 0: the mean of (50, -10) and (0.75, 1).
    /// let bytes = exec.download(&out)?.wait()?;
    /// assert_eq!(bytes, [25.375_f32, -4.5].map(f32::to_le_bytes).concat());
    /// # Ok(()) }
    /// ```
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
        let AttentionOperands {
            q,
            k,
            v,
            mask,
            lengths,
            factors,
        } = *operands;
        let operands = Operands {
            first: q.into(),
            others: [Some(k), Some(v), mask, lengths, factors],
        };
        let call = Call::new(CallKind::Attention { options: *options });
        self.run(&call, &operands, Sink::new(out))
    }
}

/// What a call reads.
fn operands<'a>(ends: &Ends<'a>) -> Result<AttentionOperands<'a>, KernelError> {
    let Operand::Memory(q) = ends.a else {
        return Err(crate::ops::reduce::only_memory(OP));
    };
    let [_, _, mask, lengths, factors] = ends.others;
    Ok(AttentionOperands {
        q,
        k: ends.other(OP, 0, "k")?,
        v: ends.other(OP, 1, "v")?,
        mask,
        lengths,
        factors,
    })
}

/// The mask as every batch and head sees it, unless it hides nothing because there is nothing.
fn seen_mask(mask: &View, extents: &Extents) -> Result<Layout, KernelError> {
    let [batch, heads, queries, _] = extents.q;
    let shape = Shape::new([batch, heads, queries, extents.keys]);
    let layout = shape.and_then(|shape| mask.layout.expand(shape));
    layout.map_err(KernelError::shape(OP))
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
    if out.dtype != q.dtype {
        return Err(dtype_error("out", "it must have the dtype of q", out));
    }
    for (operand, view) in [("k", k), ("v", v)] {
        match operands.factors {
            Some(_) if view.dtype != DType::I8 => {
                return Err(dtype_error(operand, "with factors it must be i8", view));
            }
            None if view.dtype != q.dtype => {
                let rule = "it must have the dtype of q, or be i8 with factors";
                return Err(dtype_error(operand, rule, view));
            }
            Some(_) | None => {}
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
    if let Some(factors) = operands.factors {
        if factors.dtype != DType::F32 {
            return Err(dtype_error("factors", "factors are f32", factors));
        }
        if factors.dims() != [batch, kv_heads, keys, 2] {
            let rule = "must be [batch, key heads, keys, 2]";
            return Err(operand_error("factors", rule, factors));
        }
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
