//! What the device does not have: errors, never panics.

use wgpu::BufferUsages as U;

use super::support::plain;

#[test]
fn textures_and_samplers_are_refused_and_their_handles_take_everything() {
    let gpu = plain();
    let texture = gpu.refuses("textures are not supported", || {
        gpu.device.create_texture(&wgpu::TextureDescriptor {
            label: Some("texture"),
            size: wgpu::Extent3d::default(),
            mip_level_count: 1,
            sample_count: 1,
            dimension: wgpu::TextureDimension::D2,
            format: wgpu::TextureFormat::R32Float,
            usage: wgpu::TextureUsages::COPY_DST,
            view_formats: &[],
        })
    });
    let _view = texture.create_view(&Default::default());
    gpu.refuses("textures are not supported", || {
        gpu.queue.write_texture(
            texture.as_image_copy(),
            &[0; 4],
            wgpu::TexelCopyBufferLayout::default(),
            wgpu::Extent3d::default(),
        );
    });
    gpu.refuses("textures are not supported", || {
        gpu.record(|encoder| {
            encoder.copy_texture_to_texture(
                texture.as_image_copy(),
                texture.as_image_copy(),
                wgpu::Extent3d::default(),
            );
        })
    });
    texture.destroy();
    gpu.refuses("samplers are not supported", || {
        gpu.device.create_sampler(&Default::default())
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
fn bindings_are_buffers() {
    let gpu = plain();
    gpu.refuses("bindings other than buffers", || {
        gpu.device
            .create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
                label: None,
                entries: &[wgpu::BindGroupLayoutEntry {
                    binding: 0,
                    visibility: wgpu::ShaderStages::COMPUTE,
                    ty: wgpu::BindingType::Sampler(wgpu::SamplerBindingType::Filtering),
                    count: None,
                }],
            })
    });
}
