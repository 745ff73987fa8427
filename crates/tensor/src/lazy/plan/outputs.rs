//! What a kernel stores, and where: outputs, what is passed over, and inputs that are written in place.
//!
//! Invariant: memory is overwritten only if this plan alone can reach it and nothing that stays pending reads it.

use std::sync::Arc;

use ziggurat_core::Layout;
use ziggurat_kernels::View;

use super::{Body, Operand, Plan, Step, Stop};
use crate::lazy::limits::Limits;
use crate::lazy::reason::NotFused;
use crate::node::Node;

impl Plan {
    /// Chooses what is stored and what is passed over, unless something must be computed before. Without `stores` the
    /// kernel has another output, and nothing of the expression can be stored beside it.
    pub(super) fn choose_outputs(
        &mut self,
        roots: &[Arc<Node>],
        limits: &Limits,
        stores: bool,
    ) -> Result<(), Stop> {
        let mut first = Vec::new();
        let mut why = NotFused::NeededElsewhere;
        let over = self.over_kernel();
        if let (Some((at, _)), false) = (self.kernel(), stores) {
            return self.steps.get(at).map_or(Ok(()), |step| {
                Err(Stop::first(&step.node, NotFused::OwnKernel))
            });
        }
        let is_root = |step: &Step| roots.iter().any(|root| Arc::ptr_eq(root, &step.node));
        for &at in &self.order {
            let Some(step) = self.steps.get(at) else {
                continue;
            };
            if is_root(step) {
                // A duplicate of a root is only computed.
                if self.whole(step) && !self.outputs.contains(&at) {
                    self.outputs.push(at);
                }
                continue;
            }
            let needed = step.node.uses() > self.edges(step);
            let held = step.node.has_handles();
            if !needed && !held || self.outputs.contains(&at) {
                continue;
            }
            if self.takes_kernel(at, &over) {
                // Without this in memory the kernel would run again for it. A view is one of what it walks.
                let stored = step.base().unwrap_or(at);
                match self.steps.get(stored) {
                    Some(below) if self.whole(below) && below.base().is_none() => {
                        self.outputs.push(stored);
                    }
                    _ => {
                        why = NotFused::OwnKernel;
                        first.push(Arc::clone(&step.node));
                    }
                }
            } else if !needed && !step.node.passed() {
                self.passed.push(at);
            } else if stores
                && (over.is_empty() || over.contains(&at))
                && self.whole(step)
                && matches!(step.body, Body::Op { .. })
            {
                self.outputs.push(at);
            } else {
                first.push(Arc::clone(&step.node));
            }
        }
        if !first.is_empty() {
            return Err(Stop::First(first, why));
        }
        let read = self
            .kernel()
            .map_or(0, |(_, kernel)| kernel.memory().count());
        let room = limits.bindings.saturating_sub(self.inputs() + read);
        if self.kernel().is_some() && !self.outputs.iter().all(|at| over.contains(at)) {
            // Some of the roots are not over the kernel: each is computed alone.
            return Err(Stop::First(roots.to_vec(), NotFused::Alone));
        }
        let ops = self.order.iter().filter(|&&at| self.is_op(at)).count();
        if self.outputs.len() <= room && ops <= limits.ops as usize {
            return Ok(());
        }
        let why = match self.outputs.len() > room {
            true => NotFused::Bindings(limits.bindings),
            false => NotFused::Operations(limits.ops),
        };
        if roots.len() > 1 {
            return Err(Stop::First(roots.to_vec(), why));
        }
        // The last output that fits is computed first, together with those before it; else a part of the expression.
        let cut = match self.outputs.len() {
            1 => None,
            _ => self
                .outputs
                .get(room.saturating_sub(1).min(self.outputs.len() - 2)),
        };
        match cut.and_then(|&at| self.steps.get(at)) {
            Some(step) => Err(Stop::first(&step.node, why)),
            None => self.split(why).map_or(Ok(()), Err),
        }
    }

    /// How many inputs of nodes in the plan a step's node is.
    fn edges(&self, step: &Step) -> usize {
        if !self.duplicates {
            return step.edges;
        }
        let same = |other: &&Step| Arc::ptr_eq(&other.node, &step.node);
        let mut edges = 0;
        for (at, above) in self.steps.iter().enumerate() {
            // Of duplicates, which have the same inputs, one counts.
            let mut before = self.steps.iter().take(at);
            if before.any(|other| Arc::ptr_eq(&other.node, &above.node)) {
                continue;
            }
            let below = above.operands().filter_map(Operand::step);
            let below = below.filter_map(|below| self.steps.get(below));
            edges += below.filter(same).count();
        }
        edges
    }

    /// A part to be computed first, unless the plan is one op.
    pub(in crate::lazy) fn split(&self, why: NotFused) -> Option<Stop> {
        let below = self.order.iter().rev().skip(1);
        let part = below.copied().find(|&at| self.is_op(at))?;
        self.steps
            .get(part)
            .map(|step| Stop::first(&step.node, why))
    }

    /// The kernel that runs, if there is one, and the steps that depend on it.
    fn over_kernel(&self) -> Vec<usize> {
        let Some((kernel, _)) = self.kernel() else {
            return Vec::new();
        };
        let mut over = Vec::with_capacity(self.order.len());
        over.push(kernel);
        for &at in &self.order {
            let operands = self.steps.get(at).into_iter().flat_map(Step::operands);
            let mut below = operands.filter_map(Operand::step);
            if below.any(|below| over.contains(&below)) {
                over.push(at);
            }
        }
        over
    }

    /// Whether the value of a step, which is not stored, cannot be computed from what is without the kernel.
    fn takes_kernel(&self, at: usize, over: &[usize]) -> bool {
        let mut seen = vec![false; self.steps.len()];
        let mut todo = vec![at];
        while let Some(at) = todo.pop() {
            let known = seen
                .get_mut(at)
                .is_none_or(|seen| std::mem::replace(seen, true));
            if known || !over.contains(&at) || self.outputs.contains(&at) {
                continue;
            }
            if self.is_kernel(at) {
                return true;
            }
            let operands = self.steps.get(at).into_iter().flat_map(Step::operands);
            todo.extend(operands.filter_map(Operand::step));
        }
        false
    }

    pub(super) fn is_kernel(&self, at: usize) -> bool {
        self.kernel().is_some_and(|(kernel, _)| kernel == at)
    }

    pub(super) fn is_op(&self, at: usize) -> bool {
        self.steps
            .get(at)
            .is_some_and(|step| matches!(step.body, Body::Op { .. }))
    }

    /// Whether the kernel computes all elements of a step, in its order; a prefix has the first map too.
    fn whole(&self, step: &Step) -> bool {
        step.map == 0 && step.node.shape().len() == self.shape.len()
    }

    /// The number of leaves, each as often as it is seen through another map.
    fn inputs(&self) -> usize {
        let mut seen: Vec<(usize, usize)> = Vec::with_capacity(self.steps.len());
        for operand in self.steps.iter().flat_map(Step::operands) {
            if let Operand::Leaf { step, map } = operand
                && !seen.contains(&(*step, *map))
            {
                seen.push((*step, *map));
            }
        }
        seen.len()
    }

    /// For each output, memory of an input that it may overwrite: nobody else has it, nobody will read it, and it lies
    /// as the output will. To be called while no expression holds the views.
    pub(in crate::lazy) fn in_place(&self) -> Vec<Option<View>> {
        if self.duplicates {
            // Who has a leaf is counted by its uses, which are two for one handle here.
            return vec![None; self.outputs.len()];
        }
        let kept = self.kept();
        let mut taken = vec![false; self.steps.len()];
        let mut places = Vec::with_capacity(self.outputs.len());
        for &output in &self.outputs {
            let dtype = self.steps.get(output).map(|step| step.node.dtype());
            let place = self.steps.iter().enumerate().find_map(|(at, step)| {
                let free = !taken.get(at).copied().unwrap_or(true)
                    && !kept.get(at).copied().unwrap_or(true)
                    && dtype == Some(step.node.dtype());
                let view = if free { self.reusable(at, step) } else { None };
                view.map(|view| (at, view))
            });
            places.push(place.map(|(at, view)| {
                if let Some(slot) = taken.get_mut(at) {
                    *slot = true;
                }
                view
            }));
        }
        places
    }

    /// The memory of a leaf if this plan alone has it, and walks it once, from its beginning.
    fn reusable(&self, at: usize, step: &Step) -> Option<View> {
        let view = step.view()?;
        let bytes = self.shape.len() as u64 * view.dtype.bytes() as u64;
        // A replay would find it overwritten.
        let own = step.node.is_of_this_capture();
        let alone = own
            && !self.assumed
            && step.node.is_only_used_by(step.edges)
            && view.buffer.is_unique()
            && !view.buffer.is_wrapped()
            && view.buffer.bytes() == bytes;
        let plain = view.layout == Layout::contiguous(self.shape)
            && self.steps.iter().flat_map(Step::operands).all(|operand| {
                !matches!(operand, Operand::Leaf { step, map } if *step == at && *map != 0)
            });
        (alone && plain).then(|| view.clone())
    }

    /// Steps whose values are read again after the kernel: by what is passed over, directly or not.
    fn kept(&self) -> Vec<bool> {
        let mut kept = vec![false; self.steps.len()];
        for &at in self.order.iter().rev() {
            let stays = kept.get(at).copied().unwrap_or(false) || self.passed.contains(&at);
            if !stays || self.outputs.contains(&at) {
                continue;
            }
            let operands = self.steps.get(at).into_iter().flat_map(Step::operands);
            for operand in operands {
                if let Operand::Step(below) | Operand::Leaf { step: below, .. } = operand
                    && let Some(slot) = kept.get_mut(*below)
                {
                    *slot = true;
                }
            }
        }
        kept
    }
}
