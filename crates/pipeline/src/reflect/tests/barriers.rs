//! Barriers that some invocations may not reach: warned of, whatever the text, and in little time.

use super::*;

/// Where barriers of such a body, and of the functions before it, are warned of.
fn warned(functions: &str, body: &str) -> Vec<(u32, u32)> {
    let text = format!(
        "@group(0) @binding(0) var<storage, read_write> y: array<u32>;
        @group(0) @binding(1) var<uniform> n: u32;
        {functions}
        @compute @workgroup_size(64) fn main(@builtin(local_invocation_index) i: u32) {{
{body}
        }}"
    );
    let source = ShaderSource::wgsl("k", text);
    let found = reflect(&KernelDescriptor::new(source), ShaderFeatures::NONE).unwrap();
    let warnings = found.warnings().into_iter();
    warnings
        .map(|warning| {
            let shown = warning.to_string();
            assert!(shown.starts_with("k: k:"), "{shown}");
            assert!(shown.ends_with(&warning.place.snippet), "{shown}");
            assert!(warning.place.snippet.contains('^'), "{shown}");
            (warning.place.line, warning.place.column)
        })
        .collect()
}

#[test]
fn divergent_barriers_have_their_places() {
    let cases = [
        ("workgroupBarrier();", vec![]),
        ("if n > 1u { workgroupBarrier(); }", vec![]),
        ("if i > 1u { workgroupBarrier(); }", vec![(5, 13)]),
        ("if y[0] > 1u { storageBarrier(); }", vec![(5, 16)]),
        ("if i > 3u { return; } workgroupBarrier();", vec![(5, 23)]),
        ("for (var k = 0u; k < i; k++) { sync(); }", vec![(3, 21)]),
        (
            "if twice(i) > 1u { sync(); } if twice(n) > 1u { workgroupBarrier(); }",
            vec![(3, 21)],
        ),
        (
            "var k = n; change(&k, i); if k == 1u { workgroupBarrier(); }",
            vec![(5, 40)],
        ),
        (
            "var k = n; change(&k, n); if k == 1u { workgroupBarrier(); }",
            vec![],
        ),
        (
            "var a = array<u32, 4>(); a[i % 4u] = 1u; if a[0] == 1u { workgroupBarrier(); }",
            vec![(5, 58)],
        ),
        // In the order in which they become divergent from the last to the first.
        (
            "var a = 0u; var b = 0u; var c = 0u;
for (var k = 0u; k < n; k++) { if a == 1u { workgroupBarrier(); } a = b; b = c; c = i; }",
            vec![(6, 45)],
        ),
    ];
    let functions = "fn sync() { workgroupBarrier(); } fn twice(x: u32) -> u32 { return 2u * x; } fn change(k: ptr<function, u32>, x: u32) { *k = x; }";
    for (body, expected) in cases {
        assert_eq!(warned(functions, body), expected, "{body}");
    }
}

#[test]
fn texts_that_would_be_looked_at_very_often_take_no_time() {
    // Each value is made of the one before twice.
    let mut sums = "let a0 = n;".to_owned();
    for k in 1..200 {
        sums += &format!(" let a{k} = a{} + a{};", k - 1, k - 1);
    }
    let body = format!("{sums} if a199 == 0u {{ workgroupBarrier(); }}");
    assert_eq!(warned("", &body), []);
    let body = body.replacen('n', "i", 1);
    assert_eq!(warned("", &body).len(), 1);

    // Loops are looked at twice, with all that is in them.
    let loops = format!(
        "{} if i == 0u {{ workgroupBarrier(); }} {}",
        "loop { if n == 0u { break; } ".repeat(35),
        "}".repeat(35)
    );
    assert_eq!(warned("", &loops).len(), 1);

    let chain = |calls: usize| {
        let mut functions = "fn f0() { workgroupBarrier(); }".to_owned();
        for k in 1..calls {
            functions += &format!(" fn f{k}() {{ f{}(); }}", k - 1);
        }
        warned(&functions, &format!("if i == 0u {{ f{}(); }}", calls - 1))
    };
    assert_eq!(chain(50).len(), 1);
    // Deeper than is looked into: nothing is said.
    assert_eq!(chain(300).len(), 0);
}
