//! What an entry point looks at of its place in the grid, by naga's view of it.

use naga::valid::FunctionInfo;
use naga::{Binding, BuiltIn, EntryPoint, Expression, Handle, Module, TypeInner};

use crate::reflect::GridInputs;

impl GridInputs {
    /// Reads them off an entry point.
    pub(super) fn of(module: &Module, point: &EntryPoint, uses: &FunctionInfo) -> Self {
        let mut found = Self::default();
        for (handle, expression) in point.function.expressions.iter() {
            match built_in(module, point, expression) {
                Some(BuiltIn::WorkGroupId | BuiltIn::GlobalInvocationId) => {
                    note(&mut found.id, components(point, uses, handle));
                }
                Some(BuiltIn::NumWorkGroups) => {
                    note(&mut found.num_workgroups, components(point, uses, handle));
                }
                _ => {}
            }
        }
        found.note_whole_structs(module, point, uses);
        found
    }

    /// Built-in values in a struct argument that is used as a whole.
    fn note_whole_structs(&mut self, module: &Module, point: &EntryPoint, uses: &FunctionInfo) {
        for (handle, expression) in point.function.expressions.iter() {
            let &Expression::FunctionArgument(index) = expression else {
                continue;
            };
            let members = members_of(module, point, index);
            let selections = selections(point, handle).count();
            if members.is_empty() || uses[handle].ref_count <= selections {
                continue;
            }
            for member in members {
                match member {
                    Some(BuiltIn::WorkGroupId | BuiltIn::GlobalInvocationId) => self.id = [true; 3],
                    Some(BuiltIn::NumWorkGroups) => self.num_workgroups = [true; 3],
                    _ => {}
                }
            }
        }
    }
}

/// The built-in value that an expression of an entry point is.
fn built_in(module: &Module, point: &EntryPoint, expression: &Expression) -> Option<BuiltIn> {
    match *expression {
        Expression::FunctionArgument(index) => {
            let argument = point.function.arguments.get(index as usize)?;
            value(argument.binding.as_ref())
        }
        Expression::AccessIndex { base, index } => {
            let &Expression::FunctionArgument(argument) = &point.function.expressions[base] else {
                return None;
            };
            let members = members_of(module, point, argument);
            *members.get(index as usize)?
        }
        _ => None,
    }
}

fn value(binding: Option<&Binding>) -> Option<BuiltIn> {
    match binding {
        Some(Binding::BuiltIn(value)) => Some(*value),
        _ => None,
    }
}

/// The built-in values that the members of a struct argument are; empty for other arguments.
fn members_of(module: &Module, point: &EntryPoint, argument: u32) -> Vec<Option<BuiltIn>> {
    let argument = point.function.arguments.get(argument as usize);
    match argument.map(|argument| &module.types[argument.ty].inner) {
        Some(TypeInner::Struct { members, .. }) => {
            let members = members.iter();
            members
                .map(|member| value(member.binding.as_ref()))
                .collect()
        }
        _ => Vec::new(),
    }
}

/// The expressions that select components of another, each with the components.
fn selections(point: &EntryPoint, of: Handle<Expression>) -> impl Iterator<Item = Vec<usize>> + '_ {
    let expressions = point.function.expressions.iter();
    expressions.filter_map(move |(_, expression)| match expression {
        Expression::AccessIndex { base, index } if *base == of => Some(vec![*index as usize]),
        Expression::Swizzle {
            size,
            vector,
            pattern,
        } if *vector == of => {
            let chosen = pattern.iter().take(*size as usize);
            Some(chosen.map(|component| *component as usize).collect())
        }
        _ => None,
    })
}

/// The components of a vector that are used: all, if anything but a selection of components uses it.
fn components(point: &EntryPoint, uses: &FunctionInfo, vector: Handle<Expression>) -> [bool; 3] {
    let selected: Vec<_> = selections(point, vector).collect();
    if uses[vector].ref_count > selected.len() {
        return [true; 3];
    }
    let is_used = |component| selected.iter().any(|chosen| chosen.contains(&component));
    [0, 1, 2].map(is_used)
}

fn note(found: &mut [bool; 3], more: [bool; 3]) {
    for (found, more) in found.iter_mut().zip(more) {
        *found |= more;
    }
}
