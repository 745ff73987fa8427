//! Prologues: a kernel that walks its input reads a value of an expression in place of memory.
//!
//! The kernel calls `load_value(index)`; the generated part computes the element there. Indices count the elements of the
//! value's shape along its axes in the order in which the largest input lies in memory, so that neighbours in memory are
//! neighbours in the walk, as they are where the input is a view.
//!
//! Invariants: each element has the bits that it would have in memory; what an index names is the same for the whole
//! kernel; a kernel that reads elements several times has a prologue only where that is cheap.

use ziggurat_core::{Coalesced, DType, Layout, Shape, coalesce};
use ziggurat_pipeline::{Arg, Grid, KernelDescriptor, ShaderSource, params_part};

use crate::fused::expression::{Expression, Id};
use crate::fused::generate::{self, Host, Role};
use crate::fused::graph::{Access, Form, Graph};
use crate::fused::run::broadcast;
use crate::fused::{MAX_REPEATED_WORK, params};
use crate::run::error::KernelError;
use crate::run::executor::Executor;
use crate::run::launch::{Bound, MAX_INDEX};
use crate::run::view::View;
use crate::source::choice::{KernelChoice, Reads, WritesBy};
use crate::source::params::Params;

const OP: &str = "fused";

/// A value of an expression, broadcast to a shape: what a kernel may read in place of a view.
#[derive(Clone, Copy, Debug)]
pub struct FusedInput<'a> {
    /// The expression.
    pub expression: &'a Expression,
    /// The value.
    pub value: Id,
    /// The shape; the expression's inputs broadcast to it.
    pub shape: Shape,
}

/// A [`FusedInput`] as a kernel reads it.
#[derive(Debug)]
pub(crate) struct Prologue {
    pub(crate) graph: Graph,
    pub(crate) form: Form,
    pub(crate) walk: Option<Coalesced>,
    inputs: Vec<View>,
    layout: Layout,
    dtype: DType,
}

/// What a walking kernel reads.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Operand<'a> {
    Memory(&'a View),
    Fused(&'a Prologue),
}

/// An operand with its bindings.
#[derive(Debug)]
pub(crate) enum BoundOperand<'a> {
    Memory(Bound<'a>),
    Fused {
        prologue: &'a Prologue,
        args: Vec<Arg<'a>>,
        offsets: Vec<u32>,
    },
}

impl<'a> Operand<'a> {
    pub(crate) fn dtype(&self) -> DType {
        match self {
            Self::Memory(view) => view.dtype,
            Self::Fused(prologue) => prologue.dtype,
        }
    }

    /// The indices of the elements.
    pub(crate) fn layout(&self) -> &'a Layout {
        match self {
            Self::Memory(view) => &view.layout,
            Self::Fused(prologue) => &prologue.layout,
        }
    }

    pub(crate) fn reads(&self) -> Reads {
        match self {
            Self::Memory(_) => Reads::Memory,
            Self::Fused(_) => Reads::Fused,
        }
    }

    /// Turns of loops that it takes to walk to an element along so many axes, and to compute it: a loop over elements has
    /// one more each.
    pub(crate) fn turns(&self, axes: usize) -> u64 {
        let walked = if axes > 1 { axes as u64 + 1 } else { 0 };
        match self {
            Self::Memory(_) => walked,
            Self::Fused(prologue) => {
                let axes = prologue.form.rank;
                let strided = if axes > 1 { axes as u64 + 1 } else { 0 };
                walked
                    + strided
                    + prologue
                        .graph
                        .steps
                        .iter()
                        .map(|step| u64::from(step.op.code_facts().loop_iterations))
                        .sum::<u64>()
            }
        }
    }

    /// How many bindings it takes.
    pub(crate) fn bindings(&self) -> usize {
        match self {
            Self::Memory(_) => 1,
            Self::Fused(prologue) => prologue.form.bindings(),
        }
    }

    /// The memory that is read.
    pub(crate) fn views(&self) -> Vec<&'a View> {
        match self {
            Self::Memory(view) => vec![view],
            Self::Fused(prologue) => prologue.inputs.iter().collect(),
        }
    }
}

impl BoundOperand<'_> {
    /// The index of the layout's first element.
    pub(crate) fn offset(&self) -> u32 {
        match self {
            Self::Memory(bound) => bound.offset,
            Self::Fused { .. } => 0,
        }
    }
}

/// How often an element is read, times what its computation costs beyond a load: an op that is a few instructions
/// counts 1, a function 8.
fn repeated_work(graph: &Graph, reads: usize) -> usize {
    let once: usize = graph
        .steps
        .iter()
        .map(|step| usize::from(step.op.code_facts().cost))
        .sum();
    once * reads.saturating_sub(1)
}

/// The shape's axes, those along which the largest input has large steps first; as they are if a step is 0.
fn memory_order(inputs: &[View]) -> Vec<isize> {
    let touched = |view: &View| -> usize {
        let axes = view.dims().iter().zip(view.layout.strides());
        axes.map(|(&dim, &stride)| if stride == 0 { 1 } else { dim })
            .product()
    };
    let largest = inputs.iter().reduce(|best, view| {
        if touched(view) > touched(best) {
            view
        } else {
            best
        }
    });
    let Some(largest) = largest else {
        return Vec::new();
    };
    let mut axes: Vec<isize> = (0..).take(largest.rank()).collect();
    let steps = || largest.dims().iter().zip(largest.layout.strides());
    if steps().all(|(&dim, &stride)| dim == 1 || stride != 0) {
        // Axes of extent 1 have no steps: they go where they do not matter.
        let key = |axis: &isize| {
            let (dim, stride) = steps().nth(axis.unsigned_abs()).unwrap_or((&1, &0));
            std::cmp::Reverse(if *dim == 1 { 0 } else { stride.unsigned_abs() })
        };
        axes.sort_by_key(key);
    }
    axes
}

impl Prologue {
    /// The prologue of a kernel with `bindings` bindings, the replaced one included, that reads each element `reads`
    /// times. `limit` is the most bindings.
    pub(crate) fn new(
        input: &FusedInput<'_>,
        bindings: usize,
        reads: usize,
        limit: usize,
    ) -> Result<Self, KernelError> {
        let too_large = |what, got, limit| KernelError::FusedTooLarge { what, got, limit };
        let mut graph = Graph::of(input.expression, std::iter::once(input.value))?;
        graph.consume_outputs();
        let work = repeated_work(&graph, reads);
        if work > MAX_REPEATED_WORK {
            return Err(too_large("repeated ops", work, MAX_REPEATED_WORK));
        }
        if input.shape.len() as u64 > MAX_INDEX {
            let most = usize::try_from(MAX_INDEX).unwrap_or(usize::MAX);
            return Err(too_large("elements", input.shape.len(), most));
        }
        let mut inputs = broadcast(&graph, input.expression, &input.shape)?;
        let order = memory_order(&inputs);
        if inputs.is_empty() {
            // Nothing stands at the place of the input's binding.
            return Err(too_large("values that are the same everywhere", 1, 0));
        }
        for view in &mut inputs {
            let permuted = view.layout.permute(&order);
            view.layout = permuted.map_err(KernelError::shape(OP))?;
        }
        let space = inputs.first().map(|view| Layout::contiguous(*view.shape()));
        let mut back = vec![0; order.len()];
        for (place, axis) in (0..).zip(&order) {
            if let Some(slot) = back.get_mut(axis.unsigned_abs()) {
                *slot = place;
            }
        }
        let layout = space
            .map_or(Ok(Layout::contiguous(input.shape)), |space| {
                space.permute(&back)
            })
            .map_err(KernelError::shape(OP))?;
        let access = |view: &View| {
            if view.layout.is_contiguous() {
                Access::Quad
            } else if view.layout.span().is_some_and(|(low, high)| low == high) {
                Access::Scalar
            } else {
                Access::Strided
            }
        };
        let accesses: Vec<Access> = inputs.iter().map(access).collect();
        let strided: Vec<Layout> = inputs
            .iter()
            .zip(&accesses)
            .filter(|(_, access)| **access == Access::Strided)
            .map(|(view, _)| view.layout)
            .collect();
        let walk = (!strided.is_empty()).then(|| coalesce(&strided));
        let rank = walk
            .as_ref()
            .map_or(0, |walk| Form::rank_class(walk.dims.len()));
        let form = Form {
            inputs: accesses,
            rank,
        };
        let needed = form.bindings() + bindings - 1;
        if needed > limit {
            return Err(too_large("bindings", needed, limit));
        }
        Ok(Self {
            dtype: input.expression.dtype(input.value),
            graph,
            form,
            walk,
            inputs,
            layout,
        })
    }
}

impl Executor {
    /// The prologue of a kernel with `bindings` bindings, the replaced one included, that reads each element `reads`
    /// times.
    pub(crate) fn prologue(
        &self,
        input: &FusedInput<'_>,
        bindings: usize,
        reads: usize,
    ) -> Result<Prologue, KernelError> {
        let prologue = Prologue::new(input, bindings, reads, self.fused_limits().bindings)?;
        self.refuse_over_binding(prologue.inputs.iter())?;
        Ok(prologue)
    }

    /// An error if a view is too large for one binding.
    pub(crate) fn refuse_over_binding<'a>(
        &self,
        mut views: impl Iterator<Item = &'a View>,
    ) -> Result<(), KernelError> {
        let count = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
        match views.find(|view| self.exceeds_binding(&[view])) {
            Some(view) => Err(KernelError::FusedTooLarge {
                what: "bytes of one binding",
                got: count(view.buffer.bytes()),
                limit: count(self.device().caps().max_binding_bytes),
            }),
            None => Ok(()),
        }
    }

    /// Binds what a walking kernel reads.
    pub(crate) fn bind_operand<'a>(
        &self,
        op: &'static str,
        operand: &Operand<'a>,
    ) -> Result<BoundOperand<'a>, KernelError> {
        let prologue = match *operand {
            Operand::Memory(view) => return Ok(BoundOperand::Memory(self.bind_read(op, view)?)),
            Operand::Fused(prologue) => prologue,
        };
        let mut args = Vec::with_capacity(prologue.inputs.len());
        // The output's offset is the kernel's own.
        let mut offsets = Vec::with_capacity(prologue.inputs.len() + 1);
        offsets.push(0);
        for view in &prologue.inputs {
            let bound = self.bind_read(op, view)?;
            offsets.push(bound.offset);
            args.push(bound.arg);
        }
        Ok(BoundOperand::Fused {
            prologue,
            args,
            offsets,
        })
    }

    /// Like [`Self::launch`], for a kernel that reads `operand` at its first binding; `others` are those that follow.
    pub(crate) fn launch_reading<P: Params>(
        &self,
        choice: &KernelChoice,
        operand: &BoundOperand<'_>,
        others: &[Arg<'_>],
        own: &P,
        grid: Grid,
    ) -> Result<(), KernelError> {
        let (prologue, inputs, offsets) = match operand {
            BoundOperand::Memory(bound) => {
                let mut args = [bound.arg; 8];
                for (slot, arg) in args.iter_mut().skip(1).zip(others) {
                    *slot = *arg;
                }
                let args = args.get(..=others.len()).unwrap_or_default();
                return self.launch(choice, args, own, grid);
            }
            BoundOperand::Fused {
                prologue,
                args,
                offsets,
            } => (*prologue, args, offsets),
        };
        let Prologue {
            graph, form, walk, ..
        } = prologue;
        let host = Host {
            fields: P::FIELDS,
            bindings: others.len() + 1,
        };
        let words = params::within(own, P::FIELDS, graph, form, offsets, walk.as_ref());
        let caps = self.device().caps();
        let part = params_part(caps, size_of_val(words.as_slice()));
        let wg = caps.workgroup_size;
        let mut key = choice.key(part.0, wg);
        key.push_tag("value");
        graph.add_to(&mut key, form);
        let mut missing = None;
        let kernel = self.pipelines().kernel_for(&key, || {
            descriptor(choice, graph, form, host, part, wg).unwrap_or_else(|error| {
                missing = Some(error);
                KernelDescriptor::new(ShaderSource::new(choice.label()))
            })
        });
        if let Some(error) = missing {
            return Err(error);
        }
        let (first, further) = inputs.split_at_checked(1).unwrap_or_default();
        let args: Vec<Arg<'_>> = [first, others, further].concat();
        self.pipelines()
            .dispatch(&kernel?, &args, bytemuck::cast_slice(&words), grid)?;
        Ok(())
    }
}

/// A kernel that reads a graph's value.
pub(crate) fn descriptor(
    choice: &KernelChoice,
    graph: &Graph,
    form: &Form,
    host: Host,
    params_part: (&'static str, &'static str),
    wg: u32,
) -> Result<KernelDescriptor, KernelError> {
    let name = format!("{}/{}", choice.label(), graph.label());
    let source = ShaderSource::new(name).part(params_part.0, params_part.1);
    let source = generate::append(source, graph, form, Role::Value(host, !choice.loads()))?;
    choice.descriptor_from(source, WritesBy::Itself, wg)
}
