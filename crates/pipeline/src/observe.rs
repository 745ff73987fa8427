//! Observers of what a thread dispatches, for tools that trace or record a program.
//!
//! Invariants: while nobody observes, a dispatch pays one relaxed load; an observer is told of a dispatch that passed all
//! checks, before it is recorded, and is not told of what it dispatches itself.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ziggurat_core::{DType, Layout};
use ziggurat_memory::Buffer;

use crate::arguments::Arg;
use crate::descriptor::KernelDescriptor;
use crate::dispatch;
use crate::kernel::Kernel;

/// Threads with an observer.
static OBSERVED: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static OBSERVER: RefCell<Option<Rc<dyn DispatchObserver>>> = const { RefCell::new(None) };
}

/// Who is told of dispatches: see [`observe_dispatches`].
pub trait DispatchObserver {
    /// A dispatch that is recorded next.
    fn dispatch(&self, dispatch: &ObservedDispatch<'_>);
}

/// A dispatch as its observer sees it.
#[derive(Debug)]
pub struct ObservedDispatch<'a> {
    kernel: &'a Kernel,
    args: &'a [Arg<'a>],
    params: &'a [u8],
    workgroups: ObservedWorkgroups<'a>,
}

/// How many workgroups a dispatch has.
#[derive(Clone, Copy, Debug)]
pub enum ObservedWorkgroups<'a> {
    /// So many along each axis.
    Counts([u32; 3]),
    /// As many as a buffer says at this place, in bytes, when the dispatch runs.
    Indirect(&'a Buffer, u64),
}

/// A buffer that a dispatch binds.
#[derive(Clone, Copy, Debug)]
pub struct ObservedBuffer<'a> {
    /// The buffer.
    pub buffer: &'a Buffer,
    /// Where in it the binding begins, in bytes.
    pub offset: u64,
    /// The bytes of the binding.
    pub bytes: u64,
    /// Whether the kernel may write it.
    pub writes: bool,
    /// Which elements of the buffer are meant, if the caller said so.
    pub elements: Option<(&'a Layout, DType)>,
}

impl<'a> ObservedDispatch<'a> {
    /// The kernel's text and constants.
    #[must_use]
    pub fn descriptor(&self) -> &'a KernelDescriptor {
        self.kernel.descriptor()
    }

    /// The bytes of its immediates.
    #[must_use]
    pub fn immediates(&self) -> &'a [u8] {
        self.kernel.param_bytes().split(self.params).0
    }

    /// Group, binding index and bytes of each of its uniforms.
    pub fn uniforms(&self) -> impl Iterator<Item = (u32, u32, &'a [u8])> + use<'a> {
        self.kernel.param_bytes().pieces(self.params)
    }

    /// The workgroups along each axis.
    #[must_use]
    pub fn workgroups(&self) -> ObservedWorkgroups<'a> {
        self.workgroups
    }

    /// The storage buffers, in the order of their groups and binding indices.
    pub fn buffers(&self) -> impl Iterator<Item = ObservedBuffer<'a>> + use<'a> {
        dispatch::buffers(self.args).map(|arg| {
            let (offset, bytes) = arg.span();
            ObservedBuffer {
                buffer: arg.buffer,
                offset,
                bytes,
                writes: arg.writes(),
                elements: arg.elements(),
            }
        })
    }
}

/// Puts back the observer that was there before.
struct Restored(Option<Rc<dyn DispatchObserver>>);

impl Drop for Restored {
    fn drop(&mut self) {
        OBSERVER.set(self.0.take());
        OBSERVED.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Calls `f` and tells `observer` of everything that this thread dispatches meanwhile, but for dispatches that were prepared
/// before and those of a [`Tape`](crate::Tape).
pub fn observe_dispatches<R>(observer: Rc<dyn DispatchObserver>, f: impl FnOnce() -> R) -> R {
    OBSERVED.fetch_add(1, Ordering::Relaxed);
    let _restored = Restored(OBSERVER.replace(Some(observer)));
    f()
}

/// Whether a thread has an observer.
pub(crate) fn is_on() -> bool {
    OBSERVED.load(Ordering::Relaxed) > 0
}

/// Tells this thread's observer, if it has one.
#[cold]
pub(crate) fn tell(
    kernel: &Kernel,
    args: &[Arg<'_>],
    params: &[u8],
    workgroups: ObservedWorkgroups<'_>,
) {
    // Not there while it is told.
    let Some(observer) = OBSERVER.take() else {
        return;
    };
    observer.dispatch(&ObservedDispatch {
        kernel,
        args,
        params,
        workgroups,
    });
    OBSERVER.set(Some(observer));
}

/// Calls `f` without telling this thread's observer of what it dispatches.
pub(crate) fn untold<R>(f: impl FnOnce() -> R) -> R {
    let observer = OBSERVER.take();
    let result = f();
    OBSERVER.set(observer);
    result
}
