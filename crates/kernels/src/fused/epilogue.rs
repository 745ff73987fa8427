//! Epilogues: a kernel writes, in place of its result, a value of an expression over it, or several.
//!
//! The kernel calls `store1(index, result)`, or `store4` with four results; the generated part computes the expression and
//! stores that, and further values to bindings of their own. Of several passes the last has the epilogue.
//!
//! Invariants: each element has the bits that it would have had the result gone through memory (which rounds it to the
//! kernel's dtype); outputs are dense, so that the index less the output's offset is the element's row-major number.

use ziggurat_core::{Coalesced, DType, Layout, Shape, coalesce};
use ziggurat_pipeline::{Arg, Grid, KernelDescriptor, ShaderSource, params_part};

use crate::fused::expression::{Expression, Id};
use crate::fused::generate::{self, Host, Role};
use crate::fused::graph::{Access, Form, Graph, MADE};
use crate::fused::params;
use crate::run::error::KernelError;
use crate::run::executor::Executor;
use crate::run::view::View;
use crate::source::choice::{KernelChoice, WritesBy};
use crate::source::params::Params;

const OP: &str = "fused";

/// What a kernel writes in place of its result: a value of an expression over [`Expression::made`].
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
    pub beside: &'a [(Id, View)],
}

/// A [`FusedOutput`] as a kernel writes it.
#[derive(Debug)]
pub(crate) struct Epilogue {
    pub(crate) graph: Graph,
    pub(crate) form: Form,
    pub(crate) walk: Option<Coalesced>,
    /// The inputs that have a binding.
    inputs: Vec<View>,
    /// Where further values go.
    beside: Vec<View>,
    /// What the kernel computes.
    made: DType,
}

/// The dtype of a kernel's results, before an epilogue.
pub(crate) fn made(out: &View, epilogue: Option<&Epilogue>) -> DType {
    epilogue.map_or(out.dtype, |epilogue| epilogue.made)
}

impl Epilogue {
    /// The epilogue of a kernel with `bindings` bindings that writes `out`. `limit` is the most bindings.
    pub(crate) fn new(
        output: &FusedOutput<'_>,
        out: &View,
        bindings: usize,
        limit: usize,
    ) -> Result<Self, KernelError> {
        let further = output.beside.iter().map(|(id, _)| *id);
        let values = std::iter::once(output.value).chain(further);
        let graph = Graph::of(output.expression, values.clone())?;
        let beside = || output.beside.iter().map(|(_, view)| view);
        for (value, view) in values.zip(std::iter::once(out).chain(beside())) {
            if view.dtype != output.expression.dtype(value) {
                return Err(KernelError::Dtype {
                    op: OP,
                    operand: "out",
                    rule: "it must have the dtype of the value written to it",
                    got: view.dtype,
                });
            }
            if view.len() != output.shape.len() {
                return Err(KernelError::Output {
                    op: OP,
                    expected: Box::new(output.shape),
                    got: Box::new(*view.shape()),
                });
            }
        }
        let mut made = graph.inputs.iter().filter(|input| input.index == MADE);
        let (Some(first), None) = (made.next(), made.next()) else {
            return Err(KernelError::Option {
                op: OP,
                option: "the values of the expression that the kernel makes",
                rule: "must be one",
                got: i64::from(graph.is_over_made()) * 2,
            });
        };
        let made = first.dtype;
        let mut inputs = Vec::with_capacity(graph.inputs.len());
        let mut accesses = Vec::with_capacity(graph.inputs.len());
        let mut strided: Vec<Layout> = Vec::new();
        for input in &graph.inputs {
            let Some(view) = output.expression.inputs().get(input.index) else {
                accesses.push(Access::Given);
                continue;
            };
            view.check()?;
            let layout = view.layout.expand(output.shape);
            let view = view.with_layout(layout.map_err(KernelError::shape(OP))?)?;
            accesses.push(if view.layout.is_contiguous() {
                Access::Quad
            } else if view.layout.span().is_some_and(|(low, high)| low == high) {
                Access::Scalar
            } else {
                strided.push(view.layout);
                Access::Strided
            });
            inputs.push(view);
        }
        let walk = (!strided.is_empty()).then(|| coalesce(&strided));
        let rank = walk
            .as_ref()
            .map_or(0, |walk| Form::rank_class(walk.dims.len()));
        for (at, (_, view)) in output.beside.iter().enumerate() {
            view.check()?;
            let shares = |other: &View| view.buffer.same_memory(&other.buffer);
            let alone = !inputs.iter().chain([out]).any(shares) && !beside().take(at).any(shares);
            if !view.is_quads() || !alone {
                return Err(KernelError::Operand {
                    op: OP,
                    operand: "beside",
                    rule: "must be dense and share no memory with what else is read or written",
                    got: Box::new(*view.shape()),
                });
            }
        }
        let needed = inputs.len() + bindings + output.beside.len();
        if needed > limit {
            return Err(KernelError::FusedTooLarge {
                what: "bindings",
                got: needed,
                limit,
            });
        }
        Ok(Self {
            graph,
            form: Form {
                inputs: accesses,
                rank,
            },
            walk,
            inputs,
            beside: beside().cloned().collect(),
            made,
        })
    }

    /// The bindings that it adds.
    pub(crate) fn bindings(&self) -> usize {
        self.inputs.len() + self.beside.len()
    }

    /// The memory that is read, and that of further values.
    pub(crate) fn views(&self) -> impl Iterator<Item = &View> {
        self.inputs.iter().chain(&self.beside)
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
        let mut targets = Vec::with_capacity(epilogue.beside.len());
        for view in &epilogue.beside {
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

    /// Like [`Self::launch`], for a kernel that writes its output through an epilogue if there is one.
    pub(crate) fn launch_writing<P: Params>(
        &self,
        choice: &KernelChoice,
        args: &[Arg<'_>],
        own: &P,
        grid: Grid,
        epilogue: Option<&Epilogue>,
    ) -> Result<(), KernelError> {
        let Some(epilogue) = epilogue else {
            return self.launch(choice, args, own, grid);
        };
        let Epilogue {
            graph, form, walk, ..
        } = epilogue;
        let host = Host {
            fields: P::FIELDS,
            bindings: args.len(),
        };
        let (offsets, bound) = self.bind_epilogue(epilogue)?;
        let all = [args, bound.as_slice()].concat();
        let words = params::within(own, P::FIELDS, graph, form, &offsets, walk.as_ref());
        let caps = self.device().caps();
        let part = params_part(caps, size_of_val(words.as_slice()));
        let wg = caps.workgroup_size;
        let mut key = choice.key(part.0, wg);
        key.push_tag("result");
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
        self.pipelines()
            .dispatch(&kernel?, &all, bytemuck::cast_slice(&words), grid)?;
        Ok(())
    }
}

/// A kernel that writes a graph's value.
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
    let role = Role::Result(host, choice.writes_quads());
    let source = generate::append(source, graph, form, role)?;
    choice.descriptor_from(source, WritesBy::Result, wg)
}
