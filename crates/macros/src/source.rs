//! The files of a shader: itself and what it imports.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use ziggurat_core::debug_print::{self, Places};
use ziggurat_core::text::marked_line;
use ziggurat_core::wgsl::imports::{Found, paths, resolve};
use ziggurat_shaders::IMPORTABLE;

/// A shader's files, in the order in which compilers see them.
#[derive(Debug)]
pub(crate) struct Source {
    /// Names and texts; the shader itself comes last.
    pub(crate) parts: Vec<(String, String)>,
    /// All together, with `assert` and `debug_print` as compilers can read them.
    pub(crate) text: String,
    written: String,
    places: Option<Places>,
}

impl Source {
    /// The shader `path`, in the file `file`, with what it imports: names that begin with `ziggurat/` are the library's,
    /// others files in the folder of the one that imports them.
    pub(crate) fn read(path: &str, file: &Path) -> Result<Self, String> {
        let text =
            fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
        let folder = file.parent().unwrap_or(Path::new(""));
        let shown = Path::new(path).parent().unwrap_or(Path::new(""));
        let find = |name: &str, from: &str| {
            if let Some(own) = IMPORTABLE.iter().find(|piece| piece.name == name) {
                return Ok(Found {
                    needs: own.needs,
                    ..Found::new(name, own.text)
                });
            }
            for candidate in paths(name, from) {
                let place = folder.join(
                    Path::new(&candidate)
                        .strip_prefix(shown)
                        .unwrap_or(Path::new(&candidate)),
                );
                if let Ok(text) = fs::read_to_string(&place) {
                    return Ok(Found::new(candidate, text));
                }
            }
            Err(format!(
                "there is no file `{name}` in the folder of this one, and the library has no piece of that name"
            ))
        };
        let parts = resolve(path, &text, &find).map_err(|error| match error.line {
            0 => format!("{}: {}", error.file, error.detail),
            line => format!(
                "{}:{line}:{}: {}\n{}",
                error.file, error.column, error.detail, error.snippet
            ),
        })?;
        Ok(Self::of(parts))
    }

    /// The files of these names.
    pub(crate) fn of(parts: Vec<(String, String)>) -> Self {
        let mut written = String::new();
        for (_, text) in &parts {
            written.push_str(text);
            if !written.ends_with('\n') {
                written.push('\n');
            }
        }
        let expanded = debug_print::expanded(&written);
        let (text, places) = match expanded.text {
            std::borrow::Cow::Owned(text) => (text, Some(expanded.places)),
            std::borrow::Cow::Borrowed(_) => (written.clone(), None),
        };
        Self {
            parts,
            text,
            written,
            places,
        }
    }

    /// What the shader is called.
    pub(crate) fn path(&self) -> &str {
        self.parts.last().map_or("", |(path, _)| path)
    }

    /// The files of the shader on disk, for a compiler that is to notice when they change.
    pub(crate) fn files(&self, file: &Path) -> Vec<PathBuf> {
        let folder = file.parent().unwrap_or(Path::new(""));
        let shown = Path::new(self.path()).parent().unwrap_or(Path::new(""));
        let others = self.parts.iter().map(|(name, _)| Path::new(name));
        let others = others.map(|name| folder.join(name.strip_prefix(shown).unwrap_or(name)));
        others.filter(|place| place.is_file()).collect()
    }

    /// The message behind its place, in bytes of the text, with the line of code below.
    pub(crate) fn located(&self, at: Option<Range<usize>>, message: &str) -> String {
        let Some(at) = at else {
            return format!("{}: {message}", self.path());
        };
        let original = |n: usize| match &self.places {
            Some(places) => places.original(n),
            None => n,
        };
        // What is missing at the end of the text is missing behind its last letter.
        let last = self.written.trim_end().len();
        let start = original(at.start).min(last);
        let end = original(at.end).max(start);
        let before = self.written.get(..start).unwrap_or_default();
        let begin = before.rfind('\n').map_or(0, |at| at + 1);
        let mut line = before.matches('\n').count();
        let code = self.written.get(begin..).unwrap_or_default();
        let code = code.lines().next().unwrap_or_default();
        let mut file = self.path();
        for (name, text) in &self.parts {
            let lines = text.lines().count().max(1);
            if line < lines {
                file = name;
                break;
            }
            line -= lines;
        }
        let (line, column) = (line + 1, start - begin);
        let shown = marked_line(code, column..end - begin, u32::try_from(line).unwrap_or(0));
        format!("{file}:{line}:{}: {message}\n{shown}", column + 1)
    }
}
