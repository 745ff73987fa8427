//! The device: it makes objects, and runs callbacks in `poll`.

use std::future::ready;
use std::pin::Pin;
use std::sync::Arc;

use wgpu::custom::{
    BoxDeviceLostCallback, DeviceInterface, DispatchBindGroup, DispatchBindGroupLayout,
    DispatchBlas, DispatchBuffer, DispatchCommandEncoder, DispatchComputePipeline,
    DispatchExternalTexture, DispatchPipelineCache, DispatchPipelineLayout, DispatchQuerySet,
    DispatchRenderBundleEncoder, DispatchRenderPipeline, DispatchSampler, DispatchShaderModule,
    DispatchTexture, DispatchTlas, PopErrorScopeFuture,
};

use super::adapter::info;
use super::buffer::Buffer;
use super::encoder::CommandEncoder;
use super::graphics::Absent;
use super::group::BindGroup;
use super::layout::{BindGroupLayout, PipelineLayout};
use super::mapped::probe;
use super::object::{ObjectError, debug_by_name};
use super::pipeline::ComputePipeline;
use super::query::QuerySet;
use super::shader::ShaderModule;
use super::state::State;
use super::texture::{Sampler, Texture};
use crate::profile::Profile;

/// wgpu's handle.
pub(super) struct Device {
    state: Arc<State>,
    probing: bool,
}

debug_by_name!(Device);

impl Device {
    pub(super) fn new(state: &Arc<State>) -> Self {
        Self {
            state: Arc::clone(state),
            probing: false,
        }
    }

    pub(super) fn state(&self) -> &Arc<State> {
        &self.state
    }

    /// A device whose buffers only serve to make wgpu refuse a mapped range.
    pub(super) fn probing() -> Self {
        let profile = Profile::webgpu_default();
        let (features, limits) = (profile.features, profile.limits.clone());
        Self {
            state: State::new(profile, features, limits),
            probing: true,
        }
    }

    /// Reports that an object cannot be made here, and gives one that nothing accepts.
    fn absent(&self, call: &'static str, label: Option<&str>, what: &'static str) -> Absent {
        self.state.invalid(
            call,
            label.unwrap_or_default(),
            ObjectError::Unsupported { what },
        );
        Absent
    }
}

impl DeviceInterface for Device {
    fn features(&self) -> wgpu::Features {
        self.state.features
    }

    fn limits(&self) -> wgpu::Limits {
        self.state.limits.clone()
    }

    fn adapter_info(&self) -> wgpu::AdapterInfo {
        info(&self.state.profile)
    }

    fn create_shader_module(
        &self,
        desc: wgpu::ShaderModuleDescriptor<'_>,
        _: wgpu::ShaderRuntimeChecks,
    ) -> DispatchShaderModule {
        DispatchShaderModule::custom(ShaderModule::create(&self.state, desc))
    }

    // SAFETY: nothing is asked of the caller: the body is safe code.
    #[expect(unsafe_code, reason = "the trait declares it unsafe; the body is safe")]
    unsafe fn create_shader_module_passthrough(
        &self,
        desc: &wgpu::ShaderModuleDescriptorPassthrough<'_>,
    ) -> DispatchShaderModule {
        let label = desc.label.unwrap_or_default();
        DispatchShaderModule::custom(ShaderModule::unsupported(&self.state, label))
    }

    fn create_bind_group_layout(
        &self,
        desc: &wgpu::BindGroupLayoutDescriptor<'_>,
    ) -> DispatchBindGroupLayout {
        DispatchBindGroupLayout::custom(BindGroupLayout::create(&self.state, desc))
    }

    fn create_bind_group(&self, desc: &wgpu::BindGroupDescriptor<'_>) -> DispatchBindGroup {
        DispatchBindGroup::custom(BindGroup::create(&self.state, desc))
    }

    fn create_pipeline_layout(
        &self,
        desc: &wgpu::PipelineLayoutDescriptor<'_>,
    ) -> DispatchPipelineLayout {
        DispatchPipelineLayout::custom(PipelineLayout::create(&self.state, desc))
    }

    fn create_render_pipeline(
        &self,
        desc: &wgpu::RenderPipelineDescriptor<'_>,
    ) -> DispatchRenderPipeline {
        DispatchRenderPipeline::custom(self.absent(
            "Device::create_render_pipeline",
            desc.label,
            "render pipelines",
        ))
    }

    fn create_mesh_pipeline(
        &self,
        desc: &wgpu::MeshPipelineDescriptor<'_>,
    ) -> DispatchRenderPipeline {
        DispatchRenderPipeline::custom(self.absent(
            "Device::create_mesh_pipeline",
            desc.label,
            "mesh pipelines",
        ))
    }

    fn create_compute_pipeline(
        &self,
        desc: &wgpu::ComputePipelineDescriptor<'_>,
    ) -> DispatchComputePipeline {
        DispatchComputePipeline::custom(ComputePipeline::create(&self.state, desc))
    }

    // SAFETY: nothing is asked of the caller: the body is safe code.
    #[expect(unsafe_code, reason = "the trait declares it unsafe; the body is safe")]
    unsafe fn create_pipeline_cache(
        &self,
        desc: &wgpu::PipelineCacheDescriptor<'_>,
    ) -> DispatchPipelineCache {
        DispatchPipelineCache::custom(self.absent(
            "Device::create_pipeline_cache",
            desc.label,
            "pipeline caches",
        ))
    }

    fn create_buffer(&self, desc: &wgpu::BufferDescriptor<'_>) -> DispatchBuffer {
        if self.probing {
            return probe();
        }
        DispatchBuffer::custom(Buffer::create(&self.state, desc))
    }

    fn create_texture(&self, desc: &wgpu::TextureDescriptor<'_>) -> DispatchTexture {
        DispatchTexture::custom(Texture::create(&self.state, desc))
    }

    fn create_external_texture(
        &self,
        desc: &wgpu::ExternalTextureDescriptor<'_>,
        _: &[&wgpu::TextureView],
    ) -> DispatchExternalTexture {
        DispatchExternalTexture::custom(self.absent(
            "Device::create_external_texture",
            desc.label,
            "external textures",
        ))
    }

    fn create_blas(
        &self,
        desc: &wgpu::CreateBlasDescriptor<'_>,
        _: wgpu::BlasGeometrySizeDescriptors,
    ) -> (Option<u64>, DispatchBlas) {
        let blas = self.absent("Device::create_blas", desc.label, "acceleration structures");
        (None, DispatchBlas::custom(blas))
    }

    fn create_tlas(&self, desc: &wgpu::CreateTlasDescriptor<'_>) -> DispatchTlas {
        DispatchTlas::custom(self.absent(
            "Device::create_tlas",
            desc.label,
            "acceleration structures",
        ))
    }

    fn create_sampler(&self, desc: &wgpu::SamplerDescriptor<'_>) -> DispatchSampler {
        DispatchSampler::custom(Sampler::create(&self.state, desc))
    }

    fn create_query_set(&self, desc: &wgpu::QuerySetDescriptor<'_>) -> DispatchQuerySet {
        DispatchQuerySet::custom(QuerySet::create(&self.state, desc))
    }

    fn create_command_encoder(
        &self,
        desc: &wgpu::CommandEncoderDescriptor<'_>,
    ) -> DispatchCommandEncoder {
        DispatchCommandEncoder::custom(CommandEncoder::create(&self.state, desc))
    }

    fn create_render_bundle_encoder(
        &self,
        desc: &wgpu::RenderBundleEncoderDescriptor<'_>,
    ) -> DispatchRenderBundleEncoder {
        DispatchRenderBundleEncoder::custom(self.absent(
            "Device::create_render_bundle_encoder",
            desc.label,
            "render bundles",
        ))
    }

    fn set_device_lost_callback(&self, device_lost_callback: BoxDeviceLostCallback) {
        self.state.set_lost_callback(device_lost_callback);
    }

    fn on_uncaptured_error(&self, handler: Arc<dyn wgpu::UncapturedErrorHandler>) {
        self.state.errors.handle_with(handler);
    }

    fn push_error_scope(&self, filter: wgpu::ErrorFilter) -> u32 {
        self.state.errors.push(filter)
    }

    fn pop_error_scope(&self, index: u32) -> Pin<Box<dyn PopErrorScopeFuture>> {
        Box::pin(ready(self.state.errors.pop(index)))
    }

    // SAFETY: nothing is asked of the caller: the body is safe code.
    #[expect(unsafe_code, reason = "the trait declares it unsafe; the body is safe")]
    unsafe fn start_graphics_debugger_capture(&self) {}

    // SAFETY: nothing is asked of the caller: the body is safe code.
    #[expect(unsafe_code, reason = "the trait declares it unsafe; the body is safe")]
    unsafe fn stop_graphics_debugger_capture(&self) {}

    fn poll(
        &self,
        poll_type: wgpu::wgt::PollType<u64>,
    ) -> Result<wgpu::PollStatus, wgpu::PollError> {
        if let wgpu::wgt::PollType::Wait {
            submission_index: Some(wanted),
            ..
        } = poll_type
        {
            let last = self.state.submitted();
            if wanted > last {
                return Err(wgpu::PollError::WrongSubmissionIndex(wanted, last));
            }
        }
        self.state.run_pending();
        Ok(wgpu::PollStatus::QueueEmpty)
    }

    fn get_internal_counters(&self) -> wgpu::InternalCounters {
        wgpu::InternalCounters::default()
    }

    fn generate_allocator_report(&self) -> Option<wgpu::AllocatorReport> {
        None
    }

    fn destroy(&self) {
        self.state.destroy();
    }
}
