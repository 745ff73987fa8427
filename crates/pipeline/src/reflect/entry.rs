//! Which entry point a kernel is, and what is said where it or a constant is none of the shader's.

use std::sync::Arc;

use ziggurat_core::text::shortened;
use ziggurat_core::wgsl;

use super::Override;
use crate::error::PipelineError;
use crate::place::Assembled;

/// Bytes of a name in an error.
pub(super) const NAME: usize = 64;

/// Items shown in an error.
const SHOWN: usize = 8;

/// The names of a shader's compute entry points.
pub(super) struct Entries<'a>(pub(super) Vec<&'a str>);

impl Entries<'_> {
    /// The wanted one, or the only one.
    pub(super) fn choose(
        &self,
        text: &Assembled<'_>,
        wanted: Option<&str>,
    ) -> Result<String, PipelineError> {
        match (wanted, self.0.as_slice()) {
            (Some(wanted), names) if names.contains(&wanted) => Ok(wanted.to_owned()),
            (Some(wanted), _) => Err(self.unknown(text, wanted)),
            (None, [only]) => Ok((*only).to_owned()),
            (None, []) => Err(PipelineError::NoEntryPoint {
                kernel: text.name(),
                place: text.place_of(wgsl::functions(&text.text).last()),
            }),
            (None, [_, second, ..]) => Err(PipelineError::AmbiguousEntryPoint {
                kernel: text.name(),
                place: text.function(second),
                have: self.places(text),
            }),
        }
    }

    pub(super) fn unknown(&self, text: &Assembled<'_>, wanted: &str) -> PipelineError {
        PipelineError::UnknownEntryPoint {
            kernel: text.name(),
            place: text.function(self.0.first().copied().unwrap_or_default()),
            wanted: shortened(wanted, NAME).into_owned(),
            have: self.places(text),
        }
    }

    /// The first entry points with file and line, and how many more there are.
    fn places(&self, text: &Assembled<'_>) -> Vec<String> {
        some(self.0.iter(), |name| {
            format!("`{}` ({})", shortened(name, NAME), text.function(name))
        })
    }
}

/// A constant that is no override of the shader.
pub(super) fn unknown_constant(
    text: &Assembled<'_>,
    name: &str,
    overrides: &[Override],
) -> PipelineError {
    PipelineError::UnknownConstant {
        kernel: text.name(),
        place: overrides
            .first()
            .map_or_else(|| text.place_of(None), |first| Arc::clone(&first.place)),
        name: shortened(name, NAME).into_owned(),
        have: some(overrides.iter(), |o| {
            format!("`{}` ({})", shortened(&o.name, NAME), o.place)
        }),
    }
}

/// The first of them, and how many more there are.
fn some<T>(items: impl Iterator<Item = T>, show: impl Fn(T) -> String) -> Vec<String> {
    let mut items = items;
    let mut shown: Vec<String> = items.by_ref().take(SHOWN).map(show).collect();
    let more = items.count();
    if more > 0 {
        shown.push(format!("{more} more"));
    }
    shown
}
