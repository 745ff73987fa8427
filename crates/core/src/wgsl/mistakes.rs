//! All mistakes of a text: compilers stop at the first, so the statement or declaration that holds it is left out, and the
//! rest is read again.

use std::ops::Range;

use super::tokens;

/// Mistakes that are looked for.
pub const MOST: usize = 16;
/// How often a text is read for them.
const READS: usize = 64;

/// A mistake that a compiler found.
#[derive(Debug)]
pub struct Refusal<E> {
    /// The byte where it is, if that is known.
    pub at: Option<usize>,
    /// The compiler's words, with names between backticks.
    pub words: String,
    /// What is kept of it.
    pub error: E,
}

/// What is wrong with a text.
#[derive(Debug)]
pub struct Mistakes<T, E> {
    /// Each mistake once, in the text's order, at most [`MOST`]. There is at least one.
    pub errors: Vec<E>,
    /// What reading gives without the parts that hold them, if that is everything that is wrong.
    pub rest: Option<T>,
    /// The functions that parts of were left out of.
    pub changed: Vec<String>,
}

/// Reads a text, as often as it has mistakes that `read` can tell apart.
///
/// Of a statement that does not end in a semicolon the whole function's body is left out. What only follows from what was
/// left out, as the use of a variable, is no mistake.
///
/// # Errors
/// [`Mistakes`], if `read` refuses the text.
///
/// ```
/// use ziggurat_core::wgsl::mistakes::{Refusal, read_all};
///
/// // A compiler that does not know `y` and `z`.
/// let read = |text: &str| match text.find(['y', 'z']) {
///     Some(at) => Err(Refusal { at: Some(at), words: "what is it?".to_owned(), error: at }),
///     None => Ok(()),
/// };
/// assert!(read_all("fn f() { x = 1; }", read).is_ok());
/// let found = read_all("fn f() { x = y; x = 1; } fn g() { if z {} }", read).unwrap_err();
/// assert_eq!(found.errors, [13, 37]);
/// assert!(found.rest.is_some());
/// ```
pub fn read_all<T, E>(
    text: &str,
    mut read: impl FnMut(&str) -> Result<T, Refusal<E>>,
) -> Result<T, Mistakes<T, E>> {
    let mut refusal = match read(text) {
        Ok(done) => return Ok(done),
        Err(refusal) => refusal,
    };
    let mut left = text.to_owned();
    let mut errors = Vec::new();
    let (mut rest, mut changed) = (None, Vec::new());
    // Names that were left out, with the function where they mean something.
    let mut gone: Vec<(Option<usize>, String)> = Vec::new();
    for _ in 0..READS {
        let part = refusal.at.and_then(|at| part_at(&left, at));
        let here = part.as_ref().and_then(|part| part.function);
        let follows = gone.iter().any(|(function, name)| {
            (function.is_none() || *function == here)
                && refusal.words.contains(&format!("`{name}`"))
        });
        if !follows {
            errors.push((refusal.at, refusal.error));
        }
        let Some(part) = part.filter(|_| errors.len() < MOST) else {
            break;
        };
        let names = part.declares.into_iter();
        gone.extend(names.map(|name| (part.function, name)));
        changed.extend(part.name);
        left = without(&left, &part.bytes);
        match read(&left) {
            Ok(done) => {
                rest = Some(done);
                break;
            }
            Err(next) => refusal = next,
        }
    }
    errors.sort_by_key(|(at, _)| *at);
    Err(Mistakes {
        errors: errors.into_iter().map(|(_, error)| error).collect(),
        rest,
        changed,
    })
}

/// A word or sign with the byte where it begins.
type Token<'a> = (usize, &'a str);

/// What is left out because of a mistake.
struct Part {
    bytes: Range<usize>,
    /// Names that are not declared any more.
    declares: Vec<String>,
    /// If it is within a function's body: where that function begins, and its name.
    function: Option<usize>,
    name: Option<String>,
}

/// The text with blanks for those bytes, so that others stay where they are.
fn without(text: &str, bytes: &Range<usize>) -> String {
    let blank = |byte: u8| if byte == b'\n' { '\n' } else { ' ' };
    let between = text.get(bytes.clone()).unwrap_or_default();
    let mut left = String::with_capacity(text.len());
    left.push_str(text.get(..bytes.start).unwrap_or_default());
    left.extend(between.bytes().map(blank));
    left.push_str(text.get(bytes.end..).unwrap_or_default());
    left
}

/// Where a mistake is that a compiler tells without a place: the first statement of the outermost block of a function with
/// which a text has it. `has` tells whether a text has that mistake.
///
/// ```
/// use ziggurat_core::wgsl::mistakes::place_of;
///
/// let text = "fn f() { x; } fn g() { x; y(); x; }";
/// assert_eq!(place_of(text, |left| left.contains('y')), Some(26..30));
/// assert_eq!(place_of(text, |left| left.contains('z')), None);
/// ```
pub fn place_of(text: &str, mut has: impl FnMut(&str) -> bool) -> Option<Range<usize>> {
    let tokens: Vec<Token<'_>> = tokens(text).collect();
    let items = items(&tokens)?;
    let functions = items.iter().filter_map(|item| function(item));
    let bodies: Vec<_> = functions
        .filter_map(|function| Some((function.body, extent(function.body)?)))
        .collect();
    if bodies.len() > READS {
        return None;
    }
    for (body, bytes) in &bodies {
        let others = bodies.iter().filter(|(_, other)| other != bytes);
        let alone = others.fold(text.to_owned(), |left, (_, other)| without(&left, other));
        if !has(&alone) {
            continue;
        }
        let statements = statements(body);
        // With the first statements up to that one.
        let upto = |statement: &Range<usize>| without(&alone, &(statement.end..bytes.end));
        let first = statements.partition_point(|statement| !has(&upto(statement)));
        return Some(statements.get(first).unwrap_or(bytes).clone());
    }
    None
}

/// The statements of a body's outermost block.
fn statements(body: &[Token<'_>]) -> Vec<Range<usize>> {
    let (mut found, mut begin, mut open) = (Vec::new(), 0, 0_usize);
    for (index, (_, token)) in body.iter().enumerate() {
        match *token {
            "(" | "[" | "{" => open += 1,
            ")" | "]" | "}" => open = open.saturating_sub(1),
            _ => {}
        }
        // `else` goes on with the statement before.
        let next = body.get(index + 1).map(|(_, token)| *token);
        if open == 0 && (*token == ";" || *token == "}" && next != Some("else")) {
            found.extend(body.get(begin..=index).and_then(extent));
            begin = index + 1;
        }
    }
    found.extend(body.get(begin..).and_then(extent));
    found
}

/// The declarations of a text; nothing if its braces do not match.
fn items<'a, 'b>(tokens: &'a [Token<'b>]) -> Option<Vec<&'a [Token<'b>]>> {
    let (mut found, mut begin, mut depth) = (Vec::new(), 0, 0_usize);
    for (index, (_, token)) in tokens.iter().enumerate() {
        match *token {
            "{" => depth += 1,
            "}" => depth = depth.checked_sub(1)?,
            _ => {}
        }
        if depth == 0 && matches!(*token, ";" | "}") {
            found.extend(tokens.get(begin..=index));
            begin = index + 1;
        }
    }
    (depth == 0).then_some(found)
}

/// A function of a text.
struct Function<'a, 'b> {
    name: &'b str,
    /// Where the brace of its body is.
    open: usize,
    /// What is between the braces.
    body: &'a [Token<'b>],
}

fn function<'a, 'b>(item: &'a [Token<'b>]) -> Option<Function<'a, 'b>> {
    let open = item.iter().position(|(_, token)| *token == "{")?;
    let head = item.get(..open)?;
    let kind = head.iter().position(|(_, token)| *token == "fn")?;
    let (_, name) = item.get(kind + 1)?;
    let (start, _) = item.get(open)?;
    Some(Function {
        name,
        open: *start,
        body: item.get(open + 1..item.len() - 1)?,
    })
}

/// The statement, body or declaration with that byte; nothing if the braces of the text do not match.
fn part_at(text: &str, at: usize) -> Option<Part> {
    let tokens: Vec<Token<'_>> = tokens(text).collect();
    let items = items(&tokens)?;
    let with_at = |item: &&&[Token<'_>]| extent(item).is_some_and(|bytes| at < bytes.end);
    let item = items.iter().find(with_at)?;
    let whole = extent(item)?;
    match function(item) {
        Some(Function { name, open, body }) if at > open => {
            let statement = statement_at(body, at);
            Some(Part {
                bytes: extent(statement.unwrap_or(body))?,
                declares: declared(statement.unwrap_or_default()),
                function: Some(whole.start),
                name: Some(name.to_owned()),
            })
        }
        Some(Function { name, .. }) => Some(Part {
            bytes: whole,
            declares: vec![name.to_owned()],
            function: None,
            name: None,
        }),
        None => Some(Part {
            bytes: whole,
            declares: declared(item),
            function: None,
            name: None,
        }),
    }
}

/// From the first of the tokens to the end of the last.
fn extent(tokens: &[Token<'_>]) -> Option<Range<usize>> {
    let ((start, _), (last, token)) = (tokens.first()?, tokens.last()?);
    Some(*start..last + token.len())
}

/// The statement with that byte, if it ends in a semicolon and holds no block.
fn statement_at<'a, 'b>(body: &'a [Token<'b>], at: usize) -> Option<&'a [Token<'b>]> {
    let (mut begin, mut brackets) = (0, 0_usize);
    for (index, (start, token)) in body.iter().enumerate() {
        match *token {
            "(" | "[" => brackets += 1,
            ")" | "]" => brackets = brackets.saturating_sub(1),
            _ => {}
        }
        let is_end = matches!(*token, "{" | "}") || (*token == ";" && brackets == 0);
        if !is_end {
            continue;
        }
        if at < start + token.len() {
            let found = body.get(begin..=index)?;
            return Some(found).filter(|_| *token == ";");
        }
        (begin, brackets) = (index + 1, 0);
    }
    None
}

/// The names that a declaration declares; all, where a semicolon is missing between several.
fn declared(tokens: &[Token<'_>]) -> Vec<String> {
    let mut names = Vec::new();
    let mut tokens = tokens.iter().map(|(_, token)| *token).peekable();
    while let Some(token) = tokens.next() {
        if !matches!(
            token,
            "let" | "var" | "const" | "override" | "alias" | "struct" | "fn"
        ) {
            continue;
        }
        // `var<storage, read>`
        if tokens.next_if_eq(&"<").is_some() {
            let _space = tokens.by_ref().find(|token| *token == ">");
        }
        names.extend(tokens.next().map(str::to_owned));
    }
    names
}

#[cfg(test)]
mod tests;
