//! What a WGSL text declares outside of its functions, and what it imports, without a parser of the whole language.

/// A name that a text declares at its top.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Declaration<'a> {
    pub(crate) name: &'a str,
    pub(crate) line: u32,
}

/// An `import "name"` of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Import<'a> {
    pub(crate) name: &'a str,
    pub(crate) line: u32,
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
pub(crate) fn declarations(text: &str) -> Vec<Declaration<'_>> {
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
pub(crate) fn imports(text: &str) -> (Vec<Import<'_>>, String) {
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
