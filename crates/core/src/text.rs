//! Texts of errors, kept short: what users, files and compilers give may be of any length.

use std::fmt::{self, Write as _};

/// The longest text of an error, in bytes.
pub const ERROR_BYTES: usize = 1024;

/// What stands for what was left out.
const CUT: &str = " [...] ";

/// A text of at most `most` bytes: a longer one loses its middle, since beginnings and ends tell most.
///
/// ```
/// use ziggurat_core::text::shortened;
/// assert_eq!(shortened("kernel", 20), "kernel");
/// assert_eq!(shortened(&"abcdefgh".repeat(9), 20), "abcdefg [...] cdefgh");
/// ```
#[must_use]
pub fn shortened(text: &str, most: usize) -> std::borrow::Cow<'_, str> {
    if text.len() <= most {
        return text.into();
    }
    let room = most.saturating_sub(CUT.len());
    let (mut head, mut tail) = (room.div_ceil(2), text.len() - room / 2);
    while !text.is_char_boundary(head) {
        head -= 1;
    }
    while !text.is_char_boundary(tail) {
        tail += 1;
    }
    let part = |range: std::ops::Range<usize>| text.get(range).unwrap_or_default();
    format!("{}{CUT}{}", part(0..head), part(tail..text.len())).into()
}

/// Writes what `write` writes, but no more than [`ERROR_BYTES`]; what is longer ends in ` [...]`. For `Display` of errors.
///
/// # Errors
///
/// Those of the formatter.
pub fn at_most_error_bytes(
    f: &mut fmt::Formatter<'_>,
    write: impl FnOnce(&mut dyn fmt::Write) -> fmt::Result,
) -> fmt::Result {
    let mut out = Beginning {
        room: ERROR_BYTES - CUT.len(),
        full: false,
        out: f,
    };
    match write(&mut out) {
        Err(fmt::Error) if out.full => f.write_str(CUT.trim_end()),
        result => result,
    }
}

/// Passes on the beginning of what is written to it.
struct Beginning<'a, 'b> {
    out: &'a mut fmt::Formatter<'b>,
    /// Bytes that may still be passed on.
    room: usize,
    full: bool,
}

impl fmt::Write for Beginning<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut cut = self.room.min(text.len());
        while !text.is_char_boundary(cut) {
            cut -= 1;
        }
        let (fits, rest) = text.split_at(cut);
        self.out.write_str(fits)?;
        self.room -= fits.len();
        self.full = !rest.is_empty();
        if self.full { Err(fmt::Error) } else { Ok(()) }
    }
}

/// `a, b`, or `none`; of many the first few, and how many more there are.
///
/// ```
/// use ziggurat_core::text::list;
/// assert_eq!(list(&["a", "b"], 8), "a, b");
/// assert_eq!(list(&["a", "b", "c", "d"], 2), "a, b and 2 more");
/// ```
#[must_use]
pub fn list(items: &[impl AsRef<str>], most: usize) -> String {
    if items.is_empty() {
        return "none".to_owned();
    }
    let mut text = String::new();
    for (i, item) in items.iter().take(most).enumerate() {
        let before = if i == 0 { "" } else { ", " };
        // Writing into a string does not fail.
        let _ = write!(text, "{before}{}", shortened(item.as_ref(), 64));
    }
    if items.len() > most {
        let _ = write!(text, " and {} more", items.len() - most);
    }
    text
}

/// A line of code with its number, and below it carets under some of its bytes; of a long line what is around them.
///
/// ```
/// let shown = ziggurat_core::text::marked_line("let x = y;", 8..9, 7);
/// assert_eq!(shown, "7 | let x = y;\n  |         ^");
/// ```
#[must_use]
pub fn marked_line(code: &str, marked: std::ops::Range<usize>, line: u32) -> String {
    let code = code.trim_end_matches('\r');
    let (before, rest) = code.split_at_checked(marked.start).unwrap_or((code, ""));
    let length = marked.end.saturating_sub(marked.start);
    let (marked, after) = rest.split_at_checked(length).unwrap_or((rest, ""));
    let before = ending(before, 60);
    let (marked, after) = (beginning(marked, 60), beginning(after, 40));
    let pad: String = before
        .chars()
        .map(|c| if c == '\t' { '\t' } else { ' ' })
        .collect();
    let carets = "^".repeat(marked.chars().count().max(1));
    let line = line.to_string();
    let gutter = " ".repeat(line.len());
    format!("{line} | {before}{marked}{after}\n{gutter} | {pad}{carets}")
}

/// A whole line of a text as [`marked_line`] shows it, without the blanks at both ends, and the column where it begins, from 1; `None`
/// if the text has no such line, which is counted from 1.
///
/// ```
/// let shown = ziggurat_core::text::marked_whole_line("\n  a b;\n", 2);
/// assert_eq!(shown, Some((3, "2 |   a b;\n  |   ^^^^".to_owned())));
/// ```
#[must_use]
pub fn marked_whole_line(text: &str, line: u32) -> Option<(u32, String)> {
    let index = usize::try_from(line.checked_sub(1)?).ok()?;
    let code = text.lines().nth(index)?;
    let begin = code.len() - code.trim_start().len();
    let column = u32::try_from(begin + 1).unwrap_or(u32::MAX);
    Some((
        column,
        marked_line(code, begin..code.trim_end().len(), line),
    ))
}

/// The text, or the beginning of one with more than `most` characters.
fn beginning(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
    }
}

/// The text, or the end of one with more than `most` characters.
fn ending(text: &str, most: usize) -> String {
    match text.char_indices().rev().nth(most) {
        None => text.to_owned(),
        Some((start, c)) => {
            let rest = text.get(start + c.len_utf8()..).unwrap_or_default();
            format!("…{rest}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Long(usize);

    impl fmt::Display for Long {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            at_most_error_bytes(f, |out| {
                for _ in 0..self.0 {
                    out.write_str("é")?;
                }
                Ok(())
            })
        }
    }

    #[test]
    fn errors_end_where_the_room_ends() {
        assert_eq!(Long(3).to_string(), "ééé");
        for count in [507, 508, 509, 510, 600, 1_000_000] {
            let text = Long(count).to_string();
            assert!(text.len() <= ERROR_BYTES, "{}", text.len());
            assert_eq!(text.ends_with(" [...]"), count > 508, "{count}");
        }
    }

    #[test]
    fn letters_stay_whole() {
        for most in 8..40 {
            let text = shortened("éüöäéüöäéüöäéüöäéüöäéüöäéüöäéüöä", most).into_owned();
            assert!(text.len() <= most && text.contains("[...]"), "{text}");
        }
    }
}
