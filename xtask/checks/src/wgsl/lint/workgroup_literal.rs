//! A workgroup size is an override, never a number.
//!
//! The Rust side chooses it from the adapter's limits; a number here would be a second copy.

use super::Finding;
use crate::wgsl::scan::Token;
use xtask::workspace::TextFile;

pub(super) fn check(_: &TextFile, tokens: &[Token<'_>]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (at, token) in tokens
        .iter()
        .enumerate()
        .filter(|(_, token)| token.text == "workgroup_size")
    {
        let arguments = tokens
            .iter()
            .skip(at + 2)
            .take_while(|token| token.text != ")");
        for argument in arguments.filter(|argument| argument.text != ",") {
            if !argument.text.starts_with("WG") {
                findings.push((
                    token.line,
                    format!(
                        "the workgroup size is `{}`, not WG, WG_X or WG_Y",
                        argument.text
                    ),
                ));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::findings;
    use super::check;

    #[test]
    fn overrides_are_accepted() {
        assert!(
            findings(
                check,
                "a.wgsl",
                "@compute @workgroup_size(WG)\nfn main() {}"
            )
            .is_empty()
        );
        assert!(
            findings(
                check,
                "a.wgsl",
                "@compute @workgroup_size(WG_X, WG_Y)\nfn main() {}"
            )
            .is_empty()
        );
    }

    #[test]
    fn a_number_is_rejected() {
        assert_eq!(
            findings(
                check,
                "a.wgsl",
                "\n@compute @workgroup_size(256)\nfn main() {}"
            ),
            [2]
        );
        assert_eq!(
            findings(check, "a.wgsl", "@workgroup_size(WG_X, 8) fn main() {}"),
            [1]
        );
    }
}
