//! A small Whisper with random weights against a forward pass in f64: what it hears, its scores and its texts.

use std::path::{Path, PathBuf};

use ziggurat_models::audio::{SAMPLE_RATE, Waveform};
use ziggurat_models::ctranslate2::Ctranslate2File;
use ziggurat_models::{Error, TranscribeOptions, Whisper, WhisperConfig};
use ziggurat_tensor::io::SafetensorsFile;
use ziggurat_tensor::{DType, Device, DeviceOptions, Tensor};

use crate::data;
use crate::decoders::{device, values, worst};

const FOLDERS: [&str; 2] = ["whisper", "whisper-ctranslate2"];

/// A copy of a folder with the tokenizer, of which files can be changed.
pub(crate) struct Copied(pub(crate) PathBuf);

impl Copied {
    pub(crate) fn of(folder: &str, name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("ziggurat-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        for file in std::fs::read_dir(data(folder)).unwrap() {
            let file = file.unwrap();
            std::fs::copy(file.path(), path.join(file.file_name())).unwrap();
        }
        // Both have the same.
        std::fs::copy(data("whisper/tokenizer.json"), path.join("tokenizer.json")).unwrap();
        Self(path)
    }

    pub(crate) fn replace(&self, file: &str, from: &str, to: &str) {
        let path = self.0.join(file);
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{from}");
        std::fs::write(path, text.replace(from, to)).unwrap();
    }
}

impl Drop for Copied {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub(crate) fn open(device: &Device, path: &Path) -> Whisper {
    Whisper::open(device, path).unwrap()
}

fn reference(device: &Device, name: &str) -> Tensor {
    let file = SafetensorsFile::open(data("whisper/reference.safetensors")).unwrap();
    file.load(device, name).unwrap()
}

fn tokens(device: &Device, name: &str) -> Vec<u32> {
    let tokens = reference(device, name).to_vec_blocking::<i32>().unwrap();
    tokens.iter().map(|token| token.cast_unsigned()).collect()
}

pub(crate) fn sound(device: &Device) -> Waveform {
    Waveform {
        samples: values(&reference(device, "sound")),
        rate: SAMPLE_RATE,
    }
}

#[test]
fn what_is_heard_and_written_is_that_of_the_reference() {
    let device = device();
    for folder in FOLDERS {
        let copy = Copied::of(folder, &format!("heard-{folder}"));
        let whisper = open(&device, &copy.0);
        let window = whisper.config().window();
        let samples = reference(&device, "sound");
        let heard = whisper
            .encode(&samples.narrow(0, 0, window).unwrap())
            .unwrap();
        let expected = values(&reference(&device, "heard"));
        assert_eq!(heard.dims(), [1, 50, 16]);
        let error = worst(&values(&heard), &expected);
        println!("{folder}: worst error of what is heard {error}");
        assert!(error < 1e-4, "{error}");
        // Half a window is something else.
        let half = whisper.encode(&samples.narrow(0, 0, window / 2).unwrap());
        assert!(worst(&values(&half.unwrap()), &expected) > 1e-1);

        let prompt = tokens(&device, "tokens");
        let scores = whisper.scores(&heard, &prompt).unwrap();
        let expected = values(&reference(&device, "scores"));
        let error = worst(&values(&scores), &expected);
        println!("{folder}: worst error of scores {error}");
        assert!(error < 1e-4, "{error}");
        // Another token changes the scores behind it, and none in front.
        let mut other = prompt.clone();
        other[5] = 6;
        let other = values(&whisper.scores(&heard, &other).unwrap());
        let border = 5 * whisper.config().vocabulary;
        assert_eq!(&other[..border], &values(&scores)[..border]);
        assert!(worst(&other[border..], &expected[border..]) > 1e-2);

        let mut text = String::new();
        for at in 0..3 {
            let start = at * window;
            let part = samples.narrow(0, start, window.min(samples.len() - start));
            let heard = whisper.encode(&part.unwrap()).unwrap();
            let expected = tokens(&device, &format!("text_{at}"));
            let options = TranscribeOptions::default();
            let got = whisper.decode(&heard, &options).unwrap();
            assert_eq!(got, expected, "{folder}, window {at}");
            text.push_str(&whisper.tokenizer().decode(&got));
            let options = TranscribeOptions {
                max_tokens: Some(2),
                ..options
            };
            assert_eq!(whisper.decode(&heard, &options).unwrap(), expected[..2]);
        }
        let options = TranscribeOptions {
            language: Some("en".into()),
            ..TranscribeOptions::default()
        };
        let whole = whisper.transcribe(&sound(&device), &options).unwrap();
        assert_eq!(whole, text.trim());
    }
}

#[test]
fn other_languages_have_a_token_of_their_own() {
    let device = device();
    let copy = Copied::of("whisper", "languages");
    copy.replace(
        "generation_config.json",
        "{",
        "{\"is_multilingual\": true, ",
    );
    let whisper = open(&device, &copy.0);
    let heard = whisper.encode(&Tensor::zeros(&device, [0], DType::F32).unwrap());
    let heard = heard.unwrap();
    let with = |language: Option<&str>| {
        let options = TranscribeOptions {
            language: language.map(str::to_owned),
            max_tokens: Some(1),
            ..TranscribeOptions::default()
        };
        whisper.decode(&heard, &options)
    };
    // What follows is the best of what the model says behind these tokens.
    let scores = whisper.scores(&heard, &[257, 258, 260, 264]).unwrap();
    let scores = values(&scores.select(0, -1).unwrap());
    let banned = [3, 40, 220, 256, 257, 258, 259, 260, 261, 262, 263];
    let written = (0..264u32).filter(|token| !banned.contains(token));
    let best = written.max_by(|&a, &b| scores[a as usize].total_cmp(&scores[b as usize]));
    assert_eq!(with(Some("en")).unwrap(), [best.unwrap()]);
    // There is one language, so it is the most probable one.
    assert_eq!(with(None).unwrap(), [best.unwrap()]);
    for wrong in ["xx", "", "transcribe"] {
        let error = with(Some(wrong)).unwrap_err();
        assert!(matches!(error, Error::Options(_)), "{error}");
    }
    let english = open(&device, &Copied::of("whisper", "english").0);
    let options = TranscribeOptions {
        language: Some("de".into()),
        ..TranscribeOptions::default()
    };
    let error = english.decode(&heard, &options).unwrap_err();
    assert!(error.to_string().contains("`de`"), "{error}");
}

#[test]
fn sounds_and_tokens_that_do_not_fit_are_refused() {
    let device = device();
    let copy = Copied::of("whisper", "fit");
    let whisper = open(&device, &copy.0);
    let options = TranscribeOptions::default();
    let long = Tensor::zeros(&device, [16_001], DType::F32).unwrap();
    let error = whisper.encode(&long).unwrap_err();
    assert!(error.to_string().contains("16000: it has 16001"), "{error}");
    let silence = |rate| Waveform {
        samples: vec![0.0; 10],
        rate,
    };
    assert!(matches!(
        whisper.transcribe(&silence(0), &options),
        Err(Error::Audio(_))
    ));
    let nothing = Waveform {
        samples: Vec::new(),
        rate: 8_000,
    };
    assert_eq!(whisper.transcribe(&nothing, &options).unwrap(), "");
    let broken = Waveform {
        samples: vec![f32::NAN; 300],
        rate: 16_000,
    };
    let error = whisper.transcribe(&broken, &options).unwrap_err();
    assert!(matches!(error, Error::Scores(276)), "{error}");
    let heard = whisper.encode(&long.narrow(0, 0, 100).unwrap()).unwrap();
    assert!(matches!(whisper.scores(&heard, &[]), Err(Error::NoTokens)));
    let error = whisper.scores(&heard, &[0; 21]).unwrap_err();
    assert!(
        matches!(
            error,
            Error::ContextFull {
                needed: 21,
                limit: 20
            }
        ),
        "{error}"
    );
    let error = whisper.scores(&heard, &[276]).unwrap_err();
    assert!(
        matches!(error, Error::UnknownToken { token: 276, .. }),
        "{error}"
    );
    let none = TranscribeOptions {
        max_tokens: Some(0),
        ..TranscribeOptions::default()
    };
    assert!(whisper.decode(&heard, &none).unwrap().is_empty());
    let narrow = Tensor::zeros(&device, [1, 50, 15], DType::F32).unwrap();
    assert!(matches!(
        whisper.decode(&narrow, &options),
        Err(Error::Tensor(_))
    ));
}

#[test]
fn folders_that_are_no_whisper_are_refused() {
    let device = device();
    let of = |name: &str, file: &str, from: &str, to: &str| {
        let copy = Copied::of("whisper", name);
        copy.replace(file, from, to);
        Whisper::open(&device, &copy.0).unwrap_err()
    };
    let config = "config.json";
    let error = of("type", config, "\"whisper\"", "\"bert\"");
    assert!(error.to_string().contains("`bert`"), "{error}");
    let error = of(
        "scaled",
        config,
        "\"scale_embedding\": false",
        "\"scale_embedding\": true",
    );
    assert!(matches!(error, Error::Unsupported(_)), "{error}");
    let error = of(
        "heads",
        config,
        "\"encoder_attention_heads\": 2",
        "\"encoder_attention_heads\": 3",
    );
    assert!(matches!(error, Error::WrongMetadata { .. }), "{error}");
    let error = of("bands", config, "\"num_mel_bins\"", "\"mel_bins\"");
    assert!(
        matches!(error, Error::MissingMetadata(ref key) if key == "num_mel_bins"),
        "{error}"
    );
    let error = of(
        "width",
        config,
        "\"encoder_ffn_dim\": 32",
        "\"encoder_ffn_dim\": 31",
    );
    assert!(
        matches!(error, Error::WrongTensor { ref name, .. } if name.contains("layers.0.fc1.")),
        "{error}"
    );
    let error = of(
        "layers",
        config,
        "\"decoder_layers\": 2",
        "\"decoder_layers\": 3",
    );
    assert!(matches!(error, Error::MissingTensor { .. }), "{error}");
    let error = of(
        "vocabulary",
        config,
        "\"vocab_size\": 276",
        "\"vocab_size\": 100",
    );
    assert!(matches!(error, Error::Tokenizer(_)), "{error}");
    let error = of("special", "tokenizer.json", "<|notimestamps|>", "<|other|>");
    assert!(error.to_string().contains("<|notimestamps|>"), "{error}");
    let generation = "generation_config.json";
    let error = of("list", generation, "[3,", "[\"3\",");
    assert!(
        matches!(error, Error::WrongMetadata { ref key, .. } if key == "suppress_tokens"),
        "{error}"
    );
    let error = of("token", generation, "[3,", "[276,");
    assert!(
        matches!(error, Error::UnknownToken { token: 276, .. }),
        "{error}"
    );
    let missing = Whisper::open(&device, "no such folder").unwrap_err();
    assert!(matches!(missing, Error::Io { .. }), "{missing}");
    // A layout of another model.
    let bytes = std::fs::read(data("whisper-ctranslate2/model.bin")).unwrap();
    let name = bytes
        .windows(11)
        .position(|part| part == b"WhisperSpec")
        .unwrap();
    let mut other = bytes.clone();
    other[name] = b'w';
    let file = Ctranslate2File::from_bytes(other).unwrap();
    let error = WhisperConfig::from_ctranslate2(&file, b"{}").unwrap_err();
    assert!(
        error.to_string().contains("`whisperSpec`, revision 3"),
        "{error}"
    );
}

#[test]
fn a_device_that_is_too_small_is_an_error_before_anything_is_uploaded() {
    let device = Device::open_blocking(DeviceOptions {
        memory_limit: Some(90_000),
        ..DeviceOptions::default()
    });
    let device = device.unwrap();
    let before = device.usage().live;
    for folder in FOLDERS {
        let copy = Copied::of(folder, &format!("small-{folder}"));
        let error = Whisper::open(&device, &copy.0).unwrap_err();
        assert!(matches!(error, Error::OutOfMemory { .. }), "{error}");
    }
    assert_eq!(device.usage().live, before);
}
