//! Expressions that were planned before.
//!
//! Programs compute the same expressions again and again, over other memory. What is below the nodes to be computed is
//! numbered, which makes a key; with a key that is known, the dispatches that its plan came to are recorded again. What has
//! no key is planned each time.
//!
//! Invariants: a key tells apart whatever the plan would tell apart; from one evaluation to the next nothing is held but
//! keys, kernels and tables.

mod key;
mod planned;
mod words;

use std::sync::Arc;

use ziggurat_core::{DType, Layout, Shape};
use ziggurat_device::Stage;
use ziggurat_kernels::{Call, FusedOp, KernelError, Program, View};
use ziggurat_pipeline::QuickMap;

use super::evaluate;
use super::plan::Stop;
use super::prologue::{self, Read};
use super::reason::NotFused;
use crate::node::{Inputs, Node};
use crate::{Device, Error};
use key::{Leaf, Numbered};
use planned::{Planned, is_as_before, plan};

/// Structures that are remembered; at one more, the one that was not asked for longest is forgotten.
const MOST: usize = 1024;

/// How often plans of evaluations were found again: see [`Device::plan_stats`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlanStats {
    /// Evaluations whose plan was known.
    pub hits: u64,
    /// Evaluations that were planned, and are known now.
    pub misses: u64,
    /// Evaluations of a sort that is planned each time.
    pub uncommon: u64,
    /// Plans that were forgotten because there were too many.
    pub evicted: u64,
    /// Plans that are known.
    pub entries: usize,
}

#[derive(Debug)]
struct Entry {
    planned: Arc<Planned>,
    used: u64,
}

/// What is kept from one evaluation to the next.
#[derive(Debug, Default)]
pub(super) struct Memo {
    known: QuickMap<Box<[u64]>, Entry>,
    numbered: Numbered,
    /// Outputs; empty in between.
    views: Vec<View>,
    /// Values that nodes get behind everything else; empty in between.
    settled: Vec<(Arc<Node>, Result<View, Error>)>,
    stats: PlanStats,
}

/// Computes a group that has a key; `None`, with nothing done, if it has none. To be called with the gate held.
pub(super) fn launch(device: &Device, group: &[Arc<Node>]) -> Option<Result<(), Stop>> {
    if is_planned_anew(device) {
        return None;
    }
    let mut memo = device.lazy().memo.lock();
    let launched = memo.launch(device, group);
    memo.numbered.clear();
    memo.views.clear();
    // Inputs that nobody has any more can be used again only if the numbering has them no more.
    for (node, value) in memo.settled.drain(..) {
        node.settle(value);
    }
    launched
}

/// The value of one op by its own kernel, its inputs having values; `None`, with nothing done, if it has no key.
pub(super) fn single(
    device: &Device,
    op: (&'static str, FusedOp),
    made: (&Shape, DType),
    inputs: &Inputs,
) -> Option<Result<View, Error>> {
    if is_planned_anew(device) {
        return None;
    }
    let mut memo = device.lazy().memo.lock();
    let value = memo.single(device, op, made, inputs);
    memo.numbered.clear();
    value
}

/// How a kernel of `call`, which has `views` other bindings, reads a pending value; `None`, with nothing done, if it has no
/// key. To be called with the gate held.
pub(super) fn read(
    device: &Device,
    node: &Arc<Node>,
    call: &Call,
    views: usize,
) -> Option<Result<prologue::Planned, KernelError>> {
    if is_planned_anew(device) || !node.is_of_this_capture() {
        return None;
    }
    let mut memo = device.lazy().memo.lock();
    let read = memo.read(device, node, call, views);
    memo.numbered.clear();
    read
}

/// Whether plans are not remembered: in captures, and where somebody watches what each one dispatches.
fn is_planned_anew(device: &Device) -> bool {
    device.executor().is_capturing() || device.watch().is_on()
}

/// See [`Device::plan_stats`].
pub(crate) fn stats(device: &Device) -> PlanStats {
    let memo = device.lazy().memo.lock();
    PlanStats {
        entries: memo.known.len(),
        ..memo.stats
    }
}

impl Memo {
    fn launch(&mut self, device: &Device, group: &[Arc<Node>]) -> Option<Result<(), Stop>> {
        let span = device.executor().device().span(Stage::Plan);
        let limits = &device.lazy().limits;
        self.numbered.begin(device.executor().kernel_state());
        let common = self.numbered.below(group, limits);
        drop(span);
        if common.is_none() {
            self.stats.uncommon += 1;
            return None;
        }
        let mut made = std::mem::take(&mut self.views);
        let plan = |numbered: &Numbered| {
            let planned = plan(device, group, numbered, &mut made);
            is_as_before(device, numbered, group).then_some(planned?)
        };
        let planned = self.planned(device, plan);
        self.views = made;
        Some(planned?.and_then(|planned| self.run(device, &planned)))
    }

    fn single(
        &mut self,
        device: &Device,
        (name, op): (&'static str, FusedOp),
        (shape, dtype): (&Shape, DType),
        inputs: &Inputs,
    ) -> Option<Result<View, Error>> {
        let limits = &device.lazy().limits;
        self.numbered.begin(device.executor().kernel_state());
        self.numbered
            .single((name, op), (shape, dtype), inputs, limits)?;
        let mut made = None;
        let plan = |numbered: &Numbered| {
            let executor = device.executor();
            let noting = executor.note(numbered.buffers(), &numbered.numbers)?;
            let sources = evaluate::sources(name, inputs).ok()?;
            let out = (shape, dtype);
            let out = evaluate::compute(device, (name, op), out, &sources, Some(&noting));
            let out = made.insert(out.ok()?);
            if executor.kernel_state() != numbered.state() {
                return None;
            }
            Some(Ok(Planned::Kernels {
                program: noting.finish(&[&out.buffer])?,
                outputs: Vec::new(),
                passed: Vec::new(),
            }))
        };
        let planned = self.planned(device, plan)?;
        let Ok(planned) = planned else { return None };
        let Planned::Kernels { program, .. } = &*planned else {
            return None;
        };
        let out = made.map_or_else(|| device.alloc(name, shape, dtype), Ok);
        Some(out.and_then(|out| {
            let run = self.dispatch(device, program, std::slice::from_ref(&out));
            run.map_err(|error| Error::from_kernel(name, error))?;
            Ok(out)
        }))
    }

    fn read(
        &mut self,
        device: &Device,
        node: &Arc<Node>,
        call: &Call,
        views: usize,
    ) -> Option<Result<prologue::Planned, KernelError>> {
        let limits = &device.lazy().limits;
        let group = std::slice::from_ref(node);
        self.numbered.begin(device.executor().kernel_state());
        self.numbered.below(group, limits)?;
        let reading = device.executor().reading(call, node.shape());
        self.numbered.read_by(reading, views);
        let mut failed = None;
        let made = |numbered: &Numbered| match prologue::plan(device, node, call, views) {
            Ok(planned) => {
                let planned = numbered.remembered(device, planned)?;
                is_as_before(device, numbered, group).then_some(Ok(planned))
            }
            Err(error) => {
                failed = Some(error);
                None
            }
        };
        let planned = self.planned(device, made);
        if let Some(error) = failed {
            return Some(Err(error));
        }
        let Ok(planned) = planned? else { return None };
        let nodes = |ops: &[usize]| {
            let nodes = ops.iter().map(|at| self.numbered.ops.get(*at).cloned());
            nodes.collect::<Option<Vec<_>>>()
        };
        Some(Ok(match &*planned {
            Planned::First(first) => prologue::Planned::First(nodes(first)?),
            Planned::Stored => prologue::Planned::Stored,
            Planned::Kernels { .. } => return None,
            Planned::Reads {
                reader,
                leaves,
                numbers,
                ops,
                passed,
            } => {
                let leaves = leaves.iter().filter_map(|at| self.numbered.leaves.get(*at));
                let views = leaves.filter_map(Leaf::view);
                let buffers = views.map(|view| view.buffer.clone());
                let numbers = numbers
                    .iter()
                    .filter_map(|at| self.numbered.numbers.get(*at));
                let reader = reader.over(buffers, numbers.map(|(_, value)| *value));
                prologue::Planned::Reads {
                    read: Box::new(Read {
                        reader,
                        names: nodes(ops)?.iter().map(|node| node.op_name()).collect(),
                    }),
                    ops: Vec::new(),
                    passed: nodes(passed)?,
                }
            }
        }))
    }

    /// What is known of the key, else what `make` finds out, which gives `None` for what cannot be remembered.
    fn planned(
        &mut self,
        device: &Device,
        make: impl FnOnce(&Numbered) -> Option<Result<Planned, Stop>>,
    ) -> Option<Result<Arc<Planned>, Stop>> {
        let now = self.stats.hits + self.stats.misses;
        let key = self.numbered.key.as_slice();
        if let Some(known) = self.known.get_mut(key) {
            known.used = now;
            let planned = Arc::clone(&known.planned);
            if device.executor().pipelines().key_checks()
                && let Some(Ok(fresh)) = make(&self.numbered)
                && !planned.same(&fresh)
            {
                let text = "an expression was taken for another one";
                let error = Error::internal(self.numbered.name, text);
                return Some(Err(Stop::Failed(error)));
            }
            self.stats.hits += 1;
            return Some(Ok(planned));
        }
        let Some(planned) = make(&self.numbered) else {
            self.stats.uncommon += 1;
            return None;
        };
        let planned = match planned {
            Ok(planned) => Arc::new(planned),
            Err(stop) => return Some(Err(stop)),
        };
        self.stats.misses += 1;
        if self.known.len() >= MOST {
            self.forget_oldest();
        }
        let entry = Entry {
            planned: Arc::clone(&planned),
            used: now,
        };
        self.known
            .insert(self.numbered.key.as_slice().into(), entry);
        Some(Ok(planned))
    }

    fn forget_oldest(&mut self) {
        let oldest = self.known.iter().min_by_key(|(_, entry)| entry.used);
        let oldest = oldest.map(|(key, _)| key.clone());
        if let Some(key) = oldest {
            self.known.remove(&key);
            self.stats.evicted += 1;
        }
    }

    fn run(&mut self, device: &Device, planned: &Planned) -> Result<(), Stop> {
        let numbered = &self.numbered;
        let name = numbered.name;
        let lost = || Stop::Failed(Error::internal(name, "a plan is of another expression"));
        let (program, outputs, passed) = match planned {
            Planned::First(first) => {
                let nodes = first.iter().map(|at| numbered.ops.get(*at).cloned());
                let nodes = nodes.collect::<Option<Vec<_>>>();
                return Err(nodes.map_or_else(lost, |nodes| Stop::First(nodes, NotFused::Alone)));
            }
            Planned::Kernels {
                program,
                outputs,
                passed,
            } => (program, outputs, passed),
            Planned::Reads { .. } | Planned::Stored => return Err(lost()),
        };
        let mut views = std::mem::take(&mut self.views);
        if views.is_empty() {
            for (op, place) in outputs {
                let node = numbered.ops.get(*op).ok_or_else(lost)?;
                views.push(match place {
                    Some(leaf) => {
                        let leaf = numbered.leaves.get(*leaf).and_then(Leaf::view);
                        View {
                            layout: Layout::contiguous(*node.shape()),
                            ..leaf.ok_or_else(lost)?.clone()
                        }
                    }
                    None => {
                        let view = device.alloc(name, node.shape(), node.dtype());
                        view.map_err(Stop::Failed)?
                    }
                });
            }
        }
        if let Err(error) = self.dispatch(device, program, &views) {
            let failed = |error: KernelError| Error::from_kernel(name, error);
            // A part may have run, perhaps over an input: nothing of this is computed again.
            for node in outputs.iter().filter_map(|(op, _)| numbered.ops.get(*op)) {
                let error = failed(error.clone());
                self.settled.push((Arc::clone(node), Err(error)));
            }
            return Err(Stop::Failed(failed(error)));
        }
        for node in passed.iter().filter_map(|op| numbered.ops.get(*op)) {
            node.mark_passed();
        }
        let nodes = outputs.iter().filter_map(|(op, _)| numbered.ops.get(*op));
        for (node, view) in nodes.zip(views.drain(..)) {
            self.settled.push((Arc::clone(node), Ok(view)));
        }
        self.views = views;
        Ok(())
    }

    fn dispatch(
        &self,
        device: &Device,
        program: &Program,
        outputs: &[View],
    ) -> Result<(), KernelError> {
        let leaves = &self.numbered.leaves;
        let given = |at: usize| {
            let view = match at.checked_sub(leaves.len()) {
                None => leaves.get(at).and_then(Leaf::view),
                Some(output) => outputs.get(output),
            };
            view.map(|view| &view.buffer)
        };
        let numbers = &self.numbered.numbers;
        device.executor().run_program(program, given, numbers)
    }
}
