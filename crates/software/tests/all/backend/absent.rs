//! What the device does not have: errors, never panics.

use wgpu::BufferUsages as U;

use super::support::plain;

#[test]
fn textures_that_it_has_not_are_refused_and_their_handles_take_everything() {
    let gpu = plain();
    let mut desc = wgpu::TextureDescriptor {
        label: Some("texture"),
        size: wgpu::Extent3d::default(),
        mip_level_count: 1,
        sample_count: 1,
        dimension: wgpu::TextureDimension::D2,
        format: wgpu::TextureFormat::Depth32Float,
        usage: wgpu::TextureUsages::COPY_DST,
        view_formats: &[],
    };
    let texture = gpu.refuses("format Depth32Float are not supported", || {
        gpu.device.create_texture(&desc)
    });
    let _view = texture.create_view(&Default::default());
    gpu.refuses("is invalid", || {
        gpu.queue.write_texture(
            texture.as_image_copy(),
            &[0; 4],
            wgpu::TexelCopyBufferLayout::default(),
            wgpu::Extent3d::default(),
        );
    });
    gpu.refuses("copies between textures are not supported", || {
        gpu.record(|encoder| {
            encoder.copy_texture_to_texture(
                texture.as_image_copy(),
                texture.as_image_copy(),
                wgpu::Extent3d::default(),
            );
        })
    });
    texture.destroy();
    desc.format = wgpu::TextureFormat::R32Float;
    for (samples, usage, words) in [
        (4, wgpu::TextureUsages::COPY_DST, "multisampled textures"),
        (
            1,
            wgpu::TextureUsages::RENDER_ATTACHMENT,
            "render attachments",
        ),
        (1, wgpu::TextureUsages::empty(), "is empty"),
    ] {
        desc.sample_count = samples;
        desc.usage = usage;
        gpu.refuses(words, || gpu.device.create_texture(&desc));
    }
    let compare = wgpu::SamplerDescriptor {
        compare: Some(wgpu::CompareFunction::Less),
        ..Default::default()
    };
    gpu.refuses("samplers that compare depths", || {
        gpu.device.create_sampler(&compare)
    });
}

#[test]
fn render_passes_are_refused_when_the_encoder_finishes() {
    let gpu = plain();
    gpu.refuses("render passes are not supported", || {
        gpu.record(|encoder| {
            let mut pass = encoder.begin_render_pass(&Default::default());
            pass.draw(0..3, 0..1);
            pass.set_viewport(0.0, 0.0, 1.0, 1.0, 0.0, 1.0);
        })
    });
}

#[test]
fn render_bundles_are_refused() {
    let gpu = plain();
    let encoder = gpu.refuses("render bundles are not supported", || {
        gpu.device.create_render_bundle_encoder(&Default::default())
    });
    let _bundle = encoder.finish(&Default::default());
}

#[test]
fn objects_of_another_backend_are_refused() {
    let gpu = plain();
    let (device, _queue) = wgpu::Device::noop(&wgpu::DeviceDescriptor::default());
    let foreign = device.create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size: 8,
        usage: U::COPY_DST,
        mapped_at_creation: false,
    });
    gpu.refuses("was not made by a software device", || {
        gpu.queue.write_buffer(&foreign, 0, &[0; 4]);
    });
}

#[test]
fn external_textures_are_not_bound() {
    let gpu = plain();
    gpu.refuses("bindings other than buffers, textures and samplers", || {
        gpu.device
            .create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
                label: None,
                entries: &[wgpu::BindGroupLayoutEntry {
                    binding: 0,
                    visibility: wgpu::ShaderStages::COMPUTE,
                    ty: wgpu::BindingType::ExternalTexture,
                    count: None,
                }],
            })
    });
}
