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

#[test]
fn what_a_fragment_shader_does_by_sample_does_not_matter_to_the_kernel() {
    let text = "@fragment fn draw(@builtin(sample_index) i: u32) -> @location(0) vec4<f32> { return vec4(f32(i)); }
@compute @workgroup_size(1) fn main() {}";
    let source = ShaderSource::wgsl("both", text);
    let reflection = reflect(&KernelDescriptor::new(source), ShaderFeatures::NONE).unwrap();
    assert_eq!(reflection.entry, "main");
}
