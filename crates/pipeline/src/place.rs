//! From a compiler's span to a place that people can open: file, line, column and the line of code itself.

use naga::{SourceLocation, Span};

use ziggurat_core::debug_print;

use crate::source::ShaderSource;

/// A place in a WGSL file. Line 0 means that the compiler gave none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) file: String,
    pub(crate) line: u32,
    pub(crate) column: u32,
    pub(crate) snippet: String,
}

/// A source together with its assembled text.
#[derive(Debug)]
pub(crate) struct Assembled<'a> {
    pub(crate) source: &'a ShaderSource,
    pub(crate) text: String,
}

impl<'a> Assembled<'a> {
    pub(crate) fn new(source: &'a ShaderSource) -> Self {
        Self {
            source,
            // As a device that prints sees it, so that mistakes in arguments are found on all.
            text: debug_print::expanded(&source.text()).into_owned(),
        }
    }

    /// The kernel's name, for errors.
    pub(crate) fn name(&self) -> String {
        self.source.name().to_owned()
    }

    /// The place of a span.
    pub(crate) fn place(&self, span: Option<Span>) -> Place {
        let location = span
            .filter(|span| {
                span.to_range()
                    .is_some_and(|range| self.text.get(..range.start).is_some())
            })
            .map(|span| span.location(&self.text));
        self.place_at(location)
    }

    /// The place of a location in the assembled text.
    pub(crate) fn place_at(&self, location: Option<SourceLocation>) -> Place {
        let located = location.and_then(|at| {
            let (file, line) = self.source.locate(at.line_number)?;
            Some((at, file, line))
        });
        match located {
            Some((at, file, line)) => Place {
                file: file.to_owned(),
                line,
                column: at.line_position,
                snippet: self.snippet(at, line),
            },
            None => Place {
                file: self.last_file(),
                ..Place::default()
            },
        }
    }

    /// The place of `fn name`: naga keeps no span for entry points.
    pub(crate) fn function(&self, name: &str) -> Place {
        let mut from = 0;
        while let Some(at) = self.text.get(from..).and_then(|rest| rest.find("fn")) {
            let start = from + at;
            from = start + 2;
            let after = self.text.get(from..).unwrap_or_default();
            let ident = after.trim_start();
            let named = ident.len() < after.len()
                && ident
                    .strip_prefix(name)
                    .is_some_and(|rest| rest.trim_start().starts_with('('));
            let line = self.text.get(..start).unwrap_or_default();
            let comment = line
                .rsplit('\n')
                .next()
                .is_some_and(|line| line.contains("//"));
            if named
                && !comment
                && let (Ok(start), Ok(end)) = (u32::try_from(start), u32::try_from(from))
            {
                return self.place(Some(Span::new(start, end)));
            }
        }
        self.place(None)
    }

    /// The last part's name: bodies come last.
    pub(crate) fn last_file(&self) -> String {
        let last = self.source.parts().last();
        last.map_or_else(|| self.name(), |part| part.file.clone().into_owned())
    }

    /// The line of code and a row of carets below the span.
    fn snippet(&self, at: SourceLocation, shown_line: u32) -> String {
        let index = usize::try_from(at.line_number.saturating_sub(1)).unwrap_or(usize::MAX);
        let Some(code) = self.text.lines().nth(index) else {
            return String::new();
        };
        let column = usize::try_from(at.line_position.saturating_sub(1)).unwrap_or(0);
        let before = code.get(..column).unwrap_or_default();
        let rest = code.get(column..).unwrap_or_default();
        let length = usize::try_from(at.length).unwrap_or(0).min(rest.len());
        let marked = rest.get(..length).unwrap_or(rest).chars().count().max(1);
        let pad: String = before
            .chars()
            .map(|c| if c == '\t' { '\t' } else { ' ' })
            .collect();
        let number = shown_line.to_string();
        let gutter = " ".repeat(number.len());
        format!("{number} | {code}\n{gutter} | {pad}{}", "^".repeat(marked))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_shows_file_line_and_carets() {
        let source = ShaderSource::new("k")
            .part("a", "one\n")
            .part("b", "two three\n");
        let text = Assembled::new(&source);
        let place = text.place(Some(Span::new(8, 13)));
        assert_eq!((place.file.as_str(), place.line, place.column), ("b", 1, 5));
        assert_eq!(place.snippet, "1 | two three\n  |     ^^^^^");
    }

    #[test]
    fn spans_outside_the_text_have_line_zero() {
        let source = ShaderSource::wgsl("k", "é\n");
        let text = Assembled::new(&source);
        for span in [
            None,
            Some(Span::UNDEFINED),
            Some(Span::new(1, 2)),
            Some(Span::new(99, 100)),
        ] {
            assert_eq!(text.place(span).line, 0, "{span:?}");
            assert_eq!(text.place(span).file, "k");
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
