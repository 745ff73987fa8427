//! Evaluation: pending nodes become memory.
//!
//! A worklist of groups of nodes, the one on top to be computed next. What must be computed before goes on top of it. A
//! failure is the value of the nodes that it hit, and of those above them.

use std::sync::Arc;

use ziggurat_core::{DType, Layout, Shape, round_to};
use ziggurat_device::Stage;
use ziggurat_kernels::fused::Id;
use ziggurat_kernels::{
    Completion, Executor, Expression, FusedOp, FusedOutput, KernelError, Noting, Sink, View,
};
use ziggurat_memory::Buffer;

use super::memo;
use super::plan::{Plan, Source, Stop};
use super::policy::FusionPolicy;
use super::reason::NotFused;
use crate::node::{Form, Input, Inputs, KernelCall, Node, Work};
use crate::observe::{self, Operation, What};
use crate::{Device, Error, capture};

/// Gives all of `roots`, which are of one device, their values.
///
/// # Errors
/// The first of the roots' errors.
pub(crate) fn evaluate(device: &Device, roots: &[&Arc<Node>]) -> Result<(), Error> {
    if roots.iter().any(|root| root.value().is_none()) {
        let _gate = device.lazy().gate.lock();
        let fused = device.lazy().policy() == FusionPolicy::Fused;
        if let [root] = roots
            && fused
            && is_launched(device, root)
        {
            return Ok(());
        }
        let groups = by_shape(roots);
        work_off(groups, |group| step(device, group, fused));
    }
    let failed = roots.iter().find_map(|root| root.value()?.as_ref().err());
    failed.map_or(Ok(()), |error| Err(error.clone()))
}

/// Computes a pending node if the memo knows how and nothing must be computed before; else nothing is done, or what did not
/// succeed is the value. To be called with the gate held, where ops are fused.
fn is_launched(device: &Device, node: &Arc<Node>) -> bool {
    node.value().is_none()
        && node.is_of_this_capture()
        && matches!(
            memo::launch(device, std::slice::from_ref(node)),
            Some(Ok(()))
        )
}

/// Gives nodes their values, one after the other. To be called with the gate held.
pub(super) fn all(device: &Device, mut nodes: Vec<Arc<Node>>) {
    let fused = device.lazy().policy() == FusionPolicy::Fused;
    if let [node] = nodes.as_slice()
        && fused
        && is_launched(device, node)
    {
        return;
    }
    nodes.reverse();
    let groups = nodes.into_iter().map(|node| vec![node]).collect();
    work_off(groups, |group| step(device, group, fused));
}

/// Pending roots of one shape can be outputs of one kernel.
fn by_shape(roots: &[&Arc<Node>]) -> Vec<Vec<Arc<Node>>> {
    let mut groups: Vec<Vec<Arc<Node>>> = Vec::new();
    for root in roots {
        let like = |group: &Vec<Arc<Node>>| {
            group.first().is_some_and(|first| {
                first.shape() == root.shape()
                    && first.is_of_this_capture() == root.is_of_this_capture()
            })
        };
        let known = groups
            .iter_mut()
            .flatten()
            .any(|node| Arc::ptr_eq(node, root));
        match groups.iter_mut().find(|group| like(group)) {
            _ if known || root.value().is_some() => {}
            Some(group) => group.push(Arc::clone(root)),
            None => groups.push(vec![Arc::clone(root)]),
        }
    }
    groups
}

/// Works off the groups: `step` computes one, or says what must be computed before.
pub(super) fn work_off(
    mut groups: Vec<Vec<Arc<Node>>>,
    mut step: impl FnMut(&mut Vec<Arc<Node>>) -> Vec<Arc<Node>>,
) {
    while let Some(group) = groups.last_mut() {
        let first = step(group);
        if first.is_empty() {
            groups.pop();
        } else {
            groups.extend(first.into_iter().map(|node| vec![node]));
        }
    }
}

/// Whether a node would have to be computed before itself: a bug of the planner, which must not become an endless loop.
pub(super) fn waits_for_itself(group: &[Arc<Node>], first: &[Arc<Node>]) -> bool {
    match group {
        [root] => first.iter().any(|node| Arc::ptr_eq(root, node)),
        _ => false,
    }
}

/// Computes a group, or says what must be computed before. What was pending before a capture is computed once, not by
/// every replay.
fn step(device: &Device, group: &mut Vec<Arc<Node>>, fused: bool) -> Vec<Arc<Node>> {
    if group.first().is_none_or(|node| node.is_of_this_capture()) {
        step_here(device, group, fused)
    } else {
        capture::outside(device, || step_here(device, group, fused))
    }
}

fn step_here(device: &Device, group: &mut Vec<Arc<Node>>, fused: bool) -> Vec<Arc<Node>> {
    group.retain(|node| node.value().is_none());
    if let Some(first) = views(
        group,
        |base| base.value().cloned(),
        |node, value| node.complete(value),
    ) {
        return first;
    }
    if group.is_empty() {
        return Vec::new();
    }
    let attempt = if fused {
        memo::launch(device, group).unwrap_or_else(|| {
            let span = device.executor().device().span(Stage::Plan);
            let plan = Plan::new(group, &device.lazy().limits, &[]);
            drop(span);
            plan.and_then(|plan| launch(device, &plan))
        })
    } else {
        group.iter().try_for_each(|node| alone(device, node))
    };
    match attempt {
        Ok(()) => Vec::new(),
        Err(Stop::First(first, _)) if !waits_for_itself(group, &first) => first,
        Err(stop) => {
            let error = stop.into_error();
            for node in group.iter() {
                if node.value().is_none() {
                    node.complete(Err(error.clone()));
                }
            }
            Vec::new()
        }
    }
}

/// Gives views in the group their values, as far as their bases have one; else says which bases must be computed.
/// `None` if there is no view.
pub(super) fn views(
    group: &[Arc<Node>],
    value: impl Fn(&Arc<Node>) -> Option<Result<View, Error>>,
    mut complete: impl FnMut(&Arc<Node>, Result<View, Error>),
) -> Option<Vec<Arc<Node>>> {
    let mut first = Vec::new();
    let mut any = false;
    for node in group {
        let base = node.peek(|work| match work {
            Work::View { base, layout } => Some((Arc::clone(base), **layout)),
            Work::Op { .. } | Work::Kernel(_) => None,
        });
        let Some((base, layout)) = base.flatten() else {
            continue;
        };
        any = true;
        match value(&base) {
            Some(value) => complete(node, value.map(|view| View { layout, ..view })),
            None => first.push(base),
        }
    }
    match (any, first.is_empty()) {
        (false, _) => None,
        (true, true) if group.len() > 1 => Some(ops_of(group)),
        (true, _) => Some(first),
    }
}

/// The nodes of a group that are ops or kernels.
fn ops_of(group: &[Arc<Node>]) -> Vec<Arc<Node>> {
    let is_op =
        |node: &&Arc<Node>| node.peek(|work| !matches!(work, Work::View { .. })) == Some(true);
    group.iter().filter(is_op).cloned().collect()
}

/// A single op has a kernel of its own, which needs memory for its result. From this size on, it is rather written over an
/// input that nobody else holds, by a fused kernel.
const IN_PLACE_BYTES: u64 = 1 << 20;

/// The outputs of a plan, by their steps.
pub(super) type Outputs = Vec<(usize, View)>;

/// Records the kernel of a plan and gives its outputs their values.
fn launch(device: &Device, plan: &Plan) -> Result<(), Stop> {
    let outputs = record(device, plan, None)?;
    for &at in &plan.passed {
        if let Some(step) = plan.steps.get(at) {
            step.node.mark_passed();
        }
    }
    for (at, view) in outputs {
        if let Some(step) = plan.steps.get(at) {
            let layout = Layout::contiguous(*step.node.shape());
            step.node.complete(Ok(View { layout, ..view }));
        }
    }
    Ok(())
}

/// Records the kernel of a plan: its outputs. With a noting, which must be the thread's, notes it.
pub(super) fn record(
    device: &Device,
    plan: &Plan,
    noting: Option<&Noting>,
) -> Result<Outputs, Stop> {
    let root = plan.outputs.last().copied().unwrap_or_default();
    let name = plan.name(root);
    if let Some((at, kernel)) = plan.kernel() {
        return through_kernel(device, plan, at, kernel);
    }
    let places = plan.in_place();
    let written_over = places
        .iter()
        .flatten()
        .any(|view| view.buffer.bytes() >= IN_PLACE_BYTES);
    if !written_over
        && let (Some((op, sources)), [output]) = (plan.single(), plan.outputs.as_slice())
        // There numbers are operands in memory, for which a kernel may have no room.
        && sources.len() < device.lazy().limits.bindings
        && let Some(step) = plan.steps.get(*output)
    {
        let made = (step.node.shape(), step.node.dtype());
        let out = compute(device, (name, op), made, &sources, noting);
        return Ok(vec![(*output, out.map_err(Stop::Failed)?)]);
    }
    let mut outputs = Vec::with_capacity(plan.outputs.len());
    for (&at, place) in plan.outputs.iter().zip(places) {
        let Some(step) = plan.steps.get(at) else {
            continue;
        };
        let view = match place {
            Some(view) => view,
            None => device
                .alloc(name, &plan.shape, step.node.dtype())
                .map_err(Stop::Failed)?,
        };
        outputs.push((at, view));
    }
    if plan.shape.is_empty() {
        return Ok(outputs);
    }
    let (expression, ids) = plan.expression()?;
    let targets: Vec<_> = outputs
        .iter()
        .filter_map(|(at, view)| Some((ids.get(*at).copied().flatten()?, view.clone())))
        .collect();
    let limit = NotFused::Bindings(device.lazy().limits.bindings);
    let describe = || Operation {
        name: plan.names().join(", ").into(),
        what: What::Dispatches,
        inputs: Some(expression.inputs().iter().map(Some).collect()),
        is_given_non_finite: false,
        outputs: targets.iter().map(|(_, view)| view).collect(),
    };
    let fused = || {
        let executor = device.executor();
        executor.fused(&expression, &plan.shape, &targets)
    };
    match observe::operation(device, describe, fused) {
        Ok(_recorded) => Ok(outputs),
        Err(KernelError::CannotFuse(_)) if plan.split(limit).is_some() => {
            plan.split(limit).map_or(Ok(outputs), Err)
        }
        Err(error) => {
            // A part may have run, perhaps over an input: nothing of this is computed again.
            for (at, _) in &outputs {
                if let Some(step) = plan.steps.get(*at) {
                    let error = Error::from_kernel(name, error.clone());
                    step.node.complete(Err(error));
                }
            }
            Err(Stop::Failed(Error::from_kernel(name, error)))
        }
    }
}

/// Records the kernel that a plan is about; what is above it is what it writes.
fn through_kernel(
    device: &Device,
    plan: &Plan,
    at: usize,
    kernel: &KernelCall,
) -> Result<Outputs, Stop> {
    let Some(step) = plan.steps.get(at) else {
        let text = "the kernel of a plan is none of its steps";
        return Err(Stop::Failed(Error::internal(kernel.name, text)));
    };
    let (node, shape) = (&step.node, step.node.shape());
    if plan.outputs == [at] {
        let out = plain(device, shape, node.dtype(), kernel, None);
        return Ok(vec![(at, out.map_err(Stop::Failed)?)]);
    }
    let (expression, ids) = plan.expression()?;
    let mut outputs = Vec::with_capacity(plan.outputs.len());
    let mut targets = Vec::with_capacity(plan.outputs.len());
    for output in plan.outputs.iter().copied() {
        let id = ids.get(output).copied().flatten();
        let (Some(step), Some(id)) = (plan.steps.get(output), id) else {
            let text = "an output of a plan has no value";
            return Err(Stop::Failed(Error::internal(kernel.name, text)));
        };
        let view = device.alloc(kernel.name, shape, step.node.dtype());
        let view = view.map_err(Stop::Failed)?;
        outputs.push((output, view.clone()));
        targets.push((id, view));
    }
    if let Some(((value, out), also)) = targets.split_first()
        && !shape.is_empty()
    {
        let written = FusedOutput {
            expression: &expression,
            value: *value,
            shape: plan.shape,
            also,
        };
        let sink = Sink::new(out).through(&written);
        let describe = || Operation {
            name: plan.names().join(", ").into(),
            what: What::Dispatches,
            inputs: Some(
                kernel
                    .memory()
                    .chain(expression.inputs())
                    .map(Some)
                    .collect(),
            ),
            is_given_non_finite: false,
            outputs: targets.iter().map(|(_, view)| view).collect(),
        };
        match observe::operation(device, describe, || run(device, kernel, sink)) {
            Ok(()) => {}
            // The result is stored first.
            Err(KernelError::CannotFuse(_)) => {
                return Err(Stop::First(vec![Arc::clone(node)], NotFused::Alone));
            }
            Err(error) => return Err(Stop::Failed(Error::from_kernel(kernel.name, error))),
        }
    }
    Ok(outputs)
}

/// The value of a kernel as it is; `also` is where a second result goes.
pub(crate) fn plain(
    device: &Device,
    shape: &Shape,
    dtype: DType,
    kernel: &KernelCall,
    also: Option<&View>,
) -> Result<View, Error> {
    let out = device.alloc(kernel.name, shape, dtype)?;
    let describe = || Operation {
        name: kernel.label(),
        what: match kernel.reader {
            Some(_) => What::Dispatches,
            None => What::Call(&kernel.call),
        },
        inputs: Some(kernel.memory().map(Some).collect()),
        is_given_non_finite: false,
        outputs: std::iter::once(&out).chain(also).collect(),
    };
    let sink = Sink {
        also,
        ..Sink::new(&out)
    };
    observe::operation(device, describe, || run(device, kernel, sink))
        .map_err(|error| Error::from_kernel(kernel.name, error))?;
    Ok(out)
}

/// Records a call.
fn run(device: &Device, kernel: &KernelCall, sink: Sink<'_>) -> Result<(), KernelError> {
    // The completion is not needed: later commands are ordered behind this one, and reads report its failure.
    let recorded = device
        .executor()
        .run(&kernel.call, &kernel.operands()?, sink);
    recorded.map(drop)
}

/// Computes one op by its own kernel, its inputs having values; else says which have none.
fn alone(device: &Device, node: &Arc<Node>) -> Result<(), Stop> {
    let work = node.peek(|work| match work {
        Work::Op { op, name, inputs } => Some(Ok((*op, *name, inputs.clone()))),
        Work::Kernel(kernel) => Some(Err(Arc::clone(kernel))),
        Work::View { .. } => None,
    });
    let (op, name, inputs) = match work.flatten() {
        Some(Ok(op)) => op,
        Some(Err(kernel)) => {
            let out = plain(device, node.shape(), node.dtype(), &kernel, None);
            node.complete(Ok(out.map_err(Stop::Failed)?));
            return Ok(());
        }
        None => return Ok(()),
    };
    let waiting: Vec<Arc<Node>> = inputs
        .iter()
        .filter_map(Input::node)
        .filter(|node| node.value().is_none())
        .cloned()
        .collect();
    if !waiting.is_empty() {
        return Err(Stop::First(waiting, NotFused::Alone));
    }
    let out = (node.shape(), node.dtype());
    let complete = |buffer, form: &Form| node.complete_in(buffer, form);
    single(device, name, op, out, &inputs, complete).map_err(Stop::Failed)
}

/// What `made` makes of the value of one op by its own kernel, its inputs having values: of its memory and how it lies
/// there.
pub(super) fn single<R>(
    device: &Device,
    name: &'static str,
    op: FusedOp,
    out: (&Shape, DType),
    inputs: &Inputs,
    made: impl Fn(Buffer, &Form) -> R,
) -> Result<R, Error> {
    if let Some(value) = memo::single(device, (name, op), out, inputs, &made) {
        return value;
    }
    let sources = sources(name, inputs)?;
    let view = compute(device, (name, op), out, &sources, None)?;
    let form = Form::unnumbered(view.dtype, view.layout);
    Ok(made(view.buffer, &form))
}

/// The values of an op's inputs.
pub(super) fn sources(name: &'static str, inputs: &Inputs) -> Result<Vec<Source>, Error> {
    let mut sources = Vec::with_capacity(inputs.places());
    for input in inputs.iter() {
        sources.push(match input {
            Input::Scalar(dtype, value) => Source::Scalar(*dtype, *value),
            Input::Node(node) => match node.value() {
                Some(Ok(view)) => Source::View(view.clone()),
                Some(Err(error)) => return Err(error.clone()),
                None => return Err(Error::internal(name, "an input has no value yet")),
            },
        });
    }
    Ok(sources)
}

pub(super) fn compute(
    device: &Device,
    (name, op): (&'static str, FusedOp),
    (shape, dtype): (&Shape, DType),
    sources: &[Source],
    noting: Option<&Noting>,
) -> Result<View, Error> {
    let out = device.alloc(name, shape, dtype)?;
    let is_not_finite = |source: &Source| match source {
        Source::Scalar(_, value) => !value.is_finite(),
        Source::View(_) => false,
    };
    let is_given_non_finite = sources.iter().any(is_not_finite);
    if matches!(op, FusedOp::User(_)) {
        express(device, (name, op), sources, &out, is_given_non_finite)?;
        return Ok(out);
    }
    let views = operands(device, name, sources)?;
    if let Some(noting) = noting {
        for (source, view) in sources.iter().zip(&views) {
            if let Source::Scalar(dtype, value) = source {
                noting.holds_number(&view.buffer, *dtype, round_to(*dtype, *value));
            }
        }
    }
    let describe = || Operation {
        name: name.into(),
        what: What::Elementwise(op),
        inputs: Some(views.iter().map(Some).collect()),
        is_given_non_finite,
        outputs: vec![&out],
    };
    // The completion is not needed: later commands are ordered behind this one, and reads report its failure.
    let run = || match record_alone(device.executor(), op, &views, &out) {
        Some(recorded) => recorded
            .map(drop)
            .map_err(|error| Error::from_kernel(name, error)),
        None => Err(Error::internal(name, "the op has no kernel of its own")),
    };
    observe::operation(device, describe, run)?;
    Ok(out)
}

/// Records an op of a user's, which has no kernel of its own: an expression of one op, whose numbers are parameters of the
/// kernel and take no binding.
fn express(
    device: &Device,
    (name, op): (&'static str, FusedOp),
    sources: &[Source],
    out: &View,
    is_given_non_finite: bool,
) -> Result<(), Error> {
    if out.shape().is_empty() {
        return Ok(());
    }
    let fail = |error| Error::from_kernel(name, error);
    let mut expression = Expression::new();
    let operands = sources.iter().map(|source| match source {
        Source::View(view) => expression.input(view.clone()),
        Source::Scalar(dtype, value) => expression.scalar(*dtype, *value),
    });
    let operands: Vec<Id> = operands.collect();
    let value = expression.op(op, &operands).map_err(fail)?;
    let describe = || Operation {
        name: name.into(),
        what: What::Dispatches,
        inputs: Some(expression.inputs().iter().map(Some).collect()),
        is_given_non_finite,
        outputs: vec![out],
    };
    let run = || {
        let targets = [(value, out.clone())];
        device.executor().fused(&expression, out.shape(), &targets)
    };
    observe::operation(device, describe, run)
        .map(drop)
        .map_err(fail)
}

/// The memory of an op's operands: numbers get some.
pub(super) fn operands(
    device: &Device,
    name: &'static str,
    sources: &[Source],
) -> Result<Vec<View>, Error> {
    let fail = |error| Error::from_kernel(name, error);
    let view = |source: &Source| match source {
        Source::View(view) => Ok(view.clone()),
        Source::Scalar(dtype, value) => device.executor().scalar(*dtype, *value).map_err(fail),
    };
    sources.iter().map(view).collect()
}

/// Records the op's own kernel, if it has one for so many operands.
pub(crate) fn record_alone(
    executor: &Executor,
    op: FusedOp,
    operands: &[View],
    out: &View,
) -> Option<Result<Completion, KernelError>> {
    Some(match (op, operands) {
        (FusedOp::Unary(op), [a]) => executor.unary(op, a, out),
        (FusedOp::Binary(op), [a, b]) => executor.binary(op, a, b, out),
        (FusedOp::Compare(op), [a, b]) => executor.compare(op, a, b, out),
        (FusedOp::Predicate(op), [a]) => executor.predicate(op, a, out),
        (FusedOp::Where, [condition, a, b]) => executor.where_(condition, a, b, out),
        (FusedOp::Cast(_), [a]) => executor.cast(a, out),
        _ => return None,
    })
}
