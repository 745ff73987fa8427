//! [`Tensor::explain`](crate::Tensor::explain): what evaluation would do, without doing it.
//!
//! The plans are those of an evaluation. What lies between kernels are placeholders, so that plans can refer to it: no
//! memory is allocated, no kernel compiled, nothing recorded.

use std::fmt;
use std::sync::Arc;

use ziggurat_core::{DType, Layout, Shape};
use ziggurat_kernels::fused::Id;
use ziggurat_kernels::{Expression, FusedOutput, FusedReader, KernelError, Sink, View};

use super::evaluate::{views, waits_for_itself, work_off};
use super::plan::{Plan, Source, Stop};
use super::reason::NotFused;
use crate::node::{KernelCall, Node};
use crate::{Device, Error};

/// The kernels that would compute a tensor. Prints as a readable text, WGSL included.
#[derive(Clone, Debug, Default)]
pub struct Explanation {
    kernels: Vec<ExplainedKernel>,
}

/// One kernel of an [`Explanation`].
#[derive(Clone, Debug)]
pub struct ExplainedKernel {
    ops: Vec<&'static str>,
    shape: Shape,
    inputs: Vec<(Shape, DType)>,
    outputs: Vec<(Shape, DType)>,
    in_place: usize,
    bytes_read: u64,
    bytes_written: u64,
    operations: u64,
    reason: Option<NotFused>,
    wgsl: Option<String>,
}

impl Explanation {
    /// The kernels in the order they would run; none if the tensor is computed already.
    pub fn kernels(&self) -> &[ExplainedKernel] {
        &self.kernels
    }

    /// Bytes that all kernels read and write together.
    pub fn bytes_moved(&self) -> u64 {
        let moved = |kernel: &ExplainedKernel| kernel.bytes_read + kernel.bytes_written;
        self.kernels.iter().map(moved).sum()
    }
}

impl ExplainedKernel {
    /// The operations that it computes, operands first.
    pub fn ops(&self) -> &[&'static str] {
        &self.ops
    }

    /// Shape and dtype of what it reads, each view once.
    pub fn inputs(&self) -> &[(Shape, DType)] {
        &self.inputs
    }

    /// Shape and dtype of what it writes.
    pub fn outputs(&self) -> &[(Shape, DType)] {
        &self.outputs
    }

    /// How many of the outputs are written over inputs that nobody needs any more.
    pub fn in_place(&self) -> usize {
        self.in_place
    }

    /// Bytes of the elements that it reads, each once.
    pub fn bytes_read(&self) -> u64 {
        self.bytes_read
    }

    /// Bytes of the elements that it writes.
    pub fn bytes_written(&self) -> u64 {
        self.bytes_written
    }

    /// Arithmetic operations that it takes: a multiply-add is two, a function such as `exp` 8.
    pub fn operations(&self) -> u64 {
        self.operations
    }

    /// Why its result is stored, and not computed within the kernel that reads it; none for the value that was asked for.
    ///
    /// ```
    /// use ziggurat_tensor::{DType, Device, DeviceOptions, NotFused, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let x = Tensor::ones(&device, [8, 8], DType::F32)?;
    /// let product = x.matmul(&x)?;
    /// // Both products are kernels of their own, and one kernel has one of them.
    /// let explained = (&product + x.matmul(&product)?)?.explain()?;
    /// assert_eq!(explained.kernels().last().unwrap().reason(), None);
    /// # let _ = NotFused::OwnKernel;
    /// println!("{explained}");
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    pub fn reason(&self) -> Option<NotFused> {
        self.reason
    }

    /// The labels that its dispatches have in profiles, in order; none if it has no [`ExplainedKernel::wgsl`].
    pub fn labels(&self) -> impl Iterator<Item = &str> {
        let lines = self.wgsl.iter().flat_map(|wgsl| wgsl.lines());
        lines.filter_map(|line| line.strip_prefix("// kernel "))
    }

    /// The WGSL of a fused expression, of a single operation's own kernel, or of the kernels of a product, convolution,
    /// reduction, softmax or norm with what they do while they read and write. None if there is nothing to do, and for calls
    /// that run in parts because an operand is larger than the device binds.
    pub fn wgsl(&self) -> Option<&str> {
        self.wgsl.as_deref()
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.kernels.is_empty() {
            return writeln!(f, "nothing to compute: the value is in memory");
        }
        let count = self.kernels.len();
        for (at, kernel) in self.kernels.iter().enumerate() {
            writeln!(f, "kernel {} of {count}: {kernel}", at + 1)?;
        }
        writeln!(f, "{} bytes moved in all", self.bytes_moved())
    }
}

impl fmt::Display for ExplainedKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} over {}", self.ops.join(", "), self.shape)?;
        for (shape, dtype) in &self.inputs {
            writeln!(f, "  reads {dtype} {shape}")?;
        }
        for (shape, dtype) in &self.outputs {
            writeln!(f, "  writes {dtype} {shape}")?;
        }
        if self.in_place > 0 {
            writeln!(f, "  {} written over an input", self.in_place)?;
        }
        let (read, written) = (self.bytes_read, self.bytes_written);
        let operations = self.operations;
        writeln!(
            f,
            "  {read} bytes read, {written} written, {operations} operations"
        )?;
        if let Some(reason) = &self.reason {
            writeln!(f, "  stored, because {reason}")?;
        }
        match &self.wgsl {
            Some(wgsl) => {
                for line in wgsl.lines() {
                    writeln!(f, "    {line}")?;
                }
                Ok(())
            }
            None => writeln!(
                f,
                "  not shown: nothing to do, or in parts for the device's limits"
            ),
        }
    }
}

/// The kernels that would compute `root`.
pub(crate) fn explain(device: &Device, root: &Arc<Node>) -> Result<Explanation, Error> {
    let _gate = device.lazy().gate.lock();
    let mut assumed: Vec<(Arc<Node>, View)> = Vec::new();
    let mut kernels = Vec::new();
    let mut reasons = Vec::new();
    let mut failure = None;
    work_off(vec![vec![Arc::clone(root)]], |group| {
        if failure.is_some() {
            return Vec::new();
        }
        match step(device, group, (&mut assumed, &mut reasons), &mut kernels) {
            Ok(first) => first,
            Err(error) => {
                failure = Some(error);
                Vec::new()
            }
        }
    });
    match failure {
        Some(error) => Err(error),
        None => Ok(Explanation { kernels }),
    }
}

/// What had to be computed before something else, and why.
type Reasons = Vec<(Arc<Node>, NotFused)>;

fn step(
    device: &Device,
    group: &mut Vec<Arc<Node>>,
    (assumed, reasons): (&mut Vec<(Arc<Node>, View)>, &mut Reasons),
    kernels: &mut Vec<ExplainedKernel>,
) -> Result<Vec<Arc<Node>>, Error> {
    let known = |node: &Arc<Node>, assumed: &[(Arc<Node>, View)]| {
        let view = assumed.iter().find(|(known, _)| Arc::ptr_eq(known, node));
        view.map(|(_, view)| Ok(view.clone()))
            .or_else(|| node.value().cloned())
    };
    group.retain(|node| known(node, assumed).is_none());
    let mut walked = Vec::new();
    let first = views(
        group,
        |base| known(base, assumed),
        |node, value| walked.push((Arc::clone(node), value)),
    );
    for (node, value) in walked {
        assumed.push((node, value?));
    }
    if let Some(first) = first {
        return Ok(first);
    }
    if group.is_empty() {
        return Ok(Vec::new());
    }
    let plan = match Plan::new(group, &device.lazy().limits, assumed) {
        Ok(plan) => plan,
        Err(Stop::First(first, why)) if !waits_for_itself(group, &first) => {
            reasons.extend(first.iter().map(|node| (Arc::clone(node), why)));
            return Ok(first);
        }
        Err(stop) => return Err(stop.into_error()),
    };
    let mut explained = kernel(device, &plan, assumed)?;
    let because = reasons.iter().find(|(node, _)| {
        let mut stored = plan.outputs.iter().filter_map(|at| plan.steps.get(*at));
        stored.any(|step| Arc::ptr_eq(&step.node, node))
    });
    explained.reason = because.map(|(_, why)| *why);
    kernels.push(explained);
    Ok(Vec::new())
}

fn kernel(
    device: &Device,
    plan: &Plan,
    assumed: &mut Vec<(Arc<Node>, View)>,
) -> Result<ExplainedKernel, Error> {
    const OP: &str = "explain";
    let kernel = plan.kernel();
    let places = match kernel {
        Some(_) => vec![None; plan.outputs.len()],
        None => plan.in_place(),
    };
    let in_place = places.iter().flatten().count();
    let mut outputs = Vec::new();
    let (expression, ids) = plan.expression().map_err(Stop::into_error)?;
    let mut targets = Vec::new();
    for (&at, place) in plan.outputs.iter().zip(places) {
        let (Some(step), Some(id)) = (plan.steps.get(at), ids.get(at).copied().flatten()) else {
            continue;
        };
        // A kernel writes its own shape, in which the plan's elements have the same order.
        let shape = match kernel {
            Some((at, _)) => plan.steps.get(at).map(|step| *step.node.shape()),
            None => None,
        };
        let view = match place {
            Some(view) => view,
            None => placeholder(device, &shape.unwrap_or(plan.shape), step.node.dtype())?,
        };
        outputs.push((*step.node.shape(), step.node.dtype()));
        assumed.push((Arc::clone(&step.node), view.clone()));
        targets.push((id, view));
    }
    let single = plan.single().is_some() && targets.len() == 1;
    let wgsl = match kernel {
        _ if plan.shape.is_empty() => None,
        None if single => of_single(device, plan, &targets)?,
        Some((_, kernel)) => of_kernel(device, plan, kernel, &expression, &targets)?,
        None => {
            let source = device.executor().fused_source(&expression, &targets);
            Some(source.map_err(|error| Error::from_kernel(OP, error))?)
        }
    };
    let before = kernel.map_or(&[][..], |(_, kernel)| &kernel.before);
    let own = kernel.into_iter().flat_map(|(_, kernel)| kernel.memory());
    let inputs: Vec<&View> = own.chain(expression.inputs()).collect();
    let applied = plan.op_operations().saturating_mul(plan.shape.len() as u64);
    let called = kernel.map_or(0, |(at, kernel)| {
        let shapes: Vec<&Shape> = kernel.operands.iter().map(View::shape).collect();
        let made = plan
            .steps
            .get(at)
            .map_or(&plan.shape, |step| step.node.shape());
        let read = kernel.reader.as_deref().map(FusedReader::shape);
        match (read, &shapes[..]) {
            (Some(first), others) => {
                let elements = first.len() as u64;
                let below = kernel.reader.as_deref().map_or(0, FusedReader::operations);
                let own = kernel.call.operations(first, others, made);
                own.saturating_add(below.saturating_mul(elements))
            }
            (None, [first, others @ ..]) => kernel.call.operations(first, others, made),
            (None, []) => 0,
        }
    });
    Ok(ExplainedKernel {
        operations: applied.saturating_add(called),
        reason: None,
        ops: [before, &plan.names()].concat(),
        shape: plan.shape,
        inputs: inputs
            .iter()
            .map(|view| (*view.shape(), view.dtype))
            .collect(),
        bytes_read: inputs.iter().map(|view| touched(view)).sum(),
        bytes_written: outputs
            .iter()
            .map(|(shape, dtype)| shape.len() as u64 * dtype.bytes() as u64)
            .sum(),
        outputs,
        in_place: if single { 0 } else { in_place },
        wgsl,
    })
}

/// The WGSL of the kernel of an op.
fn of_single(
    device: &Device,
    plan: &Plan,
    targets: &[(Id, View)],
) -> Result<Option<String>, Error> {
    const OP: &str = "explain";
    let (Some((op, sources)), [(_, out)]) = (plan.single(), targets) else {
        return Ok(None);
    };
    let view = |source: &Source| match source {
        Source::View(view) => Ok(view.clone()),
        Source::Scalar(dtype, _) => placeholder(device, &Shape::scalar(), *dtype),
    };
    let operands = sources.iter().map(view).collect::<Result<Vec<_>, _>>()?;
    let source = device.executor().elementwise_source(op, &operands, out);
    source
        .map(Some)
        .map_err(|error| Error::from_kernel(OP, error))
}

/// The WGSL of the kernels of a call; none if it runs in parts, or the evaluation will store its result first.
fn of_kernel(
    device: &Device,
    plan: &Plan,
    kernel: &KernelCall,
    expression: &Expression,
    targets: &[(Id, View)],
) -> Result<Option<String>, Error> {
    let Some(((value, out), also)) = targets.split_first() else {
        return Ok(None);
    };
    let written = FusedOutput {
        expression,
        value: *value,
        shape: plan.shape,
        also,
    };
    // Without anything above it the kernel is its own.
    let sink = match plan.names().len() {
        0 | 1 => Sink::new(out),
        _ => Sink::new(out).through(&written),
    };
    let planned = kernel
        .operands()
        .and_then(|operands| device.executor().plan(&kernel.call, &operands, sink));
    match planned {
        Ok(planned) => Ok(planned.dispatches().map(|_| planned.listing().to_owned())),
        Err(KernelError::CannotFuse(_)) => Ok(None),
        Err(error) => Err(Error::from_kernel(kernel.name, error)),
    }
}

/// A view as evaluation would allocate it, without memory.
fn placeholder(device: &Device, shape: &Shape, dtype: DType) -> Result<View, Error> {
    const OP: &str = "explain";
    device.check_len(OP, shape, dtype)?;
    let bytes = (shape.len() as u64).saturating_mul(dtype.bytes() as u64);
    let buffer = device.executor().memory().placeholder(bytes);
    buffer
        .map_err(KernelError::from)
        .and_then(|buffer| View::new(buffer, Layout::contiguous(*shape), dtype))
        .map_err(|error| Error::from_kernel(OP, error))
}

/// Bytes of the different elements of a view.
fn touched(view: &View) -> u64 {
    let axes = view.dims().iter().zip(view.layout.strides());
    let elements: u64 = axes
        .map(|(&extent, &stride)| if stride == 0 { extent.min(1) } else { extent } as u64)
        .product();
    elements * view.dtype.bytes() as u64
}
