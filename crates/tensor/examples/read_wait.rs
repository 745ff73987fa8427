//! How long a blocked thread waits for a result, as a distribution: a capture of 66 dispatches is replayed and its output
//! read, again and again.
//!
//! `cargo run --release -p ziggurat-tensor --example read_wait -- [REPETITIONS] [SPIN_US] [SUBMIT_AFTER] [read|sync]`
//!
//! The time of one repetition should vary as little as the GPU's own time does: a tail of milliseconds is a wait that was
//! woken late.
#![allow(clippy::print_stdout, reason = "an example's output")]

#[cfg(not(target_arch = "wasm32"))]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    use std::time::{Duration, Instant};
    use ziggurat_tensor::{DType, Device, DeviceOptions, Error, Tensor};

    let mut arguments = std::env::args().skip(1);
    let mut number = |default: u32| arguments.next().map_or(Ok(default), |text| text.parse());
    let (repetitions, spin, submit_after) = (number(500)?, number(100)?, number(64)?);
    let read = arguments.next().as_deref() != Some("sync");
    let device = Device::open_blocking(DeviceOptions {
        spin: Duration::from_micros(spin.into()),
        submit_after,
        ..DeviceOptions::default()
    })?;
    let weight = Tensor::full(&device, [512, 512], 0.002, DType::F32)?;
    let x = Tensor::ones(&device, [1024, 512], DType::F32)?;
    let encoder = device.capture(&[&x], |inputs| {
        let mut hidden = inputs[0].clone();
        for _ in 0..22 {
            // Three dispatches each.
            let product = hidden.matmul(&weight)?.relu()?;
            let shares = product.softmax(-1)?;
            hidden = shares.layer_norm([512], None, None, 1e-5)?;
        }
        Ok::<_, Error>(vec![hidden.narrow(0, 0, 1)?])
    })?;
    let mut times = Vec::new();
    let mut recordings = Vec::new();
    for _ in 0..repetitions + 10 {
        let started = Instant::now();
        encoder.replay(&[&x])?;
        recordings.push(started.elapsed().as_secs_f64() * 1e3);
        if read {
            encoder.output(0)?.to_vec_blocking::<f32>()?;
        } else {
            device.synchronize_blocking()?;
        }
        times.push(started.elapsed().as_secs_f64() * 1e3);
    }
    let percentile = |times: &mut Vec<f64>| {
        times.drain(..10);
        times.sort_by(f64::total_cmp);
        let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
        [0.0, 0.1, 0.5, 0.9, 0.95, 0.99, 1.0].map(at)
    };
    println!(
        "{} dispatches, spin {spin} us, submit_after {submit_after}, {}: ms at 0, 10, 50, 90, 95, 99, 100 %",
        encoder.dispatches(),
        if read { "read" } else { "synchronize" },
    );
    println!("  until done: {:.3?}", percentile(&mut times));
    println!("  recording:  {:.3?}", percentile(&mut recordings));
    Ok(())
}

#[cfg(target_arch = "wasm32")]
fn main() {}
