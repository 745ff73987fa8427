//! Sentences as vectors, against a forward pass in f64.

use std::path::Path;

use ziggurat_models::{EncoderConfig, Error, SentenceEncoder};
use ziggurat_tensor::io::SafetensorsFile;

use crate::data;
use crate::decoders::device;

fn sentences() -> Vec<String> {
    let text = std::fs::read(data("encoder/sentences.json")).unwrap();
    serde_json::from_slice(&text).unwrap()
}

fn vectors(encoder: &SentenceEncoder, sentences: &[String]) -> Vec<f32> {
    let sentences: Vec<&str> = sentences.iter().map(String::as_str).collect();
    encoder
        .embed(&sentences)
        .unwrap()
        .to_vec_blocking::<f32>()
        .unwrap()
}

fn worst(got: &[f32], expected: &[f32]) -> f32 {
    assert_eq!(got.len(), expected.len());
    let errors = got.iter().zip(expected).map(|(a, b)| (a - b).abs());
    errors.fold(
        0.0,
        |worst, error| if error <= worst { worst } else { error },
    )
}

#[test]
fn vectors_are_those_of_the_reference() {
    let device = device();
    let encoder = SentenceEncoder::open(&device, data("encoder")).unwrap();
    let reference = SafetensorsFile::open(data("encoder/reference.safetensors")).unwrap();
    let expected = reference.load(&device, "embeddings").unwrap();
    let expected = expected.to_vec_blocking::<f32>().unwrap();
    let sentences = sentences();
    let width = encoder.config().width;
    // All at once, padded to the longest: what is padded does not matter.
    let error = worst(&vectors(&encoder, &sentences), &expected);
    println!("worst error {error}");
    assert!(error < 1e-5, "{error}");
    for (sentence, expected) in sentences.iter().zip(expected.chunks_exact(width)) {
        let alone = vectors(&encoder, std::slice::from_ref(sentence));
        assert!(worst(&alone, expected) < 1e-5, "{sentence}");
    }
    // Another sentence is further away than that.
    assert!(worst(&expected[..width], &expected[width..2 * width]) > 1e-2);
}

#[test]
fn what_does_not_fit_is_refused() {
    let device = device();
    let encoder = SentenceEncoder::open(&device, data("encoder")).unwrap();
    let long = "fox ".repeat(400);
    let error = encoder.embed(&["a", &long]).unwrap_err();
    assert!(
        matches!(error, Error::ContextFull { limit: 256, .. }),
        "{error}"
    );
    assert!(matches!(encoder.embed(&[]), Err(Error::NoTokens)));
    let missing = SentenceEncoder::open(&device, Path::new("no such folder"));
    assert!(matches!(missing, Err(Error::Io { .. })));
    let config = std::fs::read_to_string(data("encoder/config.json")).unwrap();
    let with = |from: &str, to: &str| {
        assert!(config.contains(from));
        EncoderConfig::from_json(config.replace(from, to).as_bytes()).unwrap_err()
    };
    let error = with("\"bert\"", "\"t5\"");
    assert!(error.to_string().contains("`t5`"), "{error}");
    let error = with("\"num_hidden_layers\": 2", "\"num_hidden_layers\": -2");
    assert!(matches!(error, Error::WrongMetadata { ref key, .. } if key == "num_hidden_layers"));
    let error = with("\"hidden_size\"", "\"hidden\"");
    assert!(matches!(error, Error::MissingMetadata(ref key) if key == "hidden_size"));
    let error = with("\"num_attention_heads\": 4", "\"num_attention_heads\": 5");
    assert!(matches!(error, Error::WrongMetadata { .. }));
}
