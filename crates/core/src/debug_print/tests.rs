//! Statements found, divided, expanded and removed, and where their bytes are then.
#![allow(clippy::unwrap_used, reason = "tests")]
use super::{StatementKind, expanded, removed, statements, without_asserts};

#[test]
fn text_without_calls_is_not_copied() {
    for text in [
        "",
        "fn main() {}",
        "let debug_printer = 1;",
        "// debug_print(x);\nx",
    ] {
        assert!(
            matches!(expanded(text).text, std::borrow::Cow::Borrowed(_)),
            "{text}"
        );
        assert!(
            matches!(removed(text), std::borrow::Cow::Borrowed(_)),
            "{text}"
        );
    }
}

#[test]
fn lines_stay_where_they_are() {
    let text = "a\ndebug_print( // why\n f(x, y)[2]\n ) /* so\n */ ;\nb";
    assert_eq!(removed(text), "a\n\n\n\n\nb");
    let expanded = expanded(text).text;
    assert_eq!(expanded.lines().count(), 6, "{expanded}");
    assert!(expanded.contains("f(x, y)[2]"), "{expanded}");
}

#[test]
fn each_call_has_a_variable_of_its_own() {
    let text = expanded("debug_print(x);debug_print(vec2(y, 1));").text;
    assert!(
        text.contains("print_0_0 = (x);") && text.contains("print_1_0 = (vec2(y, 1));"),
        "{text}"
    );
}

#[test]
fn a_comment_at_the_end_of_an_argument_does_not_hide_the_rest() {
    let text = expanded("debug_print(x // the sum\n);").text;
    assert!(
        text.starts_with("{ var ziggurat_debug_print_0_0 = (x // the sum\n);"),
        "{text}"
    );
}

#[test]
fn comments_nest_and_hide() {
    let text = "/* /* */ debug_print(x); */ y";
    assert_eq!(removed(text), text);
    assert_eq!(removed("/* a */debug_print(x);y"), "/* a */y");
}

#[test]
fn what_is_no_statement_is_left_to_the_compiler() {
    for text in [
        "debug_print(x",
        "debug_print(x)",
        "debug_print x;",
        "debug_print(x));",
        "let y = debug_print(x) + 1;",
        "debug_print(a; b);",
        "debug_print([)];",
        "debug_print",
        "/* debug_print(x);",
    ] {
        let _ = expanded(text);
        let _ = removed(text);
    }
    assert_eq!(
        removed("for (;; debug_print(i)) {}"),
        "for (;; debug_print(i)) {}"
    );
}

#[test]
fn a_function_of_the_users_own_stays() {
    let text = "fn debug_print(x: f32) {}\nfn main() { debug_print(1.0); }";
    assert_eq!(expanded(text).text, text);
    assert_eq!(removed(text), text);
}

#[test]
fn places_map_back_to_the_original_text() {
    let text = "a; debug_print(x + 1); b; debug_print(y); c";
    let expanded = expanded(text);
    let at = |part: &str| expanded.text.find(part).unwrap();
    assert_eq!(
        expanded.places.original(at("x + 1")),
        text.find("x + 1").unwrap()
    );
    assert_eq!(expanded.places.original(at("b;")), text.find("b;").unwrap());
    assert_eq!(
        expanded.places.original(at("var zig")),
        text.find("debug_print(x").unwrap()
    );
    assert_eq!(super::expanded("abc").places.original(2), 2);
}

#[test]
fn hostile_texts_take_no_longer_than_others() {
    let start = std::time::Instant::now();
    for piece in [
        "debug_print(",
        "debug_print((;",
        "debug_print(x);",
        "debug_print([",
        "fn debug_print ",
    ] {
        let text = piece.repeat(100_000);
        let _ = (expanded(&text), removed(&text));
    }
    assert!(start.elapsed().as_secs() < 10, "{:?}", start.elapsed());
}

#[test]
fn values_are_divided_at_commas_and_not_in_types() {
    let values = |arguments: &str| -> Vec<String> {
        let text = format!("debug_print({arguments});");
        let statements = statements(&text);
        let values = statements[0].values.iter();
        values
            .map(|range| text[range.clone()].trim().to_owned())
            .collect()
    };
    for (arguments, expected) in [
        ("x", &["x"][..]),
        ("x, y", &["x", "y"]),
        ("f(x, y), z[a, b]", &["f(x, y)", "z[a, b]"]),
        (
            "array<u32, 2>(1, 2), vec2<f32>(x, y)",
            &["array<u32, 2>(1, 2)", "vec2<f32>(x, y)"],
        ),
        ("array<vec2<f32>, 2>(), b", &["array<vec2<f32>, 2>()", "b"]),
        ("a < b, c > d", &["a < b, c > d"]), // as WGSL reads it: a list of types
        ("a < b && c, c > d", &["a < b && c", "c > d"]),
        ("(a < b), c > d", &["(a < b)", "c > d"]),
        ("a << b, c >> d", &["a << b", "c >> d"]),
        ("a <= b, c >= d", &["a <= b", "c >= d"]),
        ("x, /* last */", &["x"]),
    ] {
        assert_eq!(values(arguments), expected, "{arguments}");
    }
}

#[test]
fn labels_and_conditions_are_found() {
    let text = "debug_print(\"at // {\", x); debug_print(\"here\"); assert(x < 1, \"small\", x, y);\nassert(x);";
    let found = statements(text);
    let shown: Vec<_> = found
        .iter()
        .map(|found| {
            let condition = found.condition.clone().map(|range| &text[range]);
            (
                found.kind,
                found.label.as_deref(),
                condition,
                found.values.len(),
            )
        })
        .collect();
    let (print, assert) = (StatementKind::Print, StatementKind::Assert);
    assert_eq!(
        shown,
        [
            (print, Some("at // {"), None, 1),
            (print, Some("here"), None, 0),
            (assert, Some("small"), Some("x < 1"), 2),
            (assert, None, Some("x"), 0),
        ]
    );
    let left = without_asserts(text);
    assert!(left.contains("debug_print(\"here\");") && !left.contains("assert"));
    assert_eq!(
        expanded("assert(a, \"b\", c);").text,
        "if !(a) { var ziggurat_debug_print_0_0 = ( c); ziggurat_debug_print_0_0 = ziggurat_debug_print_0_0; }"
    );
}

#[test]
fn an_assertion_of_the_users_own_leaves_prints() {
    let text = "fn assert(x: bool) {}\nfn main() { assert(true); debug_print(1); }";
    let found = statements(text);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].kind, StatementKind::Print);
    assert!(statements("const_assert(x);").is_empty());
}
