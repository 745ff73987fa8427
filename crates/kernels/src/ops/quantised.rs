//! Quantised matrices: their blocks in planes, products with them, their rows as numbers.
//!
//! On a device the blocks of a matrix lie in planes: the same field of every block, row by row, then the next field, each plane at a
//! multiple of 16 bytes; some fields in an encoding that is decoded faster than that of files ([`FieldLayout`]). So kernels load 16
//! bytes at a time whatever a block's length is. They decode in registers; the numbers are those of [`BlockFormat::dequantize`] in
//! every bit.
//!
//! Invariants: [`BlockShape`] says everything that kernels need to know of the words; a product with few rows reads each block
//! once for each eight of them, on matrix units once for each 64;
//! sums have a fixed order.

use std::sync::atomic::{AtomicBool, Ordering};

use ziggurat_core::{BlockField, BlockFormat, DType, FieldLayout, Shape};
use ziggurat_memory::{for_each_parallel, zeroed};

use crate::num::saturated;
use crate::run::call::{Call, CallKind, F32Bits, Operands, Sink};
use crate::run::completion::Completion;
use crate::run::error::KernelError;
use crate::run::executor::Executor;
use crate::run::view::View;
use crate::source::params::params;

mod cooperative;
mod kernel;
mod plan;
mod rows;
mod tile;

pub(crate) use kernel::{variants, writing_fused};
pub(crate) use plan::{is_one_kernel, plan_linear, run_linear};
pub(crate) use rows::{plan_dequantize, plan_embedding, run_dequantize, run_embedding};

params! {
    /// Parameters of the kernels that read blocks.
    pub(crate) struct BlockParams {
        m: u32,
        n: u32,
        units: u32,
        x_offset: u32,
        x_row: u32,
        out_offset: u32,
        along: u32,
        norm_offset: u32,
        planes: [u32; 4],
        eps: f32,
        share: u32,
        reserved_1: u32,
        reserved_2: u32,
    }
}

/// What the words of a quantised matrix are: format and extents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BlockShape {
    format: BlockFormat,
    rows: usize,
    cols: usize,
    fits_f16: bool,
}

impl BlockShape {
    /// `rows` × `cols` elements in blocks along the rows.
    ///
    /// # Errors
    /// [`KernelError::BlockRows`] if a row is no whole blocks; [`KernelError::Shape`] if there are too many elements.
    pub fn new(format: BlockFormat, [rows, cols]: [usize; 2]) -> Result<Self, KernelError> {
        let op = "blocks";
        if !cols.is_multiple_of(format.elements()) {
            return Err(KernelError::BlockRows { op, format, cols });
        }
        // No plane reaches beyond what can be addressed.
        Shape::new([rows, cols]).map_err(KernelError::shape(op))?;
        Ok(Self {
            format,
            rows,
            cols,
            fits_f16: false,
        })
    }

    /// The format.
    #[must_use]
    pub const fn format(&self) -> BlockFormat {
        self.format
    }

    /// Rows and elements of a row.
    #[must_use]
    pub const fn dims(&self) -> [usize; 2] {
        [self.rows, self.cols]
    }

    /// Whether all numbers of the blocks are known to fit f16.
    pub(crate) const fn fits_f16(&self) -> bool {
        self.fits_f16
    }

    /// The same, with that known.
    pub(crate) const fn with_f16(self, fits_f16: bool) -> Self {
        Self { fits_f16, ..self }
    }

    /// Bytes of the blocks, as files hold them.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.blocks() * self.format.bytes() as u64
    }

    /// Bytes on a device: those of the blocks, four more for each of [`BlockFormat::Q4_K`] and [`BlockFormat::Q5_K`], and at most 15 behind
    /// each plane.
    #[must_use]
    pub fn device_bytes(&self) -> u64 {
        self.starts().last().copied().unwrap_or(0)
    }

    const fn blocks(&self) -> u64 {
        self.rows as u64 * (self.cols / self.format.elements()) as u64
    }

    /// Where each plane begins, in bytes, and where the last one ends.
    fn starts(&self) -> Vec<u64> {
        let plane =
            |start: u64, bytes: usize| (start + self.blocks() * bytes as u64).next_multiple_of(16);
        let fields = self.format.fields().iter();
        let ends = fields.scan(0, |start, field| {
            *start = plane(*start, field.device_bytes());
            Some(*start)
        });
        std::iter::once(0).chain(ends).collect()
    }

    /// Where planes begin, in vectors of 16 bytes.
    fn planes(&self) -> [u32; 4] {
        let mut planes = [0; 4];
        for (slot, start) in planes.iter_mut().zip(self.starts()) {
            *slot = saturated(start / 16);
        }
        planes
    }

    /// Units of a row: what an invocation decodes at once has 16 bytes of the first field.
    fn units(&self) -> u64 {
        let [first, ..] = self.format.fields() else {
            return 0;
        };
        (self.cols / self.format.elements() * (first.bytes / 16)) as u64
    }

    /// Blocks as files hold them, as planes; and whether all their numbers fit f16.
    fn to_planes(self, blocks: &[u8]) -> Result<(Vec<u8>, bool), KernelError> {
        /// Blocks of one job: some hundreds of KiB.
        const JOB: usize = 4096;
        let (format, fields) = (self.format, self.format.fields());
        let mut out = zeroed(self.device_bytes())?;
        let mut rest = out.as_mut_slice();
        let mut planes = Vec::with_capacity(fields.len());
        for (field, bounds) in fields.iter().zip(self.starts().windows(2)) {
            let len = bounds.last().unwrap_or(&0) - bounds.first().unwrap_or(&0);
            let len = usize::try_from(len).unwrap_or(usize::MAX);
            let (plane, behind) = rest.split_at_mut(len.min(rest.len()));
            planes.push(plane.chunks_mut(JOB * field.device_bytes()));
            rest = behind;
        }
        let parts = blocks.chunks(JOB * format.bytes());
        let jobs = parts.map(|part| (part, planes.iter_mut().map(Iterator::next).collect()));
        let fits_f16 = AtomicBool::new(true);
        for_each_parallel(jobs.collect(), |(part, planes): (&[u8], Vec<_>)| {
            for (field, plane) in fields.iter().zip(planes) {
                copy_field(part, format.bytes(), *field, plane.unwrap_or_default());
            }
            if !format.fits_f16(part) {
                fits_f16.store(false, Ordering::Relaxed);
            }
        });
        Ok((out, fits_f16.into_inner()))
    }

    /// Planes as blocks: what [`Blocks::words`] hold, as a file holds it.
    ///
    /// `None` if the bytes are not as many as the planes have.
    #[must_use]
    pub fn from_planes(&self, planes: &[u8]) -> Option<Vec<u8>> {
        if planes.len() as u64 != self.device_bytes() {
            return None;
        }
        let size = self.format.bytes();
        let mut out = vec![0; usize::try_from(self.bytes()).ok()?];
        for (field, start) in self.format.fields().iter().zip(self.starts()) {
            let plane = planes.get(usize::try_from(start).ok()?..)?;
            let parts = plane.chunks_exact(field.device_bytes());
            for (block, part) in out.chunks_exact_mut(size).zip(parts) {
                let own = block.get_mut(field.start..field.start + field.bytes)?;
                match (field.layout, part.first_chunk()) {
                    (FieldLayout::Groups, Some(part)) => {
                        own.copy_from_slice(&FieldLayout::groups_from_device(part));
                    }
                    (FieldLayout::SignedGroups, Some(part)) => {
                        own.copy_from_slice(&FieldLayout::signed_groups(part));
                    }
                    _ => own.copy_from_slice(part),
                }
            }
        }
        Some(out)
    }
}

/// Brings one field of each block into a plane. The length of the copy is a constant for each length there is, or the call of
/// `memcpy` would take longer than the bytes.
fn copy_field(blocks: &[u8], block_bytes: usize, field: BlockField, plane: &mut [u8]) {
    fn copy<const N: usize, const M: usize>(
        (blocks, size): (&[u8], usize),
        start: usize,
        plane: &mut [u8],
        on_device: impl Fn(&[u8; N]) -> [u8; M],
    ) {
        let (slots, _) = plane.as_chunks_mut::<M>();
        for (block, slot) in blocks.chunks_exact(size).zip(slots) {
            if let Some(own) = block.get(start..).and_then(|rest| rest.first_chunk()) {
                *slot = on_device(own);
            }
        }
    }
    let (from, start) = ((blocks, block_bytes), field.start);
    match (field.layout, field.bytes) {
        (FieldLayout::Groups, _) => copy(from, start, plane, FieldLayout::groups_to_device),
        (FieldLayout::SignedGroups, _) => copy(from, start, plane, FieldLayout::signed_groups),
        (FieldLayout::AsIs, 2) => copy::<2, 2>(from, start, plane, |own| *own),
        (FieldLayout::AsIs, 4) => copy::<4, 4>(from, start, plane, |own| *own),
        (FieldLayout::AsIs, 12) => copy::<12, 12>(from, start, plane, |own| *own),
        (FieldLayout::AsIs, 16) => copy::<16, 16>(from, start, plane, |own| *own),
        (FieldLayout::AsIs, 32) => copy::<32, 32>(from, start, plane, |own| *own),
        (FieldLayout::AsIs, 64) => copy::<64, 64>(from, start, plane, |own| *own),
        (FieldLayout::AsIs, 128) => copy::<128, 128>(from, start, plane, |own| *own),
        (FieldLayout::AsIs, bytes) => {
            let own = blocks.chunks_exact(block_bytes).flat_map(|block| {
                let own = block.get(field.start..).unwrap_or_default();
                own.iter().take(bytes)
            });
            plane
                .iter_mut()
                .zip(own)
                .for_each(|(slot, byte)| *slot = *byte);
        }
    }
}

/// What a product with blocks does besides, in the same kernel: see [`CallKind::QuantizedLinear`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct LinearForm {
    /// The input is normalised first, as [`Norm::Rms`](crate::Norm::Rms) does it: what is added to the mean of its squares.
    pub rms_norm: Option<F32Bits>,
    /// SwiGLU: the first half of the weight's rows are gates of the second, and the result is
    /// `silu(x · gateᵀ) · (x · upᵀ)`, `[.., n / 2]`.
    pub swiglu: bool,
}

impl LinearForm {
    /// Columns of the result by a weight of so many rows.
    pub(crate) const fn columns(self, rows: usize) -> usize {
        if self.swiglu { rows / 2 } else { rows }
    }

    /// Whether it is a product and nothing else.
    pub(crate) fn is_plain(self) -> bool {
        self == Self::default()
    }
}

/// A quantised matrix on a device.
#[derive(Clone, Debug)]
pub struct Blocks {
    /// Its planes as words, dense, of rank 1.
    pub words: View,
    /// What they are.
    pub shape: BlockShape,
}

impl Executor {
    /// Brings blocks, as files hold them, onto the device.
    ///
    /// # Errors
    /// [`KernelError::BlockBytes`] if the bytes are not as many as the shape says; [`KernelError::BindingTooLarge`] if one binding
    /// cannot hold them; [`KernelError::Memory`]; [`KernelError::InCapture`] on a capturing executor.
    pub fn upload_blocks(&self, shape: BlockShape, bytes: &[u8]) -> Result<Blocks, KernelError> {
        let op = "upload_blocks";
        if bytes.len() as u64 != shape.bytes() {
            return Err(KernelError::BlockBytes {
                op,
                format: shape.format,
                rows: shape.rows,
                cols: shape.cols,
                expected: shape.bytes(),
                got: bytes.len() as u64,
            });
        }
        let (needed, limit) = (shape.device_bytes(), self.device().caps().max_binding_bytes);
        if needed > limit {
            return Err(KernelError::BindingTooLarge {
                op,
                bytes: needed,
                limit,
            });
        }
        let (planes, fits_f16) = shape.to_planes(bytes)?;
        let words = Shape::new([planes.len() / 4]).map_err(KernelError::shape(op))?;
        Ok(Blocks {
            words: self.upload_bytes(DType::U32, &planes, &words)?,
            shape: shape.with_f16(fits_f16),
        })
    }

    /// `x · weightᵀ`: `x` `[.., k]` by a weight of `n` rows of `k` elements gives `[.., n]`. The product has the numbers of the
    /// blocks in f32, if `x` has at most 16 rows (of f32: 32, and by large matrices on matrix units 768); of more, they are rounded to
    /// the dtype of `x` before (if its range has them) and multiplied as [`Executor::matmul`] does, or rounded to 11 bits.
    ///
    /// # Errors
    /// [`KernelError::Operands`] if the inner extents differ; [`KernelError::Dtype`] unless `x` is a float and `out` has its dtype or
    /// f32; [`KernelError::Operand`] if `x` has a rank below 2 or the words are not those of the shape; [`KernelError::Output`];
    /// [`KernelError::BindingTooLarge`] if one binding cannot hold the words; [`KernelError::CannotFuse`] if one kernel cannot write
    /// an expression over the product.
    pub fn quantized_linear<'a>(
        &self,
        x: &'a View,
        weight: &'a Blocks,
        out: impl Into<Sink<'a>>,
    ) -> Result<Completion, KernelError> {
        let operands = Operands {
            first: x.into(),
            others: [Some(&weight.words), None, None, None, None],
        };
        let call = Call::new(CallKind::QuantizedLinear {
            weight: weight.shape,
            form: LinearForm::default(),
        });
        self.run(&call, &operands, out.into())
    }

    /// Whether a product of `x` by the weight is one kernel that does what the form says: if `x` has one row, whose elements lie side
    /// by side from a multiple of four on, and the device has what the kernel takes. A norm is part of it where that takes less time
    /// than a kernel of its own: not of large weights, each workgroup of which would normalise once more.
    #[must_use]
    pub fn quantized_linear_is_one_kernel(
        &self,
        x: &View,
        weight: &BlockShape,
        form: LinearForm,
    ) -> bool {
        is_one_kernel(self, x, weight, form)
    }

    /// The numbers of the blocks, `[rows, cols]`, as f32, f16 or bf16.
    ///
    /// # Errors
    /// [`KernelError::Dtype`] unless `out` is a float; [`KernelError::Operand`], [`KernelError::Output`],
    /// [`KernelError::BindingTooLarge`] and [`KernelError::CannotFuse`] as [`Executor::quantized_linear`].
    pub fn dequantize<'a>(
        &self,
        blocks: &'a Blocks,
        out: impl Into<Sink<'a>>,
    ) -> Result<Completion, KernelError> {
        let call = Call::new(CallKind::Dequantize {
            blocks: blocks.shape,
            rows: [0, blocks.shape.rows],
        });
        self.run(&call, &Operands::one(&blocks.words), out.into())
    }

    /// The rows that indices name, i32 or u32 `[..]`, as numbers `[.., cols]`. An index outside is taken for the nearest end, and a
    /// negative one counts from the end first.
    ///
    /// # Errors
    /// As [`Executor::dequantize`]; [`KernelError::Dtype`] for other indices; [`KernelError::Operand`] if the table has no rows.
    pub fn quantized_embedding<'a>(
        &self,
        indices: &'a View,
        table: &'a Blocks,
        out: impl Into<Sink<'a>>,
    ) -> Result<Completion, KernelError> {
        let operands = Operands {
            first: indices.into(),
            others: [Some(&table.words), None, None, None, None],
        };
        let call = Call::new(CallKind::QuantizedEmbedding { table: table.shape });
        self.run(&call, &operands, out.into())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn blocks_of_many_jobs_are_the_same_after_planes() {
        for &format in BlockFormat::ALL {
            let rows = 3 * 4096 + 5;
            let shape = BlockShape::new(format, [rows, format.elements()]).unwrap();
            // Zeros for scales, so that every number fits.
            let mut bytes: Vec<u8> = (0..shape.bytes()).map(|i| (i % 251) as u8).collect();
            for block in bytes.chunks_exact_mut(format.bytes()) {
                for &at in format.halves() {
                    block[at..at + 2].fill(0);
                }
            }
            let (planes, fits) = shape.to_planes(&bytes).unwrap();
            assert_eq!(
                shape.from_planes(&planes).as_ref(),
                Some(&bytes),
                "{format}"
            );
            assert!(fits, "{format}");
            // The greatest f16, in the last block.
            let last = bytes.len() - format.bytes() + format.halves()[0];
            bytes[last..last + 2].copy_from_slice(&0x7bff_u16.to_le_bytes());
            let (planes, fits) = shape.to_planes(&bytes).unwrap();
            assert_eq!(
                shape.from_planes(&planes).as_ref(),
                Some(&bytes),
                "{format}"
            );
            assert_eq!(fits, format.fits_f16(&bytes), "{format}");
            assert!(!fits, "{format}");
        }
    }
}
