//! Parentheses where WGSL asks for them.
//!
//! Browsers refuse `a | b << c`; naga reads it by C's order. `ziggurat-check` has the analysis.

use ziggurat_check::missing_parentheses;

use crate::problem::Problem;
use crate::wgsl::variant::{Parsed, Variant};

/// Operands of a kernel that need parentheses.
pub(crate) fn check(variant: &Variant, parsed: &Parsed) -> Vec<Problem> {
    let found = missing_parentheses(&parsed.text, &parsed.module).into_iter();
    found
        .map(|span| {
            let message = "put parentheses around this: browsers refuse it without".to_owned();
            variant.problem(&parsed.text, span, "parentheses", message)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wgsl::variant::{parse, planted};

    fn lines(value: &str) -> Vec<u32> {
        let text = format!(
            "@group(0) @binding(0) var<storage, read_write> out: array<u32>;\n\
             @compute @workgroup_size(1)\n\
             fn main(@builtin(local_invocation_index) lid: u32) {{\n\
             out[0] = {value};\n\
             }}"
        );
        let variant = planted(&text);
        let parsed = parse(&variant).unwrap();
        let found = check(&variant, &parsed).into_iter();
        found.map(|problem| problem.line).collect()
    }

    #[test]
    fn a_shift_in_parentheses_is_accepted() {
        assert_eq!(lines("lid | (lid << 16u)"), Vec::<u32>::new());
    }

    #[test]
    fn a_shift_beside_bits_is_rejected() {
        assert_eq!(lines("lid |\nlid << 16u"), [5]);
    }
}
