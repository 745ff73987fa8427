//! Keys of bind groups.

use super::{Entry, INLINE, Layout};

/// The words of a cache key as they are gathered: the layout's number, then of each entry twice the buffer's number; one
/// more for a part of the buffer, and behind it offset and length.
#[derive(Debug)]
pub(crate) struct KeyWords {
    few: [u64; 1 + 3 * INLINE],
    len: usize,
    /// All of them, once they are more.
    many: Vec<u64>,
}

impl KeyWords {
    #[inline]
    pub(crate) fn new(layout: Option<&Layout>) -> Self {
        let mut words = Self {
            few: [0; 1 + 3 * INLINE],
            len: 0,
            many: Vec::new(),
        };
        words.push(layout.map_or(0, |layout| layout.id));
        words
    }

    #[inline]
    fn push(&mut self, word: u64) {
        match self.few.get_mut(self.len) {
            Some(slot) => {
                *slot = word;
                self.len += 1;
            }
            None => {
                if self.many.is_empty() {
                    self.many.extend_from_slice(&self.few);
                }
                self.many.push(word);
            }
        }
    }

    /// All of a buffer.
    #[inline]
    pub(crate) fn whole(&mut self, id: u64) {
        self.push(id << 1);
    }

    #[inline]
    pub(crate) fn part(&mut self, id: u64, offset: u64, bytes: u64) {
        for word in [id << 1 | 1, offset, bytes] {
            self.push(word);
        }
    }

    pub(crate) fn entry(&mut self, entry: &Entry<'_>) {
        if entry.offset == 0 && entry.bytes == entry.buffer.size() {
            self.whole(entry.id);
        } else {
            self.part(entry.id, entry.offset, entry.bytes);
        }
    }

    #[inline]
    pub(super) fn as_slice(&self) -> &[u64] {
        if self.many.is_empty() {
            self.few.get(..self.len).unwrap_or_default()
        } else {
            &self.many
        }
    }
}

/// The buffer ids of a key.
pub(super) fn buffers(key: &[u64]) -> impl Iterator<Item = u64> {
    let mut words = key.iter().skip(1);
    std::iter::from_fn(move || {
        let word = words.next()?;
        if word & 1 == 1 {
            // Offset and length.
            words.nth(1);
        }
        Some(word >> 1)
    })
}
