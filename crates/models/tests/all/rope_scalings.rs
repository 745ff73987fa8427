//! Rotary positions of longer contexts, against their formulas and against scores that were computed in f64.

use std::f64::consts::TAU;
use std::sync::Arc;

use ziggurat_models::blocks::RopeScaling;
use ziggurat_models::gguf::{Gguf, GgufFile};
use ziggurat_models::{Decoder, DecoderConfig, Error, LoadOptions, ModelFile};

use crate::data;
use crate::decoders::{device, worst};
use crate::folders::{Copy, reference, scores};
use crate::writer::Writer;

/// The worst error of a folder's scores, if a part of its configuration is another one, and there is room for so many tokens.
fn error_of(name: &str, number: usize, from: &str, to: &str, context: usize) -> f32 {
    let device = device();
    let copy = Copy::new(name, &format!("scaled-{name}-{number}"));
    copy.change("config.json", from, to);
    let file = ModelFile::open(&copy.0).unwrap();
    let options = LoadOptions {
        context,
        ..LoadOptions::default()
    };
    let decoder = Arc::new(Decoder::load(&device, &file, &options).unwrap());
    let (tokens, expected) = reference(&device, name);
    worst(&scores(&decoder, &tokens), &expected)
}

/// What frequencies are divided by as Llama 3.1 has it, for the folder `llama`.
fn llama3_factors() -> Vec<f64> {
    let factor = |pair: u32| {
        let frequency = 10_000f64.powf(-2.0 * f64::from(pair) / 8.0);
        let rotations = 16.0 * frequency / TAU;
        let kept = ((rotations - 1.0) / (4.0 - 1.0)).clamp(0.0, 1.0);
        1.0 / (kept + (1.0 - kept) / 4.0)
    };
    (0..4).map(factor).collect()
}

const LLAMA3: &str = "{\"rope_type\": \"llama3\", \"factor\": 4.0, \"low_freq_factor\": 1.0, \"high_freq_factor\": 4.0, \"original_max_position_embeddings\": 16}";

#[test]
fn each_pair_has_a_factor_of_its_own_in_long_contexts() {
    let (ones, factors) = (vec![1.0; 4], llama3_factors());
    let with = |short: &[f64], long: &[f64], amplitude: f64| {
        format!(
            "{{\"rope_type\": \"longrope\", \"short_factor\": {short:?}, \"long_factor\": {long:?}, \
             \"original_max_position_embeddings\": 64, \"attention_factor\": {amplitude:?}}}"
        )
    };
    let error = |number, to: String, context| error_of("llama", number, LLAMA3, &to, context);
    // The context of the model is 128.
    assert!(error(0, with(&ones, &factors, 1.0), 128) < 5e-5);
    assert!(error(1, with(&ones, &factors, 1.0), 65) < 5e-5);
    assert!(error(2, with(&factors, &ones, 1.0), 64) < 5e-5);
    // The other list, the other order of pairs, and another amplitude would be seen.
    assert!(error(3, with(&ones, &factors, 1.0), 64) > 1e-3);
    assert!(error(4, with(&factors, &ones, 1.0), 128) > 1e-3);
    let turned: Vec<f64> = factors.iter().rev().copied().collect();
    assert!(error(5, with(&ones, &turned, 1.0), 128) > 1e-3);
    assert!(error(6, with(&ones, &factors, 1.1), 128) > 1e-3);
}

#[test]
fn dynamic_scaling_changes_nothing_within_the_context() {
    let with = |scaling: &str| format!("\"rope_scaling\": {scaling}, \"hidden_act\"");
    let dynamic = with("{\"type\": \"dynamic\", \"factor\": 2.0}");
    assert!(error_of("mistral", 0, "\"hidden_act\"", &dynamic, 128) < 5e-5);
    let linear = with("{\"type\": \"linear\", \"factor\": 2.0}");
    assert!(error_of("mistral", 1, "\"hidden_act\"", &linear, 128) > 1e-3);
}

#[test]
fn mscales_change_the_amplitude() {
    let with = |mscale: f64, all: f64| {
        format!("\"mscale\": {mscale:?}, \"mscale_all_dim\": {all:?}, \"factor\": 4.0")
    };
    let error = |number, to: String| error_of("qwen2", number, "\"factor\": 4.0", &to, 128);
    // The amplitude of the reference by one of 1.
    assert!(error(0, with(1.0, 1e-12)) < 5e-5);
    assert!(error(1, with(1.0, 1.0)) > 1e-3);
    // One alone means nothing, and neither do both beside a factor that is said.
    assert!(error(2, "\"mscale\": 3.0, \"factor\": 4.0".into()) < 5e-5);
    let usual = 0.1 * 4f64.ln() + 1.0;
    let said = format!("\"attention_factor\": {usual:?}, {}", with(1.0, 1.0));
    assert!(error(3, said) < 5e-5);
}

/// The scaling that a configuration says.
fn scaling(context: usize, more: &str) -> Result<RopeScaling, Error> {
    let text = format!(
        "{{\"model_type\": \"llama\", \"num_hidden_layers\": 1, \"hidden_size\": 16, \"intermediate_size\": 16, \
         \"num_attention_heads\": 2, \"vocab_size\": 10, \"max_position_embeddings\": {context}, {more}}}"
    );
    DecoderConfig::from_json(text.as_bytes()).map(|config| config.rope_scaling)
}

#[test]
fn amplitudes_follow_their_formulas() {
    let amplitude = |context, more: &str| scaling(context, more).unwrap().amplitude();
    let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} {b}");
    let lists = "\"short_factor\": [1, 1, 1, 1], \"long_factor\": [1.5, 2, 2.5, 3]";
    // As Phi 3 says it: 32 times 4,096 tokens.
    let phi = format!(
        "\"original_max_position_embeddings\": 4096, \"rope_scaling\": {{\"type\": \"longrope\", {lists}}}"
    );
    near(amplitude(131_072, &phi), 1.190_238_071_423_808_3);
    near(amplitude(4096, &phi), 1.0);
    let said = format!(
        "\"rope_parameters\": {{\"rope_type\": \"longrope\", \"factor\": 8.0, \"original_max_position_embeddings\": 512, {lists}}}"
    );
    near(amplitude(131_072, &said), (1.0f64 + 3.0 / 9.0).sqrt());
    let yarn = "\"rope_scaling\": {\"type\": \"yarn\", \"factor\": 40, \"mscale\": 0.707, \"mscale_all_dim\": 1.0}";
    let ln = 40f64.ln();
    near(
        amplitude(4096, yarn),
        (0.0707 * ln + 1.0) / (0.1 * ln + 1.0),
    );
    // Which list, by the room.
    let config = scaling(131_072, &phi).unwrap();
    for (context, factors) in [(4096, [1.0; 4]), (4097, [1.5, 2.0, 2.5, 3.0])] {
        let frequencies = config.frequencies(100.0, 8, context);
        for (pair, (frequency, factor)) in frequencies.into_iter().zip(factors).enumerate() {
            near(frequency, 100f64.powf(-(pair as f64) / 4.0) / factor);
        }
    }
}

#[test]
fn factors_that_are_missing_or_wrong_are_refused_by_name() {
    let refused = |list: &str| {
        let more = format!("\"rope_scaling\": {{\"type\": \"longrope\", \"factor\": 2.0, {list}}}");
        scaling(64, &more).unwrap_err().to_string()
    };
    let short = "\"short_factor\": [1, 1, 1, 1]";
    assert_eq!(
        refused(short),
        "the metadata has no `rope_scaling.long_factor`"
    );
    for wrong in [
        "[1, 1, 1]",
        "[1, 1, 1, 0]",
        "[1, 1, 1, \"1\"]",
        "[1, -1, 1, 1]",
    ] {
        let text = refused(&format!("{short}, \"long_factor\": {wrong}"));
        assert!(
            text.starts_with(
                "`rope_scaling.long_factor` of the metadata must be a positive number"
            ),
            "{text}"
        );
    }
    let text = refused(&format!("{short}, \"long_factor\": 4"));
    assert!(
        text.ends_with("must be a list of positive numbers"),
        "{text}"
    );
    let dynamic = scaling(64, "\"rope_scaling\": {\"type\": \"dynamic\"}").unwrap_err();
    assert!(matches!(dynamic, Error::MissingMetadata(ref key) if key == "rope_scaling.factor"));
}

/// The GGUF form of the folder `llama`, its factors of all contexts replaced by those of LongRoPE, and further metadata.
fn long_rope_file(short: &[f64], long: &[f64], metadata: &mut Writer, entries: u64) -> GgufFile {
    const OLD: &str = "rope_freqs.weight";
    let whole = std::fs::read(data("folders/llama/model.gguf")).unwrap();
    let head = Gguf::parse(&whole).unwrap();
    let data = head
        .tensors()
        .iter()
        .map(|tensor| tensor.start())
        .min()
        .unwrap() as usize;
    let find = |name: &str| {
        let mut field = Writer::default();
        field.text(name);
        let len = field.bytes.len();
        let at = whole
            .windows(len)
            .position(|bytes| *bytes == field.bytes)
            .unwrap();
        // The name, a count of extents, one or two of them, a type and an offset.
        (
            at,
            at + len + 4 + 8 * head.tensor(name).unwrap().dims().len() + 4 + 8,
        )
    };
    let end = head
        .tensors()
        .iter()
        .map(|tensor| find(tensor.name()).1)
        .max()
        .unwrap();
    let (old, behind) = find(OLD);
    let mut file = Writer::new(
        head.tensors().len() as u64 + 1,
        head.metadata().len() as u64 + entries,
    );
    file.raw(&metadata.bytes).raw(&whole[24..old]);
    let mut numbers = whole[data..].to_vec();
    for (name, factors) in [("short", short), ("long", long)] {
        numbers.resize(numbers.len().next_multiple_of(32), 0);
        let dims = [factors.len() as u64];
        file.tensor(
            &format!("rope_factors_{name}.weight"),
            &dims,
            0,
            numbers.len() as u64,
        );
        numbers.extend(factors.iter().flat_map(|&x| (x as f32).to_le_bytes()));
    }
    file.raw(&whole[behind..end]).data(32, 0).raw(&numbers);
    GgufFile::from_bytes(file.bytes).unwrap()
}

#[test]
fn a_gguf_file_has_the_factors_of_long_contexts_in_tensors() {
    let device = device();
    let (tokens, expected) = reference(&device, "llama");
    let (ones, factors) = (vec![1.0; 4], llama3_factors());
    let load = |short: &[f64], long: &[f64], amplitude: Option<f32>, context: usize| {
        let mut metadata = Writer::default();
        let original = "llama.rope.scaling.original_context_length";
        metadata.key(original, 4).u32(64);
        if let Some(amplitude) = amplitude {
            let key = "llama.rope.scaling.attn_factor";
            metadata.key(key, 6).u32(amplitude.to_bits());
        }
        let entries = 1 + u64::from(amplitude.is_some());
        let file = long_rope_file(short, long, &mut metadata, entries);
        let options = LoadOptions {
            context,
            ..LoadOptions::default()
        };
        Decoder::load(&device, &file.into(), &options)
    };
    let error = |short: &[f64], long: &[f64], amplitude, context| {
        let decoder = Arc::new(load(short, long, amplitude, context).unwrap());
        worst(&scores(&decoder, &tokens), &expected)
    };
    // The context of the model is 128, and it was trained on 64.
    assert!(error(&ones, &factors, None, 128) < 5e-5);
    assert!(error(&ones, &factors, Some(1.0), 65) < 5e-5);
    assert!(error(&factors, &ones, None, 64) < 5e-5);
    assert!(error(&ones, &factors, None, 64) > 1e-3);
    assert!(error(&factors, &ones, None, 128) > 1e-3);
    assert!(error(&ones, &factors, Some(1.1), 128) > 1e-3);
    let few = load(&ones, &factors[1..], None, 128).unwrap_err();
    assert!(
        matches!(few, Error::WrongTensor { ref name, .. } if name == "rope_factors_long.weight"),
        "{few}"
    );
    let zero = load(&ones, &[0.0; 4], None, 128).unwrap_err();
    assert!(matches!(zero, Error::Unsupported(_)), "{zero}");
}
