//! Spectra over time as Whisper's encoders read them.

use std::f64::consts::PI;

use ziggurat_tensor::{DType, Device, Error as TensorError, Pad, Tensor};

/// Samples per second that [`LogMel`] expects.
pub const SAMPLE_RATE: u32 = 16_000;
/// Samples of a window, 25 ms.
pub const WINDOW: usize = 400;
/// Samples from one window to the next, 10 ms.
pub const HOP: usize = 160;
/// Frequencies of a window, from 0 to half of the rate.
const BINS: usize = WINDOW / 2 + 1;

/// The logarithm of the energy in bands of the mel scale, `log_mel_spectrogram` of OpenAI's `whisper`.
///
/// Windows of 400 samples, 160 apart and centred (the ends are reflected), under a periodic Hann window; their squared discrete
/// Fourier transforms; triangular bands on Slaney's mel scale, each divided by its width in Hz; `log10`, at least 1e-10 and no
/// more than 8 below the greatest; then `(x + 4) / 4`. The transform is a product with a matrix, because 400 is small.
///
/// ```
/// use ziggurat_models::audio::{LogMel, SAMPLE_RATE};
/// use ziggurat_tensor::{DType, Device, DeviceOptions, Tensor};
///
/// let device = Device::open_blocking(DeviceOptions::default())?;
/// let second = Tensor::zeros(&device, [SAMPLE_RATE as usize], DType::F32)?;
/// let spectrum = LogMel::new(&device, 80)?.forward(&second)?;
/// assert_eq!(spectrum.dims(), [80, 100]);
/// # Ok::<(), ziggurat_tensor::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct LogMel {
    /// Cosines and sines under the window, `[2 · BINS, WINDOW]`.
    transform: Tensor,
    /// `[bands, BINS]`.
    filters: Tensor,
}

impl LogMel {
    /// For so many bands from 0 to 8,000 Hz: 80 in most models, 128 in the newest.
    ///
    /// # Errors
    /// If there are no bands, or the device has no memory.
    pub fn new(device: &Device, bands: usize) -> Result<Self, TensorError> {
        let filters: Vec<f32> = mel_filters(bands).into_iter().map(|x| x as f32).collect();
        let mut transform = Vec::with_capacity(2 * BINS * WINDOW);
        // Cosines, then sines a quarter of a turn behind them.
        for shift in [0.0, PI / 2.0] {
            for bin in 0..BINS {
                for at in 0..WINDOW {
                    // The product modulo the window is exact, and so is the angle's place in the circle.
                    let angle = 2.0 * PI * ((bin * at) % WINDOW) as f64 / WINDOW as f64;
                    let hann = 0.5 - 0.5 * (2.0 * PI * at as f64 / WINDOW as f64).cos();
                    transform.push(((angle - shift).cos() * hann) as f32);
                }
            }
        }
        Ok(Self {
            transform: Tensor::from_slice(device, &transform, [2 * BINS, WINDOW])?,
            filters: Tensor::from_slice(device, &filters, [bands, BINS])?,
        })
    }

    /// Samples at 16 kHz, f32 `[n]`, as f32 `[bands, n / 160]`.
    ///
    /// # Errors
    /// If the samples are not of rank 1, or fewer than the 201 that a reflection takes.
    pub fn forward(&self, samples: &Tensor) -> Result<Tensor, TensorError> {
        let half = WINDOW as isize / 2;
        let frames = samples.len() / HOP;
        let windows = samples
            .to_dtype(DType::F32)?
            .pad([[half, half]], Pad::Reflect, 0.0)?
            .unfold(0, WINDOW, HOP)?
            .narrow(0, 0, frames)?;
        let spectrum = windows.linear(&self.transform, None)?;
        let [real, imaginary] = [0, BINS].map(|start| spectrum.narrow(1, start, BINS)?.square());
        let energy = self.filters.matmul(&real?.add(&imaginary?)?.t()?)?;
        let logarithm = energy.clamp(1e-10, f32::INFINITY)?.log10()?;
        let floor = logarithm.max_all()?.sub(8.0)?;
        logarithm.maximum(&floor)?.affine(0.25, 1.0)
    }
}

/// Triangular bands, `[bands, BINS]`, equally wide on Slaney's mel scale: linear up to 1,000 Hz, then logarithmic. Each has the
/// area 1 over its frequencies in Hz (`librosa.filters.mel`).
fn mel_filters(bands: usize) -> Vec<f64> {
    let nyquist = f64::from(SAMPLE_RATE) / 2.0;
    let top = mel_of(nyquist);
    let edges: Vec<f64> = (0..bands + 2)
        .map(|at| hertz_of(top * at as f64 / (bands + 1) as f64))
        .collect();
    let mut out = Vec::with_capacity(bands * BINS);
    for edges in edges.windows(3) {
        let &[left, centre, right] = edges else {
            continue;
        };
        for bin in 0..BINS {
            let hertz = nyquist * bin as f64 / (BINS - 1) as f64;
            let rise = (hertz - left) / (centre - left);
            let fall = (right - hertz) / (right - centre);
            out.push(rise.min(fall).max(0.0) * 2.0 / (right - left));
        }
    }
    out
}

/// Hz per mel below the bend.
const LINEAR: f64 = 200.0 / 3.0;
const BEND_HERTZ: f64 = 1000.0;
const BEND_MEL: f64 = BEND_HERTZ / LINEAR;

/// `ln 6.4 / 27`: how much a mel is above the bend.
fn step() -> f64 {
    6.4f64.ln() / 27.0
}

fn mel_of(hertz: f64) -> f64 {
    if hertz < BEND_HERTZ {
        hertz / LINEAR
    } else {
        BEND_MEL + (hertz / BEND_HERTZ).ln() / step()
    }
}

fn hertz_of(mel: f64) -> f64 {
    if mel < BEND_MEL {
        mel * LINEAR
    } else {
        BEND_HERTZ * (step() * (mel - BEND_MEL)).exp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mels_and_hertz_are_inverse() {
        for hertz in [0.0, 30.0, 999.0, 1000.0, 1001.0, 8000.0] {
            assert!((hertz_of(mel_of(hertz)) - hertz).abs() < 1e-9, "{hertz}");
        }
        // 200/3 Hz are a mel, and 6,400 Hz are 27 above the bend.
        assert_eq!(mel_of(200.0), 3.0);
        assert!((mel_of(6400.0) - 42.0).abs() < 1e-12);
    }
}
