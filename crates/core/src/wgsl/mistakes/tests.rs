//! Mistakes are told once, where they are, and what follows from them is not.

#![allow(clippy::unwrap_used, reason = "tests")]
use super::*;

/// A compiler that knows no word that begins with `bad`, nor names that nothing declares.
fn read(text: &str) -> Result<usize, Refusal<String>> {
    let declares = ["let", "var", "const", "fn", "struct"];
    let words: Vec<Token<'_>> = tokens(text).collect();
    for (index, (at, word)) in words.iter().enumerate() {
        let is_known = |name: &str| {
            words.windows(2).any(|pair| {
                matches!(pair, [(_, kind), (_, known)] if declares.contains(kind) && *known == name)
            })
        };
        let before = index.checked_sub(1).and_then(|before| words.get(before));
        let is_used = before.is_some_and(|(_, before)| !declares.contains(before));
        let is_name = word.starts_with("own_") && is_used && !is_known(word);
        if word.starts_with("bad") || is_name {
            return Err(Refusal {
                at: Some(*at),
                words: format!("no definition for `{word}`"),
                error: (*word).to_owned(),
            });
        }
    }
    Ok(words.len())
}

fn errors(text: &str) -> Vec<String> {
    read_all(text, read).unwrap_err().errors
}

#[test]
fn each_mistake_is_found_once_in_order() {
    let text = "const own_c = bad1;
        fn f(x: u32) -> u32 { let own_a = bad2; let own_b = own_a; return own_b + own_c; }
        struct own_S { x: bad3 }
        fn g() { let y = bad4(1, [2; 3]); if bad5 { y = bad6; } }
        fn h(s: own_S) { bad7(); }
        fn main() { f(1); g(bad8); own_h(); }";
    // With `if bad5` goes the body, and with that `bad6`; with `own_S` goes `h`.
    let found = read_all(text, read).unwrap_err();
    let expected = ["bad1", "bad2", "bad3", "bad4", "bad5", "bad8", "own_h"];
    assert_eq!(found.errors, expected, "{found:?}");
    assert!(found.rest.is_some(), "{found:?}");
}

#[test]
fn names_are_gone_where_they_meant_something() {
    assert_eq!(errors("fn f() { let own_x = bad1; own_x = 2; }"), ["bad1"]);
    // The same name in another function is that function's mistake.
    let two = "fn f() { let own_x = bad1; } fn g() { own_x = 2; }";
    assert_eq!(errors(two), ["bad1", "own_x"]);
    // One of a module is gone everywhere.
    let global = "const own_x = bad1; fn f() { own_x = 1; } fn g() { y = own_x + bad2; }";
    assert_eq!(errors(global), ["bad1"], "its statement is gone with it");
}

#[test]
fn a_text_whose_braces_do_not_match_has_one_mistake() {
    for text in [
        "fn f() { bad1; fn g() { bad2; }",
        "fn f() { bad1; } } fn g() { bad2; }",
        "fn f() { bad1",
    ] {
        let found = read_all(text, read).unwrap_err();
        assert_eq!((found.errors.len(), found.rest), (1, None), "{text}");
    }
}

#[test]
fn functions_are_named_and_their_number_has_an_end() {
    let found = read_all("fn f() { bad1; } fn g() {} fn h() { bad2; }", read).unwrap_err();
    assert_eq!(found.changed, ["f", "h"]);
    let many: String = (0..100)
        .map(|i| format!("fn f{i}() {{ bad{i}; }}\n"))
        .collect();
    assert_eq!(errors(&many).len(), MOST);
    let follows: String = (0..100).map(|_| "own_x = 1;\n".to_owned()).collect();
    let text = format!("fn f() {{ let own_x = bad1;\n{follows} }}");
    assert_eq!(errors(&text), ["bad1"]);
    let nowhere = |_: &str| -> Result<(), Refusal<u32>> {
        Err(Refusal {
            at: None,
            words: String::new(),
            error: 1,
        })
    };
    assert_eq!(read_all("fn f() {}", nowhere).unwrap_err().errors, [1]);
}

#[test]
fn a_mistake_without_a_place_is_found_by_its_statement() {
    let text = "fn f(x: u32) { if a { b } else { bad; } for (var i = 0; i < 3; i++) { c } }
        fn g() { let d = e(f[1]); { bad2 } return }";
    let found = |word: &str| {
        let bytes = place_of(text, |left| left.contains(word))?;
        text.get(bytes)
    };
    assert_eq!(found("bad;"), Some("if a { b } else { bad; }"));
    assert_eq!(found("c }"), Some("for (var i = 0; i < 3; i++) { c }"));
    assert_eq!(found("e(f"), Some("let d = e(f[1]);"));
    assert_eq!(found("bad2"), Some("{ bad2 }"));
    assert_eq!(found("return"), Some("return"));
    assert_eq!(
        found("u32"),
        Some("if a { b } else { bad; }"),
        "outside of bodies: any"
    );
    assert_eq!(place_of("fn f() { bad; ", |_| true), None);
    assert_eq!(place_of("const x = bad;", |_| true), None);
}
