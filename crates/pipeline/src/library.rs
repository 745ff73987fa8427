//! Named pieces of WGSL that a shader imports.
//!
//! A line `import "noise.wgsl"` in a shader is resolved here, by the host: the piece becomes a file of the source, once, ahead
//! of whoever imports it, and the line becomes blank, so that lines and columns stay.
//! Invariants: a source never has a piece twice; no two of its files declare one name.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::declarations::{declarations, imports};
use crate::error::PipelineError;
use crate::params::own_part;
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

/// A piece of the library's own: name, what it imports, and the text.
type Own = (
    &'static str,
    &'static [&'static str],
    (&'static str, &'static str),
);

/// The library's own functions.
const OWN: [Own; 19] = [
    ("ziggurat/float.wgsl", &[], own_part("prelude/float.wgsl")),
    (
        "ziggurat/exp.wgsl",
        &["ziggurat/float.wgsl"],
        own_part("functions/exp.wgsl"),
    ),
    (
        "ziggurat/expm1.wgsl",
        &["ziggurat/exp.wgsl"],
        own_part("functions/expm1.wgsl"),
    ),
    (
        "ziggurat/log.wgsl",
        &["ziggurat/float.wgsl"],
        own_part("functions/log.wgsl"),
    ),
    (
        "ziggurat/log1p.wgsl",
        &["ziggurat/log.wgsl"],
        own_part("functions/log1p.wgsl"),
    ),
    (
        "ziggurat/pow.wgsl",
        &["ziggurat/exp.wgsl", "ziggurat/log.wgsl"],
        own_part("functions/pow.wgsl"),
    ),
    (
        "ziggurat/sigmoid.wgsl",
        &["ziggurat/exp.wgsl"],
        own_part("functions/sigmoid.wgsl"),
    ),
    (
        "ziggurat/erfc_fit.wgsl",
        &["ziggurat/float.wgsl"],
        own_part("functions/erfc.wgsl"),
    ),
    (
        "ziggurat/erf_parts.wgsl",
        &["ziggurat/exp.wgsl", "ziggurat/erfc_fit.wgsl"],
        own_part("functions/erf.wgsl"),
    ),
    (
        "ziggurat/erf.wgsl",
        &["ziggurat/erf_parts.wgsl"],
        ("library/erf.wgsl", include_str!("library/erf.wgsl")),
    ),
    (
        "ziggurat/divide.wgsl",
        &["ziggurat/float.wgsl"],
        own_part("functions/divide.wgsl"),
    ),
    (
        "ziggurat/sqrt.wgsl",
        &["ziggurat/float.wgsl"],
        own_part("functions/sqrt.wgsl"),
    ),
    (
        "ziggurat/fmod.wgsl",
        &["ziggurat/float.wgsl"],
        own_part("functions/fmod.wgsl"),
    ),
    (
        "ziggurat/trig.wgsl",
        &["ziggurat/float.wgsl"],
        own_part("functions/trig.wgsl"),
    ),
    (
        "ziggurat/wide_product.wgsl",
        &[],
        own_part("random/product_words.wgsl"),
    ),
    (
        "ziggurat/philox.wgsl",
        &["ziggurat/wide_product.wgsl"],
        own_part("random/philox.wgsl"),
    ),
    (
        "ziggurat/hash.wgsl",
        &[],
        ("library/hash.wgsl", include_str!("library/hash.wgsl")),
    ),
    (
        "ziggurat/halves.wgsl",
        &[],
        ("library/halves.wgsl", include_str!("library/halves.wgsl")),
    ),
    (
        "ziggurat/reduce256.wgsl",
        &["ziggurat/float.wgsl"],
        (
            "library/reduce256.wgsl",
            include_str!("library/reduce256.wgsl"),
        ),
    ),
];

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
        let own = OWN.into_iter().map(|(name, needs, (_, text))| {
            let text = Cow::Borrowed(text);
            (Cow::Borrowed(name), Piece { needs, text })
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
            return Err(failure(&name, &name, 0, detail));
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
        let mut resolving = Resolving {
            library: self,
            kernel: name.to_string(),
            done: Vec::new(),
            open: Vec::new(),
            parts: Vec::new(),
        };
        resolving.add(&name, &text, &[])?;
        resolving.check_names()?;
        let source = ShaderSource::new(name);
        let parts = resolving.parts.into_iter();
        Ok(parts.fold(source, |source, (file, text)| source.part(file, text)))
    }
}

fn failure(kernel: &str, file: &str, line: u32, detail: String) -> PipelineError {
    PipelineError::Import {
        kernel: kernel.to_owned(),
        file: file.to_owned(),
        line,
        detail,
    }
}

/// The files of a source so far.
struct Resolving<'a> {
    library: &'a ShaderLibrary,
    kernel: String,
    /// Pieces that are files already.
    done: Vec<String>,
    /// Who imports whom at the moment: a file, and the line of its import.
    open: Vec<(String, u32)>,
    parts: Vec<(String, String)>,
}

impl Resolving<'_> {
    fn add(&mut self, file: &str, text: &str, needs: &[&str]) -> Result<(), PipelineError> {
        let (imports, blank) = imports(text);
        let declared = imports.iter().map(|import| (import.name, import.line));
        let needs = needs.iter().map(|name| (*name, 0));
        for (name, line) in needs.chain(declared) {
            self.import(file, name, line)?;
        }
        self.parts.push((file.to_owned(), blank));
        Ok(())
    }

    fn import(&mut self, file: &str, name: &str, line: u32) -> Result<(), PipelineError> {
        if self.done.iter().any(|done| done == name) {
            return Ok(());
        }
        if let Some(at) = self
            .open
            .iter()
            .position(|(open, _)| open == name)
            .or_else(|| (file == name).then_some(self.open.len()))
        {
            let mut way: Vec<String> = self
                .open
                .iter()
                .skip(at)
                .map(|(file, line)| format!("{file}:{line}"))
                .collect();
            way.push(format!("{file}:{line}"));
            let detail = format!("`{name}` imports itself: by way of {}", way.join(", then "));
            return Err(failure(&self.kernel, file, line, detail));
        }
        let Some(piece) = self.library.pieces.get(name) else {
            let names: Vec<&str> = self.library.names().take(24).collect();
            let detail = format!(
                "there is no piece `{name}`; there are: {}",
                names.join(", ")
            );
            return Err(failure(&self.kernel, file, line, detail));
        };
        self.open.push((file.to_owned(), line));
        self.add(name, &piece.text, piece.needs)?;
        self.open.pop();
        self.done.push(name.to_owned());
        Ok(())
    }

    /// No two files declare one name; within a file the compiler finds it.
    fn check_names(&self) -> Result<(), PipelineError> {
        let mut known: BTreeMap<&str, (&str, u32)> = BTreeMap::new();
        for (file, text) in &self.parts {
            for declared in declarations(text) {
                let place = (file.as_str(), declared.line);
                match known.insert(declared.name, place) {
                    Some((other, line)) if other != file => {
                        let detail = format!(
                            "`{}` is declared here and in {other}:{line}: rename one",
                            declared.name
                        );
                        return Err(failure(&self.kernel, file, declared.line, detail));
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }
}
