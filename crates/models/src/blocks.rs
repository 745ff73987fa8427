//! The blocks that transformers are built from, in plain operations of [`Tensor`].
//!
//! Each is a struct of weights with one method, so that the next architecture is a list of them. Activations are
//! `[batch, length, width]`.

use ziggurat_tensor::{
    Attention, Error as TensorError, KvSlots, QuantizedLinearOptions, RopeForm, RopeTable,
    SlotPositions, Tensor,
};

mod conv;
mod cross;
mod linears;
mod rope;
mod weight;

pub use conv::{BatchNorm, Conv1d, Conv2d, InvertedBottleneck};
pub use cross::{Attended, CrossAttention, CrossDecoderLayer};
pub use linears::Linears;
pub use rope::{RopeScaling, rope_table};
pub use weight::Weight;

/// A dense layer: a matrix `[out, in]` and perhaps a bias `[out]`.
#[derive(Clone, Debug)]
pub struct Linear {
    /// `[out, in]`.
    pub weight: Weight,
    /// `[out]`.
    pub bias: Option<Tensor>,
}

impl Linear {
    /// `x · weightᵀ + bias`: `[.., in]` gives `[.., out]`.
    ///
    /// # Errors
    /// If the extents do not fit.
    pub fn forward(&self, x: &Tensor) -> Result<Tensor, TensorError> {
        self.weight.linear(x, self.bias.as_ref())
    }

    /// The same behind a norm, if there is one.
    ///
    /// # Errors
    /// If the extents do not fit.
    pub fn forward_behind(
        &self,
        norm: Option<&RmsNorm>,
        x: &Tensor,
    ) -> Result<Tensor, TensorError> {
        let options = QuantizedLinearOptions {
            rms_norm: norm.map(RmsNorm::parts),
            swiglu: false,
            bias: self.bias.as_ref(),
        };
        self.weight.linear_with(x, &options)
    }
}

/// `x / √(mean(x²) + eps) · weight` over the last axis.
#[derive(Clone, Debug)]
pub struct RmsNorm {
    /// `[width]`.
    pub weight: Tensor,
    /// Added to the mean of squares.
    pub eps: f32,
}

impl RmsNorm {
    /// The norm of every row.
    ///
    /// # Errors
    /// If the last extent is not the weight's.
    pub fn forward(&self, x: &Tensor) -> Result<Tensor, TensorError> {
        x.rms_norm(self.weight.dims(), Some(&self.weight), self.eps)
    }

    const fn parts(&self) -> (&Tensor, f32) {
        (&self.weight, self.eps)
    }
}

/// The second half of a layer, with a gate: `down(silu(gate(x)) · up(x))`.
#[derive(Clone, Debug)]
pub struct GatedMlp {
    /// The gate, and what it lets through: `[hidden, width]` each.
    pub gate_up: Linears<2>,
    /// `[width, hidden]`.
    pub down: Linear,
}

impl GatedMlp {
    /// `[.., width]` to `[.., width]`, behind the norm if there is one.
    ///
    /// # Errors
    /// If the extents do not fit.
    pub fn forward(&self, x: &Tensor, norm: Option<&RmsNorm>) -> Result<Tensor, TensorError> {
        self.down.forward(&self.gate_up.forward_gated(x, norm)?)
    }
}

/// Where the tokens of a pass stand in their sequences.
#[derive(Debug)]
pub enum Place<'a> {
    /// They are of one sequence and follow each other: activations are `[1, length, width]`.
    Slot {
        /// The sequence's slot in the caches.
        slot: usize,
        /// The position of the first one.
        start: usize,
    },
    /// One token of each slot, at positions that the device knows: activations are `[slots, 1, width]`. This may be captured.
    Each(&'a SlotPositions),
}

/// Attention of tokens to themselves and to those before them, with a cache, and with rotary positions if there is a table of
/// them. Several heads may share a head of keys and values.
#[derive(Clone, Debug)]
pub struct CausalAttention {
    /// Queries `[heads · dim, width]`, keys and values `[key heads · dim, width]`.
    pub qkv: Linears<3>,
    /// `[width, heads · dim]`.
    pub out: Linear,
    /// Norms of each head of queries and keys, where a family has them.
    pub norms: Option<[RmsNorm; 2]>,
    /// Heads of queries.
    pub heads: usize,
    /// Heads of keys and values.
    pub key_heads: usize,
    /// Whether rotated pairs are neighbours, or halves of a head.
    pub interleaved: bool,
    /// How many positions before its own a token sees; all without.
    pub window: Option<u32>,
}

impl CausalAttention {
    /// `[batch, length, width]` to the same, behind the norm if there is one; keys and values of these tokens are written to `cache`.
    ///
    /// # Errors
    /// If the extents do not fit, or the cache or the table of positions has no room.
    pub fn forward(
        &self,
        x: &Tensor,
        norm: Option<&RmsNorm>,
        place: &Place<'_>,
        rope: Option<&RopeTable>,
        cache: &mut KvSlots,
    ) -> Result<Tensor, TensorError> {
        let &[batch, length, _] = x.dims() else {
            // The reshape says what is wrong with the rank.
            return x.reshape_to([1, x.len(), 1]);
        };
        if let (Place::Each(at), Some(table)) = (place, rope)
            && let Some((joined, [_, k, v])) = self.joined((x, norm))?
            && k == v
        {
            let all = self.heads + 2 * self.key_heads;
            let joined = heads_of(&joined, all)?.squeeze_axis(1)?;
            let q = cache.rope_write_each(at, &joined, table, self.interleaved)?;
            let seen = cache.attend_each(at, &q, &self.options())?;
            return self.out_of(&seen.to_dtype(x.dtype())?);
        }
        let form = RopeForm {
            interleaved: self.interleaved,
            positions_before_heads: true,
            ..RopeForm::default()
        };
        let positions = match place {
            Place::Each(at) => Some(at.tensor().reshape_to([batch, 1])?),
            Place::Slot { .. } => None,
        };
        let form = match place {
            Place::Slot { start, .. } => RopeForm {
                start: *start,
                ..form
            },
            Place::Each(_) => RopeForm {
                positions: positions.as_ref(),
                ..form
            },
        };
        let rotate = |x: Tensor| rope.map_or_else(|| Ok(x.clone()), |table| x.rope(table, form));
        let [q, k, v] = self.projected((x, norm), rotate)?;
        let [q, k, v] = [q.transpose(1, 2)?, k.transpose(1, 2)?, v.transpose(1, 2)?];
        let options = self.options();
        let seen = match *place {
            Place::Slot { slot, start } => {
                cache.write(slot, start, &k, &v)?;
                cache.attend(slot, start + length, &q, &options)?
            }
            Place::Each(at) => {
                cache.write_each(at, &k, &v)?;
                cache.attend_each(at, &q, &options)?
            }
        };
        self.out_of(&seen)
    }

    fn options(&self) -> Attention<'static> {
        Attention {
            causal: true,
            left_window: self.window,
            ..Attention::default()
        }
    }

    /// What comes out of heads `[batch, heads, length, dim]`.
    fn out_of(&self, seen: &Tensor) -> Result<Tensor, TensorError> {
        self.out.forward(&seen.transpose(1, 2)?.flatten(2, 3)?)
    }

    /// Queries, keys and values behind each other, `[batch, length, ..]`, and their widths, if they are one product, with whole heads
    /// and no norms.
    fn joined(
        &self,
        (x, norm): (&Tensor, Option<&RmsNorm>),
    ) -> Result<Option<(Tensor, [usize; 3])>, TensorError> {
        match (&self.qkv, &self.norms) {
            (Linears::Joined { layer, widths }, None)
                if widths[0] * self.key_heads == widths[1] * self.heads =>
            {
                Ok(Some((layer.forward_behind(norm, x)?, *widths)))
            }
            _ => Ok(None),
        }
    }

    /// Queries and keys behind `rotate`, and values: `[batch, length, heads, dim]` each. What is joined, and has no norms, is
    /// rotated by one dispatch.
    fn projected(
        &self,
        (x, norm): (&Tensor, Option<&RmsNorm>),
        rotate: impl Fn(Tensor) -> Result<Tensor, TensorError>,
    ) -> Result<[Tensor; 3], TensorError> {
        let (heads, key_heads) = (self.heads, self.key_heads);
        if let Some((all, [q, k, v])) = self.joined((x, norm))? {
            let both = heads_of(&all.narrow(-1, 0, q + k)?, heads + key_heads)?;
            let both = rotate(both)?;
            return Ok([
                both.narrow(2, 0, heads)?,
                both.narrow(2, heads, key_heads)?,
                heads_of(&all.narrow(-1, q + k, v)?, key_heads)?,
            ]);
        }
        let [q, k, v] = self.qkv.forward(x, norm);
        let mut q = heads_of(&q?, heads)?;
        let mut k = heads_of(&k?, key_heads)?;
        if let Some([of_q, of_k]) = &self.norms {
            (q, k) = (of_q.forward(&q)?, of_k.forward(&k)?);
        }
        Ok([rotate(q)?, rotate(k)?, heads_of(&v?, key_heads)?])
    }
}

/// A layer of a decoder: attention and the gated half, each behind a norm and added to what came in.
#[derive(Clone, Debug)]
pub struct DecoderLayer {
    /// In front of attention.
    pub attention_norm: RmsNorm,
    /// Attention.
    pub attention: CausalAttention,
    /// In front of the second half.
    pub mlp_norm: RmsNorm,
    /// The second half.
    pub mlp: GatedMlp,
}

impl DecoderLayer {
    /// `[batch, length, width]` to the same.
    ///
    /// # Errors
    /// As [`CausalAttention::forward`].
    pub fn forward(
        &self,
        x: &Tensor,
        place: &Place<'_>,
        rope: &RopeTable,
        cache: &mut KvSlots,
    ) -> Result<Tensor, TensorError> {
        let norm = Some(&self.attention_norm);
        let x = x.add(&(self.attention).forward(x, norm, place, Some(rope), cache)?)?;
        x.add(&self.mlp.forward(&x, Some(&self.mlp_norm))?)
    }
}

/// `(x - mean) / √(variance + eps) · weight + bias` over the last axis.
#[derive(Clone, Debug)]
pub struct LayerNorm {
    /// `[width]`.
    pub weight: Tensor,
    /// `[width]`.
    pub bias: Tensor,
    /// Added to variances.
    pub eps: f32,
}

impl LayerNorm {
    /// The norm of every row.
    ///
    /// # Errors
    /// If the last extent is not the weight's.
    pub fn forward(&self, x: &Tensor) -> Result<Tensor, TensorError> {
        x.layer_norm(
            self.weight.dims(),
            Some(&self.weight),
            Some(&self.bias),
            self.eps,
        )
    }
}

/// The second half of a layer, without a gate: `down(gelu(up(x)))`.
#[derive(Clone, Debug)]
pub struct Mlp {
    /// `[hidden, width]`.
    pub up: Linear,
    /// `[width, hidden]`.
    pub down: Linear,
}

impl Mlp {
    /// `[.., width]` to `[.., width]`.
    ///
    /// # Errors
    /// If the extents do not fit.
    pub fn forward(&self, x: &Tensor) -> Result<Tensor, TensorError> {
        self.down.forward(&self.up.forward(x)?.gelu()?)
    }
}

/// Attention of every position to all positions of its sequence.
#[derive(Clone, Debug)]
pub struct SelfAttention {
    /// `[width, width]`.
    pub q: Linear,
    /// `[width, width]`.
    pub k: Linear,
    /// `[width, width]`.
    pub v: Linear,
    /// `[width, width]`.
    pub out: Linear,
    /// Heads.
    pub heads: usize,
}

impl SelfAttention {
    /// `[batch, length, width]` to the same; of each sequence so many positions are seen, integers `[batch]`, or all.
    ///
    /// # Errors
    /// If the extents do not fit.
    pub fn forward(&self, x: &Tensor, lengths: Option<&Tensor>) -> Result<Tensor, TensorError> {
        let [q, k, v] = [&self.q, &self.k, &self.v]
            .map(|linear| heads_of(&linear.forward(x)?, self.heads)?.transpose(1, 2));
        let options = Attention {
            key_lengths: lengths,
            ..Attention::default()
        };
        let seen = q?.scaled_dot_product_attention(&k?, &v?, &options)?;
        self.out
            .forward(&seen.transpose(1, 2)?.reshape_to(x.dims())?)
    }
}

/// A layer of an encoder: attention and the second half, each added to what came in, with norms in front of or behind them.
#[derive(Clone, Debug)]
pub struct EncoderLayer {
    /// Attention.
    pub attention: SelfAttention,
    /// Attention's norm.
    pub attention_norm: LayerNorm,
    /// The second half.
    pub mlp: Mlp,
    /// The norm of the second half.
    pub mlp_norm: LayerNorm,
    /// Whether norms are in front of attention and the second half, or behind the sums.
    pub norm_first: bool,
}

impl EncoderLayer {
    /// `[batch, length, width]` to the same.
    ///
    /// # Errors
    /// As [`SelfAttention::forward`].
    pub fn forward(&self, x: &Tensor, lengths: Option<&Tensor>) -> Result<Tensor, TensorError> {
        if self.norm_first {
            let normed = self.attention_norm.forward(x)?;
            let x = x.add(&self.attention.forward(&normed, lengths)?)?;
            return x.add(&self.mlp.forward(&self.mlp_norm.forward(&x)?)?);
        }
        let x = self
            .attention_norm
            .forward(&self.attention.forward(x, lengths)?.add(x)?)?;
        self.mlp_norm.forward(&self.mlp.forward(&x)?.add(&x)?)
    }
}

/// `[batch, length, heads · dim]` as `[batch, length, heads, dim]`.
fn heads_of(x: &Tensor, heads: usize) -> Result<Tensor, TensorError> {
    // -1 is what is left for each head.
    x.unflatten(-1, [isize::try_from(heads).unwrap_or(isize::MAX), -1])
}
