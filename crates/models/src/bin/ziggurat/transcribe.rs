//! `ziggurat transcribe`: speech as text.

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use ziggurat_models::audio::Waveform;
use ziggurat_models::{TranscribeOptions, Whisper};

use crate::{Adapter, Outcome};

/// The arguments.
#[derive(Args)]
pub(crate) struct Transcribe {
    /// A folder with config.json, tokenizer.json and model.safetensors or CTranslate2's model.bin
    folder: PathBuf,
    /// WAV files; the text of each becomes a line
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// The language that is spoken, such as `de`; models that know English alone need none
    #[arg(long)]
    language: Option<String>,
    /// The most tokens of each 30 seconds
    #[arg(long)]
    max_tokens: Option<usize>,
    #[command(flatten)]
    adapter: Adapter,
}

impl Transcribe {
    /// Prints the texts.
    pub(crate) fn run(&self) -> Outcome<()> {
        let whisper = Whisper::open(&self.adapter.open()?, &self.folder)?;
        let options = TranscribeOptions {
            language: self.language.clone(),
            max_tokens: self.max_tokens,
        };
        for file in &self.files {
            let named = |error| format!("{}: {error}", file.display());
            let sound = Waveform::open_wav(file).map_err(named)?;
            let start = Instant::now();
            let text = whisper.transcribe(&sound, &options).map_err(named)?;
            writeln!(io::stdout().lock(), "{text}")?;
            let seconds = sound.samples.len() as f64 / f64::from(sound.rate);
            let took = start.elapsed().as_secs_f64();
            eprintln!("{}: {seconds:.1} s of sound in {took:.2} s", file.display());
        }
        Ok(())
    }
}
