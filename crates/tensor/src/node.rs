//! What a tensor's value is made of.
//!
//! A node is either finished memory (a [`View`]) or *pending*: an elementwise op over other nodes and numbers, a kernel over
//! memory that waits for what is done with its result, or another way to walk a pending node. Recording makes pending nodes only; [`crate::lazy`] turns them into memory when something
//! asks for [`Tensor::view`](crate::Tensor::view).
//!
//! Invariants: shape, dtype and layout of a node never change; a node gets its value at most once, be it memory or an
//! error, and then lets go of its inputs; one made within a capture has no value outside of it; the memory that a pending op will get is row-major from its beginning; the base of
//! a walk is never a walk. Dropping a long chain does not recurse.

use std::borrow::Cow;
use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use ziggurat_core::{DType, Layout, Shape};
use ziggurat_kernels::{Call, FusedOp, FusedReader, KernelError, Operands, Source, View};

use crate::few::Few;
use crate::{Error, capture};

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
    /// Whether it was computed within a kernel without being stored while somebody held it.
    passed: AtomicBool,
    /// Where a plan keeps it; a hint that is checked.
    slot: AtomicU32,
    /// The capture that it was made in; 0 for none.
    capture: u64,
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
    /// The memory of `base`, which is row-major, walked by another layout.
    Walk {
        base: Arc<Node>,
        layout: Box<Layout>,
    },
}

/// A recorded call of an op that is not elementwise, over memory.
#[derive(Debug)]
pub(crate) struct KernelCall {
    /// The public operation.
    pub(crate) name: &'static str,
    /// The operations that it computes where it reads its first operand.
    pub(crate) before: Vec<&'static str>,
    pub(crate) call: Call,
    /// What it reads in place of a first operand in memory.
    pub(crate) reader: Option<FusedReader>,
    /// Its operands in memory, in order.
    pub(crate) operands: Vec<View>,
}

impl KernelCall {
    /// The operands as the executor takes them.
    pub(crate) fn operands(&self) -> Result<Operands<'_>, KernelError> {
        let mut views = self.operands.iter();
        let first = match (&self.reader, &self.operands[..]) {
            (Some(reader), _) => Source::Reader(reader),
            (None, [first, ..]) => {
                views.next();
                Source::View(first)
            }
            (None, []) => {
                return Err(KernelError::Internal {
                    op: self.name,
                    what: "a call without operands",
                });
            }
        };
        let others = [(); 4].map(|()| views.next());
        Ok(Operands { first, others })
    }

    /// Its name, with the operations that are computed where it reads.
    pub(crate) fn label(&self) -> Cow<'static, str> {
        if self.before.is_empty() {
            return self.name.into();
        }
        format!("{} of {}", self.name, self.before.join(", ")).into()
    }

    /// The memory that it reads.
    pub(crate) fn memory(&self) -> impl Iterator<Item = &View> {
        let read = self.reader.as_ref().map_or(&[][..], FusedReader::views);
        read.iter().chain(&self.operands)
    }
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

/// How large the pending expression below a node is. Counts of what is shared may be too high, never too low (but for a
/// leaf at the address of one that is gone, where the planner finds out).
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
    /// The addresses of the leaves if those are few and known, so that each is counted once; else zeros.
    pub(crate) few: [usize; 4],
    /// Whether something may have been counted twice.
    pub(crate) rough: bool,
}

impl Cost {
    /// That of a kernel which counts as so many ops and reads so many values.
    pub(crate) fn kernel(ops: u32, leaves: u32, bytes: u64) -> Self {
        Self {
            ops,
            depth: 1,
            leaves,
            bytes,
            ..Self::default()
        }
    }

    /// Adds a leaf.
    pub(crate) fn add_leaf(&mut self, node: &Node, bytes: impl FnOnce() -> u64) {
        let address = std::ptr::from_ref(node).addr();
        let known = self.leaves as usize;
        match self.known_leaves() {
            Some(leaves) if leaves.contains(&address) => return,
            Some(_) => match self.few.get_mut(known) {
                Some(slot) => *slot = address,
                None => self.few = [0; 4],
            },
            None => self.rough = true,
        }
        self.leaves = self.leaves.saturating_add(1);
        self.bytes = self.bytes.saturating_add(bytes());
    }

    /// The cost of something over both.
    pub(crate) fn beside(&self, other: &Self) -> Self {
        let (few, more) = self.leaves_beside(other);
        Self {
            ops: self.ops.saturating_add(other.ops),
            depth: self.depth.max(other.depth),
            leaves: self.leaves.saturating_add(more.unwrap_or(other.leaves)),
            bytes: match more {
                Some(0) => self.bytes,
                _ => self.bytes.saturating_add(other.bytes),
            },
            few,
            // Two pending expressions may have a part in common.
            rough: self.rough || other.rough || more.is_none() || (self.ops > 0 && other.ops > 0),
        }
    }

    /// The leaves of both, and how many `other` adds; `None` if they are not known by their addresses.
    fn leaves_beside(&self, other: &Self) -> ([usize; 4], Option<u32>) {
        let (Some(mine), Some(others)) = (self.known_leaves(), other.known_leaves()) else {
            return ([0; 4], None);
        };
        let (mut few, mut known, mut more) = (self.few, mine.len(), 0);
        for leaf in others {
            if mine.contains(leaf) {
                continue;
            }
            let Some(slot) = few.get_mut(known) else {
                return ([0; 4], None);
            };
            *slot = *leaf;
            known += 1;
            more += 1;
        }
        (few, Some(more))
    }

    fn known_leaves(&self) -> Option<&[usize]> {
        let leaves = self.few.get(..self.leaves as usize)?;
        leaves
            .last()
            .is_none_or(|last| *last != 0)
            .then_some(leaves)
    }
}

impl Node {
    pub(crate) fn materialised(view: View) -> Self {
        let (shape, dtype) = (*view.layout.shape(), view.dtype);
        Self::new(
            shape,
            dtype,
            None,
            Cost::default(),
            OnceLock::from(Ok(view)),
        )
    }

    /// A node to be computed later.
    pub(crate) fn pending(shape: Shape, dtype: DType, work: Work, cost: Cost) -> Arc<Self> {
        match &work {
            Work::Op { inputs, .. } => {
                for input in inputs.iter() {
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
        if let Some(mut spare) = SPARE
            .try_with(|spare| spare.borrow_mut().pop())
            .ok()
            .flatten()
            && let Some(node) = Arc::get_mut(&mut spare)
        {
            node.shape = shape;
            node.dtype = dtype;
            *node.pending.get_mut() = Some(work);
            node.cost = cost;
            node.capture = capture::current();
            return spare;
        }
        Arc::new(Self::new(shape, dtype, Some(work), cost, OnceLock::new()))
    }

    fn new(
        shape: Shape,
        dtype: DType,
        pending: Option<Work>,
        cost: Cost,
        value: OnceLock<Result<View, Error>>,
    ) -> Self {
        Self {
            shape,
            dtype,
            value,
            pending: Mutex::new(pending),
            cost,
            uses: AtomicU32::new(0),
            handles: AtomicU32::new(0),
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
            Work::Walk { layout, .. } => **layout,
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
            Work::Walk { .. } => "view",
        });
        name.unwrap_or("value")
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
        self.uses.load(Ordering::Acquire) as usize
    }

    /// Whether a tensor is this node, so that somebody may ask for the value.
    pub(crate) fn is_held(&self) -> bool {
        self.handles.load(Ordering::Acquire) > 0
    }

    /// Whether `users` pending inputs are all that can still ask for the value.
    pub(crate) fn is_only_used_by(&self, users: usize) -> bool {
        !self.is_held() && self.uses() == users
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
fn release(work: Work) {
    let mut later = Vec::new();
    let mut next = Some(work);
    while let Some(work) = next {
        next = None;
        let mut let_go = |node| {
            if let Some(work) = let_go(node)
                && let Some(work) = next.replace(work)
            {
                later.push(work);
            }
        };
        match work {
            Work::Op { inputs, .. } => {
                for input in inputs.into_values() {
                    if let Input::Node(node) = input {
                        let_go(node);
                    }
                }
            }
            Work::Kernel(_) => {}
            Work::Walk { base, .. } => let_go(base),
        }
        next = next.or_else(|| later.pop());
    }
}

/// Gives up an input's handle; what it was to be made of, if that was the last one.
fn let_go(mut node: Arc<Node>) -> Option<Work> {
    node.uses.fetch_sub(1, Ordering::Release);
    let own = Arc::get_mut(&mut node)?;
    let work = own.pending.get_mut().take();
    if own.value.get().is_some() {
        own.value = OnceLock::new();
    }
    own.passed = AtomicBool::new(false);
    // Beyond the limit, or at the end of the thread, it is freed.
    let _freed = SPARE.try_with(|spare| {
        let mut spare = spare.borrow_mut();
        if spare.len() < SPARES {
            spare.push(node);
        }
    });
    work
}

/// Spare nodes of a thread.
const SPARES: usize = 256;

thread_local! {
    /// Nodes that nobody has any more, without value or inputs. An expression's nodes come and go in crowds, which
    /// allocators are slow at.
    static SPARE: RefCell<Vec<Arc<Node>>> = const { RefCell::new(Vec::new()) };
}
