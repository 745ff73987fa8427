//! Pipelines that are made while work with them is recorded, on wgpu's noop backend.
#![cfg(not(target_arch = "wasm32"))]

use std::sync::mpsc;
use std::time::Duration;

use crate::common::{buffer, noop, noop_with, read};
use ziggurat_device::{Device, DeviceError, DeviceOptions, Dispatch, LatePipeline, Work, block_on};

fn pipeline(device: &Device) -> wgpu::ComputePipeline {
    let module = device
        .wgpu()
        .create_shader_module(wgpu::ShaderModuleDescriptor {
            label: None,
            source: wgpu::ShaderSource::Wgsl("@compute @workgroup_size(1) fn main() {}".into()),
        });
    device
        .wgpu()
        .create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: None,
            layout: None,
            module: &module,
            entry_point: None,
            compilation_options: Default::default(),
            cache: None,
        })
}

fn launch<P>(pipeline: &P) -> Dispatch<'_, P> {
    Dispatch {
        label: "late",
        pipeline,
        bind_group: None,
        dynamic_offsets: &[],
        more_groups: &[],
        immediates: &[],
        workgroups: [1, 1, 1].into(),
        work: Work::default(),
    }
}

fn refused() -> DeviceError {
    DeviceError::Kernel {
        kernel: "late".into(),
        message: "no".into(),
    }
}

/// Long enough for a thread that does not wait to be seen not to.
const MOMENT: Duration = Duration::from_millis(50);

#[test]
fn the_submission_waits_for_the_pipeline_and_keeps_the_order() {
    let device = noop();
    let (a, b) = (buffer(&device, &[1; 8]), buffer(&device, &[2; 8]));
    let late = LatePipeline::new();
    device
        .record(|recorder| {
            recorder.copy_buffer(&a, 0, &b, 0, 4);
            recorder.dispatch_late(launch(&late));
            // Were these encoded at once, the copy would see what the first one left.
            recorder.clear_buffer(&a, 0, 4);
            recorder.copy_buffer(&a, 0, &b, 4, 4);
            recorder.dispatch(launch(&pipeline(&device)));
        })
        .unwrap();
    assert_eq!(device.queue_stats().dispatches, 2);
    assert_eq!(device.queue_stats().copies, 3);
    let (sender, receiver) = mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(|| sender.send(device.flush()).unwrap());
        assert!(receiver.recv_timeout(MOMENT).is_err(), "it must wait");
        // The queue is free meanwhile.
        device
            .record(|recorder| recorder.clear_buffer(&b, 0, 4))
            .unwrap();
        late.complete(Ok(pipeline(&device)));
        receiver.recv().unwrap().unwrap();
    });
    assert_eq!(block_on(read(&device, &b)).unwrap(), [0; 8]);
    assert_eq!(
        block_on(read(&device, &a)).unwrap(),
        [0, 0, 0, 0, 1, 1, 1, 1]
    );
}

#[test]
fn commands_before_the_late_one_and_behind_a_completed_one_are_not_kept() {
    let device = noop();
    let a = buffer(&device, &[1; 4]);
    let b = buffer(&device, &[2; 4]);
    let late = LatePipeline::new();
    device
        .record(|recorder| recorder.dispatch_late(launch(&late)))
        .unwrap();
    late.complete(Ok(pipeline(&device)));
    // A second completion changes nothing.
    late.complete(Err(refused()));
    assert!(late.get().is_some() && late.failure().is_none());
    device
        .record(|recorder| recorder.copy_buffer(&a, 0, &b, 0, 4))
        .unwrap();
    assert_eq!(block_on(read(&device, &b)).unwrap(), [1; 4]);
}

#[test]
fn a_full_batch_waits_for_its_pipelines_and_goes_then() {
    let device = noop_with(DeviceOptions {
        submit_after: 2,
        ..Default::default()
    });
    let a = buffer(&device, &[0; 4]);
    let late = LatePipeline::new();
    device
        .record(|recorder| recorder.dispatch_late(launch(&late)))
        .unwrap();
    // It may grow to eight times its size while it waits.
    for _ in 0..14 {
        device
            .record(|recorder| recorder.clear_buffer(&a, 0, 4))
            .unwrap();
    }
    assert_eq!(device.queue_stats().submissions, 0);
    std::thread::scope(|scope| {
        let full = scope.spawn(|| device.record(|recorder| recorder.clear_buffer(&a, 0, 4)));
        std::thread::sleep(MOMENT);
        assert!(!full.is_finished(), "it must wait");
        late.complete(Ok(pipeline(&device)));
        full.join().unwrap().unwrap();
    });
    assert_eq!(device.queue_stats().submissions, 1);
}

#[test]
fn a_pipeline_that_cannot_be_made_fails_the_device_and_everything_that_waits() {
    type Wait = fn(&Device) -> Result<(), DeviceError>;
    let waits: [Wait; 4] = [
        |device| device.flush().map(|_| ()),
        |device| device.synchronize().wait(),
        |device| device.completion(device.pending()).wait(),
        |device| device.record(|_| ()),
    ];
    for wait in waits {
        let device = noop();
        let a = buffer(&device, &[1; 4]);
        let late = LatePipeline::new();
        device
            .record(|recorder| {
                recorder.dispatch_late(launch(&late));
                recorder.clear_buffer(&a, 0, 4);
                recorder.before_submit(|_| panic!("this batch is never submitted"));
            })
            .unwrap();
        late.complete(Err(refused()));
        assert_eq!(wait(&device), Err(refused()));
        assert_eq!(device.status(), Err(refused()));
        assert_eq!(device.flush(), Err(refused()));
        assert_eq!(device.queue_stats().submissions, 0);
    }
}

#[test]
fn the_last_handle_waits_for_what_was_recorded() {
    let device = noop();
    let late = LatePipeline::new();
    let made = pipeline(&device);
    device
        .record(|recorder| recorder.dispatch_late(launch(&late)))
        .unwrap();
    std::thread::scope(|scope| {
        let dropped = scope.spawn(move || drop(device));
        std::thread::sleep(MOMENT);
        assert!(!dropped.is_finished(), "it must wait");
        late.complete(Ok(made));
        dropped.join().unwrap();
    });
}

#[test]
fn dispatches_without_work_wait_for_nothing() {
    let device = noop();
    let late = LatePipeline::new();
    device
        .record(|recorder| {
            let mut empty = launch(&late);
            empty.workgroups = [1, 0, 1].into();
            recorder.dispatch_late(empty);
        })
        .unwrap();
    device.synchronize().wait().unwrap();
    assert_eq!(device.queue_stats().dispatches, 0);
}
