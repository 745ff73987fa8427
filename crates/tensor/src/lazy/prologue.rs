//! Prologues: kernels that walk their input read a pending expression in place of memory.
//!
//! A value is only computed within such a kernel if no pending node needs it. One that a tensor holds is passed over once,
//! as in every plan; the second kernel that asks finds it in memory. What a kernel below can write as it stores its own
//! result is stored: reading it instead would move as many bytes, and need a kernel with an expression of its own.

use std::sync::Arc;

use ziggurat_kernels::{Call, FusedInput, FusedOp, FusedReader, KernelError};

use super::evaluate;
use super::memo;
use super::plan::{Plan, Stop};
use super::policy::FusionPolicy;
use crate::Device;
use crate::node::{Input, Node, Work, same_shape};

/// How often something may have to be computed before an expression can be read. Each time more of it is in memory.
const ATTEMPTS: usize = 16;

/// The numbers of the forms of what a kernel reads; 0 where there is none, or none is known.
pub(crate) type Forms = [u64; 8];

/// A pending value as a kernel reads it.
#[derive(Debug)]
pub(crate) struct Read {
    pub(crate) reader: Box<FusedReader>,
    /// The public operations, operands first.
    pub(crate) names: Vec<&'static str>,
    /// The numbers of the forms of its memory, as far as they are known.
    pub(crate) forms: Forms,
}

/// The value of a pending node as kernels of `call`, which have `views` other bindings, read it; `None` if it must be, or had
/// better be, in memory.
///
/// # Errors
/// If the device cannot plan it. Failures of the value are reported where the value is asked for.
pub(crate) fn read(
    device: &Device,
    node: &Arc<Node>,
    call: &Call,
    views: usize,
) -> Result<Option<Read>, KernelError> {
    if node.value().is_some()
        || device.lazy().policy() == FusionPolicy::Unfused
        || is_epilogue(node)
    {
        return Ok(None);
    }
    let _gate = device.lazy().gate.lock();
    for _ in 0..ATTEMPTS {
        if node.value().is_some() || node.uses() > 0 || node.passed() {
            return Ok(None);
        }
        let known = memo::read(device, node, call, views);
        let planned = known.unwrap_or_else(|| plan(device, node, call, views));
        match planned {
            Ok(Planned::Reads { read, passed, .. }) => {
                for node in passed.iter().chain([node]) {
                    node.mark_passed();
                }
                return Ok(Some(read));
            }
            Ok(Planned::First(first)) => evaluate::all(device, first),
            Ok(Planned::Stored) => return Ok(None),
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

/// Ops between a kernel and a value that are looked at.
const LONGEST: usize = 32;

/// Whether a kernel below can write a pending value as it stores its result: if there is a chain of ops down to it whose
/// values nobody else needs, and everything else that they read is in memory.
fn is_epilogue(root: &Arc<Node>) -> bool {
    let mut node = Arc::clone(root);
    for _ in 0..LONGEST {
        let below = node.peek(|work| match work {
            Work::Kernel(_) => Some(None),
            Work::Op {
                op: FusedOp::User(_),
                ..
            }
            | Work::View { .. } => None,
            Work::Op { inputs, .. } => {
                let mut pending = inputs
                    .iter()
                    .filter_map(Input::node)
                    .filter(|input| input.value().is_none());
                match (pending.next(), pending.next()) {
                    (Some(only), None) => Some(Some(Arc::clone(only))),
                    _ => None,
                }
            }
        });
        match below.flatten() {
            Some(None) => return true,
            Some(Some(below))
                if below.is_only_used_by(1)
                    && below.is_of_this_capture()
                    && same_shape(below.shape(), root.shape()) =>
            {
                node = below;
            }
            _ => return false,
        }
    }
    false
}

/// What becomes of a pending value that a kernel wants to read.
#[derive(Debug)]
pub(super) enum Planned {
    Reads {
        read: Read,
        /// What the names are of.
        ops: Vec<Arc<Node>>,
        /// Values that tensors hold and that are computed without being stored.
        passed: Vec<Arc<Node>>,
    },
    /// These are computed before.
    First(Vec<Arc<Node>>),
    /// It is stored.
    Stored,
}

pub(super) fn plan(
    device: &Device,
    node: &Arc<Node>,
    call: &Call,
    views: usize,
) -> Result<Planned, KernelError> {
    let plan = match Plan::read(node, &device.lazy().limits) {
        Ok(plan) => plan,
        Err(Stop::First(first, _)) if first.iter().all(|below| !Arc::ptr_eq(below, node)) => {
            return Ok(Planned::First(first));
        }
        // The failure is reported where the value is asked for.
        Err(_) => return Ok(Planned::Stored),
    };
    let names = plan.names();
    let Ok((expression, ids)) = plan.expression() else {
        return Ok(Planned::Stored);
    };
    let root = plan.outputs.first();
    let value = root.and_then(|root| ids.get(*root).copied().flatten());
    let (Some(value), false) = (value, names.is_empty()) else {
        // A view of memory needs no expression.
        return Ok(Planned::Stored);
    };
    let input = FusedInput {
        expression: &expression,
        value,
        shape: plan.shape,
    };
    match device.executor().fused_reader(&input, call, views) {
        Ok(reader) => {
            let held = plan.passed.iter().filter_map(|&at| plan.steps.get(at));
            Ok(Planned::Reads {
                read: Read {
                    reader: Box::new(reader),
                    names,
                    forms: Forms::default(),
                },
                ops: plan.ops().cloned().collect(),
                passed: held.map(|step| Arc::clone(&step.node)).collect(),
            })
        }
        Err(KernelError::CannotFuse(_)) => Ok(Planned::Stored),
        Err(error) => Err(error),
    }
}
