//! The shader files of a fused kernel, each under names that do not clash.
//!
//! Preludes are copied per dtype (`unpack_f16`), snippets per op and compute type (`op_mul_f32`,
//! `op_cast_f32_to_u8`).

use std::borrow::Cow;

use ziggurat_core::DType;
use ziggurat_pipeline::ShaderSource;

use crate::fused::graph::{Graph, MADE, Step};
use crate::fused::op::FusedOp;
use crate::fused::user::UserOp;
use crate::ops::elementwise::row::{ResultKind, Snippets};
use crate::run::error::KernelError;
use crate::source::prelude;
use crate::source::rename::rename;
use crate::source::shaders;

const KEEP: &str = "elementwise/keep.wgsl";
const ROUNDED: &str = "prelude/rounded.wgsl";

/// The WGSL type that values of a dtype have between ops.
pub(crate) const fn compute(dtype: DType) -> &'static str {
    dtype.compute().name()
}

/// What must be done to a step's result before another step reads it, so that it is what memory would hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResultRounding {
    None,
    /// Rounded or wrapped to the dtype.
    Round,
    /// A compiler must see no further than this result: a product must not become part of a fused multiply-add, and of
    /// `(x + 1) - (x + b)` nobody may make `1 - b` (NVIDIA's does; Vulkan lets it rearrange sums as if they were exact).
    Keep,
}

pub(crate) fn result_rounding(step: &Step) -> ResultRounding {
    match step.op.code_facts().result {
        _ if !step.consumed => ResultRounding::None,
        ResultKind::Selection => ResultRounding::None,
        ResultKind::Sign if step.dtype.is_float() => ResultRounding::None,
        _ if prelude::is_packed(step.dtype) => ResultRounding::Round,
        ResultKind::Rounded if step.dtype == DType::F32 => ResultRounding::Keep,
        ResultKind::Sign | ResultKind::Exact | ResultKind::Rounded => ResultRounding::None,
    }
}

/// The function that a step calls.
pub(crate) fn function(graph: &Graph, step: &Step) -> String {
    let first = graph.operand_dtype(step, 0);
    match step.op {
        FusedOp::Unary(_) | FusedOp::Binary(_) | FusedOp::Where => {
            format!("op_{}_{}", step.op.name(), compute(step.dtype))
        }
        // Its snippet asks the dtype's prelude for NaN.
        FusedOp::Compare(_) => format!("op_{}_{first}", step.op.name()),
        FusedOp::Predicate(_) => format!("op_{}_{}", step.op.name(), compute(first)),
        FusedOp::Cast(to) => format!("op_cast_{}_to_{to}", compute(first)),
        FusedOp::User(op) => {
            let prefix = op.definition().map_or("user", |known| known.prefix);
            format!("{prefix}_apply")
        }
    }
}

/// Parts in order, each (file, names) once.
struct Parts {
    source: ShaderSource,
    seen: Vec<(&'static str, String)>,
}

impl Parts {
    fn add(
        &mut self,
        file: &'static str,
        copy: &str,
        names: impl FnOnce() -> Vec<(&'static str, String)>,
    ) -> Result<(), KernelError> {
        if self
            .seen
            .iter()
            .any(|(path, name)| *path == file && name == copy)
        {
            return Ok(());
        }
        let text = shaders::text(file)?;
        let names = names();
        let text = if names.is_empty() {
            Cow::Borrowed(text)
        } else {
            Cow::Owned(rename(text, &names))
        };
        self.source = std::mem::replace(&mut self.source, ShaderSource::new("")).part(file, text);
        self.seen.push((file, copy.to_owned()));
        Ok(())
    }

    fn plain(&mut self, file: &'static str) -> Result<(), KernelError> {
        self.add(file, "", Vec::new)
    }

    fn prelude(&mut self, file: &'static str, dtype: DType) -> Result<(), KernelError> {
        self.add(file, dtype.name(), || {
            let names = prelude::NAMES.iter();
            names
                .map(|name| (*name, format!("{name}_{dtype}")))
                .collect()
        })
    }

    fn rounding(&mut self, dtype: DType) -> Result<(), KernelError> {
        self.prelude(prelude::load(dtype), dtype)?;
        self.prelude(prelude::store(dtype), dtype)?;
        self.prelude(ROUNDED, dtype)
    }

    /// `cell`, and `write1` or `write4` for elements of a dtype: of the host's output, or of a further one by its number.
    fn cell(&mut self, number: usize, dtype: DType, vec4: bool) -> Result<(), KernelError> {
        let file = if vec4 {
            prelude::VEC4
        } else {
            prelude::cell(dtype)
        };
        self.add(file, &format!("{dtype} {number}"), || {
            let mut names: Vec<_> = prelude::NAMES
                .iter()
                .map(|name| (*name, format!("{name}_{dtype}")))
                .collect();
            let stores = [("store1", "write1"), ("store4", "write4")];
            if number == 0 {
                names.extend(stores.map(|(old, new)| (old, new.to_owned())));
            } else {
                let kept = [("cell", "cell"), ("out", "out")].into_iter();
                let all = stores.into_iter().chain(kept);
                names.extend(all.map(|(old, new)| (old, format!("{new}_{number}"))));
            }
            names
        })
    }

    /// A user's function, which has names of its own already.
    fn user(&mut self, op: UserOp) -> Result<(), KernelError> {
        let known = op.definition()?;
        if !self.seen.iter().any(|(_, name)| name == known.prefix) {
            let source = std::mem::replace(&mut self.source, ShaderSource::new(""));
            self.source = source.part(known.name, known.text);
            self.seen.push((known.name, known.prefix.to_owned()));
        }
        Ok(())
    }

    fn snippet(&mut self, graph: &Graph, step: &Step) -> Result<(), KernelError> {
        let operand = graph.operand_dtype(step, step.op.arity() - 1);
        let number = |snippets: Snippets, general| {
            let functions = snippets.functions(operand, general);
            (functions, snippets.of(operand))
        };
        let (functions, file): (&[&'static str], _) = match step.op {
            FusedOp::Unary(op) => number(op.spec().snippets, op.spec().functions),
            FusedOp::Binary(op) => number(op.spec().snippets, op.spec().functions),
            FusedOp::Compare(op) => (&[], op.spec().snippets.of(operand)),
            FusedOp::Predicate(op) => (&[], op.spec().snippets.of(operand)),
            FusedOp::Where => (&[], "elementwise/where.wgsl"),
            FusedOp::Cast(to) => (&[], prelude::cast(operand, to)),
            FusedOp::User(op) => return self.user(op),
        };
        for function in functions {
            self.plain(function)?;
        }
        let name = function(graph, step);
        self.add(file, &name, || {
            vec![
                ("apply", name.clone()),
                ("elem", compute(operand).to_owned()),
                ("out_elem", compute(step.dtype).to_owned()),
                ("elem_is_nan", format!("elem_is_nan_{operand}")),
            ]
        })
    }
}

/// How the outputs are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Writes {
    /// Not by the generated part.
    Nothing,
    /// Four at a time, the last ones merged.
    Vec4,
    /// By `write1`, or by `write4`.
    Elements { vec4: bool },
}

/// Appends every file that the graph needs.
pub(crate) fn append(
    source: ShaderSource,
    graph: &Graph,
    writes: Writes,
) -> Result<ShaderSource, KernelError> {
    append_all(source, &[(graph, writes)])
}

/// Appends every file that these graphs need, each once.
pub(crate) fn append_all(
    source: ShaderSource,
    graphs: &[(&Graph, Writes)],
) -> Result<ShaderSource, KernelError> {
    let mut parts = Parts {
        source,
        seen: Vec::new(),
    };
    parts.plain(prelude::FLOAT)?;
    for (graph, writes) in graphs {
        parts.graph(graph, *writes)?;
    }
    Ok(parts.source)
}

impl Parts {
    fn graph(&mut self, graph: &Graph, writes: Writes) -> Result<(), KernelError> {
        for input in &graph.inputs {
            if input.index != MADE {
                self.prelude(prelude::load(input.dtype), input.dtype)?;
            } else if prelude::is_packed(input.dtype) {
                self.rounding(input.dtype)?;
            } else if input.dtype == DType::F32 {
                // A norm's last product, say, must not become part of a fused multiply-add with a bias.
                self.plain(KEEP)?;
            }
        }
        let written = graph.outputs.iter().enumerate();
        for (number, output) in written.filter(|_| writes != Writes::Nothing) {
            let dtype = graph.dtype(*output);
            self.prelude(prelude::store(dtype), dtype)?;
            if let Writes::Elements { vec4 } = writes {
                self.cell(number, dtype, vec4)?;
            }
        }
        for step in &graph.steps {
            match result_rounding(step) {
                ResultRounding::None => {}
                ResultRounding::Keep => self.plain(KEEP)?,
                ResultRounding::Round => self.rounding(step.dtype)?,
            }
            if let FusedOp::Compare(_) = step.op {
                let dtype = graph.operand_dtype(step, 0);
                self.prelude(prelude::load(dtype), dtype)?;
            }
            self.snippet(graph, step)?;
        }
        Ok(())
    }
}
