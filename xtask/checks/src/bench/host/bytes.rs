//! Rows of `--suite host` that move large amounts: over the bus, and within the device.

use std::time::Instant;

use ziggurat_core::{BlockFormat, Element, Shape};
use ziggurat_kernels::{BlockShape, DType, Executor};

use super::{Name, Row};
use crate::bench::measure::median;
use xtask::failure::{Failure, Outcome};

/// Rounds before the measured ones: they make the staging memory.
const WARM: usize = 2;
const ROUNDS: usize = 7;

/// Median seconds; what a round returns is dropped after the clock was read.
fn seconds<T>(mut round: impl FnMut() -> Outcome<T>) -> Outcome<f64> {
    let mut samples = Vec::new();
    for index in 0..WARM + ROUNDS {
        let started = Instant::now();
        let leftover = round()?;
        let elapsed = started.elapsed().as_secs_f64();
        drop(leftover);
        if index >= WARM {
            samples.push(elapsed);
        }
    }
    Ok(median(&mut samples))
}

#[expect(clippy::cast_precision_loss, reason = "a few GiB")]
fn row(op: &'static str, mode: &str, bytes: usize, moved: usize, seconds: f64) -> Row {
    Row {
        name: Name::new(op, format!("{}MiB", bytes >> 20), mode),
        recorded_us: None,
        done_us: seconds * 1e6,
        gbps: Some(moved as f64 / seconds * 1e-9),
    }
}

/// Upload, download into a new vector and into one that is there, and a borrowed view.
pub(super) fn transfers(executor: &Executor, bytes: usize, mut push: impl FnMut(Row)) -> Outcome {
    let memory = executor.memory();
    let data: Vec<u8> = (0_u8..=250).cycle().take(bytes).collect();
    let buffer = memory.upload(&data)?;
    let all = 0..bytes as u64;
    let time = seconds(|| {
        memory.write(&buffer, 0, &data)?;
        executor.synchronize().wait()?;
        Ok(())
    })?;
    push(row("upload", "write", bytes, bytes, time));
    let right = |got: &[u8]| {
        if got == data {
            Ok(())
        } else {
            Err(Failure::new("the bytes that came back differ"))
        }
    };
    let mut last = Vec::new();
    let time = seconds(|| {
        let bytes = memory.read(&buffer, all.clone())?.wait()?;
        Ok(std::mem::replace(&mut last, bytes))
    })?;
    right(&last)?;
    push(row("download", "read", bytes, bytes, time));
    last.fill(0);
    let time = seconds(|| Ok(memory.read_into(&buffer, all.clone(), &mut last)?.wait()?))?;
    right(&last)?;
    push(row("download", "read_into", bytes, bytes, time));
    let time = seconds(|| Ok(memory.read_mapped(&buffer, all.clone())?.wait()?))?;
    let mapped = memory.read_mapped(&buffer, all)?.wait()?;
    right(&mapped)?;
    push(row("download", "read_mapped", bytes, bytes, time));
    Ok(())
}

/// Upload of quantised blocks, which the host lays out in planes.
pub(super) fn blocks(executor: &Executor, bytes: usize, mut push: impl FnMut(Row)) -> Outcome {
    const ROWS: usize = 1024;
    for format in [BlockFormat::Q4_K, BlockFormat::Q6_K, BlockFormat::Q8_0] {
        // Less than the bytes, for what planes have behind them.
        let in_row = (bytes / ROWS / format.bytes()).saturating_sub(1).max(1);
        let shape = BlockShape::new(format, [ROWS, in_row * format.elements()])?;
        let len = ROWS * in_row * format.bytes();
        // No scale among them is large: each byte is below that of the exponent of 1.
        let data: Vec<u8> = (0_u8..=50).cycle().take(len).collect();
        let time = seconds(|| {
            let blocks = executor.upload_blocks(shape, &data)?;
            executor.synchronize().wait()?;
            Ok(blocks)
        })?;
        let blocks = executor.upload_blocks(shape, &data)?;
        let planes = executor.download(&blocks.words)?.wait()?;
        if shape.from_planes(&planes).as_ref() != Some(&data) {
            return Err(Failure::new(format!("{format}: other blocks came back")));
        }
        push(row("upload_blocks", format.name(), len, len, time));
    }
    Ok(())
}

/// Transfers while the device multiplies matrices for about as long: how much of the shorter one costs no time.
pub(super) fn overlap(executor: &Executor, bytes: usize, mut push: impl FnMut(Row)) -> Outcome {
    // Matrices of this side keep a large device busy, and are quick on a small one.
    let side = if bytes >= 1 << 27 { 2048 } else { 128 };
    let memory = executor.memory();
    let data: Vec<u8> = (0_u8..=250).cycle().take(bytes).collect();
    let buffer = memory.upload(&data)?;
    let square = Shape::new([side, side])?;
    let matrix = || executor.alloc(&square, DType::F32);
    let (x, y, product) = (matrix()?, matrix()?, matrix()?);
    drop(executor.fill(&x, 0.5)?);
    drop(executor.fill(&y, 0.25)?);
    let multiply = |times: u32| -> Outcome {
        for _ in 0..times {
            drop(executor.matmul(&x, &y, &product)?);
        }
        executor.device().flush()?;
        Ok(())
    };
    let wait = || -> Outcome { Ok(executor.synchronize().wait()?) };
    let alone = |times: u32| {
        seconds(|| {
            multiply(times)?;
            wait()
        })
    };
    let upload = || -> Outcome { Ok(memory.write(&buffer, 0, &data)?) };
    let mut last = vec![0; bytes];
    let mut measure = |what: &str, time: f64, both: &mut dyn FnMut(u32) -> Outcome| -> Outcome {
        let one = alone(8)? / 8.0;
        let times = (1..1000_u32).find(|&times| one * f64::from(times) >= time);
        let times = times.unwrap_or(1000);
        let compute = alone(times)?;
        let together = seconds(|| both(times))?;
        let hidden = (time + compute - together) / time.min(compute) * 100.0;
        push(Row {
            name: Name::new(
                "overlap",
                format!("{}MiB", bytes >> 20),
                format!(
                    "{what} of {:.1} ms during {times} matmuls of {:.1} ms: {hidden:.0} % hidden",
                    time * 1e3,
                    compute * 1e3
                ),
            ),
            recorded_us: None,
            done_us: together * 1e6,
            gbps: None,
        });
        Ok(())
    };
    let time = seconds(|| {
        upload()?;
        wait()
    })?;
    measure("upload", time, &mut |times| {
        multiply(times)?;
        upload()?;
        wait()
    })?;
    let all = 0..bytes as u64;
    let time = seconds(|| Ok(memory.read_into(&buffer, all.clone(), &mut last)?.wait()?))?;
    measure("download", time, &mut |times| {
        let read = memory.read_into(&buffer, all.clone(), &mut last)?;
        multiply(times)?;
        read.wait()?;
        wait()
    })?;
    let expected = 0.5 * 0.25 * f32::from(u16::try_from(side)?);
    let sums = f32::read_bytes(&executor.download(&product)?.wait()?);
    if last != data || sums.iter().any(|&sum| sum != expected) {
        return Err(Failure::new(
            "what was computed and copied at once is wrong",
        ));
    }
    Ok(())
}

/// A dense copy by the driver and by kernels.
pub(super) fn copies(executor: &Executor, bytes: usize, mut push: impl FnMut(Row)) -> Outcome {
    const BATCH: u16 = 64;
    let shape = Shape::new([bytes / 4])?;
    let values: Vec<u8> = (0_u8..=250).cycle().take(bytes).collect();
    let source = executor.upload_bytes(DType::U32, &values, &shape)?;
    let target = executor.alloc(&shape, DType::U32)?;
    let mut measure = |what: &str, copy: &dyn Fn() -> Outcome| -> Outcome {
        drop(executor.fill(&target, 0.0)?);
        let time = seconds(|| {
            for _ in 0..BATCH {
                copy()?;
            }
            executor.synchronize().wait()?;
            Ok(())
        })?;
        if executor.download(&target)?.wait()? != values {
            return Err(Failure::new(format!("{what}: the copy differs")));
        }
        // Read and written.
        push(row(
            "d2d_copy",
            what,
            bytes,
            2 * bytes,
            time / f64::from(BATCH),
        ));
        Ok(())
    };
    let len = bytes as u64;
    measure("copy_buffer_to_buffer", &|| {
        let (from, to) = (source.buffer.wgpu(), target.buffer.wgpu());
        executor
            .device()
            .record(|recorder| recorder.copy_buffer(from, 0, to, 0, len))?;
        Ok(())
    })?;
    measure("Pipelines::copy", &|| {
        let pipelines = executor.pipelines();
        pipelines.copy(&source.buffer, 0, &target.buffer, 0, len)?;
        Ok(())
    })?;
    measure("copy op", &|| {
        drop(executor.copy(&source, &target)?);
        Ok(())
    })
}
