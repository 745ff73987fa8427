//! Texts and calls of custom ops that are refused.

use super::*;

#[track_caller]
fn refused(text: &str, place: &str, words: &str) {
    let error = CustomOp::elementwise("own", text).unwrap_err();
    assert!(error.is_kernel(), "{error}");
    let shown = error.to_string();
    assert!(shown.contains(&format!("own:{place}: ")), "{text}\n{shown}");
    assert!(shown.contains(words), "{text}\n{shown}");
    assert!(shown.len() < 1200);
}

#[test]
fn mistakes_in_a_text_have_line_and_column() {
    refused(
        "fn apply(x: f32) -> f32 {\n    return x + z;\n}",
        "2:16",
        "z",
    );
    refused(
        "fn apply(x: f32) -> f32 {\n    return 1u;\n}",
        "2:12",
        "return",
    );
    refused(
        "fn apply(x: f32) -> f32 {\n    return x;",
        "2:14",
        "expected",
    );
    refused(
        "fn apply(x: f32) -> f32 { return x; }\n/* open",
        "1:38",
        "not closed",
    );
    refused("fn apply(x: f16) -> f32 { return 0.0; }", "1:13", "f16");
    refused(
        "fn apply(x: vec2<f32>) -> f32 { return x.x; }",
        "1:13",
        "not `vec2`",
    );
    refused("fn apply() -> f32 { return 1.0; }", "1:10", "at least one");
    refused(
        "fn apply(a: f32, b: f32, c: f32, d: f32, e: f32, f: f32, g: f32, h: f32, i: f32) -> f32 { return a; }",
        "1:74",
        "at most 8",
    );
    refused("fn apply(a: f32) { }", "1:18", "expected `-`");
    refused(
        "fn other(a: f32) -> f32 { return a; }",
        "1:38",
        "no function `apply`",
    );
    refused("", "1:1", "no function `apply`");
    refused(
        "var<private> n: u32;\nfn apply(a: f32) -> f32 { return a; }",
        "1:1",
        "`var`",
    );
    refused(
        "@compute @workgroup_size(1) fn main() { }",
        "1:2",
        "entry point",
    );
    refused(
        "enable f16;\nfn apply(a: f32) -> f32 { return a; }",
        "1:1",
        "`enable`",
    );
    refused(
        "fn apply(a: f32) -> f32 {\n workgroupBarrier(); return a; }",
        "2:2",
        "each element by itself",
    );
    refused(
        "fn apply(a: f32) -> f32 {\n return subgroupAdd(a); }",
        "2:9",
        "each element by itself",
    );
    refused(
        "alias f32 = u32; fn apply(a: f32) -> f32 { return a; }",
        "1:7",
        "name of a type",
    );
    refused(
        "fn apply(a: f32) -> f32 { return a; }\nfn apply(a: f32) -> f32 { return a; }",
        "2:4",
        "apply",
    );
    refused(
        "fn apply(a: f32) -> f32 { return apply(a); }",
        "1:4",
        "apply",
    );
    assert!(CustomOp::elementwise("a/b\n", "fn apply(x: f32) -> f32 { return x; }").is_err());
    assert!(CustomOp::elementwise("", "fn apply(x: f32) -> f32 { return x; }").is_err());
}

#[test]
fn what_is_too_large_is_refused_at_once() {
    let refused_soon = |text: String, words: &str| {
        let begin = Instant::now();
        let error = CustomOp::elementwise("own", &text).unwrap_err();
        assert!(begin.elapsed() < Duration::from_secs(1));
        assert!(
            error.is_kernel() && error.to_string().contains(words),
            "{error}"
        );
    };
    let nested = |n: usize| {
        format!(
            "fn apply(x: f32) -> f32 {{ return {}x{}; }}",
            "(".repeat(n),
            ")".repeat(n)
        )
    };
    refused_soon(nested(10_000), "operations within each other");
    refused_soon(nested(5_000_000), "bytes of text");
    let long = |n: usize| {
        format!(
            "fn apply(x: f32) -> f32 {{ {} return x; }}",
            "_ = x;".repeat(n)
        )
    };
    refused_soon(long(4_000), "tokens in one function");
    let doubled: String = (1..30)
        .map(|i| {
            format!(
                "fn f{i}(x: f32) -> f32 {{ return f{0}(x) + f{0}(x); }}\n",
                i - 1
            )
        })
        .collect();
    let doubled = format!(
        "fn f0(x: f32) -> f32 {{ return x; }}\n{doubled}fn apply(x: f32) -> f32 {{ return f29(x); }}"
    );
    refused_soon(doubled, "once calls are inlined");
    assert!(CustomOp::elementwise("own", &nested(80)).is_ok());
}

#[test]
fn calls_are_checked() {
    let device = common::device();
    let x = numbers(&device, &[3], DType::F32);
    let y = numbers(&device, &[4], DType::F32);
    let fails = |operands: &[&dyn Operand]| either().call(operands).unwrap_err();
    assert!(fails(&[&x]).is_argument());
    assert!(fails(&[&1, &2, &3]).is_argument());
    assert!(fails(&[&x, &y, &1]).is_shape());
    let other = Device::open_blocking(DeviceOptions::default()).unwrap();
    assert!(fails(&[&x, &numbers(&other, &[3], DType::F32), &1]).is_argument());
    let whole = op(
        "whole",
        "fn apply(x: i32, on: bool) -> i32 { return select(0, x, on); }",
    );
    let error = whole.call(&[&x, &true]).unwrap_err();
    assert!(
        error.is_dtype() && error.to_string().contains("operand 1"),
        "{error}"
    );
    let n = Tensor::arange(&device, 0, 3, 1, DType::I32).unwrap();
    assert!(whole.call(&[&n, &1]).unwrap_err().is_dtype());
    assert!(whole.call(&[&n, &n]).unwrap_err().is_dtype());
    assert!(
        whole
            .call(&[&1.5, &n.gt(1).unwrap()])
            .unwrap_err()
            .is_dtype()
    );
    assert!(
        whole
            .call(&[&3e9, &n.gt(1).unwrap()])
            .unwrap_err()
            .is_dtype()
    );
    let chosen = whole.call(&[&-5, &n.gt(1).unwrap()]).unwrap();
    assert_eq!(chosen.to_vec_blocking::<i32>().unwrap(), [0, 0, -5]);
}
