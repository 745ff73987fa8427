//! Texts that a small model with random weights writes: what counts is that they are the same, and end where they should.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use futures::StreamExt as _;
use futures::executor::block_on;
use ziggurat_models::{
    DecoderState, Error, FullContext, GenerateOptions, Generation, LoadOptions, Message, Model,
    Sampler, Sampling,
};

use crate::decoders::{device, model_file, values};

pub(crate) fn model() -> Model {
    Model::load(&device(), &model_file("llama"), LoadOptions::default()).unwrap()
}

/// Tokens and text of a generation.
pub(crate) fn run(model: &Model, prompt: &str, options: &GenerateOptions) -> (Vec<u32>, String) {
    let pieces: Vec<_> = model
        .generate(prompt, options)
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let text: String = pieces.iter().map(|piece| piece.text.as_str()).collect();
    (
        pieces.iter().filter_map(|piece| piece.token).collect(),
        text,
    )
}

pub(crate) fn drawn(seed: u64) -> GenerateOptions {
    GenerateOptions {
        sampling: Sampling {
            temperature: 1.5,
            top_k: 0,
            top_p: 1.0,
            min_p: 0.0,
            seed,
            ..Sampling::default()
        },
        max_tokens: Some(30),
        ignore_end: true,
        ..GenerateOptions::default()
    }
}

#[test]
fn the_same_seed_gives_the_same_text() {
    let model = model();
    let first = run(&model, "The fox", &drawn(1));
    assert_eq!(first.0.len(), 30);
    assert_eq!(run(&model, "The fox", &drawn(1)), first);
    assert_ne!(run(&model, "The fox", &drawn(2)), first);
    let greedy = GenerateOptions {
        max_tokens: Some(30),
        ignore_end: true,
        ..GenerateOptions::default()
    };
    assert_eq!(
        run(&model, "The fox", &greedy),
        run(&model, "The fox", &greedy)
    );
}

#[test]
fn the_text_is_that_of_the_tokens() {
    let model = model();
    for seed in 3..6 {
        let (tokens, text) = run(&model, "x", &drawn(seed));
        assert_eq!(text, model.tokenizer().decode(&tokens));
    }
}

#[test]
fn a_stop_text_ends_and_is_left_out() {
    let model = model();
    let (_, whole) = run(&model, "x", &drawn(7));
    let middle: String = whole
        .chars()
        .skip(whole.chars().count() / 2)
        .take(2)
        .collect();
    let options = GenerateOptions {
        stop: vec![middle.clone()],
        ..drawn(7)
    };
    let (tokens, text) = run(&model, "x", &options);
    assert!(tokens.len() < 30);
    assert_eq!(text, whole.split(&middle).next().unwrap());
}

#[test]
fn a_context_that_is_full_is_an_error_behind_the_text() {
    let model = model();
    let options = GenerateOptions {
        max_tokens: None,
        ..drawn(1)
    };
    let mut generation = model.generate("The fox", &options).unwrap();
    let prompt = generation.tokens().len();
    let mut pieces = 0;
    let error = loop {
        match generation.next().unwrap() {
            Ok(_) => pieces += 1,
            Err(error) => break error,
        }
    };
    assert!(
        matches!(
            error,
            Error::ContextFull {
                needed: 97,
                limit: 96
            }
        ),
        "{error}"
    );
    assert_eq!(prompt + pieces, 97);
    assert!(generation.next().is_none());
    let long = "word ".repeat(200);
    let error = model.generate(&long, &options).unwrap_err();
    assert!(
        matches!(error, Error::ContextFull { limit: 96, .. }),
        "{error}"
    );
    assert!(matches!(model.generate("", &options), Err(Error::NoTokens)));
}

/// The tokens of `drawn(seed)` where each set of scores is computed anew over the window that the model still knows, without
/// a cache: all tokens, until they are more than `context`; then the first `keep` and half of what fits behind them.
fn over_windows(model: &Model, prompt: &[u32], context: usize, keep: usize) -> Vec<u32> {
    let options = drawn(6);
    let mut sampler = Sampler::new(options.sampling).unwrap();
    let (mut tokens, mut window) = (prompt.to_vec(), prompt.to_vec());
    for _ in 0..options.max_tokens.unwrap() {
        if window.len() > context {
            window = tokens[..keep].to_vec();
            let rest = ((context - keep) / 2).max(1);
            window.extend(&tokens[tokens.len() - rest..]);
        }
        let mut state = DecoderState::new(model.decoder(), context).unwrap();
        let scores = values(&state.scores(&window).unwrap());
        let vocabulary = model.decoder().config().vocabulary;
        let mut last = scores[scores.len() - vocabulary..].to_vec();
        let token = sampler.draw(&mut last, &tokens).unwrap();
        tokens.push(token);
        window.push(token);
    }
    tokens
}

#[test]
fn a_window_that_slides_gives_what_its_tokens_give_alone() {
    let context = 12;
    let options = LoadOptions {
        context,
        ..LoadOptions::default()
    };
    let model = Model::load(&device(), &model_file("llama"), options).unwrap();
    let prompt = model.tokenizer().encode_with_specials("The fox").unwrap();
    assert!(prompt.len() < context);
    for keep in [0, 1, 4, 11] {
        let options = GenerateOptions {
            full: FullContext::Slide { keep },
            ..drawn(6)
        };
        let mut generation = model.generate("The fox", &options).unwrap();
        assert!(generation.by_ref().all(|piece| piece.is_ok()));
        let expected = over_windows(&model, &prompt, context, keep);
        // The window slides several times.
        assert!(expected.len() > context + 3 * (context - keep) / 2);
        assert_eq!(generation.tokens(), expected, "{keep}");
        // Another window gives another text.
        let other = (keep + 2) % context;
        assert_ne!(expected, over_windows(&model, &prompt, context, other));
    }
}

#[test]
fn all_but_one_token_of_the_context_may_stay() {
    let model = model();
    let slide = |keep| GenerateOptions {
        full: FullContext::Slide { keep },
        max_tokens: Some(100),
        ..drawn(1)
    };
    let (tokens, _) = run(&model, "The fox", &slide(95));
    assert_eq!(tokens.len(), 100);
    let error = model.generate("The fox", &slide(96)).unwrap_err();
    assert!(matches!(error, Error::Options(_)), "{error}");
    assert!(error.to_string().ends_with("of 96 tokens, got 96"));
    let long = model.generate(&"word ".repeat(200), &slide(4));
    assert!(matches!(long, Err(Error::ContextFull { limit: 96, .. })));
}

#[test]
fn a_stream_gives_the_pieces_of_the_iterator() {
    let model = model();
    let options = drawn(4);
    let pieces = |generation: Generation| generation.map(Result::unwrap).collect::<Vec<_>>();
    let expected = pieces(model.generate("The fox", &options).unwrap());
    assert!(expected.len() > 10);
    let mut stream = model.generate("The fox", &options).unwrap().into_stream();
    let mut got = Vec::new();
    block_on(async {
        while let Some(piece) = stream.next().await {
            got.push(piece.unwrap());
        }
        assert!(stream.next().await.is_none());
    });
    assert_eq!(got, expected);
}

#[test]
fn an_error_is_the_last_item_of_a_stream() {
    let options = GenerateOptions {
        max_tokens: None,
        ..drawn(1)
    };
    let stream = model().generate("The fox", &options).unwrap().into_stream();
    let items: Vec<_> = block_on(stream.collect());
    let (last, others) = items.split_last().unwrap();
    assert!(
        matches!(last, Err(Error::ContextFull { limit: 96, .. })),
        "{last:?}"
    );
    assert!(others.len() > 80 && others.iter().all(Result::is_ok));
}

#[test]
fn a_stream_that_is_dropped_leaves_nothing() {
    let model = model();
    let mut stream = model.generate("The fox", &drawn(1)).unwrap().into_stream();
    assert!(Arc::strong_count(model.decoder()) > 1);
    let mut context = Context::from_waker(Waker::noop());
    block_on(stream.next()).unwrap().unwrap();
    // While it computes the second one, or behind it.
    let _ = stream.poll_next_unpin(&mut context);
    drop(stream);
    assert_eq!(Arc::strong_count(model.decoder()), 1);
    assert_eq!(run(&model, "The fox", &drawn(1)).0.len(), 30);
}

#[test]
fn a_wait_that_is_dropped_loses_nothing() {
    let model = model();
    let (expected, _) = run(&model, "The fox", &drawn(1));
    let mut context = Context::from_waker(Waker::noop());
    // A token may be there before it is asked for: on a busy machine all of them.
    for _ in 0..100 {
        let mut generation = model.generate("The fox", &drawn(1)).unwrap();
        let (mut tokens, mut dropped) = (Vec::new(), 0);
        while tokens.len() < expected.len() {
            let first = pin!(generation.advance()).poll(&mut context);
            let piece = match first {
                Poll::Ready(piece) => piece,
                Poll::Pending => {
                    dropped += 1;
                    block_on(generation.advance())
                }
            };
            tokens.extend(piece.unwrap().unwrap().token);
        }
        assert_eq!(tokens, expected);
        if dropped > 0 {
            return;
        }
    }
    panic!("no token had to be waited for");
}

#[test]
fn messages_go_through_the_template() {
    let model = model();
    let options = GenerateOptions {
        max_tokens: Some(1),
        ..GenerateOptions::default()
    };
    let generation = model.chat(&[Message::new("user", "hi")], &options).unwrap();
    let wanted = "<|im_start|>system\nYou are small<|im_end|>\n<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n";
    assert_eq!(
        generation.tokens(),
        model.tokenizer().encode(wanted).unwrap()
    );
    let begins = model.tokenizer().token("<|im_start|>").unwrap();
    assert_eq!(
        generation.tokens().iter().filter(|&&t| t == begins).count(),
        3
    );
}

#[test]
fn eight_generations_at_once_give_what_they_give_alone() {
    let model = model();
    let alone: Vec<_> = (0..8)
        .map(|seed| run(&model, "The", &drawn(seed)))
        .collect();
    let together: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|seed| {
                scope.spawn({
                    let model = &model;
                    move || run(model, "The", &drawn(seed))
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    assert_eq!(together, alone);
}
