//! What is refused, and how it is said.

use super::compile_for;
use crate::profile::Profile;

fn refused(source: &str) -> super::CompileError {
    compile_for(source, &Profile::nvidia(), &[]).unwrap_err()
}

#[test]
fn a_cube_is_refused_at_its_line_and_a_gather_at_its_own() {
    let error = refused(
        "@group(0) @binding(0) var t: texture_cube<f32>;
         @group(0) @binding(1) var<storage, read_write> out: array<u32>;
         @compute @workgroup_size(1) fn main() { out[0] = textureDimensions(t).x; }",
    );
    assert_eq!((error.line, error.construct.as_str()), (1, "texture_cube"));
    let error = refused(
        "@group(0) @binding(0) var t: texture_2d<f32>;
         @group(0) @binding(2) var s: sampler;
         @group(0) @binding(1) var<storage, read_write> out: array<vec4<f32>>;
         @compute @workgroup_size(1) fn main() {
            out[0] = textureGather(0, t, s, vec2(0.5));
         }",
    );
    assert_eq!((error.line, error.construct.as_str()), (5, "textureGather"));
}

#[test]
fn exploding_calls_are_refused() {
    let mut source = String::from(
        "@group(0) @binding(0) var<storage, read_write> out: array<u32>;\nfn f0(x: u32) -> u32 { return out[x] + 1u; }\n",
    );
    for i in 1..30 {
        let before = i - 1;
        source.push_str(&format!(
            "fn f{i}(x: u32) -> u32 {{ return f{before}(x) + f{before}(x + 1u); }}\n"
        ));
    }
    source.push_str("@compute @workgroup_size(1) fn main() { out[0] = f29(0u); }");
    assert!(refused(&source).message.contains("too large"));
    let small = source.replace("f29(0u)", "f3(0u)");
    assert!(compile_for(&small, &Profile::nvidia(), &[]).is_ok());
}
