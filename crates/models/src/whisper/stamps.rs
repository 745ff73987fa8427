//! Timestamps among the tokens of a window: which may follow what is written, and the parts that they divide it into.

use super::config::WhisperConfig;
use super::greedy::Special;
use crate::Error;

/// The tokens of timestamps, which are the last ones of a vocabulary: 20 ms each, the first is the beginning of the window.
#[derive(Clone, Debug)]
pub(super) struct Stamps {
    /// That a text ends; tokens below it are text.
    end: u32,
    first: u32,
    /// Behind the last one: the vocabulary, or the end of a window.
    behind: u32,
    /// The latest one that a window begins with.
    latest: u32,
    /// Tokens that are never written, and those that a window does not begin with.
    suppressed: [Vec<u32>; 2],
}

/// A part of a window: its beginning and end in timestamps, and its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) start: u32,
    /// `None`: the end of the window.
    pub(super) end: Option<u32>,
    pub(super) tokens: Vec<u32>,
}

impl Stamps {
    pub(super) fn new(config: &WhisperConfig, special: &Special) -> Self {
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let first = special.plain.saturating_add(1);
        let most = first.saturating_add(number(config.encoder.positions).saturating_add(1));
        Self {
            end: special.end,
            first,
            behind: most.min(number(config.vocabulary)),
            latest: first.saturating_add(number(config.latest_start)),
            suppressed: [config.suppressed.clone(), config.suppressed_first.clone()],
        }
    }

    const fn is_stamp(&self, token: u32) -> bool {
        token >= self.first
    }

    /// The best token by the scores of all, f32 of the vocabulary, behind what is written of the window. Timestamps come in pairs, the end of a
    /// part and the beginning of the next, and do not decrease; one begins a window, not later than its limit; and one follows if
    /// all of them together are more probable than each other token.
    ///
    /// # Errors
    /// If a score is NaN, or none is left.
    pub(super) fn choose(&self, scores: &[f32], written: &[u32]) -> Result<u32, Error> {
        let vocabulary = scores.len();
        let all = u32::MAX;
        let mut scores = scores.to_vec();
        if scores.iter().any(|score| score.is_nan()) {
            return Err(Error::Scores(vocabulary));
        }
        let mut ban = |from: u32, to: u32| {
            let range = (from as usize).min(vocabulary)..(to as usize).min(vocabulary);
            if let Some(scores) = scores.get_mut(range) {
                scores.fill(f32::NEG_INFINITY);
            }
        };
        let [never, not_first] = &self.suppressed;
        for &token in never {
            ban(token, token.saturating_add(1));
        }
        // That there are no timestamps.
        ban(self.first - 1, self.first);
        ban(self.behind, all);
        let mut backwards = written.iter().rev().copied();
        let [last, before] = [backwards.next(), backwards.next()];
        let is_stamp = |token: Option<u32>| token.is_some_and(|token| self.is_stamp(token));
        match last {
            None => {
                for &token in not_first {
                    ban(token, token.saturating_add(1));
                }
                ban(0, self.first);
                ban(self.latest.saturating_add(1), all);
            }
            // The beginning of a part: text follows.
            Some(last) if self.is_stamp(last) && (before.is_none() || is_stamp(before)) => {
                ban(self.first, all);
            }
            // The end of a part: the next one begins, or the text ends.
            Some(last) if self.is_stamp(last) => ban(0, self.end),
            Some(_) => {}
        }
        let latest = written.iter().rev().find(|token| self.is_stamp(**token));
        if let Some(&latest) = latest {
            // A part that begins may begin where the last one ended; one that ends is not empty.
            let begins = is_stamp(last) && !is_stamp(before) && before.is_some();
            ban(
                self.first,
                if begins {
                    latest
                } else {
                    latest.saturating_add(1)
                },
            );
        }
        let (others, stamps) = scores.split_at((self.first as usize).min(vocabulary));
        let [most, most_of_stamps] = [others, stamps].map(greatest);
        let sum: f64 = stamps
            .iter()
            .map(|&score| (f64::from(score) - f64::from(most_of_stamps)).exp())
            .sum();
        let together = f64::from(most_of_stamps) + sum.ln();
        let chosen = if most_of_stamps.is_finite() && together > f64::from(most) {
            stamps
                .iter()
                .position(|&score| score == most_of_stamps)
                .map(|at| at + others.len())
        } else {
            others.iter().position(|&score| score == most)
        };
        let chosen = chosen.filter(|_| most.is_finite() || most_of_stamps.is_finite());
        let token = chosen.and_then(|token| u32::try_from(token).ok());
        token.ok_or(Error::Scores(vocabulary))
    }

    /// The parts of a window's tokens, and the timestamp that the next window begins at; `None` for the end of this one.
    pub(super) fn parts(&self, tokens: &[u32]) -> (Vec<Part>, Option<u32>) {
        let is_stamp = |at: usize| tokens.get(at).is_some_and(|token| self.is_stamp(*token));
        let mut ends: Vec<usize> = (1..tokens.len())
            .filter(|&at| is_stamp(at - 1) && is_stamp(at))
            .collect();
        let since = |token: &u32| token.saturating_sub(self.first);
        let text = |tokens: &[u32]| {
            let tokens = tokens.iter().copied();
            tokens.filter(|token| !self.is_stamp(*token)).collect()
        };
        if ends.is_empty() {
            // Of a text without an end, the last timestamp is that.
            let last = tokens.iter().rev().find(|token| self.is_stamp(**token));
            let last = last.map(since).filter(|last| *last > 0);
            let start = tokens.first().filter(|_| is_stamp(0)).map_or(0, since);
            let part = Part {
                start,
                end: last.filter(|last| *last > start),
                tokens: text(tokens),
            };
            return (vec![part], None);
        }
        // A single one at the end: nobody speaks behind it.
        let complete =
            tokens.len() >= 2 && is_stamp(tokens.len() - 1) && !is_stamp(tokens.len() - 2);
        if complete {
            ends.push(tokens.len());
        }
        let mut parts = Vec::new();
        let mut from = 0;
        for &end in &ends {
            let part = tokens.get(from..end).unwrap_or_default();
            parts.push(Part {
                start: part.first().map_or(0, since),
                end: part.last().map(since),
                tokens: text(part),
            });
            from = end;
        }
        // What is not complete is heard again, with what follows it.
        let next = tokens.get(from.saturating_sub(1)).map(since);
        (parts, next.filter(|next| !complete && *next > 0))
    }
}

/// The greatest score; -inf of none.
fn greatest(scores: &[f32]) -> f32 {
    scores.iter().copied().fold(f32::NEG_INFINITY, f32::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `tests/data/whisper_stamps.py` prints: the token of each case.
    const EXPECTED: [&str; 5] = [
        "ewh6wp505ADdn4A78C4wxpfkx2BxxAxxwwbr7fxD8049qd5xqwC8D4zx9B6w9rw00xct9j1CufoxC6aDA2vewqfxii16Dnorwkc8",
        "C7uuak8qCtn7qnbuftfx9nqCccdkr4wAeArthkk9fqoAu9B5doeapr94898Ctta9qve12cwyunex516ztvkoqzAh9pkat5nohx80",
        "pz5ic6uoqu0frqArn1gD7x4ucr1DuDBjn7dbfkc6tzD5c4ryqn6nuj0pithCbghiajuyBv19qxpzBuC7w2Brk7n7Dtwwo41exig0",
        "wjx5CC2brtv9ceuuh1ACaf1rB18xrCiA6oowubvyghuf4pw2Duxrbbub29zrn09w0p5eBxx5kb7oAdgd1qCr2tuBuqB1BCh0Dw9i",
        "ehuxg8nxwbaf7gwz8tx19q88x5gko4vd4b4ryfh4tjiABp1qrox4D6z9tce4ri5Aro1gttAfdoxDwq8Cxxxkn941dCauxxcoxDtp",
    ];
    const TOKENS: &str = "0123456789abcdefghijklmnopqrstuvwxyzABCD";

    fn stamps(latest: u32) -> Stamps {
        Stamps {
            end: 20,
            first: 29,
            behind: 40,
            latest: 29 + latest,
            suppressed: [vec![3, 21, 22], vec![5, 20, 31]],
        }
    }

    /// SplitMix64.
    struct Random(u64);

    impl Random {
        fn below(&mut self, n: u64) -> u32 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut x = self.0;
            x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            ((x ^ (x >> 31)) % n) as u32
        }
    }

    /// How many cases have another token than the reference.
    fn wrong(choose: impl Fn(&[f32], &[u32]) -> u32) -> usize {
        let expected = EXPECTED.concat();
        let case = |(number, expected): (u64, char)| {
            let mut random = Random(number);
            let written: Vec<u32> = (0..random.below(6))
                .map(|_| match random.below(2) {
                    0 => random.below(20),
                    _ => 29 + random.below(11),
                })
                .collect();
            let scores: Vec<f32> = (0..40)
                .map(|_| random.below(4096) as f32 / 256.0 - 8.0)
                .collect();
            TOKENS.find(expected) != Some(choose(&scores, &written) as usize)
        };
        assert_eq!(expected.len(), 500);
        (0..).zip(expected.chars()).filter(|one| case(*one)).count()
    }

    #[test]
    fn tokens_are_chosen_by_the_rules_of_the_reference() {
        assert_eq!(
            wrong(|scores, written| stamps(4).choose(scores, written).unwrap()),
            0
        );
        // Each rule makes a difference: a limit, what is suppressed, and what is written.
        assert!(wrong(|scores, written| stamps(3).choose(scores, written).unwrap()) > 5);
        let mut open = stamps(4);
        open.suppressed = [vec![], vec![]];
        assert!(wrong(|scores, written| open.choose(scores, written).unwrap()) > 20);
        let one = |scores: &[f32], written: &[u32]| {
            let last = &written[written.len().saturating_sub(1)..];
            stamps(4).choose(scores, last).unwrap()
        };
        assert!(wrong(one) > 50);
    }

    #[test]
    fn all_timestamps_together_are_weighed_against_each_other_token() {
        // e^2 of text, against eleven times e^0, and against four of them.
        let mut scores = [0.0f32; 40];
        scores[7] = 2.0;
        assert_eq!(stamps(4).choose(&scores, &[29, 1]).unwrap(), 30);
        assert_eq!(stamps(4).choose(&scores, &[29, 1, 35, 36, 1]).unwrap(), 7);
    }

    #[test]
    fn scores_that_are_no_numbers_are_an_error() {
        let mut scores = [0.0f32; 40];
        scores[12] = f32::NAN;
        assert!(matches!(
            stamps(4).choose(&scores, &[]),
            Err(Error::Scores(40))
        ));
        let none = [f32::NEG_INFINITY; 40];
        assert!(matches!(
            stamps(4).choose(&none, &[1]),
            Err(Error::Scores(40))
        ));
        assert!(matches!(stamps(4).choose(&[], &[]), Err(Error::Scores(0))));
    }

    #[test]
    fn pairs_of_timestamps_divide_a_window() {
        let parts = |tokens: &[u32]| {
            let (parts, next) = stamps(4).parts(tokens);
            let one = |part: Part| (part.start, part.end, part.tokens);
            (parts.into_iter().map(one).collect::<Vec<_>>(), next)
        };
        let whole = |end, tokens: &[u32]| (vec![(0, end, tokens.to_vec())], None);
        // Without a pair: all of the window, up to the last timestamp if there is one.
        assert_eq!(parts(&[1, 2]), whole(None, &[1, 2]));
        assert_eq!(parts(&[29, 1, 2]), whole(None, &[1, 2]));
        assert_eq!(parts(&[29, 1, 2, 35]), whole(Some(6), &[1, 2]));
        assert_eq!(parts(&[]), whole(None, &[]));
        assert_eq!(parts(&[31, 1]), (vec![(2, None, vec![1])], None));
        // Two parts, of which the last is complete: the window is.
        let two = vec![(0, Some(3), vec![1]), (4, Some(7), vec![2])];
        assert_eq!(parts(&[29, 1, 32, 33, 2, 36]), (two.clone(), None));
        // A third one begins, and is heard again from the end of the second.
        assert_eq!(
            parts(&[29, 1, 32, 33, 2, 36, 36, 3]),
            (two.clone(), Some(7))
        );
        assert_eq!(parts(&[29, 1, 32, 33, 2, 36, 36]), (two, Some(7)));
        // Nothing is gained by hearing a window again from its beginning.
        assert_eq!(parts(&[29, 29, 1]).1, None);
    }
}
