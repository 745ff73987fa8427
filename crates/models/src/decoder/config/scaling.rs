//! What a file says about rotary positions of longer contexts.

use super::{Fields, Key};
use crate::Error;
use crate::blocks::RopeScaling;

/// The keys of GGUF files, and those of both objects that a `config.json` may have.
macro_rules! key {
    ($gguf:literal, $json:literal, $newer:expr) => {
        if $newer {
            [
                concat!("rope.scaling.", $gguf),
                concat!("rope_parameters/", $json),
            ]
        } else {
            [
                concat!("rope.scaling.", $gguf),
                concat!("rope_scaling/", $json),
            ]
        }
    };
}

/// The tensors of a GGUF file with the factors of LongRoPE, in contexts up to the original one and in longer ones.
pub(in crate::decoder) const FACTORS: [&str; 2] =
    ["rope_factors_short.weight", "rope_factors_long.weight"];

/// How a file wants the frequencies of `rotary` elements stretched; `context` is the model's.
pub(super) fn scaling(
    fields: Fields<'_>,
    context: usize,
    rotary: usize,
) -> Result<RopeScaling, Error> {
    let newer = fields.text(["", "rope_parameters/rope_type"]).is_some();
    let name = fields
        .text(key!("type", "rope_type", newer))
        .or_else(|| fields.text(key!("type", "type", newer)));
    let factor = || fields.needed_number(key!("factor", "factor", newer));
    let said = || {
        fields.count(key!(
            "original_context_length",
            "original_max_position_embeddings",
            newer
        ))
    };
    let original = || Ok::<_, Error>(said()?.unwrap_or(context) as f64);
    if let Fields::Gguf(head, _) = fields
        && (name == Some("longrope") || head.tensor(FACTORS[1]).is_some())
    {
        let amplitude = fields.number(["rope.scaling.attn_factor", ""])?;
        return Ok(RopeScaling::LongRope {
            // They are tensors, and read with these.
            short: Vec::new(),
            long: Vec::new(),
            original: original()?,
            amplitude: amplitude.unwrap_or(1.0),
        });
    }
    match name.unwrap_or("none") {
        "none" | "default" => Ok(RopeScaling::None),
        "linear" => Ok(RopeScaling::Linear { factor: factor()? }),
        // The base of a sequence of n tokens is multiplied by a power of factor · max(n, context) / context - (factor - 1): of 1
        // for all that the model's context has room for.
        "dynamic" if matches!(fields, Fields::Json(_)) => factor().map(|_| RopeScaling::None),
        "llama3" => Ok(RopeScaling::Llama3 {
            factor: factor()?,
            low: fields.needed_number(key!("low_freq_factor", "low_freq_factor", newer))?,
            high: fields.needed_number(key!("high_freq_factor", "high_freq_factor", newer))?,
            original: original()?,
        }),
        "yarn" => yarn(fields, newer, factor()?, original()?),
        "longrope" => {
            // Phi 3 says it outside of the object.
            let original = match said()? {
                None => fields.count(["", "original_max_position_embeddings"])?,
                said => said,
            };
            let original = original.unwrap_or(context) as f64;
            let factor = fields.number(key!("", "factor", newer))?;
            let factor = factor.unwrap_or(context as f64 / original);
            let usual = RopeScaling::long_rope_amplitude(factor, original);
            let amplitude = fields.number(key!("", "attention_factor", newer))?;
            Ok(RopeScaling::LongRope {
                short: fields.numbers(key!("", "short_factor", newer), rotary / 2)?,
                long: fields.numbers(key!("", "long_factor", newer), rotary / 2)?,
                original,
                amplitude: amplitude.unwrap_or(usual),
            })
        }
        other => Err(Error::Unsupported(format!(
            "the scaling `{other}` of rotary positions"
        ))),
    }
}

fn yarn(fields: Fields<'_>, newer: bool, factor: f64, original: f64) -> Result<RopeScaling, Error> {
    let number = |key: Key, usual: f64| Ok::<_, Error>(fields.number(key)?.unwrap_or(usual));
    let usual = RopeScaling::yarn_amplitude(factor, 1.0);
    let amplitude = match fields {
        // As llama.cpp has it, the factor of a GGUF file comes on top of the usual one.
        Fields::Gguf(..) => usual * number(key!("yarn_attn_factor", "", newer), 1.0)?,
        Fields::Json(_) => {
            let mscale = fields.number(key!("", "mscale", newer))?;
            let all = fields.number(key!("", "mscale_all_dim", newer))?;
            // One of them alone means nothing.
            let usual = mscale.zip(all).map_or(usual, |(mscale, all)| {
                let of = |mscale| RopeScaling::yarn_amplitude(factor, mscale);
                of(mscale) / of(all)
            });
            number(key!("", "attention_factor", newer), usual)?
        }
    };
    Ok(RopeScaling::Yarn {
        factor,
        fast: number(key!("yarn_beta_fast", "beta_fast", newer), 32.0)?,
        slow: number(key!("yarn_beta_slow", "beta_slow", newer), 1.0)?,
        original,
        amplitude,
    })
}
