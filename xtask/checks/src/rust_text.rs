//! Rust source with comments and literals blanked out, for the checks that look for names in code.
//!
//! Not a parser: enough to know what is code, where test modules are, and which attributes stand
//! before an item. Blanking keeps every line and column in place.

/// `text` with the inside of comments, strings and character literals replaced by spaces.
pub(crate) fn code_only(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while let Some(&c) = chars.get(at) {
        let end = match (c, chars.get(at + 1)) {
            ('/', Some('/')) => line_end(&chars, at),
            ('/', Some('*')) => block_comment_end(&chars, at),
            ('"', _) => string_end(&chars, at),
            ('r', Some('"' | '#')) if !follows_word(&chars, at) => raw_string_end(&chars, at),
            ('\'', _) => char_end(&chars, at),
            _ => at + 1,
        };
        if end == at + 1 {
            out.push(c);
        } else {
            let blanked = chars.get(at..end).unwrap_or_default();
            out.extend(blanked.iter().map(|&c| if c == '\n' { '\n' } else { ' ' }));
        }
        at = end;
    }
    out
}

fn follows_word(chars: &[char], at: usize) -> bool {
    at.checked_sub(1)
        .and_then(|before| chars.get(before))
        .is_some_and(|c| (c.is_alphanumeric() && *c != 'b') || *c == '_')
}

fn line_end(chars: &[char], at: usize) -> usize {
    let rest = chars.get(at..).unwrap_or_default();
    at + rest.iter().position(|&c| c == '\n').unwrap_or(rest.len())
}

fn block_comment_end(chars: &[char], at: usize) -> usize {
    let mut depth = 0_usize;
    let mut here = at;
    while here < chars.len() {
        match (chars.get(here), chars.get(here + 1)) {
            (Some('/'), Some('*')) => {
                depth += 1;
                here += 2;
            }
            (Some('*'), Some('/')) => {
                depth -= 1;
                here += 2;
                if depth == 0 {
                    return here;
                }
            }
            _ => here += 1,
        }
    }
    chars.len()
}

fn string_end(chars: &[char], at: usize) -> usize {
    let mut here = at + 1;
    while let Some(c) = chars.get(here) {
        match c {
            '\\' => here += 2,
            '"' => return here + 1,
            _ => here += 1,
        }
    }
    chars.len()
}

fn raw_string_end(chars: &[char], at: usize) -> usize {
    let hashes = chars
        .get(at + 1..)
        .unwrap_or_default()
        .iter()
        .take_while(|&&c| c == '#')
        .count();
    let mut here = at + 1 + hashes;
    if chars.get(here) != Some(&'"') {
        return at + 1; // a raw identifier
    }
    here += 1;
    while here < chars.len() {
        let closing = chars.get(here + 1..).unwrap_or_default();
        if chars.get(here) == Some(&'"')
            && closing.iter().take(hashes).filter(|&&c| c == '#').count() == hashes
        {
            return here + 1 + hashes;
        }
        here += 1;
    }
    chars.len()
}

/// The end of a character literal, or of the tick alone where it opens a lifetime.
fn char_end(chars: &[char], at: usize) -> usize {
    match (chars.get(at + 1), chars.get(at + 2)) {
        (Some('\\'), _) => {
            let rest = chars.get(at + 3..).unwrap_or_default();
            rest.iter()
                .position(|&c| c == '\'')
                .map_or(at + 1, |tick| at + 4 + tick)
        }
        (Some(_), Some('\'')) => at + 3,
        _ => at + 1,
    }
}

/// True for files that hold nothing but tests: `tests.rs`, and what lies in a folder `tests`.
pub(crate) fn is_test_file(path: &str) -> bool {
    path.contains("/tests/") || path.ends_with("/tests.rs") || path.contains("/benches/")
}

/// For each line (0-based), whether it belongs to an item under `#[cfg(test)]`.
pub(crate) fn test_lines(code: &str) -> Vec<bool> {
    marked_lines(code, |attribute| {
        attribute.contains("cfg(test)") || attribute.contains("cfg(all(test")
    })
}

/// For each line (0-based), whether it belongs to an item left out on `wasm32`.
pub(crate) fn native_lines(text: &str) -> Vec<bool> {
    marked_lines(text, |attribute| {
        attribute.contains("cfg(") && attribute.contains("not(target_arch = \"wasm32\")")
    })
}

/// Marks the lines of every item that carries an attribute for which `wanted` holds, from the
/// attribute to the item's closing brace or semicolon.
fn marked_lines(text: &str, wanted: impl Fn(&str) -> bool) -> Vec<bool> {
    let lines: Vec<&str> = text.lines().collect();
    let mut marks = vec![false; lines.len()];
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        let code = line.trim_start();
        let inner = code.starts_with("#![") && wanted(code);
        if inner {
            marks.iter_mut().for_each(|mark| *mark = true);
            return marks;
        }
        if code.starts_with("#[") && wanted(code) {
            let end = item_end(&lines, at);
            for mark in marks.iter_mut().take(end + 1).skip(at) {
                *mark = true;
            }
            at = end;
        }
        at += 1;
    }
    marks
}

/// The last line of the item whose attribute is on line `at`.
fn item_end(lines: &[&str], at: usize) -> usize {
    let mut depth = 0_i32;
    let mut brackets = 0_i32;
    let mut opened = false;
    for (offset, line) in lines.iter().enumerate().skip(at) {
        let code = line.split("//").next().unwrap_or(line);
        for c in code.chars() {
            match c {
                '{' => {
                    depth += 1;
                    opened = true;
                }
                '}' => depth -= 1,
                '(' | '[' => brackets += 1,
                ')' | ']' => brackets -= 1,
                ';' | ',' if depth == 0 && brackets == 0 => return offset,
                _ => {}
            }
            if (opened && depth == 0) || depth < 0 {
                return offset;
            }
        }
    }
    lines.len().saturating_sub(1)
}

/// True if `word` stands in `code` at byte `at` as a word of its own.
pub(crate) fn is_word_at(code: &str, at: usize, word: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    let before = code.get(..at).and_then(|text| text.chars().next_back());
    let after = code
        .get(at + word.len()..)
        .and_then(|text| text.chars().next());
    !before.is_some_and(part) && !after.is_some_and(part)
}

/// The 1-based lines of `code` on which `word` stands as a word of its own.
pub(crate) fn lines_with_word<'a>(code: &'a str, word: &'a str) -> impl Iterator<Item = u32> + 'a {
    (1_u32..)
        .zip(code.lines())
        .filter_map(move |(number, line)| {
            let found = line
                .match_indices(word)
                .any(|(at, _)| is_word_at(line, at, word));
            found.then_some(number)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_strings_and_characters_are_blanked_in_place() {
        let text = "let a = \"unsafe \\\" x\"; // unsafe\nlet c = '\"'; /* a /* b */ c */ call(r#\"todo!\"#)";
        let code = code_only(text);
        assert_eq!(code.chars().count(), text.chars().count());
        assert_eq!(code.lines().count(), 2);
        assert!(!code.contains("unsafe") && !code.contains("todo"));
        assert!(code.contains("let a =") && code.contains("call("));
    }

    #[test]
    fn lifetimes_are_not_characters() {
        let code = code_only("fn f<'a>(x: &'a str) -> &'a str { g(x, 'b') }");
        assert!(code.contains("&'a str) -> &'a str"));
        assert!(!code.contains("'b'"));
    }

    #[test]
    fn lines_under_cfg_test_are_known() {
        let code = "fn a() {}\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\nfn c() {}";
        assert_eq!(test_lines(code), [false, true, true, true, true, false]);
    }

    #[test]
    fn lines_of_native_items_are_known() {
        let text = "#[cfg(not(target_arch = \"wasm32\"))]\n/// Blocks.\npub fn open_blocking(\n    a: u32,\n) {\n}\npub fn b() {}";
        assert_eq!(
            native_lines(text),
            [true, true, true, true, true, true, false]
        );
        assert_eq!(
            native_lines("#[cfg(not(target_arch = \"wasm32\"))]\npub use a::{b, c};\nfn d() {}"),
            [true, true, false]
        );
    }

    #[test]
    fn test_files_are_known_by_their_path() {
        assert!(is_test_file("crates/a/tests/b.rs") && is_test_file("crates/a/src/b/tests.rs"));
        assert!(
            is_test_file("crates/a/src/b/tests/c.rs") && !is_test_file("crates/a/src/contests.rs")
        );
    }

    #[test]
    fn words_are_whole() {
        assert_eq!(
            lines_with_word("a submit b\nresubmit\nsubmit(", "submit").collect::<Vec<_>>(),
            [1, 3]
        );
    }
}
