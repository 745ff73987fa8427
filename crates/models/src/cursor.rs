//! Fields of a file one behind the other.

use std::io;

use crate::content::Content;

/// Why a field cannot be read.
#[derive(Debug)]
pub(crate) enum Unreadable {
    /// The file ends within the field.
    Truncated(Truncated),
    Io(io::Error),
}

/// A field for which the rest of a file is too small.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Truncated {
    pub(crate) offset: u64,
    pub(crate) what: &'static str,
    pub(crate) needed: u64,
    pub(crate) left: u64,
}

/// Bytes that are read at once.
const CHUNK: u64 = 1 << 16;

/// A position in a file; never behind its end.
#[derive(Debug)]
pub(crate) struct Cursor<'a> {
    content: &'a Content,
    end: u64,
    at: u64,
    /// What was read last, and where it begins.
    chunk: Vec<u8>,
    start: u64,
}

impl<'a> Cursor<'a> {
    /// From an offset of a file up to another one, which is not behind the file's end.
    pub(crate) const fn new(content: &'a Content, at: u64, end: u64) -> Self {
        Self {
            content,
            end,
            at,
            chunk: Vec::new(),
            start: 0,
        }
    }

    pub(crate) const fn at(&self) -> u64 {
        self.at
    }

    /// Bytes up to the end.
    pub(crate) const fn left(&self) -> u64 {
        self.end.saturating_sub(self.at)
    }

    fn check(&self, what: &'static str, needed: u64) -> Result<(), Unreadable> {
        let left = self.left();
        if needed <= left {
            return Ok(());
        }
        Err(Unreadable::Truncated(Truncated {
            offset: self.at,
            what,
            needed,
            left,
        }))
    }

    /// Passes over so many bytes.
    pub(crate) fn skip(&mut self, what: &'static str, count: u64) -> Result<(), Unreadable> {
        self.check(what, count)?;
        self.at += count;
        Ok(())
    }

    /// The next bytes.
    pub(crate) fn take(&mut self, what: &'static str, count: u64) -> Result<&[u8], Unreadable> {
        self.check(what, count)?;
        let read = self.chunk.len() as u64;
        if self.at < self.start || self.at + count > self.start + read {
            let wanted = count.max(CHUNK).min(self.left());
            let part = self.content.part(self.at, wanted);
            self.chunk = part.map_err(Unreadable::Io)?.into_owned();
            self.start = self.at;
        }
        let from = (self.at - self.start) as usize;
        self.at += count;
        let taken = self.chunk.get(from..from + count as usize);
        taken.ok_or_else(|| Unreadable::Io(io::ErrorKind::UnexpectedEof.into()))
    }

    pub(crate) fn array<const N: usize>(
        &mut self,
        what: &'static str,
    ) -> Result<[u8; N], Unreadable> {
        let mut out = [0; N];
        out.copy_from_slice(self.take(what, N as u64)?);
        Ok(out)
    }

    pub(crate) fn u8(&mut self, what: &'static str) -> Result<u8, Unreadable> {
        self.array(what).map(|[byte]| byte)
    }

    pub(crate) fn u16(&mut self, what: &'static str) -> Result<u16, Unreadable> {
        self.array(what).map(u16::from_le_bytes)
    }

    pub(crate) fn u32(&mut self, what: &'static str) -> Result<u32, Unreadable> {
        self.array(what).map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self, what: &'static str) -> Result<u64, Unreadable> {
        self.array(what).map(u64::from_le_bytes)
    }
}
