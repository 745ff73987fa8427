//! Proofs on model files that others made: `cargo xtask models` downloads them and runs this.
//!
//! `proofs FOLDER`, where the folder has `SmolLM2-135M-Instruct.Q4_1.gguf`, `all-MiniLM-L6-v2`, `whisper-tiny.en`, `recordings`,
//! `efficientnet-lite0.pth` and `pictures`.
//! Prints a table; ends with an error if a proof fails. `proofs FOLDER speech` runs one proof alone.

#![allow(clippy::print_stdout, reason = "a command line program")]

#[path = "../tests/common/texts.rs"]
#[allow(clippy::unwrap_used, reason = "a module of the tests")]
mod texts;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use ziggurat_models::audio::Waveform;
use ziggurat_models::gguf::{Array, GgufFile, Value};
use ziggurat_models::{
    Decoder, DecoderState, EfficientNetLite, GenerateOptions, LoadOptions, Message, Model, Picture,
    SentenceEncoder, TranscribeOptions, Whisper,
};
use ziggurat_tensor::io::SafetensorsFile;
use ziggurat_tensor::{DType, Device, DeviceOptions};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// The largest error of a score that is accepted; scores are from -32 to 41.
const ACCEPTED: f32 = 2e-3;
const DECODER: &str = "SmolLM2-135M Q4_1";
/// The same over a cache of f16, and how many times that it may be over one of 8 bits: 1/254 of the greatest element is 16 times
/// 2⁻¹² of each.
const ACCEPTED_OF_HALVES: f32 = 0.3;
const TIMES_HALVES: f32 = 64.0;
/// The largest error of an element of a sentence's vector, whose length is 1.
const ACCEPTED_OF_VECTORS: f32 = 1e-4;
/// The largest error of a class's score: pictures are not rounded to bytes here.
const ACCEPTED_OF_CLASSES: f32 = 5e-2;
/// Tokens that go through the model one by one in the proof of the cache.
const STEPS: usize = 24;

fn main() -> Outcome<()> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().ok_or("which folder has the files?")?;
    let (folder, only) = (Path::new(&folder), arguments.next());
    let wanted = |name: &str| only.as_ref().is_none_or(|only| only == name);
    let device = Device::open_blocking(DeviceOptions::default())?;
    let mut table = Table { failed: false };
    println!("{}", device.adapter());
    println!("| model | task | answer | error | accepted |\n| --- | --- | --- | --- | --- |");
    if wanted("decoder") {
        decoder(&device, folder, &mut table)?;
    }
    if wanted("sentences") {
        sentences(&device, folder, &mut table)?;
    }
    if wanted("speech") {
        speech(&device, folder, &mut table)?;
    }
    if wanted("pictures") {
        pictures(&device, folder, &mut table)?;
    }
    let peak = device.usage().peak >> 20;
    table.row("all", "peak memory", &format!("{peak} MiB"), "", "", true);
    if table.failed {
        Err("a proof failed".into())
    } else {
        Ok(())
    }
}

/// All proofs of the decoder.
fn decoder(device: &Device, folder: &Path, table: &mut Table) -> Outcome<()> {
    let start = Instant::now();
    let file = GgufFile::open(folder.join("SmolLM2-135M-Instruct.Q4_1.gguf"))
        .map_err(|error| format!("{error}: `cargo xtask models` downloads it"))?;
    let model = Model::load(device, &file.into(), LoadOptions::default())?;
    let loaded = start.elapsed().as_secs_f64();
    let weights = device.usage().live >> 20;
    let answer = format!("{loaded:.1} s, {weights} MiB");
    table.row(DECODER, "load", &answer, "", "", true);
    tokens(&model, table)?;
    scores(&model, table)?;
    answer_of(&model, table)
}

struct Table {
    failed: bool,
}

impl Table {
    fn row(
        &mut self,
        model: &str,
        task: &str,
        answer: &str,
        error: &str,
        accepted: &str,
        right: bool,
    ) {
        let mark = if right { "" } else { " WRONG" };
        println!("| {model} | {task} | {answer}{mark} | {error} | {accepted} |");
        self.failed |= !right;
    }
}

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(name)
}

/// Texts of many scripts have the tokens that the Python package `tokenizers` gives them.
fn tokens(model: &Model, table: &mut Table) -> Outcome<()> {
    let folder = data("tokenizers");
    let texts = texts::texts(&folder);
    let ids = texts::read(&folder, "smollm2.ids.json");
    let encode = |text: &str| model.tokenizer().encode(text).unwrap_or_default();
    let (wrong, first) = texts::differences(&texts, &ids, encode);
    if wrong > 0 {
        println!("{first}");
    }
    let right = wrong == 0 && texts.len() > 1_000;
    let answer = format!("{} texts", texts.len());
    table.row(DECODER, "tokens", &answer, &wrong.to_string(), "0", right);
    Ok(())
}

fn worst(got: &[f32], expected: &[f32]) -> f32 {
    let errors = got.iter().zip(expected).map(|(a, b)| (a - b).abs());
    // NaN is the worst.
    errors.fold(
        0.0,
        |worst, error| if error <= worst { worst } else { error },
    )
}

fn numbers(file: &GgufFile, key: &str) -> Outcome<Vec<u32>> {
    match file.head().get(key) {
        Some(Value::Array(Array::I32(values))) => {
            Ok(values.iter().map(|&v| v.cast_unsigned()).collect())
        }
        _ => Err(format!("the reference has no {key}").into()),
    }
}

/// Scores of 200 tokens against a forward pass in f64, all at once and one by one.
fn scores(model: &Model, table: &mut Table) -> Outcome<()> {
    let reference = GgufFile::open(data("smollm2.reference.gguf"))?;
    let (tokens, sample) = (
        numbers(&reference, "test.tokens")?,
        numbers(&reference, "test.sample")?,
    );
    let expected = reference.dequantise("test.scores")?;
    let (highest, logarithm) = (
        reference.dequantise("test.highest")?,
        reference.dequantise("test.logarithm")?,
    );
    let decoder: &Arc<Decoder> = model.decoder();
    let vocabulary = decoder.config().vocabulary;
    let mut state = DecoderState::new(decoder, 256)?;
    let start = Instant::now();
    let all = state.scores(&tokens)?.to_vec_blocking::<f32>()?;
    let seconds = start.elapsed().as_secs_f64();
    let (mut sampled, mut sums) = (Vec::new(), Vec::new());
    for row in all.chunks_exact(vocabulary) {
        sampled.extend(sample.iter().filter_map(|&token| row.get(token as usize)));
        let top = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let sum: f64 = row.iter().map(|&score| f64::from(score - top).exp()).sum();
        sums.extend([top, sum.ln() as f32 + top]);
    }
    let whole: Vec<f32> = highest
        .iter()
        .zip(&logarithm)
        .flat_map(|(&a, &b)| [a, b])
        .collect();
    let error = worst(&sampled, &expected).max(worst(&sums, &whole));
    let complete =
        tokens.len() == 200 && sampled.len() == expected.len() && sums.len() == whole.len();
    let task = "scores of 200 tokens, teacher forcing";
    let answer = format!("{seconds:.2} s");
    table.row(
        DECODER,
        task,
        &answer,
        &format!("{error:.1e}"),
        &format!("{ACCEPTED:.0e}"),
        complete && error <= ACCEPTED,
    );
    // The same with a cache: most at once, the others one by one by replays.
    let mut state = DecoderState::new(decoder, 256)?;
    let (first, rest) = tokens.split_at(tokens.len() - STEPS);
    let _ = state.extend(first)?;
    let mut error = 0.0f32;
    let start = Instant::now();
    for (token, row) in rest
        .iter()
        .zip(all.chunks_exact(vocabulary).skip(first.len()))
    {
        let got = state.extend(&[*token])?.to_vec_blocking::<f32>()?;
        error = error.max(worst(&got, row));
    }
    let answer = format!(
        "{:.1} tokens/s",
        STEPS as f64 / start.elapsed().as_secs_f64()
    );
    let task = "scores by cache and replay against all at once";
    table.row(
        DECODER,
        task,
        &answer,
        &format!("{error:.1e}"),
        &format!("{ACCEPTED:.0e}"),
        error <= ACCEPTED,
    );
    caches(decoder, &tokens, &all, table)
}

/// Scores over caches of f16 and of 8 bits against those over f32.
fn caches(
    decoder: &Arc<Decoder>,
    tokens: &[u32],
    expected: &[f32],
    table: &mut Table,
) -> Outcome<()> {
    let mut accepted = ACCEPTED_OF_HALVES;
    for dtype in [DType::F16, DType::I8] {
        let before = decoder.device().usage().live;
        let mut state = DecoderState::with_cache(decoder, 256, dtype)?;
        let kib = (decoder.device().usage().live - before) >> 10;
        let error = worst(&state.scores(tokens)?.to_vec_blocking::<f32>()?, expected);
        let task = format!("scores of 200 tokens over a cache of {dtype} against f32");
        table.row(
            DECODER,
            &task,
            &format!("{kib} KiB for 256 tokens"),
            &format!("{error:.1e}"),
            &format!("{accepted:.1e}"),
            error <= accepted,
        );
        accepted = error * TIMES_HALVES;
    }
    Ok(())
}

/// The model knows a capital.
fn answer_of(model: &Model, table: &mut Table) -> Outcome<()> {
    let question = "What is the capital of France, and what is it known for?";
    let messages = [
        Message::new(
            "system",
            "You are a helpful AI assistant named SmolLM, trained by Hugging Face",
        ),
        Message::new("user", question),
    ];
    let options = GenerateOptions {
        max_tokens: Some(40),
        ..GenerateOptions::default()
    };
    let start = Instant::now();
    let (mut text, mut count) = (String::new(), 0);
    for piece in model.chat(&messages, &options)? {
        let piece = piece?;
        text.push_str(&piece.text);
        count += 1;
    }
    let rate = f64::from(count) / start.elapsed().as_secs_f64();
    let right = text.starts_with("The capital of France is Paris");
    table.row(
        DECODER,
        "chat",
        &text.replace('\n', " "),
        &format!("{rate:.1} tokens/s with the prompt"),
        "",
        right,
    );
    Ok(())
}

/// Vectors of 20 sentences against a forward pass in f64.
fn sentences(device: &Device, folder: &Path, table: &mut Table) -> Outcome<()> {
    let encoder = SentenceEncoder::open(device, folder.join("all-MiniLM-L6-v2"))?;
    let texts = std::fs::read(data("encoder/sentences.json"))?;
    let texts: Vec<String> = serde_json::from_slice(&texts)?;
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let start = Instant::now();
    let got = encoder.embed(&texts)?.to_vec_blocking::<f32>()?;
    let seconds = start.elapsed().as_secs_f64();
    let reference = SafetensorsFile::open(data("encoder/minilm.reference.safetensors"))?;
    let expected = reference
        .load(device, "embeddings")?
        .to_vec_blocking::<f32>()?;
    let error = worst(&got, &expected);
    let right =
        got.len() == expected.len() && expected.len() == 20 * 384 && error <= ACCEPTED_OF_VECTORS;
    let answer = format!("{seconds:.2} s");
    let (error, accepted) = (format!("{error:.1e}"), format!("{ACCEPTED_OF_VECTORS:.0e}"));
    table.row(
        "MiniLM-L6 f32",
        "vectors of 20 sentences",
        &answer,
        &error,
        &accepted,
        right,
    );
    Ok(())
}

/// The words of two recordings of Debian's `alsa-utils`, which are in their names, and until when CTranslate2 hears them.
fn speech(device: &Device, folder: &Path, table: &mut Table) -> Outcome<()> {
    let whisper = Whisper::open(device, folder.join("whisper-tiny.en"))?;
    for (name, words, end) in [
        ("Front_Center", "front center", 1.5),
        ("Rear_Left", "rear left", 1.24),
    ] {
        let sound = Waveform::open_wav(folder.join(format!("recordings/{name}.wav")))?;
        let start = Instant::now();
        let text = whisper.transcribe(&sound, &TranscribeOptions::default())?;
        let seconds = start.elapsed().as_secs_f64();
        let letters = |c: char| c.is_alphabetic() || c == ' ';
        let said: String = text
            .to_lowercase()
            .chars()
            .filter(|&c| letters(c))
            .collect();
        table.row(
            "Whisper tiny.en f32",
            &format!("what is said in {name}.wav"),
            &format!("{text:?} in {seconds:.2} s"),
            "",
            "",
            said == words,
        );
        let timed = TranscribeOptions {
            timestamps: true,
            ..TranscribeOptions::default()
        };
        let found = whisper.transcript(&sound, &timed)?.segments;
        let times: Vec<_> = found.iter().map(|part| (part.start, part.end)).collect();
        table.row(
            "Whisper tiny.en f32",
            &format!("when it is said in {name}.wav"),
            &format!("{times:?} s"),
            "",
            "",
            times == [(0.0, end)],
        );
    }
    Ok(())
}

/// The best classes of ImageNet for the two pictures of scikit-learn, and their scores: those of a forward pass in f64 over pictures
/// that Pillow decoded and resized, which rounds each step to whole bytes (`tests/data/efficientnet.py`).
fn pictures(device: &Device, folder: &Path, table: &mut Table) -> Outcome<()> {
    let model = EfficientNetLite::open(device, folder.join("efficientnet-lite0.pth"))?;
    for (name, what, class, expected) in [
        ("flower", "daisy", 985, 7.424),
        ("china", "palace", 698, 7.353),
    ] {
        let file = std::fs::read(folder.join(format!("pictures/{name}.jpg")))?;
        let start = Instant::now();
        let seen = Picture::from_jpeg(&file)?.seen(device, 224)?;
        let scores = model.forward(&seen)?.to_vec_blocking::<f32>()?;
        let seconds = start.elapsed().as_secs_f64();
        let best = scores.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1));
        let (best, &score) = best.ok_or("there are no classes")?;
        let error = worst(&[score], &[expected]);
        table.row(
            "EfficientNet-Lite0 f32",
            &format!("the class of {name}.jpg ({class}, {what})"),
            &format!("{best} in {seconds:.2} s"),
            &format!("{error:.1e}"),
            &format!("{ACCEPTED_OF_CLASSES:.0e}"),
            best == class && error <= ACCEPTED_OF_CLASSES,
        );
    }
    Ok(())
}
