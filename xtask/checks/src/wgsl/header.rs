//! The comment that a shader file opens with, taken apart.
//!
//! Bodies open with named fields (`Computes: …`), each over one or more lines; other parts open with plain text. What
//! the documentation of ops says of formulas and edges is read from here, so that it stands with the code it is about.

/// The words that open a field.
const FIELDS: [&str; 7] = [
    "Computes:",
    "Bindings:",
    "Grid:",
    "Requires:",
    "Requires ",
    "Accuracy:",
    "Source:",
];

/// The opening comment of a file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Header {
    /// The text before the first field.
    pub(crate) text: String,
    /// Field words as in [`FIELDS`] and what stands behind them.
    fields: Vec<(&'static str, String)>,
}

impl Header {
    /// Reads the lines of comment that the file opens with.
    pub(crate) fn of(file: &str) -> Self {
        let mut header = Self::default();
        let lines = file.lines().map_while(|line| line.strip_prefix("//"));
        for line in lines.map(str::trim) {
            let opens = FIELDS.iter().find(|field| line.starts_with(*field));
            if let Some(field) = opens {
                let rest = line.strip_prefix(field).unwrap_or_default();
                header.fields.push((field, rest.trim().to_owned()));
                continue;
            }
            let target = match header.fields.last_mut() {
                Some((_, text)) => text,
                None => &mut header.text,
            };
            if !target.is_empty() && !line.is_empty() {
                target.push(' ');
            }
            target.push_str(line);
        }
        // "…; NaN wins. Requires functions/log.wgsl." says in the same line what it is and what it needs.
        if let Some(at) = header.text.find(" Requires ") {
            header.text.truncate(at);
        }
        header
    }

    /// A field's text.
    pub(crate) fn field(&self, word: &str) -> Option<&str> {
        let found = self.fields.iter().find(|(field, _)| *field == word);
        found.map(|(_, text)| text.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::Header;

    #[test]
    fn fields_reach_over_lines_and_end_at_the_next() {
        let header =
            Header::of("// Computes: a\n//   and b.\n// Grid: c\n\n// not of it\nfn f() {}\n");
        assert_eq!(header.field("Computes:"), Some("a and b."));
        assert_eq!(header.field("Grid:"), Some("c"));
        assert_eq!(header.field("Accuracy:"), None);
        assert_eq!(header.text, "");
    }

    #[test]
    fn plain_text_ends_where_it_says_what_it_requires() {
        let header = Header::of("// |x|; NaN stays. Requires functions/log.wgsl.\n");
        assert_eq!(header.text, "|x|; NaN stays.");
        let header =
            Header::of("// Operator part: a sum;\n// integers wrap.\n// Requires `apply`: b.\n");
        assert_eq!(header.text, "Operator part: a sum; integers wrap.");
    }
}
