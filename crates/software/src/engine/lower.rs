//! From naga's IR to the engine's: calls inlined, composites split into scalars.
//!
//! A value is a list of registers, one per word. Variables of functions and private variables are
//! registers too; a load copies them, and `pass::copies` removes the copies that nothing needs.
//! Words of uniform buffers and immediates, lengths of runtime arrays and built-in values are
//! inputs, set once per dispatch or workgroup.

mod access;
mod arith;
mod build;
mod call;
mod check;
mod control;
mod expression;
mod math;
mod parallel;
mod pointer;
mod print;
mod statement;
mod texture;
mod vector;

use std::collections::HashMap;

use naga::valid::{FunctionInfo, GlobalUse, ModuleInfo};
use naga::{AddressSpace, Expression, Function, Handle, Module, Span, TypeInner};

use super::CompileError;
use super::check::{Site, Variable};
use super::ir::{Block, Code, Input, Op, Reg, Space};
use super::layout::{Layout, Types, is_supported};
use crate::profile::Profile;
use crate::sanitize::Checks;
use pointer::{Pointer, Root};

pub(super) type Result<T> = std::result::Result<T, CompileError>;

/// Operations above which a program is refused: inlining can grow exponentially.
const MAX_OPS: usize = 400_000;

/// Blocks nested in each other above which a program is refused: execution recurses.
const MAX_NEST: u32 = 500;

/// What a function is given for one parameter.
#[derive(Clone, Debug)]
enum Argument {
    Value(Vec<Reg>),
    Pointer(Pointer),
    /// A texture or a sampler.
    Handle(Handle<naga::GlobalVariable>),
}

/// Where `break` and `continue` go.
#[derive(Clone, Copy, Debug)]
enum Exit {
    Loop(u32),
    Switch(u32),
}

/// One inlined function.
#[derive(Debug)]
struct Frame<'a> {
    function: &'a Function,
    info: &'a FunctionInfo,
    values: Vec<Option<Vec<Reg>>>,
    pointers: Vec<Option<Pointer>>,
    arguments: Vec<Argument>,
    locals: Vec<Vec<Reg>>,
    /// Where returned values meet, once there are several.
    result: Option<Vec<Reg>>,
    /// The scope that `return` leaves.
    scope: Option<u32>,
    exits: Vec<Exit>,
}

impl<'a> Frame<'a> {
    fn new(function: &'a Function, info: &'a FunctionInfo, arguments: Vec<Argument>) -> Self {
        let len = function.expressions.len();
        Self {
            function,
            info,
            values: vec![None; len],
            pointers: vec![None; len],
            arguments,
            locals: Vec::new(),
            result: None,
            scope: None,
            exits: Vec::new(),
        }
    }
}

#[derive(Debug)]
struct Lower<'a> {
    types: Types<'a>,
    module: &'a Module,
    info: &'a ModuleInfo,
    source: &'a str,
    code: Code,
    /// The last one is being filled.
    blocks: Vec<Block>,
    inputs: HashMap<Input, Reg>,
    /// By register: its bits, where they are known.
    known: HashMap<Reg, u32>,
    globals: HashMap<Handle<naga::GlobalVariable>, Root>,
    /// Textures and samplers: their numbers in [`Code`].
    handles: HashMap<Handle<naga::GlobalVariable>, u32>,
    frame: Frame<'a>,
    span: Span,
    calls: u32,
    /// Loops and scopes around the current place.
    depth: u32,
    ops: usize,
    /// What a sanitizer wants checked.
    checks: Option<Checks>,
    sites: HashMap<Site, u32>,
    /// Where each line of the text starts.
    lines: Vec<usize>,
    /// The values so far of a statement that prints several, and their registers.
    said: (super::print::Values, Vec<Reg>),
}

/// Lowers entry point `entry` of a module without overrides.
pub(super) fn lower(
    module: &Module,
    info: &ModuleInfo,
    source: &str,
    entry: &str,
    profile: &Profile,
) -> Result<Code> {
    let found = module.entry_points.iter().enumerate();
    let found = found.filter(|(_, point)| point.stage == naga::ShaderStage::Compute);
    let mut found = found.filter(|(_, point)| point.name == entry);
    let Some((index, point)) = found.next() else {
        return Err(CompileError {
            construct: "entry point".to_owned(),
            line: 0,
            message: format!("there is no compute entry point {entry}"),
        });
    };
    let subgroup = profile.subgroup_size.clamp(4, 128);
    let mut lower = Lower {
        types: Types { module, subgroup },
        module,
        info,
        source,
        code: Code {
            workgroup: point.workgroup_size,
            subgroup,
            ..Code::default()
        },
        blocks: vec![Block::new()],
        inputs: HashMap::new(),
        known: HashMap::new(),
        globals: HashMap::new(),
        handles: HashMap::new(),
        frame: Frame::new(&point.function, info.get_entry_point(index), Vec::new()),
        span: Span::UNDEFINED,
        calls: 0,
        depth: 0,
        ops: 0,
        checks: profile
            .sanitizer
            .as_ref()
            .map(|sanitizer| sanitizer.checks()),
        sites: HashMap::new(),
        lines: source.match_indices('\n').map(|(at, _)| at).collect(),
        said: Default::default(),
    };
    let invocations = lower
        .code
        .workgroup
        .iter()
        .map(|n| u64::from(*n))
        .product::<u64>();
    if invocations == 0 || invocations > 1 << 16 {
        return lower.refuse("@workgroup_size", "it must be from 1 to 65536 invocations");
    }
    lower.entry()?;
    lower.code.checked = lower.checks.is_some();
    let mut code = lower.code;
    code.block = lower.blocks.pop().unwrap_or_default();
    code.inputs = lower
        .inputs
        .into_iter()
        .map(|(input, reg)| (reg, input))
        .collect();
    code.inputs.sort_unstable_by_key(|(reg, _)| *reg);
    Ok(code)
}

impl<'a> Lower<'a> {
    fn entry(&mut self) -> Result<()> {
        self.declare_globals()?;
        let function = self.frame.function;
        for argument in &function.arguments {
            let value = self.built_in(argument.ty, argument.binding.as_ref())?;
            self.frame.arguments.push(Argument::Value(value));
        }
        self.body()?;
        Ok(())
    }

    fn declare_globals(&mut self) -> Result<()> {
        let module = self.module;
        for (handle, variable) in module.global_variables.iter() {
            if self.frame.info[handle].is_empty() {
                continue;
            }
            self.span = module.global_variables.get_span(handle);
            let inner = self.types.inner(variable.ty);
            let root = match variable.space {
                AddressSpace::Storage { .. } | AddressSpace::Uniform => {
                    let Some(binding) = variable.binding else {
                        return self.refuse("variable", "it has no binding");
                    };
                    let index = self.code.bindings.len() as u32;
                    self.code.bindings.push((binding.group, binding.binding));
                    self.code.variables.push(Variable {
                        name: variable.name.clone().unwrap_or_default(),
                        line: self.line(),
                        written: self.frame.info[handle].contains(GlobalUse::WRITE),
                    });
                    Root::Memory {
                        space: Space::Binding(index),
                        layout: Layout::Host,
                        constant: variable.space == AddressSpace::Uniform,
                    }
                }
                AddressSpace::Immediate => Root::Memory {
                    space: Space::Immediate,
                    layout: Layout::Host,
                    constant: true,
                },
                AddressSpace::WorkGroup => {
                    let words = self.types.words(inner).filter(|words| *words < 1 << 24);
                    let Some(words) = words else {
                        return self.refuse("var<workgroup>", "its type has no fixed size");
                    };
                    let start = self.code.workgroup_bytes;
                    let Some(end) = start.checked_add(words as u32 * 4).filter(|n| *n < 1 << 28)
                    else {
                        return self.refuse("var<workgroup>", "workgroup memory is too large");
                    };
                    self.code.workgroup_bytes = end;
                    Root::Workgroup { start }
                }
                AddressSpace::Handle => {
                    self.declare_handle(handle, variable)?;
                    continue;
                }
                AddressSpace::Private => {
                    let init = variable.init.map(|init| self.constant(init)).transpose()?;
                    Root::Registers(self.variable(inner, init)?)
                }
                _ => {
                    return self.refuse(
                        "variable",
                        "its address space has no place in compute shaders",
                    );
                }
            };
            self.globals.insert(handle, root);
        }
        Ok(())
    }

    /// Registers of a new variable, set to `init` or zero.
    fn variable(&mut self, inner: &TypeInner, init: Option<Vec<Reg>>) -> Result<Vec<Reg>> {
        let zero = self.bits(0);
        let len = self.words(inner)?;
        let init = init.unwrap_or_else(|| vec![zero; len]);
        let mut regs = Vec::with_capacity(len);
        for a in init {
            let d = self.register();
            self.emit(Op::Mov {
                d,
                a,
                masked: false,
            })?;
            regs.push(d);
        }
        Ok(regs)
    }

    /// Words of a value of that type.
    fn words(&self, inner: &TypeInner) -> Result<usize> {
        match self.types.words(inner) {
            Some(words) if words <= super::layout::MAX_WORDS => Ok(words as usize),
            Some(_) => self.refuse(
                "value",
                "it has too many scalars for the registers of an invocation",
            ),
            None => self.refuse("type", "the software device has no values of it"),
        }
    }

    fn refuse<T>(&self, construct: impl Into<String>, message: impl Into<String>) -> Result<T> {
        Err(CompileError {
            construct: construct.into(),
            line: self.line(),
            message: message.into(),
        })
    }

    /// Line of the current place.
    fn line(&self) -> u32 {
        let inside = self.span.to_range().is_some_and(|range| {
            range.start <= self.source.len() && self.source.is_char_boundary(range.start)
        });
        if self.span.is_defined() && inside {
            let start = self.span.to_range().map_or(0, |range| range.start);
            self.lines.partition_point(|end| *end < start) as u32 + 1
        } else {
            0
        }
    }

    fn inner(&self, handle: Handle<Expression>) -> &'a TypeInner {
        let info: &'a FunctionInfo = self.frame.info;
        info[handle].ty.inner_with(&self.module.types)
    }

    /// The scalar of a scalar, vector or matrix.
    fn scalar(&self, inner: &TypeInner) -> Result<naga::Scalar> {
        let scalar = match *inner {
            TypeInner::Scalar(scalar)
            | TypeInner::Atomic(scalar)
            | TypeInner::Vector { scalar, .. }
            | TypeInner::Matrix { scalar, .. }
            | TypeInner::CooperativeMatrix { scalar, .. } => scalar,
            _ => return self.refuse("operand", "it does not consist of numbers"),
        };
        if is_supported(scalar) {
            Ok(scalar)
        } else {
            self.refuse(
                "scalar type",
                format!("{} bits of {:?}", scalar.width * 8, scalar.kind),
            )
        }
    }
}
