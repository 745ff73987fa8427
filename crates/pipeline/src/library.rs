//! Named pieces of WGSL that a shader imports.
//!
//! A line `import "noise.wgsl"` in a shader is resolved here, by the host: the piece becomes a file of the source, once, ahead
//! of whoever imports it, and the line becomes blank, so that lines and columns stay.
//! Invariants: a source never has a piece twice; no two of its files declare one name.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use ziggurat_core::wgsl::imports::{Found, resolve};
use ziggurat_shaders::IMPORTABLE;

use crate::error::PipelineError;
use crate::place::Place;
use crate::source::ShaderSource;

/// Pieces of WGSL by name.
///
/// ```
/// use ziggurat_pipeline::ShaderLibrary;
///
/// let library = ShaderLibrary::ziggurat().with(
///     "noise.wgsl",
///     "import \"ziggurat/philox.wgsl\"
///     fn noise(i: u32) -> u32 { return philox(vec4(i, 0u, 0u, 0u), vec2(7u, 0u)).x; }",
/// )?;
/// let source = library.source("grain", "import \"noise.wgsl\"
///     @group(0) @binding(0) var<storage, read_write> y: array<u32>;
///     @compute @workgroup_size(1) fn main() { y[0] = noise(0u); }")?;
/// let files: Vec<&str> = source.parts().iter().map(|part| &*part.file).collect();
/// let own = ["ziggurat/wide_product.wgsl", "ziggurat/philox.wgsl"];
/// assert_eq!(files, [&own[..], &["noise.wgsl", "grain"]].concat());
/// # Ok::<(), ziggurat_pipeline::PipelineError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct ShaderLibrary {
    pieces: BTreeMap<Cow<'static, str>, Piece>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Piece {
    /// What it imports besides what its text says.
    needs: &'static [&'static str],
    text: Cow<'static, str>,
}

impl ShaderLibrary {
    /// Without pieces.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// With the functions that Ziggurat's own kernels use, listed in `docs/custom-kernels.md`; their names begin with
    /// `ziggurat/`.
    #[must_use]
    pub fn ziggurat() -> Self {
        let own = IMPORTABLE.into_iter().map(|piece| {
            let (needs, text) = (piece.needs, Cow::Borrowed(piece.text));
            (Cow::Borrowed(piece.name), Piece { needs, text })
        });
        Self {
            pieces: own.collect(),
        }
    }

    /// Adds a piece.
    ///
    /// # Errors
    ///
    /// [`PipelineError::Import`] if there is one of this name with another text.
    pub fn with(
        mut self,
        name: impl Into<Cow<'static, str>>,
        text: impl Into<Cow<'static, str>>,
    ) -> Result<Self, PipelineError> {
        let (name, text) = (name.into(), text.into());
        let piece = Piece { needs: &[], text };
        if let Some(before) = self.pieces.get(&name)
            && *before != piece
        {
            let detail = "the library has a piece of this name with another text".to_owned();
            return Err(PipelineError::Import {
                kernel: name.to_string(),
                place: Place::whole(&name),
                detail,
            });
        }
        self.pieces.insert(name, piece);
        Ok(self)
    }

    /// The names of all pieces.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.pieces.keys().map(|name| &**name)
    }

    /// A shader with all that it imports. Its last file is called like the shader.
    ///
    /// # Errors
    ///
    /// [`PipelineError::Import`], with file and line, for a piece that is not there, pieces that import each other in a circle,
    /// and a name that two files declare; the last two name both places.
    pub fn source(
        &self,
        name: impl Into<Cow<'static, str>>,
        text: impl Into<Cow<'static, str>>,
    ) -> Result<ShaderSource, PipelineError> {
        let (name, text) = (name.into(), text.into());
        let find = |name: &str, _: &str| match self.pieces.get(name) {
            Some(piece) => Ok(Found {
                needs: piece.needs,
                ..Found::new(name, &*piece.text)
            }),
            None => {
                let names: Vec<&str> = self.names().take(24).collect();
                let names = names.join(", ");
                Err(format!("there is no piece `{name}`; there are: {names}"))
            }
        };
        let files = resolve(&name, &text, &find).map_err(|error| {
            let place = Place {
                line: error.line,
                column: error.column,
                snippet: error.snippet,
                ..Place::whole(&error.file).as_ref().clone()
            };
            PipelineError::Import {
                kernel: name.clone().into_owned(),
                place: Arc::new(place),
                detail: error.detail,
            }
        })?;
        let source = ShaderSource::new(name);
        Ok(files
            .into_iter()
            .fold(source, |source, (file, text)| source.part(file, text)))
    }
}
