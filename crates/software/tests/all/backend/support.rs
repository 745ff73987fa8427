//! A device, and the two questions of these tests: does it accept this, does it refuse that?

use std::sync::OnceLock;

use futures::executor::block_on;
use wgpu::BufferUsages;
use ziggurat_software::{Profile, open};

pub(crate) struct Gpu {
    pub(crate) adapter: wgpu::Adapter,
    pub(crate) device: wgpu::Device,
    pub(crate) queue: wgpu::Queue,
}

pub(crate) fn gpu_of(profile: Profile) -> Gpu {
    let driver = if super::DRIVER {
        driver(&profile)
    } else {
        None
    };
    let (adapter, device, queue) = driver.unwrap_or_else(|| open(profile).unwrap());
    Gpu {
        adapter,
        device,
        queue,
    }
}

/// The machine's Vulkan device with a profile's limits and features, as far as it has them.
fn driver(profile: &Profile) -> Option<(wgpu::Adapter, wgpu::Device, wgpu::Queue)> {
    // One for all devices: an object is told to be another device's only within its instance.
    static INSTANCE: OnceLock<wgpu::Instance> = OnceLock::new();
    let instance = INSTANCE.get_or_init(|| {
        wgpu::Instance::new(wgpu::InstanceDescriptor {
            backends: wgpu::Backends::VULKAN,
            ..wgpu::InstanceDescriptor::new_without_display_handle()
        })
    });
    let adapters = block_on(instance.enumerate_adapters(wgpu::Backends::VULKAN));
    let Some(adapter) = adapters.into_iter().next() else {
        let required = std::env::var("ZIGGURAT_REQUIRE_VULKAN").is_ok_and(|value| value == "1");
        assert!(
            !required,
            "ZIGGURAT_REQUIRE_VULKAN is set, but there is no Vulkan adapter"
        );
        println!("SKIPPED: no Vulkan adapter to compare with");
        return None;
    };
    let experimental = wgpu::Features::EXPERIMENTAL_COOPERATIVE_MATRIX;
    let descriptor = wgpu::DeviceDescriptor {
        required_features: profile.features & (adapter.features() - experimental),
        required_limits: profile
            .limits
            .clone()
            .or_worse_values_from(&adapter.limits()),
        ..wgpu::DeviceDescriptor::default()
    };
    let (device, queue) = block_on(adapter.request_device(&descriptor)).unwrap();
    Some((adapter, device, queue))
}

/// A device with the optional features.
pub(crate) fn gpu() -> Gpu {
    gpu_of(Profile::nvidia())
}

/// A device with WebGPU's defaults.
pub(crate) fn plain() -> Gpu {
    gpu_of(Profile::webgpu_default())
}

impl Gpu {
    /// What `f` gives, and the error that it causes.
    pub(crate) fn outcome<R>(&self, f: impl FnOnce() -> R) -> (R, Option<wgpu::Error>) {
        let scopes = [
            wgpu::ErrorFilter::Validation,
            wgpu::ErrorFilter::OutOfMemory,
            wgpu::ErrorFilter::Internal,
        ]
        .map(|filter| self.device.push_error_scope(filter));
        let result = f();
        let mut error = None;
        for scope in scopes.into_iter().rev() {
            error = error.or(block_on(scope.pop()));
        }
        (result, error)
    }

    /// `f` causes no error.
    #[track_caller]
    pub(crate) fn accepts<R>(&self, f: impl FnOnce() -> R) -> R {
        let (result, error) = self.outcome(f);
        assert!(error.is_none(), "refused: {}", error.unwrap());
        result
    }

    /// `f` causes a validation error that says `words`.
    #[track_caller]
    pub(crate) fn refuses<R>(&self, words: &str, f: impl FnOnce() -> R) -> R {
        let (result, error) = self.outcome(f);
        match error {
            Some(wgpu::Error::Validation { description, .. }) => {
                assert!(
                    super::DRIVER || description.contains(words),
                    "'{words}' not in: {description}"
                );
            }
            other => panic!("no validation error but {other:?}"),
        }
        result
    }

    /// `f` causes a validation error that says `words`, which WebGPU asks for and wgpu's own validation for
    /// drivers leaves out: there it causes none.
    #[track_caller]
    pub(crate) fn refuses_alone<R>(&self, words: &str, f: impl FnOnce() -> R) -> R {
        if super::DRIVER && !self.is_software() {
            self.accepts(f)
        } else {
            self.refuses(words, f)
        }
    }

    fn is_software(&self) -> bool {
        self.adapter.get_info().backend == wgpu::Backend::Noop
    }

    pub(crate) fn buffer(&self, bytes: u64, usage: BufferUsages) -> wgpu::Buffer {
        self.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("buffer"),
            size: bytes,
            usage,
            mapped_at_creation: false,
        })
    }

    /// A buffer that kernels and copies may use.
    pub(crate) fn storage(&self, bytes: u64) -> wgpu::Buffer {
        self.buffer(
            bytes,
            BufferUsages::STORAGE | BufferUsages::COPY_SRC | BufferUsages::COPY_DST,
        )
    }

    pub(crate) fn shader(&self, source: &str) -> wgpu::ShaderModule {
        self.device
            .create_shader_module(wgpu::ShaderModuleDescriptor {
                label: Some("shader"),
                source: wgpu::ShaderSource::Wgsl(source.into()),
            })
    }

    /// The only entry point of `source`, with a derived layout.
    pub(crate) fn pipeline(&self, source: &str) -> wgpu::ComputePipeline {
        self.pipeline_with(&self.shader(source), None, &[])
    }

    pub(crate) fn pipeline_with(
        &self,
        module: &wgpu::ShaderModule,
        layout: Option<&wgpu::PipelineLayout>,
        constants: &[(&str, f64)],
    ) -> wgpu::ComputePipeline {
        self.device
            .create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                label: Some("pipeline"),
                layout,
                module,
                entry_point: None,
                compilation_options: wgpu::PipelineCompilationOptions {
                    constants,
                    ..Default::default()
                },
                cache: None,
            })
    }

    /// A bind group of whole buffers, bound from 0 on.
    pub(crate) fn group(
        &self,
        layout: &wgpu::BindGroupLayout,
        buffers: &[&wgpu::Buffer],
    ) -> wgpu::BindGroup {
        let entries: Vec<_> = buffers
            .iter()
            .zip(0..)
            .map(|(buffer, binding)| wgpu::BindGroupEntry {
                binding,
                resource: buffer.as_entire_binding(),
            })
            .collect();
        self.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("group"),
            layout,
            entries: &entries,
        })
    }

    pub(crate) fn encoder(&self) -> wgpu::CommandEncoder {
        self.device.create_command_encoder(&Default::default())
    }

    /// Records with `f` and finishes.
    pub(crate) fn record(&self, f: impl FnOnce(&mut wgpu::CommandEncoder)) -> wgpu::CommandBuffer {
        let mut encoder = self.encoder();
        f(&mut encoder);
        encoder.finish()
    }

    /// Records a compute pass with `f` and finishes.
    pub(crate) fn pass(&self, f: impl FnOnce(&mut wgpu::ComputePass<'_>)) -> wgpu::CommandBuffer {
        self.record(|encoder| f(&mut encoder.begin_compute_pass(&Default::default())))
    }

    /// The bytes of a buffer with `COPY_SRC`.
    pub(crate) fn read(&self, buffer: &wgpu::Buffer) -> Vec<u8> {
        let staging = self.buffer(
            buffer.size(),
            BufferUsages::MAP_READ | BufferUsages::COPY_DST,
        );
        let commands = self.record(|encoder| {
            encoder.copy_buffer_to_buffer(buffer, 0, &staging, 0, None);
        });
        self.queue.submit([commands]);
        staging.map_async(wgpu::MapMode::Read, .., |result| result.unwrap());
        self.device
            .poll(wgpu::PollType::wait_indefinitely())
            .unwrap();
        staging.get_mapped_range(..).unwrap().to_vec()
    }

    pub(crate) fn read_u32(&self, buffer: &wgpu::Buffer) -> Vec<u32> {
        let bytes = self.read(buffer);
        let words = bytes.chunks_exact(4);
        words
            .map(|word| u32::from_le_bytes(word.try_into().unwrap()))
            .collect()
    }
}

pub(crate) fn bytes_of(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}
