//! How long the first pass of a program takes, in which every kernel is new.
//!
//! `together` (the default) records all of it and then waits, as programs do, so that its kernels are compiled side by
//! side; `apart` waits after each op, which compiles one kernel after the other. No files of earlier runs are used; of a
//! driver's own cache that has to be seen to (for Mesa: `MESA_SHADER_CACHE_DISABLE=true`).
#![allow(clippy::print_stdout, reason = "an example's output")]

#[cfg(not(target_arch = "wasm32"))]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    use std::time::Instant;
    use ziggurat_tensor::{DType, Device, DeviceOptions, Error, Tensor};

    type Op = fn(&Tensor) -> Result<Tensor, Error>;
    let ops: [Op; 12] = [
        |x| x.matmul(x)?.relu(),
        |x| x.softmax(-1),
        |x| x.exp()?.add(1.0)?.log(),
        |x| x.sum([0], false),
        |x| x.t()?.contiguous(),
        |x| x.cumsum(1),
        |x| x.square()?.mean([1], true)?.sqrt(),
        |x| x.argmax(1, false)?.to_dtype(DType::F32),
        |x| x.tanh()?.mul(x)?.sub(0.5),
        |x| x.amax([1], false),
        |x| x.matmul(&x.t()?)?.add(1.0)?.tanh(),
        |x| x.gelu()?.to_dtype(DType::F16),
    ];
    let apart = std::env::args().nth(1).as_deref() == Some("apart");
    let device = Device::open_blocking(DeviceOptions {
        pipeline_cache: false,
        ..DeviceOptions::default()
    })?;
    let x = Tensor::ones(&device, [64, 64], DType::F32)?;
    x.eval_blocking()?;
    device.synchronize_blocking()?;
    let started = Instant::now();
    let mut results = Vec::new();
    for op in ops {
        let result = op(&x)?;
        drop(result.eval());
        if apart {
            device.synchronize_blocking()?;
        }
        results.push(result);
    }
    let recorded = started.elapsed();
    device.synchronize_blocking()?;
    let done = started.elapsed();
    let stats = device.pipeline_stats();
    println!(
        "{} kernels: recorded in {:.1} ms, done after {:.1} ms; {:.1} ms of compiling on all threads",
        stats.entries,
        recorded.as_secs_f64() * 1e3,
        done.as_secs_f64() * 1e3,
        stats.compile_time_ns as f64 / 1e6
    );
    Ok(())
}

#[cfg(target_arch = "wasm32")]
fn main() {}
