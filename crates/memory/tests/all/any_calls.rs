//! Random calls of memory, with sizes and offsets that fit and that do not, against a model of vectors.

use crate::campaign::Campaign;
use crate::common::{memory, small_staging};
use ziggurat_memory::{Buffer, Memory, MemoryError};

/// A small generator (SplitMix64).
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Mostly a small number, which is mostly whole words; sometimes one at the end of what there is.
    fn size(&mut self) -> u64 {
        match self.roll() % 12 {
            0 => 0,
            1 => u64::MAX - self.roll() % 8,
            2 => (1 << 62) + self.roll() % 8,
            3 => self.roll() % 70_000,
            4 | 5 => self.roll() % 64,
            _ => self.roll() % 256 * 4,
        }
    }
}

/// A buffer and what it holds.
struct Held {
    buffer: Buffer,
    bytes: Vec<u8>,
}

/// Whether so many bytes from an offset on lie within a length.
fn lies_within(len: usize, offset: u64, bytes: u64) -> bool {
    offset
        .checked_add(bytes)
        .is_some_and(|end| end <= len as u64)
}

/// An error names its rule in few words.
fn told<T>(result: Result<T, MemoryError>) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(error) => {
            let text = error.to_string();
            assert!(!text.is_empty() && text.len() < 1024, "{text}");
            None
        }
    }
}

fn index(held: &[Held], dice: &mut Dice) -> usize {
    (dice.roll() % held.len() as u64) as usize
}

fn call(memory: &Memory, held: &mut Vec<Held>, dice: &mut Dice) {
    let (offset, size) = (dice.size(), dice.size());
    let fresh =
        |dice: &mut Dice, len: u64| -> Vec<u8> { (0..len).map(|_| dice.roll() as u8).collect() };
    if held.is_empty() || dice.roll().is_multiple_of(4) {
        if size > 1 << 30 {
            assert!(
                told(memory.alloc(size)).is_none(),
                "{size} bytes were given"
            );
            return;
        }
        let bytes = fresh(dice, size);
        held.extend(told(memory.upload(&bytes)).map(|buffer| Held { buffer, bytes }));
        return;
    }
    let at = index(held, dice);
    match dice.roll() % 4 {
        0 => drop(held.swap_remove(at)),
        1 => {
            let bytes = fresh(dice, size % 4096);
            let own = &mut held[at];
            let done = told(memory.write(&own.buffer, offset, &bytes)).is_some();
            assert!(!done || lies_within(own.bytes.len(), offset, bytes.len() as u64));
            if done {
                let start = offset as usize;
                own.bytes[start..start + bytes.len()].copy_from_slice(&bytes);
            }
        }
        2 => {
            let (to, target) = (index(held, dice), dice.size());
            let (from, into) = (held[at].buffer.clone(), held[to].buffer.clone());
            let done = told(memory.copy(&from, offset, &into, target, size)).is_some();
            if done {
                assert!(
                    lies_within(held[at].bytes.len(), offset, size),
                    "{offset} {size}"
                );
                assert!(
                    lies_within(held[to].bytes.len(), target, size),
                    "{target} {size}"
                );
                let start = offset as usize;
                let moved = held[at].bytes[start..start + size as usize].to_vec();
                let start = target as usize;
                held[to].bytes[start..start + moved.len()].copy_from_slice(&moved);
            }
        }
        _ => {
            let own = &held[at];
            let end = offset.saturating_add(size);
            if let Some(read) = told(memory.read(&own.buffer, offset..end)) {
                let got = read.wait().unwrap();
                assert!(
                    lies_within(own.bytes.len(), offset, size),
                    "{offset} {size}"
                );
                assert!(
                    got == own.bytes[offset as usize..end as usize],
                    "{offset} {size}"
                );
            }
        }
    }
}

#[test]
fn memory_holds_what_a_model_holds() {
    /// Calls on one memory.
    const AT_ONCE: u64 = 64;
    let mut campaign = Campaign::new(4000);
    let (mut memory_of, mut held) = (memory(small_staging()), Vec::new());
    while let Some(seed) = campaign.next() {
        campaign.note(seed, "on memory that earlier calls have filled");
        if campaign.done().is_multiple_of(AT_ONCE) {
            held.clear();
            memory_of = memory(small_staging());
        }
        call(&memory_of, &mut held, &mut Dice(seed));
    }
    println!("{} calls", campaign.done());
}
