//! Operators that WGSL does not let follow each other without parentheses.
//!
//! `a | b << c` is no WGSL (its specification, "Operator Precedence and Associativity"): browsers refuse it, naga reads it by C's
//! order. Bits (`&`, `|`, `^`) take nothing but their own kind on their left, shifts take no operator at all, and comparisons
//! none of their own and no bits. What naga computes while it reads, and `&&` next to `||`, is not seen.

use naga::{BinaryOperator as Operator, Expression, Function, Module, Span};

/// Places of operands that need parentheses around them.
///
/// ```
/// let text = "fn f(a: u32, b: u32) -> u32 { return a | b << 16u; }";
/// let module = naga::front::wgsl::parse_str(text)?;
/// let found = ziggurat_check::missing_parentheses(text, &module);
/// assert_eq!(found[0].to_range().map(|range| &text[range]), Some("b << 16u"));
/// # Ok::<(), naga::front::wgsl::ParseError>(())
/// ```
#[must_use]
pub fn missing_parentheses(text: &str, module: &Module) -> Vec<Span> {
    let functions = module.functions.iter().map(|(_, function)| function);
    let entries = module.entry_points.iter().map(|point| &point.function);
    let all = functions.chain(entries);
    all.flat_map(|function| of_function(text, function))
        .collect()
}

fn of_function(text: &str, function: &Function) -> Vec<Span> {
    let mut found = Vec::new();
    let place = |handle| function.expressions.get_span(handle).to_range();
    for (handle, expression) in function.expressions.iter() {
        let (Expression::Binary { op, left, right }, Some(whole)) = (expression, place(handle))
        else {
            continue;
        };
        let op = *op;
        for (operand, is_left) in [(*left, true), (*right, false)] {
            let Expression::Binary { op: inner, .. } = function.expressions[operand] else {
                continue;
            };
            // What a name stands for is written elsewhere.
            let range =
                place(operand).filter(|range| whole.start <= range.start && range.end <= whole.end);
            let Some(range) = range else {
                continue;
            };
            let enclosed = match is_left {
                true => text
                    .get(range.end..)
                    .map(|rest| rest.trim_start().starts_with(')')),
                false => text
                    .get(..range.start)
                    .map(|rest| rest.trim_end().ends_with('(')),
            };
            if !may_stand(op, inner, is_left) && enclosed == Some(false) {
                found.push(function.expressions.get_span(operand));
            }
        }
    }
    found
}

/// Whether an operand with the operator `inner` needs no parentheses next to `op`.
fn may_stand(op: Operator, inner: Operator, is_left: bool) -> bool {
    match op {
        _ if is_bitwise(op) => is_left && inner == op,
        Operator::ShiftLeft | Operator::ShiftRight => false,
        _ if is_comparison(op) => !is_comparison(inner) && !is_bitwise(inner),
        _ => !is_bitwise(inner) && !matches!(inner, Operator::ShiftLeft | Operator::ShiftRight),
    }
}

fn is_bitwise(op: Operator) -> bool {
    matches!(
        op,
        Operator::And | Operator::InclusiveOr | Operator::ExclusiveOr
    )
}

fn is_comparison(op: Operator) -> bool {
    matches!(
        op,
        Operator::Equal
            | Operator::NotEqual
            | Operator::Less
            | Operator::LessEqual
            | Operator::Greater
            | Operator::GreaterEqual
    )
}

#[cfg(test)]
mod tests {
    //! What browsers accept and refuse, as Chromium's compiler says.
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn found(expression: &str) -> Vec<String> {
        let text = format!(
            "fn f(a: u32, b: u32, c: u32) -> u32 {{ let shifted = b << 1u; return u32({expression}); }}\nfn g(x: u32) -> u32 {{ return x; }}"
        );
        let module = naga::front::wgsl::parse_str(&text).unwrap();
        let spans = missing_parentheses(&text, &module).into_iter();
        let ranges = spans.map(|span| text[span.to_range().unwrap()].to_owned());
        ranges.collect()
    }

    #[test]
    fn what_wgsl_refuses_is_found() {
        for (expression, operand) in [
            ("a | b << c", "b << c"),
            ("a << b | c", "a << b"),
            ("a & b | c", "a & b"),
            ("a + b << c", "a + b"),
            ("a << b + c", "b + c"),
            ("a ^ b * c", "b * c"),
            ("g(a | b >> c)", "b >> c"),
            ("(a | b) ^ c & a", "c & a"),
        ] {
            assert_eq!(found(expression), [operand], "{expression}");
        }
    }

    #[test]
    fn what_wgsl_accepts_is_left_alone() {
        for expression in [
            "a | b | c",
            "a | (b << c)",
            "(a << b) | c",
            "a * b + c",
            "a << b < c",
            "a + b == c * a",
            "(a & b) == c",
            "g(a & b) | c",
            "(a + b) << (c % 32u)",
            "a ^ ( b & c )",
            "shifted | a",
            "a & shifted",
        ] {
            assert!(
                found(expression).is_empty(),
                "{expression}: {:?}",
                found(expression)
            );
        }
    }
}
