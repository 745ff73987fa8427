//! Decoders from folders of safetensors: against a forward pass in f64, and against the same weights in a GGUF file.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ziggurat_models::{
    Decoder, DecoderConfig, DecoderState, Error, GenerateOptions, LoadOptions, Message, Model,
    ModelFile, WindowRule,
};
use ziggurat_tensor::io::SafetensorsFile;
use ziggurat_tensor::{DType, Device, DeviceOptions};

use crate::data;
use crate::decoders::{device, model_file, values, worst};

/// Llama with llama3 scaling, tied, in two files; Mistral with a window; Qwen2 with YaRN and biases; Qwen3 with norms of heads,
/// linear scaling, a window in its second layer, and a bias behind attention.
const FOLDERS: [&str; 4] = ["llama", "mistral", "qwen2", "qwen3"];

fn folder(name: &str) -> PathBuf {
    data("folders").join(name)
}

fn load(device: &Device, path: &Path) -> Arc<Decoder> {
    let file = ModelFile::open(path).unwrap();
    Arc::new(Decoder::load(device, &file, &LoadOptions::default()).unwrap())
}

pub(crate) fn scores(decoder: &Arc<Decoder>, tokens: &[u32]) -> Vec<f32> {
    let mut state = DecoderState::new(decoder, 64).unwrap();
    values(&state.scores(tokens).unwrap())
}

/// The tokens of the reference, and its scores, a row for each token.
pub(crate) fn reference(device: &Device, name: &str) -> (Vec<u32>, Vec<f32>) {
    let file = SafetensorsFile::open(folder(name).join("reference.safetensors")).unwrap();
    let tokens = file.load(device, "tokens").unwrap();
    let tokens = tokens.to_vec_blocking::<i32>().unwrap();
    let scores = values(&file.load(device, "scores").unwrap());
    (
        tokens.into_iter().map(|token| token as u32).collect(),
        scores,
    )
}

/// A copy of a folder's files, gone with the value.
pub(crate) struct Copy(pub(crate) PathBuf);

impl Copy {
    pub(crate) fn new(name: &str, to: &str) -> Self {
        let path = std::env::temp_dir().join(format!("ziggurat-{to}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        for file in std::fs::read_dir(folder(name)).unwrap() {
            let file = file.unwrap();
            std::fs::copy(file.path(), path.join(file.file_name())).unwrap();
        }
        Self(path)
    }

    pub(crate) fn change(&self, file: &str, from: &str, to: &str) {
        let path = self.0.join(file);
        let bytes = std::fs::read(&path).unwrap();
        let at = bytes
            .windows(from.len())
            .position(|part| part == from.as_bytes())
            .unwrap();
        let changed = [&bytes[..at], to.as_bytes(), &bytes[at + from.len()..]].concat();
        std::fs::write(path, changed).unwrap();
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}

#[test]
fn folder_scores_are_those_of_the_reference() {
    let device = device();
    for name in FOLDERS {
        let (tokens, expected) = reference(&device, name);
        let error = worst(&scores(&load(&device, &folder(name)), &tokens), &expected);
        println!("{name}: worst error {error}");
        // Scores reach 11.
        assert!(error < 5e-5, "{name}: {error}");
    }
}

#[test]
fn both_forms_of_the_same_weights_give_the_same_scores() {
    let device = device();
    for name in ["llama", "mistral", "qwen2"] {
        let (tokens, _) = reference(&device, name);
        let of_folder = load(&device, &folder(name));
        let of_gguf = load(&device, &folder(name).join("model.gguf"));
        // The order of rows differs, and what follows from it.
        let halves = !of_folder.config().interleaved;
        assert!(halves && of_gguf.config().interleaved == (name != "qwen2"));
        let error = worst(&scores(&of_folder, &tokens), &scores(&of_gguf, &tokens));
        println!("{name}: worst difference {error}");
        assert!(error < 2e-5, "{name}: {error}");
    }
}

#[test]
fn another_scaling_or_window_would_be_seen() {
    let device = device();
    let changes = [
        ("llama", "\"factor\": 4.0", "\"factor\": 4.5"),
        (
            "llama",
            "\"high_freq_factor\": 4.0",
            "\"high_freq_factor\": 5.0",
        ),
        ("mistral", "\"sliding_window\": 8", "\"sliding_window\": 9"),
        ("qwen2", "\"beta_slow\": 0.5", "\"beta_slow\": 0.05"),
        (
            "qwen2",
            "\"factor\": 4.0",
            "\"attention_factor\": 1.0, \"factor\": 4.0",
        ),
        (
            "qwen3",
            "\"max_window_layers\": 1",
            "\"max_window_layers\": 0",
        ),
        (
            "qwen3",
            "\"sliding_window\": 8",
            "\"layer_types\": [\"sliding_attention\", \"full_attention\"], \"sliding_window\": 8",
        ),
    ];
    for (at, (name, from, to)) in changes.into_iter().enumerate() {
        let copy = Copy::new(name, &format!("changed-{at}"));
        copy.change("config.json", from, to);
        let (tokens, expected) = reference(&device, name);
        let error = worst(&scores(&load(&device, &copy.0), &tokens), &expected);
        assert!(error > 1e-3, "{name} with {to}: {error}");
    }
}

#[test]
fn a_folder_writes_what_its_gguf_form_writes() {
    let options = GenerateOptions {
        max_tokens: Some(20),
        ignore_end: true,
        ..GenerateOptions::default()
    };
    let device = device();
    let file = ModelFile::open(folder("llama")).unwrap();
    let model = Model::load(&device, &file, LoadOptions::default()).unwrap();
    let prompt = [Message::new("user", "hi")];
    let mut generation = model.chat(&prompt, &options).unwrap();
    let wanted = "<|im_start|>system\nYou are small<|im_end|>\n<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n";
    let wanted = model.tokenizer().encode(wanted).unwrap();
    assert_eq!(generation.tokens(), wanted);
    let text: String = generation
        .by_ref()
        .map(|piece| piece.unwrap().text)
        .collect();
    let drawn = generation.tokens()[wanted.len()..].to_vec();
    assert_eq!((drawn.len(), model.tokenizer().decode(&drawn)), (20, text));
    let of_gguf = load(&device, &folder("llama").join("model.gguf"));
    let mut state = DecoderState::new(&of_gguf, 128).unwrap();
    let mut scores = values(&state.extend(&wanted).unwrap());
    for token in drawn {
        let best = (0..scores.len()).max_by(|&a, &b| scores[a].total_cmp(&scores[b]));
        assert_eq!(best, Some(token as usize));
        scores = values(&state.extend(&[token]).unwrap());
    }
}

#[test]
fn folders_that_are_no_decoder_are_refused_by_name() {
    let device = device();
    let [copy, plain] = ["qwen3", "llama"].map(|name| Copy::new(name, &format!("refused-{name}")));
    let refused_of = |copy: &Copy, from: &str, to: &str, file: &str| {
        copy.change(file, from, to);
        let error = ModelFile::open(&copy.0)
            .and_then(|file| Decoder::load(&device, &file, &LoadOptions::default()))
            .unwrap_err();
        copy.change(file, to, from);
        error
    };
    let refused = |from: &str, to: &str, file: &str| refused_of(&copy, from, to, file);
    let error = refused("\"qwen3\"", "\"zebra\"", "config.json");
    assert!(matches!(error, Error::UnknownArchitecture(ref name) if name == "zebra"));
    let error = refused("\"silu\"", "\"gelu\"", "config.json");
    assert!(matches!(error, Error::Unsupported(_)), "{error}");
    // Scores without what the file says it has would be wrong without a word.
    for (said, name) in [
        ("attention_bias", "self_attn.q_proj.bias"),
        ("mlp_bias", "mlp.gate_proj.bias"),
    ] {
        let with = format!("\"{said}\": true, \"hidden_act\"");
        let error = refused_of(&plain, "\"hidden_act\"", &with, "config.json");
        let name = format!("model.layers.0.{name}");
        assert!(
            matches!(error, Error::MissingTensor { name: ref got } if *got == name),
            "{error}"
        );
    }
    let error = refused("\"linear\"", "\"spiral\"", "config.json");
    assert!(error.to_string().contains("`spiral`"), "{error}");
    let error = refused("\"hidden_size\": 32", "\"hidden_size\": 40", "config.json");
    assert!(
        matches!(error, Error::WrongTensor { ref name, .. } if name == "model.embed_tokens.weight")
    );
    let error = refused(
        "\"num_hidden_layers\": 2",
        "\"num_hidden_layers\": 3",
        "config.json",
    );
    assert!(
        matches!(error, Error::MissingTensor { ref name } if name == "model.layers.2.self_attn.q_proj.weight"),
        "{error}"
    );
    let error = refused("\"vocab_size\"", "\"vocab_sizf\"", "config.json");
    assert!(matches!(error, Error::MissingMetadata(ref key) if key == "vocab_size"));
    let error = refused("lm_head.weight", "lm_haed.weight", "model.safetensors");
    assert!(matches!(error, Error::MissingTensor { ref name } if name == "lm_head.weight"));
    let error = refused(
        "1.self_attn.k_norm",
        "1.self_attn.k_morn",
        "model.safetensors",
    );
    assert!(
        matches!(error, Error::MissingTensor { ref name } if name == "model.layers.1.self_attn.k_norm.weight")
    );
    std::fs::remove_file(copy.0.join("config.json")).unwrap();
    let error = ModelFile::open(&copy.0).unwrap().config().unwrap_err();
    assert!(matches!(error, Error::Io { .. }));
    assert!(matches!(
        ModelFile::open("no such model"),
        Err(Error::Io { .. })
    ));
}

#[test]
fn a_window_counts_if_the_family_means_it() {
    let config = |name: &str, from: &str, to: &str| {
        let text = std::fs::read_to_string(folder(name).join("config.json")).unwrap();
        assert!(text.contains(from));
        DecoderConfig::from_json(text.replace(from, to).as_bytes()).unwrap()
    };
    let same = ("", "");
    let mistral = config("mistral", same.0, same.1);
    assert_eq!(
        (mistral.family.window, mistral.window),
        (WindowRule::Always(4096), Some(7))
    );
    assert_eq!(
        config(
            "mistral",
            "\"sliding_window\": 8",
            "\"sliding_window\": null"
        )
        .window,
        None
    );
    assert_eq!(
        config("mistral", "sliding_window", "another").window,
        Some(4095)
    );
    assert_eq!(config("qwen2", same.0, same.1).window, None);
    let qwen3 = config("qwen3", same.0, same.1);
    assert_eq!([0, 1].map(|layer| qwen3.window_of(layer)), [None, Some(7)]);
}

#[test]
fn a_device_that_is_too_small_is_known_before_anything_is_uploaded() {
    let limit = 160 << 10;
    let device = Device::open_blocking(DeviceOptions {
        memory_limit: Some(limit),
        ..DeviceOptions::default()
    })
    .unwrap();
    let file = ModelFile::open(folder("mistral")).unwrap();
    let load = |dtype: DType| {
        let options = LoadOptions {
            dtype,
            ..LoadOptions::default()
        };
        Decoder::load(&device, &file, &options)
    };
    let before = device.usage();
    let Err(Error::OutOfMemory {
        requested,
        available,
    }) = load(DType::F32)
    else {
        panic!("a model was loaded");
    };
    assert_eq!(available, limit - before.live);
    // Its elements, and tables of 128 positions of 4 pairs; keys and values of 2 layers, 2 heads and 128 positions of 8 elements; of
    // as many tokens the activations: two of 32 elements; queries, keys and the result twice, and values; scores of 96 tokens.
    let sequence = 2 * 2 * 2 * 128 * 8 * 4 + 128 * (2 * 32 + 4 * 32 + 3 * 16) * 4 + 96 * 8;
    assert_eq!(requested, 21_664 * 4 + 2 * 128 * 4 * 4 + sequence);
    let after = device.usage();
    assert_eq!(
        (after.live, after.allocations),
        (before.live, before.allocations)
    );
    // Half of it has room.
    load(DType::F16).unwrap();
}

#[test]
fn what_a_sequence_takes_is_near_what_was_counted() {
    for (name, quantised) in [("mistral", false), ("llama", true)] {
        let device = device();
        let file = match quantised {
            true => model_file(name),
            false => ModelFile::open(folder(name)).unwrap(),
        };
        let decoder = Decoder::load(&device, &file, &LoadOptions::default());
        let decoder = Arc::new(decoder.unwrap());
        let weights = device.usage().live;
        let config = decoder.config().clone();
        let context = config.context;
        let mut state = DecoderState::new(&decoder, context).unwrap();
        let tokens: Vec<u32> = (0..context as u32 - 1).map(|at| at % 90).collect();
        values(&state.extend(&tokens).unwrap());
        values(&state.extend(&[1]).unwrap());
        let taken = device.usage().peak - weights;
        // With less than that a device refuses the model, and says how much it would be.
        let small = Device::open_blocking(DeviceOptions {
            memory_limit: Some(1 << 10),
            ..DeviceOptions::default()
        });
        let small = Decoder::load(&small.unwrap(), &file, &LoadOptions::default());
        let Err(Error::OutOfMemory { requested, .. }) = small else {
            panic!("a model was loaded");
        };
        let counted = requested - weights;
        println!("{name}: {taken} bytes besides {weights} of weights, {counted} counted");
        // The pool rounds up, most of all what is small.
        assert!(taken < counted * 5 / 4 && counted < taken * 5 / 4);
    }
}
