//! On a real adapter, software included: kernels run in order, are timed, and the queue is bounded.

use crate::common::read;
use ziggurat_device::{
    AdapterKind, Device, DeviceError, DeviceOptions, Dispatch, MemoryBytes, Stage, Work, block_on,
};

/// Each launch turns every x into 3x + 1, after `turns` rounds of busy work that change nothing.
const KERNEL: &str = "
@group(0) @binding(0) var<storage, read_write> data: array<u32>;
@group(0) @binding(1) var<storage, read_write> turns: array<u32>;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&data) { return; }
    var busy = id.x;
    for (var turn = 0u; turn < turns[0]; turn++) { busy = busy * 1664525u + 1013904223u; }
    data[id.x] = data[id.x] * 3u + 1u + select(0u, 1u, busy == 1u && turns[0] == 0xffffffffu);
}";

fn open(test: &str, options: DeviceOptions) -> Device {
    let device = Device::open_blocking(options).unwrap();
    println!("{test}: {}", device.adapter());
    device
}

struct Kernel {
    pipeline: wgpu::ComputePipeline,
    group: wgpu::BindGroup,
    data: wgpu::Buffer,
}

fn storage(device: &Device, words: &[u32]) -> wgpu::Buffer {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let buffer = device.wgpu().create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size: bytes.len() as u64,
        usage: wgpu::BufferUsages::STORAGE
            | wgpu::BufferUsages::COPY_SRC
            | wgpu::BufferUsages::COPY_DST,
        mapped_at_creation: false,
    });
    device.wgpu_queue().write_buffer(&buffer, 0, &bytes);
    buffer
}

impl Kernel {
    fn new(device: &Device, len: u32, turns: u32) -> Self {
        let module = device
            .wgpu()
            .create_shader_module(wgpu::ShaderModuleDescriptor {
                label: None,
                source: wgpu::ShaderSource::Wgsl(KERNEL.into()),
            });
        let pipeline = device
            .wgpu()
            .create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                label: None,
                layout: None,
                module: &module,
                entry_point: None,
                compilation_options: Default::default(),
                cache: None,
            });
        let data = storage(device, &(0..len).collect::<Vec<_>>());
        let turns = storage(device, &[turns; 4]);
        let group = device.wgpu().create_bind_group(&wgpu::BindGroupDescriptor {
            label: None,
            layout: &pipeline.get_bind_group_layout(0),
            entries: &[
                wgpu::BindGroupEntry {
                    binding: 0,
                    resource: data.as_entire_binding(),
                },
                wgpu::BindGroupEntry {
                    binding: 1,
                    resource: turns.as_entire_binding(),
                },
            ],
        });
        Self {
            pipeline,
            group,
            data,
        }
    }

    fn launch(&self, device: &Device, label: &str) -> Result<(), DeviceError> {
        let groups = u32::try_from(self.data.size() / 4 / 64).unwrap();
        device.record(|recorder| {
            recorder.dispatch(Dispatch {
                label,
                pipeline: &self.pipeline,
                bind_group: Some(&self.group),
                dynamic_offsets: &[],
                more_groups: &[],
                immediates: &[],
                workgroups: [groups, 1, 1].into(),
                work: Work {
                    written: self.data.size(),
                    operations: 2 * self.data.size(),
                    ..Work::default()
                },
            });
        })
    }
}

#[test]
fn dependent_dispatches_run_in_order_whether_timed_or_not() {
    for profile in [false, true] {
        let device = open(
            "dependent_dispatches",
            DeviceOptions {
                profile,
                ..Default::default()
            },
        );
        let kernel = Kernel::new(&device, 1024, 1);
        for turn in 0..100 {
            kernel
                .launch(&device, if turn % 2 == 0 { "even" } else { "odd" })
                .unwrap();
        }
        let bytes = block_on(read(&device, &kernel.data)).unwrap();
        for (start, word) in (0u32..).zip(bytes.chunks_exact(4)) {
            let expected = (0..100).fold(start, |x, _| x.wrapping_mul(3).wrapping_add(1));
            assert_eq!(
                u32::from_le_bytes(word.try_into().unwrap()),
                expected,
                "{start}"
            );
        }
        let times = block_on(device.take_profile()).unwrap();
        if profile && device.caps().timestamps {
            println!("{times:?}");
            let total = |label: &str| {
                let mut found = times.iter().filter(|time| time.label == label);
                found.next().cloned().unwrap()
            };
            for time in [total("even"), total("odd")] {
                assert_eq!(time.count, 50);
                assert!(time.min_ns <= time.max_ns && time.max_ns <= time.total_ns);
            }
            assert!(
                times.iter().any(|time| time.total_ns > 0),
                "clock stands still"
            );
        } else {
            assert!(times.is_empty());
        }
    }
}

#[test]
fn submissions_in_flight_never_exceed_the_bound() {
    let seen = |max_in_flight| {
        let device = open(
            "submissions_in_flight",
            DeviceOptions {
                submit_after: 1,
                max_in_flight,
                ..Default::default()
            },
        );
        let software = device.adapter().kind == AdapterKind::Software;
        let kernel = Kernel::new(&device, 1 << 12, if software { 100 } else { 1_000_000 });
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..10 {
                        kernel.launch(&device, "slow").unwrap();
                    }
                });
            }
        });
        device.synchronize().wait().unwrap();
        let stats = device.queue_stats();
        assert_eq!((stats.dispatches, stats.in_flight), (40, 0));
        (stats.max_in_flight_seen, software)
    };
    let ((bounded, _), (free, software)) = (seen(2), seen(1000));
    println!("most in flight: {bounded} with a bound of 2, {free} without");
    assert!(bounded <= 2);
    // A software driver may work inside `submit`, so that nothing can pile up there.
    assert!(software || free > 2, "nothing piled up: {free}");
}

#[test]
fn a_profile_has_both_tracks_and_stops() {
    let device = open("a_profile_has_both_tracks", DeviceOptions::default());
    let kernel = Kernel::new(&device, 1024, 1);
    kernel.launch(&device, "before").unwrap();
    device.start_profile();
    for _ in 0..10 {
        kernel.launch(&device, "during").unwrap();
    }
    let other = storage(&device, &[0; 1024]);
    device
        .record(|recorder| recorder.copy_buffer(&kernel.data, 0, &other, 0, 4096))
        .unwrap();
    device.synchronize().wait().unwrap();
    let profile = block_on(device.finish_profile()).unwrap();
    kernel.launch(&device, "after").unwrap();
    device.synchronize().wait().unwrap();
    println!("{profile}");
    let count = |stage| {
        let mut times = profile.stages.iter().filter(|(at, _)| *at == stage);
        times.next().map(|(_, time)| time.count).unwrap()
    };
    assert_eq!(count(Stage::Record), 11);
    assert!(count(Stage::Submit) >= 1 && count(Stage::Wait) >= 1);
    assert_eq!((profile.bytes_copied, profile.dropped_events), (4096, 0));
    let trace = profile.chrome_trace();
    assert_eq!(
        trace.matches("\"name\":\"record\",\"pid\":1").count(),
        11,
        "{trace}"
    );
    if device.caps().timestamps {
        assert_eq!(trace.matches("\"name\":\"during\",\"pid\":2").count(), 10);
        let labels: Vec<_> = profile.kernels.iter().map(|time| &time.label).collect();
        assert_eq!(labels, ["during"]);
        let time = &profile.kernels[0];
        let reliable = time.count - time.unreliable;
        assert_eq!(
            (time.bytes_read, time.bytes_written, time.operations),
            (0, 4096 * reliable, 8192 * reliable),
            "what the dispatches said"
        );
        assert!(trace.contains("\"args\":{\"bytes read\":0,\"bytes written\":4096,"));
        assert!(trace.contains(",\"operations\":8192,"));
    }
    assert!(!trace.contains("before") && !trace.contains("after"));
    let empty = block_on(device.finish_profile()).unwrap();
    assert!(empty.kernels.is_empty() && empty.bytes_copied == 0);
}

#[test]
fn marks_time_what_lies_between_them_and_no_dispatch() {
    let device = open("marks", DeviceOptions::default());
    let between = |rounds: u32| {
        let kernel = Kernel::new(&device, 1 << 12, rounds);
        let mark = || device.record(|recorder| recorder.mark_time()).unwrap();
        mark();
        for _ in 0..200 {
            kernel.launch(&device, "between").unwrap();
        }
        mark();
        block_on(device.take_marks()).unwrap()
    };
    let (short, long) = (between(1), between(2000));
    assert!(block_on(device.take_profile()).unwrap().is_empty());
    if !device.caps().timestamps {
        assert!(short.is_empty() && long.is_empty());
        return;
    }
    let (&[a, b], &[c, d]) = (short.as_slice(), long.as_slice()) else {
        panic!("two marks each: {short:?} {long:?}");
    };
    println!("{} ns and {} ns", b - a, d - c);
    assert!(a <= b && b <= c && d - c > b - a, "{short:?} {long:?}");
    assert!(block_on(device.take_marks()).unwrap().is_empty());
}

#[test]
fn the_adapter_tells_its_memory_or_says_nothing() {
    let told = open("memory", DeviceOptions::default()).memory_bytes();
    if cfg!(target_os = "linux") {
        // Vulkan and the software device both do; so does a run with `ZIGGURAT_BACKEND=gl` of nothing.
        let is_gl = std::env::var("ZIGGURAT_BACKEND").is_ok_and(|name| name == "gl");
        assert_eq!(told.total.is_some(), !is_gl, "{told:?}");
    }
    let total = told.total.unwrap_or(u64::MAX);
    assert!(total > 1 << 28, "{told:?}");
    assert!(
        told.available.is_none_or(|bytes| bytes <= total),
        "{told:?}"
    );
    let silent = Device::noop(DeviceOptions::default(), None).unwrap();
    assert_eq!(silent.memory_bytes(), MemoryBytes::default());
}

#[cfg(all(feature = "software", target_os = "linux"))]
#[test]
fn the_software_device_tells_the_hosts_memory_within_its_budget() {
    use ziggurat_device::ziggurat_software::Profile;

    let mut profile = Profile::nvidia();
    profile.memory_budget = 64 << 20;
    let device = Device::software(profile.clone(), DeviceOptions::default()).unwrap();
    let (total, mib) = (Some(64 << 20), |mib: u64| Some(mib << 20));
    assert_eq!(
        device.memory_bytes(),
        MemoryBytes {
            total,
            available: total
        }
    );
    let sixteen = vec![0u32; 4 << 20];
    let buffer = storage(&device, &sixteen);
    assert_eq!(device.memory_bytes().available, mib(48));
    drop(buffer);
    // Work that is queued for the buffer keeps it.
    block_on(device.synchronize()).unwrap();
    assert_eq!(device.memory_bytes().available, total);
    profile.memory_budget = u64::MAX;
    let machine = Device::software(profile, DeviceOptions::default()).unwrap();
    let MemoryBytes { total, available } = machine.memory_bytes();
    assert!(total < mib(1 << 40) && available <= total && available > mib(1));
}
