//! What a device that only computes does not have.
//!
//! wgpu asks for an object even where there can be none: the call that would create it reports a
//! validation error and returns [`Absent`], which takes every further call and does nothing.

use std::ops::Range;

use wgpu::custom::{
    BlasCompactCallback, BlasInterface, DispatchAdapter, DispatchBindGroup,
    DispatchBindGroupLayout, DispatchBuffer, DispatchDevice, DispatchQuerySet,
    DispatchRenderBundle, DispatchRenderPipeline, DispatchSurfaceOutputDetail, DispatchTexture,
    DispatchTextureView, ExternalTextureInterface, PipelineCacheInterface,
    RenderBundleEncoderInterface, RenderBundleInterface, RenderPassInterface,
    RenderPipelineInterface, SamplerInterface, SurfaceInterface, SurfaceOutputDetailInterface,
    TextureInterface, TextureViewInterface, TlasInterface,
};

/// Stands for any object that does not exist here.
#[derive(Debug)]
pub(super) struct Absent;

/// A bind group layout of a render pipeline that does not exist.
#[derive(Debug)]
struct AbsentLayout;

impl wgpu::custom::BindGroupLayoutInterface for AbsentLayout {}

impl TextureViewInterface for Absent {}
impl SamplerInterface for Absent {}
impl TlasInterface for Absent {}
impl RenderBundleInterface for Absent {}

impl Drop for Absent {
    fn drop(&mut self) {}
}

impl TextureInterface for Absent {
    fn create_view(&self, _: &wgpu::TextureViewDescriptor<'_>) -> DispatchTextureView {
        DispatchTextureView::custom(Self)
    }
    fn destroy(&self) {}
}

impl ExternalTextureInterface for Absent {
    fn destroy(&self) {}
}

impl BlasInterface for Absent {
    fn prepare_compact_async(&self, callback: BlasCompactCallback) {
        callback(Err(wgpu::BlasAsyncError));
    }
    fn ready_for_compaction(&self) -> bool {
        false
    }
}

impl RenderPipelineInterface for Absent {
    fn get_bind_group_layout(&self, _: u32) -> DispatchBindGroupLayout {
        DispatchBindGroupLayout::custom(AbsentLayout)
    }
}

impl PipelineCacheInterface for Absent {
    fn get_data(&self) -> Option<Vec<u8>> {
        None
    }
}

impl SurfaceInterface for Absent {
    fn get_capabilities(&self, _: &DispatchAdapter) -> wgpu::SurfaceCapabilities {
        wgpu::SurfaceCapabilities::default()
    }
    fn configure(&self, _: &DispatchDevice, _: &wgpu::SurfaceConfiguration) {}
    fn get_current_texture(
        &self,
    ) -> (
        Option<DispatchTexture>,
        wgpu::SurfaceStatus,
        DispatchSurfaceOutputDetail,
    ) {
        (
            None,
            wgpu::wgt::SurfaceStatus::Lost,
            DispatchSurfaceOutputDetail::custom(Self),
        )
    }
}

impl SurfaceOutputDetailInterface for Absent {
    fn texture_discard(&self) {}
    fn texture_release(&self) {}
}

impl RenderPassInterface for Absent {
    fn set_pipeline(&mut self, _: &DispatchRenderPipeline) {}
    fn set_bind_group(&mut self, _: u32, _: Option<&DispatchBindGroup>, _: &[wgpu::DynamicOffset]) {
    }
    fn set_index_buffer(
        &mut self,
        _: &DispatchBuffer,
        _: wgpu::IndexFormat,
        _: u64,
        _: Option<wgpu::BufferSize>,
    ) {
    }
    fn set_vertex_buffer(
        &mut self,
        _: u32,
        _: Option<&DispatchBuffer>,
        _: u64,
        _: Option<wgpu::BufferSize>,
    ) {
    }
    fn set_immediates(&mut self, _: u32, _: &[u8]) {}
    fn set_blend_constant(&mut self, _: wgpu::Color) {}
    fn set_scissor_rect(&mut self, _: u32, _: u32, _: u32, _: u32) {}
    fn set_viewport(&mut self, _: f32, _: f32, _: f32, _: f32, _: f32, _: f32) {}
    fn set_stencil_reference(&mut self, _: u32) {}
    fn draw(&mut self, _: Range<u32>, _: Range<u32>) {}
    fn draw_indexed(&mut self, _: Range<u32>, _: i32, _: Range<u32>) {}
    fn draw_mesh_tasks(&mut self, _: u32, _: u32, _: u32) {}
    fn draw_indirect(&mut self, _: &DispatchBuffer, _: u64) {}
    fn draw_indexed_indirect(&mut self, _: &DispatchBuffer, _: u64) {}
    fn draw_mesh_tasks_indirect(&mut self, _: &DispatchBuffer, _: u64) {}
    fn multi_draw_indirect(&mut self, _: &DispatchBuffer, _: u64, _: u32) {}
    fn multi_draw_indexed_indirect(&mut self, _: &DispatchBuffer, _: u64, _: u32) {}
    fn multi_draw_indirect_count(
        &mut self,
        _: &DispatchBuffer,
        _: u64,
        _: &DispatchBuffer,
        _: u64,
        _: u32,
    ) {
    }
    fn multi_draw_mesh_tasks_indirect(&mut self, _: &DispatchBuffer, _: u64, _: u32) {}
    fn multi_draw_indexed_indirect_count(
        &mut self,
        _: &DispatchBuffer,
        _: u64,
        _: &DispatchBuffer,
        _: u64,
        _: u32,
    ) {
    }
    fn multi_draw_mesh_tasks_indirect_count(
        &mut self,
        _: &DispatchBuffer,
        _: u64,
        _: &DispatchBuffer,
        _: u64,
        _: u32,
    ) {
    }
    fn insert_debug_marker(&mut self, _: &str) {}
    fn push_debug_group(&mut self, _: &str) {}
    fn pop_debug_group(&mut self) {}
    fn write_timestamp(&mut self, _: &DispatchQuerySet, _: u32) {}
    fn begin_occlusion_query(&mut self, _: u32) {}
    fn end_occlusion_query(&mut self) {}
    fn begin_pipeline_statistics_query(&mut self, _: &DispatchQuerySet, _: u32) {}
    fn end_pipeline_statistics_query(&mut self) {}
    fn execute_bundles(&mut self, _: &mut dyn Iterator<Item = &DispatchRenderBundle>) {}
}

impl RenderBundleEncoderInterface for Absent {
    fn set_pipeline(&mut self, _: &DispatchRenderPipeline) {}
    fn set_bind_group(&mut self, _: u32, _: Option<&DispatchBindGroup>, _: &[wgpu::DynamicOffset]) {
    }
    fn set_index_buffer(
        &mut self,
        _: &DispatchBuffer,
        _: wgpu::IndexFormat,
        _: u64,
        _: Option<wgpu::BufferSize>,
    ) {
    }
    fn set_vertex_buffer(
        &mut self,
        _: u32,
        _: Option<&DispatchBuffer>,
        _: u64,
        _: Option<wgpu::BufferSize>,
    ) {
    }
    fn set_immediates(&mut self, _: u32, _: &[u8]) {}
    fn draw(&mut self, _: Range<u32>, _: Range<u32>) {}
    fn draw_indexed(&mut self, _: Range<u32>, _: i32, _: Range<u32>) {}
    fn draw_indirect(&mut self, _: &DispatchBuffer, _: u64) {}
    fn draw_indexed_indirect(&mut self, _: &DispatchBuffer, _: u64) {}
    fn finish(self, _: &wgpu::RenderBundleDescriptor<'_>) -> DispatchRenderBundle {
        DispatchRenderBundle::custom(self)
    }
    fn finish_boxed(self: Box<Self>, _: &wgpu::RenderBundleDescriptor<'_>) -> DispatchRenderBundle {
        DispatchRenderBundle::custom(*self)
    }
}
