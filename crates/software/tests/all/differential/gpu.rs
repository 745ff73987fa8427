//! A device that runs one shader over some buffers, whatever it is made of.

use futures::executor::block_on;
use wgpu::BufferUsages as Usage;
use ziggurat_software::{Profile, open};

pub(crate) struct Gpu {
    pub(crate) device: wgpu::Device,
    queue: wgpu::Queue,
    pub(crate) name: String,
    subgroup: u32,
}

/// The two outputs of a shader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) out: Vec<u32>,
    pub(crate) totals: Vec<u32>,
}

/// What is compared where the driver has it.
const WANTED: wgpu::Features = wgpu::Features::SUBGROUP
    .union(wgpu::Features::SHADER_F16)
    .union(wgpu::Features::SHADER_I16)
    .union(wgpu::Features::SHADER_F64)
    .union(wgpu::Features::SHADER_INT64);

impl Gpu {
    /// The machine's Vulkan device.
    pub(crate) fn vulkan() -> Option<Self> {
        let instance = wgpu::Instance::new(wgpu::InstanceDescriptor {
            backends: wgpu::Backends::VULKAN,
            ..wgpu::InstanceDescriptor::new_without_display_handle()
        });
        let adapters = block_on(instance.enumerate_adapters(wgpu::Backends::VULKAN));
        let adapter = adapters.into_iter().next()?;
        let descriptor = wgpu::DeviceDescriptor {
            required_features: adapter.features() & WANTED,
            ..wgpu::DeviceDescriptor::default()
        };
        let (device, queue) = block_on(adapter.request_device(&descriptor)).ok()?;
        let info = adapter.get_info();
        Some(Self {
            device,
            queue,
            name: info.name,
            subgroup: info.subgroup_max_size,
        })
    }

    /// The software device, with the features and the subgroups of another.
    pub(crate) fn software(like: &Self) -> Self {
        Self::own(like.device.features(), like.subgroup.clamp(4, 128))
    }

    /// The software device with these features.
    pub(crate) fn with_features(features: wgpu::Features) -> Self {
        Self::own(features, 32)
    }

    fn own(features: wgpu::Features, subgroup: u32) -> Self {
        let mut profile = Profile::webgpu_default();
        profile.features = features;
        profile.subgroup_size = subgroup;
        let (_, device, queue) = open(profile).unwrap();
        Self {
            device,
            queue,
            name: "software".to_owned(),
            subgroup,
        }
    }

    fn buffer(&self, words: &[u32], usage: Usage) -> wgpu::Buffer {
        let buffer = self.device.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: words.len() as u64 * 4,
            usage: usage | Usage::COPY_DST,
            mapped_at_creation: false,
        });
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.queue.write_buffer(&buffer, 0, &bytes);
        buffer
    }

    fn read(&self, buffer: &wgpu::Buffer) -> Vec<u32> {
        let staging = self.device.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: buffer.size(),
            usage: Usage::MAP_READ | Usage::COPY_DST,
            mapped_at_creation: false,
        });
        let mut encoder = self
            .device
            .create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        encoder.copy_buffer_to_buffer(buffer, 0, &staging, 0, None);
        self.queue.submit([encoder.finish()]);
        staging.map_async(wgpu::MapMode::Read, .., |_| {});
        self.device
            .poll(wgpu::PollType::wait_indefinitely())
            .unwrap();
        let view = staging.get_mapped_range(..).unwrap();
        let words = view
            .chunks_exact(4)
            .map(|word| u32::from_le_bytes(word.try_into().unwrap()));
        words.collect()
    }

    /// Runs `main` of a text over `groups` workgroups with buffers at the bindings in order; gives
    /// the two whose numbers are in `results`. Bindings that the text does not name get none.
    pub(crate) fn run(
        &self,
        text: &str,
        buffers: &[Vec<u32>],
        results: [usize; 2],
        groups: u32,
    ) -> Result<Outcome, String> {
        let scope = self.device.push_error_scope(wgpu::ErrorFilter::Validation);
        let inner = self.device.push_error_scope(wgpu::ErrorFilter::Internal);
        let module = self
            .device
            .create_shader_module(wgpu::ShaderModuleDescriptor {
                label: None,
                source: wgpu::ShaderSource::Wgsl(text.into()),
            });
        let named = |number: usize| text.contains(&format!("@binding({number})"));
        let used: Vec<usize> = (0..buffers.len()).filter(|number| named(*number)).collect();
        let entries: Vec<_> = used
            .iter()
            .map(|number| {
                let read_only = text.contains(&format!("@binding({number}) var<storage, read>"));
                wgpu::BindGroupLayoutEntry {
                    binding: *number as u32,
                    visibility: wgpu::ShaderStages::COMPUTE,
                    ty: wgpu::BindingType::Buffer {
                        ty: wgpu::BufferBindingType::Storage { read_only },
                        has_dynamic_offset: false,
                        min_binding_size: None,
                    },
                    count: None,
                }
            })
            .collect();
        let layout = self
            .device
            .create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
                label: None,
                entries: &entries,
            });
        let pipeline_layout = self
            .device
            .create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
                label: None,
                bind_group_layouts: &[Some(&layout)],
                immediate_size: 0,
            });
        let pipeline = self
            .device
            .create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                label: None,
                layout: Some(&pipeline_layout),
                module: &module,
                entry_point: Some("main"),
                compilation_options: wgpu::PipelineCompilationOptions::default(),
                cache: None,
            });
        let buffers: Vec<wgpu::Buffer> = buffers
            .iter()
            .map(|words| self.buffer(words, Usage::STORAGE | Usage::COPY_SRC))
            .collect();
        let entries: Vec<_> = used
            .iter()
            .map(|number| wgpu::BindGroupEntry {
                binding: *number as u32,
                resource: buffers[*number].as_entire_binding(),
            })
            .collect();
        let group = self.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: None,
            layout: &layout,
            entries: &entries,
        });
        let errors = [block_on(inner.pop()), block_on(scope.pop())];
        if let Some(error) = errors.into_iter().flatten().next() {
            return Err(format!("{}: {error}", self.name));
        }
        let mut encoder = self
            .device
            .create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        pass.set_pipeline(&pipeline);
        pass.set_bind_group(0, &group, &[]);
        pass.dispatch_workgroups(groups, 1, 1);
        drop(pass);
        self.queue.submit([encoder.finish()]);
        let [out, totals] = results.map(|number| self.read(&buffers[number]));
        Ok(Outcome { out, totals })
    }
}
