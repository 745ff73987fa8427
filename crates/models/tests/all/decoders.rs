//! Decoders of every family against a forward pass in f64, in all the ways that tokens can go through them.

use std::sync::Arc;

use ziggurat_models::gguf::{Array, GgufFile, Value};
use ziggurat_models::{Decoder, DecoderState, Error, LoadOptions, ModelFile};
use ziggurat_tensor::{DType, Device, DeviceOptions, Tensor};

use crate::data;

const FAMILIES: [&str; 3] = ["llama", "qwen2", "qwen3"];

pub(crate) fn device() -> Device {
    Device::open_blocking(DeviceOptions::default()).unwrap()
}

pub(crate) fn file(name: &str) -> GgufFile {
    GgufFile::open(data(&format!("{name}.gguf"))).unwrap()
}

pub(crate) fn model_file(name: &str) -> ModelFile {
    file(name).into()
}

fn options(dtype: DType, context: usize) -> LoadOptions {
    LoadOptions {
        dtype,
        context,
        ..LoadOptions::default()
    }
}

fn decoder(device: &Device, name: &str, dtype: DType) -> Arc<Decoder> {
    Arc::new(Decoder::load(device, &model_file(name), &options(dtype, usize::MAX)).unwrap())
}

/// The tokens of the reference, and its scores, a row for each token.
fn reference(name: &str) -> (Vec<u32>, Vec<f32>) {
    let file = file(name);
    let tokens = match file.head().get("test.tokens") {
        Some(Value::Array(Array::I32(tokens))) => tokens.iter().map(|&t| t as u32).collect(),
        other => panic!("{other:?}"),
    };
    (tokens, file.dequantise("test.scores").unwrap())
}

pub(crate) fn values(tensor: &Tensor) -> Vec<f32> {
    tensor.to_vec_blocking::<f32>().unwrap()
}

pub(crate) fn worst(got: &[f32], expected: &[f32]) -> f32 {
    assert_eq!(got.len(), expected.len());
    let errors = got.iter().zip(expected).map(|(a, b)| (a - b).abs());
    errors.fold(
        0.0,
        |worst, error| if error <= worst { worst } else { error },
    )
}

#[test]
fn scores_are_those_of_the_reference() {
    let device = device();
    for name in FAMILIES {
        let decoder = decoder(&device, name, DType::F32);
        let (tokens, expected) = reference(name);
        let mut state = DecoderState::new(&decoder, 96).unwrap();
        let got = values(&state.scores(&tokens).unwrap());
        let error = worst(&got, &expected);
        println!("{name}: worst error {error}");
        // Scores reach 17.
        assert!(error < 1e-4, "{name}: {error}");
        assert_eq!(state.len(), tokens.len());
    }
}

#[test]
fn weights_stay_quantised_on_the_device_unless_numbers_are_asked_for() {
    let mut bytes = Vec::new();
    let mut all = Vec::new();
    for dequantise in [false, true] {
        let device = device();
        let file = model_file("llama");
        let options = LoadOptions {
            dequantise,
            ..LoadOptions::default()
        };
        let before = device.usage().live;
        let decoder = Arc::new(Decoder::load(&device, &file, &options).unwrap());
        bytes.push(device.usage().live - before);
        let (tokens, _) = reference("llama");
        let mut state = DecoderState::new(&decoder, 96).unwrap();
        let mut scores = values(&state.extend(&tokens[..7]).unwrap());
        // Captured, then replayed.
        scores.extend(values(&state.extend(&tokens[7..8]).unwrap()));
        scores.extend(values(&state.extend(&tokens[8..9]).unwrap()));
        all.push(scores);
    }
    println!("{bytes:?} bytes");
    assert!(2 * bytes[0] < bytes[1], "{bytes:?}");
    let error = worst(&all[0], &all[1]);
    assert!(error < 1e-4, "{error}");
}

#[test]
fn other_positions_would_be_seen() {
    let device = device();
    // The same file with another base of rotary frequencies.
    let mut bytes = std::fs::read(data("qwen3.gguf")).unwrap();
    let base = bytes
        .windows(20)
        .position(|w| w == b"qwen3.rope.freq_base")
        .unwrap();
    bytes[base + 24..base + 28].copy_from_slice(&9_000f32.to_le_bytes());
    let changed = GgufFile::from_bytes(bytes).unwrap().into();
    let decoder = Arc::new(Decoder::load(&device, &changed, &options(DType::F32, 96)).unwrap());
    let (tokens, expected) = reference("qwen3");
    let mut state = DecoderState::new(&decoder, 96).unwrap();
    let got = values(&state.scores(&tokens).unwrap());
    assert!(worst(&got, &expected) > 1e-2);
}

#[test]
fn a_cache_gives_what_computing_everything_again_gives() {
    let device = device();
    for name in FAMILIES {
        let decoder = decoder(&device, name, DType::F32);
        let (tokens, expected) = reference(name);
        let vocabulary = decoder.config().vocabulary;
        // Some at once, then one by one, then two at once, then one by one again.
        let mut state = DecoderState::new(&decoder, tokens.len()).unwrap();
        for range in [0..7, 7..8, 8..9, 9..10, 10..12, 12..13, 13..14] {
            let end = range.end;
            let got = values(&state.extend(&tokens[range]).unwrap());
            let mut again = DecoderState::new(&decoder, tokens.len()).unwrap();
            let recomputed = values(&again.extend(&tokens[..end]).unwrap());
            let row = &expected[(end - 1) * vocabulary..end * vocabulary];
            assert!(worst(&got, row) < 1e-4, "{name} at {end}");
            assert!(worst(&got, &recomputed) < 1e-4, "{name} at {end}");
        }
    }
}

#[test]
fn half_precision_is_near() {
    let device = device();
    let decoder = decoder(&device, "llama", DType::F16);
    let (tokens, expected) = reference("llama");
    let mut state = DecoderState::new(&decoder, 96).unwrap();
    let error = worst(&values(&state.scores(&tokens).unwrap()), &expected);
    println!("f16: worst error {error}");
    // 2⁻¹¹ of scores up to 16, some times over.
    assert!(error > 1e-4 && error < 0.3, "{error}");
}

#[test]
fn what_does_not_fit_is_refused() {
    let device = device();
    let decoder = decoder(&device, "qwen2", DType::F32);
    let full = |error: Error, needed: usize, limit: usize| {
        let Error::ContextFull {
            needed: n,
            limit: l,
        } = error
        else {
            panic!("{error}")
        };
        assert_eq!((n, l), (needed, limit));
    };
    full(DecoderState::new(&decoder, 97).unwrap_err(), 97, 96);
    let mut state = DecoderState::new(&decoder, 4).unwrap();
    full(state.extend(&[1; 5]).unwrap_err(), 5, 4);
    state.extend(&[1, 2, 3]).unwrap();
    let error = state.extend(&[96]).unwrap_err();
    assert!(matches!(
        error,
        Error::UnknownToken {
            token: 96,
            vocabulary: 96
        }
    ));
    assert!(matches!(state.extend(&[]), Err(Error::NoTokens)));
    state.extend(&[4]).unwrap();
    full(state.extend(&[5]).unwrap_err(), 5, 4);
    assert_eq!(state.len(), 4);
}

#[test]
fn files_that_are_no_decoder_are_refused_by_name() {
    let device = device();
    let changed = |from: &str, to: &str| {
        let mut bytes = std::fs::read(data("qwen2.gguf")).unwrap();
        let places: Vec<usize> = (0..bytes.len() - from.len())
            .filter(|&at| bytes[at..].starts_with(from.as_bytes()))
            .collect();
        assert!(!places.is_empty());
        for at in places {
            bytes[at..at + from.len()].copy_from_slice(to.as_bytes());
        }
        let file = GgufFile::from_bytes(bytes).unwrap().into();
        Decoder::load(&device, &file, &options(DType::F32, 96)).unwrap_err()
    };
    let error = changed("qwen2", "zebra");
    assert!(matches!(error, Error::UnknownArchitecture(ref name) if name == "zebra"));
    let error = changed("blk.1.ffn_up.weight", "blk.1.ffn_xx.weight");
    assert!(matches!(error, Error::MissingTensor { ref name } if name == "blk.1.ffn_up.weight"));
    let error = changed("attn_k.bias", "attn_z.bias");
    assert!(matches!(error, Error::MissingTensor { ref name } if name == "blk.0.attn_k.bias"));
    let error = changed("qwen2.block_count", "qwen2.block_xxxxx");
    assert!(matches!(error, Error::MissingMetadata(ref key) if key == "qwen2.block_count"));
    let blocks = Decoder::load(&device, &model_file("blocks"), &options(DType::F32, 96));
    assert!(matches!(blocks, Err(Error::UnknownArchitecture(_))));
    let narrow = Decoder::load(&device, &model_file("qwen2"), &options(DType::I32, 96));
    assert!(matches!(narrow, Err(Error::Unsupported(_))));
}
