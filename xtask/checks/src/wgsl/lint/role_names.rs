//! Nothing is called `A`, `B` or `C`.
//!
//! They are role names in `coop_mat16x16<f16, A>`: a declaration with one of these names breaks the
//! parse of any kernel that also uses cooperative matrices.

use super::Finding;
use crate::wgsl::scan::Token;
use xtask::workspace::TextFile;

const ROLES: [&str; 3] = ["A", "B", "C"];
const DECLARING: [&str; 7] = ["let", "var", "const", "override", "fn", "alias", "struct"];

pub(super) fn check(_: &TextFile, tokens: &[Token<'_>]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (at, token) in tokens
        .iter()
        .enumerate()
        .filter(|(_, token)| ROLES.contains(&token.text))
    {
        let before = at
            .checked_sub(1)
            .and_then(|before| tokens.get(before))
            .map(|token| token.text);
        let after = tokens.get(at + 1).map(|token| token.text);
        // `>` before a name closes `var<storage, read>`; `:` after it declares a parameter or member.
        let declared = before.is_some_and(|before| DECLARING.contains(&before))
            || before == Some(">")
            || after == Some(":");
        if declared {
            findings.push((
                token.line,
                format!("`{}` is the name of a cooperative matrix role", token.text),
            ));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::findings;
    use super::check;

    #[test]
    fn the_role_itself_is_accepted() {
        assert!(findings(check, "a.wgsl", "var x: coop_mat16x16<f16, A>; let b = a;").is_empty());
    }

    #[test]
    fn declarations_with_a_role_name_are_rejected() {
        assert_eq!(
            findings(check, "a.wgsl", "\nvar<storage, read> A: array<f32>;"),
            [2]
        );
        assert_eq!(findings(check, "a.wgsl", "const B = 1u;"), [1]);
        assert_eq!(findings(check, "a.wgsl", "fn f(C: f32) {}"), [1]);
    }
}
