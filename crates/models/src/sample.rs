//! Which token follows, from the scores of all.

use std::collections::{BTreeMap, HashSet};

use crate::Error;
use crate::device_sampler::{CANDIDATES, Draw, ENTRIES};

/// How the next token is drawn.
///
/// Scores are biased, penalised, divided by the temperature, and cut by `top_k`, `top_p` and `min_p` in this order; what is
/// left is drawn from by its probability. The same seed gives the same tokens.
#[derive(Clone, Debug, PartialEq)]
pub struct Sampling {
    /// How even the probabilities become; 0 takes the token with the highest score, always.
    pub temperature: f32,
    /// Only so many of the best tokens; 0 for all.
    pub top_k: usize,
    /// Only the best tokens whose probabilities together reach this; 1 for all.
    pub top_p: f32,
    /// Only tokens whose probability is at least this fraction of the best one's; 0 for all.
    pub min_p: f32,
    /// What scores of tokens that were there are divided by, or multiplied if negative; 1 leaves them.
    pub repetition_penalty: f32,
    /// How many of the last tokens count for the penalty.
    pub repetition_window: usize,
    /// What is added to scores of tokens: -infinity bans one.
    pub logit_bias: Vec<(u32, f32)>,
    /// Where the random numbers begin.
    pub seed: u64,
    /// Whether tokens are drawn on the device, where it can: [`DeviceSampler`](crate::DeviceSampler).
    pub on_device: bool,
}

impl Default for Sampling {
    /// The token with the highest score.
    fn default() -> Self {
        Self {
            temperature: 0.0,
            top_k: 40,
            top_p: 0.95,
            min_p: 0.05,
            repetition_penalty: 1.0,
            repetition_window: 64,
            logit_bias: Vec::new(),
            seed: 0,
            on_device: false,
        }
    }
}

/// Draws tokens one after the other.
///
/// ```
/// use ziggurat_models::{Sampler, Sampling};
///
/// let mut greedy = Sampler::new(Sampling::default())?;
/// assert_eq!(greedy.draw(&mut [0.5, 2.0, -1.0], &[])?, 1);
/// let penalty = Sampling { repetition_penalty: 8.0, ..Sampling::default() };
/// assert_eq!(Sampler::new(penalty)?.draw(&mut [0.5, 2.0, -1.0], &[1])?, 0);
/// # Ok::<(), ziggurat_models::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Sampler {
    options: Sampling,
    state: u64,
}

impl Sampler {
    /// One that begins at the seed.
    ///
    /// # Errors
    /// If an option is out of its range.
    pub fn new(options: Sampling) -> Result<Self, Error> {
        let fraction = |value: f32| (0.0..=1.0).contains(&value);
        let wrong = |text: &str, value: f32| Err(Error::Options(format!("{text}: it is {value}")));
        if !(options.temperature >= 0.0 && options.temperature.is_finite()) {
            return wrong("the temperature must be 0 or more", options.temperature);
        }
        if !(fraction(options.top_p) && options.top_p > 0.0) {
            return wrong("top_p must be above 0 and up to 1", options.top_p);
        }
        if !fraction(options.min_p) {
            return wrong("min_p must be from 0 to 1", options.min_p);
        }
        if !(options.repetition_penalty > 0.0 && options.repetition_penalty.is_finite()) {
            return wrong(
                "the repetition penalty must be above 0",
                options.repetition_penalty,
            );
        }
        let mut biases = options.logit_bias.iter().map(|&(_, bias)| bias);
        if let Some(bias) = biases.find(|&bias| bias.is_nan() || bias == f32::INFINITY) {
            return wrong("a bias must be a number below infinity", bias);
        }
        Ok(Self {
            state: options.seed,
            options,
        })
    }

    /// Whether [`DeviceSampler`](crate::DeviceSampler) is asked to draw the tokens, and can.
    pub fn is_on_device(&self) -> bool {
        let options = &self.options;
        let penalised = match options.repetition_penalty {
            1.0 => 0,
            _ => options.repetition_window,
        };
        options.on_device
            && (options.temperature == 0.0 || (1..=CANDIDATES).contains(&options.top_k))
            && options.logit_bias.len().saturating_add(penalised) <= ENTRIES
    }

    /// Whether a draw depends on the tokens before it by more than their scores.
    pub(crate) fn looks_back(&self) -> bool {
        self.options.repetition_penalty != 1.0
    }

    /// What a [`DeviceSampler`](crate::DeviceSampler) draws the token by that follows `before`: with the random number that
    /// [`Sampler::draw`] would take. `None` unless [`Sampler::is_on_device`].
    pub fn on_device(&mut self, before: &[u32]) -> Option<Draw> {
        if !self.is_on_device() {
            return None;
        }
        let greedy = self.options.temperature == 0.0;
        let random = if greedy { 0.0 } else { self.random() as f32 };
        let options = &self.options;
        let mut changes: BTreeMap<u32, [f32; 2]> = BTreeMap::new();
        for &(token, bias) in &options.logit_bias {
            changes.entry(token).or_insert([0.0, 1.0])[0] += bias;
        }
        if options.repetition_penalty != 1.0 {
            for token in self.recent(before) {
                changes.entry(token).or_insert([0.0, 1.0])[1] = options.repetition_penalty;
            }
        }
        Some(Draw {
            changes,
            temperature: if greedy { 1.0 } else { options.temperature },
            top_k: if greedy { 1 } else { options.top_k },
            top_p: options.top_p,
            min_p: options.min_p,
            random,
        })
    }

    /// The last tokens, which count for the penalty.
    fn recent(&self, before: &[u32]) -> HashSet<u32> {
        let start = before.len().saturating_sub(self.options.repetition_window);
        before.iter().skip(start).copied().collect()
    }

    /// The token that follows `before`, of the scores of all, which are changed.
    ///
    /// # Errors
    /// If there are no scores, one is NaN, or all are banned.
    pub fn draw(&mut self, scores: &mut [f32], before: &[u32]) -> Result<u32, Error> {
        if scores.is_empty() || scores.iter().any(|score| score.is_nan()) {
            return Err(Error::Scores(scores.len()));
        }
        for &(token, bias) in &self.options.logit_bias {
            let at = usize::try_from(token).unwrap_or(usize::MAX);
            if let Some(score) = scores.get_mut(at) {
                // Infinite less infinite is no number.
                *score = match bias {
                    f32::NEG_INFINITY => bias,
                    _ => *score + bias,
                };
            }
        }
        if !scores.iter().any(|&score| score > f32::NEG_INFINITY) {
            return Err(Error::Scores(scores.len()));
        }
        self.penalise(scores, before);
        let mut order: Vec<(f32, u32)> = scores.iter().copied().zip(0..).collect();
        let best = |a: &(f32, u32), b: &(f32, u32)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
        if self.options.temperature == 0.0 {
            let first = order.into_iter().min_by(best);
            return first.map_or(Err(Error::Scores(0)), |(_, token)| Ok(token));
        }
        let keep = match self.options.top_k {
            0 => order.len(),
            most => most.min(order.len()),
        };
        if keep < order.len() {
            order.select_nth_unstable_by(keep, best);
            order.truncate(keep);
        }
        order.sort_unstable_by(best);
        let highest = order.first().map_or(0.0, |(score, _)| f64::from(*score));
        let temperature = f64::from(self.options.temperature);
        let weight = |score: f32| match f64::from(score) - highest {
            // Infinite less infinite.
            difference if difference.is_nan() => 1.0,
            difference => (difference / temperature).exp(),
        };
        let mut weights: Vec<f64> = order.iter().map(|&(score, _)| weight(score)).collect();
        let total: f64 = weights.iter().sum();
        let mut reached = 0.0;
        let nucleus = weights.iter().take_while(|&&weight| {
            let more = weight > 0.0 && reached < f64::from(self.options.top_p) * total;
            reached += weight;
            more
        });
        let least = weights.first().copied().unwrap_or(0.0) * f64::from(self.options.min_p);
        // The best one is always left.
        let left = nucleus
            .take_while(|&&weight| weight >= least)
            .count()
            .max(1);
        weights.truncate(left);
        let total: f64 = weights.iter().sum();
        let mut rest = self.random() * total;
        let found = weights.iter().position(|weight| {
            rest -= weight;
            rest < 0.0
        });
        let at = found.unwrap_or(left - 1);
        order
            .get(at)
            .map_or(Err(Error::Scores(0)), |(_, token)| Ok(*token))
    }

    fn penalise(&self, scores: &mut [f32], before: &[u32]) {
        let penalty = self.options.repetition_penalty;
        if penalty == 1.0 {
            return;
        }
        for token in self.recent(before) {
            let at = usize::try_from(token).unwrap_or(usize::MAX);
            if let Some(score) = scores.get_mut(at) {
                *score = if *score > 0.0 {
                    *score / penalty
                } else {
                    *score * penalty
                };
            }
        }
    }

    /// A number from 0 to 1: SplitMix64, by Steele, Lea and Flood.
    fn random(&mut self) -> f64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.state;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((x ^ (x >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
}
