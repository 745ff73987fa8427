//! A Whisper's tensors in a file of CTranslate2, by the names that Hugging Face's programs give them.

use ziggurat_tensor::{Device, Tensor};

use crate::Error;
use crate::ctranslate2::Ctranslate2File;
use crate::load::{Tensors, f32_bytes};

/// Ends of names outside of layers.
const OUTSIDE: [[&str; 2]; 8] = [
    ["conv1.weight", "conv1/weight"],
    ["conv1.bias", "conv1/bias"],
    ["conv2.weight", "conv2/weight"],
    ["conv2.bias", "conv2/bias"],
    ["embed_positions.weight", "position_encodings/encodings"],
    ["embed_tokens.weight", "embeddings/weight"],
    ["layer_norm.weight", "layer_norm/gamma"],
    ["layer_norm.bias", "layer_norm/beta"],
];

/// Norms of layers.
const NORMS: [[&str; 2]; 3] = [
    ["self_attn_layer_norm", "self_attention/layer_norm"],
    ["encoder_attn_layer_norm", "attention/layer_norm"],
    ["final_layer_norm", "ffn/layer_norm"],
];

/// Products of layers, and which of how many that are joined in one tensor.
const PRODUCTS: [(&str, &str, [usize; 2]); 10] = [
    ("self_attn.q_proj", "self_attention/linear_0", [0, 3]),
    ("self_attn.k_proj", "self_attention/linear_0", [1, 3]),
    ("self_attn.v_proj", "self_attention/linear_0", [2, 3]),
    ("self_attn.out_proj", "self_attention/linear_1", [0, 1]),
    ("encoder_attn.q_proj", "attention/linear_0", [0, 1]),
    ("encoder_attn.k_proj", "attention/linear_1", [0, 2]),
    ("encoder_attn.v_proj", "attention/linear_1", [1, 2]),
    ("encoder_attn.out_proj", "attention/linear_2", [0, 1]),
    ("fc1", "ffn/linear_0", [0, 1]),
    ("fc2", "ffn/linear_1", [0, 1]),
];

/// The name of a tensor, and which part of it is meant.
fn place(name: &str) -> Option<(String, [usize; 2])> {
    let (side, rest) = name.split_once('.')?;
    let Some(rest) = rest.strip_prefix("layers.") else {
        let [_, end] = OUTSIDE.iter().find(|[own, _]| *own == rest)?;
        return Some((format!("{side}/{end}"), [0, 1]));
    };
    let (at, rest) = rest.split_once('.')?;
    let (what, kind) = rest.rsplit_once('.')?;
    let layer = format!("{side}/layer_{at}");
    if let Some([_, norm]) = NORMS.iter().find(|[own, _]| *own == what) {
        let kind = if kind == "weight" { "gamma" } else { "beta" };
        return Some((format!("{layer}/{norm}/{kind}"), [0, 1]));
    }
    let (_, product, part) = PRODUCTS.iter().find(|(own, ..)| *own == what)?;
    Some((format!("{layer}/{product}/{kind}"), *part))
}

impl Tensors for Ctranslate2File {
    fn dims(&self, name: &str) -> Option<Vec<usize>> {
        let (name, [_, parts]) = place(name)?;
        let mut dims = Self::dims(self, &name)?.to_vec();
        // What does not divide so has other extents than it must have.
        let rows = dims.first_mut().filter(|rows| rows.is_multiple_of(parts));
        if let Some(rows) = rows {
            *rows /= parts;
        }
        Some(dims)
    }

    fn load(&self, device: &Device, name: &str) -> Result<Tensor, Error> {
        match place(name) {
            Some((name, part)) => Self::load(self, device, &name, part),
            None => Err(Error::MissingTensor {
                name: name.to_owned(),
            }),
        }
    }

    fn bytes(&self) -> u64 {
        self.names()
            .map(|name| f32_bytes(Self::dims(self, name)))
            .sum()
    }
}
