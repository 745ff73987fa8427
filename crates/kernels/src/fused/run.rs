//! From an expression and views to one dispatch.
//!
//! Invariants: outputs that the kernel writes are dense, vec4-aligned, and share memory with no other operand except an
//! input that is exactly the same view (in place); any other output goes through scratch. Operands too large for a
//! binding are halved like those of every elementwise op.

use ziggurat_core::{Coalesced, Shape};
use ziggurat_pipeline::{Arg, Grid, Kernel, params_part};

use crate::fused::expression::{Expression, Id};
use crate::fused::form::{Access, Form};
use crate::fused::generate;
use crate::fused::graph::{Graph, Slots};
use crate::fused::params;
use crate::ops::elementwise::dispatch::{PER_INVOCATION, count, is_scalar};
use crate::run::checks::check_shape;
use crate::run::error::{CannotFuse, KernelError};
use crate::run::executor::Executor;
use crate::run::launch::check_output;
use crate::run::view::View;

const OP: &str = "fused";

/// Whether two views are the same elements in the same order.
pub(crate) fn same(a: &View, b: &View) -> bool {
    a.dtype == b.dtype && a.layout == b.layout && a.buffer.same_memory(&b.buffer)
}

/// Which outputs a kernel may write directly: whole vec4s, and no memory of another operand except in place.
pub(crate) fn direct(inputs: &[&View], outputs: &[&View]) -> impl Iterator<Item = bool> + Clone {
    outputs.iter().enumerate().map(|(i, out)| {
        let conflict = inputs
            .iter()
            .any(|input| input.buffer.same_memory(&out.buffer) && !same(input, out));
        let before = outputs.iter().take(i);
        out.is_vec4()
            && !conflict
            && !before
                .into_iter()
                .any(|other| other.buffer.same_memory(&out.buffer))
    })
}

/// How the kernel reads inputs, all of the outputs' shape, and the strides of those that have some. Outputs that are
/// not written directly are `None`.
pub(crate) fn form<'a>(
    inputs: &[&View],
    outputs: impl Iterator<Item = Option<&'a View>> + Clone,
) -> (Form, Option<Coalesced>) {
    let access = |input: &&View| {
        let place = outputs
            .clone()
            .position(|output| output.is_some_and(|output| same(input, output)));
        if let Some(output) = place {
            Access::InPlace(output)
        } else if input.is_vec4() {
            Access::Vec4
        } else if is_scalar(input) {
            Access::Scalar
        } else {
            Access::Strided
        }
    };
    Form::of(inputs.iter().map(access).collect(), inputs.iter().copied())
}

/// The graph's inputs, broadcast to the shape.
pub(crate) fn broadcast(
    graph: &Graph,
    expression: &Expression,
    shape: &Shape,
) -> Result<Vec<View>, KernelError> {
    if graph.is_over_made() {
        return Err(KernelError::option(
            OP,
            "an operand",
            "must be in memory: no kernel computes it before",
            0,
        ));
    }
    let views = graph
        .inputs
        .iter()
        .filter_map(|input| expression.inputs().get(input.index));
    views
        .map(|view| {
            view.check()?;
            view.with_layout(view.layout.expand(*shape).map_err(KernelError::shape(OP))?)
        })
        .collect()
}

/// Outputs have the dtype of their value, and all the same shape.
fn check_outputs(
    expression: &Expression,
    shape: &Shape,
    outputs: &[(Id, View)],
) -> Result<(), KernelError> {
    for (id, out) in outputs {
        check_shape(OP, out, shape)?;
        if out.dtype != expression.dtype(*id) {
            return Err(KernelError::dtype(
                OP,
                "out",
                "it must have the dtype of the value written to it",
                out.dtype,
            ));
        }
        check_output(OP, out)?;
    }
    Ok(())
}

impl Executor {
    pub(crate) fn run_fused(
        &self,
        expression: &Expression,
        shape: &Shape,
        outputs: &[(Id, View)],
    ) -> Result<(), KernelError> {
        let graph = Graph::of(expression, outputs.iter().map(|(id, _)| *id))?;
        check_outputs(expression, shape, outputs)?;
        let inputs = broadcast(&graph, expression, shape)?;
        if outputs.is_empty() || shape.is_empty() {
            return Ok(());
        }
        let inputs: Vec<&View> = inputs.iter().collect();
        let outputs: Vec<&View> = outputs.iter().map(|(_, out)| out).collect();
        self.with_targets(&inputs, &outputs, |targets| {
            let views: Vec<&View> = inputs.iter().copied().chain(targets).collect();
            self.in_parts(OP, &views, &mut |part| {
                let (inputs, outputs) = part.split_at_checked(inputs.len()).unwrap_or((part, &[]));
                // Parts may start within a vec4.
                self.with_targets(inputs, outputs, |targets| {
                    self.fused_part(&graph, inputs, targets)
                })
            })
        })
    }

    /// Calls `f` with views it can write directly: the outputs, or scratch that is copied to them afterwards.
    fn with_targets(
        &self,
        inputs: &[&View],
        outputs: &[&View],
        f: impl FnOnce(&[View]) -> Result<(), KernelError>,
    ) -> Result<(), KernelError> {
        let mut targets: Vec<View> = Vec::with_capacity(outputs.len());
        let mut copies = Vec::new();
        for (out, direct) in outputs.iter().zip(direct(inputs, outputs)) {
            if direct {
                targets.push((*out).clone());
            } else {
                let scratch = self.alloc(out.shape(), out.dtype)?;
                targets.push(scratch.clone());
                copies.push((scratch, *out));
            }
        }
        f(&targets)?;
        copies
            .iter()
            .try_for_each(|(scratch, out)| self.copy_into(OP, scratch, out))
    }

    fn fused_part(
        &self,
        graph: &Graph,
        inputs: &[&View],
        outputs: &[View],
    ) -> Result<(), KernelError> {
        let len = count(OP, outputs.first().map_or(0, View::len))?;
        let (form, coalesced) = form(inputs, outputs.iter().map(Some));
        self.check_bindings(&form, outputs.len())?;
        let mut args: Vec<Arg<'_>> = Vec::with_capacity(inputs.len() + outputs.len());
        let mut offsets = Vec::with_capacity(inputs.len() + outputs.len());
        let targets = outputs
            .iter()
            .map(|out| self.bind_write(OP, out))
            .collect::<Result<Vec<_>, _>>()?;
        offsets.extend(targets.iter().map(|target| target.offset / 4));
        for (input, access) in inputs.iter().zip(&form.inputs) {
            match access {
                Access::InPlace(output) => {
                    offsets.push(targets.get(*output).map_or(0, |target| target.offset / 4));
                }
                Access::Given => offsets.push(0),
                _ => {
                    let bound = self.bind_read(OP, input)?;
                    let vec4 = *access == Access::Vec4;
                    offsets.push(if vec4 { bound.offset / 4 } else { bound.offset });
                    args.push(bound.arg);
                }
            }
        }
        args.extend(targets.into_iter().map(|target| target.arg));
        let own = [params::Placed {
            graph,
            form: &form,
            offsets: &offsets,
            coalesced: coalesced.as_ref(),
        }];
        let words = params::within(&[len], params::HEAD, &own);
        let kernel = self.fused_kernel(graph, &form, size_of_val(words.as_slice()))?;
        let grid = Grid::stride(u64::from(len), PER_INVOCATION);
        let numbers = params::numbers(params::HEAD, &own);
        self.dispatch(&kernel, &args, &words, grid, numbers)
    }

    /// The kernel of a graph whose parameters have so many bytes.
    pub(crate) fn fused_kernel(
        &self,
        graph: &Graph,
        form: &Form,
        params_bytes: usize,
    ) -> Result<Kernel, KernelError> {
        let caps = self.device().caps();
        let part = params_part(caps, params_bytes);
        let wg = caps.workgroup_size;
        self.kernel_for(graph.key(form, part.0, wg), || {
            generate::descriptor(graph, form, part, wg)
        })
    }

    pub(crate) fn check_bindings(&self, form: &Form, outputs: usize) -> Result<(), KernelError> {
        let (needed, limit) = (form.bindings() + outputs, self.fused_limits().bindings);
        if needed > limit {
            return Err(CannotFuse::Bindings { needed, limit }.into());
        }
        Ok(())
    }

    pub(crate) fn explain_fused(
        &self,
        expression: &Expression,
        outputs: &[(Id, View)],
    ) -> Result<String, KernelError> {
        let Some((_, first)) = outputs.first() else {
            return Ok(String::new());
        };
        let graph = Graph::of(expression, outputs.iter().map(|(id, _)| *id))?;
        check_outputs(expression, first.shape(), outputs)?;
        let inputs = broadcast(&graph, expression, first.shape())?;
        let inputs: Vec<&View> = inputs.iter().collect();
        let outputs: Vec<&View> = outputs.iter().map(|(_, out)| out).collect();
        let targets = outputs.iter().zip(direct(&inputs, &outputs));
        let (form, _) = form(&inputs, targets.map(|(out, direct)| direct.then_some(*out)));
        self.check_bindings(&form, outputs.len())?;
        let caps = self.device().caps();
        let bytes = params::head_bytes(params::HEAD) + 16 * Slots::of(&graph, &form).rows;
        let part = params_part(caps, bytes);
        let descriptor = generate::descriptor(&graph, &form, part, caps.workgroup_size)?;
        Ok(descriptor.source.listing())
    }
}
