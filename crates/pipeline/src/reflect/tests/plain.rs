//! Declarations as they are read without naga.

use std::mem::discriminant;

use crate::descriptor::KernelDescriptor;
use crate::error::shown::tests::shows_its_code;
use crate::error::{LimitError, PipelineError};
use crate::feature::ShaderFeatures;
use crate::place::Assembled;
use crate::reflect::{Reflection, plain, reflect};
use crate::source::ShaderSource;
use ziggurat_device::ShaderFeature;

const MAIN: &str = "@compute @workgroup_size(4, 2u) fn main() {}";

fn descriptor(text: &str) -> KernelDescriptor {
    KernelDescriptor::new(ShaderSource::wgsl("probe", text.to_owned()))
}

fn available() -> ShaderFeatures {
    ShaderFeatures::NONE.with(ShaderFeature::F16)
}

fn declared(descriptor: &KernelDescriptor) -> Result<Reflection, PipelineError> {
    let text = Assembled::new(&descriptor.source);
    plain::specialise(&text, descriptor, available())
        .map(|specialised| specialised.reflection)
        .inspect_err(shows_its_code)
}

/// [`reflect`] compares the two, but only where plain reading refuses nothing.
#[test]
fn declarations_are_read_as_naga_reads_them() {
    let globals = [
        "@group(0) @binding(0) var<storage, read_write> y: array<vec3<f32>>;",
        "@binding(7) @group(3) var<storage> y: array<vec2f, 5>;",
        "alias word = vec4<u32>; alias words = array<word>; @group(0) @binding(0) var<storage, read> y: words;",
        "struct S { a: f32, b: vec3<f32>, c: u32, d: array<vec4<i32>, N>, } const N: u32 = M; const M = 0x3u;
         @group(0) @binding(0) var<uniform> y: S; @group(0) @binding(1) var<storage> z: array<S>;",
        "@group(0) @binding(0) var<storage, read_write> y: array<atomic<u32>>; /* var<storage> */ // @compute",
        "override K: u32 = 3; @id(7) override L: f32 = 1; const_assert 1 < 2; ; var<private> p: u32;
         var<workgroup> w: array<u32, K>; @group(0) @binding(0) var<storage> y: u32;",
        "enable f16; @group(0) @binding(0) var<storage, read_write> y: array<vec4<f16>>;",
    ];
    for globals in globals {
        for body in [
            "",
            "let n = id.yx; let k = g.z;",
            "_ = vec3u(id); _ = f(g);",
        ] {
            let text = format!(
                "{globals}
                fn f(v: vec3u) -> u32 {{ return v.x; }}
                @compute @workgroup_size(4, 2u) fn main(@builtin(workgroup_id) id: vec3<u32>,
                    @builtin(num_workgroups) g: vec3u, @builtin(local_invocation_index) l: u32,) {{ {body} }}"
            );
            let descriptor = descriptor(&text);
            let found = declared(&descriptor).unwrap();
            assert_eq!(found.workgroup_size, [4, 2, 1]);
            let by_naga = reflect(&descriptor, available()).unwrap();
            let text = Assembled::new(&descriptor.source);
            plain::compare(&text, &descriptor, available(), &by_naga).unwrap();
            // What differs is noticed.
            let mut other = by_naga.clone();
            other.grid_inputs.id[0] ^= true;
            let refused = plain::compare(&text, &descriptor, available(), &other);
            assert!(matches!(refused, Err(PipelineError::Internal { .. })));
        }
    }
}

#[test]
fn what_is_more_than_declarations_is_refused_with_its_place() {
    for (globals, what) in [
        (
            "@group(0) @binding(0) var t: texture_2d<f32>;",
            "a texture or a sampler",
        ),
        (
            "@group(0) @binding(0) var<storage> y: mat4x4<f32>;",
            "such a type",
        ),
        (
            "@group(0) @binding(0) var<storage> y: array<u32, 2 + 1>;",
            "an expression in place of a number",
        ),
        (
            "@group(0) @binding(1 + 1) var<storage> y: u32;",
            "a variable without the numbers of group and binding",
        ),
        (
            "struct S { @size(16) a: u32 } @group(0) @binding(0) var<storage> y: S;",
            "a member with attributes",
        ),
        (
            "struct S { a: array<u32> } @group(0) @binding(0) var<storage> y: S;",
            "an array without a length in a struct",
        ),
        (
            "@compute @workgroup_size(1) fn main() {}",
            "one of several entry points",
        ),
        ("@fragment fn other() {}", "an entry point for a renderer"),
        ("enable other;", "such a directive"),
        (
            "@group(0) @binding(0) var<storage> y: u32; @group(0) @binding(0) var<storage> z: u32;",
            "one of two variables with the same binding",
        ),
        ("fn f( {", "a bracket that is not closed"),
        ("module", "a declaration that does not end"),
    ] {
        match declared(&descriptor(&format!("{globals}\n{MAIN}")).entry("main")) {
            Err(PipelineError::NeedsNaga {
                place, what: found, ..
            }) => {
                assert_eq!(found, what, "{globals}");
                assert_eq!(place.file, "probe");
            }
            other => panic!("{globals}: {other:?}"),
        }
    }
}

#[test]
fn the_same_mistakes_have_the_same_errors() {
    let override_size = "override A: u32;\n@compute @workgroup_size(A) fn main() {}";
    let cases = [
        descriptor(MAIN).entry("other"),
        descriptor("fn f() {}"),
        descriptor(MAIN).constant("NONE", 1.0),
        descriptor(override_size).constant("B", 1.0),
    ];
    for descriptor in cases {
        let plain = declared(&descriptor).unwrap_err();
        let by_naga = reflect(&descriptor, available()).unwrap_err();
        assert_eq!(
            discriminant(&plain),
            discriminant(&by_naga),
            "{plain}; {by_naga}"
        );
    }
    let subgroups = declared(&descriptor(&format!(
        "enable f16;\nenable subgroups;\n{MAIN}"
    )));
    assert!(matches!(
        subgroups,
        Err(PipelineError::Limit(LimitError::MissingFeature { place, .. })) if place.line == 2
    ));
    let sized = declared(&descriptor(override_size).constant("A", 32.0)).unwrap();
    assert_eq!(sized.workgroup_size, [32, 1, 1]);
    for wrong in [-1.0, 0.5, f64::NAN, 1e10] {
        let error = declared(&descriptor(override_size).constant("A", wrong)).unwrap_err();
        assert!(matches!(error, PipelineError::NeedsNaga { .. }), "{error}");
    }
}
