//! Read-modify-write, lane by lane in the order of invocations.

use std::sync::atomic::Ordering::Relaxed;

use super::machine::{LANES, Machine, Place};
use crate::engine::ir::{Addr, Reg, Rmw, Space};
use crate::engine::scalar::{Bin, flag};

/// What a word becomes.
pub(super) fn narrow(rmw: Rmw, old: u32, v: u32, compare: u32) -> u32 {
    match rmw {
        Rmw::Add => old.wrapping_add(v),
        Rmw::Sub => old.wrapping_sub(v),
        Rmw::And => old & v,
        Rmw::Or => old | v,
        Rmw::Xor => old ^ v,
        Rmw::Min { signed: true } => Bin::MinI.eval(old, v),
        Rmw::Min { signed: false } => old.min(v),
        Rmw::Max { signed: true } => Bin::MaxI.eval(old, v),
        Rmw::Max { signed: false } => old.max(v),
        Rmw::AddFloat => Bin::AddF.eval(old, v),
        Rmw::SubFloat => Bin::SubF.eval(old, v),
        Rmw::MinFloat => Bin::MinF.eval(old, v),
        Rmw::MaxFloat => Bin::MaxF.eval(old, v),
        Rmw::Exchange => v,
        Rmw::CompareExchange => {
            if old == compare {
                v
            } else {
                old
            }
        }
    }
}

fn wide(rmw: Rmw, old: u64, v: u64, compare: u64) -> u64 {
    match rmw {
        Rmw::Add => old.wrapping_add(v),
        Rmw::Sub => old.wrapping_sub(v),
        Rmw::And => old & v,
        Rmw::Or => old | v,
        Rmw::Xor => old ^ v,
        Rmw::Min { signed: true } => (old as i64).min(v as i64) as u64,
        Rmw::Min { signed: false } => old.min(v),
        Rmw::Max { signed: true } => (old as i64).max(v as i64) as u64,
        Rmw::Max { signed: false } => old.max(v),
        Rmw::Exchange => v,
        Rmw::CompareExchange if old == compare => v,
        // Floats of atomics have 32 bits.
        Rmw::CompareExchange | Rmw::AddFloat | Rmw::SubFloat | Rmw::MinFloat | Rmw::MaxFloat => old,
    }
}

fn join(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

impl Machine<'_> {
    pub(super) fn atomic(&mut self, rmw: Rmw, d: &[Reg], v: &[Reg], compare: &[Reg], at: &Addr) {
        let found = self.find(at);
        let zero = Place::Uniform(0);
        let place = |list: &[Reg], i: usize| list.get(i).map_or(zero, |reg| self.place(*reg));
        let (v0, v1) = (place(v, 0), place(v, 1));
        let (c0, c1) = (place(compare, 0), place(compare, 1));
        let is_wide = v.len() == 2;
        for lane in self.from * LANES..self.to * LANES {
            if !self.is_active(lane) {
                continue;
            }
            let start = self.address(&found, lane) as usize / 4;
            let value = join(self.word(v0, lane), self.word(v1, lane));
            let expected = join(self.word(c0, lane), self.word(c1, lane));
            let old = if is_wide {
                self.atomic_wide(rmw, at.space, start, value, expected)
            } else {
                u64::from(self.atomic_word(rmw, at.space, start, value as u32, expected as u32))
            };
            let exchanged = flag(if is_wide {
                old == expected
            } else {
                old as u32 == expected as u32
            });
            let results = if is_wide {
                [old as u32, (old >> 32) as u32, exchanged]
            } else {
                [old as u32, exchanged, 0]
            };
            for (reg, value) in d.iter().zip(results) {
                self.set_word(*reg, lane, value);
            }
        }
    }

    fn atomic_word(&mut self, rmw: Rmw, space: Space, at: usize, v: u32, compare: u32) -> u32 {
        match space {
            Space::Binding(binding) => {
                let Some(word) = self.buffer(binding).get(at) else {
                    return 0;
                };
                match rmw {
                    Rmw::Add => word.fetch_add(v, Relaxed),
                    Rmw::And => word.fetch_and(v, Relaxed),
                    Rmw::Or => word.fetch_or(v, Relaxed),
                    _ => {
                        let new = |old| Some(narrow(rmw, old, v, compare));
                        word.fetch_update(Relaxed, Relaxed, new).unwrap_or(0)
                    }
                }
            }
            Space::Workgroup => match self.workgroup.get_mut(at) {
                Some(word) => {
                    let old = *word;
                    *word = narrow(rmw, old, v, compare);
                    old
                }
                None => 0,
            },
            Space::Immediate => 0,
        }
    }

    fn atomic_wide(&mut self, rmw: Rmw, space: Space, at: usize, v: u64, compare: u64) -> u64 {
        match space {
            Space::Binding(binding) => {
                let Some(buffer) = self.shared.buffers.get(binding as usize) else {
                    return 0;
                };
                let Some([low, high]) = buffer.words.get(at..at + 2) else {
                    return 0;
                };
                let _lock = buffer.storage.wide.lock();
                let old = join(low.load(Relaxed), high.load(Relaxed));
                let new = wide(rmw, old, v, compare);
                low.store(new as u32, Relaxed);
                high.store((new >> 32) as u32, Relaxed);
                old
            }
            Space::Workgroup => match self.workgroup.get_mut(at..at + 2) {
                Some([low, high]) => {
                    let old = join(*low, *high);
                    let new = wide(rmw, old, v, compare);
                    (*low, *high) = (new as u32, (new >> 32) as u32);
                    old
                }
                _ => 0,
            },
            Space::Immediate => 0,
        }
    }
}
