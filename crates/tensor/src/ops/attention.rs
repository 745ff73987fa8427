//! Scaled dot-product attention, and the scores on the way to it.
//!
//! A query sees a key or it does not (mask, causality, windows, lengths); what it does not see never touches the result,
//! whatever that memory holds.

use ziggurat_core::DType;
use ziggurat_kernels::{AttentionOperands, AttentionOptions, Call, CallKind};

use crate::observe::{self, Operation, What};
use crate::{Error, Tensor};

const OP: &str = "scaled_dot_product_attention";

/// The position of the first query among the keys, for causality and windows; the others follow it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QueryPosition {
    /// At the first key, as in PyTorch's `is_causal`.
    #[default]
    TopLeft,
    /// Such that the last query is at the last key, as when queries continue earlier ones.
    BottomRight,
    /// At this key, such as the number of keys that were there before the queries; from -2^30 to 2^30.
    At(i32),
}

/// What a row is whose query sees no key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MaskedRows {
    /// NaN, the softmax of nothing, as in PyTorch.
    #[default]
    Nan,
    /// 0, as in ONNX.
    Zero,
}

/// Options of [`Tensor::scaled_dot_product_attention`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Attention<'a> {
    /// Factor of the scores; `1 / √D` if not given.
    pub scale: Option<f32>,
    /// Bool (true: may be seen) or float (added to the scores; -inf hides), broadcast to `[batch, heads, queries, keys]`.
    pub mask: Option<&'a Tensor>,
    /// Hide the keys after a query's position.
    pub causal: bool,
    /// Where the queries are.
    pub position: QueryPosition,
    /// Hide keys that are further before a query's position than this.
    pub left_window: Option<u32>,
    /// Hide keys that are further after a query's position than this.
    pub right_window: Option<u32>,
    /// Scores become `softcap · tanh(score / softcap)`; 0 leaves them.
    pub softcap: f32,
    /// How many keys of each batch count, integers `[batch]`; the last query of a batch is at the last of them, and
    /// `position` is not used.
    pub key_lengths: Option<&'a Tensor>,
    /// Keys and values from before, `[batch, key heads, past, ..]` (or of rank 3 as the others): they stand in front of those
    /// given. Masks, windows and positions count from the first of them; [`QueryPosition::TopLeft`] is then at the first key
    /// behind them. To keep what grows, use [`KvCache`](crate::KvCache), which copies nothing twice.
    pub past: Option<(&'a Tensor, &'a Tensor)>,
    /// Rows whose query sees no key.
    pub masked_rows: MaskedRows,
}

/// A stage of attention scores, see [`Tensor::attention_scores`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScoreStage {
    /// `scale · q kᵀ`.
    Raw,
    /// With the cap.
    Capped,
    /// With the cap and the mask; -inf where hidden.
    Masked,
    /// The weights: the softmax of the masked scores.
    Weights,
}

impl Attention<'_> {
    fn kernel_options(&self, dim: usize, queries: usize, keys: usize) -> AttentionOptions {
        let count = |n: usize| i32::try_from(n).unwrap_or(i32::MAX);
        AttentionOptions {
            scale: self.scale.unwrap_or_else(|| 1.0 / (dim as f32).sqrt()),
            softcap: self.softcap,
            causal: self.causal,
            shift: match self.position {
                QueryPosition::TopLeft => {
                    let length = |(k, _): (&Tensor, &Tensor)| k.dims().iter().rev().nth(1).copied();
                    count(self.past.and_then(length).unwrap_or(0))
                }
                QueryPosition::BottomRight => count(keys) - count(queries),
                QueryPosition::At(position) => position,
            },
            left_window: self.left_window,
            right_window: self.right_window,
            zero_masked_rows: self.masked_rows == MaskedRows::Zero,
        }
    }
}

/// Queries, keys, values and masks as the kernel wants them.
struct Ready {
    q: Tensor,
    k: Tensor,
    mask: Option<Tensor>,
    lengths: Option<Tensor>,
}

impl Tensor {
    /// `softmax(scale · self kᵀ + mask) v`, without storing the scores: `self` `[batch, heads, queries, D]`, `k` `[batch, key heads, keys, D]`
    /// and `v` `[batch, key heads, keys, Dv]` give `[batch, heads, queries, Dv]`. Each key head serves
    /// `heads / key heads` neighbouring heads. Without the axis of heads (rank 3) there is one head.
    ///
    /// ```
    /// use ziggurat_tensor::{Attention, Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let q = Tensor::from_slice(&device, &[0.0f32, 0.0], [1, 1, 2, 1])?;
    /// let v = Tensor::from_slice(&device, &[2.0f32, 4.0], [1, 1, 2, 1])?;
    /// let options = Attention { causal: true, ..Attention::default() };
    /// let y = q.scaled_dot_product_attention(&q, &v, &options)?;
    /// assert_eq!(y.to_vec_blocking::<f32>()?, [2.0, 3.0]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If ranks and extents do not fit each other, the key heads do not divide the heads, dtypes differ or are not floats,
    /// lengths are no integers, a position is out of its range, or the mask does not broadcast.
    pub fn scaled_dot_product_attention(
        &self,
        k: &Self,
        v: &Self,
        options: &Attention<'_>,
    ) -> Result<Self, Error> {
        self.attention(k, v, None, options)
    }

    /// The same, to keys and values of i8 if there are factors of them, f32 `[batch, key heads, keys, 2]`. Those are of what is
    /// given, so nothing may be in front of it: `options.past` is `None` then, and ranks are 4.
    pub(crate) fn attention(
        &self,
        k: &Self,
        v: &Self,
        factors: Option<&Self>,
        options: &Attention<'_>,
    ) -> Result<Self, Error> {
        self.same_device(OP, v)?;
        let ready = self.ready(OP, k, options)?;
        let flat = self.rank() == 3;
        let v = behind(OP, options.past.map(|(_, past)| past), v)?;
        let v = if flat { v.unsqueeze(1)? } else { v };
        let (&[batch, heads, queries, dim], &[_, _, keys, value_dim]) = (ready.q.dims(), v.dims())
        else {
            return Err(wrong_rank(OP, "v", &v));
        };
        let kernel = options.kernel_options(dim, queries, keys);
        let shape = crate::tensor::new_shape(OP, &[batch, heads, queries, value_dim])?;
        let (mask, lengths) = (
            ready.mask.as_ref().map(|mask| mask.stored()).transpose()?,
            ready
                .lengths
                .as_ref()
                .map(|lengths| lengths.stored())
                .transpose()?,
        );
        let operands = AttentionOperands {
            q: ready.q.stored()?,
            k: ready.k.stored()?,
            v: v.stored()?,
            mask,
            lengths,
            factors: factors.map(|factors| factors.stored()).transpose()?,
        };
        let call = Call::new(CallKind::Attention { options: kernel });
        let out = self.device().alloc(OP, &shape, self.dtype())?;
        let describe = || Operation {
            name: OP.into(),
            what: What::Call(&call),
            inputs: Some(vec![
                Some(operands.q),
                Some(operands.k),
                Some(operands.v),
                operands.mask,
                operands.lengths,
                operands.factors,
            ]),
            is_given_non_finite: false,
            outputs: vec![&out],
        };
        let run = || {
            let attended = self.device().executor().attention(&operands, &kernel, &out);
            attended
                .map(drop)
                .map_err(|error| Error::from_kernel(OP, error))
        };
        observe::operation(self.device(), describe, run)?;
        let out = Self::from_view(self.device(), out);
        if flat { out.squeeze_axis(1) } else { Ok(out) }
    }

    /// The scores of [`Tensor::scaled_dot_product_attention`] at a stage, `[batch, heads, queries, keys]`: everything that
    /// is not stored there. Made of several kernels.
    ///
    /// # Errors
    /// As [`Tensor::scaled_dot_product_attention`].
    pub fn attention_scores(
        &self,
        k: &Self,
        options: &Attention<'_>,
        stage: ScoreStage,
    ) -> Result<Self, Error> {
        const OP: &str = "attention_scores";
        self.needs_float(OP)?;
        let Ready {
            q,
            k,
            mask,
            lengths,
        } = self.ready(OP, k, options)?;
        let (&[batch, heads, queries, dim], &[_, kv_heads, keys, _]) = (q.dims(), k.dims()) else {
            return Err(wrong_rank(OP, "k", &k));
        };
        if k.dims() != [batch, kv_heads, keys, dim] {
            return Err(q.mismatch(OP, "q and k differ in batch or element", &k));
        }
        if let Some(mask) = &mask {
            let shape = crate::tensor::new_shape(OP, &[batch, heads, queries, keys])?;
            mask.with_layout(OP, |layout| layout.expand(shape))?;
        }
        if kv_heads == 0 || !heads.is_multiple_of(kv_heads) {
            return Err(Error::shape(
                OP,
                format!("the heads of k must divide those of q: {kv_heads} and {heads}"),
            ));
        }
        let kernel = options.kernel_options(dim, queries, keys);
        let exact = |t: &Self| t.converted(OP, DType::F32);
        let shared = exact(&k)?
            .unsqueeze(2)?
            .broadcast_to([batch, kv_heads, heads / kv_heads, keys, dim])?
            .reshape_to([batch, heads, keys, dim])?;
        let mut scores = exact(&q)?
            .mul(kernel.scale)?
            .matmul(&shared.transpose(-2, -1)?)?;
        if stage != ScoreStage::Raw && kernel.softcap > 0.0 {
            scores = scores.div(kernel.softcap)?.tanh()?.mul(kernel.softcap)?;
        }
        if matches!(stage, ScoreStage::Masked | ScoreStage::Weights) {
            let bias = q.sight(&kernel, keys, mask.as_ref(), lengths.as_ref())?;
            scores = scores.add(&bias)?;
            if stage == ScoreStage::Weights {
                let weights = scores.softmax(-1)?;
                let blind = bias.eq(f64::NEG_INFINITY)?.all([-1], true)?;
                scores = match options.masked_rows {
                    MaskedRows::Nan => weights,
                    MaskedRows::Zero => blind.where_(0.0, &weights)?,
                };
            }
        }
        scores.converted(OP, self.dtype())
    }

    /// What is added to the scores of these queries: 0 or the mask where a key may be seen, else -inf.
    fn sight(
        &self,
        kernel: &AttentionOptions,
        keys: usize,
        mask: Option<&Self>,
        lengths: Option<&Self>,
    ) -> Result<Self, Error> {
        let &[batch, _, queries, _] = self.dims() else {
            return Err(wrong_rank(OP, "q", self));
        };
        let count = |n: usize| i32::try_from(n).unwrap_or(i32::MAX);
        let upto = |n: usize| Self::arange(self.device(), 0, count(n), 1, DType::I32);
        let (queries_, keys_) = (upto(queries)?.unsqueeze(1)?, upto(keys)?);
        let lengths = lengths
            .map(|lengths| lengths.reshape_to([batch, 1, 1, 1]))
            .transpose()?;
        let position = match &lengths {
            Some(lengths) => queries_.add(lengths)?.sub(count(queries))?,
            None => queries_.add(kernel.shift)?,
        };
        let behind = position.sub(&keys_)?;
        let mut seen = keys_.ge(0)?;
        if let Some(lengths) = &lengths {
            seen = seen.logical_and(&keys_.lt(lengths)?)?;
        }
        if kernel.causal {
            seen = seen.logical_and(&behind.ge(0)?)?;
        }
        let window = |extent: u32| i32::try_from(extent).unwrap_or(i32::MAX);
        if let Some(left) = kernel.left_window {
            seen = seen.logical_and(&behind.le(window(left))?)?;
        }
        if let Some(right) = kernel.right_window {
            seen = seen.logical_and(&behind.ge(-window(right))?)?;
        }
        let hidden = f64::NEG_INFINITY;
        let zero = Self::zeros(self.device(), [], DType::F32)?;
        match mask {
            None => seen.where_(&zero, hidden),
            Some(mask) if mask.dtype() == DType::Bool => {
                seen.logical_and(mask)?.where_(&zero, hidden)
            }
            Some(mask) => seen.where_(mask, hidden),
        }
    }

    /// Operands of rank 4 and the kernel's dtypes.
    fn ready(&self, op: &'static str, k: &Self, options: &Attention<'_>) -> Result<Ready, Error> {
        self.same_device(op, k)?;
        let flat = self.rank() == 3;
        if self.rank() != 4 && !flat {
            return Err(wrong_rank(op, "q", self));
        }
        if k.rank() != self.rank() {
            return Err(wrong_rank(op, "k", k));
        }
        if let QueryPosition::At(position) = options.position
            && position.unsigned_abs() > 1 << 30
        {
            let rule = "the position of the first query must be from -2^30 to 2^30";
            return Err(Error::argument(op, format!("{rule}: it is {position}")));
        }
        let with_head = |t: &Self| if flat { t.unsqueeze(1) } else { Ok(t.clone()) };
        let mask = options
            .mask
            .map(|mask| {
                self.same_device(op, mask)?;
                let mask = match mask.dtype() {
                    DType::Bool => mask.clone(),
                    dtype if dtype.is_float() => mask.converted(op, DType::F32)?,
                    dtype => {
                        return Err(Error::dtype(
                            op,
                            format!("the mask must be bool or a float: it is {dtype}"),
                        ));
                    }
                };
                if mask.rank() == 3 && flat {
                    mask.unsqueeze(1)
                } else {
                    Ok(mask)
                }
            })
            .transpose()?;
        let lengths = options
            .key_lengths
            .map(|lengths| self.indices_of(op, lengths)?.as_i32(op)?.contiguous())
            .transpose()?;
        Ok(Ready {
            q: with_head(self)?,
            k: with_head(&behind(op, options.past.map(|(past, _)| past), k)?)?,
            mask,
            lengths,
        })
    }
}

/// `new` behind what was there before, along the axis of positions.
fn behind(op: &'static str, past: Option<&Tensor>, new: &Tensor) -> Result<Tensor, Error> {
    let Some(past) = past else {
        return Ok(new.clone());
    };
    new.same_device(op, past)?;
    if past.dtype() != new.dtype() {
        return Err(Error::wrong_dtype(op, new.dtype(), past.dtype()));
    }
    let positions = new.rank().checked_sub(2);
    let others = |tensor: &Tensor| -> Vec<usize> {
        let dims = tensor.dims().iter().enumerate();
        dims.filter(|&(axis, _)| Some(axis) != positions)
            .map(|(_, &dim)| dim)
            .collect()
    };
    if past.rank() != new.rank() || others(past) != others(new) {
        return Err(new.mismatch(op, "keys or values from before must fit the new ones", past));
    }
    Tensor::concat(&[past, new], -2)
}

fn wrong_rank(op: &'static str, name: &str, t: &Tensor) -> Error {
    Error::shape(
        op,
        format!(
            "q, k and v must be [batch, heads, length, D], or all of rank 3: {name} is {}",
            t.shape()
        ),
    )
}
