//! Recording: pending nodes for ops and for views of pending values.
//!
//! An expression that has grown to a limit is computed before anything is put on top of it.

use std::sync::Arc;

use ziggurat_core::{DType, Layout, Shape};
use ziggurat_kernels::FusedOp;

use super::evaluate::{self, evaluate};
use super::memo;
use super::policy::FusionPolicy;
use crate::few::Few;
use crate::node::{Cost, Handle, Input, Inputs, KernelCall, Node, Work};
use crate::{Device, Error};

/// Cost in ops of a node that is not elementwise: too expensive to be computed again under a broadcast.
const KERNEL_COST: u32 = 8;

/// A node for `op` over inputs that broadcast to `shape`, whose dtypes are checked here.
pub(crate) fn record(
    device: &Device,
    name: &'static str,
    op: FusedOp,
    shape: &Shape,
    inputs: Inputs,
) -> Result<Arc<Node>, Error> {
    if device.lazy().policy() == FusionPolicy::Unfused {
        return compute(device, (name, op), shape, &inputs);
    }
    let dtype = dtype_of(device, (name, op), shape, &inputs)?;
    pend(device, (name, op), (shape, dtype), inputs)
}

/// [`record`] under a policy, of inputs that have the dtype of `like` and broadcast to its shape.
#[inline]
pub(crate) fn record_like(
    device: &Device,
    policy: FusionPolicy,
    (name, op): (&'static str, FusedOp),
    like: &Node,
    inputs: Inputs,
) -> Result<Arc<Node>, Error> {
    let (shape, dtype) = (like.shape(), like.dtype());
    if !op.keeps(dtype) || policy == FusionPolicy::Unfused {
        return record(device, name, op, shape, inputs);
    }
    if !like.fits() {
        device.check_len(name, shape, dtype)?;
    }
    pend(device, (name, op), (shape, dtype), inputs)
}

/// A pending node for an op of this shape and dtype.
#[inline]
fn pend(
    device: &Device,
    (name, op): (&'static str, FusedOp),
    (shape, dtype): (&Shape, DType),
    inputs: Inputs,
) -> Result<Arc<Node>, Error> {
    let mut cost = Cost::default();
    over(op, &inputs, &mut cost)?;
    let limits = &device.lazy().limits;
    if cost.rough && !limits.allow(&cost) {
        // What is shared was counted for each of its uses. Slots belong to whoever holds the gate.
        let _gate = device.lazy().gate.lock();
        cost = measured(op, &inputs);
    }
    if !limits.allow(&cost) {
        evaluate_all(device, &inputs)?;
        cost = Cost::default();
        over(op, &inputs, &mut cost)?;
    }
    let work = Work::Op { op, name, inputs };
    Ok(Node::pending(shape, dtype, work, &cost))
}

/// The dtype of an op's result, which the device can hold.
#[inline]
fn dtype_of(
    device: &Device,
    (name, op): (&'static str, FusedOp),
    shape: &Shape,
    inputs: &Inputs,
) -> Result<DType, Error> {
    let dtype = match inputs.first() {
        [Some(a), None, None] => op.dtype(&[a.dtype()]),
        [Some(a), Some(b), None] => op.dtype(&[a.dtype(), b.dtype()]),
        [Some(a), Some(b), Some(c)] if inputs.more().is_empty() => {
            op.dtype(&[a.dtype(), b.dtype(), c.dtype()])
        }
        _ => {
            let dtypes: Vec<DType> = inputs.iter().map(Input::dtype).collect();
            op.dtype(&dtypes)
        }
    };
    let dtype = dtype.map_err(|error| Error::from_kernel(name, error))?;
    device.check_len(name, shape, dtype)?;
    Ok(dtype)
}

/// A node with the value of an op, which is computed by its own kernel.
#[inline(never)]
fn compute(
    device: &Device,
    (name, op): (&'static str, FusedOp),
    shape: &Shape,
    inputs: &Inputs,
) -> Result<Arc<Node>, Error> {
    if let Some(operands) = in_memory(inputs)
        && let Some(node) = memo::again(device, (name, op), shape, operands)
    {
        return node;
    }
    let dtype = dtype_of(device, (name, op), shape, inputs)?;
    evaluate_all(device, inputs)?;
    evaluate::single(device, name, op, (shape, dtype), inputs, Node::in_memory)
}

/// The inputs, if there are three at most and no numbers.
pub(super) fn in_memory(inputs: &Inputs) -> Option<[Option<&Arc<Node>>; 3]> {
    let mut nodes = [None; 3];
    for (node, input) in nodes.iter_mut().zip(inputs.first()) {
        match input {
            Some(Input::Node(input)) => *node = Some(input),
            Some(Input::Scalar(..)) => return None,
            None => {}
        }
    }
    inputs.more().is_empty().then_some(nodes)
}

/// Gives the inputs of an op their values. None is written over meanwhile: the op is not counted among their users yet.
fn evaluate_all(device: &Device, inputs: &Inputs) -> Result<(), Error> {
    let mut pending = false;
    inputs.each(|input| pending |= input.node().is_some_and(|node| node.value().is_none()));
    if !pending {
        return Ok(());
    }
    let nodes = || inputs.iter().filter_map(Input::node);
    let claim = |node: &Arc<Node>| Handle::new(Arc::clone(node));
    let _claims: Few<Handle> = nodes().map(claim).collect();
    nodes().try_for_each(|node| evaluate(device, &[node]))
}

/// A node for a kernel that can write an expression over its result, and holds so many bytes of memory.
pub(crate) fn defer(
    device: &Device,
    shape: &Shape,
    dtype: DType,
    kernel: Arc<KernelCall>,
    held: u64,
) -> Result<Arc<Node>, Error> {
    device.check_len(kernel.name, shape, dtype)?;
    if device.lazy().policy() == FusionPolicy::Unfused {
        let out = evaluate::plain(device, shape, dtype, &kernel, None)?;
        kernel.release();
        return Ok(Node::ready(out));
    }
    let leaves = u32::try_from(kernel.memory().count()).unwrap_or(u32::MAX);
    let cost = Cost::kernel(KERNEL_COST, leaves, held);
    Ok(Node::pending(shape, dtype, Work::Kernel(kernel), &cost))
}

/// A node that is a view of the memory of `node` by `layout`.
pub(crate) fn view(node: &Arc<Node>, layout: Layout) -> Result<Arc<Node>, Error> {
    let below = node.peek(|work| match work {
        Work::Op { .. } | Work::Kernel(_) => Arc::clone(node),
        Work::View { base, .. } => Arc::clone(base),
    });
    let (Some(base), Some(&cost), dtype) = (below, node.cost(), node.dtype()) else {
        return match node.value() {
            Some(Ok(view)) => {
                let view = ziggurat_kernels::View {
                    layout,
                    ..view.clone()
                };
                Ok(Node::ready(view))
            }
            Some(Err(error)) => Err(error.clone()),
            None => Err(Error::internal("view", "a node has neither value nor work")),
        };
    };
    let layout = Box::new(layout);
    let (shape, work) = (*layout.shape(), Work::View { base, layout });
    Ok(Node::pending(&shape, dtype, work, &cost))
}

impl Input {
    pub(crate) fn dtype(&self) -> DType {
        match self {
            Self::Node(node) => node.dtype(),
            Self::Scalar(dtype, _) => *dtype,
        }
    }

    pub(crate) fn node(&self) -> Option<&Arc<Node>> {
        match self {
            Self::Node(node) => Some(node),
            Self::Scalar(..) => None,
        }
    }
}

/// Makes nothing the cost of one op over these inputs.
///
/// # Errors
/// That of an input which failed.
#[inline]
fn over(op: FusedOp, inputs: &Inputs, cost: &mut Cost) -> Result<(), Error> {
    for input in inputs.first().iter().flatten() {
        add(input, cost)?;
    }
    for input in inputs.more().iter().flatten() {
        add(input, cost)?;
    }
    on_top(op, cost);
    Ok(())
}

/// Adds the cost of an input to that of others.
#[inline(always)]
fn add(input: &Input, cost: &mut Cost) -> Result<(), Error> {
    let Input::Node(node) = input else {
        return Ok(());
    };
    match node.value() {
        Some(Ok(view)) => cost.add_leaf(node, || view.buffer.bytes()),
        Some(Err(error)) => return Err(error.clone()),
        None if cost.depth == 0 && cost.leaves == 0 => *cost = *node.pending_cost(),
        None => *cost = cost.combined(node.pending_cost()),
    }
    Ok(())
}

fn on_top(op: FusedOp, cost: &mut Cost) {
    cost.ops = cost.ops.saturating_add(op.weight());
    cost.depth = cost.depth.saturating_add(1);
}

/// Bytes that a value in memory holds.
fn bytes(node: &Node) -> u64 {
    node.view().map_or(0, |view| view.buffer.bytes())
}

/// As [`over`], with everything that is shared counted once.
fn measured(op: FusedOp, inputs: &Inputs) -> Cost {
    let mut seen: Vec<Arc<Node>> = Vec::new();
    let mut cost = Cost::default();
    let mut todo: Vec<Arc<Node>> = inputs.iter().filter_map(Input::node).cloned().collect();
    let mut depth = 0;
    while let Some(node) = todo.pop() {
        if position(&seen, &node).is_some() {
            continue;
        }
        node.set_slot(seen.len());
        let own = node.cost().copied().unwrap_or_default();
        let below = node.peek(|work| match work {
            Work::Op { op, inputs, .. } => {
                cost.ops = cost.ops.saturating_add(op.weight());
                depth = depth.max(own.depth);
                todo.extend(inputs.iter().filter_map(Input::node).cloned());
            }
            Work::Kernel(_) => cost = cost.combined(&own),
            Work::View { base, .. } => todo.push(Arc::clone(base)),
        });
        if below.is_none() {
            cost.add_leaf(&node, || bytes(&node));
        }
        seen.push(node);
    }
    cost.depth = depth;
    cost.rough = false;
    on_top(op, &mut cost);
    cost
}

/// Where `node` stands in `nodes`, if its slot says so.
fn position(nodes: &[Arc<Node>], node: &Arc<Node>) -> Option<usize> {
    let slot = node.slot();
    let there = nodes.get(slot)?;
    Arc::ptr_eq(there, node).then_some(slot)
}
