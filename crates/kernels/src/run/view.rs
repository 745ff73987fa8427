//! [`View`]: a buffer seen through a layout and a dtype, the operand of every op.
//!
//! Elements are stored densely in their natural width (f16 and bf16 in two bytes, u8, i8 and bool in one), so
//! a view of any layout is just numbers. Invariant: the span of the layout lies inside the buffer, which
//! [`View::new`] checks; the fields are public to be read, and the ops check again what they depend on.

use ziggurat_core::{DType, Layout, Shape};
use ziggurat_memory::Buffer;

use crate::run::error::KernelError;

/// A buffer, a strided layout over it, and the dtype of its elements.
///
/// Cloning is cheap: the memory is shared.
#[derive(Clone, Debug)]
pub struct View {
    /// The memory.
    pub buffer: Buffer,
    /// Shape, strides and offset, in elements.
    pub layout: Layout,
    /// The element type.
    pub dtype: DType,
}

impl View {
    /// A view of `buffer`.
    ///
    /// # Errors
    /// [`KernelError::OutOfBuffer`] if the layout reaches beyond the buffer.
    pub fn new(buffer: Buffer, layout: Layout, dtype: DType) -> Result<Self, KernelError> {
        let view = Self {
            buffer,
            layout,
            dtype,
        };
        view.check()?;
        Ok(view)
    }

    /// Checks that the layout lies inside the buffer.
    pub(crate) fn check(&self) -> Result<(), KernelError> {
        self.check_span().map(|_| ())
    }

    /// [`check`](Self::check), with the lowest and the highest element that are touched.
    pub(crate) fn check_span(&self) -> Result<Option<(usize, usize)>, KernelError> {
        let span = self.layout.span();
        let Some((_, high)) = span else {
            return Ok(None);
        };
        let end = (high as u64)
            .saturating_add(1)
            .saturating_mul(self.dtype.bytes() as u64);
        if end > self.buffer.bytes() {
            return Err(KernelError::OutOfBuffer {
                dtype: self.dtype,
                end,
                bytes: self.buffer.bytes(),
            });
        }
        Ok(span)
    }

    /// The same memory and dtype through another layout.
    ///
    /// # Errors
    /// [`KernelError::OutOfBuffer`] if the layout reaches beyond the buffer.
    pub fn with_layout(&self, layout: Layout) -> Result<Self, KernelError> {
        Self::new(self.buffer.clone(), layout, self.dtype)
    }

    /// The shape.
    #[must_use]
    pub fn shape(&self) -> &Shape {
        self.layout.shape()
    }

    /// The extents.
    #[must_use]
    pub fn dims(&self) -> &[usize] {
        self.layout.dims()
    }

    /// The number of axes.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.layout.rank()
    }

    /// The number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.layout.len()
    }

    /// Whether there are no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.layout.is_empty()
    }

    /// Whether kernels can treat the view as an array of whole *vec4* (four elements): contiguous, starting
    /// at a multiple of four elements, and with the last vec4 inside the buffer's capacity.
    #[must_use]
    pub fn is_vec4(&self) -> bool {
        let offset = self.layout.offset();
        let end = (offset as u64)
            .saturating_add(self.len() as u64)
            .div_ceil(4)
            .saturating_mul(4);
        self.layout.is_contiguous()
            && offset.is_multiple_of(4)
            && end.saturating_mul(self.dtype.bytes() as u64) <= self.buffer.capacity()
    }
}
