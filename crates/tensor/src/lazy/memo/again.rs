//! Single ops over values in memory, found by the numbers of how those lie there.
//!
//! A program that computes op by op calls few different ones in a row. Where the memo's key was known, this place of a small
//! table knows it too, and neither key nor numbering is needed.
//!
//! Invariant: an entry is what the key of the same call led to; what it does not compare, nothing in a key says.

use std::sync::Arc;

use ziggurat_core::Shape;
use ziggurat_kernels::{FusedOp, View};
use ziggurat_memory::Buffer;

use super::planned::Planned;
use crate::lazy::limits::Limits;
use crate::node::{Node, same_shape};

/// Entries of the table.
const PLACES: usize = 64;

/// What tells a call from others of its shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Call {
    state: u64,
    /// The op.
    code: u64,
    /// Of the operands; 0 where there is none.
    forms: [u64; 3],
    /// Which operands are one value, and which are in one memory.
    pattern: u64,
}

impl Call {
    fn place(&self) -> usize {
        let [a, b, c] = self.forms;
        let word = self.code ^ a.rotate_left(16) ^ b.rotate_left(32) ^ c.rotate_left(48);
        // The upper bits of a product depend on all bits of the word.
        (word.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58) as usize
    }
}

#[derive(Debug)]
struct Entry {
    call: Call,
    shape: Shape,
    planned: Arc<Planned>,
}

/// Calls that came last, each at its place.
#[derive(Debug, Default)]
pub(super) struct Recent {
    entries: Vec<Option<Entry>>,
}

/// An operand in memory, or none.
#[derive(Clone, Copy, Debug, Default)]
struct Operand<'a> {
    form: u64,
    /// The address of its node; 0 for none.
    value: usize,
    /// The number of its buffer.
    memory: u64,
    view: Option<&'a View>,
}

impl<'a> Operand<'a> {
    #[inline]
    fn new(node: &'a Arc<Node>, limits: &Limits) -> Option<Self> {
        let (form, view) = (node.form()?, node.view()?);
        let buffer = &view.buffer;
        let common = !buffer.is_wrapped()
            && !buffer.is_placeholder()
            && buffer.capacity() <= limits.binding_bytes;
        common.then(|| Self {
            form,
            value: Arc::as_ptr(node).addr(),
            memory: buffer.id(),
            view: Some(view),
        })
    }
}

/// A call over values in memory, which plans know by their numbers.
#[derive(Debug)]
pub(super) struct Again<'a> {
    call: Call,
    /// Each value once.
    leaves: [Option<&'a View>; 3],
}

impl<'a> Again<'a> {
    /// `None` for operands without a value in memory of the common sort, or whose form has no number yet.
    #[inline]
    pub(super) fn new(
        state: u64,
        op: FusedOp,
        operands: [Option<&'a Arc<Node>>; 3],
        limits: &Limits,
    ) -> Option<Self> {
        let known = |node: Option<&'a Arc<Node>>| match node {
            Some(node) => Operand::new(node, limits),
            None => Some(Operand::default()),
        };
        let [a, b, c] = operands;
        let (a, b, c) = (known(a)?, known(b)?, known(c)?);
        // Which operands are one value, and which lie in one memory.
        let pairs = [(&a, &b), (&a, &c), (&b, &c)];
        let pattern = pairs.iter().fold(0, |bits, (one, other)| {
            let one_value = one.value == other.value && one.value != 0;
            bits << 2 | u64::from(one_value) << 1 | u64::from(one.memory == other.memory)
        });
        let call = Call {
            state,
            code: op.code(),
            forms: [a.form, b.form, c.form],
            pattern,
        };
        // Each value has one place, in the order of the operands.
        let mut leaves = [a.view, b.view, c.view];
        if pattern & 0b10_10_10 != 0 || a.view.is_none() || b.view.is_none() {
            let again = |at: usize, operand: &Operand<'_>| {
                let before = [&a, &b, &c].into_iter().take(at);
                operand.value == 0 || before.into_iter().any(|other| other.value == operand.value)
            };
            let all = [&a, &b, &c].into_iter().enumerate();
            let mut each = all.filter(|(at, operand)| !again(*at, operand));
            leaves = [(); 3].map(|()| each.next().and_then(|(_, operand)| operand.view));
        }
        Some(Self { call, leaves })
    }

    /// The memory at a place of the plan: a value's, or behind those the result's.
    #[inline]
    pub(super) fn memory<'b>(&'b self, at: usize, out: &'b Buffer) -> Option<&'b Buffer> {
        match self.leaves.get(at) {
            Some(Some(view)) => Some(&view.buffer),
            _ => Some(out),
        }
    }
}

impl Recent {
    /// What the call came to when it was there last, if nothing took its place.
    #[inline]
    pub(super) fn find(&self, again: &Again<'_>, shape: &Shape) -> Option<&Arc<Planned>> {
        let entry = self.entries.get(again.call.place())?.as_ref()?;
        (entry.call == again.call && same_shape(&entry.shape, shape)).then_some(&entry.planned)
    }

    /// Remembers what the call came to.
    pub(super) fn keep(&mut self, again: &Again<'_>, shape: &Shape, planned: &Arc<Planned>) {
        if self.entries.is_empty() {
            self.entries.resize_with(PLACES, || None);
        }
        if let Some(place) = self.entries.get_mut(again.call.place()) {
            *place = Some(Entry {
                call: again.call,
                shape: *shape,
                planned: Arc::clone(planned),
            });
        }
    }
}
