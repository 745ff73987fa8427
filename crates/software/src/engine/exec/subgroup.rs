//! Subgroup operations: consecutive invocations form subgroups; only active ones take part.

use super::machine::{LANES, Machine};
use crate::engine::ir::{Reg, Sub};
use crate::engine::scalar::{Fun, flag};

/// A value of one or two words.
type Word2 = [u32; 2];

impl Machine<'_> {
    pub(super) fn subgroup(&mut self, sub: Sub, d: &[Reg], a: &[Reg]) {
        let size = self.code.subgroup as usize;
        let total = self.to * LANES;
        let mut start = self.from * LANES / size * size;
        while start < total {
            let lanes: Vec<usize> = (start..(start + size).min(total))
                .filter(|lane| self.is_active(*lane))
                .collect();
            if !lanes.is_empty() {
                self.one_subgroup(sub, d, a, start, &lanes);
            }
            start += size;
        }
    }

    /// The word that operand `i` has in a lane.
    fn operand(&self, a: &[Reg], i: usize, lane: usize) -> u32 {
        a.get(i).map_or(0, |reg| self.word(self.place(*reg), lane))
    }

    fn one_subgroup(&mut self, sub: Sub, d: &[Reg], a: &[Reg], start: usize, lanes: &[usize]) {
        let value = |machine: &Self, lane: usize| -> Word2 {
            let second = if d.len() == 2 {
                machine.operand(a, 1, lane)
            } else {
                0
            };
            [machine.operand(a, 0, lane), second]
        };
        let first = lanes.first().copied().unwrap_or(start);
        // Results are gathered before any is written: a result may share a place with an operand.
        let mut results: Vec<[u32; 4]> = Vec::with_capacity(lanes.len());
        match sub {
            Sub::Ballot => {
                let mut bits = [0u32; 4];
                for lane in lanes {
                    let bit = lane - start;
                    if self.operand(a, 0, *lane) != 0
                        && let Some(word) = bits.get_mut(bit / 32)
                    {
                        *word |= 1 << (bit % 32);
                    }
                }
                results.resize(lanes.len(), bits);
            }
            Sub::All => {
                let all = lanes.iter().all(|lane| self.operand(a, 0, *lane) != 0);
                results.resize(lanes.len(), [flag(all), 0, 0, 0]);
            }
            Sub::Any => {
                let any = lanes.iter().any(|lane| self.operand(a, 0, *lane) != 0);
                results.resize(lanes.len(), [flag(any), 0, 0, 0]);
            }
            Sub::Reduce(f) => {
                let mut sum: Option<Word2> = None;
                for lane in lanes {
                    let next = value(self, *lane);
                    sum = Some(sum.map_or(next, |sum| combine(f, sum, next, d.len())));
                }
                let [low, high] = sum.unwrap_or_default();
                results.resize(lanes.len(), [low, high, 0, 0]);
            }
            Sub::Inclusive(f) | Sub::Exclusive(f) => {
                let exclusive = matches!(sub, Sub::Exclusive(_));
                let words = d.len();
                let identity = [
                    self.operand(a, words, first),
                    self.operand(a, words + 1, first),
                ];
                let mut sum: Option<Word2> = None;
                for lane in lanes {
                    let next = value(self, *lane);
                    let with = sum.map_or(next, |sum| combine(f, sum, next, words));
                    let [low, high] = if exclusive {
                        sum.unwrap_or(identity)
                    } else {
                        with
                    };
                    results.push([low, high, 0, 0]);
                    sum = Some(with);
                }
            }
            Sub::First
            | Sub::Shuffle
            | Sub::ShuffleDown
            | Sub::ShuffleUp
            | Sub::ShuffleXor
            | Sub::QuadBroadcast
            | Sub::QuadSwap(_) => {
                for lane in lanes {
                    let own = lane - start;
                    let by = self.operand(a, 1, *lane) as usize;
                    let from = match sub {
                        Sub::First => first - start,
                        Sub::ShuffleDown => own.saturating_add(by),
                        Sub::ShuffleUp => own.checked_sub(by).unwrap_or(usize::MAX),
                        Sub::ShuffleXor => own ^ by,
                        Sub::QuadBroadcast => (own & !3) | (by & 3),
                        Sub::QuadSwap(bits) => own ^ bits as usize,
                        _ => by,
                    };
                    // From an invocation that takes no part comes zero.
                    let from = start.saturating_add(from);
                    let taken = lanes.binary_search(&from).is_ok();
                    results.push([if taken { self.operand(a, 0, from) } else { 0 }, 0, 0, 0]);
                }
            }
        }
        for (lane, words) in lanes.iter().zip(results) {
            for (reg, word) in d.iter().zip(words) {
                self.set_word(*reg, *lane, word);
            }
        }
    }
}

fn combine(f: Fun, a: Word2, b: Word2, words: usize) -> Word2 {
    if words == 2 {
        return (f.0)(&[a[0], a[1], b[0], b[1], 0, 0, 0, 0]);
    }
    (f.0)(&[a[0], b[0], 0, 0, 0, 0, 0, 0])
}
