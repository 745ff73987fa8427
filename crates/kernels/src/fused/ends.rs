//! Generated ends of an op's kernel: what it reads is a value of an expression, what it writes another one over its result.
//!
//! The kernel calls `load_value`, and `store1` or `store4`; a prologue declares the first, an epilogue the others. Both may
//! stand in one kernel, with names, slots and bindings that do not clash.

use std::fmt::Write;

use ziggurat_pipeline::{Arg, Grid, KernelDescriptor, ShaderSource, params_part};

use crate::fused::epilogue::Epilogue;
use crate::fused::form::Form;
use crate::fused::generate::{self, Host, Reading, Role};
use crate::fused::graph::{Graph, Slots};
use crate::fused::params::{self, Placed};
use crate::fused::prologue::Prologue;
use crate::run::error::KernelError;
use crate::run::executor::Executor;
use crate::source::choice::{KernelChoice, WritesBy};
use crate::source::params::ParamField;

/// The generated ends of one kernel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Generated<'a> {
    pub(crate) reads: Option<&'a Prologue>,
    pub(crate) writes: Option<&'a Epilogue>,
}

/// A kernel's own parameters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OwnParams<'a> {
    pub(crate) words: &'a [u32],
    pub(crate) fields: &'static [ParamField],
}

impl Executor {
    /// Records one dispatch of a kernel with generated ends. `args` are its own bindings; without the first one, if it reads
    /// a value there.
    pub(crate) fn launch_generated(
        &self,
        op: &'static str,
        (choice, ends): (&KernelChoice, Generated<'_>),
        args: &[Arg<'_>],
        own: OwnParams<'_>,
        grid: Grid,
    ) -> Result<(), KernelError> {
        let read = ends.reads.map(|prologue| {
            let (offsets, args) = self.bind_prologue(op, prologue)?;
            Ok::<_, KernelError>((prologue, offsets, args))
        });
        let read = read.transpose()?;
        let written = ends.writes.map(|epilogue| {
            let (offsets, args) = self.bind_epilogue(epilogue)?;
            Ok::<_, KernelError>((epilogue, offsets, args))
        });
        let written = written.transpose()?;
        let value = read.as_ref().map(|(prologue, offsets, _)| Placed {
            graph: &prologue.graph,
            form: &prologue.form,
            offsets,
            coalesced: prologue.coalesced.as_deref(),
        });
        let result = written.as_ref().map(|(epilogue, offsets, _)| Placed {
            graph: &epilogue.graph,
            form: &epilogue.form,
            offsets,
            coalesced: epilogue.coalesced.as_ref(),
        });
        let placed: Vec<Placed<'_>> = value.into_iter().chain(result).collect();
        let words = params::within(own.words, own.fields, &placed);
        let caps = self.device().caps();
        let part = params_part(caps, size_of_val(words.as_slice()));
        let wg = caps.workgroup_size;
        let host = Host {
            fields: own.fields,
            bindings: args.len() + usize::from(value.is_some()),
        };
        let [value, result] = [value, result].map(|of| of.map(|of| (of.graph, of.form)));
        let mut key = choice.key(part.0, wg);
        for (tag, end) in [("value", value), ("result", result)] {
            if let Some((graph, form)) = end {
                key.push_tag(tag);
                graph.describe(form, &mut |word| key.push_number(word));
            }
        }
        let kernel =
            self.kernel_for(key, || descriptor(choice, [value, result], host, part, wg))?;
        // What the kernel would read first, its other bindings, and those of the generated ends.
        let inputs = read.as_ref().map_or(&[][..], |(_, _, args)| args);
        let outputs = written.as_ref().map_or(&[][..], |(_, _, args)| args);
        let (first, further) = inputs.split_at(inputs.len().min(1));
        let args: Vec<Arg<'_>> = [first, args, further, outputs].concat();
        let numbers = params::numbers(own.fields, &placed);
        self.dispatch(&kernel, &args, &words, grid, numbers)
    }

    /// The WGSL of a kernel with generated ends, for people.
    pub(crate) fn generated_listing(
        &self,
        (choice, ends): (&KernelChoice, Generated<'_>),
        bindings: usize,
        own: OwnParams<'_>,
    ) -> Result<String, KernelError> {
        let caps = self.device().caps();
        let value = ends.reads.map(|end| (&*end.graph, &*end.form));
        let result = ends.writes.map(|end| (&end.graph, &end.form));
        let rows = [value, result].into_iter().flatten();
        let rows: usize = rows.map(|(graph, form)| Slots::of(graph, form).rows).sum();
        let bytes = match rows {
            0 => size_of_val(own.words),
            rows => params::head_bytes(own.fields) + 16 * rows,
        };
        let part = params_part(caps, bytes);
        let host = Host {
            fields: own.fields,
            bindings,
        };
        let made = descriptor(choice, [value, result], host, part, caps.workgroup_size)?;
        Ok(made.source.listing())
    }
}

/// The kernel of a choice, reading the first graph's value and writing the second's where there are such.
pub(crate) fn descriptor(
    choice: &KernelChoice,
    ends: [Option<(&Graph, &Form)>; 2],
    host: Host,
    params_part: (&'static str, &'static str),
    wg: u32,
) -> Result<KernelDescriptor, KernelError> {
    let mut name = choice.label();
    for (graph, _) in ends.iter().flatten() {
        // Writing to a string does not fail.
        let _ = write!(name, "/{}", graph.label());
    }
    let source = ShaderSource::new(name).part(params_part.0, params_part.1);
    let reading = Reading {
        names_elem: !choice.loads(),
        vec4: choice.reads_vec4(),
    };
    let vec4 = choice.writes_vec4();
    let (source, writes) = match ends {
        [None, None] => (source, WritesBy::Itself),
        [Some((graph, form)), None] => {
            let role = Role::Value(host, reading);
            let source = generate::append(source, graph, form, role)?;
            (source, WritesBy::Itself)
        }
        [None, Some((graph, form))] => {
            let role = Role::Result(host, vec4);
            let source = generate::append(source, graph, form, role)?;
            (source, WritesBy::Result)
        }
        [Some(value), Some(result)] => {
            let source = generate::append_both(source, value, result, host, (reading, vec4))?;
            (source, WritesBy::Result)
        }
    };
    let descriptor = choice.descriptor_from(source, writes, wg)?;
    let graphs = ends.iter().flatten().map(|(graph, _)| *graph);
    Ok(graphs.fold(descriptor, generate::checked))
}
