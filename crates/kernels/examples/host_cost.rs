//! Records small adds on wgpu's no-op backend: what the host pays per op, for a tool that counts instructions.
//!
//! `valgrind --tool=callgrind target/release/examples/host_cost 2000`; the difference between two counts is the cost
//! of the ops between them, warm-up and start excluded. A second argument `uniform` does without immediates, `replay` replays a capture.

#[cfg(not(target_arch = "wasm32"))]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    use ziggurat_kernels::device::{Device, DeviceOptions};
    use ziggurat_kernels::memory::{Memory, MemoryOptions};
    use ziggurat_kernels::pipeline::Pipelines;
    use ziggurat_kernels::{DType, Executor, Shape};

    let mut arguments = std::env::args().skip(1);
    let ops: usize = arguments.next().map_or(Ok(1000), |text| text.parse())?;
    let mode = arguments.next().unwrap_or_default();
    let options = DeviceOptions {
        immediates: mode != "uniform",
        ..DeviceOptions::default()
    };
    let device = Device::noop(options, None)?;
    let memory = Memory::new(&device, MemoryOptions::default());
    let exec = Executor::new(&Pipelines::new(&memory));
    let shape = Shape::new([256])?;
    let one = exec.upload(&[1.0_f32; 256], &shape)?;
    let (x, y) = (
        exec.alloc(&shape, DType::F32)?,
        exec.alloc(&shape, DType::F32)?,
    );
    let record = |times: usize| -> Result<(), ziggurat_kernels::KernelError> {
        for index in 0..times {
            let (from, to) = if index % 2 == 0 { (&x, &y) } else { (&y, &x) };
            drop(exec.add(from, &one, to)?);
        }
        exec.synchronize().wait()
    };
    exec.pipelines().set_key_checks(false);
    record(256)?;
    if mode.starts_with("replay") {
        return replay(&exec, [&x, &y, &one], ops);
    }
    let before = device.queue_stats();
    let started = std::time::Instant::now();
    record(ops)?;
    let each = started.elapsed().as_secs_f64() / ops.max(1) as f64;
    let after = device.queue_stats();
    assert_eq!(after.dispatches - before.dispatches, ops as u64);
    #[allow(clippy::print_stdout, reason = "an example's output")]
    {
        println!(
            "{:.3} µs per op, immediates {}",
            each * 1e6,
            device.caps().immediate_bytes
        );
    }
    Ok(())
}

/// The same through a capture of 100 adds.
#[cfg(not(target_arch = "wasm32"))]
fn replay(
    exec: &ziggurat_kernels::Executor,
    [x, y, one]: [&ziggurat_kernels::View; 3],
    ops: usize,
) -> Result<(), Box<dyn std::error::Error>> {
    let captured = exec.capture(|exec| {
        for _ in 0..50 {
            drop(exec.add(x, one, y)?);
            drop(exec.add(y, one, x)?);
        }
        Ok(())
    })?;
    for _ in 0..ops / 100 {
        drop(captured.replay()?);
    }
    Ok(exec.synchronize().wait()?)
}

#[cfg(target_arch = "wasm32")]
fn main() {}
