//! Rows of `--suite host` on tensors: lazy chains, and a captured network.

use std::time::Instant;

use ziggurat_kernels::{DType, Executor};
use ziggurat_tensor::{Device, Error, FusionPolicy, Tensor};

use super::{CHAIN, ELEMENTS, Name, Row, Sample, latency, per_op};
use xtask::failure::{Failure, Outcome};

/// Layers of the network.
const LAYERS: usize = 16;
/// Side of its matrices.
const SIDE: usize = 32;

fn adds(one: &Tensor) -> Result<Tensor, Error> {
    let mut sum = one.clone();
    for _ in 0..CHAIN {
        sum = sum.add(one)?;
    }
    // The completion is not needed: who measures waits for everything.
    drop(sum.eval());
    Ok(sum)
}

fn network(x: &Tensor, weight: &Tensor) -> Result<Tensor, Error> {
    let mut hidden = x.clone();
    for _ in 0..LAYERS {
        hidden = hidden.matmul(weight)?.add(0.5)?.relu()?;
    }
    hidden.softmax(-1)
}

/// Seconds until recorded and until done.
fn timed(device: &Device, record: impl FnOnce() -> Result<(), Error>) -> Outcome<Sample> {
    let started = Instant::now();
    record()?;
    let recorded = started.elapsed().as_secs_f64();
    device.synchronize_blocking()?;
    Ok((recorded, started.elapsed().as_secs_f64()))
}

/// Chains of adds, each op by itself and fused.
pub(super) fn chains(executor: &Executor, rounds: usize, mut push: impl FnMut(Row)) -> Outcome {
    let device = Device::from_executor(executor);
    let one = Tensor::ones(&device, [ELEMENTS], DType::F32)?;
    for (policy, name) in [
        (FusionPolicy::Unfused, "unfused"),
        (FusionPolicy::Fused, "fused"),
    ] {
        device.set_fusion(policy);
        let what = Name::new("tiny_add_chain", format!("{CHAIN}x{ELEMENTS}"), name);
        let mut last = None;
        push(per_op(what, CHAIN, rounds, || {
            timed(&device, || adds(&one).map(|sum| last = Some(sum)))
        })?);
        let sums = last.map_or(Ok(Vec::new()), |sum| sum.to_vec_blocking::<f32>())?;
        if sums.len() != ELEMENTS || sums.iter().any(|&sum| sum != f32::from(CHAIN) + 1.0) {
            return Err(Failure::new(format!("chain, {name}: the sum is wrong")));
        }
    }
    let name = |op| Name::new(op, ELEMENTS.to_string(), "tensors");
    push(latency(name("latency_add_readback"), rounds, || {
        let sums = one.add(&one)?.to_vec_blocking::<f32>()?;
        match sums.iter().all(|&sum| sum == 2.0) {
            true => Ok(()),
            false => Err(Failure::new("add and readback: 1 + 1 is not 2")),
        }
    })?);
    push(latency(name("latency_add_sync"), rounds, || {
        Ok(one.add(&one)?.eval_blocking()?)
    })?);
    Ok(())
}

/// Adds that do not wait for each other: each of eight tensors and its neighbour, in turn. The sums are kept until all are
/// recorded, or dropped at once, so that later ones are written over them.
pub(super) fn independent(
    executor: &Executor,
    rounds: usize,
    mut push: impl FnMut(Row),
) -> Outcome {
    let device = Device::from_executor(executor);
    device.set_fusion(FusionPolicy::Unfused);
    let values = (0..8u8).map(|i| Tensor::full(&device, [ELEMENTS], f32::from(i), DType::F32));
    let tensors: Vec<Tensor> = values.collect::<Result<_, _>>()?;
    let pairs: Vec<[&Tensor; 2]> = (0..8)
        .map(|i| [&tensors[i], &tensors[(i + 1) % 8]])
        .collect();
    for keep in [true, false] {
        let how = if keep { "kept" } else { "dropped" };
        let what = Name::new("independent_adds", format!("{CHAIN}x{ELEMENTS}"), how);
        let mut last = None;
        push(per_op(what, CHAIN, rounds, || {
            timed(&device, || {
                let mut kept = Vec::new();
                for [a, b] in pairs.iter().cycle().take(usize::from(CHAIN)) {
                    let sum = a.add(*b)?;
                    if keep {
                        kept.push(sum);
                    } else {
                        last = Some(sum);
                    }
                }
                last = kept.pop().or(last.take());
                Ok(())
            })
        })?);
        let sums = last.map_or(Ok(Vec::new()), |sum| sum.to_vec_blocking::<f32>())?;
        // The last of each eight adds 7 and 0.
        if sums.len() != ELEMENTS || sums.iter().any(|&sum| sum != 7.0) {
            return Err(Failure::new(format!(
                "independent adds, {how}: a sum is wrong"
            )));
        }
    }
    Ok(())
}

/// A network recorded each time and replayed.
pub(super) fn replay(executor: &Executor, rounds: usize, mut push: impl FnMut(Row)) -> Outcome {
    let device = Device::from_executor(executor);
    let square = [SIDE, SIDE];
    let weight = Tensor::full(&device, square, 1.0 / 64.0, DType::F32)?;
    let x = Tensor::ones(&device, square, DType::F32)?;
    let captured = device.capture(&[&x], |inputs| Ok(vec![network(&inputs[0], &weight)?]))?;
    let dispatches = u16::try_from(captured.dispatches())
        .map_err(|_| Failure::new("the network has too many dispatches"))?;
    let what = |how: &str| Name::new("network", format!("{dispatches}x{SIDE}x{SIDE}"), how);
    let mut last = None;
    push(per_op(what("recorded"), dispatches, rounds, || {
        timed(&device, || {
            let y = network(&x, &weight)?;
            // Softmax waits for what follows it. The completion is not needed: who measures waits for everything.
            drop(y.eval());
            last = Some(y);
            Ok(())
        })
    })?);
    push(per_op(what("replayed"), dispatches, rounds, || {
        timed(&device, || captured.replay(&[&x]))
    })?);
    let expected = last.map_or(Ok(Vec::new()), |y| y.to_vec_blocking::<f32>())?;
    if captured.output(0)?.to_vec_blocking::<f32>()? != expected || expected.is_empty() {
        return Err(Failure::new("replay: not what was recorded gives"));
    }
    Ok(())
}
