//! All mistakes of a text at once, where naga tells the first.
//!
//! What does not parse is left out of the text, and a function that breaks a rule gets a body that breaks none; then naga is
//! asked again. Only an error costs that: a text without mistakes is read once.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use naga::front::wgsl::{ParseError, parse_str};
use naga::valid::ValidationError;
use naga::{Arena, Block, Expression, Function, Module, Span, Statement};
use ziggurat_core::text::shortened;
use ziggurat_core::wgsl::errors::in_wgsl;
use ziggurat_core::wgsl::measure;
use ziggurat_core::wgsl::mistakes::{MOST, Mistakes, Refusal, place_of, read_all};

use super::{MESSAGE, check, refuse_unbindable, validation_error};
use crate::error::PipelineError;
use crate::feature::ShaderFeatures;
use crate::place::{Assembled, Place};

/// The module of a text.
///
/// # Errors
/// [`PipelineError::Parse`], or [`PipelineError::Mistakes`] if there are several, of which some may break rules.
pub(super) fn parse(text: &Assembled<'_>) -> Result<Module, PipelineError> {
    let first = match parse_str(&text.text) {
        Ok(module) => return Ok(module),
        Err(error) => *refusal(text, &text.text, &error).error,
    };
    Err(all_or_first(text, first, |mistakes| {
        let read = |left: &str| parse_str(left).map_err(|error| refusal(text, left, &error));
        let Err(Mistakes {
            errors,
            rest,
            changed,
        }) = read_all(&text.text, read)
        else {
            return;
        };
        *mistakes = errors.into_iter().map(|error| *error).collect();
        let Some(mut module) = rest else {
            return;
        };
        for (_, function) in module.functions.iter_mut() {
            let name = function.name.as_ref();
            if name.is_some_and(|name| changed.contains(name)) {
                hollow(function);
            }
        }
        for point in &mut module.entry_points {
            if changed.contains(&point.name) {
                hollow(&mut point.function);
            }
        }
        let entry = text.place(None);
        if let Err(error) = refuse_unbindable(text, &module) {
            mistakes.push(error);
        } else {
            validate(text, module, &entry, mistakes);
        }
    }))
}

/// The mistakes of a module of which naga's validator told the first.
pub(super) fn of_module(
    text: &Assembled<'_>,
    module: &Module,
    first: PipelineError,
    entry: &Arc<Place>,
) -> PipelineError {
    all_or_first(text, first, |mistakes| {
        mistakes.clear();
        validate(text, module.clone(), entry, mistakes);
    })
}

/// The error of what `find` makes of the first; the first alone of a large text, and where naga panics on what is left of a text.
fn all_or_first(
    text: &Assembled<'_>,
    first: PipelineError,
    find: impl FnOnce(&mut Vec<PipelineError>),
) -> PipelineError {
    if !measure(&text.text).is_small() {
        return first;
    }
    let mut mistakes = vec![first.clone()];
    let found = catch_unwind(AssertUnwindSafe(|| find(&mut mistakes)));
    // What has no place may only follow from another mistake.
    mistakes.retain(|mistake| mistake.place().is_some_and(|place| place.line > 0));
    if found.is_err() || mistakes.len() < 2 {
        return first;
    }
    mistakes.truncate(MOST);
    let files = text.source.parts();
    let order = |place: &Place| {
        let file = files.iter().position(|part| part.file == place.file);
        (file, place.line, place.column)
    };
    mistakes.sort_by_key(|mistake| mistake.place().map(order));
    PipelineError::Mistakes {
        kernel: text.name(),
        mistakes: mistakes.into(),
    }
}

/// What naga refuses of `left`, which is the text or what is left of it.
fn refusal(text: &Assembled<'_>, left: &str, error: &ParseError) -> Refusal<Box<PipelineError>> {
    let labelled = |error: &ParseError| {
        let mut spans = error.labels().map(|(span, _)| span);
        spans.find(Span::is_defined)
    };
    let span = labelled(error).or_else(|| {
        // Some of naga's errors have no place.
        let is_small = measure(left).is_small();
        let has = |left: &str| {
            let other = parse_str(left).err();
            other.is_some_and(|other| {
                labelled(&other).is_none() && other.message() == error.message()
            })
        };
        let bytes = is_small.then(|| place_of(left, has)).flatten()?;
        let number = |at: usize| u32::try_from(at).ok();
        Some(Span::new(number(bytes.start)?, number(bytes.end)?))
    });
    let range = span.and_then(|span| span.to_range());
    let mut words = error.message().to_owned();
    for note in error.notes() {
        words.push_str("; ");
        words.push_str(note);
    }
    let message = shortened(&in_wgsl(&words), MESSAGE).into_owned();
    let error = PipelineError::Parse {
        kernel: text.name(),
        place: text.place(span),
        message,
    };
    Refusal {
        at: range.map(|range| range.start),
        words,
        error: Box::new(error),
    }
}

/// What breaks rules, function by function.
fn validate(
    text: &Assembled<'_>,
    mut module: Module,
    entry: &Arc<Place>,
    mistakes: &mut Vec<PipelineError>,
) {
    let (mut functions, mut points) = (Vec::new(), Vec::new());
    while mistakes.len() < MOST {
        let Err(error) = check(&module, ShaderFeatures::all()) else {
            return;
        };
        // What a body without mistakes does not mend is no mistake of the body.
        let function = match error.as_inner() {
            ValidationError::Function { handle, .. } if !functions.contains(handle) => {
                functions.push(*handle);
                Some(&mut module.functions[*handle])
            }
            ValidationError::EntryPoint { name, .. } if !points.contains(name) => {
                points.push(name.clone());
                let mut all = module.entry_points.iter_mut();
                let point = all.find(|point| point.name == *name);
                point.map(|point| &mut point.function)
            }
            ValidationError::Function { .. } | ValidationError::EntryPoint { .. } => return,
            _ => None,
        };
        let is_only = function.is_none();
        if let Some(function) = function {
            hollow(function);
        }
        mistakes.push(validation_error(text, Some(&module), entry, &error));
        if is_only {
            return;
        }
    }
}

/// Gives a function a body that only returns a zero of its type.
fn hollow(function: &mut Function) {
    function.expressions = Arena::new();
    function.local_variables = Arena::new();
    function.named_expressions.clear();
    let value = function.result.as_ref().map(|result| {
        let zero = Expression::ZeroValue(result.ty);
        function.expressions.append(zero, Span::UNDEFINED)
    });
    let mut body = Block::new();
    body.push(Statement::Return { value }, Span::UNDEFINED);
    function.body = body;
}
