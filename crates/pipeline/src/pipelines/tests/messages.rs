//! What a compiler says of a text.

use ziggurat_device::block_on;

use super::*;
use crate::messages::MessageKind;
use crate::shader_limits::ShaderLimits;
use crate::source::ShaderSource;

#[test]
fn a_compiler_says_where_a_text_is_wrong_and_nothing_of_a_right_one() {
    let pipelines = open();
    let of = |text: &str| {
        let source = ShaderSource::new("k")
            .part("a.wgsl", "const A = 1u;")
            .part("b.wgsl", text.to_owned());
        block_on(pipelines.messages(&KernelDescriptor::new(source)))
    };
    let main = "@compute @workgroup_size(1) fn main() {}";
    // An entry point that is not there is the kernel's matter.
    for right in [main, "fn f() -> u32 { return A; }"] {
        assert_eq!(of(right).unwrap(), []);
    }
    for wrong in [
        "\n  return;",
        "fn f() -> u32 {\n  return B; }",
        "@compute @workgroup_size(1) fn main() {}\nfn f() -> u32 {\n  _ = 1; }",
    ] {
        let told = of(wrong).unwrap();
        assert_eq!(told.len(), 1, "{wrong}");
        assert_eq!(
            (told[0].kind, told[0].place.file.as_str()),
            (MessageKind::Error, "b.wgsl")
        );
        assert!(told[0].place.line > 0 && told[0].place.column > 0);
        let shown = told[0].to_string();
        assert!(
            shown.starts_with(&format!("{}: error: ", told[0].place)),
            "{shown}"
        );
    }
    let limits = ShaderLimits {
        text_bytes: 8,
        ..ShaderLimits::default()
    };
    pipelines.set_shader_limits(limits).unwrap();
    assert!(matches!(
        of(main),
        Err(PipelineError::ShaderTooLarge { .. })
    ));
}
