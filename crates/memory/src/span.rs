//! Byte ranges against the 4-byte granularity of buffer copies.
//!
//! Reads are widened to whole words and sliced on the host.
//! Writes are split into at most one word at the front and one at the back that are shared with
//! neighbouring bytes, and whole words between them. A write up to the end of its buffer has no
//! shared word there: what follows is padding that nobody can read.

use crate::error::MemoryError;
use std::ops::Range;

/// Copies move whole words of this many bytes.
pub(crate) const WORD: u64 = wgpu::COPY_BUFFER_ALIGNMENT;

/// Checks that `offset .. offset + bytes` lies within `within` bytes.
pub(crate) fn checked(offset: u64, bytes: u64, within: u64) -> Result<Range<u64>, MemoryError> {
    let end = offset.checked_add(bytes);
    match end {
        Some(end) if end <= within => Ok(offset..end),
        _ => Err(MemoryError::OutOfRange {
            start: offset,
            end: end.unwrap_or(u64::MAX),
            bytes: within,
        }),
    }
}

/// A byte count on this host, or the error that says there is no room for it.
pub(crate) fn host_len(bytes: u64) -> Result<usize, MemoryError> {
    usize::try_from(bytes).map_err(|_| MemoryError::HostMemory { requested: bytes })
}

/// `offset` rounded down to a whole word.
pub(crate) const fn floor(offset: u64) -> u64 {
    offset / WORD * WORD
}

/// `offset` rounded up to a whole word, saturating at the last whole word.
pub(crate) const fn ceil(offset: u64) -> u64 {
    match offset.checked_next_multiple_of(WORD) {
        Some(up) => up,
        None => u64::MAX / WORD * WORD,
    }
}

/// A word of which a write covers only some bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SharedWord {
    /// Byte offset of the word in the buffer.
    pub(crate) offset: u64,
    /// The bytes of the word that are written.
    pub(crate) lanes: Range<usize>,
    /// Where they are in the data.
    pub(crate) data: Range<usize>,
}

/// How a write is carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WritePlan {
    pub(crate) front: Option<SharedWord>,
    /// Offset in the buffer, a multiple of the word.
    pub(crate) body_offset: u64,
    /// The data of the body; only a body that ends at the end of the buffer may end within a word.
    pub(crate) body: Range<usize>,
    pub(crate) back: Option<SharedWord>,
}

/// Splits a write of `len` bytes at `offset` into a buffer of `buffer_bytes`.
///
/// The range must have been [`checked`] and `len` must not be zero.
pub(crate) fn plan_write(offset: u64, len: usize, buffer_bytes: u64) -> WritePlan {
    let bytes = len as u64;
    let end = offset + bytes;
    let lane = |at: u64| (at % WORD) as usize;
    let starts_within = !offset.is_multiple_of(WORD);
    let ends_within = !end.is_multiple_of(WORD) && end != buffer_bytes;
    let front_len = if starts_within {
        len.min(WORD as usize - lane(offset))
    } else {
        0
    };
    let front = starts_within.then(|| SharedWord {
        offset: floor(offset),
        lanes: lane(offset)..lane(offset) + front_len,
        data: 0..front_len,
    });
    let rest = len - front_len;
    let back_len = if ends_within && rest > 0 {
        lane(end)
    } else {
        0
    };
    let back = (back_len > 0).then(|| SharedWord {
        offset: floor(end),
        lanes: 0..back_len,
        data: len - back_len..len,
    });
    WritePlan {
        front,
        body_offset: ceil(offset),
        body: front_len..len - back_len,
        back,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    /// Carries a plan out on host memory, word by word, the way the device does it.
    fn write(memory: &mut [u8], offset: u64, data: &[u8], buffer_bytes: u64) {
        let plan = plan_write(offset, data.len(), buffer_bytes);
        for word in plan.front.iter().chain(&plan.back) {
            assert_eq!(word.offset % WORD, 0);
            let at = word.offset as usize;
            memory[at..at + 4][word.lanes.clone()].copy_from_slice(&data[word.data.clone()]);
        }
        let body = &data[plan.body.clone()];
        if !body.is_empty() {
            assert_eq!(plan.body_offset % WORD, 0);
            let at = plan.body_offset as usize;
            let padded = body.len().next_multiple_of(4);
            memory[at..at + padded].fill(0);
            memory[at..at + body.len()].copy_from_slice(body);
        }
    }

    #[test]
    fn every_small_write_changes_its_bytes_and_no_neighbour() {
        for buffer_bytes in 1..24_u64 {
            for offset in 0..buffer_bytes {
                for len in 1..=buffer_bytes - offset {
                    let mut memory = vec![0xEE_u8; buffer_bytes.next_multiple_of(16) as usize];
                    let data: Vec<u8> = (1..=len as u8).collect();
                    write(&mut memory, offset, &data, buffer_bytes);
                    for at in 0..buffer_bytes {
                        let want = if (offset..offset + len).contains(&at) {
                            (at - offset + 1) as u8
                        } else {
                            0xEE
                        };
                        assert_eq!(
                            memory[at as usize], want,
                            "{offset}+{len} of {buffer_bytes}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn a_write_to_the_end_shares_no_word_there() {
        assert_eq!(plan_write(0, 7, 7).back, None);
        assert!(plan_write(0, 7, 8).back.is_some());
        assert_eq!(plan_write(4, 8, 100).front, None);
        assert_eq!(plan_write(4, 8, 100).back, None);
    }

    #[test]
    fn ranges_outside_the_buffer_are_refused_without_overflow() {
        assert_eq!(checked(4, 4, 8).unwrap(), 4..8);
        assert_eq!(checked(8, 0, 8).unwrap(), 8..8);
        for (offset, bytes) in [(5, 4), (9, 0), (u64::MAX, 1), (1, u64::MAX)] {
            assert!(matches!(
                checked(offset, bytes, 8),
                Err(MemoryError::OutOfRange { .. })
            ));
        }
    }
}
