//! What the adapter can do: the bandwidth of a copy and the rate of multiply-adds. The roof under which every case is.

use serde::{Deserialize, Serialize};
use ziggurat_tensor::{CustomKernel, DType, Device};

use crate::bench::case::{Cost, Lab, amount};
use crate::bench::measure::{self, Patience};
use xtask::failure::Outcome;

/// Multiply-adds of one invocation of `fma.wgsl`: 64 a round.
const ROUNDS: u32 = 256;
const PER_INVOCATION: f64 = 64.0 * ROUNDS as f64;

/// The adapter's measured rates.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Roof {
    /// GB/s of a copy by a kernel, reads and writes counted.
    pub(crate) copy_gbps: f64,
    /// GFLOP/s of f32 multiply-adds, two to each.
    pub(crate) fma_gflops: f64,
}

impl Roof {
    /// Measures both, with tensors of so many elements.
    pub(crate) fn probe(lab: &Lab, elements: usize, patience: &Patience) -> Outcome<Self> {
        let device = &lab.device;
        let executor = device.executor();
        let source = lab.uniform(&[elements], DType::F32)?;
        let target = lab.uniform(&[elements], DType::F32)?;
        let copy = measure::time(executor.device(), patience, || {
            drop(executor.copy(source.storage()?, target.storage()?)?);
            Ok(())
        })?;
        Ok(Self {
            copy_gbps: amount(8 * elements) / copy.wall * 1e-9,
            fma_gflops: multiply_adds(device, elements.min(1 << 22), patience)?,
        })
    }

    /// The least time that a case can take over the time it took: 1 is the roof. Nothing for what moves nothing.
    pub(crate) fn ratio(&self, cost: Cost, seconds: f64) -> Option<f64> {
        let moving = cost.bytes / self.copy_gbps;
        let computing = cost.flops / self.fma_gflops;
        let least = moving.max(computing) * 1e-9;
        (least > 0.0 && seconds > 0.0).then(|| least / seconds)
    }
}

/// GFLOP/s of `fma.wgsl`.
fn multiply_adds(device: &Device, invocations: usize, patience: &Patience) -> Outcome<f64> {
    let kernel = CustomKernel::wgsl("fma", include_str!("fma.wgsl"))
        .constant("rounds", f64::from(ROUNDS))
        .output("out", DType::F32);
    let run = || kernel.call_on(device, &[]).shape([invocations]).run();
    run()?.eval_blocking()?;
    let time = measure::time(device.executor().device(), patience, || {
        drop(run()?);
        Ok(())
    })?;
    Ok(2.0 * PER_INVOCATION * amount(invocations) / time.wall * 1e-9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_roof_is_the_slower_of_moving_and_computing() {
        let roof = Roof {
            copy_gbps: 100.0,
            fma_gflops: 1000.0,
        };
        let cost = Cost::bytes(100_000_000);
        assert_eq!(roof.ratio(cost, 0.002), Some(0.5));
        assert_eq!(roof.ratio(cost.flops(4e9), 0.008), Some(0.5));
        assert_eq!(roof.ratio(Cost::default(), 1.0), None);
    }
}
