//! The text of a kernel whose loads keep their place among barriers.

/// Declares every storage buffer as one that may be written. Lines stay where they are.
pub(crate) fn writable(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 64);
    let mut rest = text;
    while let Some(at) = rest.find("var") {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        match read_only(from) {
            Some(behind) => {
                out.push_str("var<storage, read_write>");
                let taken = &from[..from.len() - behind.len()];
                out.extend(taken.chars().filter(|&c| c == '\n'));
                rest = behind;
            }
            None => {
                out.push_str("var");
                rest = &from["var".len()..];
            }
        }
    }
    out.push_str(rest);
    out
}

/// What follows `var<storage>` or `var<storage, read>`, if the text begins so.
fn read_only(text: &str) -> Option<&str> {
    fn skip(text: &str, token: &str) -> Option<usize> {
        let behind = text.trim_start().strip_prefix(token)?;
        Some(text.len() - behind.len())
    }
    let mut at = "var".len();
    for known in ["<", "storage"] {
        at += skip(text.get(at..)?, known)?;
    }
    if let Some(comma) = skip(text.get(at..)?, ",") {
        at += comma;
        if let Some(read) = skip(text.get(at..)?, "read") {
            at += read;
            at += skip(text.get(at..)?, ",").unwrap_or_default();
        }
    }
    at += skip(text.get(at..)?, ">")?;
    text.get(at..)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_only_read_becomes_writable_and_nothing_else() {
        let cases = [
            (
                "var<storage, read> a: array<f32>;",
                "var<storage, read_write> a: array<f32>;",
            ),
            ("var<storage> a: u32;", "var<storage, read_write> a: u32;"),
            (
                "var < storage,\n read, > a: u32;",
                "var<storage, read_write>\n a: u32;",
            ),
            (
                "var<storage, read_write> a: u32; var<storage,read> é: u32;",
                "var<storage, read_write> a: u32; var<storage, read_write> é: u32;",
            ),
            (
                "var<uniform> u: u32; var<workgroup> variance: u32; var v = 1u;",
                "var<uniform> u: u32; var<workgroup> variance: u32; var v = 1u;",
            ),
            ("var", "var"),
            ("var<storage", "var<storage"),
        ];
        for (text, want) in cases {
            assert_eq!(writable(text), want, "{text}");
        }
    }
}
