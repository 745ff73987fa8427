//! Prologues: a kernel reads a value of an expression in place of memory.
//!
//! The kernel calls `load_value(index)`; the generated part computes the element there. Indices count the elements of the
//! value's shape along its axes in the order in which the largest input lies in memory, so that neighbours in memory are
//! neighbours in row-major order, as they are where the input is a view.
//!
//! Invariants: each element has the bits that it would have in memory; what an index names is the same for the whole
//! kernel; a kernel that reads elements several times has a prologue only where that is cheap.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use ziggurat_core::{Coalesced, DType, Layout, Shape, sort_few_by_key};
use ziggurat_memory::Buffer;
use ziggurat_pipeline::Arg;

use crate::fused::MAX_REPEATED_WORK;
use crate::fused::expression::{Expression, Id};
use crate::fused::form::{Form, access};
use crate::fused::graph::{Graph, Scalar};
use crate::fused::run::broadcast;
use crate::ops::reduce::geometry::ReduceGeometry;
use crate::run::call::Call;
use crate::run::error::{CannotFuse, KernelError};
use crate::run::executor::Executor;
use crate::run::launch::MAX_INDEX;
use crate::run::view::View;
use crate::source::choice::Reads;

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

/// A [`FusedInput`] as a kernel reads it. What other memory does not change is shared.
#[derive(Debug)]
pub(crate) struct Prologue {
    pub(crate) graph: Arc<Graph>,
    pub(crate) form: Arc<Form>,
    pub(crate) coalesced: Option<Arc<Coalesced>>,
    inputs: Vec<View>,
    layout: Layout,
    dtype: DType,
}

/// A value of an expression, ready to be read by kernels in place of memory; see [`Executor::fused_reader`].
#[derive(Debug)]
pub struct FusedReader(pub(crate) Prologue);

impl FusedReader {
    /// The memory that it reads.
    #[must_use]
    pub fn views(&self) -> &[View] {
        &self.0.inputs
    }

    /// The shape of the value.
    #[must_use]
    pub fn shape(&self) -> &Shape {
        self.0.layout.shape()
    }

    /// Arithmetic operations of one element of the value.
    #[must_use]
    pub fn operations(&self) -> u64 {
        let steps = self.0.graph.steps.iter();
        steps.map(|step| step.op.operations()).sum()
    }

    /// The same of other memory, in the order of [`FusedReader::views`], and other numbers, in the order of
    /// [`FusedReader::numbers`]. Each must lie as the one before, and have its dtype.
    #[must_use]
    pub fn over(
        &self,
        buffers: impl Iterator<Item = Buffer>,
        numbers: impl Iterator<Item = f64>,
    ) -> Self {
        let Prologue {
            graph,
            form,
            coalesced,
            inputs,
            layout,
            dtype,
        } = &self.0;
        let mut graph = Arc::clone(graph);
        for (at, value) in numbers.enumerate() {
            let bits = value.to_bits();
            let differs = |known: &Scalar| known.bits != bits;
            if graph.scalars.get(at).is_some_and(differs)
                && let Some(scalar) = Arc::make_mut(&mut graph).scalars.get_mut(at)
            {
                scalar.bits = bits;
            }
        }
        let inputs = inputs.iter().zip(buffers).map(|(view, buffer)| View {
            buffer,
            layout: view.layout,
            dtype: view.dtype,
        });
        Self(Prologue {
            graph,
            form: Arc::clone(form),
            coalesced: coalesced.clone(),
            inputs: inputs.collect(),
            layout: *layout,
            dtype: *dtype,
        })
    }

    /// Writes what tells it from readers that compute something else: all but its views and its numbers.
    pub fn describe(&self, key: &mut impl Hasher) {
        let Prologue {
            graph,
            form,
            layout,
            ..
        } = &self.0;
        graph.describe(form, &mut |word| key.write_u64(word));
        layout.hash(key);
    }

    /// Its numbers, with their dtypes, in the order of their use.
    pub fn numbers(&self) -> impl Iterator<Item = (DType, f64)> + '_ {
        let scalars = self.0.graph.scalars.iter();
        scalars.map(|scalar| (scalar.dtype, f64::from_bits(scalar.bits)))
    }
}

/// The first operand of a call, as its kernels read it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Operand<'a> {
    Memory(&'a View),
    Fused(&'a Prologue),
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

    /// Iterations of loops that it takes to find an element along so many axes, and to compute it: a loop over elements has
    /// one more each.
    pub(crate) fn iterations(&self, axes: usize) -> u64 {
        let along = |axes: usize| if axes > 1 { axes as u64 + 1 } else { 0 };
        match self {
            Self::Memory(_) => along(axes),
            Self::Fused(prologue) => {
                let steps = prologue.graph.steps.iter();
                let computed: u64 = steps
                    .map(|step| u64::from(step.op.code_facts().loop_iterations))
                    .sum();
                along(axes) + along(prologue.form.rank) + computed
            }
        }
    }

    /// Whether a kernel that reads it in this order can read four neighbours of a row at once.
    pub(crate) fn has_vec4(&self, geometry: &ReduceGeometry) -> bool {
        geometry.has_vec4() && self.begins_vec4()
    }

    /// The same for neighbours of four rows.
    pub(crate) fn has_vec4_columns(&self, geometry: &ReduceGeometry) -> bool {
        geometry.has_vec4_columns() && self.begins_vec4()
    }

    /// Whether its first element is at a multiple of four. Indices of a computed value count from 0.
    fn begins_vec4(&self) -> bool {
        match self {
            Self::Memory(view) => view.layout.offset().is_multiple_of(4),
            Self::Fused(_) => true,
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
    pub(crate) fn views(&self) -> &'a [View] {
        match self {
            Self::Memory(view) => std::slice::from_ref(view),
            Self::Fused(prologue) => &prologue.inputs,
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
        sort_few_by_key(&mut axes, key);
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
        let mut graph = Graph::of(input.expression, std::iter::once(input.value))?;
        graph.consume_outputs();
        graph.refuse_loops()?;
        let work = repeated_work(&graph, reads);
        if work > MAX_REPEATED_WORK {
            return Err(CannotFuse::RepeatedWork {
                needed: work,
                limit: MAX_REPEATED_WORK,
            }
            .into());
        }
        if input.shape.len() as u64 > MAX_INDEX {
            return Err(CannotFuse::Elements {
                needed: input.shape.len() as u64,
                limit: MAX_INDEX,
            }
            .into());
        }
        let mut inputs = broadcast(&graph, input.expression, &input.shape)?;
        let order = memory_order(&inputs);
        if inputs.is_empty() {
            return Err(CannotFuse::Constant.into());
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
        let (form, coalesced) = Form::of(inputs.iter().map(access).collect(), &inputs);
        let needed = form.bindings() + bindings - 1;
        if needed > limit {
            return Err(CannotFuse::Bindings { needed, limit }.into());
        }
        Ok(Self {
            dtype: input.expression.dtype(input.value),
            graph: Arc::new(graph),
            form: Arc::new(form),
            coalesced: coalesced.map(Arc::new),
            inputs,
            layout,
        })
    }
}

impl Executor {
    /// The prologue of a call with `bindings` operands and outputs, the replaced one included.
    pub(crate) fn prologue(
        &self,
        input: &FusedInput<'_>,
        bindings: usize,
        call: &Call,
    ) -> Result<Prologue, KernelError> {
        let [reads, more] = self.reading(call, &input.shape);
        let limit = self.fused_limits().bindings;
        let prologue = Prologue::new(input, bindings + more, reads, limit)?;
        self.refuse_over_binding(prologue.inputs.iter())?;
        Ok(prologue)
    }

    /// Prepares a value of an expression for a call that reads it as its first operand, with `views` other views that it reads
    /// or writes.
    ///
    /// # Errors
    /// [`KernelError::CannotFuse`] if one kernel cannot do it, or would compute too much several times;
    /// [`KernelError::Shape`] if an input does not broadcast.
    pub fn fused_reader(
        &self,
        input: &FusedInput<'_>,
        call: &Call,
        views: usize,
    ) -> Result<FusedReader, KernelError> {
        self.prologue(input, views + 1, call).map(FusedReader)
    }

    /// An error if a view is too large for one binding.
    pub(crate) fn refuse_over_binding<'a>(
        &self,
        mut views: impl Iterator<Item = &'a View>,
    ) -> Result<(), KernelError> {
        match views.find(|view| self.exceeds_binding(&[view])) {
            Some(view) => Err(CannotFuse::LargeView {
                bytes: view.buffer.bytes(),
                limit: self.device().caps().max_binding_bytes,
            }
            .into()),
            None => Ok(()),
        }
    }

    /// The bindings of a value that is read in place of an operand, and the offsets in its slots.
    pub(super) fn bind_prologue<'a>(
        &self,
        op: &'static str,
        prologue: &'a Prologue,
    ) -> Result<(Vec<u32>, Vec<Arg<'a>>), KernelError> {
        let mut args = Vec::with_capacity(prologue.inputs.len());
        // The output's offset is the kernel's own.
        let mut offsets = Vec::with_capacity(prologue.inputs.len() + 1);
        offsets.push(0);
        for view in &prologue.inputs {
            let bound = self.bind_read(op, view)?;
            offsets.push(bound.offset);
            args.push(bound.arg);
        }
        Ok((offsets, args))
    }
}
