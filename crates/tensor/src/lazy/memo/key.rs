//! What tells a pending expression from all that are computed otherwise, as words.
//!
//! Operands are numbered in the order in which they are met, so that expressions over other memory with other numbers have
//! one key. Into it goes whatever the plan looks at: ops, calls, shapes, how memory lies, which of it is the same, what else
//! needs a value, which inputs may be overwritten. What is not of the common sort has no key.
//!
//! Invariants: numbering changes nothing but slots, which are hints; the words of a part say how many follow, so that no
//! two expressions have the same.

use std::cell::RefCell;
use std::hash::Hash;
use std::sync::Arc;

use ziggurat_core::{DType, Shape, round_to};
use ziggurat_kernels::{Call, FusedOp, FusedReader, View};
use ziggurat_memory::Buffer;

use super::forms::Forms;
use super::words::Key;
use crate::lazy::limits::Limits;
use crate::lazy::plan::CHEAP;
use crate::node::{Input, Inputs, KernelCall, Node, Work, same_shape};

/// What an operand's number in a key is of; without a mark, a leaf.
const SCALAR: u64 = 0x4000;
const OP: u64 = 0x8000;
const NONE: u64 = 0xffff;

/// The beginning of each part.
const PENDING: u64 = 1;
const SINGLE: u64 = 2;
const KERNEL: u64 = 3;
const VIEW: u64 = 4;

/// Makes the word of an op with its operands one that says more: that the op is one of the library's, and has the roots' shape
/// and dtype. No other word at the beginning of a part is as large.
const USUAL: u64 = 0x4000;

/// In place of a rank: the shape of the roots.
const AS_ROOTS: u64 = 0xff;

/// Bits of a node's flags.
const NEEDED: u64 = 1;
const HANDLES: u64 = 2;
const PASSED: u64 = 4;
const COSTLY: u64 = 8;

/// Leaves of one expression that are told apart.
const MOST_LEAVES: usize = 32;

/// What tells a reader from others.
pub(super) fn of_reader(reader: &FusedReader) -> Key {
    let mut key = Key::default();
    reader.describe(&mut key);
    key
}

/// Memory that an expression reads.
#[derive(Debug)]
enum Leaf {
    Node(Arc<Node>),
    /// What a call reads at this place.
    Memory(Arc<KernelCall>, usize),
}

impl Leaf {
    fn view(&self) -> Option<&View> {
        match self {
            Self::Node(node) => node.view(),
            Self::Memory(kernel, place) => kernel.at(*place).map(|(view, _)| view),
        }
    }

    /// The memory, and the number of the form in which it lies there if somebody asked for that.
    #[inline]
    fn form(&self) -> Option<(&View, Option<u64>)> {
        match self {
            Self::Node(node) => Some((node.view()?, node.form())),
            Self::Memory(kernel, place) => kernel.at(*place),
        }
    }
}

/// How often an op or a leaf is an operand.
type Uses = u32;

/// The expression below some nodes, by numbers. Empty in between, kept for its memory.
#[derive(Debug, Default)]
pub(super) struct Numbered {
    pub(super) key: Key,
    /// In the order they were met, the roots first.
    ops: Vec<(Arc<Node>, Uses)>,
    leaves: Vec<(Leaf, Uses)>,
    /// The numbers of the leaves' buffers, while they are described.
    memory: Vec<u64>,
    /// As their dtypes hold them.
    pub(super) numbers: Vec<(DType, f64)>,
    /// Lent to whoever numbers the expression a second time.
    pub(super) forms: RefCell<Forms>,
    /// The first root's public operation.
    pub(super) name: &'static str,
    /// Of kernels: see [`Executor::kernel_state`](ziggurat_kernels::Executor::kernel_state).
    state: u64,
}

impl Numbered {
    pub(super) fn clear(&mut self) {
        self.key.clear();
        self.ops.clear();
        self.leaves.clear();
        self.numbers.clear();
    }

    /// Begins a key for kernels of this state.
    pub(super) fn begin(&mut self, state: u64) {
        self.state = state;
        self.key.push(state);
    }

    /// The state that the key is for.
    pub(super) const fn state(&self) -> u64 {
        self.state
    }

    /// Numbers one op over values in memory; `None` if it is not of the common sort.
    pub(super) fn single(
        &mut self,
        (name, op): (&'static str, FusedOp),
        (shape, dtype): (&Shape, DType),
        inputs: &Inputs,
        limits: &Limits,
    ) -> Option<()> {
        self.name = name;
        self.key.head(SINGLE, dtype, shape);
        self.operands(op.code(), inputs)?;
        self.describe_leaves(None, limits)?;
        self.describe_numbers();
        (!shape.is_empty()).then_some(())
    }

    /// Numbers what is below `roots`, which have one shape; `None` if it is not of the common sort.
    pub(super) fn below(&mut self, roots: &[Arc<Node>], limits: &Limits) -> Option<()> {
        let first = roots.first()?;
        let (shape, dtype) = (*first.shape(), first.dtype());
        self.key.push(roots.len() as u64);
        for root in roots {
            self.add(root, 0);
        }
        let mut at = 0;
        while let Some((node, _)) = self.ops.get(at) {
            let node = Arc::clone(node);
            let as_roots = at > 0 && same_shape(node.shape(), &shape);
            let own = (!as_roots).then_some(node.shape());
            let is_root = at < roots.len();
            let is_usual = as_roots && node.dtype() == dtype;
            let work = |work: &Work| match work {
                Work::Op { op, name, inputs } if is_usual && op.code() < USUAL => {
                    self.operands(USUAL | op.code(), inputs)?;
                    Some(*name)
                }
                _ => self.work(work, is_root, (node.dtype(), own)),
            };
            let name = node.peek(work).flatten()?;
            if at == 0 {
                self.name = name;
            }
            at += 1;
            if at > limits.ops as usize {
                return None;
            }
        }
        if shape.is_empty() {
            return None;
        }
        self.describe_ops(roots.len());
        self.describe_leaves(Some(&shape), limits)?;
        self.describe_numbers();
        Some(())
    }

    /// The words of a node: what it is, its dtype and its shape, if that is not the roots', and what its work says.
    #[inline(always)]
    fn work(
        &mut self,
        work: &Work,
        is_root: bool,
        (dtype, shape): (DType, Option<&Shape>),
    ) -> Option<&'static str> {
        let kind = match work {
            Work::Op { .. } => PENDING,
            Work::View { .. } => VIEW,
            Work::Kernel(_) => KERNEL,
        };
        match shape {
            None => self.key.push(kind << 16 | (dtype as u64) << 8 | AS_ROOTS),
            Some(shape) => self.key.head(kind, dtype, shape),
        }
        match work {
            Work::Op { op, name, inputs } => {
                self.operands(op.code(), inputs)?;
                Some(name)
            }
            // The value of its base, which is computed.
            Work::View { .. } if is_root => None,
            Work::View { base, layout } => {
                let base = self.operand(base)?;
                self.key.push(base);
                layout.hash(&mut self.key);
                Some("view")
            }
            Work::Kernel(kernel) => {
                self.call(kernel)?;
                Some(kernel.name)
            }
        }
    }

    fn call(&mut self, kernel: &Arc<KernelCall>) -> Option<()> {
        let memory = kernel.memory().count() as u64;
        self.key
            .push(memory << 1 | u64::from(kernel.reader.is_some()));
        kernel.call.hash(&mut self.key);
        if let Some(reader) = &kernel.reader {
            reader.describe(&mut self.key);
            for (dtype, value) in reader.numbers() {
                let number = self.number(dtype, value);
                self.key.push(number);
            }
        }
        for (place, view) in kernel.memory().enumerate() {
            let like = |known: &View| {
                known.buffer.id() == view.buffer.id()
                    && known.dtype == view.dtype
                    && known.layout == view.layout
            };
            let known = self.leaves.iter().position(|(leaf, _)| match leaf {
                Leaf::Memory(..) => leaf.view().is_some_and(like),
                Leaf::Node(_) => false,
            });
            let number = known.unwrap_or_else(|| {
                self.leaves
                    .push((Leaf::Memory(Arc::clone(kernel), place), 0));
                self.leaves.len() - 1
            });
            self.key.push(number as u64);
        }
        (self.leaves.len() <= MOST_LEAVES).then_some(())
    }

    /// The words of an op: its code and its operands' numbers. The code says how many there are.
    #[inline(always)]
    fn operands(&mut self, code: u64, inputs: &Inputs) -> Option<()> {
        let mut word = code;
        for input in inputs.first() {
            word = word << 16 | self.input(input.as_ref())?;
        }
        self.key.push(word);
        if inputs.more().is_empty() {
            return Some(());
        }
        for inputs in inputs.more().chunks(4) {
            let mut word = 0;
            for input in inputs {
                word = word << 16 | self.input(input.as_ref())?;
            }
            self.key.push(word);
        }
        Some(())
    }

    #[inline(always)]
    fn input(&mut self, input: Option<&Input>) -> Option<u64> {
        match input {
            None => Some(NONE),
            Some(Input::Scalar(dtype, value)) => Some(SCALAR | self.number(*dtype, *value)),
            Some(Input::Node(node)) => self.operand(node),
        }
    }

    #[inline(always)]
    fn operand(&mut self, node: &Arc<Node>) -> Option<u64> {
        match node.value() {
            Some(Ok(_)) => self.leaf(node),
            Some(Err(_)) => None,
            None => Some(OP | self.op(node)?),
        }
    }

    #[inline(always)]
    fn op(&mut self, node: &Arc<Node>) -> Option<u64> {
        let slot = node.slot();
        if let Some((known, edges)) = self.ops.get_mut(slot)
            && Arc::ptr_eq(known, node)
        {
            *edges += 1;
            return Some(slot as u64);
        }
        if !node.is_of_this_capture() {
            return None;
        }
        Some(self.add(node, 1))
    }

    #[inline(always)]
    fn add(&mut self, node: &Arc<Node>, edges: Uses) -> u64 {
        let slot = self.ops.len();
        node.set_slot(slot);
        self.ops.push((Arc::clone(node), edges));
        slot as u64
    }

    #[inline(always)]
    fn leaf(&mut self, node: &Arc<Node>) -> Option<u64> {
        for (at, (leaf, edges)) in self.leaves.iter_mut().enumerate() {
            if let Leaf::Node(known) = leaf
                && Arc::ptr_eq(known, node)
            {
                *edges += 1;
                return Some(at as u64);
            }
        }
        let at = self.leaves.len();
        self.leaves.push((Leaf::Node(Arc::clone(node)), 1));
        (at < MOST_LEAVES).then_some(at as u64)
    }

    /// Equal numbers are one value, as in a plan.
    fn number(&mut self, dtype: DType, value: f64) -> u64 {
        let value = round_to(dtype, value);
        let same =
            |(known, held): &(DType, f64)| *known == dtype && held.to_bits() == value.to_bits();
        let at = self.numbers.iter().position(same).unwrap_or_else(|| {
            self.numbers.push((dtype, value));
            self.numbers.len() - 1
        });
        at as u64
    }

    /// What else needs each op's value.
    fn describe_ops(&mut self, roots: usize) {
        let mut word = 1;
        for (node, edges) in self.ops.get(roots..).unwrap_or_default() {
            let flag = |on: bool, bit: u64| if on { bit } else { 0 };
            let flags = flag(node.uses() > *edges as usize, NEEDED)
                | flag(node.has_handles(), HANDLES)
                | flag(node.passed(), PASSED)
                | flag(node.pending_cost().ops > CHEAP, COSTLY);
            if word >> 60 != 0 {
                self.key.push(word);
                word = 1;
            }
            word = word << 4 | flags;
        }
        self.key.push(word);
    }

    /// How each leaf lies in memory, the first one with the same memory, whether the result may take its place. `None` for
    /// memory that is not of the pool, or that one binding cannot hold.
    fn describe_leaves(&mut self, shape: Option<&Shape>, limits: &Limits) -> Option<()> {
        self.memory.clear();
        for (at, (leaf, edges)) in self.leaves.iter().enumerate() {
            let (view, known) = leaf.form()?;
            let buffer = &view.buffer;
            if buffer.is_wrapped()
                || buffer.is_placeholder()
                || buffer.capacity() > limits.binding_bytes
            {
                return None;
            }
            let id = buffer.id();
            let same = self.memory.iter().position(|other| *other == id);
            self.memory.push(id);
            let free = match (leaf, shape) {
                (Leaf::Node(node), Some(shape)) => is_free(node, view, shape, *edges as usize),
                _ => false,
            };
            let small = (same.unwrap_or(at) as u64) << 1 | u64::from(free);
            let number = || self.forms.borrow_mut().number(view.dtype, &view.layout);
            let form = known.unwrap_or_else(number);
            if let (None, Leaf::Node(node)) = (known, leaf) {
                node.set_form(form);
            }
            self.key.push(form << 16 | small);
        }
        Some(())
    }

    fn describe_numbers(&mut self) {
        let dtypes = self.numbers.iter().map(|(dtype, _)| *dtype as u64);
        self.key.extend(dtypes);
        let counts = [self.ops.len(), self.leaves.len(), self.numbers.len()];
        let word = counts.iter().fold(0, |word, &n| word << 16 | n as u64);
        self.key.push(word);
    }

    /// Makes the key one of a call that reads the value, with so many other views.
    pub(super) fn read_by(&mut self, call: &Call, views: usize) {
        call.hash(&mut self.key);
        self.key.push(views as u64);
    }

    /// Whether the key is that of another one, with something behind it or not.
    pub(super) fn begins_with(&self, other: &Self) -> bool {
        self.key.as_slice().starts_with(other.key.as_slice())
    }

    /// The buffers of all leaves, by their numbers.
    pub(super) fn buffers(&self) -> impl Iterator<Item = &Buffer> {
        let views = self.leaves.iter().filter_map(|(leaf, _)| leaf.view());
        views.map(|view| &view.buffer)
    }

    /// How many leaves there are.
    pub(super) fn leaves(&self) -> usize {
        self.leaves.len()
    }

    /// The memory of a leaf.
    #[inline]
    pub(super) fn leaf_buffer(&self, at: usize) -> Option<&Buffer> {
        let (leaf, _) = self.leaves.get(at)?;
        Some(&leaf.view()?.buffer)
    }

    /// The op of this number.
    #[inline]
    pub(super) fn op_at(&self, at: usize) -> Option<&Arc<Node>> {
        self.ops.get(at).map(|(node, _)| node)
    }

    /// The number of an op.
    pub(super) fn number_of(&self, node: &Arc<Node>) -> Option<usize> {
        let mut ops = self.ops.iter();
        ops.position(|(known, _)| Arc::ptr_eq(known, node))
    }
}

/// Whether an expression of this shape may write over a leaf: nobody else can ask for its value or reach its memory, and it
/// lies as a result will.
fn is_free(node: &Node, view: &View, shape: &Shape, edges: usize) -> bool {
    let bytes = shape.len() as u64 * view.dtype.bytes() as u64;
    node.is_only_used_by(edges)
        && view.buffer.is_unique()
        && view.buffer.bytes() == bytes
        && view.shape() == shape
}
