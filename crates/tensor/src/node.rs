//! What a tensor's value is made of.
//!
//! A node is either finished memory (a [`View`]) or *pending*: an elementwise op over other nodes and numbers, a kernel over
//! memory that waits for what is done with its result, or a view of a pending node. Recording makes pending nodes only; [`crate::lazy`] turns them into memory when something
//! asks for [`Tensor::view`](crate::Tensor::view).
//!
//! Invariants: shape, dtype and layout of a node never change; a node gets its value at most once, be it memory or an
//! error, and then lets go of its inputs; one made within a capture has no value outside of it; the memory that a pending op will get is row-major from its beginning; the base of
//! a view is never a view. Dropping a long chain does not recurse.

mod cost;
mod kernel_call;
mod spare;

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use ziggurat_core::{DType, Layout, Shape};
use ziggurat_kernels::{FusedOp, View};
use ziggurat_memory::Buffer;

use crate::few::Few;
use crate::{Error, capture};

pub(crate) use cost::Cost;
pub(crate) use kernel_call::KernelCall;
use spare::{gone, keep, release};

/// One value, shared by all clones of a tensor.
#[derive(Debug)]
pub(crate) struct Node {
    shape: Shape,
    dtype: DType,
    value: OnceLock<Result<View, Error>>,
    pending: Mutex<Option<Work>>,
    /// Of the pending expression, this node included.
    cost: Cost,
    /// How many pending nodes have this one as an input.
    uses: AtomicU32,
    /// How many tensors are this node.
    handles: AtomicU32,
    /// Whether it was computed within a kernel without being stored while a handle referenced it.
    passed: AtomicBool,
    /// Whether it was found when it was recorded that the device can hold as much; a view may have more elements than its memory.
    fits: bool,
    /// Where a plan keeps it; a hint that is checked.
    slot: AtomicU32,
    /// The number of its dtype and layout; 0 while nobody asked for it.
    form: AtomicU64,
    /// The capture that it was made in; 0 for none.
    capture: u64,
}

/// Whether two shapes are the same, in a few instructions where they have few dimensions.
#[inline]
pub(crate) fn same_shape(a: &Shape, b: &Shape) -> bool {
    a.rank() == b.rank() && a.dims().iter().zip(b.dims()).all(|(a, b)| a == b)
}

/// How a value lies in memory.
#[derive(Debug)]
pub(crate) struct Form {
    pub(crate) dtype: DType,
    pub(crate) layout: Layout,
    /// What stands for both in keys; 0 while it has none.
    pub(crate) number: u64,
}

impl Form {
    pub(crate) const fn unnumbered(dtype: DType, layout: Layout) -> Self {
        Self {
            dtype,
            layout,
            number: 0,
        }
    }

    fn of(&self, buffer: Buffer) -> View {
        View {
            buffer,
            layout: self.layout,
            dtype: self.dtype,
        }
    }
}

/// How a value will be computed.
#[derive(Debug)]
pub(crate) enum Work {
    /// An op over inputs that broadcast to the node's shape; `name` is the public operation's.
    Op {
        op: FusedOp,
        name: &'static str,
        inputs: Inputs,
    },
    /// A kernel that can write an expression over its result in its place.
    Kernel(Arc<KernelCall>),
    /// The memory of `base`, which is row-major, seen through another layout.
    View {
        base: Arc<Node>,
        layout: Box<Layout>,
    },
}

/// The operands of an op, in order.
pub(crate) type Inputs = Few<Input>;

/// An operand of a pending op.
#[derive(Clone, Debug)]
pub(crate) enum Input {
    Node(Arc<Node>),
    /// A number, seen as this dtype from every index.
    Scalar(DType, f64),
}

impl Node {
    /// A node of what is in memory.
    pub(crate) fn ready(view: View) -> Arc<Self> {
        let View {
            buffer,
            layout,
            dtype,
        } = view;
        Self::in_memory(buffer, &Form::unnumbered(dtype, layout))
    }

    /// [`Node::ready`] of memory in which the value lies like this.
    pub(crate) fn in_memory(buffer: Buffer, form: &Form) -> Arc<Self> {
        let mut node = Self::spare();
        if let Some(own) = Arc::get_mut(&mut node) {
            own.shape = *form.layout.shape();
            own.dtype = form.dtype;
            let value = Ok(form.of(buffer));
            match own.value.get_mut() {
                Some(place) => *place = value,
                None => own.value = OnceLock::from(value),
            }
            own.cost = Cost::default();
            own.fits = false;
            *own.form.get_mut() = form.number;
            own.capture = capture::current();
        }
        node
    }

    /// A node to be computed later, which the device can hold if it is no view.
    #[inline]
    pub(crate) fn pending(shape: &Shape, dtype: DType, work: Work, cost: &Cost) -> Arc<Self> {
        match &work {
            Work::Op { inputs, .. } => {
                inputs.each(|input| {
                    if let Input::Node(node) = input {
                        node.uses.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
            Work::Kernel(_) => {}
            Work::View { base, .. } => {
                base.uses.fetch_add(1, Ordering::Relaxed);
            }
        }
        let mut node = Self::spare();
        if let Some(own) = Arc::get_mut(&mut node) {
            own.shape = *shape;
            own.dtype = dtype;
            if own.value.get_mut().is_some() {
                own.value = OnceLock::new();
            }
            own.fits = !matches!(work, Work::View { .. });
            *own.pending.get_mut() = Some(work);
            own.cost = *cost;
            *own.form.get_mut() = 0;
            own.capture = capture::current();
        }
        node
    }

    /// A node to be filled in, of which there is this one handle: one that was kept if there is any. It has no work; its
    /// value, if it has one, is nobody's.
    #[inline]
    fn spare() -> Arc<Self> {
        spare::take().unwrap_or_else(Self::blank)
    }

    #[cold]
    fn blank() -> Arc<Self> {
        Arc::new(Self {
            shape: Shape::scalar(),
            dtype: DType::Bool,
            value: OnceLock::new(),
            pending: Mutex::new(None),
            cost: Cost::default(),
            uses: AtomicU32::new(0),
            handles: AtomicU32::new(0),
            passed: AtomicBool::new(false),
            fits: false,
            slot: AtomicU32::new(0),
            form: AtomicU64::new(0),
            capture: capture::current(),
        })
    }

    pub(crate) fn shape(&self) -> &Shape {
        &self.shape
    }

    pub(crate) fn dtype(&self) -> DType {
        self.dtype
    }

    /// Whether it is known that the device can hold a value of this shape and dtype.
    #[inline]
    pub(crate) const fn fits(&self) -> bool {
        self.fits
    }

    /// The value, if it is computed (or cannot be). A value made within a capture is an error outside of it.
    #[inline]
    pub(crate) fn value(&self) -> Option<&Result<View, Error>> {
        if self.capture != 0 && !self.is_of_this_capture() {
            return Some(capture::out_of_reach());
        }
        self.value.get()
    }

    /// The memory, if it has any.
    pub(crate) fn view(&self) -> Option<&View> {
        self.value()?.as_ref().ok()
    }

    /// Whether it was made in the capture that this thread is in, or outside of any while the thread is in none.
    pub(crate) fn is_of_this_capture(&self) -> bool {
        self.capture == capture::current()
    }

    /// How the value lies, or will lie, in memory.
    pub(crate) fn layout(&self) -> Layout {
        if let Some(Ok(view)) = self.value.get() {
            return view.layout;
        }
        self.peek(|work| match work {
            Work::View { layout, .. } => **layout,
            Work::Op { .. } | Work::Kernel(_) => Layout::contiguous(self.shape),
        })
        .or_else(|| self.value.get()?.as_ref().ok().map(|view| view.layout))
        .unwrap_or_else(|| Layout::contiguous(self.shape))
    }

    /// What its value costs, if there is none yet.
    pub(crate) fn cost(&self) -> Option<&Cost> {
        self.value.get().is_none().then_some(&self.cost)
    }

    /// What its value costs, or cost while there was none.
    pub(crate) const fn pending_cost(&self) -> &Cost {
        &self.cost
    }

    /// Looks at how the value will be computed; `None` if there is a value.
    #[inline]
    pub(crate) fn peek<R>(&self, look: impl FnOnce(&Work) -> R) -> Option<R> {
        if self.value.get().is_some() {
            return None;
        }
        self.pending.lock().as_ref().map(look)
    }

    /// The public operation of a pending node.
    pub(crate) fn op_name(&self) -> &'static str {
        let name = self.peek(|work| match work {
            Work::Op { name, .. } => name,
            Work::Kernel(kernel) => kernel.name,
            Work::View { .. } => "view",
        });
        name.unwrap_or("value")
    }

    /// Sets the value and lets go of the inputs.
    pub(crate) fn complete(&self, value: Result<View, Error>) {
        // A second value would be a bug of the planner; the first one stands.
        let _second = self.value.set(value);
        self.let_go();
    }

    /// Lets go of the inputs.
    #[inline]
    fn let_go(&self) {
        let pending = self.pending.lock().take();
        if let Some(pending) = pending {
            release(pending);
        }
    }

    /// [`Node::complete`] to memory in which the value lies like this.
    pub(crate) fn complete_in(&self, buffer: Buffer, form: &Form) {
        self.set_form(form.number);
        // Made in its place. A second value would be a bug of the planner; the first one stands.
        self.value.get_or_init(|| Ok(form.of(buffer)));
        self.let_go();
    }

    /// Makes a spare node of one that nobody has any more, and that has no work.
    fn empty(&mut self) {
        if let Some(value) = self.value.get_mut() {
            *value = Err(gone());
        }
        *self.passed.get_mut() = false;
    }

    pub(crate) fn uses(&self) -> usize {
        self.uses.load(Ordering::Acquire) as usize
    }

    /// Whether a tensor is this node, so that somebody may ask for the value.
    pub(crate) fn has_handles(&self) -> bool {
        self.handles.load(Ordering::Acquire) > 0
    }

    /// Whether `users` pending inputs are all that can still ask for the value.
    pub(crate) fn is_only_used_by(&self, users: usize) -> bool {
        !self.has_handles() && self.uses() == users
    }

    /// Whether one tensor is all that can still ask for the value.
    pub(crate) fn is_of_one_tensor(&self) -> bool {
        self.handles.load(Ordering::Acquire) == 1 && self.uses() == 0
    }

    pub(crate) fn passed(&self) -> bool {
        self.passed.load(Ordering::Relaxed)
    }

    pub(crate) fn mark_passed(&self) {
        self.passed.store(true, Ordering::Relaxed);
    }

    pub(crate) fn slot(&self) -> usize {
        self.slot.load(Ordering::Relaxed) as usize
    }

    /// The number of its dtype and layout, if somebody asked for it.
    pub(crate) fn form(&self) -> Option<u64> {
        let form = self.form.load(Ordering::Relaxed);
        (form != 0).then_some(form)
    }

    /// Remembers the number of its dtype and layout.
    pub(crate) fn set_form(&self, form: u64) {
        self.form.store(form, Ordering::Relaxed);
    }

    pub(crate) fn set_slot(&self, slot: usize) {
        self.slot
            .store(u32::try_from(slot).unwrap_or(u32::MAX), Ordering::Relaxed);
    }
}

/// A tensor's claim on a node, counted: what no tensor claims and no pending node uses may be overwritten.
#[derive(Debug)]
pub(crate) struct Handle(Arc<Node>);

impl Handle {
    pub(crate) fn new(node: Arc<Node>) -> Self {
        node.handles.fetch_add(1, Ordering::Relaxed);
        Self(node)
    }

    pub(crate) const fn node(&self) -> &Arc<Node> {
        &self.0
    }
}

impl Clone for Handle {
    fn clone(&self) -> Self {
        Self::new(Arc::clone(&self.0))
    }
}

impl std::ops::Deref for Handle {
    type Target = Node;

    fn deref(&self) -> &Node {
        &self.0
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // What its owner recorded with the value comes before whatever is recorded by those who see the count.
        self.0.handles.fetch_sub(1, Ordering::Release);
        if let Some(own) = Arc::get_mut(&mut self.0) {
            if let Some(work) = own.pending.get_mut().take() {
                release(work);
            }
            own.empty();
            keep(|| Arc::clone(&self.0));
        }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        if let Some(pending) = self.pending.get_mut().take() {
            release(pending);
        }
    }
}
