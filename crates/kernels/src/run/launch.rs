//! From a [`KernelChoice`] and views to a recorded dispatch: the part that all ops share.
//!
//! Ops never compute binding ranges or workgroup counts. [`Executor::bind_read`] and [`Executor::bind_write`]
//! turn a view into a binding and an element offset into it, binding a part of the buffer where the whole is over
//! the device's binding limit. [`Executor::with_dense_out`] gives ops an output they can write as whole vec4s and
//! that is not one of their inputs (wgpu refuses a buffer that one dispatch both reads and writes).

use std::iter;

use ziggurat_core::Layout;
use ziggurat_pipeline::{
    Arg, Grid, Kernel, KernelDescriptor, KernelKey, ShaderSource, params_part,
};

use crate::ops::numerics::halves::natively;
use crate::run::error::KernelError;
use crate::run::executor::Executor;
use crate::run::view::View;
use crate::source::choice::KernelChoice;
use crate::source::params::Params;

/// The most elements a kernel indexes: the last vec4's index must not wrap.
pub(crate) const MAX_INDEX: u64 = u32::MAX as u64 - 7;

/// One operand of a dispatch.
#[derive(Debug)]
pub(crate) struct Bound<'a> {
    /// The binding.
    pub(crate) arg: Arg<'a>,
    /// The view's first element, counted from the start of the binding.
    pub(crate) offset: u32,
}

/// Bytes of a buffer that a view's binding covers, and the view's offset within it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Window {
    pub(crate) start: u64,
    pub(crate) bytes: u64,
    pub(crate) offset: u64,
}

impl Window {
    /// The view bound by this window of its buffer.
    pub(crate) fn arg<'a>(&self, view: &'a View, writes: bool) -> Arg<'a> {
        let arg = if writes {
            Arg::write(&view.buffer)
        } else {
            Arg::read(&view.buffer)
        };
        arg.range(self.start, self.bytes)
            .elements(&view.layout, view.dtype)
    }
}

/// The whole buffer if it may be bound, else the view's span widened to the device's alignment. The start is
/// a multiple of 256 bytes and so of four elements of any dtype: vec4 stay vec4.
fn window(layout: &Layout, element: u64, capacity: u64, limit: u64, alignment: u64) -> Window {
    let offset = layout.offset() as u64;
    if capacity <= limit {
        return Window {
            start: 0,
            bytes: capacity,
            offset,
        };
    }
    let alignment = alignment.max(256);
    let (low, high) = layout.span().unwrap_or((layout.offset(), layout.offset()));
    let start = (low as u64 * element) / alignment * alignment;
    let end = ((high as u64 + 1) * element).div_ceil(16) * 16;
    Window {
        start,
        bytes: end.min(capacity).saturating_sub(start),
        offset: offset.saturating_sub(start / element),
    }
}

impl Executor {
    /// Binds a view that the kernel reads.
    pub(crate) fn bind_read<'a>(
        &self,
        op: &'static str,
        view: &'a View,
    ) -> Result<Bound<'a>, KernelError> {
        let (window, offset) = self.window(op, view)?;
        Ok(Bound {
            arg: window.arg(view, false),
            offset,
        })
    }

    /// Binds a view that the kernel writes (and may read).
    pub(crate) fn bind_write<'a>(
        &self,
        op: &'static str,
        view: &'a View,
    ) -> Result<Bound<'a>, KernelError> {
        let (window, offset) = self.window(op, view)?;
        Ok(Bound {
            arg: window.arg(view, true),
            offset,
        })
    }

    pub(crate) fn window(
        &self,
        op: &'static str,
        view: &View,
    ) -> Result<(Window, u32), KernelError> {
        let span = view.check_span()?;
        let caps = self.device().caps();
        let element = view.dtype.bytes() as u64;
        let window = window(
            &view.layout,
            element,
            view.buffer.capacity(),
            caps.max_binding_bytes,
            u64::from(caps.storage_alignment),
        );
        if window.bytes > caps.max_binding_bytes {
            return Err(KernelError::BindingTooLarge {
                op,
                bytes: window.bytes,
                limit: caps.max_binding_bytes,
            });
        }
        let elements = window.bytes / element;
        let reach = span.map_or(0, |(_, high)| high as u64 - window.start / element);
        if reach > MAX_INDEX {
            return Err(KernelError::IndexTooLarge {
                op,
                elements,
                limit: MAX_INDEX,
            });
        }
        let offset = u32::try_from(window.offset);
        Ok((
            window,
            offset.map_err(|_| KernelError::IndexTooLarge {
                op,
                elements,
                limit: MAX_INDEX,
            })?,
        ))
    }

    /// Bytes that a buffer may have to be bound whole by every kernel.
    #[must_use]
    pub fn whole_binding_bytes(&self) -> u64 {
        self.device().caps().max_binding_bytes.min(MAX_INDEX)
    }

    /// Whether what would be bound for any of the views is more than one binding may cover.
    pub(crate) fn exceeds_binding(&self, views: &[&View]) -> bool {
        let whole = self.whole_binding_bytes();
        let alignment = u64::from(self.device().caps().storage_alignment);
        views.iter().any(|view| {
            let capacity = view.buffer.capacity();
            let element = view.dtype.bytes() as u64;
            capacity > whole
                && !view.is_empty()
                && window(&view.layout, element, capacity, whole, alignment).bytes > whole
        })
    }

    /// Records one dispatch. Buffers bound by `args` follow the order of binding indices; `params` goes to
    /// immediates or uniform memory. A grid without work records nothing.
    pub(crate) fn launch<P: Params>(
        &self,
        choice: &KernelChoice,
        args: &[Arg<'_>],
        params: &P,
        grid: Grid,
    ) -> Result<(), KernelError> {
        self.launch_words(
            choice,
            args,
            bytemuck::cast_slice(std::slice::from_ref(params)),
            grid,
        )
    }

    /// As [`Self::launch`], with parameters as words.
    pub(crate) fn launch_words(
        &self,
        choice: &KernelChoice,
        args: &[Arg<'_>],
        params: &[u32],
        grid: Grid,
    ) -> Result<(), KernelError> {
        let caps = self.device().caps();
        let (part, wg) = (params_part(caps, size_of_val(params)), caps.workgroup_size);
        let key = choice.key(part.0, wg);
        let kernel = self.kernel_for(key, || choice.descriptor(part, wg))?;
        self.dispatch(&kernel, args, params, grid, iter::empty())
    }

    /// Compiles what [`Self::launch_words`] would dispatch, and waits for it.
    pub(crate) fn compile_choice(
        &self,
        choice: &KernelChoice,
        params: &[u32],
    ) -> Result<(), KernelError> {
        let caps = self.device().caps();
        let (part, wg) = (params_part(caps, size_of_val(params)), caps.workgroup_size);
        let (descriptor, _) = natively(choice.descriptor(part, wg)?, self.has_native_halves());
        self.pipelines().kernel(&descriptor)?;
        Ok(())
    }

    /// Like [`Self::launch`], for ops that know a short key: `choose` runs only when the key is new (in debug builds
    /// each time, to be compared). The key must tell apart everything that `choose` depends on.
    pub(crate) fn launch_keyed<P: Params>(
        &self,
        mut key: KernelKey,
        choose: impl FnOnce() -> KernelChoice,
        args: &[Arg<'_>],
        params: &P,
        grid: Grid,
    ) -> Result<(), KernelError> {
        let caps = self.device().caps();
        let part = params_part(caps, size_of::<P>());
        key.push_tag(part.0);
        key.push_number(u64::from(caps.workgroup_size));
        let wg = caps.workgroup_size;
        let kernel = self.kernel_for(key, || choose().descriptor(part, wg))?;
        let words = bytemuck::cast_slice(std::slice::from_ref(params));
        self.dispatch(&kernel, args, words, grid, iter::empty())
    }

    /// The kernel of a key, described by `describe` if there is none.
    pub(crate) fn kernel_for(
        &self,
        mut key: KernelKey,
        describe: impl FnOnce() -> Result<KernelDescriptor, KernelError>,
    ) -> Result<Kernel, KernelError> {
        let (mut failure, mut converts) = (None, false);
        let native = self.has_native_halves();
        key.push_number(u64::from(native));
        let kernel = self.pipelines().kernel_for(&key, || match describe() {
            Ok(descriptor) => {
                let (descriptor, depends) = natively(descriptor, native);
                converts = depends;
                descriptor
            }
            Err(error) => {
                failure = Some(error);
                KernelDescriptor::new(ShaderSource::new("missing"))
            }
        });
        if let Some(error) = failure {
            return Err(error);
        }
        if converts && !native {
            self.want_native_halves();
        }
        Ok(kernel?)
    }

    /// Calls `f` with an output that is contiguous, vec4-aligned and shares no memory with `inputs`: `out` itself
    /// where it is all that, else a scratch view that is copied to `out` afterwards.
    pub(crate) fn with_dense_out(
        &self,
        op: &'static str,
        out: &View,
        inputs: &[&View],
        f: impl FnOnce(&View) -> Result<(), KernelError>,
    ) -> Result<(), KernelError> {
        check_output(op, out)?;
        if out.is_vec4()
            && !inputs
                .iter()
                .any(|input| input.buffer.same_memory(&out.buffer))
        {
            return f(out);
        }
        let scratch = self.alloc(out.shape(), out.dtype)?;
        f(&scratch)?;
        self.copy_into(op, &scratch, out)
    }
}

/// An output must lie inside its buffer and write each of its elements once.
pub(crate) fn check_output(op: &'static str, out: &View) -> Result<(), KernelError> {
    out.check()?;
    if !out.is_empty() && !out.layout.is_injective() {
        return Err(KernelError::OverlappingOutput {
            op,
            shape: *out.shape(),
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use ziggurat_core::Shape;

    fn layout(dims: &[usize]) -> Layout {
        Layout::contiguous(Shape::new(dims).unwrap())
    }

    #[test]
    fn binds_the_whole_buffer_where_it_fits() {
        let view = layout(&[100]).slice(0, 10, Some(20), 1).unwrap();
        assert_eq!(
            window(&view, 4, 400, 400, 256),
            Window {
                start: 0,
                bytes: 400,
                offset: 10
            }
        );
    }

    #[test]
    fn binds_an_aligned_window_of_a_buffer_over_the_limit() {
        let view = layout(&[1000]).slice(0, 500, Some(510), 1).unwrap();
        // Byte 2000 rounds down to 1792 (element 448), byte 2040 up to 2048.
        assert_eq!(
            window(&view, 4, 4000, 1024, 32),
            Window {
                start: 1792,
                bytes: 256,
                offset: 52
            }
        );
    }

    #[test]
    fn a_flipped_view_starts_at_the_far_end_of_its_window() {
        let view = layout(&[1000])
            .slice(0, 500, Some(510), 1)
            .unwrap()
            .flip(&[0])
            .unwrap();
        assert_eq!(
            window(&view, 4, 4000, 1024, 256),
            Window {
                start: 1792,
                bytes: 256,
                offset: 61
            }
        );
    }
}
