//! From a compiler's span to a place that people can open: file, line, column and the line of code itself.

use std::cell::OnceCell;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use ziggurat_core::debug_print::{self, Places};
use ziggurat_core::text::{marked_line, marked_whole_line, shortened};
use ziggurat_core::wgsl;

use crate::source::ShaderSource;

/// A place in a WGSL file; shown as `file:line:column`, as far as it is known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Place {
    /// The file.
    pub file: String,
    /// The line in that file, from 1; 0 for the file as a whole.
    pub line: u32,
    /// The byte column in that line, from 1; 0 if only the line is known.
    pub column: u32,
    /// The line of code with carets below; empty if only the file is known.
    pub snippet: String,
}

impl Place {
    /// A file as a whole.
    pub(crate) fn whole(file: &str) -> Arc<Self> {
        Arc::new(Self {
            file: shortened(file, FILE).into_owned(),
            ..Self::default()
        })
    }

    /// A line of a file with this text; 0 for the file as a whole.
    pub(crate) fn of_line(file: &str, text: &str, line: u32) -> Arc<Self> {
        let Some((column, snippet)) = marked_whole_line(text, line) else {
            return Self::whole(file);
        };
        Arc::new(Self {
            file: shortened(file, FILE).into_owned(),
            line,
            column,
            snippet,
        })
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        for number in [self.line, self.column] {
            if number == 0 {
                break;
            }
            write!(f, ":{number}")?;
        }
        Ok(())
    }
}

/// Bytes of one line of an assembled text.
#[derive(Clone, Copy, Debug)]
struct Located {
    /// The line of the whole, from 1.
    line: u32,
    /// The byte column, from 1.
    column: u32,
    bytes: u32,
}

/// A source together with its assembled text.
#[derive(Debug)]
pub(crate) struct Assembled<'a> {
    pub(crate) source: &'a ShaderSource,
    /// As a device that prints sees it, so that mistakes in arguments are found on all.
    pub(crate) text: String,
    /// As it was written, and where the bytes of `text` stand in it, if that is not the same.
    written: Option<(String, Places)>,
    /// Where the lines of the written text begin.
    lines: OnceCell<Vec<usize>>,
    /// Lines up to the end of each part.
    ends: OnceCell<Vec<u32>>,
}

impl<'a> Assembled<'a> {
    pub(crate) fn new(source: &'a ShaderSource) -> Self {
        let written = source.text();
        let expanded = debug_print::expanded(&written);
        let (text, written) = match expanded.text {
            std::borrow::Cow::Owned(text) => (text, Some((expanded.places, written))),
            std::borrow::Cow::Borrowed(_) => (written, None),
        };
        Self {
            source,
            text,
            written: written.map(|(places, written)| (written, places)),
            lines: OnceCell::new(),
            ends: OnceCell::new(),
        }
    }

    /// The kernel's name, for errors.
    pub(crate) fn name(&self) -> String {
        shortened(self.source.name(), 128).into_owned()
    }

    fn written(&self) -> &str {
        self.written.as_ref().map_or(&self.text, |(text, _)| text)
    }

    /// Where the lines of the written text begin.
    fn lines(&self) -> &[usize] {
        self.lines.get_or_init(|| {
            let bytes = self.written().bytes().enumerate();
            let breaks = bytes.filter(|(_, byte)| *byte == b'\n');
            std::iter::once(0)
                .chain(breaks.map(|(at, _)| at + 1))
                .collect()
        })
    }

    /// [`ShaderSource::locate`], which counts the lines once.
    fn locate(&self, line: u32) -> Option<(&str, u32)> {
        let ends = self.ends.get_or_init(|| {
            let lines = self.source.lines();
            let ends = lines.scan(0_u32, |end, (_, lines)| {
                *end = end.saturating_add(lines);
                Some(*end)
            });
            ends.collect()
        });
        let index = ends.partition_point(|end| *end < line);
        let part = self.source.parts().get(index)?;
        let before = index.checked_sub(1).and_then(|before| ends.get(before));
        let within = line.checked_sub(before.copied().unwrap_or(0))?;
        (within > 0).then_some((&*part.file, within))
    }

    /// The place of bytes of the text.
    pub(crate) fn place_of(&self, range: Option<Range<usize>>) -> Arc<Place> {
        let range = range.filter(|range| self.text.is_char_boundary(range.start));
        // What is missing at the end of the text is missing behind its last letter.
        let last = self.text.trim_end().len();
        let range = range.map(|range| range.start.min(last)..range.end);
        self.place_of_written(range.map(|range| match &self.written {
            Some((_, places)) => (places.original(range.start), places.original(range.end)),
            None => (range.start, range.end),
        }))
    }

    /// The place of bytes of the text as it was written.
    pub(crate) fn place_of_written(&self, range: Option<(usize, usize)>) -> Arc<Place> {
        self.place_at(range.map(|(start, end)| {
            let line = self.lines().partition_point(|begin| *begin <= start);
            let begin = line.checked_sub(1).and_then(|line| self.lines().get(line));
            let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
            Located {
                line: number(line),
                column: number(start - begin.copied().unwrap_or(0) + 1),
                bytes: number(end.saturating_sub(start)),
            }
        }))
    }

    /// The place of a line of the assembled text.
    pub(crate) fn place_of_line(&self, line: u32) -> Arc<Place> {
        let located = self.locate(line).and_then(|(file, line)| {
            let mut parts = self.source.parts().iter();
            let part = parts.find(|part| part.file == file)?;
            Some(Place::of_line(file, &part.text, line))
        });
        located.unwrap_or_else(|| self.place_at(None))
    }

    /// The place of a line and a column of the assembled text, each from 1, and so many bytes from there.
    #[cfg(target_arch = "wasm32")]
    pub(crate) fn place_at_line(&self, line: u32, column: u32, bytes: u32) -> Arc<Place> {
        self.place_at(Some(Located {
            line,
            column,
            bytes,
        }))
    }

    /// The place of a location in the assembled text.
    fn place_at(&self, location: Option<Located>) -> Arc<Place> {
        let located = location.and_then(|at| {
            let (file, line) = self.locate(at.line)?;
            Some((at, file, line))
        });
        match located {
            Some((at, file, line)) => Arc::new(Place {
                file: shortened(file, FILE).into_owned(),
                line,
                column: at.column,
                snippet: self.snippet(at, line),
            }),
            None => Place::whole(&self.last_file()),
        }
    }

    /// The place of a function's name; the file as a whole if there is no such function.
    pub(crate) fn function(&self, name: &str) -> Arc<Place> {
        self.place_of(wgsl::function(&self.text, name))
    }

    /// The last part's name: bodies come last.
    pub(crate) fn last_file(&self) -> String {
        let last = self.source.parts().last();
        last.map_or_else(
            || self.name(),
            |part| shortened(&part.file, FILE).into_owned(),
        )
    }

    /// The line of code and a row of carets below the span; of a long line what is around it.
    fn snippet(&self, at: Located, shown_line: u32) -> String {
        let number = |n: u32| usize::try_from(n).unwrap_or(usize::MAX);
        let index = number(at.line.saturating_sub(1));
        let begin = self.lines().get(index).copied().unwrap_or(usize::MAX);
        let next = self.lines().get(index + 1).copied();
        let end = next.map_or(self.written().len(), |next| next - 1);
        let Some(code) = self.written().get(begin..end) else {
            return String::new();
        };
        let column = number(at.column.saturating_sub(1));
        marked_line(code, column..column + number(at.bytes), shown_line)
    }
}

/// Bytes of a file's name in an error.
const FILE: usize = 256;

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn a_span_shows_file_line_and_carets() {
        let source = ShaderSource::new("k")
            .part("a", "one\n")
            .part("b", "two three\n");
        let text = Assembled::new(&source);
        let place = text.place_of(Some(8..13));
        assert_eq!((place.file.as_str(), place.line, place.column), ("b", 1, 5));
        assert_eq!(place.snippet, "1 | two three\n  |     ^^^^^");
    }

    #[test]
    fn lines_are_found_as_the_source_finds_them() {
        let source = ShaderSource::new("k")
            .part("empty", "")
            .part("a", "1\n2")
            .part("none", "")
            .part("b", "\n\n3\n");
        let text = Assembled::new(&source);
        for line in 0..9 {
            assert_eq!(text.locate(line), source.locate(line), "line {line}");
        }
    }

    #[test]
    fn columns_are_those_of_the_text_as_it_was_written() {
        let source = ShaderSource::wgsl("k", "a;\n  debug_print(x + wrong); b;\n");
        let text = Assembled::new(&source);
        let at = |word: &str| {
            let start = text.text.find(word).unwrap();
            text.place_of(Some(start..start + word.len()))
        };
        let place = at("wrong");
        assert_eq!((place.line, place.column), (2, 19));
        let code = "2 |   debug_print(x + wrong); b;\n  |                   ^^^^^";
        assert_eq!(place.snippet, code);
        assert_eq!(at(" b;").column, 26);
        assert_eq!(at("var ").column, 3, "what is not in the text: the call");
    }

    #[test]
    fn of_a_long_line_what_is_around_the_place_is_shown() {
        let line = format!("{}wrong{}", "a ".repeat(5000), " b".repeat(5000));
        let source = ShaderSource::wgsl("k", line);
        let place = Assembled::new(&source).place_of(Some(10_000..10_005));
        assert_eq!((place.line, place.column), (1, 10_001));
        assert!(place.snippet.len() < 400, "{}", place.snippet);
        let (code, marks) = place.snippet.split_once('\n').unwrap();
        let column = code.chars().position(|c| c == 'w');
        assert_eq!(column, marks.chars().position(|c| c == '^'));
    }

    #[test]
    fn the_end_of_the_text_is_behind_its_last_letter() {
        let source = ShaderSource::new("k")
            .part("a", "one\n")
            .part("b", "two {\n\n");
        let place = Assembled::new(&source).place_of(Some(11..11));
        assert_eq!((place.file.as_str(), place.line, place.column), ("b", 1, 6));
        assert_eq!(place.snippet, "1 | two {\n  |      ^");
    }

    #[test]
    fn spans_outside_the_text_have_line_zero() {
        let source = ShaderSource::wgsl("k", "é\n");
        let text = Assembled::new(&source);
        for bytes in [None, Some(1..2), Some(99..100)] {
            let place = text.place_of(bytes.clone());
            assert_eq!((place.line, place.file.as_str()), (0, "k"), "{bytes:?}");
        }
    }

    #[test]
    fn finds_functions_by_their_whole_name() {
        let source = ShaderSource::wgsl("k", "fn main2() {}\n// fn main()\nfn  main () {}\n");
        let text = Assembled::new(&source);
        assert_eq!(text.function("main").line, 3);
        assert_eq!(text.function("other").line, 0);
    }
}
