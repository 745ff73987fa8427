//! The languages of a Whisper that knows several, and which one is spoken.

use ziggurat_tensor::Tensor;

use super::greedy::{Special, named};
use super::{TranscribeOptions, Whisper};
use crate::blocks::Attended;
use crate::{Error, Tokenizer};

/// The languages of a vocabulary with their tokens, which are between the beginning of a text and the tasks.
pub(super) fn of(tokenizer: &Tokenizer, special: &Special) -> Result<Vec<(String, u32)>, Error> {
    let translate = named(tokenizer, "<|translate|>")?;
    let named = |token: u32| {
        let name = std::str::from_utf8(tokenizer.bytes(token)?).ok()?;
        let name = name.strip_prefix("<|")?.strip_suffix("|>")?;
        Some((name.to_owned(), token))
    };
    let all: Vec<_> = (special.start.saturating_add(1)..translate)
        .filter_map(named)
        .collect();
    if all.is_empty() {
        let rule =
            "it must have tokens of languages between `<|startoftranscript|>` and `<|translate|>`";
        return Err(Error::Tokenizer(format!("{rule}: there are none")));
    }
    Ok(all)
}

impl Whisper {
    /// How probable each language of the model is for what is heard, f32 `[1, positions, width]`: its name, such as `de`, with a
    /// number from 0 to 1, the most probable one first. All together are 1.
    ///
    /// ```no_run
    /// use ziggurat_models::Whisper;
    /// use ziggurat_models::audio::{SAMPLE_RATE, Waveform};
    /// use ziggurat_tensor::{Device, DeviceOptions};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let whisper = Whisper::open(&device, "whisper-tiny")?;
    /// let sound = Waveform { samples: vec![0.0; 16_000], rate: SAMPLE_RATE };
    /// let heard = whisper.encode(&sound.at_rate(&device, SAMPLE_RATE)?)?;
    /// for (language, probability) in whisper.languages(&heard)?.iter().take(3) {
    ///     println!("{language}: {probability:.2}");
    /// }
    /// # Ok::<(), ziggurat_models::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the model knows English alone; if the extents are not the model's, scores are NaN, or the device
    /// fails.
    pub fn languages(&self, heard: &Tensor) -> Result<Vec<(String, f32)>, Error> {
        self.probabilities(&self.decoder.attended(heard)?)
    }

    fn probabilities(&self, attended: &[Attended]) -> Result<Vec<(String, f32)>, Error> {
        if !self.config.multilingual {
            let text = "finding out the language by a model that knows English alone";
            return Err(Error::Unsupported(text.to_owned()));
        }
        let scores = self.first_scores(attended)?;
        let score = |token: u32| scores.get(token as usize).copied().map(f64::from);
        let named = self.search.languages.iter();
        let mut all: Vec<(String, f64)> = named
            .filter_map(|(name, token)| Some((name.clone(), score(*token)?)))
            .collect();
        let most = all
            .iter()
            .map(|(_, score)| *score)
            .fold(f64::NEG_INFINITY, f64::max);
        if !most.is_finite() || all.iter().any(|(_, score)| score.is_nan()) {
            return Err(Error::Scores(self.config.vocabulary));
        }
        for (_, score) in &mut all {
            *score = (*score - most).exp();
        }
        let sum: f64 = all.iter().map(|(_, score)| score).sum();
        all.sort_by(|(_, a), (_, b)| b.total_cmp(a));
        let part = |(name, score): (String, f64)| (name, (score / sum) as f32);
        Ok(all.into_iter().map(part).collect())
    }

    /// The tokens in front of a text.
    pub(super) fn prompt(
        &self,
        attended: &[Attended],
        options: &TranscribeOptions,
    ) -> Result<Vec<u32>, Error> {
        let language = options.language.as_deref();
        let special = &self.search.special;
        let mut prompt = vec![special.start];
        if self.config.multilingual {
            let language = match language {
                Some(language) => language.to_owned(),
                None => self.most_probable(attended)?,
            };
            let mut all = self.search.languages.iter();
            let token = all.find(|(name, _)| *name == language);
            let (_, token) = token.ok_or_else(|| {
                let rule = "the language must be one of the model's, such as `en`";
                Error::Options(format!("{rule}: it is `{language}`"))
            })?;
            prompt.extend([*token, named(&self.tokenizer, "<|transcribe|>")?]);
        } else if let Some(other) = language.filter(|language| *language != "en") {
            return Err(Error::Options(format!(
                "the language must be `en`, which this model knows alone: it is `{other}`"
            )));
        }
        if !options.timestamps {
            prompt.push(special.plain);
        }
        Ok(prompt)
    }

    fn most_probable(&self, attended: &[Attended]) -> Result<String, Error> {
        let all = self.probabilities(attended)?;
        Ok(all.into_iter().next().unwrap_or_default().0)
    }
}
