//! Writes GGUF files byte by byte, right ones and wrong ones.

#![allow(dead_code, reason = "each program of tests uses its share")]

/// A file that grows field by field.
#[derive(Clone, Debug, Default)]
pub(crate) struct Writer {
    pub(crate) bytes: Vec<u8>,
}

impl Writer {
    /// A file of version 3 with so many tensors and entries of metadata.
    pub(crate) fn new(tensors: u64, entries: u64) -> Self {
        let mut this = Self::default();
        this.bytes.extend_from_slice(b"GGUF");
        this.u32(3).u64(tensors).u64(entries);
        this
    }

    pub(crate) fn u32(&mut self, value: u32) -> &mut Self {
        self.raw(&value.to_le_bytes())
    }

    pub(crate) fn u64(&mut self, value: u64) -> &mut Self {
        self.raw(&value.to_le_bytes())
    }

    pub(crate) fn raw(&mut self, bytes: &[u8]) -> &mut Self {
        self.bytes.extend_from_slice(bytes);
        self
    }

    pub(crate) fn text(&mut self, text: &str) -> &mut Self {
        self.u64(text.len() as u64).raw(text.as_bytes())
    }

    /// A key, and the number of its value's type.
    pub(crate) fn key(&mut self, key: &str, kind: u32) -> &mut Self {
        self.text(key).u32(kind)
    }

    /// A tensor of the table: extents as in the file, the fastest first.
    pub(crate) fn tensor(&mut self, name: &str, dims: &[u64], block: u32, at: u64) -> &mut Self {
        self.text(name).u32(dims.len() as u32);
        for &extent in dims {
            self.u64(extent);
        }
        self.u32(block).u64(at)
    }

    /// Zeros up to the next multiple, then so many bytes.
    pub(crate) fn data(&mut self, alignment: usize, bytes: usize) -> &mut Self {
        let start = self.bytes.len().next_multiple_of(alignment);
        self.bytes.resize(start + bytes, 0);
        self
    }

    /// Where the next field begins.
    pub(crate) fn at(&self) -> u64 {
        self.bytes.len() as u64
    }
}
