//! Recorded sound: samples, their rate, and the spectra that speech models read.
//!
//! All of it is computed on the device with plain operations of [`Tensor`]: [`resample`] is a
//! convolution, [`LogMel`] two matrix products.

mod log_mel;
mod resample;
#[cfg(feature = "wav")]
mod wav;

pub use log_mel::{HOP, LogMel, SAMPLE_RATE, WINDOW};
pub use resample::resample;

use ziggurat_tensor::{Device, Tensor};

use crate::Error;

/// One channel of sound.
#[derive(Clone, Debug, PartialEq)]
pub struct Waveform {
    /// Samples from -1 to 1, one after the other.
    pub samples: Vec<f32>,
    /// Samples per second.
    pub rate: u32,
}

impl Waveform {
    /// The samples on a device at another rate, f32 `[ceil(samples · to / rate)]`.
    ///
    /// # Errors
    /// As [`resample`].
    pub fn at_rate(&self, device: &Device, to: u32) -> Result<Tensor, Error> {
        let samples = Tensor::from_slice(device, &self.samples, [self.samples.len()])?;
        resample(&samples, self.rate, to)
    }
}
