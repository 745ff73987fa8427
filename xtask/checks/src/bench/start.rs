//! `--suite start`: from the start of a process to the first result, with and without the files of an earlier run.
//!
//! The program starts itself as a child that opens a device, multiplies two 256 x 256 matrices, checks the product and
//! says so; the clock runs from before the child is started until its line is read. *Cold* starts with an empty cache
//! folder, ours and the driver's, *warm* with what the cold one left there. The folder is made for this and removed.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use ziggurat_core::{Element, Shape};
use ziggurat_device::DeviceOptions;
use ziggurat_kernels::{DType, Executor};

use crate::bench::measure::median;
use xtask::failure::{Failure, Outcome};

/// Side of the matrices.
const SIDE: usize = 256;

/// Starts that are measured.
const COLD: usize = 3;
const WARM: usize = 7;

/// One kind of start, in milliseconds.
#[derive(Clone, Debug)]
pub(crate) struct Start {
    pub(crate) what: &'static str,
    pub(crate) median_ms: f64,
    pub(crate) worst_ms: f64,
}

/// A folder that goes with the value.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Outcome<Self> {
        let folder = std::env::temp_dir().join(format!("ziggurat-start-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        Ok(Self(folder))
    }

    fn empty(&self) -> Outcome {
        std::fs::remove_dir_all(&self.0)?;
        std::fs::create_dir_all(&self.0)?;
        Ok(())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Nothing depends on it.
        let _left = std::fs::remove_dir_all(&self.0);
    }
}

/// Measures both kinds.
pub(crate) fn measure() -> Outcome<[Start; 2]> {
    let folder = Folder::new()?;
    let (mut cold, mut warm) = (Vec::new(), Vec::new());
    for _ in 0..COLD {
        folder.empty()?;
        cold.push(child(&folder.0)?);
    }
    for _ in 0..WARM {
        warm.push(child(&folder.0)?);
    }
    let start = |what, times: &mut [f64]| Start {
        what,
        worst_ms: times.iter().copied().fold(0.0, f64::max) * 1e3,
        median_ms: median(times) * 1e3,
    };
    Ok([
        start("process start to first matmul, cold cache", &mut cold),
        start("process start to first matmul, warm cache", &mut warm),
    ])
}

/// Measures and prints.
pub(crate) fn run() -> Outcome<String> {
    println!("{:44} {:>12} {:>12}", "ms", "median", "worst");
    for start in measure()? {
        let (median, worst) = (start.median_ms, start.worst_ms);
        println!("{:44} {median:>12.1} {worst:>12.1}", start.what);
    }
    Ok(format!("{} starts", COLD + WARM))
}

/// Seconds until a child has its result.
fn child(folder: &Path) -> Outcome<f64> {
    let started = Instant::now();
    let mut child = Command::new(std::env::current_exe()?)
        .args(["bench", "--suite", "start", "--first-result"])
        .env("ZIGGURAT_CACHE_DIR", folder.join("ours"))
        .env("MESA_SHADER_CACHE_DIR", folder)
        .env("__GL_SHADER_DISK_CACHE_PATH", folder)
        .stdout(Stdio::piped())
        .spawn()?;
    let mut line = String::new();
    let mut output = child.stdout.take().map(BufReader::new);
    if let Some(output) = &mut output {
        output.read_line(&mut line)?;
    }
    let elapsed = started.elapsed().as_secs_f64();
    // The pipe stays open: the child has a last line to write.
    let status = child.wait()?;
    drop(output);
    if status.success() && line.starts_with("first result") {
        print!("  {line}");
        Ok(elapsed)
    } else {
        Err(Failure::new(format!("the child ended with {status}")))
    }
}

/// The child: opens a device, multiplies, checks, and says how long that took since its `main`.
pub(crate) fn first_result() -> Outcome<String> {
    let started = Instant::now();
    let ms = || started.elapsed().as_secs_f64() * 1e3;
    let executor = Executor::open_blocking(DeviceOptions::default())?;
    let opened = ms();
    let shape = Shape::new([SIDE, SIDE])?;
    let sevens = [0.0_f32, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    let values: Vec<f32> = sevens.iter().copied().cycle().take(SIDE * SIDE).collect();
    let a = executor.upload(&values, &shape)?;
    let ones = executor.upload(&vec![1.0_f32; SIDE * SIDE], &shape)?;
    let product = executor.alloc(&shape, DType::F32)?;
    drop(executor.matmul(&a, &ones, &product)?);
    let recorded = ms();
    let product = f32::read_bytes(&executor.download(&product)?.wait()?);
    let rows = values.chunks(SIDE).zip(product.chunks(SIDE));
    for (row, got) in rows {
        let sum: f32 = row.iter().sum();
        if got.iter().any(|&got| got != sum) {
            return Err(Failure::new("the first product is wrong"));
        }
    }
    let read = ms();
    println!(
        "first result: open {opened:.1} ms, recorded and compiled {:.1} ms, computed and read {:.1} ms",
        recorded - opened,
        read - recorded
    );
    // The cache is written when this goes; the parent's clock has stopped.
    drop(executor);
    Ok(String::new())
}
