//! WAV files.

use std::io::Read;
#[cfg(not(target_arch = "wasm32"))]
use std::path::Path;

use hound::{SampleFormat, WavReader};

use super::Waveform;
use crate::Error;

impl Waveform {
    /// The sound of a WAV file: integers of 8 to 32 bits or floats of 32, any rate; several channels are averaged.
    ///
    /// # Errors
    /// If it is no WAV file, is cut short, has another coding, or cannot be read.
    #[cfg_attr(docsrs, doc(cfg(feature = "wav")))]
    pub fn from_wav(file: impl Read) -> Result<Self, Error> {
        let mut reader = WavReader::new(file).map_err(malformed)?;
        let spec = reader.spec();
        let channels = usize::from(spec.channels);
        if channels == 0 || spec.sample_rate == 0 {
            let rule = "a WAV file must have channels and a rate";
            let (channels, rate) = (spec.channels, spec.sample_rate);
            return Err(Error::Audio(format!(
                "{rule}: they are {channels} and {rate}"
            )));
        }
        // What a file says about its length is not believed before it is read.
        let all: Result<Vec<f32>, _> = match spec.sample_format {
            SampleFormat::Float => reader.samples::<f32>().collect(),
            SampleFormat::Int => {
                let full = (f64::from(spec.bits_per_sample) - 1.0).exp2();
                let number = |sample: i32| (f64::from(sample) / full) as f32;
                let samples = reader.samples::<i32>();
                samples.map(|sample| sample.map(number)).collect()
            }
        };
        let all = all.map_err(malformed)?;
        let mean = |frame: &[f32]| frame.iter().sum::<f32>() / channels as f32;
        Ok(Self {
            samples: all.chunks_exact(channels).map(mean).collect(),
            rate: spec.sample_rate,
        })
    }

    /// As [`Waveform::from_wav`], of the file at a path.
    ///
    /// # Errors
    /// As [`Waveform::from_wav`].
    #[cfg(not(target_arch = "wasm32"))]
    #[cfg_attr(docsrs, doc(cfg(feature = "wav")))]
    pub fn open_wav(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let file = std::fs::File::open(path).map_err(|source| Error::Io {
            action: "open",
            path: path.to_path_buf(),
            source,
        })?;
        Self::from_wav(std::io::BufReader::new(file))
    }
}

fn malformed(error: hound::Error) -> Error {
    Error::Audio(format!("the WAV file cannot be read ({error})"))
}
