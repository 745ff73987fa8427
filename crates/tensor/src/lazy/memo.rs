//! Expressions that were planned before.
//!
//! Programs compute the same expressions again and again, over other memory. What is below the nodes to be computed is
//! numbered, which makes a key; with a key that is known, the dispatches that its plan came to are recorded again. What has
//! no key is planned each time.
//!
//! Invariants: a key tells apart whatever the plan would tell apart; from one evaluation to the next nothing is held but
//! keys, kernels and tables.

mod again;
mod forms;
mod key;
mod planned;
mod words;

use std::sync::Arc;

use ziggurat_core::{DType, Shape};
use ziggurat_device::Stage;
use ziggurat_kernels::{Call, FusedOp, KernelError, Program, View};
use ziggurat_memory::Buffer;
use ziggurat_pipeline::QuickMap;

use super::evaluate;
use super::plan::Stop;
use super::prologue::{self, Read};
use super::reason::NotFused;
use super::record::in_memory;
use crate::node::{Form, Inputs, Node};
use crate::{Device, Error};
use again::{Again, Recent};
use key::Numbered;
use planned::{Output, Planned, is_as_before, plan};

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
    key: Box<[u64]>,
    planned: Arc<Planned>,
    used: u64,
}

/// What is kept from one evaluation to the next.
#[derive(Debug, Default)]
pub(super) struct Memo {
    /// By what each key's words mix to. Of two keys that mix alike, which hardly ever come, the later one is known.
    known: QuickMap<u64, Entry>,
    recent: Recent,
    numbered: Numbered,
    /// The memory of outputs; empty in between.
    made: Vec<Buffer>,
    /// The nodes that get these values, or the failure, behind everything else; empty in between.
    completed: Vec<Arc<Node>>,
    failed: Option<Error>,
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
    // Inputs that nobody has any more can be used again only if the numbering has them no more.
    let Some(launched) = launched else {
        memo.made.clear();
        return None;
    };
    Some(match launched {
        Ok(planned) => {
            let Memo {
                made, completed, ..
            } = &mut *memo;
            let nodes = completed.drain(..).zip(made.drain(..));
            for ((node, buffer), output) in nodes.zip(planned.outputs()) {
                node.complete_in(buffer, &output.form);
            }
            Ok(())
        }
        Err(stop) => {
            memo.made.clear();
            let failed = memo.failed.take();
            for (node, error) in memo.completed.drain(..).zip(std::iter::repeat(failed)) {
                error
                    .into_iter()
                    .for_each(|error| node.complete(Err(error)));
            }
            Err(stop)
        }
    })
}

/// A node with the value of one op by its own kernel, if a call like this one came lately; `None`, with nothing done, if not.
/// Such a call was checked then.
pub(crate) fn again(
    device: &Device,
    (name, op): (&'static str, FusedOp),
    shape: &Shape,
    operands: [Option<&Arc<Node>>; 3],
) -> Option<Result<Arc<Node>, Error>> {
    let executor = device.executor();
    // What is compared each time goes by its key.
    if is_planned_anew(device) || executor.pipelines().key_checks() {
        return None;
    }
    let state = executor.kernel_state();
    let again = Again::new(state, op, operands, &device.lazy().limits)?;
    let mut memo = device.lazy().memo.lock();
    let Memo { recent, stats, .. } = &mut *memo;
    let Planned::Kernels {
        program, outputs, ..
    } = &**recent.find(&again, shape)?
    else {
        return None;
    };
    let [output] = outputs.as_slice() else {
        return None;
    };
    stats.hits += 1;
    Some(device.alloc_bytes(name, output.bytes).and_then(|out| {
        let run = executor.run_program(program, |at| again.memory(at, &out), &[]);
        run.map_err(|error| Error::from_kernel(name, error))?;
        Ok(Node::in_memory(out, &output.form))
    }))
}

/// What `made` makes of the value of one op by its own kernel, its inputs having values: of its memory and how it lies
/// there. `None`, with nothing done, if it has no key.
pub(super) fn single<R>(
    device: &Device,
    op: (&'static str, FusedOp),
    out: (&Shape, DType),
    inputs: &Inputs,
    made: &impl Fn(Buffer, &Form) -> R,
) -> Option<Result<R, Error>> {
    if is_planned_anew(device) {
        return None;
    }
    let mut memo = device.lazy().memo.lock();
    let value = memo.single(device, op, out, inputs, made);
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

/// The number of the form in which a value lies in memory, which its node remembers.
pub(crate) fn form(device: &Device, node: &Node) -> Option<u64> {
    let known = node.form();
    if known.is_some() {
        return known;
    }
    let view = node.view()?;
    let mut memo = device.lazy().memo.lock();
    let forms = memo.numbered.forms.get_mut();
    let number = forms.number(view.dtype, &view.layout);
    node.set_form(number);
    Some(number)
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
    fn launch(
        &mut self,
        device: &Device,
        group: &[Arc<Node>],
    ) -> Option<Result<Arc<Planned>, Stop>> {
        let span = device.executor().device().span(Stage::Plan);
        let limits = &device.lazy().limits;
        self.numbered.begin(device.executor().kernel_state());
        let common = self.numbered.below(group, limits);
        drop(span);
        if common.is_none() {
            self.stats.uncommon += 1;
            return None;
        }
        let mut made = std::mem::take(&mut self.made);
        let plan = |numbered: &Numbered| {
            let planned = plan(device, group, numbered, &mut made);
            is_as_before(device, numbered, group).then_some(planned?)
        };
        let planned = self.planned(device, plan);
        self.made = made;
        Some(planned?.and_then(|planned| {
            self.run(device, &planned)?;
            Ok(planned)
        }))
    }

    fn single<R>(
        &mut self,
        device: &Device,
        (name, op): (&'static str, FusedOp),
        (shape, dtype): (&Shape, DType),
        inputs: &Inputs,
        of: &impl Fn(Buffer, &Form) -> R,
    ) -> Option<Result<R, Error>> {
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
                outputs: vec![Output::new(0, None, shape, dtype)],
                passed: Vec::new(),
            }))
        };
        let planned = self.planned(device, plan)?;
        let Ok(planned) = planned else { return None };
        let (Planned::Kernels { program, .. }, [output]) = (&*planned, planned.outputs()) else {
            return None;
        };
        let state = self.numbered.state();
        if let Some(operands) = in_memory(inputs)
            && let Some(again) = Again::new(state, op, operands, limits)
        {
            self.recent.keep(&again, shape, &planned);
        }
        let out = match made {
            Some(View { buffer, .. }) => Ok(buffer),
            None => device.alloc_bytes(name, output.bytes),
        };
        Some(out.and_then(|out| {
            let run = self.dispatch(device, program, std::slice::from_ref(&out));
            run.map_err(|error| Error::from_kernel(name, error))?;
            Ok(of(out, &output.form))
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
        self.numbered.read_by(call, views);
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
            let nodes = ops.iter().map(|at| self.numbered.op_at(*at).cloned());
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
                forms,
            } => {
                let buffers = leaves
                    .iter()
                    .filter_map(|at| self.numbered.leaf_buffer(*at));
                let numbers = numbers
                    .iter()
                    .filter_map(|at| self.numbered.numbers.get(*at));
                let names = ops
                    .iter()
                    .map(|at| Some(self.numbered.op_at(*at)?.op_name()));
                let reader = reader.over(buffers.cloned(), numbers.map(|(_, value)| *value));
                prologue::Planned::Reads {
                    read: Read {
                        reader: Box::new(reader),
                        names: names.collect::<Option<_>>()?,
                        forms: *forms,
                    },
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
        let (key, mixed) = (self.numbered.key.as_slice(), self.numbered.key.mixed());
        if let Some(known) = self.known.get_mut(&mixed)
            && *known.key == *key
        {
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
        let mut planned = match planned {
            Ok(planned) => planned,
            Err(stop) => return Some(Err(stop)),
        };
        let known = self.numbered.forms.get_mut();
        match &mut planned {
            Planned::Kernels { outputs, .. } => {
                for Output { form, .. } in outputs {
                    form.number = known.number(form.dtype, &form.layout);
                }
            }
            Planned::Reads { reader, forms, .. } => {
                for (form, view) in forms.iter_mut().zip(reader.views()) {
                    *form = known.number(view.dtype, &view.layout);
                }
            }
            Planned::First(_) | Planned::Stored => {}
        }
        let planned = Arc::new(planned);
        self.stats.misses += 1;
        if self.known.len() >= MOST {
            self.forget_oldest();
        }
        let entry = Entry {
            key: self.numbered.key.as_slice().into(),
            planned: Arc::clone(&planned),
            used: now,
        };
        self.known.insert(mixed, entry);
        Some(Ok(planned))
    }

    fn forget_oldest(&mut self) {
        let oldest = self.known.iter().min_by_key(|(_, entry)| entry.used);
        let oldest = oldest.map(|(key, _)| *key);
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
                let nodes = first.iter().map(|at| numbered.op_at(*at).cloned());
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
        let mut made = std::mem::take(&mut self.made);
        if made.is_empty() {
            for output in outputs {
                made.push(match output.place {
                    Some(leaf) => numbered.leaf_buffer(leaf).ok_or_else(lost)?.clone(),
                    None => {
                        let buffer = device.alloc_bytes(name, output.bytes);
                        buffer.map_err(Stop::Failed)?
                    }
                });
            }
        }
        let nodes = outputs.iter().map(|output| numbered.op_at(output.op));
        for node in nodes {
            self.completed.push(Arc::clone(node.ok_or_else(lost)?));
        }
        if let Err(error) = self.dispatch(device, program, &made) {
            // A part may have run, perhaps over an input: nothing of this is computed again.
            let error = Error::from_kernel(name, error);
            self.failed = Some(error.clone());
            return Err(Stop::Failed(error));
        }
        for node in passed.iter().filter_map(|op| numbered.op_at(*op)) {
            node.mark_passed();
        }
        self.made = made;
        Ok(())
    }

    fn dispatch(
        &self,
        device: &Device,
        program: &Program,
        outputs: &[Buffer],
    ) -> Result<(), KernelError> {
        let numbered = &self.numbered;
        let given = |at: usize| match at.checked_sub(numbered.leaves()) {
            None => numbered.leaf_buffer(at),
            Some(output) => outputs.get(output),
        };
        let numbers = &numbered.numbers;
        device.executor().run_program(program, given, numbers)
    }
}
