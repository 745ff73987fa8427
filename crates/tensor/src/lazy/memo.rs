//! Structures that were planned before.
//!
//! Programs compute the same expressions again and again, over other memory. The commonest sort (ops of one shape over
//! dense memory, one output) is recognised here in one walk, which makes a key, and its kernel runs without a plan.
//! Whatever is not of that sort is left to [`super::plan`], which also prepares what is remembered here.
//!
//! Invariants: a key tells apart whatever the plan would tell apart; a walk that gives up has changed nothing but slots,
//! which are hints; from one evaluation to the next nothing is held but keys and kernels.

use std::sync::Arc;

use ziggurat_core::{DType, Layout, Shape, round_to};
use ziggurat_device::Stage;
use ziggurat_kernels::{FusedOperands, PreparedFused, View};
use ziggurat_pipeline::QuickMap;

use super::limits::Limits;
use super::plan::{Plan, Stop};
use crate::node::{Input, Inputs, Node, Work};
use crate::{Device, Error};

/// Structures that are remembered; at one more all are forgotten.
const MOST: usize = 512;

/// What an operand's number in a key is of; without a mark, a leaf.
const SCALAR: u64 = 0x4000;
const OP: u64 = 0x8000;
const NONE: u64 = 0xffff;

/// What is kept from one evaluation to the next.
#[derive(Debug, Default)]
pub(super) struct Memo {
    known: QuickMap<Box<[u64]>, PreparedFused>,
    /// Empty in between, kept for its memory.
    walk: Walk,
}

/// Computes a group that is of the common sort; `None`, with nothing done, if it is not. To be called with the gate held.
pub(super) fn launch(device: &Device, group: &[Arc<Node>]) -> Option<Result<(), Stop>> {
    let [root] = group else { return None };
    let mut memo = device.lazy().memo.lock();
    let launched = memo.launch(device, root);
    memo.walk.clear();
    drop(memo);
    Some(match launched? {
        Ok(value) => {
            root.settle(Ok(value));
            Ok(())
        }
        Err(error) => Err(Stop::Failed(error)),
    })
}

impl Memo {
    fn launch(&mut self, device: &Device, root: &Arc<Node>) -> Option<Result<View, Error>> {
        let executor = device.executor();
        let span = executor.device().span(Stage::Plan);
        let place = self.walk.follow(root, &device.lazy().limits)?;
        drop(span);
        let walk = &self.walk;
        let inputs: Vec<&View> = walk.leaves.iter().filter_map(|leaf| leaf.view()).collect();
        let operands = FusedOperands {
            inputs: &inputs,
            scalars: &walk.scalars,
        };
        let out = match place.and_then(|leaf| inputs.get(leaf).copied()) {
            Some(view) => view.clone(),
            None => match device.alloc(walk.name, root.shape(), root.dtype()) {
                Ok(out) => out,
                Err(error) => return Some(Err(error)),
            },
        };
        let prepared = match self.known.get(walk.key.as_slice()) {
            Some(known) if !executor.pipelines().key_checks() => known,
            known => {
                let fresh = prepare(device, root, &operands, &out)?;
                if known.is_some_and(|known| !known.same(&fresh)) {
                    let text = "an expression was taken for another one";
                    return Some(Err(Error::internal(walk.name, text)));
                }
                if self.known.len() >= MOST {
                    self.known.clear();
                }
                self.known.insert(walk.key.as_slice().into(), fresh);
                self.known.get(walk.key.as_slice())?
            }
        };
        match executor.fused_again(prepared, &operands, &out) {
            Ok(false) => return None,
            Ok(true) => {}
            Err(error) => return Some(Err(Error::from_kernel(walk.name, error))),
        }
        for &held in &walk.held {
            if let Some(node) = walk.ops.get(held) {
                node.mark_passed();
            }
        }
        Some(Ok(out))
    }
}

/// What planning makes of it. What fails here fails again, and is reported, where everything else is planned.
fn prepare(
    device: &Device,
    root: &Arc<Node>,
    operands: &FusedOperands<'_>,
    out: &View,
) -> Option<PreparedFused> {
    let plan = Plan::new(std::slice::from_ref(root), &device.lazy().limits, &[]).ok()?;
    let [output] = plan.outputs.as_slice() else {
        return None;
    };
    let (expression, ids) = plan.expression().ok()?;
    let value = ids.get(*output).copied().flatten()?;
    let prepared = device
        .executor()
        .prepare_fused(&expression, value, operands, out);
    prepared.ok().flatten()
}

/// The expression below a node, by numbers.
#[derive(Debug, Default)]
struct Walk {
    /// The place of the result; each op with its operands; the dtypes of leaves and scalars; how many there are.
    key: Vec<u64>,
    /// In the order they were met, the root first.
    ops: Vec<Arc<Node>>,
    /// How often each op is an operand.
    op_edges: Vec<usize>,
    /// Those met first at one op, to come behind them.
    new: Vec<Arc<Node>>,
    leaves: Vec<Arc<Node>>,
    leaf_edges: Vec<usize>,
    /// As their dtypes hold them.
    scalars: Vec<(DType, f64)>,
    /// Ops that tensors hold.
    held: Vec<usize>,
    /// The root's public operation.
    name: &'static str,
}

impl Walk {
    fn clear(&mut self) {
        self.key.clear();
        self.ops.clear();
        self.op_edges.clear();
        self.new.clear();
        self.leaves.clear();
        self.leaf_edges.clear();
        self.scalars.clear();
        self.held.clear();
    }

    /// Numbers what is below `root`, and finds the leaf whose memory the result may take. `None` if the expression is not
    /// of the common sort.
    fn follow(&mut self, root: &Arc<Node>, limits: &Limits) -> Option<Option<usize>> {
        let shape = root.shape();
        self.key.push(0);
        root.set_slot(0);
        self.ops.push(Arc::clone(root));
        self.op_edges.push(0);
        while let Some(node) = self.ops.get(self.key.len() - 1) {
            let mut step = Step {
                shape,
                ops: &self.ops,
                new: &mut self.new,
                op_edges: &mut self.op_edges,
                leaves: &mut self.leaves,
                leaf_edges: &mut self.leaf_edges,
                scalars: &mut self.scalars,
            };
            let seen = node.peek(|work| match work {
                Work::Op { op, name, inputs } => {
                    let word = step.operands(op.code(), inputs)?;
                    Some((word, *name))
                }
                Work::Kernel(_) | Work::Walk { .. } => None,
            });
            let (word, name) = seen.flatten()?;
            if self.key.len() == 1 {
                self.name = name;
            }
            self.key.push(word);
            self.ops.append(&mut self.new);
            if self.ops.len() > limits.ops as usize {
                return None;
            }
        }
        let fits = self.leaves.len() < limits.bindings && !shape.is_empty();
        // A single op has a kernel of its own.
        if self.ops.len() < 2 || !fits || !self.is_alone() {
            return None;
        }
        let place = self.place(root);
        // What a tensor holds may read the leaf again: the plan finds out.
        if place.is_some() && !self.held.is_empty() {
            return None;
        }
        if let Some(first) = self.key.first_mut() {
            *first = place.map_or(0, |leaf| leaf as u64 + 1);
        }
        self.key
            .extend(self.leaves.iter().map(|leaf| leaf.dtype() as u64));
        self.key
            .extend(self.scalars.iter().map(|(dtype, _)| *dtype as u64));
        let counts = [self.ops.len(), self.leaves.len(), self.scalars.len()];
        let word = counts.iter().fold(0, |word, &n| word << 16 | n as u64);
        self.key.push(word);
        Some(place)
    }

    /// Whether nothing but the root has to be stored. Notes what tensors hold.
    fn is_alone(&mut self) -> bool {
        let ops = self.ops.iter().zip(&self.op_edges).enumerate().skip(1);
        for (at, (node, edges)) in ops {
            let uses = node.uses();
            if uses > *edges {
                return false;
            }
            // One handle is in the list.
            if Arc::strong_count(node) > uses + 1 {
                if node.passed() {
                    return false;
                }
                self.held.push(at);
            }
        }
        true
    }

    /// The first leaf whose memory nobody else has and that lies as the result will.
    fn place(&self, root: &Node) -> Option<usize> {
        let bytes = root.shape().len() as u64 * root.dtype().bytes() as u64;
        let mut leaves = self.leaves.iter().zip(&self.leaf_edges);
        leaves.position(|(leaf, edges)| {
            leaf.dtype() == root.dtype()
                // A replay would find it overwritten.
                && leaf.is_of_this_capture()
                && Arc::strong_count(leaf) == edges + 1
                && leaf.view().is_some_and(|view| {
                    view.buffer.is_unique()
                        && !view.buffer.is_wrapped()
                        && view.buffer.bytes() == bytes
                        && view.layout == Layout::contiguous(*root.shape())
                })
        })
    }
}

/// One op being numbered.
struct Step<'a> {
    shape: &'a Shape,
    ops: &'a [Arc<Node>],
    /// Ops that are met first here; their numbers follow.
    new: &'a mut Vec<Arc<Node>>,
    op_edges: &'a mut Vec<usize>,
    leaves: &'a mut Vec<Arc<Node>>,
    leaf_edges: &'a mut Vec<usize>,
    scalars: &'a mut Vec<(DType, f64)>,
}

impl Step<'_> {
    /// The word of an op: its code and its operands' numbers.
    fn operands(&mut self, code: u64, inputs: &Inputs) -> Option<u64> {
        let mut word = code;
        for input in inputs {
            let number = match input {
                None => NONE,
                Some(Input::Scalar(dtype, value)) => SCALAR | self.scalar(*dtype, *value)?,
                Some(Input::Node(node)) => match node.value() {
                    Some(Ok(view)) => self.leaf(node, view)?,
                    Some(Err(_)) => return None,
                    None => OP | self.op(node)?,
                },
            };
            word = word << 16 | number;
        }
        Some(word)
    }

    fn op(&mut self, node: &Arc<Node>) -> Option<u64> {
        let slot = node.slot();
        let old = self.ops.len();
        let there = self
            .ops
            .get(slot)
            .or_else(|| self.new.get(slot.checked_sub(old)?));
        if there.is_some_and(|there| Arc::ptr_eq(there, node)) {
            *self.op_edges.get_mut(slot)? += 1;
            return Some(slot as u64);
        }
        if node.shape() != self.shape || !node.is_of_this_capture() {
            return None;
        }
        self.new.push(Arc::clone(node));
        let slot = self.op_edges.len();
        node.set_slot(slot);
        self.op_edges.push(1);
        Some(slot as u64)
    }

    fn leaf(&mut self, node: &Arc<Node>, view: &View) -> Option<u64> {
        let slot = node.slot();
        let there = self.leaves.get(slot);
        if there.is_some_and(|there| Arc::ptr_eq(there, node)) {
            *self.leaf_edges.get_mut(slot)? += 1;
            return Some(slot as u64);
        }
        let shared = |leaf: &Arc<Node>| {
            let other = leaf.view();
            other.is_some_and(|other| other.buffer.same_memory(&view.buffer))
        };
        if view.shape() != self.shape || !view.is_quads() || self.leaves.iter().any(shared) {
            return None;
        }
        let slot = self.leaves.len();
        node.set_slot(slot);
        self.leaves.push(Arc::clone(node));
        self.leaf_edges.push(1);
        Some(slot as u64)
    }

    /// Equal numbers are one value, as in a plan.
    fn scalar(&mut self, dtype: DType, value: f64) -> Option<u64> {
        let value = round_to(dtype, value);
        let same =
            |(known, held): &(DType, f64)| *known == dtype && held.to_bits() == value.to_bits();
        let at = self.scalars.iter().position(same).unwrap_or_else(|| {
            self.scalars.push((dtype, value));
            self.scalars.len() - 1
        });
        Some(at as u64)
    }
}
