//! Both ends of a walking kernel: it reads a value of an expression, or a view, and writes a value of another one over its
//! result, or the result.
//!
//! The two generated parts are those of a prologue and of an epilogue. They stand one behind the other, with names, slots
//! and bindings that do not clash.

use ziggurat_pipeline::{Arg, Grid, KernelDescriptor, ShaderSource, params_part};

use crate::fused::epilogue::{Epilogue, FusedOutput};
use crate::fused::generate::{self, Host};
use crate::fused::graph::{Form, Graph};
use crate::fused::params::{self, Placed};
use crate::fused::prologue::{BoundOperand, FusedInput, Operand, Prologue};
use crate::run::error::KernelError;
use crate::run::executor::Executor;
use crate::run::view::View;
use crate::source::choice::{KernelChoice, WritesBy};
use crate::source::params::Params;

/// A value of an expression, ready to be read by kernels in place of memory; see [`Executor::fused_reader`].
#[derive(Debug)]
pub struct FusedReader(Prologue);

/// What a kernel that walks its input reads: memory, or a value of an expression.
#[derive(Clone, Copy, Debug)]
pub enum WalkInput<'a> {
    /// Memory.
    View(&'a View),
    /// A value that is never in memory.
    Fused(&'a FusedReader),
}

impl<'a> WalkInput<'a> {
    pub(crate) fn operand(self) -> Operand<'a> {
        match self {
            Self::View(view) => Operand::Memory(view),
            Self::Fused(reader) => Operand::Fused(&reader.0),
        }
    }
}

impl Executor {
    /// Prepares a fused value for kernels that read each element `reads` times, beside `views` other views that they read
    /// or write.
    ///
    /// # Errors
    /// [`KernelError::FusedTooLarge`] if one kernel cannot do it, or would compute too much several times;
    /// [`KernelError::Shape`] if an input does not broadcast.
    pub fn fused_reader(
        &self,
        input: &FusedInput<'_>,
        reads: usize,
        views: usize,
    ) -> Result<FusedReader, KernelError> {
        self.prologue(input, views + 1, reads).map(FusedReader)
    }

    /// The epilogue of a kernel that reads `input` and writes `out`, and has so many further bindings, if there is one.
    pub(crate) fn epilogue_behind(
        &self,
        input: WalkInput<'_>,
        further: usize,
        value: Option<&FusedOutput<'_>>,
        out: &View,
    ) -> Result<Option<Epilogue>, KernelError> {
        let read = match input {
            WalkInput::View(_) => 1,
            WalkInput::Fused(reader) => reader.0.form.bindings(),
        };
        value
            .map(|value| self.epilogue(value, out, read + 1 + further))
            .transpose()
    }

    /// Like [`Self::launch_reading`], for a kernel that writes its output, of single elements, through an epilogue if
    /// there is one.
    pub(crate) fn launch_between<P: Params>(
        &self,
        choice: &KernelChoice,
        operand: &BoundOperand<'_>,
        others: &[Arg<'_>],
        own: &P,
        grid: Grid,
        epilogue: Option<&Epilogue>,
    ) -> Result<(), KernelError> {
        let Some(epilogue) = epilogue else {
            return self.launch_reading(choice, operand, others, own, grid);
        };
        let (prologue, inputs, offsets) = match operand {
            BoundOperand::Memory(bound) => {
                let args = [&[bound.arg], others].concat();
                return self.launch_writing(choice, &args, own, grid, Some(epilogue));
            }
            BoundOperand::Fused {
                prologue,
                args,
                offsets,
            } => (*prologue, args, offsets),
        };
        let (result_offsets, result_args) = self.bind_epilogue(epilogue)?;
        let host = Host {
            fields: P::FIELDS,
            bindings: others.len() + 1,
        };
        let value = Placed {
            graph: &prologue.graph,
            form: &prologue.form,
            offsets,
            walk: prologue.walk.as_ref(),
        };
        let result = Placed {
            graph: &epilogue.graph,
            form: &epilogue.form,
            offsets: &result_offsets,
            walk: epilogue.walk.as_ref(),
        };
        let words = params::within_all(own, P::FIELDS, &[value, result]);
        let caps = self.device().caps();
        let part = params_part(caps, size_of_val(words.as_slice()));
        let wg = caps.workgroup_size;
        let mut key = choice.key(part.0, wg);
        key.push_tag("value");
        value.graph.add_to(&mut key, value.form);
        key.push_tag("result");
        result.graph.add_to(&mut key, result.form);
        let mut missing = None;
        let kernel = self.pipelines().kernel_for(&key, || {
            let ends = [(value.graph, value.form), (result.graph, result.form)];
            descriptor(choice, ends, host, part, wg).unwrap_or_else(|error| {
                missing = Some(error);
                KernelDescriptor::new(ShaderSource::new(choice.label()))
            })
        });
        if let Some(error) = missing {
            return Err(error);
        }
        let (first, further) = inputs.split_at_checked(1).unwrap_or_default();
        let args: Vec<Arg<'_>> = [first, others, further, &result_args].concat();
        self.pipelines()
            .dispatch(&kernel?, &args, bytemuck::cast_slice(&words), grid)?;
        Ok(())
    }
}

/// A kernel that reads a graph's value and writes another's.
pub(crate) fn descriptor(
    choice: &KernelChoice,
    [value, result]: [(&Graph, &Form); 2],
    host: Host,
    params_part: (&'static str, &'static str),
    wg: u32,
) -> Result<KernelDescriptor, KernelError> {
    let (read, written) = (value.0.label(), result.0.label());
    let name = format!("{}/{read}/{written}", choice.label());
    let source = ShaderSource::new(name).part(params_part.0, params_part.1);
    let source = generate::append_both(source, value, result, host, !choice.loads())?;
    choice.descriptor_from(source, WritesBy::Result, wg)
}
