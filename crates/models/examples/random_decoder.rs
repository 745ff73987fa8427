//! Writes a GGUF file of the shape of Llama 3 8B with random weights, for measurements with `ziggurat bench`.
//!
//! `random_decoder FILE FORMAT [LAYERS]`: the format of all matrices, as "Q4_K"; fewer layers than 32 make a smaller file.

#![allow(clippy::print_stdout, reason = "a command line program")]

#[path = "../tests/common/writer.rs"]
mod writer;

use std::error::Error;
use std::fs::File;
use std::io::{BufWriter, Write as _};

use writer::Writer;
use ziggurat_tensor::{BlockFormat, f16};

const VOCABULARY: u64 = 128_256;
const WIDTH: u64 = 4096;
const HIDDEN: u64 = 14_336;
const HEADS: u32 = 32;
const KEY_HEADS: u32 = 8;
const KEY_WIDTH: u64 = WIDTH / HEADS as u64 * KEY_HEADS as u64;

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

fn wanted(layers: u32) -> Vec<Wanted> {
    let mut all = Vec::new();
    let mut add = |name: &str, dims: &[u64]| {
        all.push(Wanted {
            name: format!("{name}.weight"),
            dims: dims.to_vec(),
        });
    };
    add("token_embd", &[WIDTH, VOCABULARY]);
    add("output_norm", &[WIDTH]);
    add("output", &[WIDTH, VOCABULARY]);
    for layer in 0..layers {
        for (name, dims) in [
            ("attn_norm", &[WIDTH][..]),
            ("attn_q", &[WIDTH, WIDTH]),
            ("attn_k", &[WIDTH, KEY_WIDTH]),
            ("attn_v", &[WIDTH, KEY_WIDTH]),
            ("attn_output", &[WIDTH, WIDTH]),
            ("ffn_norm", &[WIDTH]),
            ("ffn_gate", &[WIDTH, HIDDEN]),
            ("ffn_up", &[WIDTH, HIDDEN]),
            ("ffn_down", &[HIDDEN, WIDTH]),
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
    let layers = arguments.next().map_or(Ok(32), |text| text.parse())?;
    let mut formats = BlockFormat::ALL.iter().copied();
    let format = formats
        .find(|format| format.name() == name)
        .ok_or_else(|| format!("no format of blocks is named {name}"))?;
    let all = wanted(layers);

    let texts = [("general.architecture", "llama")];
    let numbers = [
        ("vocab_size", u32::try_from(VOCABULARY)?),
        ("context_length", 8192),
        ("embedding_length", u32::try_from(WIDTH)?),
        ("feed_forward_length", u32::try_from(HIDDEN)?),
        ("block_count", layers),
        ("attention.head_count", HEADS),
        ("attention.head_count_kv", KEY_HEADS),
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
    /// A block of random numbers, whose factors make weights of a few hundredths.
    fn fill(&mut self, block: &mut [u8], format: BlockFormat) {
        for some in block.chunks_mut(8) {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            let bytes = self.0.to_le_bytes();
            some.copy_from_slice(&bytes[..some.len()]);
        }
        for (&at, factor) in format.halves().iter().zip([1.0 / 8192.0, 1.0 / 1024.0]) {
            let half = f16::from_f32(factor).to_le_bytes();
            block[at..at + 2].copy_from_slice(&half);
        }
    }
}
