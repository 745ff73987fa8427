//! Rotary positions: their frequencies, stretched for contexts that are longer than those a model was trained on.

use std::f64::consts::TAU;

use ziggurat_tensor::{Device, RopeTable, Tensor};

use crate::Error;

/// How rotary frequencies are stretched. The formulas are those of `modeling_rope_utils.py` of transformers.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum RopeScaling {
    /// Not at all.
    #[default]
    None,
    /// All alike: positions are divided by a factor.
    Linear {
        /// The factor.
        factor: f64,
    },
    /// As Llama 3.1: those with long waves by a factor, those with short ones not at all, and in between in part.
    Llama3 {
        /// The factor.
        factor: f64,
        /// Waves that are longer than the original context divided by this are long.
        low: f64,
        /// Waves that are shorter than the original context divided by this are short.
        high: f64,
        /// The context that the model was trained on.
        original: f64,
    },
    /// YaRN, by Peng, Quesnelle, Fan and Shippole: as Llama 3.1 in principle, with a ramp over the pairs.
    Yarn {
        /// The factor.
        factor: f64,
        /// Pairs with at least so many rotations within the original context stay as they are.
        fast: f64,
        /// Pairs with at most so many are stretched by the whole factor.
        slow: f64,
        /// The context that the model was trained on.
        original: f64,
        /// What queries and keys are multiplied by.
        amplitude: f64,
    },
    /// LongRoPE, by Ding and others: each pair by a factor of its own, of one list for contexts up to that which the model was
    /// trained on, and of another one for longer ones.
    LongRope {
        /// The factors of contexts up to the original one.
        short: Vec<f64>,
        /// Those of longer ones.
        long: Vec<f64>,
        /// The context that the model was trained on.
        original: f64,
        /// What queries and keys are multiplied by.
        amplitude: f64,
    },
}

impl RopeScaling {
    /// What queries and keys are multiplied by with YaRN, unless a model says otherwise: `0.1 · mscale · ln(factor) + 1`, where
    /// `mscale` is 1 if a model does not say it. A model that says `mscale` and `mscale_all_dim` has the quotient of both
    /// amplitudes.
    pub fn yarn_amplitude(factor: f64, mscale: f64) -> f64 {
        0.1 * mscale * factor.max(1.0).ln() + 1.0
    }

    /// What queries and keys are multiplied by with LongRoPE, unless a model says otherwise:
    /// `√(1 + ln(factor) / ln(original))`, where `factor` is how many times longer the context is than the original one.
    pub fn long_rope_amplitude(factor: f64, original: f64) -> f64 {
        (1.0 + factor.max(1.0).ln() / original.ln()).sqrt()
    }

    /// The frequency of each pair of `rotary` elements, where there is room for `context` tokens.
    pub fn frequencies(&self, base: f64, rotary: usize, context: usize) -> Vec<f64> {
        let width = rotary as f64;
        let plain = |pair: usize| base.powf(-2.0 * pair as f64 / width);
        let stretched = |pair: usize| {
            let w = plain(pair);
            match *self {
                Self::None => w,
                Self::LongRope {
                    ref short,
                    ref long,
                    original,
                    ..
                } => {
                    let factors = if context as f64 > original {
                        long
                    } else {
                        short
                    };
                    w / factors.get(pair).copied().unwrap_or(1.0)
                }
                Self::Linear { factor } => w / factor,
                Self::Llama3 {
                    factor,
                    low,
                    high,
                    original,
                } => {
                    let rotations = original * w / TAU;
                    let kept = if high > low {
                        ((rotations - low) / (high - low)).clamp(0.0, 1.0)
                    } else {
                        f64::from(u8::from(rotations > low))
                    };
                    kept * w + (1.0 - kept) * w / factor
                }
                Self::Yarn {
                    factor,
                    fast,
                    slow,
                    original,
                    ..
                } => {
                    // The pair with so many rotations within the original context.
                    let place = |rotations: f64| {
                        width * (original / (rotations * TAU)).ln() / (2.0 * base.ln())
                    };
                    let first = place(fast).floor().max(0.0);
                    let last = place(slow).ceil().min(width - 1.0);
                    let ramp = (pair as f64 - first) / (last - first).max(1e-3);
                    let stretch = ramp.clamp(0.0, 1.0);
                    (1.0 - stretch) * w + stretch * w / factor
                }
            }
        };
        (0..rotary / 2).map(stretched).collect()
    }

    /// What queries and keys are multiplied by.
    pub const fn amplitude(&self) -> f64 {
        match *self {
            Self::Yarn { amplitude, .. } | Self::LongRope { amplitude, .. } => amplitude,
            _ => 1.0,
        }
    }
}

/// A table of so many rotary positions with these frequencies, one per pair, times `amplitude`.
///
/// # Errors
/// If a frequency or the amplitude is not finite, there are none, or the device has no memory.
pub fn rope_table(
    device: &Device,
    positions: usize,
    frequencies: &[f64],
    amplitude: f64,
) -> Result<RopeTable, Error> {
    let finite = frequencies.iter().all(|w| w.is_finite()) && amplitude.is_finite();
    if frequencies.is_empty() || positions == 0 || !finite {
        let pairs = frequencies.len();
        return Err(Error::Unsupported(format!(
            "rotary positions of {pairs} pairs up to {positions}, of which a number is not finite"
        )));
    }
    let table = |f: fn(f64) -> f64| {
        let row = |at: usize| {
            let angle = move |w: &f64| (f(at as f64 * w) * amplitude) as f32;
            frequencies.iter().map(angle)
        };
        let values: Vec<f32> = (0..positions).flat_map(row).collect();
        Tensor::from_slice(device, &values, [positions, frequencies.len()])
    };
    Ok(RopeTable {
        cos: table(f64::cos)?,
        sin: table(f64::sin)?,
    })
}
