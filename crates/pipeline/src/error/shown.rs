//! The place that an error is about, for programs that show it.

use ziggurat_core::text::marked_line;
use ziggurat_core::wgsl::tokens;

use super::PipelineError;
use crate::source::ShaderSource;

impl PipelineError {
    /// File, line and column of the WGSL that it is about, the latter two from 1; a column of 0 where only the line is known.
    #[must_use]
    pub fn place(&self) -> Option<(&str, u32, u32)> {
        match self {
            Self::Parse {
                file, line, column, ..
            }
            | Self::Validation {
                file, line, column, ..
            } => Some((file, *line, *column)),
            Self::ShaderTooLarge { file, line, .. }
            | Self::MissingConstant { file, line, .. }
            | Self::ConstantValue { file, line, .. }
            | Self::MissingFeature { file, line, .. }
            | Self::UnsupportedBinding { file, line, .. }
            | Self::BindingGroup { file, line, .. }
            | Self::TooManyUniforms { file, line, .. }
            | Self::TooManyStorageBuffers { file, line, .. }
            | Self::TooManyResources { file, line, .. }
            | Self::ParamsTooLarge { file, line, .. }
            | Self::WorkgroupTooLarge { file, line, .. }
            | Self::WorkgroupMemory { file, line, .. }
            | Self::Compile { file, line, .. }
            | Self::ForeignBuffer { file, line, .. }
            | Self::ResourceMismatch { file, line, .. }
            | Self::StorageTexture { file, line, .. }
            | Self::ParamsLayout { file, line, .. }
            | Self::Import { file, line, .. }
            | Self::BoundTwice { file, line, .. }
            | Self::BindingType { file, line, .. }
            | Self::BindingAccess { file, line, .. }
            | Self::RangeOutOfBounds { file, line, .. }
            | Self::MisalignedOffset { file, line, .. }
            | Self::BindingTooLarge { file, line, .. }
            | Self::BindingTooSmall { file, line, .. }
            | Self::PartialElement { file, line, .. }
            | Self::ParamsSize { file, line, .. }
            | Self::AssertionFailed { file, line, .. }
            | Self::DebugBinding { file, line, .. }
            | Self::GridNotFolded { file, line, .. } => Some((file, *line, 0)),
            Self::NoEntryPoint { file, .. } => Some((file, 0, 0)),
            _ => None,
        }
    }

    /// The variable that it is about.
    fn name(&self) -> Option<&str> {
        match self {
            Self::MissingConstant { name, .. }
            | Self::UnsupportedBinding { name, .. }
            | Self::BindingGroup { name, .. }
            | Self::TooManyUniforms { name, .. }
            | Self::TooManyStorageBuffers { name, .. }
            | Self::TooManyResources { name, .. }
            | Self::ParamsTooLarge { name, .. }
            | Self::WorkgroupMemory { name, .. }
            | Self::ForeignBuffer { name, .. }
            | Self::ResourceMismatch { name, .. }
            | Self::StorageTexture { name, .. }
            | Self::ParamsLayout { name, .. }
            | Self::BoundTwice { name, .. }
            | Self::BindingType { name, .. }
            | Self::BindingAccess { name, .. }
            | Self::RangeOutOfBounds { name, .. }
            | Self::MisalignedOffset { name, .. }
            | Self::BindingTooLarge { name, .. }
            | Self::BindingTooSmall { name, .. }
            | Self::PartialElement { name, .. }
            | Self::ParamsSize { name, .. } => Some(name),
            _ => None,
        }
    }

    /// The line of code with carets below, where its text has that already.
    #[must_use]
    pub fn snippet(&self) -> Option<&str> {
        match self {
            Self::Parse { snippet, .. } | Self::Validation { snippet, .. } => {
                Some(snippet.as_str()).filter(|snippet| !snippet.is_empty())
            }
            _ => None,
        }
    }

    /// Of an error whose text has none: the column, and the line of code with carets below, from the shader that it is about. The
    /// carets are below the variable's name, else below the line's first word.
    ///
    /// ```
    /// use ziggurat_pipeline::{KernelDescriptor, ShaderFeatures, ShaderSource, check_limits, reflect};
    ///
    /// let text = "var<workgroup> tile: array<f32, 9999>;
    /// @compute @workgroup_size(1) fn main() { tile[0] = 1.0; }";
    /// let source = ShaderSource::wgsl("large", text);
    /// let reflection = reflect(&KernelDescriptor::new(source.clone()), ShaderFeatures::NONE)?;
    /// let error = check_limits(&reflection, &wgpu::Limits::default()).unwrap_err();
    /// let shown = "1 | var<workgroup> tile: array<f32, 9999>;\n  |                ^^^^";
    /// assert_eq!(error.marked(&source), Some((16, shown.to_owned())));
    /// # Ok::<(), ziggurat_pipeline::PipelineError>(())
    /// ```
    #[must_use]
    pub fn marked(&self, source: &ShaderSource) -> Option<(u32, String)> {
        let (file, line, _) = self.place()?;
        let part = source.parts().iter().find(|part| part.file == file)?;
        let index = usize::try_from(line.checked_sub(1)?).ok()?;
        let code = part.text.lines().nth(index)?;
        let first = || tokens(code).next();
        let named = |name| tokens(code).find(|(_, token)| *token == name);
        let (at, word) = self.name().and_then(named).or_else(first)?;
        let column = u32::try_from(at).ok()?.checked_add(1)?;
        Some((column, marked_line(code, at..at + word.len(), line)))
    }
}
