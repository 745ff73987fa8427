//! Several parts of one kind in one module: identifiers of a part are replaced, everything else stays.
//!
//! Each prelude defines `elem`, `unpack`, ... and each snippet `apply`. A fused kernel needs those of several dtypes and
//! ops, so each copy gets names of its own. Invariant: lines stay lines, so that the line map still leads to the file.

/// The text with whole identifiers outside of comments replaced. Members (`.x`) are left alone.
pub(crate) fn rename(text: &str, names: &[(&str, String)]) -> String {
    let mut renamed = String::with_capacity(text.len() + text.len() / 4);
    for line in text.split_inclusive('\n') {
        let (code, comment) = line.split_at(line.find("//").unwrap_or(line.len()));
        rename_code(code, names, &mut renamed);
        renamed.push_str(comment);
    }
    renamed
}

fn rename_code(code: &str, names: &[(&str, String)], renamed: &mut String) {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut rest = code;
    let mut member = false;
    while let Some(first) = rest.chars().next() {
        let end = if is_word(first) {
            rest.find(|c| !is_word(c)).unwrap_or(rest.len())
        } else {
            first.len_utf8()
        };
        let (token, behind) = rest.split_at(end);
        let new = names.iter().find(|(old, _)| *old == token && !member);
        renamed.push_str(new.map_or(token, |(_, new)| new));
        member = token == ".";
        rest = behind;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaces_whole_identifiers_and_nothing_else() {
        let names = [("elem", "elem_f16".to_owned()), ("x", "y".to_owned())];
        assert_eq!(
            rename(
                "fn f(x: elem) -> elems { // elem x\n  return v.x + x1 + elem(0x1u);\n}\n",
                &names
            ),
            "fn f(y: elem_f16) -> elems { // elem x\n  return v.x + x1 + elem_f16(0x1u);\n}\n"
        );
    }

    #[test]
    fn keeps_lines() {
        let text = "a\n\n// b\nc";
        assert_eq!(rename(text, &[]), text);
        assert_eq!(rename(text, &[("c", "d".to_owned())]).lines().count(), 4);
    }
}
