//! Sound at another rate.

use std::f64::consts::PI;

use ziggurat_tensor::{Conv1dOptions, DType, Tensor};

use crate::Error;

/// Zero crossings of the sinc on each side.
const CROSSINGS: f64 = 6.0;
/// The highest frequency that passes, of half of the lower rate.
const ROLLOFF: f64 = 0.99;
/// Elements of the filters, at most: 48 kHz to 16 kHz takes 40, and 44.1 kHz 76,000.
const MOST: u64 = 1 << 20;

/// Samples f32 `[n]` of one rate as `[ceil(n · to / from)]` of another: `torchaudio.functional.resample` with its defaults.
///
/// With `from / to` in lowest terms `p / q`, each of the q samples that follow every p-th one is a weighted sum of its
/// neighbours: a convolution with q filters and stride p. The weights are a sinc whose cutoff is 0.99 of half of the lower rate,
/// under a squared cosine over six zero crossings on each side. In front of the first sample and behind the last one is silence.
///
/// ```
/// use ziggurat_models::audio::resample;
/// use ziggurat_tensor::{DType, Device, DeviceOptions, Tensor};
///
/// let device = Device::open_blocking(DeviceOptions::default())?;
/// let second = Tensor::ones(&device, [48_000], DType::F32)?;
/// assert_eq!(resample(&second, 48_000, 16_000)?.dims(), [16_000]);
/// # Ok::<(), ziggurat_models::Error>(())
/// ```
///
/// # Errors
/// If a rate is 0, the terms of their ratio are so large that the filters are too, or the samples are not of rank 1.
pub fn resample(samples: &Tensor, from: u32, to: u32) -> Result<Tensor, Error> {
    if from == 0 || to == 0 {
        let text = format!("rates must be positive: from {from} to {to} samples per second");
        return Err(Error::Audio(text));
    }
    if samples.rank() != 1 {
        let text = format!("samples must be of rank 1: they are {}", samples.shape());
        return Err(Error::Audio(text));
    }
    let samples = samples.to_dtype(DType::F32)?;
    if from == to {
        return Ok(samples);
    }
    let divisor = gcd(from, to);
    let (p, q) = (from / divisor, to / divisor);
    let cutoff = f64::from(p.min(q)) * ROLLOFF;
    let reach = (CROSSINGS * f64::from(p) / cutoff).ceil();
    let taps = 2 * reach as u64 + u64::from(p);
    if taps.saturating_mul(q.into()) > MOST {
        let rule = "the rates must have a simple ratio";
        let text = format!("{rule}: from {from} to {to} it is {p}/{q} in lowest terms");
        return Err(Error::Audio(text));
    }
    let mut filters = Vec::new();
    for phase in 0..q {
        for tap in 0..taps {
            let distance = (tap as f64 - reach) / f64::from(p) - f64::from(phase) / f64::from(q);
            let at = (distance * cutoff).clamp(-CROSSINGS, CROSSINGS);
            let window = (at * PI / CROSSINGS / 2.0).cos().powi(2);
            let sinc = if at == 0.0 {
                1.0
            } else {
                (at * PI).sin() / (at * PI)
            };
            filters.push((sinc * window * cutoff / f64::from(p)) as f32);
        }
    }
    let (reach, p, q, taps) = (reach as usize, p as usize, q as usize, taps as usize);
    let filters = Tensor::from_slice(samples.device(), &filters, [q, 1, taps])?;
    let count = samples.len();
    // As many strides as it takes for the last sample.
    let wanted = (count as u64 * q as u64).div_ceil(p as u64);
    let options = Conv1dOptions {
        stride: [p],
        padding_begin: [reach],
        padding_end: [reach + p],
        ..Conv1dOptions::default()
    };
    let out = samples
        .reshape_to([1, count])?
        .conv1d(&filters, None, &options)?;
    let out = out.t()?.reshape([-1])?;
    let wanted = usize::try_from(wanted).unwrap_or(usize::MAX);
    Ok(out.narrow(0, 0, wanted)?)
}

const fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}
