//! Decoders that attend to something else, too: to what an encoder made of a sound or of a text.

use ziggurat_tensor::{Attention, Error as TensorError, KvSlots, Tensor};

use super::{CausalAttention, LayerNorm, Linear, Mlp, Place, heads_of};

/// Keys and values of what is attended to, `[batch, heads, length, dim]`: they are the same for all tokens.
#[derive(Clone, Debug)]
pub struct Attended {
    /// Keys.
    pub keys: Tensor,
    /// Values.
    pub values: Tensor,
}

/// Attention of every token to all positions of something else.
#[derive(Clone, Debug)]
pub struct CrossAttention {
    /// `[width, width]`.
    pub q: Linear,
    /// `[width, width of the other]`.
    pub k: Linear,
    /// `[width, width of the other]`.
    pub v: Linear,
    /// `[width, width]`.
    pub out: Linear,
    /// Heads.
    pub heads: usize,
}

impl CrossAttention {
    /// Keys and values of what is attended to, `[batch, length, width of the other]`. They are computed once.
    ///
    /// # Errors
    /// If the extents do not fit, or the device has no memory.
    pub fn attended(&self, other: &Tensor) -> Result<Attended, TensorError> {
        let [keys, values] = [&self.k, &self.v].map(|linear| {
            heads_of(&linear.forward(other)?, self.heads)?
                .transpose(1, 2)?
                .contiguous()
        });
        let (keys, values) = (keys?, values?);
        keys.storage()?;
        values.storage()?;
        Ok(Attended { keys, values })
    }

    /// `[batch, length, width]` to the same.
    ///
    /// # Errors
    /// If the extents do not fit.
    pub fn forward(&self, x: &Tensor, attended: &Attended) -> Result<Tensor, TensorError> {
        let q = heads_of(&self.q.forward(x)?, self.heads)?.transpose(1, 2)?;
        let Attended { keys, values } = attended;
        let seen = q.scaled_dot_product_attention(keys, values, &Attention::default())?;
        self.out
            .forward(&seen.transpose(1, 2)?.reshape_to(x.dims())?)
    }
}

/// A layer of a decoder that attends to its own tokens, and to something else: both kinds of attention and the second half, each
/// behind a norm and added to what came in.
#[derive(Clone, Debug)]
pub struct CrossDecoderLayer {
    /// In front of attention to its own tokens.
    pub attention_norm: LayerNorm,
    /// Attention to its own tokens.
    pub attention: CausalAttention,
    /// In front of attention to the other.
    pub cross_norm: LayerNorm,
    /// Attention to the other.
    pub cross: CrossAttention,
    /// In front of the second half.
    pub mlp_norm: LayerNorm,
    /// The second half.
    pub mlp: Mlp,
}

impl CrossDecoderLayer {
    /// `[batch, length, width]` to the same; positions are what the activations know of them.
    ///
    /// # Errors
    /// As [`CausalAttention::forward`] and [`CrossAttention::forward`].
    pub fn forward(
        &self,
        x: &Tensor,
        place: &Place<'_>,
        attended: &Attended,
        cache: &mut KvSlots,
    ) -> Result<Tensor, TensorError> {
        let normed = self.attention_norm.forward(x)?;
        let x = x.add(&self.attention.forward(&normed, None, place, None, cache)?)?;
        let normed = self.cross_norm.forward(&x)?;
        let x = x.add(&self.cross.forward(&normed, attended)?)?;
        let normed = self.mlp_norm.forward(&x)?;
        x.add(&self.mlp.forward(&normed)?)
    }
}
