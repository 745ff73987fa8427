//! Random calls of devices: options, work, completions, loss and opening again, in any order. A device that works does what
//! it is asked; one that failed says so from then on; nothing panics, and an error names its rule in few words.

use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use crate::campaign::Campaign;
use crate::common::{buffer, read};
use crate::random::Random;
use ziggurat_device::{
    CallbackGuard, Completion, Device, DeviceError, DeviceOptions, LimitName, LostReason, Reuse,
    Submission, ViewGuard, block_on,
};

/// Bytes of each buffer.
const BYTES: u64 = 64;

const LIMITS: [LimitName; 9] = [
    LimitName::BufferBytes,
    LimitName::BindingBytes,
    LimitName::UniformBytes,
    LimitName::StorageBuffers,
    LimitName::WorkgroupMemory,
    LimitName::WorkgroupInvocations,
    LimitName::WorkgroupSizeX,
    LimitName::Workgroups,
    LimitName::ImmediateBytes,
];

fn flag(random: &mut Random) -> bool {
    random.below(2) == 0
}

/// Mostly nothing, sometimes a number at the end of what there is.
fn number(random: &mut Random) -> Option<u64> {
    match random.below(12) {
        0 => Some(*random.pick(&[0, 1, 255, 256, 257, u64::MAX])),
        1 => Some(1 << random.below(64)),
        _ => None,
    }
}

fn small(random: &mut Random) -> Option<u32> {
    number(random).map(|number| u32::try_from(number).unwrap_or(u32::MAX))
}

fn options(random: &mut Random) -> DeviceOptions {
    let default = DeviceOptions::default();
    let required =
        (0..random.below(3)).filter_map(|_| Some((*random.pick(&LIMITS), number(random)?)));
    let required = required.collect();
    DeviceOptions {
        validation: flag(random),
        labels: flag(random),
        max_buffer_bytes: number(random),
        max_binding_bytes: number(random),
        max_workgroups: small(random),
        max_loop_iterations: small(random),
        memory_limit: number(random),
        max_kernels: small(random).unwrap_or(default.max_kernels),
        workgroup_size: small(random),
        default_limits: flag(random),
        f16: flag(random),
        subgroups: flag(random),
        immediates: flag(random),
        cooperative_matrix: flag(random),
        timestamps: flag(random),
        profile: flag(random),
        submit_after: small(random).unwrap_or(1 + random.below(5) as u32),
        max_in_flight: small(random).unwrap_or(1 + random.below(3) as u32),
        reuse: *random.pick(&[Reuse::Auto, Reuse::Always, Reuse::Never]),
        required,
        ..default
    }
}

/// What the adapter has.
fn limits(random: &mut Random) -> Option<wgpu::Limits> {
    flag(random).then(|| wgpu::Limits {
        max_buffer_size: *random.pick(&[1 << 16, 1 << 28, 1 << 40]),
        max_storage_buffer_binding_size: *random.pick(&[1 << 12, 1 << 27]),
        max_compute_invocations_per_workgroup: *random.pick(&[1, 64, 256, 1024]),
        max_compute_workgroups_per_dimension: *random.pick(&[1, 3, 65_535]),
        max_storage_buffers_per_shader_stage: *random.pick(&[1, 4, 8]),
        max_immediate_size: *random.pick(&[0, 16, 128]),
        ..wgpu::Limits::default()
    })
}

/// An error names its rule in few words.
fn short(error: &DeviceError) {
    let text = error.to_string();
    assert!(!text.is_empty() && text.len() < 1024, "{text}");
}

/// A device, and what it should hold and say.
struct Tried {
    device: Device,
    buffers: [wgpu::Buffer; 2],
    bytes: [Vec<u8>; 2],
    failed: bool,
    completions: Vec<Completion>,
    guards: Vec<CallbackGuard>,
    views: Vec<ViewGuard>,
}

impl Tried {
    fn new(device: Device, random: &mut Random) -> Self {
        let bytes = [(); 2].map(|()| (0..BYTES).map(|_| random.next() as u8).collect::<Vec<_>>());
        let buffers = [buffer(&device, &bytes[0]), buffer(&device, &bytes[1])];
        Self {
            device,
            buffers,
            bytes,
            failed: false,
            completions: Vec::new(),
            guards: Vec::new(),
            views: Vec::new(),
        }
    }

    /// A result is an error if the device has failed, and only then.
    fn fits<T>(&self, what: &str, result: Result<T, DeviceError>) -> Option<T> {
        assert_eq!(
            result.is_err(),
            self.failed,
            "{what}: {:?}",
            result.as_ref().err()
        );
        if let Err(error) = &result {
            short(error);
        }
        result.ok()
    }

    fn copy(&mut self, random: &mut Random) {
        let mut words = || 4 * random.below(BYTES as usize / 4 + 1) as u64;
        let (from, to, bytes) = (words(), words(), words());
        let bytes = bytes.min(BYTES - from).min(BYTES - to);
        if bytes == 0 {
            return;
        }
        let [a, b] = &self.buffers;
        let recorded = self
            .device
            .record(|recorder| recorder.copy_buffer(a, from, b, to, bytes));
        if self.fits("copy", recorded).is_some() {
            let (from, to, bytes) = (from as usize, to as usize, bytes as usize);
            let moved = self.bytes[0][from..from + bytes].to_vec();
            self.bytes[1][to..to + bytes].copy_from_slice(&moved);
        }
    }

    fn clear(&mut self, random: &mut Random) {
        let at = random.below(2);
        let from = 4 * random.below(BYTES as usize / 4) as u64;
        let buffer = &self.buffers[at];
        let recorded = self
            .device
            .record(|recorder| recorder.clear_buffer(buffer, from, 4));
        if self.fits("clear", recorded).is_some() {
            self.bytes[at][from as usize..][..4].fill(0);
        }
    }

    /// Something that wgpu refuses: the device is not to be trusted any more.
    fn break_a_rule(&mut self) {
        let [a, b] = &self.buffers;
        let recorded = self
            .device
            .record(|recorder| recorder.copy_buffer(a, 0, b, 0, 4 * BYTES));
        let done = recorded.and_then(|()| self.device.synchronize().wait());
        self.failed = true;
        self.fits("a copy beyond the end", done);
    }

    fn completion(&mut self, random: &mut Random) {
        if self.completions.is_empty() {
            return;
        }
        let at = random.below(self.completions.len());
        match random.below(4) {
            0 => drop(self.completions.swap_remove(at)),
            1 => {
                let waited = self.completions.swap_remove(at).wait();
                self.fits("wait", waited);
            }
            _ => {
                let mut context = Context::from_waker(Waker::noop());
                let polled = Pin::new(&mut self.completions[at]).poll(&mut context);
                match polled {
                    Poll::Ready(result) => drop(self.fits("poll", result)),
                    Poll::Pending => assert!(!self.failed, "a failed device keeps one waiting"),
                }
            }
        }
    }

    fn read(&self, random: &mut Random) {
        let at = random.below(2);
        if self.failed {
            return;
        }
        let got = block_on(read(&self.device, &self.buffers[at])).unwrap();
        assert!(got == self.bytes[at], "buffer {at}");
    }

    fn fail(&mut self, random: &mut Random) {
        let was = self.device.status().err();
        if flag(random) {
            self.device.destroy();
        } else {
            let message = "x".repeat(random.below(64));
            self.device.poison(match random.below(3) {
                0 => DeviceError::Poisoned { message },
                1 => DeviceError::Finished,
                _ => DeviceError::Lost {
                    reason: LostReason::Unknown,
                    message,
                },
            });
        }
        let is = self.device.status().err();
        self.failed = true;
        assert!(
            is.is_some() && (was.is_none() || was == is),
            "{was:?}, then {is:?}"
        );
    }

    fn act(&mut self, random: &mut Random) {
        let device = self.device.clone();
        match random.below(24) {
            0..4 => self.copy(random),
            4 | 5 => self.clear(random),
            6 => drop(self.fits("flush", device.flush())),
            7 | 8 => self.completions.push(device.synchronize()),
            9 => {
                let work = *random.pick(&[device.pending(), Submission::default()]);
                self.completions.push(device.completion(work));
            }
            10..14 => self.completion(random),
            14 => self.read(random),
            15 => {
                let mut failure = device.failure();
                let mut context = Context::from_waker(Waker::noop());
                let told = Pin::new(&mut failure).poll(&mut context).is_ready();
                assert_eq!(told, self.failed);
            }
            16 => {
                let guard = device.view_guard();
                self.views.extend(self.fits("view_guard", guard));
            }
            17 => self.guards.push(device.callback_guard()),
            18 => {
                let on = device.set_profiling(flag(random));
                assert!(!on || device.caps().timestamps);
                let profile = block_on(device.take_profile());
                self.fits("take_profile", profile);
            }
            19 => {
                device.start_profile();
                self.fits("finish_profile", block_on(device.finish_profile()));
            }
            20 => drop(self.fits("check_alive", device.check_alive())),
            21 => {
                let text = format!(
                    "{device:?} {:?} {:?}",
                    device.queue_stats(),
                    device.memory_bytes()
                );
                assert!(!text.is_empty());
                self.views.pop();
                self.guards.pop();
            }
            22 if random.below(4) == 0 => self.break_a_rule(),
            22 if random.below(2) == 0 => self.fail(random),
            _ => {
                let again = device.reopen_blocking().unwrap();
                self.fits("the old one", device.status());
                *self = Self::new(again, random);
            }
        }
    }
}

#[test]
fn any_calls_of_a_device_end_in_a_value_or_a_typed_error() {
    /// Calls on one device.
    const CALLS: usize = 32;
    let mut campaign = Campaign::new(300);
    let mut refused = 0;
    while let Some(seed) = campaign.next() {
        let mut random = Random::new(seed);
        let (options, limits) = (options(&mut random), limits(&mut random));
        campaign.note(seed, "opening");
        let checked = options.check();
        let device = match (Device::noop(options, limits), checked) {
            (Ok(device), Ok(())) => device,
            (Err(error), checked) => {
                short(&error);
                assert!(checked.is_ok() || checked == Err(error));
                refused += 1;
                continue;
            }
            (Ok(_), Err(error)) => panic!("seed {seed} opens although {error}"),
        };
        let mut tried = Tried::new(device, &mut random);
        for call in 0..CALLS {
            campaign.note(seed, &format!("call {call}"));
            tried.act(&mut random);
        }
    }
    println!("{} devices, {refused} refused", campaign.done());
    assert!(
        !campaign.is_usual() || (30..270).contains(&refused),
        "{refused}"
    );
}
