//! Writes a GGUF file of the shape of Llama 3 8B, Llama 3.2 1B or SmolLM2 135M with random weights, for measurements with
//! `ziggurat bench`.
//!
//! `random_decoder FILE FORMAT [SHAPE] [LAYERS]`: the format of all matrices, as "Q4_K"; `llama-3-8b`, `llama-3.2-1b` or
//! `smollm2-135m`; fewer layers than that has make a smaller file.

#![allow(clippy::print_stdout, reason = "a command line program")]

#[path = "../tests/common/writer.rs"]
mod writer;

use std::error::Error;
use std::fs::File;
use std::io::{BufWriter, Write as _};

use writer::Writer;
use ziggurat_tensor::{BlockFormat, f16};

/// Extents of a model.
struct Shape {
    name: &'static str,
    vocabulary: u64,
    width: u64,
    hidden: u64,
    heads: u32,
    key_heads: u32,
    layers: u32,
    /// Whether scores are products with the table of tokens.
    tied: bool,
}

const SHAPES: [Shape; 3] = [
    Shape {
        name: "llama-3-8b",
        vocabulary: 128_256,
        width: 4096,
        hidden: 14_336,
        heads: 32,
        key_heads: 8,
        layers: 32,
        tied: false,
    },
    Shape {
        name: "llama-3.2-1b",
        vocabulary: 128_256,
        width: 2048,
        hidden: 8192,
        heads: 32,
        key_heads: 8,
        layers: 16,
        tied: true,
    },
    Shape {
        name: "smollm2-135m",
        vocabulary: 49_152,
        width: 576,
        hidden: 1536,
        heads: 9,
        key_heads: 3,
        layers: 30,
        tied: true,
    },
];

/// Where data of tensors begins.
const ALIGNMENT: u64 = 32;
/// Types of metadata.
const U32: u32 = 4;
const FLOAT: u32 = 6;
const TEXT: u32 = 8;

/// A tensor: extents as in a file, the fastest first. Matrices are of the format, norms of f32.
struct Wanted {
    name: String,
    dims: Vec<u64>,
}

fn wanted(shape: &Shape, layers: u32) -> Vec<Wanted> {
    let mut all = Vec::new();
    let mut add = |name: &str, dims: &[u64]| {
        all.push(Wanted {
            name: format!("{name}.weight"),
            dims: dims.to_vec(),
        });
    };
    let (width, hidden) = (shape.width, shape.hidden);
    let key_width = width / u64::from(shape.heads) * u64::from(shape.key_heads);
    add("token_embd", &[width, shape.vocabulary]);
    add("output_norm", &[width]);
    if !shape.tied {
        add("output", &[width, shape.vocabulary]);
    }
    for layer in 0..layers {
        for (name, dims) in [
            ("attn_norm", &[width][..]),
            ("attn_q", &[width, width]),
            ("attn_k", &[width, key_width]),
            ("attn_v", &[width, key_width]),
            ("attn_output", &[width, width]),
            ("ffn_norm", &[width]),
            ("ffn_gate", &[width, hidden]),
            ("ffn_up", &[width, hidden]),
            ("ffn_down", &[hidden, width]),
        ] {
            add(&format!("blk.{layer}.{name}"), dims);
        }
    }
    all
}

/// Bytes of a tensor.
fn bytes(dims: &[u64], format: BlockFormat) -> u64 {
    let elements: u64 = dims.iter().product();
    match dims {
        [_] => 4 * elements,
        _ => elements / format.elements() as u64 * format.bytes() as u64,
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().ok_or("which file shall be written?")?;
    let name = arguments.next().unwrap_or_else(|| "Q4_K".to_owned());
    let shape = arguments.next();
    let shape = shape.as_deref().unwrap_or(SHAPES[0].name);
    let known = SHAPES.iter().find(|known| known.name == shape);
    let shape = known.ok_or_else(|| format!("no shape is named {shape}"))?;
    let layers = arguments
        .next()
        .map_or(Ok(shape.layers), |text| text.parse())?;
    let mut formats = BlockFormat::ALL.iter().copied();
    let format = formats
        .find(|format| format.name() == name)
        .ok_or_else(|| format!("no format of blocks is named {name}"))?;
    let all = wanted(shape, layers);

    let texts = [("general.architecture", "llama")];
    let numbers = [
        ("vocab_size", u32::try_from(shape.vocabulary)?),
        ("context_length", 8192),
        ("embedding_length", u32::try_from(shape.width)?),
        ("feed_forward_length", u32::try_from(shape.hidden)?),
        ("block_count", layers),
        ("attention.head_count", shape.heads),
        ("attention.head_count_kv", shape.key_heads),
    ];
    let floats: [(&str, f32); 2] = [
        ("attention.layer_norm_rms_epsilon", 1e-5),
        ("rope.freq_base", 500_000.0),
    ];
    let entries = texts.len() + numbers.len() + floats.len();
    let mut head = Writer::new(all.len() as u64, entries as u64);
    for (key, text) in texts {
        head.key(key, TEXT).text(text);
    }
    for (key, number) in numbers {
        head.key(&format!("llama.{key}"), U32).u32(number);
    }
    for (key, number) in floats {
        let bits = number.to_bits();
        head.key(&format!("llama.{key}"), FLOAT).u32(bits);
    }
    let mut at = 0;
    for Wanted { name, dims } in &all {
        let kind = if dims.len() == 1 { 0 } else { format.id() };
        head.tensor(name, dims, kind, at);
        at += bytes(dims, format).next_multiple_of(ALIGNMENT);
    }
    head.data(usize::try_from(ALIGNMENT)?, 0);

    let mut out = BufWriter::with_capacity(1 << 20, File::create(&file)?);
    out.write_all(&head.bytes)?;
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for Wanted { dims, .. } in &all {
        let size = bytes(dims, format);
        if dims.len() == 1 {
            for _ in 0..size / 4 {
                out.write_all(&1.0_f32.to_le_bytes())?;
            }
        } else {
            let mut block = vec![0; format.bytes()];
            for _ in 0..size / block.len() as u64 {
                random.fill(&mut block, format);
                out.write_all(&block)?;
            }
        }
        let padding = size.next_multiple_of(ALIGNMENT) - size;
        out.write_all(&vec![0; usize::try_from(padding)?])?;
    }
    out.flush()?;
    println!("{file}: {} tensors, {at} bytes of weights", all.len());
    Ok(())
}

/// Marsaglia (2003), "Xorshift RNGs".
struct Random(u64);

impl Random {
    /// A block of random numbers, whose factors make weights of about a hundredth, as trained ones are: larger ones make gates that let
    /// through nothing or everything, and activations that grow beyond f16 in 20 layers.
    fn fill(&mut self, block: &mut [u8], format: BlockFormat) {
        for some in block.chunks_mut(8) {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            let bytes = self.0.to_le_bytes();
            some.copy_from_slice(&bytes[..some.len()]);
        }
        for (&at, factor) in format.halves().iter().zip([1.0 / 32_768.0, 1.0 / 4096.0]) {
            let half = f16::from_f32(factor).to_le_bytes();
            block[at..at + 2].copy_from_slice(&half);
        }
    }
}
