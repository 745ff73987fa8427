//! `--suite fusion`: what fusing saves. The same expression on tensors, each op by its own kernel and fused, in one run.
//!
//! Before anything is measured, both must give the same values.

use ziggurat_core::DType;
use ziggurat_kernels::Executor;
use ziggurat_tensor::{Conv2dOptions, Device, Error, FusionPolicy, Generator, Tensor};

use crate::bench::Choice;
use crate::bench::measure::{self, Patience, Time};
use crate::bench::record::Record;
use crate::bench::sizes::Sizes;
use xtask::failure::{Failure, Outcome};

type Formula = fn(&[Tensor]) -> Result<Tensor, Error>;

/// An expression over operands of these shapes.
struct Case {
    what: &'static str,
    operands: Vec<Vec<usize>>,
    formula: Formula,
}

impl Case {
    fn new(what: &'static str, operands: &[&[usize]], formula: Formula) -> Self {
        Self {
            what,
            operands: operands.iter().map(|dims| dims.to_vec()).collect(),
            formula,
        }
    }

    fn shape(&self) -> String {
        self.operands
            .first()
            .map_or_else(String::new, |dims| format!("{dims:?}"))
    }
}

/// Milliseconds per evaluation of one expression.
#[derive(Clone, Debug)]
struct Row {
    what: String,
    shape: String,
    unfused_kernels: u64,
    fused_kernels: u64,
    unfused_ms: f64,
    fused_ms: f64,
    /// Unfused over fused, by GPU time where that is known.
    ratio: f64,
}

/// Measures and prints all rows.
pub(crate) fn run(executor: &Executor, choice: &Choice) -> Outcome<Vec<Record>> {
    let adapter = executor.device().adapter();
    let sizes = Sizes::of(adapter.kind, executor.device().caps(), choice.quick);
    let patience = Patience::new(choice.quick);
    let device = Device::from_executor(executor);
    let mut rows = Vec::new();
    println!(
        "{:36} {:24} {:>8} {:>12} {:>12} {:>7}",
        "f32", "shape", "kernels", "unfused ms", "fused ms", "ratio"
    );
    for case in cases(&sizes) {
        if !choice.wants(case.what) {
            continue;
        }
        let row = measured(&device, &case, &patience)?;
        let kernels = format!("{} > {}", row.unfused_kernels, row.fused_kernels);
        println!(
            "{:36} {:24} {kernels:>8} {:>12.4} {:>12.4} {:>7.2}",
            row.what, row.shape, row.unfused_ms, row.fused_ms, row.ratio
        );
        for (mode, ms) in [("unfused", row.unfused_ms), ("fused", row.fused_ms)] {
            rows.push(Record {
                mode: Some(mode.into()),
                ..Record::timed(case.what, "f32", &row.shape, Some(ms))
            });
        }
    }
    Ok(rows)
}

fn measured(device: &Device, case: &Case, patience: &Patience) -> Outcome<Row> {
    let mut generator = Generator::new(7);
    let draw = |dims: &Vec<usize>| Tensor::rand(device, dims, DType::F32, &mut generator);
    let operands = case.operands.iter().map(draw);
    let operands = operands.collect::<Result<Vec<_>, _>>()?;
    let policies = [FusionPolicy::Unfused, FusionPolicy::Fused];
    let [unfused, fused] = policies.map(|policy| under(device, case, &operands, policy, patience));
    let (unfused, fused) = (unfused?, fused?);
    same(case.what, &unfused.sums, &fused.sums)?;
    // Times of the GPU where both are known, so that the host's are not in the ratio.
    let gpu = unfused.time.gpu.zip(fused.time.gpu);
    let (before, after) = gpu.unwrap_or((unfused.time.wall, fused.time.wall));
    Ok(Row {
        what: case.what.to_owned(),
        shape: case.shape(),
        unfused_kernels: unfused.kernels,
        fused_kernels: fused.kernels,
        unfused_ms: before * 1e3,
        fused_ms: after * 1e3,
        ratio: before / after,
    })
}

/// One expression under one policy.
struct Measured {
    time: Time,
    kernels: u64,
    /// Along the last axis of the result.
    sums: Vec<f32>,
}

fn under(
    device: &Device,
    case: &Case,
    operands: &[Tensor],
    policy: FusionPolicy,
    patience: &Patience,
) -> Outcome<Measured> {
    device.set_fusion(policy);
    let executor = device.executor();
    let dispatches = || executor.device().queue_stats().dispatches;
    let before = dispatches();
    let result = (case.formula)(operands)?;
    result.eval_blocking()?;
    let kernels = dispatches() - before;
    let sums = match result.rank() {
        0 => result.to_vec_blocking()?,
        _ => result.mean([-1], false)?.to_vec_blocking()?,
    };
    let time = measure::time(executor.device(), patience, || {
        let result = (case.formula)(operands)?;
        // The completion is not needed: the batch waits for all of them.
        drop(result.eval());
        Ok(())
    });
    device.set_fusion(FusionPolicy::Fused);
    Ok(Measured {
        time: time?,
        kernels,
        sums,
    })
}

fn same(what: &str, unfused: &[f32], fused: &[f32]) -> Outcome {
    let near = |(a, b): (&f32, &f32)| (a - b).abs() <= 1e-3 * b.abs().max(1e-3);
    if unfused.len() == fused.len() && unfused.iter().zip(fused).all(near) {
        return Ok(());
    }
    Err(Failure::new(format!(
        "{what}: fused and unfused give different values"
    )))
}

/// Every case, for these sizes.
fn cases(sizes: &Sizes) -> Vec<Case> {
    const COLUMNS: usize = 1024;
    let wide = [(sizes.elements / COLUMNS).max(1), COLUMNS];
    let row = [COLUMNS];
    let side = sizes.matmul.last().copied().unwrap_or(128);
    let square = [side, side];
    // Products that are mostly writing.
    let (tall, flat) = ([side, 32], [32, side]);
    let images = [sizes.images, 64, 56, 56];
    vec![
        Case::new("((a * b) + c).sqrt()", &[&wide, &wide, &wide], |x| {
            x[0].mul(&x[1])?.add(&x[2])?.sqrt()
        }),
        Case::new("a * row + row", &[&wide, &row], |x| {
            x[0].mul(&x[1])?.add(&x[1])
        }),
        Case::new("(x * x).sum(-1)", &[&wide], |x| {
            x[0].mul(&x[0])?.sum([-1], false)
        }),
        Case::new("(x - mean).square().mean(-1)", &[&wide], |x| {
            x[0].sub(x[0].mean([-1], true)?)?
                .square()?
                .mean([-1], false)
        }),
        Case::new("(x * s).softmax(-1)", &[&wide], |x| {
            x[0].mul(0.125)?.softmax(-1)
        }),
        Case::new("layer_norm(x + residual)", &[&wide, &wide, &row], |x| {
            let sum = x[0].add(&x[1])?;
            sum.layer_norm([COLUMNS], Some(&x[2]), Some(&x[2]), 1e-5)
        }),
        Case::new("rms_norm(x + residual)", &[&wide, &wide, &row], |x| {
            x[0].add(&x[1])?.rms_norm([COLUMNS], Some(&x[2]), 1e-5)
        }),
        Case::new("(x + residual).argmax(-1)", &[&wide, &wide], |x| {
            x[0].add(&x[1])?.argmax(-1, false)?.to_dtype(DType::F32)
        }),
        Case::new("(a · b + row).relu()", &[&square, &square, &[side]], |x| {
            x[0].matmul(&x[1])?.add(&x[2])?.relu()
        }),
        Case::new(
            "(a · b + row).gelu() + residual",
            &[&tall, &flat, &[side], &square],
            |x| x[0].matmul(&x[1])?.add(&x[2])?.gelu()?.add(&x[3]),
        ),
        Case::new("a · b held, and its relu()", &[&tall, &flat], |x| {
            let product = x[0].matmul(&x[1])?;
            let above = product.relu()?;
            drop(above.eval());
            Ok(above)
        }),
        Case::new(
            "conv2d 3x3 + bias, relu()",
            &[&images, &[64, 64, 3, 3], &[64]],
            |x| {
                x[0].conv2d(&x[1], Some(&x[2]), &Conv2dOptions::default().same())?
                    .relu()
            },
        ),
        Case::new(
            "conv2d 1x1, batch_norm, + x, relu()",
            &[&images, &[64, 64, 1, 1], &[64]],
            |x| {
                let y = x[0].conv2d(&x[1], None, &Conv2dOptions::default())?;
                let y = y.batch_norm(1, (&x[2], &x[2]), Some(&x[2]), Some(&x[2]), 1e-5)?;
                y.add(&x[0])?.relu()
            },
        ),
        Case::new(
            "depthwise conv2d 3x3 + bias, silu()",
            &[&images, &[64, 1, 3, 3], &[64]],
            |x| {
                let options = Conv2dOptions {
                    groups: 64,
                    ..Conv2dOptions::default().same()
                };
                x[0].conv2d(&x[1], Some(&x[2]), &options)?.silu()
            },
        ),
    ]
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn every_case_takes_fewer_kernels_fused_and_gives_the_same() {
        // Where no driver is, the software device.
        let executor = Executor::open_blocking(ziggurat_device::DeviceOptions::default()).unwrap();
        let device = Device::from_executor(&executor);
        let sizes = Sizes {
            elements: 4096,
            matmul: vec![64],
            images: 1,
            transfer: 4096,
        };
        // No time to measure: one batch of one call.
        let patience = Patience::default();
        for case in cases(&sizes) {
            let row = measured(&device, &case, &patience).unwrap();
            assert!(
                row.fused_kernels < row.unfused_kernels,
                "{}: {} kernels fused, {} unfused",
                row.what,
                row.fused_kernels,
                row.unfused_kernels
            );
            // The mean that is subtracted is a kernel of its own, and so is the cast of positions.
            let two = case.what.contains("mean") || case.what.contains("argmax");
            // WebGPU's default limits have no bindings for a product with a residual and batch norm's four parameters.
            let few = case.what.contains("batch_norm") && executor.fused_limits().bindings < 8;
            let most = match (few, two) {
                (true, _) => 3,
                (false, true) => 2,
                (false, false) => 1,
            };
            assert!(
                row.fused_kernels <= most,
                "{}: {}",
                row.what,
                row.fused_kernels
            );
        }
    }

    #[test]
    fn other_values_are_noticed() {
        assert!(same("test", &[1.0, 2.0], &[1.0, 2.0]).is_ok());
        assert!(same("test", &[1.0, 2.0], &[1.0, 2.1]).is_err());
        assert!(same("test", &[1.0], &[f32::NAN]).is_err());
        assert!(same("test", &[1.0], &[]).is_err());
    }
}
