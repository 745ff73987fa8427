//! When something is said, and in which language: the small Whisper with random weights against a forward pass in f64.

use serde_json::{Value, json};
use ziggurat_models::{Error, TranscribeOptions, Transcript, Whisper};
use ziggurat_tensor::{DType, Device, Tensor};

use crate::data;
use crate::decoders::{device, values};
use crate::speech::{Copied, open, sound};

fn timed() -> TranscribeOptions {
    TranscribeOptions {
        timestamps: true,
        ..TranscribeOptions::default()
    }
}

fn reference() -> Value {
    crate::texts::read(&data("whisper"), "timestamps.json")
}

/// The folder of the model whose parts end, with another value in the description of how it writes.
pub(crate) fn folder(name: &str, key: &str, value: Value) -> Copied {
    let copy = Copied::of("whisper", name);
    let mut generation = crate::texts::read(&copy.0, "generation_config.json");
    generation["suppress_tokens"] = reference()["suppress_tokens"].clone();
    generation[key] = value;
    let path = copy.0.join("generation_config.json");
    std::fs::write(path, generation.to_string()).unwrap();
    copy
}

fn with(device: &Device, name: &str, key: &str, value: Value) -> Result<Whisper, Error> {
    Whisper::open(device, &folder(name, key, value).0)
}

/// Beginnings, ends and tokens.
fn parts(found: &Transcript) -> Value {
    let part = |part: &ziggurat_models::Segment| json!([part.start, part.end, part.tokens]);
    found.segments.iter().map(part).collect()
}

#[test]
fn parts_of_speech_have_the_times_of_the_reference() {
    let device = device();
    let whisper = with(&device, "times", "max_initial_timestamp_index", json!(50)).unwrap();
    let (sound, reference) = (sound(&device), reference());
    let found = whisper.transcript(&sound, &timed()).unwrap();
    assert_eq!(parts(&found), reference["parts"]);
    assert_eq!(found.language, None);
    let text: String = found
        .segments
        .iter()
        .map(|part| part.text.as_str())
        .collect();
    assert_eq!(whisper.transcribe(&sound, &timed()).unwrap(), text.trim());
    assert!(text.len() > 10);
    // Timestamps are tokens of a window.
    let samples = Tensor::from_slice(&device, &sound.samples[..16_000], [16_000]).unwrap();
    let heard = whisper.encode(&samples).unwrap();
    let tokens = whisper.decode(&heard, &timed()).unwrap();
    assert_eq!(json!(tokens), reference["windows"][0]);
    let few = TranscribeOptions {
        max_tokens: Some(3),
        ..timed()
    };
    assert_eq!(whisper.decode(&heard, &few).unwrap(), tokens[..3]);
    // An earlier limit of the first timestamp is another beginning.
    let early = with(&device, "early", "max_initial_timestamp_index", json!(1)).unwrap();
    let other = early.transcript(&sound, &timed()).unwrap();
    assert_ne!(parts(&other), reference["parts"]);
    assert!(other.segments[0].start <= 0.02, "{:?}", other.segments[0]);
    let open = with(&device, "open", "max_initial_timestamp_index", Value::Null).unwrap();
    assert_eq!(
        parts(&open.transcript(&sound, &timed()).unwrap()),
        reference["parts"]
    );
    let error = with(&device, "limit", "max_initial_timestamp_index", json!(-1)).unwrap_err();
    assert!(
        matches!(error, Error::WrongMetadata { ref key, .. } if key == "max_initial_timestamp_index"),
        "{error}"
    );
}

#[test]
fn without_timestamps_each_window_is_a_part() {
    let device = device();
    let whisper = open(&device, &Copied::of("whisper", "windows").0);
    let sound = sound(&device);
    let options = TranscribeOptions::default();
    let found = whisper.transcript(&sound, &options).unwrap();
    let times: Vec<_> = found
        .segments
        .iter()
        .map(|part| [part.start, part.end])
        .collect();
    assert_eq!(times, [[0.0, 1.0], [1.0, 2.0], [2.0, 2.25]]);
    assert_eq!(whisper.transcribe(&sound, &options).unwrap(), found.text());
    let mut broken = sound;
    broken.samples[5] = f32::NAN;
    let error = whisper.transcript(&broken, &timed()).unwrap_err();
    assert!(matches!(error, Error::Scores(276)), "{error}");
}

#[test]
fn the_most_probable_language_is_found_out() {
    let device = device();
    let copy = Copied::of("whisper", "spoken");
    // A second language: the names behind it move on by one.
    for (from, to) in [
        ("startoflm", "was-transcribe"),
        ("<|transcribe", "<|was-translate"),
        ("<|translate", "<|de"),
        ("was-trans", "trans"),
    ] {
        copy.replace("tokenizer.json", from, to);
    }
    copy.replace(
        "generation_config.json",
        "{",
        "{\"is_multilingual\": true, ",
    );
    let whisper = open(&device, &copy.0);
    let sound = sound(&device);
    let samples = Tensor::from_slice(&device, &sound.samples[..16_000], [16_000]).unwrap();
    let heard = whisper.encode(&samples).unwrap();
    let scores = values(&whisper.scores(&heard, &[257]).unwrap());
    let [en, de] = [scores[258], scores[259]].map(|score| f64::from(score).exp());
    let found = whisper.languages(&heard).unwrap();
    let expected = if en > de { ["en", "de"] } else { ["de", "en"] };
    let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, expected);
    let most = en.max(de) / (en + de);
    assert!((f64::from(found[0].1) - most).abs() < 1e-6, "{found:?}");
    assert!(
        (f64::from(found[1].1) - (1.0 - most)).abs() < 1e-6,
        "{found:?}"
    );

    let spoken = |language: &str| TranscribeOptions {
        language: Some(language.to_owned()),
        ..TranscribeOptions::default()
    };
    // Without a language a window is written as in its most probable one; in others some texts are not the same.
    let mut other = 0;
    for start in (0..20_000).step_by(2_000) {
        let samples = &sound.samples[start..start + 16_000];
        let samples = Tensor::from_slice(&device, samples, [16_000]).unwrap();
        let heard = whisper.encode(&samples).unwrap();
        let alone = whisper
            .decode(&heard, &TranscribeOptions::default())
            .unwrap();
        let found = whisper.languages(&heard).unwrap();
        let [most, least] = [0, 1].map(|at| whisper.decode(&heard, &spoken(&found[at].0)).unwrap());
        assert_eq!(alone, most, "{start}");
        other += usize::from(most != least);
    }
    assert!(other > 0);
    let found = whisper.transcript(&sound, &timed()).unwrap();
    assert_eq!(found.language.as_deref(), Some(expected[0]));
    let error = whisper.decode(&heard, &spoken("fr")).unwrap_err();
    assert!(matches!(error, Error::Options(_)), "{error}");
}

#[test]
fn a_model_of_english_knows_no_languages() {
    let device = device();
    let copy = Copied::of("whisper", "alone");
    let whisper = open(&device, &copy.0);
    let silence = Tensor::zeros(&device, [0], DType::F32).unwrap();
    let heard = whisper.encode(&silence).unwrap();
    let error = whisper.languages(&heard).unwrap_err();
    assert!(matches!(error, Error::Unsupported(_)), "{error}");
    // One that says that it knows several, without their tokens.
    copy.replace(
        "generation_config.json",
        "{",
        "{\"is_multilingual\": true, ",
    );
    copy.replace("tokenizer.json", "<|en|>", "en");
    let error = Whisper::open(&device, &copy.0).unwrap_err();
    assert!(error.to_string().contains("tokens of languages"), "{error}");
}
