//! The program `ziggurat` as a user runs it, on the small models with random weights.

use std::process::Command;

use ziggurat_models::audio::Waveform;
use ziggurat_models::{
    DecoderState, GenerateOptions, LoadOptions, Model, Segment, TranscribeOptions, Whisper,
};
use ziggurat_tensor::io::SafetensorsFile;

use crate::audio::wav;
use crate::data;
use crate::decoders::{device, model_file, values, worst};

/// Exit code, output, and what it says behind that.
fn ziggurat(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_ziggurat"))
        .args(arguments)
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (
        output.status.code(),
        text(output.stdout),
        text(output.stderr),
    )
}

fn path(name: &str) -> String {
    data(name).display().to_string()
}

/// Rows of numbers.
fn rows(text: &str) -> Vec<Vec<f32>> {
    let row = |line: &str| {
        line.split(' ')
            .map(|number| number.parse().unwrap())
            .collect()
    };
    text.lines().map(row).collect()
}

/// The number between two texts.
fn between(text: &str, before: &str, behind: &str) -> f64 {
    let (_, rest) = text.split_once(before).unwrap();
    rest.split_once(behind).unwrap().0.parse().unwrap()
}

#[test]
fn embed_prints_the_vectors_of_the_reference_and_their_products() {
    let sentences = std::fs::read(data("encoder/sentences.json")).unwrap();
    let sentences: Vec<String> = serde_json::from_slice(&sentences).unwrap();
    let folder = path("encoder");
    let mut arguments = vec!["embed", &folder];
    arguments.extend(sentences.iter().map(String::as_str));
    let (code, text, errors) = ziggurat(&arguments);
    assert_eq!(code, Some(0), "{errors}");
    let vectors = rows(&text);
    assert_eq!(vectors.len(), sentences.len());
    let reference = SafetensorsFile::open(data("encoder/reference.safetensors")).unwrap();
    let expected = values(&reference.load(&device(), "embeddings").unwrap());
    assert!(worst(&vectors.concat(), &expected) < 1e-5);

    arguments.push("--similarity");
    let (code, text, errors) = ziggurat(&arguments);
    assert_eq!(code, Some(0), "{errors}");
    let products = vectors.iter().flat_map(|a| {
        let product = |b: &Vec<f32>| a.iter().zip(b).map(|(a, b)| a * b).sum();
        vectors.iter().map(product)
    });
    let alike = rows(&text).concat();
    assert!(worst(&alike, &products.collect::<Vec<f32>>()) < 1e-5);
    // The vector of another sentence has another product.
    assert!((alike[0] - alike[1]).abs() > 1e-3, "{alike:?}");
}

#[test]
fn bench_prints_rates_and_the_dispatches_of_a_step() {
    let arguments = ["bench", &path("llama.gguf"), "--runs", "2"];
    let sizes = ["--prompt-tokens", "8", "--new-tokens", "4"];
    let (code, text, errors) = ziggurat(&[&arguments[..], &sizes].concat());
    assert_eq!(code, Some(0), "{errors}");
    assert!(text.starts_with("8 prompt tokens, 4 new tokens, median of 2 runs\n"));
    for (before, behind) in [
        ("prefill: ", " tokens/s"),
        ("first token: after ", " ms"),
        ("capture: ", " ms"),
        ("decode: ", " tokens/s"),
    ] {
        let number = between(&text, before, behind);
        assert!(number > 0.0 && number < 1e7, "{text}");
    }
    let three = [&arguments[..], &sizes, &["--sequences", "3", "--on-device"]].concat();
    let (code, together, errors) = ziggurat(&three);
    assert_eq!(code, Some(0), "{errors}");
    assert!(together.starts_with("3 sequences: 8 prompt tokens, 4 new"));
    assert!(between(&together, "decode: ", " tokens/s") > 0.0);
    let model = Model::load(&device(), &model_file("llama"), LoadOptions::default()).unwrap();
    let mut state = DecoderState::new(model.decoder(), 11).unwrap();
    assert_eq!(state.dispatches(), None);
    state.extend(&[1]).unwrap();
    let dispatches = state.dispatches().unwrap();
    assert!(dispatches > 10);
    assert_eq!(
        between(&text, "tokens/s, ", " dispatches"),
        dispatches as f64
    );
}

#[test]
fn generate_prints_what_the_library_gives() {
    let options = GenerateOptions {
        max_tokens: Some(8),
        ..GenerateOptions::default()
    };
    let model = Model::load(&device(), &model_file("llama"), LoadOptions::default()).unwrap();
    let pieces = model.generate("The fox", &options).unwrap();
    let expected: String = pieces.map(|piece| piece.unwrap().text).collect();
    assert!(!expected.trim().is_empty());
    let file = path("llama.gguf");
    let (code, text, errors) = ziggurat(&["generate", &file, "The fox", "--max-tokens", "8"]);
    assert_eq!(code, Some(0), "{errors}");
    assert_eq!(text, format!("{expected}\n"));
}

#[test]
fn what_does_not_work_is_said_in_a_sentence() {
    let file = path("llama.gguf");
    let full = "error: the context must have room for 163 tokens: it has room for 96\n";
    let (code, text, errors) = ziggurat(&["bench", &file, "--prompt-tokens", "100"]);
    assert_eq!((code, text.as_str()), (Some(1), ""), "{errors}");
    assert!(errors.ends_with(full), "{errors}");
    let (code, _, errors) = ziggurat(&["bench", &file, "--prompt-tokens", "0"]);
    assert_eq!(code, Some(2), "{errors}");
    let (code, _, errors) = ziggurat(&["embed", "no such folder", "text"]);
    assert_eq!(code, Some(1));
    assert!(errors.starts_with("error: cannot "), "{errors}");
    let (code, _, errors) = ziggurat(&["embed", &path("encoder")]);
    assert_eq!(code, Some(2), "{errors}");
}

#[test]
fn transcribe_prints_a_line_for_each_recording() {
    let reference = SafetensorsFile::open(data("whisper/reference.safetensors")).unwrap();
    let samples = values(&reference.load(&device(), "sound").unwrap());
    let samples = samples.iter().map(|x| (x * 32768.0) as i16);
    let samples: Vec<u8> = samples.take(4000).flat_map(i16::to_le_bytes).collect();
    let folder = std::env::temp_dir().join(format!("ziggurat-program-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let recording = folder.join("tone.wav");
    std::fs::write(&recording, wav(1, 1, 2, &samples)).unwrap();
    let recording = recording.display().to_string();
    let model = path("whisper");
    let whisper = Whisper::open(&device(), &model).unwrap();
    let sound = Waveform::open_wav(&recording).unwrap();
    let expected = whisper.transcribe(&sound, &TranscribeOptions::default());
    let (code, text, errors) = ziggurat(&["transcribe", &model, &recording, &recording]);
    let timed = TranscribeOptions {
        timestamps: true,
        ..TranscribeOptions::default()
    };
    let other = crate::speech_times::folder("program-times", "is_multilingual", false.into());
    let found = Whisper::open(&device(), &other.0).unwrap();
    let found = found.transcript(&sound, &timed).unwrap();
    let path = other.0.display().to_string();
    let with_times = ziggurat(&["transcribe", &path, &recording, "--timestamps"]);
    let missing = ziggurat(&["transcribe", &model, "no such file"]);
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(code, Some(0), "{errors}");
    let expected = expected.unwrap();
    assert!(!expected.is_empty());
    assert_eq!(text, format!("{expected}\n{expected}\n"));
    assert_eq!(errors.matches("0.5 s of sound in").count(), 2, "{errors}");
    let line = |part: &Segment| {
        let text = part.text.trim();
        format!("[00:{:06.3} --> 00:{:06.3}] {text}\n", part.start, part.end)
    };
    let expected: String = found.segments.iter().map(line).collect();
    assert!(expected.starts_with("[00:00.060 --> "), "{expected}");
    assert_eq!(with_times.1, expected);
    assert_eq!(missing.0, Some(1));
    assert!(missing.2.contains("error: no such file"), "{}", missing.2);
}
