//! Any executor can await a completion: none of them polls the device.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Wake, Waker};
use std::time::{Duration, Instant};

use crate::common::{buffer, noop, noop_with, read};
use ziggurat_device::{Device, DeviceOptions, Sleep, Work};

async fn work(device: Device, value: u8) -> u8 {
    let a = buffer(&device, &[value; 4]);
    let b = buffer(&device, &[0; 4]);
    device
        .record(|recorder| recorder.copy_buffer(&a, 0, &b, 0, 4))
        .unwrap();
    device.completion(device.pending()).await.unwrap();
    read(&device, &b).await.unwrap()[0]
}

#[test]
fn tokios_current_thread_runtime_awaits_without_polling() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let device = noop();
    runtime.block_on(async {
        for value in 0..50 {
            assert_eq!(work(device.clone(), value).await, value);
        }
    });
}

#[test]
fn tokios_thread_pool_awaits_many_tasks() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(4)
        .build()
        .unwrap();
    let device = noop_with(DeviceOptions {
        max_in_flight: 3,
        submit_after: 2,
        ..Default::default()
    });
    runtime.block_on(async {
        let tasks: Vec<_> = (0..200u8)
            .map(|value| tokio::spawn(work(device.clone(), value)))
            .collect();
        for (value, task) in (0..200u8).zip(tasks) {
            assert_eq!(task.await.unwrap(), value);
        }
    });
}

#[test]
fn the_futures_executor_joins_many_completions() {
    let device = noop();
    let a = buffer(&device, &[1; 4]);
    let completions = (0..1000).map(|_| {
        device
            .record(|recorder| recorder.clear_buffer(&a, 0, 4))
            .unwrap();
        device.completion(device.pending())
    });
    let all = futures::future::try_join_all(completions.collect::<Vec<_>>());
    assert_eq!(futures::executor::block_on(all).unwrap().len(), 1000);
    // The first three batches of an idle device are smaller.
    assert!(device.queue_stats().submissions <= 1000 / 64 + 4);
}

#[test]
fn the_futures_executor_runs_the_whole_round() {
    let device = noop();
    for value in 0..50 {
        let got = futures::executor::block_on(work(device.clone(), value));
        assert_eq!(got, value);
    }
}

struct Inline {
    device: Device,
    buffer: wgpu::Buffer,
    sender: std::sync::mpsc::Sender<bool>,
}

impl Wake for Inline {
    fn wake(self: Arc<Self>) {
        let result = self
            .device
            .record(|recorder| recorder.clear_buffer(&self.buffer, 0, 4))
            .and_then(|()| self.device.flush());
        let _ = self.sender.send(result.is_ok());
    }
}

#[test]
fn a_waker_that_records_at_once_does_not_deadlock() {
    let device = noop_with(DeviceOptions {
        max_in_flight: 1,
        submit_after: 1,
        ..Default::default()
    });
    let a = buffer(&device, &[1; 4]);
    let (sender, receiver) = std::sync::mpsc::channel();
    let waker = Waker::from(Arc::new(Inline {
        device: device.clone(),
        buffer: a.clone(),
        sender,
    }));
    // A completion is sometimes done before it is polled: go on until enough were not.
    let end = Instant::now() + Duration::from_secs(20);
    let mut woken = 0;
    while woken < 20 {
        assert!(Instant::now() < end, "woken only {woken} times");
        device
            .record(|recorder| recorder.clear_buffer(&a, 0, 4))
            .unwrap();
        let mut completion = device.completion(device.pending());
        let poll = Future::poll(Pin::new(&mut completion), &mut Context::from_waker(&waker));
        if poll.is_pending() {
            assert!(receiver.recv_timeout(Duration::from_secs(20)).unwrap());
            woken += 1;
        }
    }
}

#[test]
fn a_profile_future_counts_dispatches_by_label() {
    let device = noop_with(DeviceOptions {
        profile: true,
        submit_after: 1000,
        ..Default::default()
    });
    let module = device
        .wgpu()
        .create_shader_module(wgpu::ShaderModuleDescriptor {
            label: None,
            source: wgpu::ShaderSource::Wgsl("@compute @workgroup_size(1) fn main() {}".into()),
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
    let launch = |label: &str, times: usize| {
        for _ in 0..times {
            let dispatch = ziggurat_device::Dispatch {
                label,
                pipeline: &pipeline,
                bind_group: None,
                dynamic_offsets: &[],
                more_groups: &[],
                immediates: &[],
                workgroups: [1, 1, 1].into(),
                work: Work::default(),
            };
            device
                .record(|recorder| recorder.dispatch(dispatch))
                .unwrap();
        }
    };
    let counts = || {
        let mut times = futures::executor::block_on(device.take_profile()).unwrap();
        times.sort_by(|a, b| a.label.cmp(&b.label));
        times
            .into_iter()
            .map(|time| (time.label, time.count))
            .collect::<Vec<_>>()
    };
    // 300 and 7 dispatches need three chunks of queries in one batch.
    launch("many", 300);
    launch("few", 7);
    assert_eq!(counts(), [("few".to_owned(), 7), ("many".to_owned(), 300)]);
    launch("again", 1);
    assert_eq!(counts(), [("again".to_owned(), 1)]);
    assert!(device.set_profiling(false));
    launch("off", 1);
    assert!(counts().is_empty());
    assert_eq!(device.queue_stats().dispatches, 309);
}

#[test]
fn threads_that_ask_instead_of_sleeping_in_the_driver_all_get_their_answers() {
    let device = Device::open_blocking(DeviceOptions {
        sleep: Sleep::Ask,
        submit_after: 2,
        ..Default::default()
    })
    .unwrap();
    let large = buffer(&device, &vec![7; 1 << 22]);
    std::thread::scope(|scope| {
        for thread in 0..6u8 {
            let (device, large) = (&device, &large);
            scope.spawn(move || {
                for round in 0..20u8 {
                    let copy = buffer(device, &vec![0; 1 << 22]);
                    let bytes = large.size();
                    device
                        .record(|recorder| recorder.copy_buffer(large, 0, &copy, 0, bytes))
                        .unwrap();
                    let done = device.synchronize();
                    match (thread + round) % 3 {
                        0 => done.wait().unwrap(),
                        1 => device.block_on(done).unwrap(),
                        _ => futures::executor::block_on(done).unwrap(),
                    }
                    if round == 19 {
                        let got = futures::executor::block_on(read(device, &copy)).unwrap();
                        assert!(got.iter().all(|&byte| byte == 7));
                    }
                }
            });
        }
    });
    assert_eq!(device.queue_stats().in_flight, 0);
}
