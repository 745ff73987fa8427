//! Sequences that join and leave a batch: each writes what it writes alone.

use std::collections::BTreeMap;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use futures::executor::block_on;
use ziggurat_models::gguf::GgufFile;
use ziggurat_models::{
    Batch, BatchOptions, DecoderSlots, DecoderState, Error, Event, Finish, FullContext,
    GenerateOptions, LoadOptions, Message, Model, SequenceId,
};
use ziggurat_tensor::DType;

use crate::data;
use crate::decoders::{device, model_file, values, worst};
use crate::generation::{drawn, model, run};

/// What was told of a sequence.
#[derive(Debug, Default)]
struct Told {
    tokens: Vec<u32>,
    text: String,
    finish: Option<Finish>,
    error: Option<Error>,
}

impl Told {
    fn written(&self) -> (Vec<u32>, String) {
        (self.tokens.clone(), self.text.clone())
    }
}

/// What was told of all sequences.
#[derive(Debug, Default)]
struct All(BTreeMap<SequenceId, Told>);

impl All {
    fn note(&mut self, events: Vec<(SequenceId, Event)>) {
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
    fn finish(&mut self, batch: &mut Batch) {
        while !batch.is_empty() {
            self.note(batch.step().unwrap());
        }
    }
}

fn batch(model: &Model, slots: usize) -> Batch {
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
fn scores_of_a_slot_do_not_depend_on_its_neighbours() {
    let model = model();
    let decoder = model.decoder();
    let (a, b): (Vec<u32>, Vec<u32>) = ((1..20).collect(), (30..37).collect());
    // Scores of three tokens behind each, in a company of `others`.
    let together = |exchanged: bool| {
        let mut slots = DecoderSlots::new(decoder, 3, 64).unwrap();
        let (of_a, of_b) = if exchanged { (2, 0) } else { (0, 2) };
        slots.extend(of_a, &a).unwrap();
        slots.extend(of_b, &b).unwrap();
        let mut rows = [Vec::new(), Vec::new()];
        for token in [5, 6, 7] {
            let scores = slots.step(&[(2, token + 1), (0, token)]).unwrap();
            let vocabulary = scores.dims()[1];
            let scores = values(&scores);
            rows[0].extend_from_slice(&scores[..vocabulary]);
            rows[1].extend_from_slice(&scores[2 * vocabulary..]);
        }
        assert_eq!(
            [slots.len(of_a), slots.len(1), slots.len(of_b)],
            [22, 0, 10]
        );
        rows
    };
    let alone = |prompt: &[u32], first: u32| {
        let mut slots = DecoderSlots::new(decoder, 3, 64).unwrap();
        let mut state = DecoderState::new(decoder, 64).unwrap();
        slots.extend(1, prompt).unwrap();
        state.extend(prompt).unwrap();
        let (mut in_slot, mut of_state) = (Vec::new(), Vec::new());
        for token in [first, first + 1, first + 2] {
            let scores = values(&slots.step(&[(1, token)]).unwrap());
            let vocabulary = scores.len() / 3;
            in_slot.extend_from_slice(&scores[vocabulary..2 * vocabulary]);
            of_state.extend(values(&state.extend(&[token]).unwrap()));
        }
        // Another number of rows may be another kernel.
        assert!(worst(&in_slot, &of_state) < 1e-4);
        in_slot
    };
    // In every bit, where the same number of slots makes the same kernels.
    let expected = [alone(&a, 5), alone(&b, 6)];
    assert_eq!(together(false), expected);
    // A neighbour's keys and length are noticed.
    let exchanged = together(true);
    assert!(worst(&exchanged[0], &expected[0]) > 1e-2);
    assert!(worst(&exchanged[1], &expected[1]) > 1e-2);
}

#[test]
fn steps_of_slots_refuse_what_does_not_fit() {
    let model = model();
    let mut slots = DecoderSlots::new(model.decoder(), 2, 4).unwrap();
    slots.extend(0, &[1, 2, 3]).unwrap();
    slots.extend(1, &[4]).unwrap();
    let options = |error: Result<_, Error>| {
        let error = error.map(drop).unwrap_err();
        assert!(matches!(error, Error::Options(_)), "{error}");
    };
    options(slots.step(&[(2, 1)]));
    options(slots.step(&[(1, 1), (1, 2)]));
    options(slots.extend(2, &[1]));
    options(
        DecoderSlots::new(model.decoder(), 0, 4)
            .map(drop)
            .and(slots.step(&[(7, 0)])),
    );
    assert!(matches!(slots.step(&[]), Err(Error::NoTokens)));
    let unknown = slots.step(&[(0, 1), (1, 4000)]).unwrap_err();
    assert!(matches!(unknown, Error::UnknownToken { token: 4000, .. }));
    slots.step(&[(0, 1)]).unwrap();
    let full = slots.step(&[(1, 1), (0, 1)]).unwrap_err();
    assert!(matches!(
        full,
        Error::ContextFull {
            needed: 5,
            limit: 4
        }
    ));
    assert_eq!([slots.len(0), slots.len(1), slots.len(9)], [4, 1, 0]);
    // The other one goes on beside one that is full.
    let captured = slots.dispatches();
    let scores = values(&slots.step(&[(1, 9)]).unwrap());
    assert_eq!(slots.dispatches(), captured);
    let mut state = DecoderState::new(model.decoder(), 4).unwrap();
    state.extend(&[4]).unwrap();
    let expected = values(&state.extend(&[9]).unwrap());
    assert!(worst(&scores[scores.len() / 2..], &expected) < 1e-4);
    let long = DecoderSlots::new(model.decoder(), 2, 97).unwrap_err();
    assert!(matches!(
        long,
        Error::ContextFull {
            needed: 97,
            limit: 96
        }
    ));
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
    let model = with_context(700);
    let tokens_of = |prompt: &str| {
        model
            .tokenizer()
            .encode_with_specials(prompt)
            .unwrap()
            .len()
    };
    // One token more than two whole pieces.
    let mut long = "a fox ".repeat(40);
    while tokens_of(&long) < 513 {
        long.push('a');
    }
    assert_eq!(tokens_of(&long), 513);
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
fn a_wait_that_is_dropped_loses_nothing_of_a_batch() {
    let model = model();
    let mut batch = batch(&model, 2);
    let first = batch.join("The fox", &drawn(1)).unwrap();
    let second = batch.join("x", &drawn(2)).unwrap();
    let (mut all, mut dropped) = (All::default(), 0);
    let mut context = Context::from_waker(Waker::noop());
    while !batch.is_empty() {
        let polled = pin!(batch.advance()).poll(&mut context);
        let events = match polled {
            Poll::Ready(events) => events,
            Poll::Pending => {
                dropped += 1;
                block_on(batch.advance())
            }
        };
        all.note(events.unwrap());
    }
    // A step that is polled behind its result has nothing more.
    let mut step = batch.advance();
    assert!(block_on(&mut step).unwrap().is_empty());
    assert!(block_on(&mut step).unwrap().is_empty());
    drop(step);
    assert!(dropped > 0);
    assert_eq!(all.0[&first].written(), run(&model, "The fox", &drawn(1)));
    assert_eq!(all.0[&second].written(), run(&model, "x", &drawn(2)));
}

#[test]
fn a_device_that_is_lost_is_an_error_and_texts_go_on_with_another() {
    let model = model();
    let mut batch = batch(&model, 2);
    let ids = ["The fox", "x"].map(|prompt| {
        batch
            .join(
                prompt,
                &GenerateOptions {
                    max_tokens: Some(20),
                    ignore_end: true,
                    ..GenerateOptions::default()
                },
            )
            .unwrap()
    });
    let mut all = All::default();
    for _ in 0..6 {
        all.note(batch.step().unwrap());
    }
    model.decoder().device().executor().device().destroy();
    for _ in 0..2 {
        let error = batch.step().unwrap_err();
        assert!(
            matches!(&error, Error::Tensor(error) if error.is_device_lost()),
            "{error}"
        );
    }
    // The texts so far are there, and another device goes on with them.
    let model = crate::generation::model();
    let mut again = DecoderState::new(model.decoder(), 96).unwrap();
    for (id, prompt) in ids.into_iter().zip(["The fox", "x"]) {
        let so_far = batch.tokens(id).unwrap();
        assert!(so_far.ends_with(&all.0[&id].tokens) && all.0[&id].tokens.len() >= 5);
        let (whole, _) = run(
            &model,
            prompt,
            &GenerateOptions {
                max_tokens: Some(20),
                ignore_end: true,
                ..GenerateOptions::default()
            },
        );
        again.clear();
        let scores = values(&again.extend(so_far).unwrap());
        let best = (0..scores.len())
            .max_by(|&a, &b| scores[a].total_cmp(&scores[b]))
            .unwrap();
        assert_eq!(best as u32, whole[all.0[&id].tokens.len()]);
    }
}

#[test]
fn caches_of_16_and_8_bits_are_near_and_smaller() {
    let model = model();
    let decoder = model.decoder();
    let device = decoder.device();
    let tokens: Vec<u32> = (0..60).map(|at| at * 7 % 96).collect();
    let (mut bytes, mut all) = (Vec::new(), Vec::new());
    for dtype in [DType::F32, DType::F16, DType::I8] {
        let before = device.usage().live;
        let mut state = DecoderState::with_cache(decoder, 96, dtype).unwrap();
        bytes.push(device.usage().live - before);
        // All at once, where attention reads the cache too, and one by one by replays.
        let mut scores = values(&state.scores(&tokens[..50]).unwrap());
        for &token in &tokens[50..] {
            scores.extend(values(&state.extend(&[token]).unwrap()));
        }
        all.push(scores);
    }
    let [halves, eighths] = [1, 2].map(|at| worst(&all[at], &all[0]));
    let highest = all[0]
        .iter()
        .fold(0.0f32, |most, score| most.max(score.abs()));
    println!("scores up to {highest}: f16 {halves:.1e}, i8 {eighths:.1e}; {bytes:?} bytes");
    // As with activations of f16: 2⁻¹¹ of scores up to 18, some times over. 1/254 of the greatest element is 16 times 2⁻¹² of each.
    assert!(halves > 0.0 && halves < 0.3, "{halves}");
    assert!(
        eighths > 4.0 * halves && eighths < 64.0 * halves,
        "{eighths}"
    );
    // Heads of 16 elements, and a factor of four bytes; the pool rounds up.
    let part = |at: usize| bytes[at] as f64 / bytes[0] as f64;
    assert!(part(1) < 0.55 && part(2) < 0.35, "{bytes:?}");
    let other = DecoderState::with_cache(decoder, 96, DType::BF16);
    assert!(matches!(other, Err(Error::Options(_))));
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
