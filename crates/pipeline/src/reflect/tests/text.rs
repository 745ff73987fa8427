//! Texts that end too early, and compilers that panic.

use super::super::guarded;
use super::*;

#[test]
fn a_missing_brace_is_told_at_the_end_of_the_text() {
    let source = ShaderSource::new("probe")
        .part("first.wgsl", "const ONE = 1u;\n")
        .part(
            "last.wgsl",
            "@compute @workgroup_size(1)\nfn main() {\n  let x = ONE;\n\n",
        );
    let error = reflect(&KernelDescriptor::new(source), ShaderFeatures::NONE).unwrap_err();
    let PipelineError::Parse { place, .. } = &error else {
        panic!("{error:?}");
    };
    assert_eq!(place.to_string(), "last.wgsl:3:15", "{error}");
    assert_eq!(place.snippet, "3 |   let x = ONE;\n  |               ^");
}

#[test]
fn a_panic_of_the_compiler_is_told_in_its_words() {
    // No message on standard error: the hook that prints one is the process's.
    let words = |payload: Box<dyn std::any::Any + Send>| {
        let work = || -> Result<(), PipelineError> { std::panic::resume_unwind(payload) };
        guarded("probe", work).unwrap_err().to_string()
    };
    let text = words(Box::new("index 7 of 3".to_owned()));
    assert!(text.starts_with("probe: probe: cannot compile: "), "{text}");
    assert!(
        text.ends_with("panicked on this text: index 7 of 3"),
        "{text}"
    );
    assert!(words(Box::new("plain")).ends_with("plain"));
    assert!(words(Box::new("w".repeat(100_000))).len() <= 1024);
}

#[test]
fn a_type_without_a_place_is_refused_where_it_is_used() {
    let head = "enable wgpu_cooperative_matrix;\n";
    let entry = "@compute @workgroup_size(8, 8) fn main() {";
    for (text, place) in [
        (
            format!("{head}var<private> m: coop_mat16x16<i32, A>;\n{entry} _ = m; }}"),
            "t.wgsl:2:1",
        ),
        (
            format!("{head}{entry}\n    var m: coop_mat16x16<u32, A>;\n}}"),
            "t.wgsl:3:5",
        ),
    ] {
        let source = ShaderSource::wgsl("t.wgsl", text);
        let error = reflect(&KernelDescriptor::new(source), ShaderFeatures::all()).unwrap_err();
        let shown = error.to_string();
        assert!(shown.contains(place), "{shown}");
        assert!(
            shown.contains("floating-point") && !shown.contains("Type ["),
            "{shown}"
        );
    }
}

/// naga lets others pass, and NVIDIA's compiler fails at them.
#[test]
fn matrices_come_from_memory_of_their_own_type() {
    let tried = |memory: &str, space: &str| {
        let text = format!(
            "enable f16;
enable wgpu_cooperative_matrix;
{space} m: array<{memory}, 64>;
@compute @workgroup_size(32)
fn main() {{
    let a = coopLoad<coop_mat16x16<f16, A>>(&m[0], 4u);
    let r = coopMultiplyAdd(a, coop_mat16x16<f16, B>(), coop_mat16x16<f32, C>());
}}"
        );
        let source = ShaderSource::wgsl("t.wgsl", text);
        reflect(&KernelDescriptor::new(source), ShaderFeatures::all()).map(drop)
    };
    let shared = "var<workgroup>";
    let bound = "@group(0) @binding(0) var<storage, read>";
    for space in [shared, bound] {
        for right in ["f16", "vec2<f16>", "vec4<f16>"] {
            tried(right, space).unwrap();
        }
        let loaded = "t.wgsl:6:13: `coopLoad` makes a matrix of the memory's type, which is ";
        let multiplied = "t.wgsl:7:13: a cooperative matrix of f32 is multiplied by one of f16";
        for (wrong, expected) in [
            ("u32", format!("{loaded}u32")),
            ("vec4<i32>", format!("{loaded}i32")),
            ("vec2<f32>", multiplied.to_owned()),
        ] {
            let shown = tried(wrong, space).unwrap_err().to_string();
            assert!(shown.contains(&expected), "{shown}");
        }
    }
}

/// naga panics at others when it writes SPIR-V.
#[test]
fn what_is_given_to_stores_of_matrices_is_known_before() {
    let tried = |store: &str| {
        let text = format!(
            "enable wgpu_cooperative_matrix;
@group(0) @binding(0) var<storage, read_write> m: array<f32>;
override LINE: u32 = 8u;
fn line() -> u32 {{ return arrayLength(&m) / 8u; }}
@compute @workgroup_size(32)
fn main(@builtin(local_invocation_index) lid: u32) {{
    let c = coopLoad<coop_mat8x8<f32, C>>(&m[0], arrayLength(&m) / 8u);
    {store}
}}"
        );
        let source = ShaderSource::wgsl("t.wgsl", text);
        let descriptor = KernelDescriptor::new(source);
        // Nothing but what is loaded is a matrix here.
        let without = ShaderFeatures::all().without(ShaderFeature::CooperativeMatrix);
        let shown = reflect(&descriptor, without).unwrap_err().to_string();
        assert!(shown.contains("cooperative matrices"), "{shown}");
        reflect(&descriptor, ShaderFeatures::all()).map(drop)
    };
    for right in [
        "coopStore(c, &m[0]);",
        "coopStore(c, &m[0], 8u);",
        "coopStore(c, &m[0], LINE);",
        "coopStore(c * 2.0, &m[arrayLength(&m) / 2u], 8u);",
        "coopStore(c, &m[lid], line());",
        "let n = arrayLength(&m) / 8u; if n > 0u { coopStore(c, &m[0], n); }",
    ] {
        tried(right).unwrap();
    }
    for wrong in [
        "coopStore(c, &m[arrayLength(&m) / 2u], lid);",
        "coopStore(c, &m[0], arrayLength(&m) / 8u);",
        "if lid < 32u { coopStoreT(c, &m[0], lid + 8u); }",
        "for (var i = 0u; i < 2u; i++) { coopStore(c, &m[0], i); }",
        "switch lid { case 0u: { } default: { coopStore(c, &m[0], 2u * lid); } }",
    ] {
        let shown = tried(wrong).expect_err(wrong).to_string();
        assert!(
            shown.contains("naga fails at what `coopStore` is given"),
            "{wrong}: {shown}"
        );
        assert!(shown.contains("t.wgsl:8:"), "{wrong}: {shown}");
    }
}

#[test]
fn what_a_fragment_shader_does_by_sample_does_not_matter_to_the_kernel() {
    let text = "@fragment fn draw(@builtin(sample_index) i: u32) -> @location(0) vec4<f32> { return vec4(f32(i)); }
@compute @workgroup_size(1) fn main() {}";
    let source = ShaderSource::wgsl("both", text);
    let reflection = reflect(&KernelDescriptor::new(source), ShaderFeatures::NONE).unwrap();
    assert_eq!(reflection.entry, "main");
}

/// A mistake of every kind that people make: of syntax, names, types, rules of control flow, addresses and stages.
const MISTAKES: [(&str, &str); 30] = [
    ("let y = x[0] +;", "expected"),
    ("let y = x[0]", "expected"),
    ("let y = x[0] + missing;", "`missing`"),
    ("let y: i32 = 1.5;", "i32"),
    ("let y = x[0] + 1u;", "f32"),
    ("let y = x[0]; y = 1.0;", "y"),
    ("x[0] = same(1u);", ""),
    ("x[0] = vec2(1.0);", ""),
    ("only[0] = 1.0;", "cannot be written"),
    ("if x[0] { }", "bool"),
    ("while 1u { }", "bool"),
    ("switch x[0] { default { } }", ""),
    ("let y = vec3(1.0) + vec2(1.0);", ""),
    ("let y = mat2x2<f32>() * vec3(1.0);", ""),
    ("let y = same(1u, 2u);", "argument"),
    ("let y = same();", "argument"),
    ("let y = same(1.5);", ""),
    ("let y = sin(1u);", "sin"),
    ("let y = pair.third;", "third"),
    ("let y = pair.first[0];", ""),
    ("return 1.0;", "Abstract"),
    ("break;", "loop"),
    ("let y = arrayLength(x);", ""),
    ("let y = array(1, 2, 3)[5];", "index"),
    ("var y: array<f32>;", ""),
    ("let y = 1u << 40u;", ""),
    ("let y = i32(3000000000);", ""),
    ("workgroupBarrier() + 1;", "expected"),
    ("let y = select(1.0, 2u, true);", ""),
    ("let y = dpdx(1.0);", ""),
];

fn mistaken(statement: &str) -> String {
    format!(
        "struct Pair {{ first: f32, second: u32 }}
@group(0) @binding(0) var<storage, read_write> x: array<f32>;
@group(0) @binding(1) var<storage, read> only: array<f32>;
@group(0) @binding(2) var<uniform> pair: Pair;
fn same(x: u32) -> u32 {{ return x; }}
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {{
    {statement}
}}
"
    )
}

fn error_of(text: String) -> PipelineError {
    let source = ShaderSource::wgsl("t.wgsl", text);
    reflect(&KernelDescriptor::new(source), ShaderFeatures::NONE).unwrap_err()
}

#[test]
fn every_mistake_has_line_column_and_carets_and_no_numbers_of_the_compiler() {
    let mut wrong = Vec::new();
    for (statement, expected) in MISTAKES {
        let error = error_of(mistaken(statement));
        shows_its_code(&error);
        let place = error.place().unwrap();
        let shown = error.to_string();
        println!("{shown}\n");
        let message = shown.split('\n').next().unwrap();
        let compilers = [
            "Handle",
            "Scalar",
            "Some(",
            "Quad",
            "width:",
            "Capabilities",
            "{",
        ];
        let number = message.split(" [").skip(1).any(|rest| {
            let number = rest.split(']').next();
            number.is_some_and(|number| number.parse::<u32>().is_ok())
        });
        let is_at_home = place.line == 7
            // Behind what misses a semicolon; the kernel that does what kernels may not.
            || (statement.ends_with(']') && place.to_string() == "t.wgsl:8:1")
            || (statement.contains("dpdx") && place.to_string() == "t.wgsl:6:33");
        let is_plain = !compilers.iter().any(|word| message.contains(word)) && !number;
        if !(is_at_home && is_plain && message.contains(expected)) {
            wrong.push(format!("{statement}: {message}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn all_mistakes_of_a_text_are_told_at_once() {
    let text = "@group(0) @binding(0) var<storage, read_write> x: array<f32>;
@group(0) @binding(1) var<storage, read> only: array<f32>;
fn a() -> f32 { let y = missing; return y; }
fn b() -> f32 { let y: u32 = 1.5; let z = unknown; return f32(y) + 1u; }
fn c() { only[0] = 1.0; }
fn d() -> f32 { }
fn good(x: f32) -> f32 { return x; }
struct Odd { x: float }
fn e(odd: Odd) { }
@compute @workgroup_size(1) fn main() { x[0] = a() + b() + good(other); c(); e(Odd()); }
@compute @workgroup_size(1) fn second() { x[0] = only; }
";
    let error = error_of(text.to_owned());
    let places = |error: &PipelineError| -> Vec<(u32, u32)> {
        let mistakes = error.mistakes().iter();
        let places = mistakes.map(|mistake| mistake.place().unwrap());
        places.map(|place| (place.line, place.column)).collect()
    };
    let shown = error.to_string();
    println!("{shown}");
    let lines: Vec<u32> = places(&error).iter().map(|(line, _)| *line).collect();
    assert_eq!(lines, [3, 4, 4, 5, 6, 8, 10, 11], "{shown}");
    shows_its_code(&error);
    assert!(
        shown.starts_with("t.wgsl: 8 mistakes\nt.wgsl:3:25: "),
        "{shown}"
    );
    assert!(shown.len() <= 1024, "{}", shown.len());

    // What only breaks rules, function by function.
    let text = "@group(0) @binding(1) var<storage, read> only: array<f32>;
fn a() { only[0] = 1.0; }
fn b() -> f32 { }
@compute @workgroup_size(1) fn main() { only[1] = b(); a(); }
";
    let error = error_of(text.to_owned());
    assert_eq!(places(&error), [(2, 10), (3, 1), (4, 41)], "{error}");

    // One is not several, and of a large text the first is told.
    assert!(matches!(
        error_of(mistaken("let y = ;")),
        PipelineError::Parse { .. }
    ));
    let large = "fn f() { let y = missing; }\nfn g() { let y = missing; }\n".to_owned()
        + &"// long\n".repeat(20_000);
    assert_eq!(error_of(large).mistakes().len(), 1);
}

#[test]
fn of_the_variables_at_one_place_the_used_one_is_bound() {
    let text = "@group(0) @binding(0) var<uniform> other: vec4<f32>;
@group(0) @binding(0) var<storage, read_write> y: array<f32>;
@group(0) @binding(0) var picture: texture_2d<f32>;
@group(0) @binding(1) var<uniform> first: f32;
@group(0) @binding(1) var second: sampler;
@compute @workgroup_size(1) fn main() { y[0] = 1.0; }";
    let source = ShaderSource::wgsl("places", text);
    let found = reflect(&KernelDescriptor::new(source), ShaderFeatures::NONE).unwrap();
    let bound: Vec<&str> = found
        .bindings
        .iter()
        .map(|bound| bound.name.as_str())
        .collect();
    assert_eq!(bound, ["y"]);
    let uniforms: Vec<&str> = found
        .uniforms
        .iter()
        .map(|bound| bound.name.as_str())
        .collect();
    assert_eq!(uniforms, ["first"], "of two that are not used the first");
    assert!(found.resources.is_empty());
}
