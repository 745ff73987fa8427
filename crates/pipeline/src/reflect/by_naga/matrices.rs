//! Rules of cooperative matrices that naga does not check, and at which NVIDIA's compiler fails and takes the device along: a matrix that
//! is loaded has numbers of the memory's type, whatever `coopLoad` names; and both that are multiplied are of one type.

use naga::valid::{FunctionInfo, ModuleInfo};
use naga::{Expression, Function, Handle, Module, Scalar, ScalarKind, Span, TypeInner};

use crate::error::PipelineError;
use crate::place::Assembled;

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
        if let Some((span, message)) = mistake(module, function, uses) {
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
