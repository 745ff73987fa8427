//! Sequences that join and leave a batch: each writes what it writes alone.

use std::collections::BTreeMap;

use ziggurat_models::gguf::GgufFile;
use ziggurat_models::{
    Batch, BatchOptions, Error, Event, Finish, FullContext, GenerateOptions, LoadOptions, Message,
    Model, SequenceId,
};
use ziggurat_tensor::{AdapterKind, DType};

use crate::data;
use crate::decoders::{device, model_file};
use crate::generation::{drawn, model, run};

/// What was told of a sequence.
#[derive(Debug, Default)]
pub(crate) struct Told {
    pub(crate) tokens: Vec<u32>,
    text: String,
    finish: Option<Finish>,
    error: Option<Error>,
}

impl Told {
    pub(crate) fn written(&self) -> (Vec<u32>, String) {
        (self.tokens.clone(), self.text.clone())
    }
}

/// What was told of all sequences.
#[derive(Debug, Default)]
pub(crate) struct All(pub(crate) BTreeMap<SequenceId, Told>);

impl All {
    pub(crate) fn note(&mut self, events: Vec<(SequenceId, Event)>) {
        for (id, event) in events {
            let told = self.0.entry(id).or_default();
            assert!(told.finish.is_none() && told.error.is_none(), "{id} left");
            match event {
                Event::Piece(piece) => {
                    told.tokens.extend(piece.token);
                    told.text.push_str(&piece.text);
                }
                Event::Finished(finish) => told.finish = Some(finish),
                Event::Failed(error) => told.error = Some(error),
            }
        }
    }

    /// Steps until every sequence has left.
    pub(crate) fn finish(&mut self, batch: &mut Batch) {
        while !batch.is_empty() {
            self.note(batch.step().unwrap());
        }
    }
}

pub(crate) fn batch(model: &Model, slots: usize) -> Batch {
    Batch::new(model, slots, BatchOptions::default()).unwrap()
}

fn lasting(seed: u64, tokens: usize) -> GenerateOptions {
    GenerateOptions {
        max_tokens: Some(tokens),
        ..drawn(seed)
    }
}

/// The model with a context of so many tokens.
fn with_context(context: u32) -> Model {
    let mut bytes = std::fs::read(data("llama.gguf")).unwrap();
    let key = b"llama.context_length";
    let at = bytes.windows(key.len()).position(|w| w == key).unwrap() + key.len() + 4;
    bytes[at..at + 4].copy_from_slice(&context.to_le_bytes());
    let file = GgufFile::from_bytes(bytes).unwrap().into();
    Model::load(&device(), &file, LoadOptions::default()).unwrap()
}

#[test]
fn sequences_that_join_and_leave_write_what_they_write_alone() {
    let model = model();
    // Prompt, seed, length, and the step before which it joins.
    let jobs = [
        ("The fox", 1, 30, 0),
        ("x", 2, 7, 0),
        ("The quick brown fox jumps over", 3, 22, 2),
        ("a", 4, 12, 11),
        ("The", 5, 25, 14),
    ];
    let mut batch = batch(&model, 3);
    let (mut all, mut ids, mut waiting) = (All::default(), Vec::new(), jobs.iter().peekable());
    let (mut step, mut at_once) = (0, 0);
    while waiting.peek().is_some() || !batch.is_empty() {
        while let Some(&(prompt, seed, tokens, _)) = waiting.next_if(|job| job.3 <= step) {
            ids.push(batch.join(prompt, &lasting(seed, tokens)).unwrap());
        }
        // One is cancelled in the middle: nothing more is told of it.
        if step == 9 {
            let left = batch.leave(ids[2]).unwrap();
            assert_eq!(batch.tokens(ids[2]), None);
            assert_eq!(batch.leave(ids[2]), None);
            assert!(left.ends_with(&all.0[&ids[2]].tokens));
        }
        at_once = at_once.max(batch.len());
        all.note(batch.step().unwrap());
        step += 1;
    }
    assert_eq!(at_once, 3);
    for (number, ((prompt, seed, tokens, _), id)) in jobs.into_iter().zip(ids).enumerate() {
        let alone = run(&model, prompt, &lasting(seed, tokens));
        let told = &all.0[&id];
        if number == 2 {
            assert!(told.tokens.len() > 3 && told.tokens.len() < tokens);
            assert_eq!(told.tokens, alone.0[..told.tokens.len()]);
            assert!(told.finish.is_none());
            continue;
        }
        assert_eq!(told.tokens.len(), tokens);
        assert_eq!(told.written(), alone, "sequence {id}");
        assert_eq!(told.finish, Some(Finish::MaxTokens));
        // Another seed would be noticed.
        assert_ne!(
            told.written(),
            run(&model, prompt, &lasting(seed + 100, tokens))
        );
    }
}

#[test]
fn eight_sequences_of_a_batch_write_what_they_write_one_after_the_other() {
    let model = model();
    let mut batch = batch(&model, 8);
    let prompts: Vec<String> = (1..9).map(|words| "The fox ".repeat(words)).collect();
    let mut ids = Vec::new();
    for (seed, prompt) in (0..).zip(&prompts) {
        ids.push(batch.join(prompt, &drawn(seed)).unwrap());
    }
    let full = batch.join("The", &drawn(8)).unwrap_err();
    assert!(matches!(full, Error::BatchFull { slots: 8 }), "{full}");
    let mut all = All::default();
    all.finish(&mut batch);
    for ((seed, prompt), id) in (0..).zip(&prompts).zip(ids) {
        assert_eq!(all.0[&id].written(), run(&model, prompt, &drawn(seed)));
    }
}

#[test]
fn every_sequence_has_its_own_options() {
    let model = model();
    let (tokens, whole) = run(&model, "x", &drawn(7));
    let middle: String = (whole.chars())
        .skip(whole.chars().count() / 2)
        .take(2)
        .collect();
    let mut stops = drawn(7);
    stops.stop = vec![middle];
    let mut penalised = drawn(7);
    penalised.sampling.repetition_penalty = 3.0;
    let mut banned = drawn(7);
    banned.sampling.logit_bias = vec![(tokens[0], f32::NEG_INFINITY)];
    let greedy = GenerateOptions {
        max_tokens: Some(30),
        ignore_end: true,
        ..GenerateOptions::default()
    };
    let none = lasting(7, 0);
    let mut all_options = vec![drawn(7), stops, penalised, banned, greedy, none];
    // One that ends where the model says so.
    let ending = (0..50).map(|seed| GenerateOptions {
        ignore_end: false,
        ..lasting(seed, 60)
    });
    let ends = |options: &GenerateOptions| run(&model, "x", options).0.len() < 60;
    all_options.push(ending.into_iter().find(ends).unwrap());
    let mut batch = batch(&model, all_options.len());
    let join = |options| batch.join("x", options).unwrap();
    let ids: Vec<_> = all_options.iter().map(join).collect();
    let mut all = All::default();
    all.finish(&mut batch);
    let mut texts = Vec::new();
    for (options, id) in all_options.iter().zip(&ids) {
        let told = &all.0[id];
        let mut generation = model.generate("x", options).unwrap();
        assert_eq!(generation.finish(), None);
        let pieces: Vec<_> = generation.by_ref().map(Result::unwrap).collect();
        let tokens: Vec<u32> = pieces.iter().filter_map(|piece| piece.token).collect();
        assert_eq!(told.tokens, tokens);
        assert_eq!(
            told.text,
            pieces.iter().map(|piece| &*piece.text).collect::<String>()
        );
        assert_eq!(told.finish, generation.finish());
        texts.push(told.tokens.clone());
    }
    let finish = |at: usize| all.0[&ids[at]].finish.unwrap();
    let (most, stop, end) = (Finish::MaxTokens, Finish::Stop, Finish::End);
    let finishes: Vec<_> = (0..ids.len()).map(finish).collect();
    assert_eq!(finishes, [most, stop, most, most, most, most, end]);
    // Each option makes a difference.
    texts.sort();
    texts.dedup();
    assert_eq!(texts.len(), ids.len());
    assert!(!all.0[&ids[3]].tokens.contains(&tokens[0]));
}

#[test]
fn a_full_context_is_of_one_sequence_alone() {
    let context = 24;
    let options = LoadOptions {
        context,
        ..LoadOptions::default()
    };
    let model = Model::load(&device(), &model_file("llama"), options).unwrap();
    let mut slides = lasting(1, 60);
    slides.full = FullContext::Slide { keep: 3 };
    let mut slides_to_one = lasting(2, 60);
    slides_to_one.full = FullContext::Slide { keep: 0 };
    let mut batch = batch(&model, 4);
    let jobs = [lasting(1, 60), slides, slides_to_one, lasting(4, 10)];
    let join = |options| batch.join("The fox", options).unwrap();
    let ids: Vec<_> = jobs.iter().map(join).collect();
    let mut all = All::default();
    all.finish(&mut batch);
    let told = &all.0[&ids[0]];
    let error = told.error.as_ref().unwrap();
    let wanted = matches!(error, Error::ContextFull { needed, limit } if *limit == context && *needed == context + 1);
    assert!(wanted, "{error}");
    let alone = model.generate("The fox", &jobs[0]).unwrap();
    let alone: Vec<u32> = alone.filter_map(|piece| piece.ok()?.token).collect();
    assert_eq!(told.tokens, alone);
    for (options, id) in jobs.iter().zip(&ids).skip(1) {
        assert_eq!(all.0[id].written(), run(&model, "The fox", options));
        assert_eq!(all.0[id].finish, Some(Finish::MaxTokens));
    }
    // A prompt that does not fit, and a context that the model does not have.
    let long = batch.join(&"word ".repeat(40), &drawn(1)).unwrap_err();
    assert!(
        matches!(long, Error::ContextFull { limit: 24, .. }),
        "{long}"
    );
    let mut far = BatchOptions::default();
    far.context = Some(25);
    let far = Batch::new(&model, 1, far).unwrap_err();
    assert!(matches!(
        far,
        Error::ContextFull {
            needed: 25,
            limit: 24
        }
    ));
}

#[test]
fn long_prompts_are_read_while_others_write() {
    let model = with_context(2_200);
    let piece = match model.decoder().device().adapter().kind {
        AdapterKind::Discrete => 1024,
        _ => 256,
    };
    let tokens_of = |prompt: &str| {
        model
            .tokenizer()
            .encode_with_specials(prompt)
            .unwrap()
            .len()
    };
    // One token more than two whole pieces.
    let mut long = "a fox ".repeat(40 * piece / 256);
    while tokens_of(&long) < 2 * piece + 1 {
        long.push('a');
    }
    assert_eq!(tokens_of(&long), 2 * piece + 1);
    let mut batch = batch(&model, 3);
    let short = batch.join("The fox", &lasting(1, 20)).unwrap();
    let mut all = All::default();
    all.note(batch.step().unwrap());
    let late = batch.join(&long, &lasting(2, 5)).unwrap();
    let next = batch.join(&long, &lasting(3, 5)).unwrap();
    for step in 2..8 {
        all.note(batch.step().unwrap());
        assert_eq!(all.0[&short].tokens.len(), step, "one token in each step");
        let begun = |id| all.0.get(&id).map_or(0, |told: &Told| told.tokens.len());
        assert_eq!(begun(late), step.saturating_sub(3), "{step}");
        assert_eq!(begun(next), usize::from(step == 7), "{step}");
    }
    all.finish(&mut batch);
    assert_eq!(
        all.0[&short].written(),
        run(&model, "The fox", &lasting(1, 20))
    );
    assert_eq!(all.0[&late].written(), run(&model, &long, &lasting(2, 5)));
    assert_eq!(all.0[&next].written(), run(&model, &long, &lasting(3, 5)));
}

#[test]
fn memory_is_flat_over_many_sequences() {
    let model = model();
    let device = model.decoder().device().clone();
    let mut batch = batch(&model, 3);
    let mut all = All::default();
    let mut used = Vec::new();
    let mut captured = None;
    for round in 0..40u64 {
        let first = batch.join("The fox", &lasting(round, 4)).unwrap();
        batch.join("x", &lasting(round, 2)).unwrap();
        all.note(batch.step().unwrap());
        if round % 3 == 0 {
            batch.leave(first).unwrap();
        }
        all.finish(&mut batch);
        let usage = device.usage();
        used.push((usage.live, usage.live + usage.cached));
        captured = captured.or(batch.dispatches());
        assert_eq!(batch.dispatches(), captured, "no other capture");
    }
    println!("{:?}", &used[..6]);
    assert!(used[5..].iter().all(|bytes| *bytes == used[5]), "{used:?}");
    let first = device.usage().live;
    drop(batch);
    assert!(device.usage().live < first);
}

#[test]
fn messages_join_by_the_template() {
    let model = model();
    let mut batch = batch(&model, 2);
    let question = [Message::new("user", "hi")];
    let id = batch.join_chat(&question, &drawn(3)).unwrap();
    let alone = model.chat(&question, &drawn(3)).unwrap();
    assert_eq!(batch.tokens(id).unwrap(), alone.tokens());
    let mut all = All::default();
    all.finish(&mut batch);
    let tokens: Vec<u32> = alone.filter_map(|piece| piece.unwrap().token).collect();
    assert_eq!(all.0[&id].tokens, tokens);
}

#[test]
fn sequences_share_a_cache_of_8_bits() {
    let model = model();
    let mut options = BatchOptions::default();
    options.cache = Some(DType::I8);
    let mut batch = Batch::new(&model, 2, options).unwrap();
    let eighths = |seed| GenerateOptions {
        cache: Some(DType::I8),
        ..drawn(seed)
    };
    let first = batch.join("The fox", &eighths(1)).unwrap();
    let second = batch.join("x", &drawn(2)).unwrap();
    let mut all = All::default();
    all.finish(&mut batch);
    assert_eq!(all.0[&first].written(), run(&model, "The fox", &eighths(1)));
    assert_eq!(all.0[&second].written(), run(&model, "x", &eighths(2)));
    let other = GenerateOptions {
        cache: Some(DType::F16),
        ..drawn(1)
    };
    assert!(matches!(batch.join("x", &other), Err(Error::Options(_))));
}
