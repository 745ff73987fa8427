//! Computes a small network on wgpu's no-op backend again and again: what the host pays, for a tool that counts
//! instructions.
//!
//! `valgrind --tool=callgrind target/release/examples/record_cost 300 run`; the difference between two counts is the cost
//! of the rounds between them. Modes: `run` records the network each time, `replay` replays a capture of it, `chain` adds
//! 64 times to a small tensor and computes that in one kernel, `unfused` computes each of these adds by itself. A third
//! argument says how many bytes of immediates the device has: 128, or 256 as NVIDIA's and AMD's drivers.

#[cfg(not(target_arch = "wasm32"))]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    use std::time::Instant;
    use ziggurat_kernels::Executor;
    use ziggurat_memory::{Memory, MemoryOptions};
    use ziggurat_pipeline::Pipelines;
    use ziggurat_tensor::{DType, Device, DeviceOptions, Error, FusionPolicy, Tensor};

    fn network(x: &Tensor, weight: &Tensor) -> Result<Vec<Tensor>, Error> {
        let mut hidden = x.clone();
        for _ in 0..4 {
            hidden = hidden.matmul(weight)?.add(1.0)?.relu()?;
        }
        Ok(vec![hidden.softmax(-1)?])
    }
    fn chain(x: &Tensor) -> Result<(), Error> {
        let mut sum = x.clone();
        for _ in 0..64 {
            sum = sum.add(x)?;
        }
        drop(sum.eval());
        Ok(())
    }

    let mut arguments = std::env::args().skip(1);
    let rounds: usize = arguments.next().map_or(Ok(100), |text| text.parse())?;
    let mode = arguments.next().unwrap_or_default();
    let immediates = arguments.next().map_or(Ok(128), |text| text.parse())?;
    let limits = wgpu::Limits {
        max_immediate_size: immediates,
        ..wgpu::Limits::default()
    };
    let lower = ziggurat_device::Device::noop(DeviceOptions::default(), Some(limits))?;
    let memory = Memory::new(&lower, MemoryOptions::default());
    let executor = Executor::new(&Pipelines::new(&memory));
    executor.pipelines().set_key_checks(false);
    let device = Device::from_executor(&executor);
    let weight = Tensor::ones(&device, [16, 16], DType::F32)?;
    let x = Tensor::ones(&device, [16, 16], DType::F32)?;
    let captured = device.capture(&[&x], |inputs| network(&inputs[0], &weight))?;
    if mode == "unfused" {
        device.set_fusion(FusionPolicy::Unfused);
    }
    let round = || match mode.as_str() {
        "chain" | "unfused" => chain(&x),
        "replay" => captured.replay(&[&x]),
        _ => network(&x, &weight).map(|outputs| {
            // Softmax waits for what follows it.
            outputs.iter().for_each(|output| drop(output.eval()));
        }),
    };
    for _ in 0..8 {
        round()?;
    }
    // What is recorded while a kernel is compiled is kept, which costs more.
    device.synchronize_blocking()?;
    let before = lower.queue_stats().dispatches;
    let started = Instant::now();
    for _ in 0..rounds {
        round()?;
    }
    let each = started.elapsed().as_secs_f64() * 1e6 / rounds.max(1) as f64;
    let dispatches = lower.queue_stats().dispatches - before;
    device.synchronize_blocking()?;
    #[allow(clippy::print_stdout, reason = "an example's output")]
    {
        println!(
            "{each:.2} µs per round, {} dispatches per round",
            dispatches as f64 / rounds.max(1) as f64
        );
    }
    Ok(())
}

#[cfg(target_arch = "wasm32")]
fn main() {}
