//! What a tensor's value is made of.
//!
//! A node is either finished memory (a [`View`]) or *pending*: an elementwise op over other nodes and numbers, a kernel over
//! memory that waits for what is done with its result, or another way to walk a pending node. Recording makes pending nodes only; [`crate::lazy`] turns them into memory when something
//! asks for [`Tensor::view`](crate::Tensor::view).
//!
//! Invariants: shape, dtype and layout of a node never change; a node gets its value at most once, be it memory or an
//! error, and then lets go of its inputs; one made within a capture has no value outside of it; the memory that a pending op will get is row-major from its beginning; the base of
//! a walk is never a walk. Dropping a long chain does not recurse.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use ziggurat_core::{DType, Layout, Shape};
use ziggurat_kernels::{Executor, FusedOp, FusedOutput, KernelError, View};

use crate::{Error, capture};

/// One value, shared by all clones of a tensor.
#[derive(Debug)]
pub(crate) struct Node {
    shape: Shape,
    dtype: DType,
    value: OnceLock<Result<View, Error>>,
    pending: Mutex<Option<Pending>>,
    /// How many pending nodes have this one as an input.
    uses: AtomicU32,
    /// Whether it was computed within a kernel without being stored while somebody held it.
    passed: AtomicBool,
    /// Where a plan keeps it; a hint that is checked.
    slot: AtomicU32,
    /// The capture that it was made in; 0 for none.
    capture: u64,
}

/// How a value will be computed.
#[derive(Debug)]
pub(crate) struct Pending {
    pub(crate) work: Work,
    pub(crate) cost: Cost,
}

#[derive(Debug)]
pub(crate) enum Work {
    /// An op over inputs that broadcast to the node's shape; `name` is the public operation's.
    Op {
        op: FusedOp,
        name: &'static str,
        inputs: Inputs,
    },
    /// A kernel that can write an expression over its result in its place.
    Kernel(Arc<Deferred>),
    /// The memory of `base`, which is row-major, walked by another layout.
    Walk {
        base: Arc<Node>,
        layout: Box<Layout>,
    },
}

/// A recorded call of such a kernel: matmul, convolution.
pub(crate) struct Deferred {
    /// The public operation.
    pub(crate) name: &'static str,
    /// The memory it reads.
    pub(crate) inputs: Vec<View>,
    pub(crate) record: Box<Recorder>,
}

/// Records the kernel: from its inputs to an output, through an expression over the result if one is given.
pub(crate) type Recorder = dyn Fn(&Executor, &[View], Option<&FusedOutput<'_>>, &View) -> Result<(), KernelError>
    + Send
    + Sync;

impl std::fmt::Debug for Deferred {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Deferred")
            .field("name", &self.name)
            .field("inputs", &self.inputs)
            .finish_non_exhaustive()
    }
}

/// Up to three operands, in order.
pub(crate) type Inputs = [Option<Input>; 3];

/// An operand of a pending op.
#[derive(Clone, Debug)]
pub(crate) enum Input {
    Node(Arc<Node>),
    /// A number, seen as this dtype from every index.
    Scalar(DType, f64),
}

/// How large the pending expression below a node is. Counts of what is shared may be too high, never too low.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cost {
    /// Ops.
    pub(crate) ops: u32,
    /// The longest way down.
    pub(crate) depth: u32,
    /// Values in memory that are read.
    pub(crate) leaves: u32,
    /// Bytes of the memory that is held to be read.
    pub(crate) bytes: u64,
}

impl Cost {
    /// The cost of something over both.
    pub(crate) fn beside(self, other: Self) -> Self {
        Self {
            ops: self.ops.saturating_add(other.ops),
            depth: self.depth.max(other.depth),
            leaves: self.leaves.saturating_add(other.leaves),
            bytes: self.bytes.saturating_add(other.bytes),
        }
    }
}

impl Node {
    pub(crate) fn materialised(view: View) -> Self {
        let (shape, dtype) = (*view.layout.shape(), view.dtype);
        Self::new(shape, dtype, None, OnceLock::from(Ok(view)))
    }

    /// A node to be computed later.
    pub(crate) fn pending(shape: Shape, dtype: DType, pending: Pending) -> Self {
        match &pending.work {
            Work::Op { inputs, .. } => {
                for input in inputs.iter().flatten() {
                    if let Input::Node(node) = input {
                        node.uses.fetch_add(1, Ordering::Relaxed);
                    }
                }
            }
            Work::Kernel(_) => {}
            Work::Walk { base, .. } => {
                base.uses.fetch_add(1, Ordering::Relaxed);
            }
        }
        Self::new(shape, dtype, Some(pending), OnceLock::new())
    }

    fn new(
        shape: Shape,
        dtype: DType,
        pending: Option<Pending>,
        value: OnceLock<Result<View, Error>>,
    ) -> Self {
        Self {
            shape,
            dtype,
            value,
            pending: Mutex::new(pending),
            uses: AtomicU32::new(0),
            passed: AtomicBool::new(false),
            slot: AtomicU32::new(0),
            capture: capture::current(),
        }
    }

    pub(crate) fn shape(&self) -> &Shape {
        &self.shape
    }

    pub(crate) fn dtype(&self) -> DType {
        self.dtype
    }

    /// The value, if it is computed (or cannot be). A value made within a capture is an error outside of it.
    pub(crate) fn value(&self) -> Option<&Result<View, Error>> {
        if self.capture != 0 && !self.is_of_this_capture() {
            return Some(capture::out_of_reach());
        }
        self.value.get()
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
        self.peek(|pending| match &pending.work {
            Work::Walk { layout, .. } => **layout,
            Work::Op { .. } | Work::Kernel(_) => Layout::contiguous(self.shape),
        })
        .or_else(|| self.value.get()?.as_ref().ok().map(|view| view.layout))
        .unwrap_or_else(|| Layout::contiguous(self.shape))
    }

    /// Looks at how the value will be computed; `None` if there is a value.
    pub(crate) fn peek<R>(&self, look: impl FnOnce(&Pending) -> R) -> Option<R> {
        if self.value.get().is_some() {
            return None;
        }
        self.pending.lock().as_ref().map(look)
    }

    /// Sets the value and lets go of the inputs.
    pub(crate) fn settle(&self, value: Result<View, Error>) {
        // A second value would be a bug of the planner; the first one stands.
        let _second = self.value.set(value);
        let pending = self.pending.lock().take();
        if let Some(pending) = pending {
            release(pending);
        }
    }

    pub(crate) fn uses(&self) -> usize {
        self.uses.load(Ordering::Relaxed) as usize
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

    pub(crate) fn set_slot(&self, slot: usize) {
        self.slot
            .store(u32::try_from(slot).unwrap_or(u32::MAX), Ordering::Relaxed);
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        if let Some(pending) = self.pending.get_mut().take() {
            release(pending);
        }
    }
}

/// Drops inputs, and what only they held, one after the other.
fn release(pending: Pending) {
    let mut last = Vec::new();
    let mut next = Some(pending);
    while let Some(pending) = next {
        match pending.work {
            Work::Op { inputs, .. } => {
                for input in inputs.into_iter().flatten() {
                    if let Input::Node(node) = input {
                        let_go(node, &mut last);
                    }
                }
            }
            Work::Kernel(_) => {}
            Work::Walk { base, .. } => let_go(base, &mut last),
        }
        next = last.pop();
    }
}

fn let_go(node: Arc<Node>, last: &mut Vec<Pending>) {
    node.uses.fetch_sub(1, Ordering::Relaxed);
    if let Some(mut node) = Arc::into_inner(node)
        && let Some(pending) = node.pending.get_mut().take()
    {
        last.push(pending);
    }
}
