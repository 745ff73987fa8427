//! Prologues: kernels that walk their input read a pending expression in place of memory.
//!
//! A value is only computed within such a kernel if no pending node needs it. One that a tensor holds is passed over once,
//! as in every plan; the second kernel that asks finds it in memory.

use std::sync::Arc;

use ziggurat_core::Shape;
use ziggurat_kernels::fused::Id;
use ziggurat_kernels::{Expression, FusedInput};

use super::evaluate;
use super::plan::{Plan, Stop};
use super::policy::FusionPolicy;
use crate::Device;
use crate::node::Node;

/// How often something may have to be computed before an expression can be read. Each time more of it is in memory.
const ATTEMPTS: usize = 16;

/// A pending value as an expression over memory.
#[derive(Debug)]
pub(crate) struct Prologue {
    expression: Expression,
    value: Id,
    shape: Shape,
    names: Vec<&'static str>,
    /// Values that tensors hold and that are computed without being stored.
    passed: Vec<Arc<Node>>,
}

impl Prologue {
    /// The expression of a pending node; `None` if the value must be, or had better be, in memory.
    pub(crate) fn of(device: &Device, node: &Arc<Node>) -> Option<Self> {
        if node.value().is_some() || device.lazy().policy() == FusionPolicy::Unfused {
            return None;
        }
        let _gate = device.lazy().gate.lock();
        for _ in 0..ATTEMPTS {
            if node.value().is_some() || node.uses() > 0 || node.passed() {
                return None;
            }
            match Plan::read(node, &device.lazy().limits) {
                Ok(plan) => return Self::from_plan(node, &plan),
                Err(Stop::First(first)) if first.iter().all(|below| !Arc::ptr_eq(below, node)) => {
                    evaluate::all(device, first);
                }
                // The failure is reported where the value is asked for.
                Err(_) => return None,
            }
        }
        None
    }

    fn from_plan(node: &Arc<Node>, plan: &Plan) -> Option<Self> {
        let (expression, ids) = plan.expression().ok()?;
        let root = plan.outputs.first()?;
        let value = ids.get(*root).copied().flatten()?;
        let held = plan.passed.iter().filter_map(|&at| plan.steps.get(at));
        let passed = held.map(|step| Arc::clone(&step.node));
        let names = plan.names();
        // A view of memory needs no expression.
        (!names.is_empty()).then(|| Self {
            expression,
            names,
            value,
            shape: plan.shape,
            passed: passed.chain([Arc::clone(node)]).collect(),
        })
    }

    pub(crate) fn input(&self) -> FusedInput<'_> {
        FusedInput {
            expression: &self.expression,
            value: self.value,
            shape: self.shape,
        }
    }

    /// The public operations, operands first.
    pub(crate) fn names(&self) -> &[&'static str] {
        &self.names
    }

    /// To be called when a kernel that computes the value is recorded.
    pub(crate) fn recorded(self) {
        for node in self.passed {
            node.mark_passed();
        }
    }
}
