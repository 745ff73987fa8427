//! Where a type is used first. naga keeps no place of a type that is written where it is used, such as a matrix of integers.

use naga::{Expression, Function, Handle, Module, Span, Type, TypeInner};

/// The place of the first variable, or else argument or expression, that is of this type or holds it.
pub(super) fn first_use(module: &Module, wanted: Handle<Type>) -> Option<Span> {
    let is_used = |ty| holds(module, ty, wanted);
    let mut globals = module.global_variables.iter();
    if let Some((handle, _)) = globals.find(|(_, variable)| is_used(variable.ty)) {
        return Some(module.global_variables.get_span(handle));
    }
    let functions = module.functions.iter().map(|(_, function)| function);
    let entries = module.entry_points.iter().map(|point| &point.function);
    let mut all = functions.chain(entries);
    all.find_map(|function| in_function(function, &is_used))
        .filter(Span::is_defined)
}

fn in_function(function: &Function, is_used: &impl Fn(Handle<Type>) -> bool) -> Option<Span> {
    let mut locals = function.local_variables.iter();
    if let Some((handle, _)) = locals.find(|(_, variable)| is_used(variable.ty)) {
        return Some(function.local_variables.get_span(handle));
    }
    let mut expressions = function.expressions.iter();
    let found = expressions.find(|(_, expression)| match expression {
        Expression::Compose { ty, .. } | Expression::ZeroValue(ty) => is_used(*ty),
        Expression::FunctionArgument(index) => {
            let argument = function.arguments.get(*index as usize);
            argument.is_some_and(|argument| is_used(argument.ty))
        }
        _ => false,
    });
    found.map(|(handle, _)| function.expressions.get_span(handle))
}

/// Whether a type is the wanted one, or an array, a pointer or a struct of it.
fn holds(module: &Module, ty: Handle<Type>, wanted: Handle<Type>) -> bool {
    // Types refer to earlier ones only: this ends.
    ty == wanted
        || match &module.types[ty].inner {
            TypeInner::Array { base, .. }
            | TypeInner::Pointer { base, .. }
            | TypeInner::BindingArray { base, .. } => holds(module, *base, wanted),
            TypeInner::Struct { members, .. } => members
                .iter()
                .any(|member| holds(module, member.ty, wanted)),
            _ => false,
        }
}
