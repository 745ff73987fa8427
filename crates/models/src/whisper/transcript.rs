//! A recording as text, window by window.

use ziggurat_tensor::Tensor;

use super::{TranscribeOptions, Whisper};
use crate::Error;
use crate::audio::{HOP, SAMPLE_RATE, Waveform};

/// A segment of a recording: one or a few sentences.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Segment {
    /// Where it begins, in seconds of the recording.
    pub start: f64,
    /// Where it ends.
    pub end: f64,
    /// What is said, mostly with a space in front.
    pub text: String,
    /// The tokens of the text.
    pub tokens: Vec<u32>,
}

/// What is said in a recording.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Transcript {
    /// The language: that of the options, or the most probable one of the first window. `None` if the model knows English alone and
    /// none was given, or if there is no sound.
    pub language: Option<String>,
    /// Segments in order of time.
    pub segments: Vec<Segment>,
}

impl Transcript {
    /// All of the text.
    pub fn text(&self) -> String {
        let all: String = self
            .segments
            .iter()
            .map(|part| part.text.as_str())
            .collect();
        all.trim().to_owned()
    }
}

/// Samples of a timestamp.
const STEP: usize = 2 * HOP;

impl Whisper {
    /// What is said in a recording, with the times of its segments. Of each window the best token is written always. With
    /// [`TranscribeOptions::timestamps`] a segment is what the model takes for one, in steps of 20 ms, and the next window begins where the
    /// last complete segment ends, so that none is cut; without, each window of 30 seconds is one segment.
    ///
    /// ```no_run
    /// use ziggurat_models::audio::{SAMPLE_RATE, Waveform};
    /// use ziggurat_models::{TranscribeOptions, Whisper};
    /// use ziggurat_tensor::{Device, DeviceOptions};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let whisper = Whisper::open(&device, "whisper-tiny.en")?;
    /// let sound = Waveform { samples: vec![0.0; 16_000], rate: SAMPLE_RATE };
    /// let options = TranscribeOptions { timestamps: true, ..TranscribeOptions::default() };
    /// for segment in whisper.transcript(&sound, &options)?.segments {
    ///     println!("{:.2} to {:.2} s: {}", segment.start, segment.end, segment.text);
    /// }
    /// # Ok::<(), ziggurat_models::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the rate is no simple multiple of 16 kHz ([`crate::audio::resample`]), the language is not known, samples are NaN, or the
    /// device fails.
    pub fn transcript(
        &self,
        sound: &Waveform,
        options: &TranscribeOptions,
    ) -> Result<Transcript, Error> {
        let samples = sound.at_rate(&self.device, SAMPLE_RATE)?;
        samples.storage()?;
        let (all, window) = (samples.len(), self.config.window().max(1));
        let mut options = options.clone();
        let mut segments = Vec::new();
        let mut start = 0;
        while start < all {
            let length = window.min(all - start);
            let heard = self.encode(&samples.narrow(0, start, length)?)?;
            if self.config.multilingual && options.language.is_none() {
                let most = self.languages(&heard)?.into_iter().next();
                options.language = most.map(|(language, _)| language);
            }
            start += self.hear(&heard, &options, [start, length], &mut segments)?;
        }
        Ok(Transcript {
            language: options.language,
            segments,
        })
    }

    /// Appends the parts of a window, which begins at a sample and has so many; returns how many are heard to their end.
    fn hear(
        &self,
        heard: &Tensor,
        options: &TranscribeOptions,
        [start, length]: [usize; 2],
        segments: &mut Vec<Segment>,
    ) -> Result<usize, Error> {
        let tokens = self.decode(heard, options)?;
        let (parts, next) = self.search.stamps.parts(&tokens);
        let seconds = |sample: usize| sample as f64 / f64::from(SAMPLE_RATE);
        for part in parts {
            let text = self.tokenizer.decode(&part.tokens);
            let at = |stamp: u32| seconds(start + stamp as usize * STEP);
            if !text.trim().is_empty() {
                segments.push(Segment {
                    start: at(part.start),
                    end: part.end.map_or(seconds(start + length), at),
                    text,
                    tokens: part.tokens,
                });
            }
        }
        Ok(next.map_or(length, |next| next as usize * STEP))
    }
}
