//! How large and how deeply nested a WGSL text is, found by one pass over its bytes.
//!
//! Compilers of WGSL recurse where a text nests, and their time grows faster than the text, so a text is measured before
//! one reads it. The numbers are upper bounds of what a parser will meet: a text that is not WGSL has numbers too.

pub mod errors;
pub mod imports;
pub mod mistakes;
#[cfg(feature = "naga")]
pub mod modules;

use std::ops::Range;

/// What [`measure`] finds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    /// Bytes of the text.
    pub bytes: usize,
    /// Declarations at module scope that may refer to each other.
    pub declarations: usize,
    /// Tokens of the largest function (or other outermost pair of braces).
    pub function_tokens: Measured,
    /// Blocks within each other; each `else if` counts as one more, since it is a block within the one before.
    pub blocks: Measured,
    /// Operations within each other in one expression: operators in a row, brackets, members and indices.
    pub operations: Measured,
}

/// The largest of something, and where it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Measured {
    /// How many.
    pub count: usize,
    /// The line where that many are reached, from 1; 0 where there are none.
    pub line: u32,
}

impl Measured {
    fn raise(&mut self, count: usize, line: u32) {
        if count > self.count {
            *self = Self { count, line };
        }
    }
}

impl Extent {
    /// Whether any thread has stack enough to compile such a text, and compiling it takes no time to speak of.
    ///
    /// What is not small is compiled on a thread with a stack of its own. This library's kernels are small.
    #[must_use]
    pub fn is_small(&self) -> bool {
        self.bytes <= 128 << 10
            && self.declarations <= 400
            && self.function_tokens.count <= 8_000
            && self.blocks.count <= 40
            && self.operations.count <= 150
    }
}

/// The names of a text's functions, in bytes of the text.
///
/// ```
/// let text = "// fn a()\nfn b() {} /* fn c() */ fn d() {}";
/// let names: Vec<&str> = ziggurat_core::wgsl::functions(text).map(|name| &text[name]).collect();
/// assert_eq!(names, ["b", "d"]);
/// ```
pub fn functions(text: &str) -> impl Iterator<Item = Range<usize>> {
    let names = tokens(text).scan(false, |follows, (at, token)| {
        let is_name = std::mem::replace(follows, token == "fn");
        Some(is_name.then(|| at..at + token.len()))
    });
    names.flatten()
}

/// The name of this function, in bytes of the text: a compiler keeps no place of entry points.
///
/// ```
/// let text = "fn main_loop() {} fn main() {}";
/// assert_eq!(ziggurat_core::wgsl::function(text, "main"), Some(21..25));
/// assert_eq!(ziggurat_core::wgsl::function(text, "other"), None);
/// ```
#[must_use]
pub fn function(text: &str, name: &str) -> Option<Range<usize>> {
    functions(text).find(|found| text.get(found.clone()) == Some(name))
}

/// Measures a text. Takes time in proportion to its length.
///
/// ```
/// let extent = ziggurat_core::wgsl::measure("fn f() { if a { } else if b { x = 1 + 2 + 3; } }");
/// assert_eq!(extent.blocks.count, 3);
/// assert_eq!(extent.operations.count, 3); // the assignment and two sums
/// ```
#[must_use]
pub fn measure(text: &str) -> Extent {
    let mut scan = Scan {
        extent: Extent {
            bytes: text.len(),
            ..Extent::default()
        },
        line: 1,
        chains: Vec::new(),
        blocks: 0,
        operations: vec![0],
        depth: 0,
        tokens: 0,
        before: Token::Other,
    };
    let bytes = text.as_bytes();
    let mut at = 0;
    loop {
        let start = skip_blank(bytes, at);
        let skipped = bytes.get(at..start).unwrap_or_default();
        let breaks = skipped.iter().filter(|byte| **byte == b'\n').count();
        scan.line = scan
            .line
            .saturating_add(u32::try_from(breaks).unwrap_or(u32::MAX));
        let Some(&byte) = bytes.get(start) else {
            return scan.extent;
        };
        let mut end = skip_string(bytes, start).unwrap_or(start + 1);
        if is_word(byte) {
            // A dot within a number is part of it.
            let number = byte.is_ascii_digit();
            while bytes
                .get(end)
                .is_some_and(|byte| is_word(*byte) || (number && *byte == b'.'))
            {
                end += 1;
            }
        }
        scan.token(bytes.get(start..end).unwrap_or_default());
        at = end;
    }
}

/// The words of a text outside of comments, in order: names, keywords and numbers.
///
/// ```
/// let words: Vec<_> = ziggurat_core::wgsl::words("fn f(x: u32) { /* no */ y(x + 1u); } // z").collect();
/// assert_eq!(words, ["fn", "f", "x", "u32", "y", "x", "1u"]);
/// ```
pub fn words(text: &str) -> impl Iterator<Item = &str> {
    let word = |token: &&str| token.bytes().next().is_some_and(is_word);
    tokens(text).map(|(_, token)| token).filter(word)
}

/// The words of a text and the signs between them, each sign by itself, with the byte where each begins. Comments are left
/// out; what stands between two quotes on one line is one with them.
///
/// ```
/// let tokens: Vec<_> = ziggurat_core::wgsl::tokens("a /* no */ += b1").collect();
/// assert_eq!(tokens, [(0, "a"), (11, "+"), (12, "="), (14, "b1")]);
/// ```
pub fn tokens(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let bytes = text.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = skip_blank(bytes, at);
        let first = *bytes.get(start)?;
        let length = bytes.iter().skip(start).take_while(|byte| is_word(**byte));
        at = match skip_string(bytes, start) {
            Some(end) => end,
            None if is_word(first) => start + length.count(),
            None => start + 1,
        };
        // Bytes of names in other scripts stay together, so both ends are between letters.
        Some((start, text.get(start..at).unwrap_or_default()))
    })
}

/// The token before the current one, as far as it matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    Close,
    Else,
    Other,
}

struct Scan {
    extent: Extent,
    line: u32,
    /// By open brace: the `else if`s so far of the statement in it.
    chains: Vec<usize>,
    /// Open braces and their `else if`s.
    blocks: usize,
    /// By open bracket of the expression: operations so far.
    operations: Vec<usize>,
    /// Their sum.
    depth: usize,
    /// Tokens since the outermost brace.
    tokens: usize,
    before: Token,
}

impl Scan {
    fn token(&mut self, token: &[u8]) {
        self.tokens += 1;
        let is_else = token == b"else";
        // After a block anything but `else` begins another statement.
        if self.before == Token::Close
            && !is_else
            && let Some(chain) = self.chains.last_mut()
        {
            self.blocks -= std::mem::take(chain);
        }
        let before = std::mem::replace(&mut self.before, Token::Other);
        match token {
            b"else" => self.before = Token::Else,
            b"if" if before == Token::Else => {
                if let Some(chain) = self.chains.last_mut() {
                    *chain += 1;
                    self.blocks += 1;
                    self.extent.blocks.raise(self.blocks, self.line);
                }
            }
            b"fn" | b"const" | b"override" | b"alias" | b"struct" | b"var" | b"const_assert"
                if self.chains.is_empty() =>
            {
                self.extent.declarations += 1;
            }
            b"{" => {
                if self.chains.is_empty() {
                    self.tokens = 0;
                }
                self.chains.push(0);
                self.blocks += 1;
                self.extent.blocks.raise(self.blocks, self.line);
                self.end_expression();
            }
            b"}" => {
                if let Some(chain) = self.chains.pop() {
                    self.blocks -= 1 + chain;
                }
                self.end_expression();
                self.before = Token::Close;
            }
            b";" => self.end_expression(),
            b"," => {
                if let Some(operations) = self.operations.last_mut() {
                    self.depth -= std::mem::take(operations);
                }
            }
            b"(" | b"[" => {
                self.operation();
                self.operations.push(0);
            }
            b")" | b"]" if self.operations.len() > 1 => {
                self.depth -= self.operations.pop().unwrap_or(0);
            }
            [byte] if b"+-*/%&|^<>=!~.".contains(byte) => self.operation(),
            _ => {}
        }
        if !self.chains.is_empty() {
            self.extent.function_tokens.raise(self.tokens, self.line);
        }
    }

    fn operation(&mut self) {
        self.depth += 1;
        if let Some(operations) = self.operations.last_mut() {
            *operations += 1;
        }
        self.extent.operations.raise(self.depth, self.line);
    }

    fn end_expression(&mut self) {
        self.operations.clear();
        self.operations.push(0);
        self.depth = 0;
    }
}

/// Letters of names; bytes of names in other scripts count too.
pub(crate) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

/// The first byte at or after `at` that is neither blank nor in a comment. Comments nest in WGSL.
pub(crate) fn skip_blank(bytes: &[u8], mut at: usize) -> usize {
    let two = |at: usize| bytes.get(at..at + 2).unwrap_or_default();
    loop {
        match bytes.get(at) {
            Some(byte) if byte.is_ascii_whitespace() => at += 1,
            Some(b'/') if two(at) == b"//" => {
                while bytes.get(at).is_some_and(|byte| *byte != b'\n') {
                    at += 1;
                }
            }
            Some(b'/') if two(at) == b"/*" => {
                let mut depth = 0_usize;
                while at < bytes.len() {
                    match two(at) {
                        b"/*" => {
                            depth += 1;
                            at += 2;
                        }
                        b"*/" => {
                            depth -= 1;
                            at += 2;
                            if depth == 0 {
                                break;
                            }
                        }
                        _ => at += 1,
                    }
                }
            }
            _ => return at,
        }
    }
}

/// Behind the quote that ends the string that begins at `at`, on the same line; nothing where none begins or ends.
pub(crate) fn skip_string(bytes: &[u8], at: usize) -> Option<usize> {
    let rest = bytes.get(at..)?.strip_prefix(b"\"")?;
    let length = rest.iter().position(|byte| matches!(byte, b'"' | b'\n'))?;
    (rest.get(length) == Some(&b'"')).then_some(at + length + 2)
}

#[cfg(test)]
mod tests {
    use super::{measure, tokens};

    #[test]
    fn what_is_quoted_is_one_token() {
        let words: Vec<_> = tokens("a(\"b // {\", c) \"d\ne")
            .map(|(_, token)| token)
            .collect();
        assert_eq!(
            words,
            ["a", "(", "\"b // {\"", ",", "c", ")", "\"", "d", "e"]
        );
        assert_eq!(measure("debug_print(\"{{ ((\");").blocks.count, 0);
    }

    #[test]
    fn else_ifs_count_as_blocks_within_each_other() {
        let arms = |n: usize| format!("fn f() {{ if a {{ }}{} }}", " else if b { }".repeat(n));
        assert_eq!(measure(&arms(0)).blocks.count, 2);
        assert_eq!(measure(&arms(200)).blocks.count, 202);
        let two = format!("fn f() {{ {} {} }}", "if a { } else if b { }", "if a { }");
        assert_eq!(
            measure(&two).blocks.count,
            3,
            "the second statement is another"
        );
        let line = measure("fn f() {\n if a {\n {} } }").blocks;
        assert_eq!((line.count, line.line), (3, 3));
    }

    #[test]
    fn operations_count_where_they_are_within_each_other() {
        let count = |text: &str| measure(text).operations.count;
        assert_eq!(count("a + b + c"), 2);
        assert_eq!(count("f(a + b, c + d)"), 2, "arguments lie side by side");
        assert_eq!(count("((((1))))"), 4);
        assert_eq!(count("(a + b) * (c + d)"), 4);
        assert_eq!(count("a[0][1].x"), 3);
        assert_eq!(count("x = 1; y = 2;"), 1);
        assert_eq!(
            count("1.5 1e-3"),
            1,
            "the exponent's sign: too many rather than too few"
        );
    }

    #[test]
    fn tokens_are_those_of_one_function() {
        let text = "fn f() { a; b; }\nfn g() { a; }";
        let tokens = measure(text).function_tokens;
        assert_eq!((tokens.count, tokens.line), (4, 1));
        assert_eq!(measure(text).declarations, 2);
    }

    #[test]
    fn comments_and_what_is_no_wgsl_are_measured_too() {
        assert_eq!(measure("/* (((( */ // {{{\n").operations.count, 0);
        assert_eq!(measure("}}}}))))]]]],,,,").blocks.count, 0);
        let open = "{".repeat(1000) + &"(".repeat(1000) + "/*";
        let extent = measure(&open);
        assert_eq!((extent.blocks.count, extent.operations.count), (1000, 1000));
        assert!(!extent.is_small());
        assert!(measure("fn f() {}").is_small());
    }
}
