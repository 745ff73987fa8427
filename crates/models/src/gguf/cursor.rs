//! Reads fields of a head one behind the other.

use super::error::{GgufError, GgufProblem};

/// Why reading stops.
#[derive(Debug)]
pub(super) enum Stop {
    /// The file goes on behind the bytes that were given.
    More,
    Wrong(GgufError),
}

/// A position in the first bytes of a file.
#[derive(Debug)]
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    /// Bytes of the whole file.
    total: u64,
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) const fn new(bytes: &'a [u8], total: u64) -> Self {
        Self {
            bytes,
            total,
            at: 0,
        }
    }

    pub(super) const fn offset(&self) -> u64 {
        self.at as u64
    }

    /// Bytes up to the end of the file.
    const fn left(&self) -> u64 {
        self.total.saturating_sub(self.at as u64)
    }

    /// The error of the field that begins at `offset`.
    pub(super) const fn wrong(offset: u64, problem: GgufProblem) -> Stop {
        Stop::Wrong(GgufError { offset, problem })
    }

    pub(super) fn take(&mut self, what: &'static str, count: u64) -> Result<&'a [u8], Stop> {
        let left = self.left();
        if count > left {
            let needed = count;
            let problem = GgufProblem::Truncated { what, needed, left };
            return Err(Self::wrong(self.offset(), problem));
        }
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let count = usize::try_from(count).map_err(|_| Stop::More)?;
        let taken = rest.get(..count).ok_or(Stop::More)?;
        self.at += count;
        Ok(taken)
    }

    pub(super) fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], Stop> {
        let mut out = [0; N];
        out.copy_from_slice(self.take(what, N as u64)?);
        Ok(out)
    }

    pub(super) fn u32(&mut self, what: &'static str) -> Result<u32, Stop> {
        self.array(what).map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self, what: &'static str) -> Result<u64, Stop> {
        self.array(what).map(u64::from_le_bytes)
    }

    /// A count of things that take at least so many bytes each, for which there is room.
    pub(super) fn count(&mut self, what: &'static str, least: u64) -> Result<u64, Stop> {
        let offset = self.offset();
        let count = self.u64(what)?;
        let left = self.left();
        if count.checked_mul(least).is_none_or(|bytes| bytes > left) {
            let problem = GgufProblem::Count {
                what,
                count,
                least,
                left,
            };
            return Err(Self::wrong(offset, problem));
        }
        Ok(count)
    }

    pub(super) fn string(&mut self, what: &'static str) -> Result<String, Stop> {
        let offset = self.offset();
        let count = self.count(what, 1)?;
        let text = std::str::from_utf8(self.take(what, count)?);
        text.map(str::to_owned)
            .map_err(|_| Self::wrong(offset, GgufProblem::Utf8(what)))
    }
}
