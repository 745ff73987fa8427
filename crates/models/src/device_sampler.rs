//! Tokens drawn on the device, so that a step need not bring the scores of all tokens to the host.
//!
//! The same formulas as the host's [`Sampler`](crate::Sampler), over the best tokens alone and in f32, with the host's random
//! numbers. All that differs from token to token is an input, so that the kernels are captured once.

use std::collections::BTreeMap;

use ziggurat_tensor::{Captured, DType, Device, Error as TensorError, Tensor};

use crate::Error;

/// The most tokens that are drawn from.
pub(crate) const CANDIDATES: usize = 64;
/// The most tokens whose scores are changed.
pub(crate) const ENTRIES: usize = 128;
/// Temperature, `top_k`, `top_p`, `min_p`, random number.
const SCALARS: usize = 5;

/// What a row of scores is drawn from by: [`Sampler::on_device`](crate::Sampler::on_device).
#[derive(Clone, Debug)]
pub struct Draw {
    /// What is added to the score of a token, and what it is then divided by, or multiplied if negative.
    pub(crate) changes: BTreeMap<u32, [f32; 2]>,
    pub(crate) temperature: f32,
    pub(crate) top_k: usize,
    pub(crate) top_p: f32,
    pub(crate) min_p: f32,
    pub(crate) random: f32,
}

/// Draws tokens on a device by the rules of [`Sampling`](crate::Sampling).
///
/// | option | on the device | else |
/// | --- | --- | --- |
/// | `temperature` | 0, or any with a `top_k` from 1 to 64 | the host draws |
/// | `top_k` | 1 to 64; any at temperature 0 | the host draws |
/// | `top_p`, `min_p`, `seed` | any | |
/// | `repetition_penalty`, `logit_bias` | up to 128 tokens in the window and with biases together | the host draws |
///
/// With the same random number the host draws the same token, unless that number is so near to the border between two tokens that
/// f32 (relative 2⁻²⁴ for each of up to 64 terms) and f64 differ. The same adapter gives the same tokens every time.
///
/// ```
/// use ziggurat_models::{DeviceSampler, Sampler, Sampling};
/// use ziggurat_tensor::{Device, DeviceOptions, Tensor};
///
/// let device = Device::open_blocking(DeviceOptions::default())?;
/// let scores = Tensor::from_slice(&device, &[0.5f32, 2.0, -1.0], [1, 3])?;
/// let mut greedy = Sampler::new(Sampling { on_device: true, ..Sampling::default() })?;
/// let draw = greedy.on_device(&[]);
/// let token = DeviceSampler::new(&device, 1, 3).draw(&scores, &[draw])?;
/// assert_eq!(token.to_vec_blocking::<i32>()?, [1]);
/// # Ok::<(), ziggurat_models::Error>(())
/// ```
#[derive(Debug)]
pub struct DeviceSampler {
    device: Device,
    rows: usize,
    vocabulary: usize,
    /// By whether only the best token is wanted, and whether scores are changed.
    captured: [Option<Captured>; 4],
}

impl DeviceSampler {
    /// One for so many rows of scores, of a vocabulary of so many tokens. Nothing is allocated before the first draw.
    pub fn new(device: &Device, rows: usize, vocabulary: usize) -> Self {
        Self {
            device: device.clone(),
            rows,
            vocabulary,
            captured: [const { None }; 4],
        }
    }

    /// A token of each row of scores, f32 `[rows, vocabulary]`: i32 `[rows]`; -1 where no token can be drawn, because a score is NaN
    /// or all are -infinity. Rows without a draw give any token.
    ///
    /// # Errors
    /// If there are not as many rows or tokens as this sampler is for, or the device fails.
    pub fn draw(&mut self, scores: &Tensor, draws: &[Option<Draw>]) -> Result<Tensor, Error> {
        let (rows, vocabulary) = (self.rows, self.vocabulary);
        let fits = scores.dims() == [rows, vocabulary] && scores.dtype() == DType::F32;
        if draws.len() != rows || vocabulary == 0 || !fits {
            let (given, dtype, shape) = (draws.len(), scores.dtype(), scores.shape());
            let rule =
                format!("there must be scores, f32 [{rows}, {vocabulary}], and {rows} draws");
            return Err(Error::Options(format!(
                "{rule}: they are {dtype} {shape} with {given} draws"
            )));
        }
        let best = draws.iter().flatten().all(|draw| draw.top_k == 1);
        let changed = draws.iter().flatten().any(|draw| !draw.changes.is_empty());
        let (mut tokens, mut numbers) = (Vec::new(), Vec::new());
        for draw in draws {
            self.inputs(draw.as_ref(), &mut tokens, &mut numbers)?;
        }
        let tokens = Tensor::from_slice(&self.device, &tokens, [rows, ENTRIES])?;
        let numbers = Tensor::from_slice(&self.device, &numbers, [rows, SCALARS + 2 * ENTRIES])?;
        let inputs = [scores, &tokens, &numbers];
        let at = 2 * usize::from(best) + usize::from(changed);
        let Some(place) = self.captured.get_mut(at) else {
            return Err(Error::NoTokens);
        };
        if place.is_none() {
            // Made before, not by every replay.
            let candidates = CANDIDATES.min(vocabulary) as i32;
            let ranks = Tensor::arange(&self.device, 0, candidates, 1, DType::I32)?;
            let captured = self.device.capture(&inputs, |inputs| {
                let [scores, tokens, numbers] = inputs else {
                    return Ok(Vec::new());
                };
                let given = Given::of(numbers)?;
                let scores = if changed {
                    given.changed(scores, tokens)?
                } else {
                    scores.clone()
                };
                let token = if best {
                    best_of(&scores)?
                } else {
                    given.drawn(&scores, &ranks)?
                };
                Ok(vec![token])
            })?;
            *place = Some(captured);
        }
        let captured = place.as_ref().ok_or(Error::NoTokens)?;
        let outputs = captured.run(&inputs)?;
        outputs.into_iter().next().ok_or(Error::NoTokens)
    }

    /// Adds the inputs of a row. Places that are left repeat a token with what becomes of it, or change nothing.
    fn inputs(
        &self,
        draw: Option<&Draw>,
        tokens: &mut Vec<i32>,
        numbers: &mut Vec<f32>,
    ) -> Result<(), Error> {
        let none = BTreeMap::new();
        let changes = draw.map_or(&none, |draw| &draw.changes);
        let known = |token: u32| usize::try_from(token).is_ok_and(|at| at < self.vocabulary);
        let changes: Vec<_> = changes.iter().filter(|(token, _)| known(**token)).collect();
        if changes.len() > ENTRIES {
            let rule = "a device can change the scores of 128 tokens";
            return Err(Error::Options(format!(
                "{rule}: {} are asked for",
                changes.len()
            )));
        }
        let (&first, &kept) = changes.first().copied().unwrap_or((&0, &[0.0, 1.0]));
        let all = || {
            let given = changes.iter().map(|&(&token, &change)| (token, change));
            given.chain(std::iter::repeat((first, kept))).take(ENTRIES)
        };
        // Tokens of a vocabulary are far below 2^31.
        tokens.extend(all().map(|(token, _)| token.cast_signed()));
        numbers.extend(match draw {
            Some(draw) => [
                draw.temperature,
                draw.top_k as f32,
                draw.top_p,
                draw.min_p,
                draw.random,
            ],
            None => [1.0, 1.0, 1.0, 0.0, 0.0],
        });
        numbers.extend(all().map(|(_, [added, _])| added));
        numbers.extend(all().map(|(_, [_, divisor])| divisor));
        Ok(())
    }
}

/// The best token of each row: the first, if several are. -1 where a score is NaN or all are -infinity.
fn best_of(scores: &Tensor) -> Result<Tensor, TensorError> {
    // Of a row with NaN that is the greatest.
    let (best, at) = scores.max_with_indices(1, true)?;
    let wrong = best.is_nan()?.logical_or(&best.eq(f64::NEG_INFINITY)?)?;
    wrong.where_(-1, &at)?.squeeze_axis(1)
}

/// The inputs of a draw on the device, each `[rows, 1]` or `[rows, ENTRIES]`.
struct Given {
    temperature: Tensor,
    top_k: Tensor,
    top_p: Tensor,
    min_p: Tensor,
    random: Tensor,
    added: Tensor,
    divisors: Tensor,
}

impl Given {
    fn of(numbers: &Tensor) -> Result<Self, TensorError> {
        let scalar = |at| numbers.narrow(1, at, 1);
        Ok(Self {
            temperature: scalar(0)?,
            top_k: scalar(1)?,
            top_p: scalar(2)?,
            min_p: scalar(3)?,
            random: scalar(4)?,
            added: numbers.narrow(1, SCALARS, ENTRIES)?,
            divisors: numbers.narrow(1, SCALARS + ENTRIES, ENTRIES)?,
        })
    }

    /// Scores with biases and penalties.
    fn changed(&self, scores: &Tensor, tokens: &Tensor) -> Result<Tensor, TensorError> {
        let banned = self.added.eq(f64::NEG_INFINITY)?;
        let biased = scores.gather(1, tokens)?.add(&self.added)?;
        // Infinite less infinite is no number.
        let biased = banned.where_(f32::NEG_INFINITY, &biased)?;
        let (less, more) = (biased.div(&self.divisors)?, biased.mul(&self.divisors)?);
        scores.scatter(1, tokens, &biased.gt(0.0)?.where_(&less, &more)?)
    }

    /// The token of each row; `ranks` are as many as tokens are drawn from.
    fn drawn(&self, scores: &Tensor, ranks: &Tensor) -> Result<Tensor, TensorError> {
        let wrong = scores.is_nan()?.any([1], true)?;
        let (values, at) = scores.topk(ranks.len(), 1, true)?;
        let best = values.narrow(1, 0, 1)?;
        let wrong = wrong.logical_or(&best.eq(f64::NEG_INFINITY)?)?;
        let difference = values.sub(&best)?;
        // Infinite less infinite.
        let difference = difference.is_nan()?.where_(0.0, &difference)?;
        let weights = difference.div(&self.temperature)?.exp()?;
        let inside = ranks.to_dtype(DType::F32)?.lt(&self.top_k)?;
        let weights = inside.where_(&weights, 0.0)?;
        let reached = weights.cumsum(1)?.sub(&weights)?;
        let all = weights.sum([1], true)?;
        let kept = reached
            .lt(&self.top_p.mul(&all)?)?
            .logical_and(&weights.ge(&self.min_p)?)?
            .logical_and(&weights.gt(0.0)?)?
            // The best one is always left.
            .logical_or(&ranks.eq(0)?)?;
        let weights = kept.where_(&weights, 0.0)?;
        let aim = self.random.mul(&weights.sum([1], true)?)?;
        let passed = weights.cumsum(1)?.le(&aim)?.to_dtype(DType::I32)?;
        let left = kept.to_dtype(DType::I32)?.sum([1], true)?;
        let rank = passed.sum([1], true)?.minimum(&left.sub(1)?)?;
        let token = at.gather(1, &rank)?;
        wrong.where_(-1, &token)?.squeeze_axis(1)
    }
}
