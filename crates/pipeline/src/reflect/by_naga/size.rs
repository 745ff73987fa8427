//! How large what naga read is, against [`ShaderLimits`].

use std::collections::HashMap;

use naga::{Expression, Function, Handle, Module, Span, Statement, Type, TypeInner};

use crate::error::PipelineError;
use crate::place::Assembled;
use crate::shader_limits::ShaderLimits;

impl ShaderLimits {
    /// Refuses types and variables that are too large: validation takes time in proportion to them, drivers more.
    pub(super) fn check_types(
        &self,
        text: &Assembled<'_>,
        module: &Module,
    ) -> Result<(), PipelineError> {
        let refused = |span: Span, what, count, limit, option| {
            let place = text.place(Some(span));
            Err(PipelineError::ShaderTooLarge {
                kernel: text.name(),
                place,
                what,
                count,
                limit,
                option,
            })
        };
        let mut members: HashMap<Handle<Type>, u64> = HashMap::new();
        for (handle, ty) in module.types.iter() {
            // A type comes after those that it is made of.
            let of = |ty: &Handle<Type>| members.get(ty).copied().unwrap_or(1);
            let count = match &ty.inner {
                TypeInner::Struct { members, .. } => members
                    .iter()
                    .fold(0u64, |all, member| all.saturating_add(of(&member.ty))),
                TypeInner::Array { base, .. } => of(base),
                _ => 1,
            };
            if count > self.type_members {
                let span = module.types.get_span(handle);
                let what = "members of one type";
                return refused(span, what, count, self.type_members, "type_members");
            }
            let _ = members.insert(handle, count);
        }
        let variable = |ty: Handle<Type>, span: Span| {
            // A size that is not known yet is checked when overrides have values.
            let bytes = module.types[ty].inner.try_size(module.to_ctx());
            match bytes.map(u64::from) {
                Some(bytes) if bytes > self.variable_bytes => {
                    let what = "bytes of one variable or constant";
                    refused(span, what, bytes, self.variable_bytes, "variable_bytes")
                }
                _ => Ok(()),
            }
        };
        let made = |expressions: &naga::Arena<Expression>| {
            expressions
                .iter()
                .try_for_each(|(handle, expression)| match *expression {
                    Expression::ZeroValue(ty) | Expression::Compose { ty, .. } => {
                        variable(ty, expressions.get_span(handle))
                    }
                    _ => Ok(()),
                })
        };
        made(&module.global_expressions)?;
        for (handle, global) in module.global_variables.iter() {
            if global.space == naga::AddressSpace::Private {
                variable(global.ty, module.global_variables.get_span(handle))?;
            }
        }
        let functions = module.functions.iter().map(|(_, function)| function);
        let entries = module.entry_points.iter().map(|point| &point.function);
        for function in functions.chain(entries) {
            made(&function.expressions)?;
            for (handle, local) in function.local_variables.iter() {
                variable(local.ty, function.local_variables.get_span(handle))?;
            }
        }
        Ok(())
    }

    /// Expressions and statements of an entry point with all that it calls; refuses too many.
    pub(super) fn check_calls(
        &self,
        text: &Assembled<'_>,
        module: &Module,
        entry: &str,
    ) -> Result<u64, PipelineError> {
        let mut inlined: HashMap<Handle<Function>, u64> = HashMap::new();
        for (handle, function) in module.functions.iter() {
            // A function comes after those that it calls.
            let size = size(function, &inlined);
            let _ = inlined.insert(handle, size);
        }
        let point = module.entry_points.iter().find(|point| point.name == entry);
        let count = point.map_or(0, |point| size(&point.function, &inlined));
        if count <= self.inlined {
            return Ok(count);
        }
        let place = text.function(entry);
        Err(PipelineError::ShaderTooLarge {
            kernel: text.name(),
            place,
            what: "expressions and statements once calls are inlined",
            count,
            limit: self.inlined,
            option: "inlined",
        })
    }
}

/// Expressions and statements of a function, with what it calls.
fn size(function: &Function, inlined: &HashMap<Handle<Function>, u64>) -> u64 {
    let mut count = function.expressions.len() as u64;
    let mut blocks = vec![&function.body];
    while let Some(block) = blocks.pop() {
        for statement in block {
            count = count.saturating_add(1);
            match statement {
                Statement::Block(block) => blocks.push(block),
                Statement::If { accept, reject, .. } => blocks.extend([accept, reject]),
                Statement::Switch { cases, .. } => {
                    blocks.extend(cases.iter().map(|case| &case.body));
                }
                Statement::Loop {
                    body, continuing, ..
                } => blocks.extend([body, continuing]),
                Statement::Call { function, .. } => {
                    let called = inlined.get(function).copied().unwrap_or(0);
                    count = count.saturating_add(called);
                }
                _ => {}
            }
        }
    }
    count
}
