//! The place that an error is about, for programs that show it.

use std::fmt;
use std::slice;

use super::PipelineError;
use crate::place::Place;

/// Several mistakes of one kernel, each on lines of its own, without the kernel's name.
pub(super) struct Each<'a> {
    pub(super) kernel: &'a str,
    pub(super) mistakes: &'a [PipelineError],
}

impl fmt::Display for Each<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for mistake in self.mistakes {
            let text = mistake.to_string();
            let text = text.strip_prefix(self.kernel).unwrap_or(&text);
            write!(f, "\n{}", text.strip_prefix(": ").unwrap_or(text))?;
        }
        Ok(())
    }
}

impl PipelineError {
    /// The mistakes of a text one by one, in its order; an error of another kind is the only one.
    ///
    /// ```
    /// use ziggurat_pipeline::{KernelDescriptor, ShaderFeatures, ShaderSource, reflect};
    ///
    /// let text = "fn f() -> f32 { return y; }
    /// fn g() -> u32 { return 1.5; }
    /// @compute @workgroup_size(1) fn main() { let x = f() + g() }";
    /// let source = ShaderSource::wgsl("three", text);
    /// let error = reflect(&KernelDescriptor::new(source), ShaderFeatures::NONE).unwrap_err();
    /// let lines: Vec<u32> = error.mistakes().iter().filter_map(|e| Some(e.place()?.line)).collect();
    /// assert_eq!(lines, [1, 2, 3]);
    /// ```
    #[must_use]
    pub fn mistakes(&self) -> &[Self] {
        match self {
            Self::Mistakes { mistakes, .. } => mistakes,
            _ => slice::from_ref(self),
        }
    }

    /// Where in the WGSL it is; of two places the latter, of several mistakes the first. The snippet is the end of the error's text, too.
    ///
    /// ```
    /// use ziggurat_pipeline::{KernelDescriptor, ShaderFeatures, ShaderSource, check_limits, reflect};
    ///
    /// let text = "var<workgroup> tile: array<f32, 9999>;
    /// @compute @workgroup_size(1) fn main() { tile[0] = 1.0; }";
    /// let source = ShaderSource::wgsl("large", text);
    /// let reflection = reflect(&KernelDescriptor::new(source), ShaderFeatures::NONE)?;
    /// let error = check_limits(&reflection, &wgpu::Limits::default()).unwrap_err();
    /// let place = error.place().unwrap();
    /// assert_eq!(place.to_string(), "large:1:1");
    /// let code = ["1 | var<workgroup> tile: array<f32, 9999>;", "  | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^"];
    /// assert_eq!(place.snippet, code.join("\n"));
    /// # Ok::<(), ziggurat_pipeline::PipelineError>(())
    /// ```
    #[must_use]
    pub fn place(&self) -> Option<&Place> {
        match self {
            Self::Parse { place, .. }
            | Self::Validation { place, .. }
            | Self::NeedsNaga { place, .. }
            | Self::NoEntryPoint { place, .. }
            | Self::UnknownEntryPoint { place, .. }
            | Self::AmbiguousEntryPoint { place, .. }
            | Self::UnknownConstant { place, .. }
            | Self::ShaderTooLarge { place, .. }
            | Self::MissingConstant { place, .. }
            | Self::ConstantValue { place, .. }
            | Self::Compile { place, .. }
            | Self::Import { place, .. }
            | Self::AssertionFailed { place, .. }
            | Self::GridNotFolded { place, .. } => Some(place),
            Self::Argument(error) => error.place(),
            Self::Limit(error) => error.place(),
            Self::Mistakes { mistakes, .. } => mistakes.first()?.place(),
            _ => None,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    //! What is asked of every error that the tests of this crate meet.
    use super::*;

    /// Where a line is known, so is the column, and the text ends with the line of code and carets.
    pub(crate) fn shows_its_code(error: &PipelineError) {
        if let PipelineError::Mistakes { mistakes, .. } = error {
            mistakes.iter().for_each(shows_its_code);
            return;
        }
        let text = error.to_string();
        let Some(place) = error.place().filter(|place| place.line > 0) else {
            return;
        };
        assert!(place.column > 0, "{text}");
        assert!(text.contains(&place.to_string()), "{text}");
        assert!(place.snippet.contains('^'), "{text}");
        assert!(text.ends_with(&place.snippet), "{text}");
    }
}
