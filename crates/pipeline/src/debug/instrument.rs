//! Kernel text in which statements are written out.

use std::sync::Arc;

use naga::common::wgsl::TypeContext as _;
use naga::{Binding, BuiltIn, Handle, Module, Scalar, ScalarKind, ShaderStage, Type, TypeInner};
use ziggurat_core::debug_print::{
    self, Rewrite, SAID_WORDS, Statement, Value, rewritten, variables,
};
use ziggurat_core::wgsl::tokens;

use super::report::{self, Site};
use crate::descriptor::KernelDescriptor;
use crate::error::PipelineError;
use crate::place::Assembled;
use crate::reflect::Text;

/// Scalars of all values of a statement at most.
const MOST_SCALARS: usize = 256;

/// What the text needs besides: where it writes, and how.
const SUPPORT: &str = include_str!("say.wgsl");

pub(super) struct Instrumented {
    pub(super) text: String,
    pub(super) sites: Vec<Site>,
}

/// The number of the first bind group behind all of a module's.
pub(super) fn free_group(_: &KernelDescriptor, text: &Text) -> Result<u32, PipelineError> {
    let globals = text.naga().global_variables.iter();
    let groups = globals.filter_map(|(_, global)| Some(global.binding.as_ref()?.group));
    Ok(groups.max().map_or(0, |group| group.saturating_add(1)))
}

/// The text of a kernel that writes what it says into the buffer of `group`; its statements have numbers from `first`.
pub(super) fn instrument(
    descriptor: &KernelDescriptor,
    text: &Text,
    group: u32,
    first: usize,
) -> Result<Instrumented, PipelineError> {
    let module = text.naga();
    let written = descriptor.source.text();
    let own = debug_print::statements(&written);
    let assembled = Assembled::new(&descriptor.source);
    let mut sites = Vec::with_capacity(own.len());
    for (number, statement) in own.iter().enumerate() {
        let place = assembled.place_of_written(Some((statement.whole.start, statement.whole.end)));
        let refused = |what: String| PipelineError::Validation {
            kernel: assembled.name(),
            place: Arc::clone(&place),
            message: what,
        };
        let mut values = Vec::with_capacity(statement.values.len());
        for (name, _) in variables(number, statement).zip(&statement.values) {
            let found = variable(module, &name).and_then(|ty| {
                let mut leaves = Vec::new();
                self::leaves(module, ty, &name, &mut leaves)?;
                Some((ty, leaves))
            });
            let Some((ty, leaves)) = found else {
                return Err(refused(format!(
                    "a value of a type that cannot be told, or of more than {MOST_SCALARS} scalars"
                )));
            };
            let mut words = String::new();
            // Writing into a string does not fail.
            let _ = module.to_ctx().write_type(ty, &mut words);
            values.push((words, leaves.into_iter().map(|(_, kind)| kind).collect()));
        }
        sites.push(Site {
            kind: statement.kind,
            kernel: assembled.name(),
            place,
            label: statement.label.clone(),
            values,
        });
    }
    let text = with_places(&written, module);
    let moved = debug_print::statements(&text);
    let expanded = rewritten(&text, &moved, |number, statement, out| {
        let words = sites.get(number).map_or(0, Site::words);
        write(module, first + number, words, (number, statement), out);
    });
    let mut text = expanded.text.into_owned();
    text.push_str(&SUPPORT.replace("GROUP", &group.to_string()));
    Ok(Instrumented { text, sites })
}

/// What stands in the place of a statement.
fn write(
    module: &Module,
    site: usize,
    words: usize,
    (number, statement): (usize, &Statement),
    out: &mut Rewrite<'_>,
) {
    out.add(statement.condition.as_ref().map_or("{", |_| "if !("));
    if let Some(condition) = &statement.condition {
        out.copy(condition.clone());
        out.add(") {");
    }
    debug_print::declare(number, statement, out);
    out.add(&format!(
        " let ziggurat_debug_at = ziggurat_debug_begin({site}u, {words}u);"
    ));
    out.add(" if ziggurat_debug_at != 0xffffffffu {");
    let mut at = 0;
    for (name, _) in variables(number, statement).zip(&statement.values) {
        let mut leaves = Vec::new();
        let _told =
            variable(module, &name).and_then(|ty| self::leaves(module, ty, &name, &mut leaves));
        for (value, kind) in leaves {
            for word in self::words(&value, &kind) {
                out.add(&format!(
                    " ziggurat_debug.words[ziggurat_debug_at + {at}u] = {word};"
                ));
                at += 1;
            }
        }
    }
    out.add(" } }");
}

/// The words of a scalar, as [`debug_print::read_values`] reads them.
fn words(value: &str, kind: &Value) -> Vec<String> {
    let wide = |bits: String| vec![format!("u32({bits})"), format!("u32({bits} >> 32u)")];
    let words = match kind {
        Value::Bool(_) => vec![format!("u32({value})")],
        Value::U32(_) => vec![format!("u32({value})")],
        Value::I32(_) => vec![format!("bitcast<u32>(i32({value}))")],
        Value::F16(_) | Value::F32(_) => vec![format!("bitcast<u32>(f32({value}))")],
        Value::U64(_) => wide(value.to_owned()),
        _ => wide(format!("bitcast<u64>({value})")),
    };
    debug_assert_eq!(words.len(), report::words(kind));
    words
}

/// The type of the variable of that name, which is in one function.
fn variable(module: &Module, name: &str) -> Option<Handle<Type>> {
    let functions = module.functions.iter().map(|(_, function)| function);
    let entries = module.entry_points.iter().map(|point| &point.function);
    let mut locals = functions
        .chain(entries)
        .flat_map(|function| function.local_variables.iter());
    let (_, found) = locals.find(|(_, local)| local.name.as_deref() == Some(name))?;
    Some(found.ty)
}

/// The scalars of a value, each with an expression for it. Nothing for what is not made of scalars, or of too many.
fn leaves(
    module: &Module,
    ty: Handle<Type>,
    value: &str,
    out: &mut Vec<(String, Value)>,
) -> Option<()> {
    let mut many = |count: u32, scalar: Scalar, of: &dyn Fn(u32) -> String| {
        (0..count).try_for_each(|i| {
            out.push((of(i), kind(scalar)?));
            (out.len() <= MOST_SCALARS).then_some(())
        })
    };
    match &module.types[ty].inner {
        TypeInner::Scalar(scalar) => many(1, *scalar, &|_| value.to_owned()),
        TypeInner::Vector { size, scalar } => {
            many(*size as u32, *scalar, &|i| format!("{value}[{i}]"))
        }
        TypeInner::Matrix {
            columns,
            rows,
            scalar,
        } => {
            let rows = *rows as u32;
            let of = |i: u32| format!("{value}[{}][{}]", i / rows, i % rows);
            many(*columns as u32 * rows, *scalar, &of)
        }
        TypeInner::Array {
            base,
            size: naga::ArraySize::Constant(count),
            ..
        } => {
            (0..count.get()).try_for_each(|i| leaves(module, *base, &format!("{value}[{i}]"), out))
        }
        TypeInner::Struct { members, .. } => members.iter().try_for_each(|member| {
            let value = format!("{value}.{}", member.name.as_deref()?);
            leaves(module, member.ty, &value, out)
        }),
        _ => None,
    }
}

/// A sample of a scalar type.
fn kind(scalar: Scalar) -> Option<Value> {
    Some(match (scalar.kind, scalar.width) {
        (ScalarKind::Bool, _) => Value::Bool(false),
        (ScalarKind::Float, 2) => Value::F16(half::f16::ZERO),
        (ScalarKind::Float, 4) => Value::F32(0.0),
        (ScalarKind::Float, 8) => Value::F64(0.0),
        (ScalarKind::Sint, 2 | 4) => Value::I32(0),
        (ScalarKind::Sint, 8) => Value::I64(0),
        (ScalarKind::Uint, 2 | 4) => Value::U32(0),
        (ScalarKind::Uint, 8) => Value::U64(0),
        _ => return None,
    })
}

/// The text with entry points that note who they are.
fn with_places(text: &str, module: &Module) -> String {
    let mut inserted: Vec<(usize, String)> = Vec::new();
    for point in &module.entry_points {
        if point.stage != ShaderStage::Compute {
            continue;
        }
        let Some((open, body)) = brackets(text, &point.name) else {
            continue;
        };
        let mut parameters = String::new();
        let mut notes = String::new();
        for (built_in, attribute, noted) in [
            (BuiltIn::WorkGroupId, "workgroup_id", "ziggurat_debug_group"),
            (
                BuiltIn::LocalInvocationId,
                "local_invocation_id",
                "ziggurat_debug_invocation",
            ),
        ] {
            let name = input(module, &point.function, built_in).unwrap_or_else(|| {
                let name = format!("ziggurat_debug_{attribute}");
                parameters.push_str(&format!("@builtin({attribute}) {name}: vec3<u32>, "));
                name
            });
            notes.push_str(&format!(" {noted} = {name};"));
        }
        inserted.push((open, parameters));
        inserted.push((body, notes));
    }
    inserted.sort_by_key(|(at, _)| *at);
    let mut out = String::with_capacity(text.len() + 128 * inserted.len());
    let mut from = 0;
    for (at, new) in inserted {
        out.push_str(text.get(from..at).unwrap_or_default());
        out.push_str(&new);
        from = at;
    }
    out.push_str(text.get(from..).unwrap_or_default());
    out
}

/// An expression for a built-in value that an entry point takes already.
fn input(module: &Module, function: &naga::Function, wanted: BuiltIn) -> Option<String> {
    let is =
        |binding: &Option<Binding>| matches!(binding, Some(Binding::BuiltIn(b)) if *b == wanted);
    function.arguments.iter().find_map(|argument| {
        let name = argument.name.as_deref()?;
        if is(&argument.binding) {
            return Some(name.to_owned());
        }
        let TypeInner::Struct { members, .. } = &module.types[argument.ty].inner else {
            return None;
        };
        let member = members.iter().find(|member| is(&member.binding))?;
        Some(format!("{name}.{}", member.name.as_deref()?))
    })
}

/// Behind the bracket that opens a function's parameters, and the brace that opens its body.
fn brackets(text: &str, name: &str) -> Option<(usize, usize)> {
    let mut tokens = tokens(text);
    let mut before = "";
    let open = loop {
        let (_, token) = tokens.next()?;
        if before == "fn" && token == name {
            break tokens.next()?.0 + 1;
        }
        before = token;
    };
    let mut depth = 1;
    loop {
        match tokens.next()? {
            (_, "(") => depth += 1,
            (_, ")") => depth -= 1,
            (at, "{") if depth == 0 => return Some((open, at + 1)),
            _ => {}
        }
    }
}

/// The support text writes as many words ahead of the values.
const _: () = assert!(SAID_WORDS == 7);
