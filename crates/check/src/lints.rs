//! What compiles, but does something else than was meant.

use naga::valid::ModuleInfo;
use naga::{AddressSpace, BinaryOperator, Expression, Function, Module};

use crate::file::{Entry, Shader};
use crate::parentheses::missing_parentheses;
use crate::report::{Level, Problem};

/// About all of a file: bindings that no entry point uses, comparisons that find no NaN, and missing parentheses.
pub(crate) fn file(shader: &Shader, module: &Module, info: &ModuleInfo) -> Vec<Problem> {
    let mut found = Vec::new();
    if !module.entry_points.is_empty() {
        let uses = |handle: naga::Handle<naga::GlobalVariable>| {
            let points = 0..module.entry_points.len();
            let mut infos = points.map(|index| info.get_entry_point(index));
            infos.any(|point| !point[handle].is_empty())
        };
        for (handle, variable) in module.global_variables.iter() {
            let is_shared = matches!(
                variable.space,
                AddressSpace::WorkGroup | AddressSpace::Private
            );
            if (variable.binding.is_some() || is_shared) && !uses(handle) {
                let name = variable.name.as_deref().unwrap_or_default();
                let message = format!("`{name}` is used by no entry point");
                let span = module.global_variables.get_span(handle);
                found.push(shader.problem(span, Level::Warning, message));
            }
        }
    }
    let functions = module.functions.iter().map(|(_, function)| function);
    let entries = module.entry_points.iter().map(|point| &point.function);
    for function in functions.chain(entries) {
        found.extend(nan_comparisons(shader, function));
    }
    let operands = missing_parentheses(shader.compiled(), module);
    found.extend(operands.into_iter().map(|span| {
        let message = "put parentheses around this: WGSL gives it no precedence over the next operator, and browsers refuse the shader";
        shader.problem(span, Level::Warning, message.to_owned())
    }));
    // Of what is imported a part is used, and who uses it did not write it.
    found.retain(|problem| problem.file == shader.name);
    found
}

/// `x != x` is true for NaN by the rules of floats, but WGSL lets compilers assume that there is none.
fn nan_comparisons(shader: &Shader, function: &Function) -> Vec<Problem> {
    let expressions = function.expressions.iter();
    let compares = expressions.filter(|(_, expression)| match expression {
        Expression::Binary {
            op: BinaryOperator::Equal | BinaryOperator::NotEqual,
            left,
            right,
        } => left == right || same_load(function, *left, *right),
        _ => false,
    });
    compares
        .map(|(handle, _)| {
            let message = "a value compared with itself: compilers may assume that there is no NaN and leave this out; look at the bits (`is_nan` of `ziggurat/float.wgsl`)";
            let span = function.expressions.get_span(handle);
            shader.problem(span, Level::Warning, message.to_owned())
        })
        .collect()
}

/// Whether both are what one variable holds, or the same argument.
fn same_load(
    function: &Function,
    left: naga::Handle<Expression>,
    right: naga::Handle<Expression>,
) -> bool {
    let (left, right) = (&function.expressions[left], &function.expressions[right]);
    match (left, right) {
        (Expression::Load { pointer: a }, Expression::Load { pointer: b }) => {
            let (a, b) = (&function.expressions[*a], &function.expressions[*b]);
            matches!((a, b), (Expression::LocalVariable(a), Expression::LocalVariable(b)) if a == b)
        }
        (Expression::FunctionArgument(a), Expression::FunctionArgument(b)) => a == b,
        _ => false,
    }
}

/// About an entry point: barriers that some invocations may not reach, and indices that are wrong in a folded grid.
pub(crate) fn entry(entry: &Entry<'_>) -> Vec<Problem> {
    let warnings = entry.reflection.warnings().into_iter();
    let mut found: Vec<Problem> = warnings
        .map(|warning| entry.shader.warned(&warning))
        .collect();
    let inputs = entry.reflection.grid_inputs;
    // With more than `x` it may well be two-dimensional, and with `num_workgroups` it may loop.
    let is_line = inputs.id == [true, false, false] && inputs.num_workgroups == [false; 3];
    if is_line {
        let message = format!(
            "`{}` cannot tell the rows of a grid apart: for more than 65,535 workgroups, compute the index from `num_workgroups` and all dimensions of an id",
            entry.name
        );
        let at = entry.shader.function(entry.name);
        found.push(entry.shader.problem(at, Level::Warning, message));
    }
    found
}
