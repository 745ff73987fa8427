#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]
//!
//! Invariants: whatever is in a file, reading it ends in a value or in an [`Error`] that says what is wrong and where;
//! nothing panics, and nothing wgpu knows is in a signature. No layer depends on this crate.

mod assets;
pub mod audio;
mod batch;
pub mod blocks;
#[cfg(feature = "chat")]
mod chat;
mod content;
pub mod ctranslate2;
mod cursor;
mod decoder;
mod device_sampler;
#[cfg(not(target_arch = "wasm32"))]
mod efficientnet;
#[cfg(not(target_arch = "wasm32"))]
mod encoder;
mod error;
mod file;
mod generation;
pub mod gguf;
#[cfg(not(target_arch = "wasm32"))]
mod load;
mod memory;
mod model;
mod picture;
mod sample;
mod sequence;
mod stop;
mod stream;
mod tokenizer;
pub mod torch;
#[cfg(not(target_arch = "wasm32"))]
mod whisper;

pub use batch::{Batch, BatchOptions, Event, SequenceId};
#[cfg(feature = "chat")]
pub use chat::{ChatTemplate, Message};
pub use decoder::{
    Decoder, DecoderConfig, DecoderSlots, DecoderState, Family, WindowRule, Windowed,
};
pub use device_sampler::{DeviceSampler, Draw};
#[cfg(not(target_arch = "wasm32"))]
pub use efficientnet::EfficientNetLite;
#[cfg(not(target_arch = "wasm32"))]
pub use encoder::{EncoderConfig, SentenceEncoder};
pub use error::Error;
pub use file::ModelFile;
#[cfg(not(target_arch = "wasm32"))]
pub use file::ModelFolder;
pub use generation::{Finish, FullContext, GenerateOptions, Generation, Piece};
pub use model::{LoadOptions, Model};
pub use picture::Picture;
pub use sample::{Sampler, Sampling};
pub use tokenizer::{TokenDecoder, Tokenizer};
#[cfg(not(target_arch = "wasm32"))]
pub use whisper::{Segment, TranscribeOptions, Transcript, Whisper, WhisperConfig, WhisperHalf};
