//! Batches whose steps are not waited for, and whose device is lost.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use futures::executor::block_on;
use ziggurat_models::{DecoderState, Error, GenerateOptions};

use crate::batches::{All, batch};
use crate::decoders::values;
use crate::generation::{drawn, model, run};

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
