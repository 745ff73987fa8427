//! `import "name"` lines of WGSL texts: resolved by the host, before a compiler sees the text.
//!
//! A piece becomes a file of its own, once, ahead of whoever imports it, and the line becomes blank, so that lines and columns
//! stay. Invariants: no piece comes twice; no two files declare one name.

use std::collections::BTreeMap;

use crate::text::marked_whole_line;

/// An import that cannot be resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportError {
    /// The file that holds it.
    pub file: String,
    /// Its line, from 1; 0 where it is not in the text.
    pub line: u32,
    /// The column where it begins, in bytes from 1; 0 where it is not in the text.
    pub column: u32,
    /// What is wrong.
    pub detail: String,
    /// The line of code with carets below; empty where it is not in the text.
    pub snippet: String,
}

impl ImportError {
    /// With the line of code, if it is about this file.
    fn in_text(self, file: &str, text: &str) -> Self {
        let is_new = self.file == file && self.snippet.is_empty();
        match marked_whole_line(text, self.line) {
            Some((column, snippet)) if is_new => Self {
                column,
                snippet,
                ..self
            },
            _ => self,
        }
    }
}

/// A piece that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// What its file is called; a piece of a file that is there already is the same one.
    pub file: String,
    /// The text.
    pub text: String,
    /// What it imports besides what the text says.
    pub needs: &'static [&'static str],
}

impl Found {
    /// A piece that needs what its text says.
    #[must_use]
    pub fn new(file: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            file: file.into(),
            text: text.into(),
            needs: &[],
        }
    }
}

/// The paths that an import of `name` in `file` may mean: in the folder of that file, and as it stands.
///
/// ```
/// use ziggurat_core::wgsl::imports::paths;
/// assert_eq!(paths("noise.wgsl", "shaders/a/main.wgsl"), ["shaders/a/noise.wgsl", "noise.wgsl"]);
/// assert_eq!(paths("../b/./noise.wgsl", "shaders/a/main.wgsl")[0], "shaders/b/noise.wgsl");
/// ```
#[must_use]
pub fn paths(name: &str, file: &str) -> [String; 2] {
    let beside = match file.rfind(['/', '\\']) {
        Some(at) => format!("{}{name}", file.get(..=at).unwrap_or_default()),
        None => name.to_owned(),
    };
    [plain(&beside), plain(name)]
}

/// A path without `.`, and with `..` only at its beginning, so that one file has one name.
fn plain(path: &str) -> String {
    let mut steps: Vec<&str> = Vec::new();
    for step in path.split(['/', '\\']) {
        match (step, steps.last()) {
            (".", _) => {}
            ("..", Some(&before)) if !["", ".."].contains(&before) => {
                let _up = steps.pop();
            }
            _ => steps.push(step),
        }
    }
    steps.join("/")
}

/// The files of a shader: the pieces that it imports, directly or not, and the text itself at the end. `find` gives the piece of
/// a name for the file that imports it, or says what is wrong.
///
/// ```
/// use ziggurat_core::wgsl::imports::{Found, resolve};
///
/// let find = |name: &str, _from: &str| match name {
///     "one.wgsl" => Ok(Found::new("one.wgsl", "const ONE = 1;")),
///     _ => Err(format!("no `{name}`")),
/// };
/// let files = resolve("top", "import \"one.wgsl\"\nconst TWO = 2 * ONE;", &find).unwrap();
/// assert_eq!(files[0], ("one.wgsl".to_owned(), "const ONE = 1;".to_owned()));
/// assert_eq!(files[1].1.lines().nth(1), Some("const TWO = 2 * ONE;"));
/// assert_eq!(resolve("top", "\nimport \"two.wgsl\"", &find).unwrap_err().line, 2);
/// ```
///
/// # Errors
///
/// What `find` says; pieces that import each other in a circle, and names that two files declare, with both places.
pub fn resolve(
    file: &str,
    text: &str,
    find: &dyn Fn(&str, &str) -> Result<Found, String>,
) -> Result<Vec<(String, String)>, ImportError> {
    let mut resolving = Resolving {
        find,
        done: Vec::new(),
        open: Vec::new(),
        parts: Vec::new(),
    };
    resolving.add(file, text, &[])?;
    resolving.check_names()?;
    Ok(resolving.parts)
}

fn failure(file: &str, line: u32, detail: String) -> ImportError {
    ImportError {
        file: file.to_owned(),
        line,
        column: 0,
        detail,
        snippet: String::new(),
    }
}

/// The files of a source so far.
struct Resolving<'a> {
    find: &'a dyn Fn(&str, &str) -> Result<Found, String>,
    /// Pieces that are files already.
    done: Vec<String>,
    /// Who imports whom at the moment: a file, and the line of its import.
    open: Vec<(String, u32)>,
    parts: Vec<(String, String)>,
}

impl Resolving<'_> {
    fn add(&mut self, file: &str, text: &str, needs: &[&str]) -> Result<(), ImportError> {
        let (imports, blank) = imports(text);
        let declared = imports.iter().map(|import| (import.name, import.line));
        let needs = needs.iter().map(|name| (*name, 0));
        for (name, line) in needs.chain(declared) {
            self.import(file, name, line)
                .map_err(|error| error.in_text(file, text))?;
        }
        self.parts.push((file.to_owned(), blank));
        Ok(())
    }

    fn import(&mut self, file: &str, name: &str, line: u32) -> Result<(), ImportError> {
        let found = (self.find)(name, file).map_err(|detail| failure(file, line, detail))?;
        let name = found.file.as_str();
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
            return Err(failure(file, line, detail));
        }
        self.open.push((file.to_owned(), line));
        self.add(name, &found.text, found.needs)?;
        self.open.pop();
        self.done.push(name.to_owned());
        Ok(())
    }

    /// No two files declare one name; within a file the compiler finds it.
    fn check_names(&self) -> Result<(), ImportError> {
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
                        return Err(failure(file, declared.line, detail).in_text(file, text));
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }
}

/// A name that a text declares at its top.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Declaration<'a> {
    name: &'a str,
    line: u32,
}

/// An `import "name"` of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Import<'a> {
    name: &'a str,
    line: u32,
}

/// A word, a mark or a string of the text, with its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Token<'a> {
    text: &'a str,
    line: u32,
}

/// The tokens of a text without its comments.
fn tokens(text: &str) -> Vec<Token<'_>> {
    let bytes = text.as_bytes();
    let (mut at, mut line) = (0, 1);
    let mut found = Vec::new();
    let byte = |at: usize| bytes.get(at).copied().unwrap_or(0);
    while at < bytes.len() {
        let start = at;
        match (byte(at), byte(at + 1)) {
            (b'\n', _) => {
                line += 1;
                at += 1;
                continue;
            }
            (b'/', b'/') => {
                while at < bytes.len() && byte(at) != b'\n' {
                    at += 1;
                }
                continue;
            }
            (b'/', b'*') => {
                let mut depth = 0usize;
                while at < bytes.len() {
                    match (byte(at), byte(at + 1)) {
                        (b'/', b'*') => {
                            depth += 1;
                            at += 2;
                        }
                        (b'*', b'/') => {
                            depth = depth.saturating_sub(1);
                            at += 2;
                        }
                        (other, _) => {
                            line += u32::from(other == b'\n');
                            at += 1;
                        }
                    }
                    if depth == 0 {
                        break;
                    }
                }
                continue;
            }
            (b'"', _) => {
                at += 1;
                while at < bytes.len() && byte(at) != b'"' && byte(at) != b'\n' {
                    at += 1;
                }
                at += usize::from(byte(at) == b'"');
            }
            (first, _) if first.is_ascii_alphanumeric() || first == b'_' || first >= 0x80 => {
                while byte(at).is_ascii_alphanumeric() || byte(at) == b'_' || byte(at) >= 0x80 {
                    at += 1;
                }
            }
            (first, _) if first.is_ascii_whitespace() => {
                at += 1;
                continue;
            }
            _ => at += 1,
        }
        if let Some(text) = text.get(start..at) {
            found.push(Token { text, line });
        }
    }
    found
}

/// The names that a text declares outside of braces, in order.
fn declarations(text: &str) -> Vec<Declaration<'_>> {
    let tokens = tokens(text);
    let mut depth = 0usize;
    let mut found = Vec::new();
    let mut rest = tokens.iter().copied();
    while let Some(token) = rest.next() {
        match token.text {
            "{" | "(" | "[" => depth += 1,
            "}" | ")" | "]" => depth = depth.saturating_sub(1),
            "fn" | "struct" | "const" | "override" | "alias" | "var" if depth == 0 => {
                let mut next = rest.next();
                // The address space of a variable.
                if next.is_some_and(|next| next.text == "<") {
                    while next.is_some_and(|next| next.text != ">") {
                        next = rest.next();
                    }
                    next = rest.next();
                }
                if let Some(name) = next {
                    found.push(Declaration {
                        name: name.text,
                        line: name.line,
                    });
                }
            }
            _ => {}
        }
    }
    found
}

/// The imports of a text, in order, and the text with each of them blank.
fn imports(text: &str) -> (Vec<Import<'_>>, String) {
    let mut found = Vec::new();
    let mut blank = String::with_capacity(text.len());
    let mut code = tokens(text).into_iter().peekable();
    for (line, content) in (1u32..).zip(text.split_inclusive('\n')) {
        let mut own = Vec::new();
        while let Some(token) = code.next_if(|token| token.line == line) {
            own.push(token.text);
        }
        let name = match own.as_slice() {
            ["import", name] | ["import", name, ";"] => name.strip_prefix('"'),
            _ => None,
        };
        match name.and_then(|name| name.strip_suffix('"')) {
            Some(name) => {
                found.push(Import { name, line });
                let rest = content.trim_end_matches(['\n', '\r']);
                blank.extend(std::iter::repeat_n(' ', rest.len()));
                blank.push_str(content.get(rest.len()..).unwrap_or_default());
            }
            None => blank.push_str(content),
        }
    }
    (found, blank)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_at_the_top_are_found_with_their_lines() {
        let text = "// fn no()\nstruct A { fn_: u32 }\n/* const B = 1; /* nested */\n */ const C = 1;\n\
            @group(0) @binding(0) var<storage, read_write> d: array<u32>;\nvar<private> e: u32;\n\
            override f: u32 = 2u;\nalias G = u32;\n@compute @workgroup_size(1)\nfn h(i: u32) { var j = 1; const k = 2; }";
        let found = declarations(text);
        let found: Vec<_> = found.iter().map(|d| (d.name, d.line)).collect();
        let expected = [
            ("A", 2),
            ("C", 4),
            ("d", 5),
            ("e", 6),
            ("f", 7),
            ("G", 8),
            ("h", 10),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn imports_are_blanked_where_they_stand() {
        let text = "import \"a.wgsl\"\n  import \"b.wgsl\"; // why\n// import \"c.wgsl\"\nfn f() {}\nlet import_ = 1;";
        let (found, blank) = imports(text);
        let found: Vec<_> = found.iter().map(|i| (i.name, i.line)).collect();
        assert_eq!(found, [("a.wgsl", 1), ("b.wgsl", 2)]);
        assert_eq!(blank.len(), text.len());
        assert!(blank.lines().take(2).all(|line| line.trim().is_empty()));
        assert!(blank.contains("\n// import \"c.wgsl\"\nfn f() {}"));
    }

    #[test]
    fn open_ends_are_not_a_loop() {
        for text in [
            "/* open",
            "\"open",
            "import \"open",
            "var<",
            "fn",
            "\u{e9}\u{e9} /* \u{e9}",
        ] {
            let _ = (declarations(text), imports(text));
        }
    }
}
