//! Uniforms, textures, structs: what variables hold.

use super::*;

#[test]
fn uniforms_and_buffers_of_all_groups_are_found_in_order() {
    let found = plain(
        "@group(2) @binding(1) var<uniform> c: vec4<f32>;
         @group(0) @binding(3) var<uniform> a: u32;
         @group(2) @binding(0) var<storage> y: array<f32>;
         @group(0) @binding(7) var<storage, read_write> x: array<f32>;
         @group(1) @binding(0) var<uniform> b: array<vec4<u32>, 3>;
         @compute @workgroup_size(1) fn main() { x[0] = y[0] * c.x + f32(a + b[0].x); }",
    )
    .unwrap();
    let uniforms: Vec<_> = found.uniforms.iter().map(|u| (&*u.name, u.bytes)).collect();
    assert_eq!(uniforms, [("a", 4), ("b", 48), ("c", 16)]);
    let buffers: Vec<_> = found
        .bindings
        .iter()
        .map(|b| (b.group, b.binding))
        .collect();
    assert_eq!(buffers, [(0, 7), (2, 0)]);
    assert!(found.params.is_none(), "with several there is no only one");

    check_limits(&found, &wgpu::Limits::default()).unwrap();
    let few = wgpu::Limits {
        max_bind_groups: 2,
        ..wgpu::Limits::default()
    };
    assert_eq!(
        check_limits(&found, &few).unwrap_err().to_string(),
        "probe: body.wgsl:3:32: `y` is in group 2; the device has groups 0 to 1\n3 |          @group(2) @binding(0) var<storage> y: array<f32>;\n  |                                ^^^^^^^^^^^^^^^^^^^^^^^^^^^"
    );
    let few = wgpu::Limits {
        max_uniform_buffers_per_shader_stage: 2,
        ..wgpu::Limits::default()
    };
    assert_eq!(
        check_limits(&found, &few).unwrap_err().to_string(),
        "probe: body.wgsl:1:23: `c` is uniform buffer number 3; the device binds at most 2\n1 | @group(2) @binding(1) var<uniform> c: vec4<f32>;\n  |                       ^^^^^^^^^^^^^^^^^^^^^^^^^^"
    );
}

#[test]
fn textures_and_samplers_are_told_in_wgsl() {
    let found = plain(
        "@group(1) @binding(0) var out: texture_storage_2d_array<rgba8unorm, write>;
         @group(0) @binding(3) var s: sampler;
         @group(0) @binding(2) var depth: texture_depth_2d;
         @group(0) @binding(1) var ids: texture_3d<u32>;
         @group(0) @binding(0) var photo: texture_2d<f32>;
         @group(0) @binding(4) var plain: texture_multisampled_2d<f32>;
         @compute @workgroup_size(1) fn main() {
             let a = textureSampleLevel(photo, s, vec2(0.5), 0.0);
             textureStore(out, vec2(0), 0, a);
         }",
    )
    .unwrap();
    let texts: Vec<_> = found
        .resources
        .iter()
        .map(|r| format!("{} {}", r.place.line, r.wgsl()))
        .collect();
    assert_eq!(
        texts,
        [
            "5 texture_2d<f32>",
            "4 texture_3d<u32>",
            "3 texture_depth_2d",
            "2 sampler",
            "6 texture_multisampled_2d<f32>",
            "1 texture_storage_2d_array<rgba8unorm, write>",
        ]
    );
    let filterable = |binding: u32| {
        let ty = found.resources.iter().find(|r| r.binding == binding);
        matches!(
            ty.map(|r| r.ty),
            Some(wgpu::BindingType::Texture {
                sample_type: wgpu::TextureSampleType::Float { filterable: true },
                ..
            })
        )
    };
    assert!(filterable(0) && !filterable(4));
}

#[test]
fn external_textures_are_refused_with_their_line() {
    let error = plain(
        "
         @group(0) @binding(0) var t: texture_external;
         @compute @workgroup_size(1) fn main() {}",
    )
    .unwrap_err();
    assert!(
        error
            .to_string()
            .contains("body.wgsl:2:32: `t` is an external texture"),
        "{error}"
    );
}

#[test]
fn structs_and_atomics_know_their_scalars() {
    let found = plain(
        "struct Same { x: u32, y: array<vec2<u32>, 3> }
         struct Mixed { x: u32, y: f32 }
         @group(0) @binding(0) var<storage> alike: Same;
         @group(0) @binding(1) var<storage> mixed: array<Mixed>;
         @group(0) @binding(2) var<storage, read_write> bits: array<atomic<u32>>;
         @compute @workgroup_size(1) fn main() {}",
    )
    .unwrap();
    let seen: Vec<_> = found
        .bindings
        .iter()
        .map(|b| (b.scalar, b.stride, b.min_bytes))
        .collect();
    assert_eq!(
        seen,
        [
            (Scalar::U32, None, 32),
            (Scalar::Mixed, Some(8), 8),
            (Scalar::U32, Some(4), 4)
        ]
    );
}

#[test]
fn narrow_dtypes_live_in_words() {
    for dtype in [
        DType::F16,
        DType::BF16,
        DType::U8,
        DType::I8,
        DType::Bool,
        DType::U32,
    ] {
        assert!(Scalar::U32.holds(dtype), "{dtype:?}");
    }
    assert!(!Scalar::U32.holds(DType::F32) && !Scalar::U32.holds(DType::I32));
    assert!(Scalar::F32.holds(DType::F32) && !Scalar::F32.holds(DType::F16));
    assert!(Scalar::F16.holds(DType::F16) && !Scalar::F16.holds(DType::BF16));
}
