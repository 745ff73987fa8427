//! Tests of model files, in one program: it links the libraries once.
//!
//! A program of its own has `hostile` (an allocator that counts).

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "tests"
)]

#[path = "../common/texts.rs"]
mod texts;
#[path = "../common/writer.rs"]
mod writer;

mod audio;
mod batch_failures;
mod batches;
mod ctranslate2_files;
mod decoder_slots;
mod decoders;
mod encoders;
mod endurance;
mod folders;
mod generation;
mod gguf_errors;
mod gguf_files;
mod images;
mod program;
mod rope_scalings;
mod samplers;
mod speech;
mod speech_times;
mod tokenizers;
mod torch_files;
mod unigrams;

use std::path::PathBuf;

/// A file of the tests' data.
fn data(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(name)
}
