//! Classifies real handwritten digits with a small convolutional network.
//!
//! `digits [DIR]` reads images, labels, reference logits and weights from DIR, by default from the
//! folder `data` of this package, whose README.md tells where they come from. It prints the adapter,
//! accuracy, agreement with the reference, speed, GPU time per kernel and memory, and draws some images.

#![expect(clippy::print_stdout, reason = "a program for the terminal")]

mod draw;
mod held_out;
mod model;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use ziggurat_tensor::{Device, DeviceOptions, Tensor, block_on, io};

use crate::held_out::HeldOut;
use crate::model::Digits;

/// Below this the demo counts as failed: the weights were trained to reach more.
const REQUIRED_ACCURACY: f64 = 0.97;
/// Largest difference to the float64 reference logits that rounding in f32 explains (the logits are below 20).
const REQUIRED_AGREEMENT: f32 = 1e-3;

fn main() -> ExitCode {
    let directory = std::env::args_os().nth(1).map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("data"),
        PathBuf::from,
    );
    match block_on(run(&directory)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("digits: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(directory: &Path) -> Result<(), Box<dyn Error>> {
    let device = Device::open(DeviceOptions::default()).await?;
    println!("adapter      {}", device.adapter());
    let examples = HeldOut::load(&device, directory).await?;
    let weights = directory.join("weights.safetensors");
    let network = Digits::new(&io::load_safetensors(&device, &weights)?)
        .map_err(|wrong| format!("{}: {wrong}", weights.display()))?;

    let logits = network.logits(&examples.inputs)?;
    let predicted = logits.argmax(-1, false)?.to_vec::<i32>().await?;
    let confidence = logits
        .softmax(-1)?
        .max([-1], false)?
        .to_vec::<f32>()
        .await?;
    let right = predicted
        .iter()
        .zip(&examples.labels)
        .filter(|(p, l)| **p == i32::from(**l))
        .count();
    let accuracy = right as f64 / examples.labels.len() as f64;
    let difference = (&logits - &examples.reference)?
        .abs()?
        .max_all()?
        .item::<f32>()
        .await?;

    draw(&examples, &predicted, &confidence);
    println!(
        "accuracy     {right} of {} held-out images ({:.2} %)",
        examples.labels.len(),
        accuracy * 100.0
    );
    println!("agreement    largest difference to the reference logits {difference:.2e}");
    speed(&device, &network, &examples.inputs).await?;
    let usage = device.usage();
    println!(
        "memory       live {}, cached {}, peak {}, staging {}; {} allocations, {} of them from the pool",
        size(usage.live),
        size(usage.cached),
        size(usage.peak),
        size(usage.staging),
        usage.allocations,
        usage.hits
    );

    if difference.is_nan() || difference > REQUIRED_AGREEMENT {
        return Err(format!(
            "the logits differ from the reference by {difference}, more than {REQUIRED_AGREEMENT}"
        )
        .into());
    }
    if accuracy < REQUIRED_ACCURACY {
        return Err(format!("accuracy {accuracy:.4} is below {REQUIRED_ACCURACY}").into());
    }
    Ok(())
}

/// A byte count for people.
fn size(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} B"),
        1024..1_048_576 => format!("{:.1} KiB", bytes as f64 / 1024.0),
        _ => format!("{:.1} MiB", bytes as f64 / 1_048_576.0),
    }
}

/// The first ten images, and every one that was classified wrongly.
fn draw(examples: &HeldOut, predicted: &[i32], confidence: &[f32]) {
    let wrong = (0..predicted.len()).filter(|&i| predicted[i] != i32::from(examples.labels[i]));
    let shown: Vec<usize> = (0..predicted.len().min(10))
        .chain(wrong.filter(|&i| i >= 10))
        .collect();
    for row in shown.chunks(5) {
        let images: Vec<&[u8]> = row
            .iter()
            .map(|&i| &examples.pixels[i * 64..(i + 1) * 64])
            .collect();
        let captions: Vec<String> = row
            .iter()
            .map(|&i| {
                let verdict = if predicted[i] == i32::from(examples.labels[i]) {
                    ""
                } else {
                    "WRONG"
                };
                format!(
                    "{} ({:.0} %) {verdict}",
                    predicted[i],
                    confidence[i] * 100.0
                )
            })
            .collect();
        println!("{}", draw::row(&images, &captions));
    }
}

/// Images per second over about a second, then one profiled pass.
async fn speed(device: &Device, network: &Digits, inputs: &Tensor) -> Result<(), Box<dyn Error>> {
    let count = inputs.shape().dims().first().copied().unwrap_or(0);
    let start = Instant::now();
    let mut passes = 0;
    while passes < 3 || start.elapsed().as_secs_f64() < 1.0 {
        network.logits(inputs)?.to_vec::<f32>().await?;
        passes += 1;
    }
    let seconds = start.elapsed().as_secs_f64();
    let rate = (passes * count) as f64 / seconds;
    println!(
        "speed        {rate:.0} images/s ({passes} passes of {count} images, logits read back each time)"
    );

    if !device.set_profiling(true) {
        println!("GPU time     this adapter has no timestamps");
        return Ok(());
    }
    network.logits(inputs)?.to_vec::<f32>().await?;
    let kernels = device.profile().await?;
    device.set_profiling(false);
    println!("GPU time     one pass of {count} images");
    for kernel in kernels {
        let micros = kernel.total_ns as f64 / 1e3;
        println!(
            "             {micros:>10.1} µs in {:>2} × {}",
            kernel.count, kernel.label
        );
    }
    Ok(())
}
