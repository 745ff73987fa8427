//! Epilogues: a kernel writes, in place of its result, a value of an expression over it, or several.
//!
//! The kernel calls `store1(index, result)`, or `store4` with four results; the generated part computes the expression and
//! stores that, and further values to bindings of their own. Of several passes the last has the epilogue.
//!
//! Invariants: each element has the bits that it would have had the result gone through memory (which rounds it to the
//! kernel's dtype); outputs are dense, so that the index less the output's offset is the element's row-major number.

use ziggurat_core::{Coalesced, DType, Shape};
use ziggurat_pipeline::Arg;

use crate::fused::expression::{Expression, Id};
use crate::fused::form::{Access, Form, access};
use crate::fused::graph::{Graph, MADE};
use crate::run::error::{CannotFuse, KernelError};
use crate::run::executor::Executor;
use crate::run::view::View;

const OP: &str = "fused";

/// What a kernel writes in place of its result: a value of an expression over [`Expression::computed`].
#[derive(Clone, Copy, Debug)]
pub struct FusedOutput<'a> {
    /// The expression.
    pub expression: &'a Expression,
    /// The value.
    pub value: Id,
    /// The value's shape, to which the other inputs broadcast: the output's, or another of as many elements, which are
    /// taken in row-major order.
    pub shape: Shape,
    /// Further values to be stored, such as the result itself, in dense views of as many elements.
    pub also: &'a [(Id, View)],
}

/// A [`FusedOutput`] as a kernel writes it.
#[derive(Debug)]
pub(crate) struct Epilogue {
    pub(crate) graph: Graph,
    pub(crate) form: Form,
    pub(crate) coalesced: Option<Coalesced>,
    /// The inputs that have a binding.
    inputs: Vec<View>,
    /// Where further values go.
    also: Vec<View>,
    /// What the kernel computes.
    pub(crate) computed: DType,
}

impl Epilogue {
    /// The epilogue of a kernel with `bindings` bindings that writes `out`. `limit` is the most bindings.
    pub(crate) fn new(
        output: &FusedOutput<'_>,
        out: &View,
        bindings: usize,
        limit: usize,
    ) -> Result<Self, KernelError> {
        let further = output.also.iter().map(|(id, _)| *id);
        let values = std::iter::once(output.value).chain(further);
        let graph = Graph::of(output.expression, values.clone())?;
        graph.refuse_loops()?;
        let further_views = || output.also.iter().map(|(_, view)| view);
        for (value, view) in values.zip(std::iter::once(out).chain(further_views())) {
            if view.dtype != output.expression.dtype(value) {
                return Err(KernelError::dtype(
                    OP,
                    "out",
                    "it must have the dtype of the value written to it",
                    view.dtype,
                ));
            }
            if view.len() != output.shape.len() {
                return Err(KernelError::output(OP, output.shape, *view.shape()));
            }
        }
        let mut computed = graph.inputs.iter().filter(|input| input.index == MADE);
        let (Some(first), None) = (computed.next(), computed.next()) else {
            return Err(KernelError::option(
                OP,
                "the values of the expression that the kernel makes",
                "must be one",
                i64::from(graph.is_over_made()) * 2,
            ));
        };
        let computed = first.dtype;
        let mut inputs = Vec::with_capacity(graph.inputs.len());
        let mut accesses = Vec::with_capacity(graph.inputs.len());
        for input in &graph.inputs {
            let Some(view) = output.expression.inputs().get(input.index) else {
                accesses.push(Access::Given);
                continue;
            };
            view.check()?;
            let layout = view.layout.expand(output.shape);
            let view = view.with_layout(layout.map_err(KernelError::shape(OP))?)?;
            accesses.push(access(&view));
            inputs.push(view);
        }
        let (form, coalesced) = Form::of(accesses, &inputs);
        for (at, (_, view)) in output.also.iter().enumerate() {
            view.check()?;
            let shares = |other: &View| view.buffer.same_memory(&other.buffer);
            let alone =
                !inputs.iter().chain([out]).any(shares) && !further_views().take(at).any(shares);
            if !view.is_vec4() || !alone {
                return Err(KernelError::operand(
                    OP,
                    "also",
                    "must be dense and share no memory with the other operands",
                    *view.shape(),
                ));
            }
        }
        let needed = inputs.len() + bindings + output.also.len();
        if needed > limit {
            return Err(CannotFuse::Bindings { needed, limit }.into());
        }
        Ok(Self {
            graph,
            form,
            coalesced,
            inputs,
            also: further_views().cloned().collect(),
            computed,
        })
    }

    /// The bindings that it adds.
    pub(crate) fn bindings(&self) -> usize {
        self.inputs.len() + self.also.len()
    }

    /// The memory that is read, and that of further values.
    pub(crate) fn views(&self) -> impl Iterator<Item = &View> {
        self.inputs.iter().chain(&self.also)
    }
}

impl Executor {
    /// The epilogue of a kernel with `bindings` bindings that writes `out`.
    pub(crate) fn epilogue(
        &self,
        output: &FusedOutput<'_>,
        out: &View,
        bindings: usize,
    ) -> Result<Epilogue, KernelError> {
        let epilogue = Epilogue::new(output, out, bindings, self.fused_limits().bindings)?;
        self.refuse_over_binding(epilogue.views())?;
        Ok(epilogue)
    }

    /// The bindings of an epilogue, which follow those of its kernel, and the offsets in its slots.
    pub(crate) fn bind_epilogue<'a>(
        &self,
        epilogue: &'a Epilogue,
    ) -> Result<(Vec<u32>, Vec<Arg<'a>>), KernelError> {
        // The first output's offset is the kernel's own.
        let mut offsets = vec![0];
        let mut targets = Vec::with_capacity(epilogue.also.len());
        for view in &epilogue.also {
            let bound = self.bind_write(OP, view)?;
            offsets.push(bound.offset);
            targets.push(bound.arg);
        }
        let mut args = Vec::with_capacity(epilogue.inputs.len() + targets.len());
        let mut views = epilogue.inputs.iter();
        for access in &epilogue.form.inputs {
            let view = if *access == Access::Given {
                None
            } else {
                views.next()
            };
            let bound = view.map(|view| self.bind_read(OP, view)).transpose()?;
            offsets.push(bound.as_ref().map_or(0, |bound| bound.offset));
            args.extend(bound.map(|bound| bound.arg));
        }
        args.extend(targets);
        Ok((offsets, args))
    }
}
