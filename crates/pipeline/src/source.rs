//! Shader text as a list of whole files, with a map from lines of the whole back to the files.
//!
//! WGSL has no includes and Ziggurat adds none: a shader is the concatenation of complete `.wgsl` parts in a fixed
//! order. Compilers report lines of the concatenation, people edit the files, so every error goes through
//! [`ShaderSource::locate`]. Invariant: each part starts on a line of its own.

use std::borrow::Cow;

/// One file of a [`ShaderSource`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SourcePart {
    /// The name that error messages give for this part; usually a path.
    pub file: Cow<'static, str>,
    /// The WGSL text.
    pub text: Cow<'static, str>,
}

impl SourcePart {
    /// The lines that this part takes in the assembled text: an unterminated last line is terminated there.
    fn lines(&self) -> u32 {
        let newlines = self.text.bytes().filter(|&byte| byte == b'\n').count();
        let open_line = !self.text.is_empty() && !self.text.ends_with('\n');
        u32::try_from(newlines + usize::from(open_line)).unwrap_or(u32::MAX)
    }
}

/// A named shader made of whole WGSL files.
///
/// ```
/// use ziggurat_pipeline::ShaderSource;
/// let source = ShaderSource::new("demo").part("one.wgsl", "const A = 1;").part("two.wgsl", "const B = 2;\n");
/// assert_eq!(source.text(), "const A = 1;\nconst B = 2;\n");
/// assert_eq!(source.locate(2), Some(("two.wgsl", 1)));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ShaderSource {
    name: Cow<'static, str>,
    parts: Vec<SourcePart>,
}

impl ShaderSource {
    /// A shader without parts. The name labels the pipeline and its dispatches; profiling adds times up by it.
    pub fn new(name: impl Into<Cow<'static, str>>) -> Self {
        Self {
            name: name.into(),
            parts: Vec::new(),
        }
    }

    /// A shader of one part, whose file is called like the shader.
    pub fn wgsl(name: impl Into<Cow<'static, str>>, text: impl Into<Cow<'static, str>>) -> Self {
        let name = name.into();
        Self::new(name.clone()).part(name, text)
    }

    /// Appends a file.
    #[must_use]
    pub fn part(
        mut self,
        file: impl Into<Cow<'static, str>>,
        text: impl Into<Cow<'static, str>>,
    ) -> Self {
        self.parts.push(SourcePart {
            file: file.into(),
            text: text.into(),
        });
        self
    }

    /// Puts a file with directives (`enable f16;`) ahead of all others: WGSL has them before any declaration. A file that is
    /// there already is not repeated.
    #[must_use]
    pub fn directive(
        mut self,
        file: impl Into<Cow<'static, str>>,
        text: impl Into<Cow<'static, str>>,
    ) -> Self {
        let part = SourcePart {
            file: file.into(),
            text: text.into(),
        };
        if !self.parts.contains(&part) {
            self.parts.insert(0, part);
        }
        self
    }

    /// The name and every file under its name, for people; [`Self::text`] is for compilers.
    #[must_use]
    pub fn listing(&self) -> String {
        let mut listing = format!("// kernel {}\n", self.name);
        for part in &self.parts {
            listing.push_str(&format!(
                "// ---- {}\n{}\n",
                part.file,
                part.text.trim_end()
            ));
        }
        listing
    }

    /// The shader's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The files, in order.
    pub fn parts(&self) -> &[SourcePart] {
        &self.parts
    }

    /// The whole text as the compiler sees it: each part on lines of its own.
    pub fn text(&self) -> String {
        let bytes: usize = self.parts.iter().map(|part| part.text.len() + 1).sum();
        let mut text = String::with_capacity(bytes);
        for part in &self.parts {
            text.push_str(&part.text);
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
        }
        text
    }

    /// The files with the lines that each takes in the whole text.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (&str, u32)> {
        self.parts.iter().map(|part| (&*part.file, part.lines()))
    }

    /// The file, and the line in it, of a line of the whole text. Lines count from 1.
    ///
    /// `None` for line 0 and for lines past the end.
    pub fn locate(&self, line: u32) -> Option<(&str, u32)> {
        let mut rest = line.checked_sub(1)?;
        for part in &self.parts {
            let lines = part.lines();
            if rest < lines {
                return Some((&part.file, rest + 1));
            }
            rest -= lines;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn three() -> ShaderSource {
        ShaderSource::new("three")
            .part("a.wgsl", "a1\na2")
            .part("empty.wgsl", "")
            .part("b.wgsl", "b1\n")
            .part("c.wgsl", "c1\n\nc3")
    }

    #[test]
    fn each_part_starts_on_its_own_line() {
        assert_eq!(three().text(), "a1\na2\nb1\nc1\n\nc3\n");
    }

    #[test]
    fn directives_come_first_and_once() {
        let source = three().directive("on.wgsl", "enable f16;");
        assert!(source.text().starts_with("enable f16;\na1\n"));
        assert_eq!(source.locate(1), Some(("on.wgsl", 1)));
        assert_eq!(source.locate(2), Some(("a.wgsl", 1)));
        assert_eq!(source.clone().directive("on.wgsl", "enable f16;"), source);
    }

    #[test]
    fn every_line_maps_back_to_the_line_of_its_file() {
        let source = three();
        let text = source.text();
        for (index, line) in text.lines().enumerate() {
            let (file, at) = source.locate(u32::try_from(index).unwrap() + 1).unwrap();
            let expected = if line.is_empty() {
                "c.wgsl:2".to_owned()
            } else {
                format!("{}.wgsl:{}", &line[..1], &line[1..])
            };
            assert_eq!(format!("{file}:{at}"), expected);
        }
    }

    #[test]
    fn lines_outside_the_text_map_to_nothing() {
        assert_eq!(three().locate(0), None);
        assert_eq!(three().locate(7), None);
        assert_eq!(ShaderSource::new("none").locate(1), None);
    }
}
