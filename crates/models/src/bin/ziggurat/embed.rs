//! `ziggurat embed`: texts as vectors.

use std::io::{self, Write as _};
use std::path::PathBuf;

use clap::Args;
use ziggurat_models::SentenceEncoder;

use crate::{Adapter, Outcome};

/// The arguments.
#[derive(Args)]
pub(crate) struct Embed {
    /// A folder with config.json, tokenizer.json and model.safetensors
    folder: PathBuf,
    /// The texts; the vector of each becomes a line
    #[arg(required = true)]
    texts: Vec<String>,
    /// Prints how alike the texts are instead: the products of all pairs of vectors, a line for each text
    #[arg(long)]
    similarity: bool,
    #[command(flatten)]
    adapter: Adapter,
}

impl Embed {
    /// Prints the vectors, or their products.
    pub(crate) fn run(&self) -> Outcome<()> {
        let encoder = SentenceEncoder::open(&self.adapter.open()?, &self.folder)?;
        let texts: Vec<&str> = self.texts.iter().map(String::as_str).collect();
        let vectors = encoder.embed(&texts)?;
        let table = if self.similarity {
            vectors.matmul(&vectors.t()?)?
        } else {
            vectors
        };
        let width = table.dims().last().copied().unwrap_or(1).max(1);
        let mut out = io::stdout().lock();
        for row in table.to_vec_blocking::<f32>()?.chunks(width) {
            // As many digits as it takes to read the same number again.
            let numbers: Vec<String> = row.iter().map(f32::to_string).collect();
            writeln!(out, "{}", numbers.join(" "))?;
        }
        Ok(())
    }
}
