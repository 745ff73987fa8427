//! `ziggurat bench`: how fast a model reads and writes.

use std::future::Future as _;
use std::io::{self, Write as _};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use clap::Args;
use clap::builder::RangedU64ValueParser;
use ziggurat_models::{Decoder, DecoderSlots, DeviceSampler, Error, Sampler, Sampling};
use ziggurat_tensor::{KernelTime, Tensor};

use crate::{Cache, Load, Outcome};

/// The arguments.
#[derive(Args)]
pub(crate) struct Bench {
    #[command(flatten)]
    load: Load,
    #[command(flatten)]
    cache: Cache,
    /// Tokens of the prompt
    #[arg(long, default_value_t = 128, value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
    prompt_tokens: usize,
    /// Tokens that are written: one of the prompt's pass, one of the step that is captured, and those of its replays
    #[arg(long, default_value_t = 64, value_parser = RangedU64ValueParser::<usize>::new().range(3..))]
    new_tokens: usize,
    /// Sequences that are written together, each with a prompt of its own
    #[arg(long, default_value_t = 1, value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
    sequences: usize,
    /// Draws tokens on the device: not their scores, but they alone come to the host, while the next step is under way
    #[arg(long)]
    on_device: bool,
    /// Runs, of which the medians are printed; one more goes before them and does not count
    #[arg(long, default_value_t = 5, value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
    runs: usize,
    /// Prints also what the GPU took for each kernel of one more run, of the prompt's pass and of a step, the longest first
    #[arg(long)]
    profile: bool,
}

/// Seconds of one run.
struct Times {
    /// The passes of the prompts, up to their scores on the device.
    prefill: f64,
    /// The caches, these passes, and the choice of the first tokens.
    first: f64,
    /// The first step, which is captured.
    capture: f64,
    /// All further steps.
    decode: f64,
}

impl Bench {
    /// Measures, and prints the medians.
    pub(crate) fn run(&self) -> Outcome<()> {
        let load = |device: &_, file: &_, options| Decoder::load(device, file, &options);
        let decoder = Arc::new(self.load.load(load)?);
        let vocabulary = decoder.config().vocabulary.max(1);
        // Any tokens do: the work is the same for all.
        let prompt = (0..self.prompt_tokens)
            .map(|at| u32::try_from(at.wrapping_mul(31) % vocabulary))
            .collect::<Result<Vec<_>, _>>()?;
        let (_, dispatches) = self.measure(&decoder, &prompt, None)?;
        let runs = (0..self.runs)
            .map(|_| Ok(self.measure(&decoder, &prompt, None)?.0))
            .collect::<Result<Vec<_>, Error>>()?;
        let median = |of: fn(&Times) -> f64| median(runs.iter().map(of).collect());
        let sequences = self.sequences;
        let rate = |tokens: usize, of| (sequences * tokens) as f64 / f64::max(median(of), 1e-9);
        let mut out = io::stdout().lock();
        if sequences > 1 {
            write!(out, "{sequences} sequences: ")?;
        }
        writeln!(
            out,
            "{} prompt tokens, {} new tokens, median of {} runs",
            self.prompt_tokens, self.new_tokens, self.runs
        )?;
        let prefill = rate(self.prompt_tokens, |times| times.prefill);
        writeln!(out, "prefill: {prefill:.1} tokens/s")?;
        let first = 1e3 * median(|times| times.first);
        writeln!(out, "first token: after {first:.2} ms")?;
        let capture = 1e3 * median(|times| times.capture);
        writeln!(out, "second token, with the capture: {capture:.2} ms")?;
        let decode = rate(self.new_tokens - 2, |times| times.decode);
        let dispatches = dispatches.unwrap_or_default();
        writeln!(
            out,
            "decode: {decode:.1} tokens/s, {dispatches} dispatches per step"
        )?;
        if self.profile {
            self.print_profile(&decoder, &prompt, &mut out)?;
        }
        Ok(())
    }

    /// Times of the kernels of the prompt's pass, and of all steps behind the first, which is captured.
    fn print_profile(
        &self,
        decoder: &Arc<Decoder>,
        prompt: &[u32],
        out: &mut impl io::Write,
    ) -> Outcome<()> {
        let device = decoder.device();
        if !device.set_profiling(true) {
            writeln!(out, "this adapter has no timestamps")?;
            return Ok(());
        }
        let mut of_prompt = Vec::new();
        self.measure(decoder, prompt, Some(&mut of_prompt))?;
        let steps = device.profile_blocking()?;
        device.set_profiling(false);
        for (what, kernels, passes) in [
            ("of the prompt", &of_prompt, 1),
            ("per step", &steps, self.new_tokens - 2),
        ] {
            writeln!(out, "µs {what}, dispatches {what}, GB/s, kernel:")?;
            for kernel in kernels {
                writeln!(
                    out,
                    "{:>8.1} {:>6.1} {:>7.1} {}",
                    kernel.total_ns as f64 / 1e3 / passes as f64,
                    kernel.count as f64 / passes as f64,
                    kernel.gigabytes_per_second(),
                    kernel.label
                )?;
            }
        }
        Ok(())
    }

    /// One run with a sequence of its own, and how many dispatches a step has. With a profile that of the prompts' passes is
    /// taken, and what is left behind is that of the replays.
    fn measure(
        &self,
        decoder: &Arc<Decoder>,
        prompt: &[u32],
        mut of_prompt: Option<&mut Vec<KernelTime>>,
    ) -> Result<(Times, Option<usize>), Error> {
        let start = Instant::now();
        let since = |earlier: f64| start.elapsed().as_secs_f64() - earlier;
        let capacity = prompt.len().saturating_add(self.new_tokens - 1);
        let cache = self.cache.dtype().unwrap_or(decoder.dtype());
        let mut slots = DecoderSlots::with_cache(decoder, self.sequences, capacity, cache)?;
        let mut draw = self.drawing(decoder)?;
        if of_prompt.is_some() {
            drop(decoder.device().profile_blocking()?);
        }
        let ready = since(0.0);
        let scores = (0..self.sequences)
            .map(|slot| Ok(slots.extend(slot, prompt)?.unsqueeze(0)?))
            .collect::<Result<Vec<_>, Error>>()?;
        let scores = Tensor::concat(&scores.iter().collect::<Vec<_>>(), 0)?;
        decoder.device().synchronize_blocking()?;
        let prefill = since(ready);
        if let Some(kernels) = &mut of_prompt {
            **kernels = decoder.device().profile_blocking()?;
        }
        let mut tokens = draw(&scores)?;
        tokens.read()?;
        let first = since(0.0);
        let all: Vec<usize> = (0..self.sequences).collect();
        let mut step = || {
            tokens = match &tokens {
                Tokens::Known(known) => draw(&slots.step(known)?)?,
                Tokens::Drawn(drawn) => {
                    let mut read = pin!(drawn.to_vec::<i32>());
                    // The first poll submits the reading, ahead of the step.
                    let early = read.as_mut().poll(&mut Context::from_waker(Waker::noop()));
                    let next = draw(&slots.step_drawn(&all, drawn)?)?;
                    match early {
                        Poll::Ready(tokens) => drop(tokens?),
                        Poll::Pending => drop(decoder.device().block_on(read)?),
                    }
                    next
                }
            };
            Ok::<_, Error>(())
        };
        step()?;
        let capture = since(first);
        if of_prompt.is_some() {
            drop(decoder.device().profile_blocking()?);
        }
        for _ in 2..self.new_tokens {
            step()?;
        }
        let decode = since(first + capture);
        let times = Times {
            prefill,
            first,
            capture,
            decode,
        };
        Ok((times, slots.dispatches()))
    }
}

/// The best tokens of all sequences.
enum Tokens {
    /// The host has drawn them, numbered from 0.
    Known(Vec<(usize, u32)>),
    /// They are on the device.
    Drawn(Tensor),
}

impl Tokens {
    /// Waits until the host has them.
    fn read(&self) -> Result<(), Error> {
        if let Self::Drawn(tokens) = self {
            let _tokens = tokens.to_vec_blocking::<i32>()?;
        }
        Ok(())
    }
}

/// A function that draws the best token of each row of scores.
type Drawing = Box<dyn FnMut(&Tensor) -> Result<Tokens, Error>>;

impl Bench {
    fn drawing(&self, decoder: &Decoder) -> Result<Drawing, Error> {
        let (rows, vocabulary) = (self.sequences, decoder.config().vocabulary.max(1));
        let mut sampler = Sampler::new(Sampling {
            on_device: self.on_device,
            ..Sampling::default()
        })?;
        let mut on_device = DeviceSampler::new(decoder.device(), rows, vocabulary);
        Ok(Box::new(move |scores| {
            let draws: Vec<_> = (0..rows).map(|_| sampler.on_device(&[])).collect();
            if draws.iter().all(Option::is_some) {
                return on_device.draw(scores, &draws).map(Tokens::Drawn);
            }
            let mut scores = scores.to_vec_blocking::<f32>()?;
            let all = scores.chunks_mut(vocabulary).enumerate();
            let tokens = all.map(|(row, scores)| Ok((row, sampler.draw(scores, &[])?)));
            tokens.collect::<Result<_, _>>().map(Tokens::Known)
        }))
    }
}

/// The middle of some numbers, or the mean of the two in the middle.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let at = |index: usize| values.get(index).copied().unwrap_or_default();
    let half = values.len() / 2;
    if values.len().is_multiple_of(2) {
        f64::midpoint(at(half.saturating_sub(1)), at(half))
    } else {
        at(half)
    }
}

#[cfg(test)]
mod tests {
    use super::median;

    #[test]
    fn a_median_is_the_middle() {
        assert_eq!(median(vec![9.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(vec![4.0, 9.0, 1.0, 2.0]), 3.0);
    }
}
