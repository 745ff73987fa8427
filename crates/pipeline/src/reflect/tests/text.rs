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
