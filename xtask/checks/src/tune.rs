//! `cargo xtask tune`: tunes a standard set of problems on this machine's adapter and prints what that gained.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use ziggurat_tensor::{
    AdapterKind, Attention, BlockFormat, Conv2dOptions, DType, Device, DeviceOptions, Error,
    Tensor, TuneOptions,
};

use crate::setup;
use xtask::failure::{Failure, Outcome};

/// What is tuned, for how long, and where it goes.
#[derive(Args, Clone, Debug)]
pub(crate) struct Choice {
    /// Seconds for everything
    #[arg(long, default_value_t = 120)]
    seconds: u64,
    /// Only families whose name contains this: matmul, quantized, conv, attention
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
    /// Small problems, which a processor computes in seconds; the software device takes them by itself
    #[arg(long)]
    quick: bool,
    /// Large problems on the software device too
    #[arg(long)]
    full: bool,
    /// Begin with what is in this file
    #[arg(long, value_name = "FILE")]
    load: Option<PathBuf>,
    /// Add what was found to this file
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
}

/// A family and its problems. Where the large extents are divided by `by`, a processor has time for them.
struct Family {
    name: &'static str,
    compute: fn(&Device, by: usize) -> Result<Vec<Tensor>, Error>,
}

const FAMILIES: [Family; 4] = [
    Family {
        name: "matmul",
        compute: products,
    },
    Family {
        name: "quantized",
        compute: quantised,
    },
    Family {
        name: "conv",
        compute: convolutions,
    },
    Family {
        name: "attention",
        compute: attentions,
    },
];

/// Tunes, prints the table, saves.
pub(crate) fn run(choice: &Choice) -> Outcome<String> {
    let device = Device::open_blocking(DeviceOptions::default())?;
    println!("adapter: {}", setup::describe(device.adapter()));
    let software = device.adapter().kind == AdapterKind::Software;
    let by = if choice.quick || (software && !choice.full) {
        16
    } else {
        1
    };
    if let Some(file) = &choice.load {
        match device.tuning().load(file) {
            Ok(count) => println!("{count} choices from {}", file.display()),
            Err(reason) => println!("{} is ignored: {reason}", file.display()),
        }
    }
    let wanted = |family: &&Family| {
        let filter = choice.filter.as_deref();
        filter.is_none_or(|filter| family.name.contains(filter))
    };
    let families: Vec<&Family> = FAMILIES.iter().filter(wanted).collect();
    if families.is_empty() {
        return Err(Failure::new("no family has that name"));
    }
    let options = TuneOptions::default()
        .time_limit(Duration::from_secs(choice.seconds))
        .progress(|step| {
            eprintln!("{} of {}: {}", step.done, step.total, step.problem);
            ControlFlow::Continue(())
        });
    let report = device.tune_blocking(options, || {
        let mut results = Vec::new();
        for family in families {
            results.extend((family.compute)(&device, by)?);
            // What one family computed leaves room for the next.
            device.synchronize_blocking()?;
        }
        Ok(results)
    })?;
    println!("{report}");
    if let Some(file) = &choice.save {
        device.tuning().save(file)?;
        println!("saved to {}", file.display());
    }
    let gains: Vec<f64> = report
        .problems
        .iter()
        .filter_map(|row| row.gain())
        .collect();
    let faster = gains.iter().filter(|gain| **gain > 1.0).count();
    Ok(format!(
        "{faster} of {} problems are computed in another way than the default",
        gains.len()
    ))
}

fn products(device: &Device, by: usize) -> Result<Vec<Tensor>, Error> {
    let zeros = |dims: &[usize], dtype| Tensor::zeros(device, dims, dtype);
    let mut all = Vec::new();
    for dtype in [DType::F32, DType::F16, DType::BF16] {
        for [m, k, n] in [
            [512, 512, 512],
            [1024, 1024, 1024],
            [4096, 4096, 4096],
            [1, 4096, 4096],
            [8, 4096, 4096],
            [48, 4096, 4096],
            [4096, 4096, 64],
            [4096, 64, 4096],
        ] {
            let [m, k, n] = [m, k, n].map(|extent: usize| extent.min((extent / by).max(16)));
            all.push(zeros(&[m, k], dtype)?.matmul(&zeros(&[k, n], dtype)?)?);
            // As a layer has its weight.
            all.push(zeros(&[m, k], dtype)?.matmul(&zeros(&[n, k], dtype)?.t()?)?);
            all.iter().try_for_each(Tensor::eval_blocking)?;
            all.clear();
        }
        for [batch, m, k, n] in [[1024, 64, 64, 64], [64, 256, 64, 256]] {
            let batch = (batch / by).max(4);
            let product = zeros(&[batch, m, k], dtype)?.matmul(&zeros(&[batch, k, n], dtype)?)?;
            product.eval_blocking()?;
        }
    }
    Ok(all)
}

fn quantised(device: &Device, by: usize) -> Result<Vec<Tensor>, Error> {
    let mut all = Vec::new();
    let [rows, cols] = [4096 / by, 2048 / by];
    let mut state = 1_u32;
    let mut number = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f32::from((state >> 16) as u16) / 65_536.0 - 0.5
    };
    let values: Vec<f32> = (0..rows * cols).map(|_| number()).collect();
    let weight = Tensor::from_slice(device, &values, [rows, cols])?;
    for format in [BlockFormat::Q4_0, BlockFormat::Q8_0] {
        let weight = weight.quantize_blocking(format)?;
        for m in [1, 4, 16] {
            let x = Tensor::zeros(device, [m, cols], DType::F32)?;
            all.push(weight.linear(&x, None)?);
        }
    }
    Ok(all)
}

fn convolutions(device: &Device, by: usize) -> Result<Vec<Tensor>, Error> {
    let mut all = Vec::new();
    let images = (32 / by).max(1);
    for dtype in [DType::F32, DType::F16] {
        for ([channels, filters, side, taps], groups) in [
            ([3, 64, 112, 7], 1),
            ([64, 64, 56, 3], 1),
            ([256, 256, 14, 3], 1),
            ([256, 64, 56, 1], 1),
            ([512, 512, 7, 3], 1),
            ([96, 96, 56, 3], 96),
            ([8, 16, 28, 3], 1),
        ] {
            let [side, channels, filters] = if by > 1 {
                [side.min(14), channels.min(96), filters.min(96)]
            } else {
                [side, channels, filters]
            };
            let x = Tensor::zeros(device, [images, channels, side, side], dtype)?;
            let w = Tensor::zeros(device, [filters, channels / groups, taps, taps], dtype)?;
            let options = Conv2dOptions {
                padding_begin: [taps / 2; 2],
                padding_end: [taps / 2; 2],
                groups,
                ..Conv2dOptions::default()
            };
            all.push(x.conv2d(&w, None, &options)?);
        }
    }
    Ok(all)
}

fn attentions(device: &Device, by: usize) -> Result<Vec<Tensor>, Error> {
    let mut all = Vec::new();
    for dtype in [DType::F32, DType::F16] {
        for ([heads, key_heads, queries, keys, dim], causal) in [
            ([16, 16, 1024, 1024, 64], true),
            ([32, 32, 512, 512, 128], false),
            ([32, 8, 1, 4096, 128], false),
            ([32, 32, 1, 4096, 128], false),
            ([32, 8, 4, 4096, 128], true),
            ([12, 12, 77, 77, 64], false),
        ] {
            let [queries, keys] = [queries, keys].map(|n: usize| n.min((n / by).max(24)));
            let [heads, key_heads] = [heads, key_heads].map(|n: usize| (n / by.min(4)).max(1));
            let tensor = |heads, len| Tensor::zeros(device, [1, heads, len, dim], dtype);
            let (q, k, v) = (
                tensor(heads, queries)?,
                tensor(key_heads, keys)?,
                tensor(key_heads, keys)?,
            );
            let options = Attention {
                causal,
                ..Attention::default()
            };
            all.push(q.scaled_dot_product_attention(&k, &v, &options)?);
        }
    }
    Ok(all)
}
