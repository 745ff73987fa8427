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
    /// WAV files; the text of each becomes a line, or with timestamps each segment of it
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// The language that is spoken, such as `de`; without, a model that knows several finds it out
    #[arg(long)]
    language: Option<String>,
    /// Print when each segment begins and ends
    #[arg(long)]
    timestamps: bool,
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
            timestamps: self.timestamps,
        };
        for file in &self.files {
            let named = |error| format!("{}: {error}", file.display());
            let sound = Waveform::open_wav(file).map_err(named)?;
            let start = Instant::now();
            let found = whisper.transcript(&sound, &options).map_err(named)?;
            let mut out = io::stdout().lock();
            if self.timestamps {
                for part in &found.segments {
                    let [start, end] = [part.start, part.end].map(time);
                    writeln!(out, "[{start} --> {end}] {}", part.text.trim())?;
                }
            } else {
                writeln!(out, "{}", found.text())?;
            }
            if let (Some(language), None) = (&found.language, &self.language) {
                eprintln!("{}: the language is `{language}`", file.display());
            }
            let seconds = sound.samples.len() as f64 / f64::from(sound.rate);
            let took = start.elapsed().as_secs_f64();
            eprintln!("{}: {seconds:.1} s of sound in {took:.2} s", file.display());
        }
        Ok(())
    }
}

/// Seconds as minutes, seconds and thousandths, with hours if there are any.
fn time(seconds: f64) -> String {
    let all = (seconds * 1000.0).round() as u64;
    let (minutes, seconds, thousandths) = (all / 60_000 % 60, all / 1000 % 60, all % 1000);
    let rest = format!("{minutes:02}:{seconds:02}.{thousandths:03}");
    match all / 3_600_000 {
        0 => rest,
        hours => format!("{hours:02}:{rest}"),
    }
}
