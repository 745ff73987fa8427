//! Rules of cooperative matrices that naga does not check. At two of them NVIDIA's compiler fails and takes the device along: a matrix that
//! is loaded has numbers of the memory's type, whatever `coopLoad` names; and both that are multiplied are of one type. At the third
//! naga 30 itself panics when it writes SPIR-V: what is computed in place for `coopStore` may come behind the store.

use std::collections::HashSet;

use naga::valid::{FunctionInfo, ModuleInfo};
use naga::{
    Block, Expression, Function, Handle, Module, Scalar, ScalarKind, Span, Statement, TypeInner,
};

use crate::error::PipelineError;
use crate::place::Assembled;

/// Where a module loads a matrix.
pub(super) fn loaded(module: &Module) -> Option<Span> {
    let functions = module.functions.iter().map(|(_, function)| function);
    let points = module.entry_points.iter().map(|point| &point.function);
    functions.chain(points).find_map(|function| {
        let mut all = function.expressions.iter();
        let is_load = |of: &Expression| matches!(of, Expression::CooperativeLoad { .. });
        let (handle, _) = all.find(|(_, expression)| is_load(expression))?;
        Some(function.expressions.get_span(handle))
    })
}

/// Refuses a module that breaks a rule.
pub(super) fn check(
    text: &Assembled<'_>,
    module: &Module,
    info: &ModuleInfo,
) -> Result<(), PipelineError> {
    let functions = module.functions.iter();
    let functions = functions.map(|(handle, function)| (function, &info[handle]));
    let points = module.entry_points.iter().enumerate();
    let points = points.map(|(at, point)| (&point.function, info.get_entry_point(at)));
    for (function, uses) in functions.chain(points) {
        let late = late_operand(function, &function.body, &mut HashSet::new());
        if let Some((span, message)) = mistake(module, function, uses).or(late) {
            return Err(PipelineError::Validation {
                kernel: text.name(),
                place: text.place(Some(span)),
                message,
            });
        }
    }
    Ok(())
}

/// The first mistake of a function.
fn mistake(module: &Module, function: &Function, uses: &FunctionInfo) -> Option<(Span, String)> {
    let scalar = |handle: Handle<Expression>| match *uses[handle].ty.inner_with(&module.types) {
        TypeInner::CooperativeMatrix { scalar, .. } => Some(scalar),
        _ => None,
    };
    function.expressions.iter().find_map(|(handle, expression)| {
        let message = match *expression {
            Expression::CooperativeLoad { .. } => {
                let memory = scalar(handle).filter(|of| ![Scalar::F16, Scalar::F32].contains(of))?;
                let memory = name(memory);
                format!("`coopLoad` makes a matrix of the memory's type, which is {memory}: declare the memory as f16 or f32, or as vectors of them")
            }
            Expression::CooperativeMultiplyAdd { a, b, .. } => {
                let (a, b) = (scalar(a)?, scalar(b)?);
                if a == b {
                    return None;
                }
                let [a, b] = [a, b].map(name);
                format!("a cooperative matrix of {a} is multiplied by one of {b}: both must be of one type, and `coopLoad` makes a matrix of the memory's type")
            }
            _ => return None,
        };
        Some((function.expressions.get_span(handle), message))
    })
}

/// The first `coopStore` of something that is not there yet.
fn late_operand(
    function: &Function,
    block: &Block,
    known: &mut HashSet<Handle<Expression>>,
) -> Option<(Span, String)> {
    for (statement, span) in block.span_iter() {
        let late = match statement {
            Statement::Emit(range) => {
                known.extend(range.clone());
                None
            }
            Statement::CooperativeStore { target, data } => {
                let mut needed = vec![*target, data.stride];
                let mut pointer = data.pointer;
                while let Some((base, index)) = accessed(&function.expressions[pointer]) {
                    needed.extend(index);
                    pointer = base;
                }
                let is_late = |&of: &Handle<Expression>| {
                    computes(&function.expressions[of]) && !known.contains(&of)
                };
                needed.iter().any(is_late).then(|| {
                    let message = "naga fails at what `coopStore` is given here: give what is computed in place a name by `let` before";
                    (*span, message.to_owned())
                })
            }
            Statement::Block(block) => late_operand(function, block, known),
            Statement::If { accept, reject, .. } => late_operand(function, accept, known)
                .or_else(|| late_operand(function, reject, known)),
            Statement::Switch { cases, .. } => cases
                .iter()
                .find_map(|case| late_operand(function, &case.body, known)),
            Statement::Loop {
                body, continuing, ..
            } => late_operand(function, body, known)
                .or_else(|| late_operand(function, continuing, known)),
            _ => None,
        };
        if late.is_some() {
            return late;
        }
    }
    None
}

/// What a pointer into something is of, and the index that was computed.
const fn accessed(
    pointer: &Expression,
) -> Option<(Handle<Expression>, Option<Handle<Expression>>)> {
    match *pointer {
        Expression::Access { base, index } => Some((base, Some(index))),
        Expression::AccessIndex { base, .. } => Some((base, None)),
        _ => None,
    }
}

/// Whether an expression is computed where it is emitted.
const fn computes(expression: &Expression) -> bool {
    let is_result = matches!(
        expression,
        Expression::CallResult(_)
            | Expression::AtomicResult { .. }
            | Expression::WorkGroupUniformLoadResult { .. }
            | Expression::SubgroupBallotResult
            | Expression::SubgroupOperationResult { .. }
    );
    !is_result && !expression.needs_pre_emit()
}

/// A type of numbers as WGSL has it.
fn name(scalar: Scalar) -> String {
    let letter = match scalar.kind {
        ScalarKind::Float | ScalarKind::AbstractFloat => 'f',
        ScalarKind::Sint | ScalarKind::AbstractInt => 'i',
        ScalarKind::Uint => 'u',
        ScalarKind::Bool => return "bool".to_owned(),
    };
    format!("{letter}{}", u32::from(scalar.width) * 8)
}
