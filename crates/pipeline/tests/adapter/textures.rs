//! Textures and samplers as arguments: what shaders read, write and sample, and every refusal.

use super::*;
use wgpu::{
    AddressMode, Extent3d, FilterMode, TextureDimension, TextureFormat, TextureUsages,
    TextureViewDescriptor,
};
use ziggurat_pipeline::memory::{Sampler, Texture};
use ziggurat_pipeline::{ArgumentError, PipelineError};

pub(crate) const SAMPLED: TextureUsages = TextureUsages::TEXTURE_BINDING
    .union(TextureUsages::COPY_DST)
    .union(TextureUsages::COPY_SRC);
pub(crate) const STORAGE: TextureUsages = TextureUsages::STORAGE_BINDING
    .union(TextureUsages::COPY_DST)
    .union(TextureUsages::COPY_SRC);

pub(crate) fn texture_of(
    pipelines: &Pipelines,
    format: TextureFormat,
    (size, dimension, levels): ([u32; 3], TextureDimension, u32),
    usage: TextureUsages,
) -> Texture {
    let made = pipelines.memory().create_texture(&wgpu::TextureDescriptor {
        label: None,
        size: Extent3d {
            width: size[0],
            height: size[1],
            depth_or_array_layers: size[2],
        },
        mip_level_count: levels,
        sample_count: 1,
        dimension,
        format,
        usage,
        view_formats: &[],
    });
    made.unwrap()
}

pub(crate) fn flat(
    pipelines: &Pipelines,
    format: TextureFormat,
    size: [u32; 2],
    usage: TextureUsages,
) -> Texture {
    let shape = ([size[0], size[1], 1], TextureDimension::D2, 1);
    texture_of(pipelines, format, shape, usage)
}

pub(crate) fn sampler(pipelines: &Pipelines, filter: FilterMode, wrap: AddressMode) -> Sampler {
    let desc = wgpu::SamplerDescriptor {
        address_mode_u: wrap,
        address_mode_v: wrap,
        address_mode_w: wrap,
        mag_filter: filter,
        min_filter: filter,
        mipmap_filter: match filter {
            FilterMode::Nearest => wgpu::MipmapFilterMode::Nearest,
            FilterMode::Linear => wgpu::MipmapFilterMode::Linear,
        },
        ..Default::default()
    };
    pipelines.memory().create_sampler(&desc).unwrap()
}

pub(crate) fn read(pipelines: &Pipelines, texture: &Texture) -> Vec<u8> {
    pipelines
        .memory()
        .read_texture(texture)
        .unwrap()
        .wait()
        .unwrap()
}

fn floats(pipelines: &Pipelines, buffer: &Buffer) -> Vec<f32> {
    let found = words(pipelines, buffer);
    found.into_iter().map(f32::from_bits).collect()
}

#[test]
fn what_is_written_is_read_back_for_every_shape() {
    let pipelines = &open(DeviceOptions::default());
    let shapes = [
        ([7, 5, 1], TextureDimension::D2, 3),
        ([3, 2, 4], TextureDimension::D2, 1),
        ([3, 2, 4], TextureDimension::D3, 2),
        ([70, 1, 1], TextureDimension::D1, 1),
    ];
    for format in [
        TextureFormat::R8Unorm,
        TextureFormat::Rgba8Uint,
        TextureFormat::Rgba32Float,
    ] {
        for shape in shapes {
            let all = texture_of(pipelines, format, shape, SAMPLED);
            for level in 0..shape.2 {
                let one = all
                    .view(&TextureViewDescriptor {
                        base_mip_level: level,
                        mip_level_count: Some(1),
                        ..Default::default()
                    })
                    .unwrap();
                let bytes: Vec<u8> = (0..one.bytes()).map(|i| (i * 7 + 3) as u8).collect();
                pipelines.memory().write_texture(&one, &bytes).unwrap();
                assert_eq!(
                    read(pipelines, &one),
                    bytes,
                    "{format:?} {shape:?} level {level}"
                );
            }
        }
    }
}

pub(crate) const INVERT: &str = "
    @group(0) @binding(0) var photo: texture_2d<f32>;
    @group(0) @binding(1) var negative: texture_storage_2d<rgba8unorm, write>;
    @compute @workgroup_size(8, 8) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
        let size = textureDimensions(photo);
        if any(id.xy >= size) { return; }
        let texel = textureLoad(photo, id.xy, 0);
        textureStore(negative, size - 1u - id.xy, vec4(1.0 - texel.rgb, texel.a));
    }
";

#[test]
fn a_texture_is_loaded_and_stored() {
    let pipelines = &open(DeviceOptions::default());
    let kernel = kernel(pipelines, ShaderSource::wgsl("invert", INVERT));
    let from = flat(pipelines, TextureFormat::Rgba8Unorm, [13, 9], SAMPLED);
    let to = flat(pipelines, TextureFormat::Rgba8Unorm, [13, 9], STORAGE);
    let pixels: Vec<u8> = (0..13 * 9 * 4).map(|i| (i * 5 % 256) as u8).collect();
    pipelines.memory().write_texture(&from, &pixels).unwrap();
    let grid = Grid::Workgroups([2, 2, 1]);
    pipelines
        .dispatch(
            &kernel,
            &[Arg::texture(&from), Arg::texture(&to)],
            &[],
            grid,
        )
        .unwrap();
    let expected: Vec<u8> = pixels
        .chunks(4)
        .rev()
        .flat_map(|p| [255 - p[0], 255 - p[1], 255 - p[2], p[3]])
        .collect();
    assert_eq!(read(pipelines, &to), expected);
    // The same through places, from a tape and from a preparation.
    let places = [Arg::texture(&to).at(0, 1), Arg::texture(&from).at(0, 0)];
    let clear = vec![0; pixels.len()];
    pipelines.memory().write_texture(&to, &clear).unwrap();
    let taping = pipelines.taping();
    taping.dispatch(&kernel, &places, &[], grid).unwrap();
    let tape = taping.take_tape().unwrap();
    let prepared = pipelines
        .prepare(&kernel, &places, &[], grid)
        .unwrap()
        .unwrap();
    assert_eq!(read(pipelines, &to), clear);
    tape.replay().unwrap();
    assert_eq!(read(pipelines, &to), expected);
    pipelines.memory().write_texture(&to, &clear).unwrap();
    pipelines.dispatch_prepared(&prepared, &[], &[]).unwrap();
    assert_eq!(read(pipelines, &to), expected);
}

pub(crate) const SAMPLE: &str = "
    @group(0) @binding(0) var picture: texture_2d<f32>;
    @group(0) @binding(1) var how: sampler;
    @group(0) @binding(2) var<storage, read> at: array<vec2<f32>>;
    @group(0) @binding(3) var<storage, read_write> out: array<f32>;
    @group(0) @binding(4) var<uniform> level: f32;
    fn pick(image: texture_2d<f32>, way: sampler, place: vec2<f32>) -> f32 {
        return textureSampleLevel(image, way, place, level).x;
    }
    @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
        if id.x < arrayLength(&out) { out[id.x] = pick(picture, how, at[id.x]); }
    }
";

/// A sample of a row of texels, in f64.
fn sampled(texels: &[f64], x: f64, filter: FilterMode, wrap: AddressMode) -> f64 {
    let size = texels.len() as i64;
    let texel = |i: i64| {
        let i = match wrap {
            AddressMode::Repeat => i.rem_euclid(size),
            AddressMode::MirrorRepeat => {
                let i = i.rem_euclid(2 * size);
                i.min(2 * size - 1 - i)
            }
            _ => i.clamp(0, size - 1),
        };
        texels[i as usize]
    };
    let at = x * size as f64;
    match filter {
        FilterMode::Nearest => texel(at.floor() as i64),
        FilterMode::Linear => {
            let low = (at - 0.5).floor();
            let weight = at - 0.5 - low;
            texel(low as i64) * (1.0 - weight) + texel(low as i64 + 1) * weight
        }
    }
}

#[test]
fn samples_are_those_of_the_formula() {
    let pipelines = &open(DeviceOptions::default());
    let kernel = kernel(pipelines, ShaderSource::wgsl("sample", SAMPLE));
    let bytes = [10u8, 200, 90, 255, 0];
    let texels: Vec<f64> = bytes.iter().map(|&b| f64::from(b) / 255.0).collect();
    let picture = flat(pipelines, TextureFormat::R8Unorm, [5, 1], SAMPLED);
    pipelines.memory().write_texture(&picture, &bytes).unwrap();
    // Between texels, so that rounding does not choose another one.
    let at: Vec<[f32; 2]> = (-23..40)
        .map(|i| [i as f32 * 0.0713 + 0.011, 0.5])
        .collect();
    let places = pipelines
        .memory()
        .upload(bytemuck::cast_slice(&at))
        .unwrap();
    let out = pipelines
        .memory()
        .alloc_zeroed(at.len() as u64 * 4)
        .unwrap();
    for filter in [FilterMode::Nearest, FilterMode::Linear] {
        for wrap in [
            AddressMode::ClampToEdge,
            AddressMode::Repeat,
            AddressMode::MirrorRepeat,
        ] {
            let how = sampler(pipelines, filter, wrap);
            let level = 0f32.to_le_bytes();
            let args = [
                Arg::texture(&picture),
                Arg::sampler(&how),
                Arg::read(&places),
                Arg::write(&out),
                Arg::uniform(&level),
            ];
            let grid = Grid::elements(at.len() as u64, 1);
            pipelines.dispatch(&kernel, &args, &[], grid).unwrap();
            for (found, place) in floats(pipelines, &out).into_iter().zip(&at) {
                let expected = sampled(&texels, f64::from(place[0]), filter, wrap);
                // Hardware has 8 bits of weight.
                let error = (f64::from(found) - expected).abs();
                assert!(
                    error < 1.0 / 200.0,
                    "{filter:?} {wrap:?} {place:?}: {found} {expected}"
                );
            }
        }
    }
}

#[test]
fn levels_are_chosen_and_mixed() {
    let pipelines = &open(DeviceOptions::default());
    let kernel = kernel(pipelines, ShaderSource::wgsl("sample", SAMPLE));
    let shape = ([4, 4, 1], TextureDimension::D2, 3);
    let picture = texture_of(pipelines, TextureFormat::R8Unorm, shape, SAMPLED);
    for (level, value) in [(0, 0u8), (1, 100), (2, 200)] {
        let one = TextureViewDescriptor {
            base_mip_level: level,
            mip_level_count: Some(1),
            ..Default::default()
        };
        let one = picture.view(&one).unwrap();
        let bytes = vec![value; one.bytes() as usize];
        pipelines.memory().write_texture(&one, &bytes).unwrap();
    }
    let places = pipelines
        .memory()
        .upload(bytemuck::cast_slice(&[[0.5f32, 0.5]]))
        .unwrap();
    let out = pipelines.memory().alloc_zeroed(4).unwrap();
    let how = [FilterMode::Nearest, FilterMode::Linear];
    let how = how.map(|filter| sampler(pipelines, filter, AddressMode::Repeat));
    for (level, nearest, linear) in [
        (0.0f32, 0.0, 0.0),
        (0.75, 100.0, 75.0),
        (1.25, 100.0, 125.0),
        (9.0, 200.0, 200.0),
    ] {
        for (how, expected) in how.iter().zip([nearest, linear]) {
            let level_bytes = level.to_le_bytes();
            let args = [
                Arg::texture(&picture),
                Arg::sampler(how),
                Arg::read(&places),
                Arg::write(&out),
                Arg::uniform(&level_bytes),
            ];
            pipelines
                .dispatch(&kernel, &args, &[], Grid::elements(1, 1))
                .unwrap();
            let found = floats(pipelines, &out)[0] * 255.0;
            assert!(
                (found - expected).abs() < 1.0,
                "level {level}: {found} {expected}"
            );
        }
    }
}

const CUBES: &str = "
    @group(0) @binding(0) var ids: texture_storage_3d<r32uint, read_write>;
    @group(1) @binding(0) var layers: texture_2d_array<u32>;
    @group(1) @binding(1) var line: texture_1d<i32>;
    @group(1) @binding(2) var<storage, read_write> out: array<u32>;
    @compute @workgroup_size(4, 4, 4) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
        let size = textureDimensions(ids);
        if any(id >= size) { return; }
        let old = textureLoad(ids, id).x;
        textureStore(ids, id, vec4(old * 2u + textureLoad(layers, id.xy, id.z, 0).x));
        if all(id == vec3(0u)) {
            out[0] = textureNumLayers(layers);
            out[1] = textureNumLevels(layers);
            out[2] = textureDimensions(line);
            out[3] = u32(textureLoad(line, 2, 0).x);
            out[4] = textureLoad(layers, vec2(90, 0), 0, 0).x;
        }
    }
";

#[test]
fn every_dimension_is_reached_in_any_group() {
    let pipelines = &open(DeviceOptions::default());
    let kernel = kernel(pipelines, ShaderSource::wgsl("cubes", CUBES));
    let shape = |size, dimension| (size, dimension, 1);
    let format = TextureFormat::R32Uint;
    let ids = texture_of(
        pipelines,
        format,
        shape([3, 5, 2], TextureDimension::D3),
        STORAGE,
    );
    let layers = texture_of(
        pipelines,
        TextureFormat::R8Uint,
        shape([3, 5, 2], TextureDimension::D2),
        SAMPLED,
    );
    let line = texture_of(
        pipelines,
        TextureFormat::R16Sint,
        shape([4, 1, 1], TextureDimension::D1),
        SAMPLED,
    );
    let values: Vec<u32> = (0..30).map(|i| i * 1000).collect();
    let small: Vec<u8> = (0..30).collect();
    let memory = pipelines.memory();
    memory
        .write_texture(&ids, bytemuck::cast_slice(&values))
        .unwrap();
    memory.write_texture(&layers, &small).unwrap();
    memory
        .write_texture(&line, bytemuck::cast_slice(&[1i16, 2, 3, 4]))
        .unwrap();
    let out = memory.alloc_zeroed(20).unwrap();
    let args = [
        Arg::texture(&ids),
        Arg::texture(&layers),
        Arg::texture(&line),
        Arg::write(&out),
    ];
    pipelines
        .dispatch(&kernel, &args, &[], Grid::Workgroups([1, 2, 1]))
        .unwrap();
    let expected: Vec<u32> = (0..30).map(|i| i * 2000 + i).collect();
    let found: Vec<u32> = bytemuck::pod_collect_to_vec(&read(pipelines, &ids));
    assert_eq!(found, expected);
    let out = words(pipelines, &out);
    assert_eq!(out[..4], [2, 1, 4, 3]);
    // Out of bounds is zero, or a texel of the texture.
    assert!(out[4] < 30, "{out:?}");
}

#[test]
fn an_array_binds_one_layer_as_a_plain_texture() {
    let pipelines = &open(DeviceOptions::default());
    let kernel = kernel(pipelines, ShaderSource::wgsl("invert", INVERT));
    let shape = ([4, 4, 3], TextureDimension::D2, 1);
    let format = TextureFormat::Rgba8Unorm;
    let all = texture_of(
        pipelines,
        format,
        shape,
        SAMPLED | TextureUsages::STORAGE_BINDING,
    );
    let layer = |layer: u32| {
        let desc = TextureViewDescriptor {
            dimension: Some(wgpu::TextureViewDimension::D2),
            base_array_layer: layer,
            array_layer_count: Some(1),
            ..Default::default()
        };
        all.view(&desc).unwrap()
    };
    let (from, to) = (layer(0), layer(2));
    pipelines.memory().write_texture(&from, &[40; 64]).unwrap();
    let grid = Grid::Workgroups([1, 1, 1]);
    pipelines
        .dispatch(
            &kernel,
            &[Arg::texture(&from), Arg::texture(&to)],
            &[],
            grid,
        )
        .unwrap();
    let expected: Vec<u8> = [215, 215, 215, 40].repeat(16);
    assert_eq!(read(pipelines, &to), expected);
    let same = [Arg::texture(&from), Arg::texture(&from)];
    let error = pipelines.dispatch(&kernel, &same, &[], grid).unwrap_err();
    assert!(
        matches!(
            error,
            PipelineError::Argument(ArgumentError::Aliased { .. })
        ),
        "{error}"
    );
}

const COUNT: &str = "
    @group(0) @binding(0) var counts: texture_storage_2d<r32uint, atomic>;
    @group(0) @binding(1) var signed: texture_storage_2d_array<r32sint, atomic>;
    @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
        let x = id.x;
        textureAtomicAdd(counts, vec2(0u, 1u), x);
        textureAtomicMax(counts, vec2(1u, 1u), x * 7u);
        textureAtomicMin(counts, vec2(2u, 1u), 500u - x);
        textureAtomicOr(counts, vec2(3u, 1u), 1u << (x & 31u));
        textureAtomicAnd(counts, vec2(4u, 1u), ~(x << 8u));
        textureAtomicXor(counts, vec2(5u, 1u), x * 0x1234567u);
        textureAtomicAdd(counts, vec2(6u, 1u), 1u);
        textureAtomicMin(signed, vec2(0u, 0u), 1u, -i32(x));
        textureAtomicMax(signed, vec2(1u, 0u), 1u, i32(x) - 100);
    }
";

#[cfg(feature = "software")]
#[test]
fn texels_are_changed_at_once() {
    let profile = ziggurat_pipeline::device::ziggurat_software::Profile::nvidia();
    let options = DeviceOptions {
        features: vec![ziggurat_pipeline::ShaderFeature::TextureAtomics],
        ..DeviceOptions::default()
    };
    let device = Device::software(profile, options).unwrap();
    let pipelines = &Pipelines::new(&Memory::new(&device, MemoryOptions::default()));
    let kernel = kernel(pipelines, ShaderSource::wgsl("count", COUNT));
    let atomic = STORAGE | TextureUsages::STORAGE_ATOMIC;
    let counts = flat(pipelines, TextureFormat::R32Uint, [6, 2], atomic);
    let layers = ([2, 1, 2], TextureDimension::D2, 1);
    let signed = texture_of(pipelines, TextureFormat::R32Sint, layers, atomic);
    let write = |texture: &Texture, words: &[u32]| {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        pipelines.memory().write_texture(texture, &bytes).unwrap();
    };
    let before = 0xffff_ff00_u32;
    write(&counts, &[[9; 6], [1, 2, before, 0, before, 5]].concat());
    write(&signed, &[7, 7, 3, (-200_i32).cast_unsigned()]);
    let args = [Arg::texture(&counts), Arg::texture(&signed)];
    let grid = Grid::Workgroups([3, 1, 1]);
    pipelines.dispatch(&kernel, &args, &[], grid).unwrap();

    let all = || 0..192_u32;
    let words = |texture: &Texture| -> Vec<u32> {
        let bytes = read(pipelines, texture);
        let words = bytes.as_chunks::<4>().0.iter();
        words.map(|word| u32::from_le_bytes(*word)).collect()
    };
    let second = [
        1 + all().sum::<u32>(),
        191 * 7,
        500 - 191,
        u32::MAX,
        all().fold(before, |old, x| old & !(x << 8)),
        all().fold(5, |old, x| old ^ x.wrapping_mul(0x123_4567)),
    ];
    assert_eq!(words(&counts), [[9; 6], second].concat());
    assert_eq!(words(&signed), [7, 7, (-191_i32).cast_unsigned(), 91]);

    let plain = flat(pipelines, TextureFormat::R32Uint, [6, 2], STORAGE);
    let args = [Arg::texture(&plain), Arg::texture(&signed)];
    let error = pipelines.dispatch(&kernel, &args, &[], grid).unwrap_err();
    let error = error.to_string();
    assert!(
        error.contains("count:2:27: `counts`") && error.contains("STORAGE_ATOMIC"),
        "{error}"
    );
}
