//! Long texts, lost devices, and models that share one.

use std::sync::Arc;

use ziggurat_models::{
    Decoder, DecoderState, Error, FullContext, GenerateOptions, LoadOptions, ModelFile, Sampler,
    Sampling,
};

use crate::data;
use crate::decoders::{device, values};
use crate::generation::{drawn, model, run};

#[test]
fn a_text_goes_on_after_its_device_is_lost() {
    let greedy = |tokens| GenerateOptions {
        max_tokens: Some(tokens),
        ignore_end: true,
        ..GenerateOptions::default()
    };
    let lost = model();
    let (whole, _) = run(&lost, "The fox", &greedy(20));
    let mut generation = lost.generate("The fox", &greedy(20)).unwrap();
    let prompt = generation.tokens().len();
    for _ in 0..8 {
        generation.next().unwrap().unwrap();
    }
    lost.decoder().device().executor().device().destroy();
    let error = generation.next().unwrap().unwrap_err();
    assert!(
        matches!(&error, Error::Tensor(error) if error.is_device_lost()),
        "{error}"
    );
    assert!(generation.next().is_none());
    assert_eq!(generation.finish(), None);
    assert_eq!(generation.tokens()[prompt..], whole[..8]);
    // Another device goes on with the tokens.
    let again = model();
    let mut state = DecoderState::new(again.decoder(), 96).unwrap();
    let mut sampler = Sampler::new(Sampling::default()).unwrap();
    let mut unseen = generation.tokens().to_vec();
    let mut rest = Vec::new();
    while rest.len() < 12 {
        let mut scores = values(&state.extend(&unseen).unwrap());
        let token = sampler.draw(&mut scores, &[]).unwrap();
        rest.push(token);
        unseen = vec![token];
    }
    assert_eq!(rest, whole[8..]);
}

#[test]
fn two_models_of_one_device_do_not_disturb_each_other() {
    let device = device();
    let load = |name| {
        let file = ModelFile::open(data("folders").join(name)).unwrap();
        Decoder::load(&device, &file, &LoadOptions::default())
    };
    let decoders = ["mistral", "qwen3"].map(|name| Arc::new(load(name).unwrap()));
    let alone = decoders.each_ref().map(|decoder| {
        let mut state = DecoderState::new(decoder, 40).unwrap();
        let first = values(&state.extend(&[5, 6, 7]).unwrap());
        let steps = (0..6).flat_map(|token| values(&state.extend(&[token]).unwrap()));
        [first, steps.collect()].concat()
    });
    let mut states = decoders
        .each_ref()
        .map(|decoder| DecoderState::new(decoder, 40).unwrap());
    let mut together = states
        .each_mut()
        .map(|state| values(&state.extend(&[5, 6, 7]).unwrap()));
    for token in 0..6 {
        for (state, scores) in states.iter_mut().zip(&mut together) {
            scores.extend(values(&state.extend(&[token]).unwrap()));
        }
    }
    assert_eq!(together, alone);
    assert_ne!(alone[0], alone[1]);
}

#[test]
fn memory_is_flat_over_thousands_of_tokens() {
    let model = model();
    let device = model.decoder().device().clone();
    // The window slides some forty times.
    let options = GenerateOptions {
        full: FullContext::Slide { keep: 2 },
        max_tokens: Some(2000),
        ..drawn(3)
    };
    let mut generation = model.generate("The fox", &options).unwrap();
    let mut used = Vec::new();
    for (at, piece) in generation.by_ref().enumerate() {
        piece.unwrap();
        if at % 100 == 99 {
            used.push(device.usage().live);
        }
    }
    assert!(used.len() >= 20);
    println!("{used:?}");
    assert!(used[1..].iter().all(|bytes| *bytes == used[1]), "{used:?}");
    let peak = device.usage().peak;
    assert!(peak < 2 * used[1], "{peak} {used:?}");
}
