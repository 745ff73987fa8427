//! All mistakes of a text at once, where naga tells the first.
//!
//! What does not parse is left out of the text, and a function that breaks a rule gets a body that breaks none; then naga is
//! asked again. Only an error costs that: a text without mistakes is read once. `ziggurat_core::wgsl::modules` has what
//! `kernel!` shares with it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use naga::Module;
use naga::front::wgsl::{ParseError, parse_str};
use ziggurat_core::text::shortened;
use ziggurat_core::wgsl::errors::in_wgsl;
use ziggurat_core::wgsl::measure;
use ziggurat_core::wgsl::mistakes::{MOST, Mistakes, Refusal, read_all};
use ziggurat_core::wgsl::modules::{Refused, each_broken_rule, hollow_named, refused};

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
        hollow_named(&mut module, &changed);
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
    let Refused { bytes, words } = refused(left, error);
    let error = PipelineError::Parse {
        kernel: text.name(),
        place: text.place_of(bytes.clone()),
        message: shortened(&in_wgsl(&words), MESSAGE).into_owned(),
    };
    Refusal {
        at: bytes.map(|bytes| bytes.start),
        words,
        error: Box::new(error),
    }
}

/// What breaks rules, function by function.
fn validate(
    text: &Assembled<'_>,
    module: Module,
    entry: &Arc<Place>,
    mistakes: &mut Vec<PipelineError>,
) {
    let check = |module: &Module| check(module, ShaderFeatures::all()).map(drop);
    each_broken_rule(module, check, |module, error| {
        mistakes.push(validation_error(text, Some(module), entry, error));
        mistakes.len() < MOST
    });
}
