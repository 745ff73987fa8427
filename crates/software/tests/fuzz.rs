//! No text makes the device panic or hang: WGSL changed at random becomes an error or a pipeline, and
//! what becomes a pipeline runs to its end or is stopped.
//!
//! `cargo xtask fuzz --only shaders` tries other texts than the usual ones, as many as asked for.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests")]

#[path = "../../kernels/tests/common/campaign.rs"]
mod campaign;
#[path = "fuzz/mutate.rs"]
mod mutate;
#[path = "support/random.rs"]
mod random;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use campaign::Campaign;
use futures::executor::block_on;
use mutate::mutate;
use random::Random;
use ziggurat_software::{Profile, open};

/// Small kernels that use what the catalogue does not.
const EXTRA: [&str; 4] = [
    include_str!("fuzz/control.wgsl"),
    include_str!("fuzz/values.wgsl"),
    include_str!("fuzz/shared.wgsl"),
    include_str!("fuzz/matrices.wgsl"),
];

/// What became of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum End {
    /// naga or the device refused the module.
    Module,
    /// The pipeline was refused.
    Pipeline,
    /// The dispatch was refused.
    Dispatch,
    /// The step budget stopped it, or memory ran out.
    Stopped,
    Ran,
}

struct Gpu {
    device: wgpu::Device,
    queue: wgpu::Queue,
}

impl Gpu {
    fn new(mut profile: Profile) -> Self {
        // 25,000 operations of 256 invocations, each of which counts 16: a few milliseconds of a loop without an end.
        profile.steps = Some(400_000);
        profile.threads = 1;
        profile.memory_budget = 64 << 20;
        let (_, device, queue) = open(profile).unwrap();
        Self { device, queue }
    }

    /// What `f` gives, or the errors that it caused.
    fn try_to<R>(&self, f: impl FnOnce() -> R) -> Result<R, Vec<wgpu::Error>> {
        let filters = [
            wgpu::ErrorFilter::Validation,
            wgpu::ErrorFilter::OutOfMemory,
            wgpu::ErrorFilter::Internal,
        ];
        let scopes = filters.map(|filter| self.device.push_error_scope(filter));
        let result = f();
        let errors = scopes
            .into_iter()
            .rev()
            .filter_map(|scope| block_on(scope.pop()));
        let errors: Vec<_> = errors.collect();
        if errors.is_empty() {
            Ok(result)
        } else {
            Err(errors)
        }
    }

    /// How far the text gets, and what stopped it.
    fn attempt(&self, text: &str) -> Result<(), (End, Vec<wgpu::Error>)> {
        let module = self.try_to(|| {
            self.device
                .create_shader_module(wgpu::ShaderModuleDescriptor {
                    label: None,
                    source: wgpu::ShaderSource::Wgsl(text.into()),
                })
        });
        let module = module.map_err(|errors| (End::Module, errors))?;
        let pipeline = self.try_to(|| {
            self.device
                .create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                    label: None,
                    layout: None,
                    module: &module,
                    entry_point: None,
                    compilation_options: wgpu::PipelineCompilationOptions::default(),
                    cache: None,
                })
        });
        let pipeline = pipeline.map_err(|errors| (End::Pipeline, errors))?;
        let (bindings, immediates) = needs(text);
        let dispatched = self.try_to(|| {
            let mut encoder = self
                .device
                .create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
            pass.set_pipeline(&pipeline);
            for (group, numbers) in bindings {
                let buffers: Vec<_> = numbers
                    .iter()
                    .map(|number| (*number, self.buffer(*number)))
                    .collect();
                let entries: Vec<_> = buffers
                    .iter()
                    .map(|(binding, buffer)| wgpu::BindGroupEntry {
                        binding: *binding,
                        resource: buffer.as_entire_binding(),
                    })
                    .collect();
                let group_of = self.device.create_bind_group(&wgpu::BindGroupDescriptor {
                    label: None,
                    layout: &pipeline.get_bind_group_layout(group),
                    entries: &entries,
                });
                pass.set_bind_group(group, &group_of, &[]);
            }
            if immediates > 0 {
                pass.set_immediates(0, &[3, 0, 0, 0].repeat(immediates as usize / 4));
            }
            pass.dispatch_workgroups(3, 2, 1);
            drop(pass);
            encoder.finish()
        });
        let commands = dispatched.map_err(|errors| (End::Dispatch, errors))?;
        let submitted = self.try_to(|| self.queue.submit([commands]));
        submitted
            .map(|_| ())
            .map_err(|errors| (End::Stopped, errors))
    }

    /// Small numbers, so that most loops over sizes and counts end soon.
    fn buffer(&self, seed: u32) -> wgpu::Buffer {
        use wgpu::BufferUsages as Usage;
        let buffer = self.device.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: 4096,
            usage: Usage::STORAGE | Usage::UNIFORM | Usage::COPY_DST,
            mapped_at_creation: false,
        });
        let words = (0..1024u32).flat_map(|k| ((k * 7 + seed % 5) % 9).to_le_bytes());
        let bytes: Vec<u8> = words.collect();
        self.queue.write_buffer(&buffer, 0, &bytes);
        buffer
    }
}

/// The bindings that the only compute entry point uses, by group, and the bytes of immediates.
fn needs(text: &str) -> (BTreeMap<u32, Vec<u32>>, u32) {
    let mut options = naga::front::wgsl::Options::new();
    options.capabilities = naga::valid::Capabilities::all();
    let mut frontend = naga::front::wgsl::Frontend::new_with_options(options);
    let module = frontend.parse(text).unwrap();
    let mut validator = naga::valid::Validator::new(
        naga::valid::ValidationFlags::all(),
        naga::valid::Capabilities::all(),
    );
    let info = validator.validate(&module).unwrap();
    let compute = |point: &naga::EntryPoint| point.stage == naga::ShaderStage::Compute;
    let entry = module.entry_points.iter().position(compute).unwrap();
    let used = info.get_entry_point(entry);
    let mut bindings: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    let mut immediates = 0;
    for (handle, variable) in module.global_variables.iter() {
        if variable.space == naga::AddressSpace::Immediate {
            immediates = module.types[variable.ty]
                .inner
                .size(module.to_ctx())
                .next_multiple_of(4);
        }
        if let (Some(bound), false) = (variable.binding, used[handle].is_empty()) {
            let numbers = bindings.entry(bound.group).or_default();
            if !numbers.contains(&bound.binding) {
                numbers.push(bound.binding);
            }
        }
    }
    (bindings, immediates)
}

/// Texts that are tried where nothing else is asked for: the same ones on any machine, however fast. `cargo xtask fuzz` tries
/// twice as many others.
const TEXTS: u64 = 3000;

#[test]
fn no_text_makes_the_device_panic() {
    let mut campaign = Campaign::new(TEXTS);
    let mut sources: Vec<String> = ziggurat_kernels::catalogue()
        .unwrap()
        .iter()
        .step_by(5)
        .map(|variant| variant.descriptor.source.text())
        .collect();
    let own = EXTRA.iter().map(|text| (*text).to_owned());
    let copies = sources.len() / EXTRA.len() / 2;
    sources.extend(own.cycle().take(copies * EXTRA.len()));

    // Panics inside naga are turned into errors by the device; where they were is worth a line.
    let places: Arc<Mutex<BTreeMap<String, u64>>> = Arc::default();
    let seen = Arc::clone(&places);
    std::panic::set_hook(Box::new(move |info| {
        let place = info
            .location()
            .map_or_else(String::new, ToString::to_string);
        let text = info.payload_as_str().unwrap_or_default().to_owned();
        *seen
            .lock()
            .unwrap()
            .entry(format!("{place}: {text}"))
            .or_default() += 1;
    }));
    let gpus: Vec<Gpu> = Profile::all().into_iter().map(Gpu::new).collect();
    let start = Instant::now();
    let mut ends: BTreeMap<End, u64> = BTreeMap::new();
    let mut slowest = Duration::ZERO;
    let mut findings: Vec<String> = Vec::new();
    while let Some(seed) = campaign.next().filter(|_| findings.len() < 5) {
        campaign.note(seed, "");
        let mut random = Random::new(seed);
        let text = mutate(&sources, &mut random);
        // The profile with everything most of the time.
        let gpu = &gpus[[1, 1, 1, 0, 2, 3][random.below(6)]];
        let began = Instant::now();
        match catch_unwind(AssertUnwindSafe(|| gpu.attempt(&text))) {
            Ok(outcome) => {
                let end = outcome.map_or_else(|(end, _)| end, |()| End::Ran);
                *ends.entry(end).or_default() += 1;
            }
            Err(_) => findings.push(format!("seed {seed} panics:\n{text}")),
        }
        let took = began.elapsed();
        slowest = slowest.max(took);
        if took > Duration::from_secs(10) {
            findings.push(format!("seed {seed} takes {took:?}:\n{text}"));
        }
    }
    let _ = std::panic::take_hook();
    let rounds = campaign.done();
    println!(
        "{rounds} texts in {:.0?}: {ends:?}; slowest {slowest:.1?}",
        start.elapsed()
    );
    for (place, count) in places.lock().unwrap().iter() {
        println!("caught {count} times: {place}");
    }
    assert!(findings.is_empty(), "{}", findings.join("\n\n"));
    let of = |end| ends.get(&end).copied().unwrap_or(0);
    assert!(
        !campaign.is_usual() || of(End::Ran) > rounds / 50 && of(End::Module) > rounds / 20,
        "the texts are all alike: {ends:?}"
    );
}

#[test]
fn the_unchanged_texts_run() {
    let gpu = Gpu::new(Profile::nvidia());
    for text in EXTRA {
        if let Err((end, errors)) = gpu.attempt(text) {
            panic!("{end:?}: {errors:#?}\n{text}");
        }
    }
}

#[test]
fn a_text_that_does_not_end_is_stopped_and_a_wrong_one_refused() {
    let gpu = Gpu::new(Profile::webgpu_default());
    let end = |text: &str| gpu.attempt(text).map_err(|(end, _)| end);
    let endless = "@compute @workgroup_size(1) fn main() { loop { if false { break; } } }";
    assert_eq!(end(endless), Err(End::Stopped));
    assert_eq!(end("fn main( {"), Err(End::Module));
    let wide = "@compute @workgroup_size(1024) fn main() {}";
    assert_eq!(end(wide), Err(End::Pipeline));
}
