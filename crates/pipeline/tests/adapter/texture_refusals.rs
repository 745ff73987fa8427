//! Textures and samplers that do not fit: every refusal, by variable and line.

use super::textures::{INVERT, SAMPLE, SAMPLED, STORAGE, flat, read, sampler, texture_of};
use super::*;
use wgpu::{
    AddressMode, Extent3d, FilterMode, TextureDimension, TextureFormat, TextureUsages,
    TextureViewDescriptor,
};
use ziggurat_pipeline::ShaderFeature;

#[test]
fn every_wrong_argument_is_refused_with_variable_and_line() {
    let pipelines = &open(DeviceOptions::default());
    let other = &open(DeviceOptions::default());
    let invert = kernel(pipelines, ShaderSource::wgsl("invert", INVERT));
    let sample = kernel(pipelines, ShaderSource::wgsl("sample", SAMPLE));
    let size = [4, 4];
    let rgba = TextureFormat::Rgba8Unorm;
    let from = flat(pipelines, rgba, size, SAMPLED);
    let to = flat(pipelines, rgba, size, STORAGE);
    let ids = flat(pipelines, TextureFormat::R32Uint, size, SAMPLED);
    let wide = flat(pipelines, TextureFormat::Rgba16Float, size, STORAGE);
    let deep = texture_of(
        pipelines,
        rgba,
        ([4, 4, 2], TextureDimension::D3, 1),
        SAMPLED,
    );
    let levels = texture_of(
        pipelines,
        rgba,
        ([4, 4, 1], TextureDimension::D2, 2),
        STORAGE,
    );
    let foreign = flat(other, rgba, size, SAMPLED);
    let how = sampler(pipelines, FilterMode::Linear, AddressMode::Repeat);
    let buffer = pipelines.memory().alloc_zeroed(16).unwrap();
    let refused = |args: &[Arg<'_>], words: &[&str]| {
        let grid = Grid::Workgroups([1, 1, 1]);
        let error = pipelines.dispatch(&invert, args, &[], grid).unwrap_err();
        let text = error.to_string();
        for word in words {
            assert!(text.contains(word), "{word}: {text}");
        }
    };
    let (a, b) = (Arg::texture(&from), Arg::texture(&to));
    refused(
        &[a],
        &[
            "expected 2 textures and samplers",
            "`photo` (invert:2:27)",
            "got 1",
        ],
    );
    refused(&[a, b, b], &["got 3"]);
    refused(
        &[a, b, Arg::read(&buffer)],
        &["expected 0 buffers", "got 1"],
    );
    refused(
        &[a, Arg::sampler(&how)],
        &["invert:3:27: `negative`", "got a sampler"],
    );
    refused(
        &[Arg::texture(&ids), b],
        &["texture_2d<f32>", "r32uint", "another type"],
    );
    refused(
        &[Arg::texture(&deep), b],
        &["invert:2", "a 3d texture", "dimensions differ"],
    );
    refused(&[Arg::texture(&to), b], &["lack", "TEXTURE_BINDING"]);
    refused(&[a, a], &["invert:3", "lack", "STORAGE_BINDING"]);
    refused(
        &[a, Arg::texture(&wide)],
        &["rgba8unorm, write", "rgba16float", "formats differ"],
    );
    refused(&[a, Arg::texture(&levels)], &["one level", "has 2"]);
    refused(&[Arg::texture(&foreign), b], &["another memory"]);
    refused(
        &[a, b.at(0, 5)],
        &["no texture or sampler at group 0, binding 5"],
    );
    refused(&[a.at(0, 1), b.at(0, 1)], &["given twice"]);
    let compare = wgpu::SamplerDescriptor {
        compare: Some(wgpu::CompareFunction::Less),
        ..Default::default()
    };
    if let Ok(compare) = pipelines.memory().create_sampler(&compare) {
        let level = [0; 4];
        let args = [
            a,
            Arg::sampler(&compare),
            Arg::read(&buffer),
            Arg::write(&buffer),
            Arg::uniform(&level),
        ];
        let error = pipelines
            .dispatch(&sample, &args, &[], Grid::elements(1, 1))
            .unwrap_err();
        assert!(error.to_string().contains("sample:3:27: `how`"), "{error}");
    }
    // The device is as before.
    let grid = Grid::Workgroups([1, 1, 1]);
    pipelines.dispatch(&invert, &[a, b], &[], grid).unwrap();
    assert_eq!(read(pipelines, &to), [255, 255, 255, 0].repeat(16));
}

#[test]
fn memory_refuses_what_does_not_fit_and_stays_usable() {
    let pipelines = &open(DeviceOptions::default());
    let memory = pipelines.memory();
    let texture = flat(pipelines, TextureFormat::Rgba8Unorm, [4, 4], SAMPLED);
    let error = memory
        .write_texture(&texture, &[0; 63])
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("63 bytes") && error.contains("has 64"),
        "{error}"
    );
    let huge = wgpu::TextureDescriptor {
        label: None,
        size: Extent3d {
            width: 1 << 20,
            height: 1,
            depth_or_array_layers: 1,
        },
        mip_level_count: 1,
        sample_count: 1,
        dimension: TextureDimension::D2,
        format: TextureFormat::Rgba8Unorm,
        usage: SAMPLED,
        view_formats: &[],
    };
    assert!(memory.create_texture(&huge).is_err());
    let beyond = TextureViewDescriptor {
        base_mip_level: 7,
        ..Default::default()
    };
    assert!(texture.view(&beyond).is_err());
    let blind = flat(
        pipelines,
        TextureFormat::R8Unorm,
        [4, 4],
        TextureUsages::TEXTURE_BINDING,
    );
    let error = memory.read_texture(&blind).unwrap_err().to_string();
    assert!(error.contains("COPY_SRC"), "{error}");
    memory.write_texture(&texture, &[9; 64]).unwrap();
    assert_eq!(read(pipelines, &texture), [9; 64]);
    pipelines.device().status().unwrap();
}

#[test]
fn formats_that_the_device_lacks_are_refused_at_creation() {
    let pipelines = &open(DeviceOptions::default());
    let text = "@group(0) @binding(0) var a: texture_storage_2d<rgba8unorm, write>;
         @group(0) @binding(1) var both: texture_storage_2d<r16unorm, read_write>;
         @compute @workgroup_size(1) fn main() { textureStore(both, vec2(0), textureLoad(both, vec2(1))); }";
    let source = ShaderSource::wgsl("norm", text);
    match pipelines.kernel(&KernelDescriptor::new(source)) {
        Ok(_) => assert!(pipelines.features().contains(ShaderFeature::Norm16Textures)),
        Err(error) => {
            let text = error.to_string();
            assert!(text.contains("norm:2") && text.contains("16-bit"), "{text}");
        }
    }
}

/// The software device names what it does not run.
#[cfg(feature = "software")]
#[test]
fn the_software_device_refuses_by_construct_and_line() {
    let profile = ziggurat_pipeline::device::ziggurat_software::Profile::nvidia();
    let device = Device::software(profile, DeviceOptions::default()).unwrap();
    let pipelines = Pipelines::new(&Memory::new(&device, MemoryOptions::default()));
    for (declaration, call, word) in [
        (
            "var t: texture_cube<f32>",
            "let x = textureDimensions(t);",
            "texture_cube",
        ),
        (
            "var t: texture_depth_2d",
            "let x = textureLoad(t, vec2(0), 0);",
            "texture_depth",
        ),
        (
            "var t: texture_multisampled_2d<f32>",
            "let x = textureNumSamples(t);",
            "multisampled",
        ),
    ] {
        let text = format!(
            "@group(0) @binding(0) {declaration};
             @group(0) @binding(1) var<storage, read_write> out: array<u32>;
             @compute @workgroup_size(1) fn main() {{ {call} out[0] = u32(dot(vec4<f32>(), vec4<f32>())); _ = x; }}"
        );
        let source = ShaderSource::wgsl("refused", text.clone());
        let error = pipelines
            .kernel(&KernelDescriptor::new(source))
            .unwrap_err();
        assert!(error.to_string().contains(word), "{error}\n{text}");
    }
}

/// A layout that wgpu refused is not kept: the second kernel that binds alike is told the reason, not that the layout is invalid.
#[cfg(feature = "software")]
#[test]
fn every_kernel_with_a_refused_layout_is_told_why() {
    let profile = ziggurat_pipeline::device::ziggurat_software::Profile::nvidia();
    let device = Device::software(profile, DeviceOptions::default()).unwrap();
    let pipelines = Pipelines::new(&Memory::new(&device, MemoryOptions::default()));
    for name in ["first", "second"] {
        let text = "@group(0) @binding(0) var packed: texture_storage_2d<rg11b10ufloat, write>;
             @compute @workgroup_size(1) fn main() { textureStore(packed, vec2(0), vec4(1.0)); }";
        let kernel = KernelDescriptor::new(ShaderSource::wgsl(name, text));
        let error = pipelines.kernel(&kernel).unwrap_err().to_string();
        assert!(error.contains("WriteOnly access"), "{name}: {error}");
        assert!(error.contains(&format!("{name}:2:")), "{name}: {error}");
        pipelines.device().status().unwrap();
    }
}
