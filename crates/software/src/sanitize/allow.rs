//! Findings that are right as they are: a comment on the line says so, with the reason.
//!
//! `out[at] = merge(out[at], v); // sanitizer: allow(uninitialized): what lies behind the output is kept as it is`
//!
//! The comment is part of the kernel's text, so it goes wherever the kernel goes. It covers findings of the kinds it names
//! whose line it stands on, and nothing without a reason.

use super::kind::Kind;

const MARK: &str = "// sanitizer: allow(";

/// On the line of a buffer's declaration: the kernel writes all that is bound.
const WRITES_ALL: &str = "// sanitizer: writes-all";

/// Whether a declaration on this line says that the kernel writes all that is bound.
pub(crate) fn writes_all(code: &str) -> bool {
    code.contains(WRITES_ALL)
}

/// Why the line of code allows findings of that kind, if it does.
pub(super) fn reason(code: &str, kind: Kind) -> Option<&str> {
    let (_, after) = code.split_once(MARK)?;
    let (kinds, after) = after.split_once(')')?;
    let reason = after.strip_prefix(':')?.trim();
    let named = kinds.split(',').any(|name| name.trim() == kind.name());
    (named && !reason.is_empty()).then_some(reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_allows_the_kinds_that_it_names_and_says_why() {
        let line = "a = b << c; // sanitizer: allow(shift, race): meant";
        assert_eq!(reason(line, Kind::Shift), Some("meant"));
        assert_eq!(reason(line, Kind::Race), Some("meant"));
        assert_eq!(reason(line, Kind::Uninitialized), None);
        for none in [
            "a = b << c;",
            "a = b << c; // allow(shift): meant",
            "a = b << c; // sanitizer: allow(shift)",
            "a = b << c; // sanitizer: allow(shift): ",
            "a = b << c; // sanitizer: allow(shift",
            "a = b << c; // sanitizer: allow(shifts): meant",
        ] {
            assert_eq!(reason(none, Kind::Shift), None, "{none}");
        }
    }
}
