//! What a captured pass of an encoder keeps in memory, next to the peak of the same pass recorded as always.
//!
//! The shape is MiniLM's, with random weights: 6 layers of 384, 12 heads, 1536 between, 20 sentences of 122 tokens.
//! `cargo run -p ziggurat-tensor --example encoder_memory [--f16]`.

#![allow(clippy::print_stdout, reason = "a command line program")]

use ziggurat_tensor::{
    Attention, DType, Device, DeviceOptions, Error, FusionPolicy, Generator, Tensor,
};

const LAYERS: usize = 6;
const WIDTH: usize = 384;
const HEADS: usize = 12;
const BETWEEN: usize = 1536;
const VOCABULARY: usize = 30_522;
const BATCH: usize = 20;
const TOKENS: usize = 122;
const MIB: f64 = (1 << 20) as f64;

/// A matrix `[out, in]` and its bias.
struct Dense {
    weight: Tensor,
    bias: Tensor,
}

impl Dense {
    fn of(&self, x: &Tensor) -> Result<Tensor, Error> {
        x.linear(&self.weight, Some(&self.bias))
    }
}

struct Layer {
    /// Queries, keys, values, and what attention gives.
    attention: [Dense; 4],
    feed_forward: [Dense; 2],
    /// Weight and bias behind attention and behind the second half.
    norms: [[Tensor; 2]; 2],
}

struct Encoder {
    words: Tensor,
    positions: Tensor,
    norm: [Tensor; 2],
    layers: Vec<Layer>,
}

/// Random weights, one after the other.
struct Source<'a> {
    device: &'a Device,
    generator: Generator,
    dtype: DType,
}

impl Source<'_> {
    fn tensor(&mut self, shape: &[usize]) -> Result<Tensor, Error> {
        let values = Tensor::uniform(
            self.device,
            shape,
            -0.05,
            0.05,
            self.dtype,
            &mut self.generator,
        )?;
        values.eval_blocking()?;
        Ok(values)
    }

    fn dense(&mut self, out: usize, within: usize) -> Result<Dense, Error> {
        Ok(Dense {
            weight: self.tensor(&[out, within])?,
            bias: self.tensor(&[out])?,
        })
    }

    fn norm(&mut self) -> Result<[Tensor; 2], Error> {
        Ok([self.tensor(&[WIDTH])?, self.tensor(&[WIDTH])?])
    }

    fn layer(&mut self) -> Result<Layer, Error> {
        Ok(Layer {
            attention: [
                self.dense(WIDTH, WIDTH)?,
                self.dense(WIDTH, WIDTH)?,
                self.dense(WIDTH, WIDTH)?,
                self.dense(WIDTH, WIDTH)?,
            ],
            feed_forward: [self.dense(BETWEEN, WIDTH)?, self.dense(WIDTH, BETWEEN)?],
            norms: [self.norm()?, self.norm()?],
        })
    }

    fn encoder(&mut self) -> Result<Encoder, Error> {
        Ok(Encoder {
            words: self.tensor(&[VOCABULARY, WIDTH])?,
            positions: self.tensor(&[TOKENS, WIDTH])?,
            norm: self.norm()?,
            layers: (0..LAYERS)
                .map(|_| self.layer())
                .collect::<Result<_, _>>()?,
        })
    }
}

fn normed(x: &Tensor, [weight, bias]: &[Tensor; 2]) -> Result<Tensor, Error> {
    x.layer_norm([WIDTH], Some(weight), Some(bias), 1e-12)
}

impl Layer {
    fn of(&self, x: &Tensor, lengths: &Tensor) -> Result<Tensor, Error> {
        let [q, k, v, out] = &self.attention;
        let split = |x: Tensor| {
            x.reshape_to([BATCH, TOKENS, HEADS, WIDTH / HEADS])?
                .transpose(1, 2)
        };
        let (q, k, v) = (split(q.of(x)?)?, split(k.of(x)?)?, split(v.of(x)?)?);
        let options = Attention {
            key_lengths: Some(lengths),
            ..Attention::default()
        };
        let seen = q.scaled_dot_product_attention(&k, &v, &options)?;
        let seen = seen.transpose(1, 2)?.reshape_to([BATCH, TOKENS, WIDTH])?;
        let x = normed(&out.of(&seen)?.add(x)?, &self.norms[0])?;
        let [up, down] = &self.feed_forward;
        normed(&down.of(&up.of(&x)?.gelu()?)?.add(&x)?, &self.norms[1])
    }
}

impl Encoder {
    /// Sentence embeddings `[batch, width]` of token numbers `[batch, tokens]` and the sentences' lengths.
    fn of(&self, tokens: &Tensor, lengths: &Tensor) -> Result<Tensor, Error> {
        let mut x = normed(
            &self.words.embedding(tokens)?.add(&self.positions)?,
            &self.norm,
        )?;
        for layer in &self.layers {
            x = layer.of(&x, lengths)?;
        }
        x.mean([1], false)?.normalize(2.0, [1], 1e-12)
    }
}

fn main() -> Result<(), Error> {
    let half = std::env::args().any(|word| word == "--f16");
    let dtype = if half { DType::F16 } else { DType::F32 };
    let device = Device::open_blocking(DeviceOptions::default())?;
    let generator = Generator::new(1);
    let mut source = Source {
        device: &device,
        generator,
        dtype,
    };
    let encoder = source.encoder()?;
    let tokens: Vec<i32> = (0..BATCH * TOKENS)
        .map(|at| (at * 7919 % VOCABULARY) as i32)
        .collect();
    let lengths: Vec<i32> = (0..BATCH).map(|at| (TOKENS - at) as i32).collect();
    let tokens = Tensor::from_slice(&device, &tokens, [BATCH, TOKENS])?;
    let lengths = Tensor::from_slice(&device, &lengths, [BATCH])?;
    println!("{}, {dtype:?}", device.adapter());
    let memory = device.executor().memory();
    for (name, policy) in [
        ("fused", FusionPolicy::Fused),
        ("unfused", FusionPolicy::Unfused),
    ] {
        let _scope = policy.enter();
        device.synchronize_blocking()?;
        device.trim(0);
        let weights = device.usage();
        memory.reset_peaks();
        let expected = encoder.of(&tokens, &lengths)?.to_f64_vec_blocking()?;
        let eager = device.usage();
        device.synchronize_blocking()?;
        device.trim(0);
        let captured = device.capture(&[&tokens, &lengths], |inputs| {
            Ok(vec![encoder.of(&inputs[0], &inputs[1])?])
        })?;
        let got = captured.run(&[&tokens, &lengths])?;
        let got = got[0].to_f64_vec_blocking()?;
        let plan = captured.memory_plan();
        let peak = eager.peak - weights.live;
        println!(
            "{name}: eager peak {:.1} MiB over {:.1} MiB of weights; captured: {} dispatches, {} values of {:.1} MiB in {:.1} MiB, \
             {:.2} of the eager peak; equal bits: {}",
            peak as f64 / MIB,
            weights.live as f64 / MIB,
            captured.dispatches(),
            plan.values,
            plan.value_bytes as f64 / MIB,
            plan.reserved_bytes as f64 / MIB,
            plan.reserved_bytes as f64 / peak as f64,
            got == expected,
        );
    }
    Ok(())
}
