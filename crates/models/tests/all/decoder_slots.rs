//! Decoders with several sequences at once: their scores, what does not fit, and the dtypes of their caches.

use ziggurat_models::{DecoderSlots, DecoderState, Error};
use ziggurat_tensor::{DType, Tensor};

use crate::decoders::{values, worst};
use crate::generation::model;

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
fn drawn_tokens_are_tokens_of_a_step() {
    let model = model();
    let decoder = model.decoder();
    let begun = || {
        let mut slots = DecoderSlots::new(decoder, 2, 6).unwrap();
        slots.extend(0, &[1, 2, 3]).unwrap();
        slots.extend(1, &[4]).unwrap();
        slots
    };
    let drawn =
        |tokens: &[i32]| Tensor::from_slice(decoder.device(), tokens, [tokens.len()]).unwrap();
    let (mut known, mut ahead) = (begun(), begun());
    for tokens in [[5, 6], [7, 8]] {
        let named = [(0, tokens[0]), (1, tokens[1])];
        let expected = values(&known.step(&named).unwrap());
        let tokens = drawn(&tokens.map(u32::cast_signed));
        let scores = values(&ahead.step_drawn(&[0, 1], &tokens).unwrap());
        assert_eq!(scores, expected);
        // Other tokens are noticed.
        let other = values(&begun().step_drawn(&[0, 1], &drawn(&[9, 9])).unwrap());
        assert!(worst(&other, &expected) > 1e-2);
    }
    assert_eq!([ahead.len(0), ahead.len(1)], [5, 3]);
    let tokens = drawn(&[1, 1]);
    let floats = tokens.to_dtype(DType::F32).unwrap();
    for (slots, tokens) in [
        (&[0, 0][..], &tokens),
        (&[2], &tokens),
        (&[0], &drawn(&[1])),
        (&[0], &floats),
    ] {
        let error = ahead.step_drawn(slots, tokens).unwrap_err();
        assert!(matches!(error, Error::Options(_)), "{error}");
    }
    assert!(matches!(
        ahead.step_drawn(&[], &tokens),
        Err(Error::NoTokens)
    ));
    ahead.step_drawn(&[0], &tokens).unwrap();
    let full = ahead.step_drawn(&[1, 0], &tokens);
    assert!(matches!(
        full,
        Err(Error::ContextFull {
            needed: 7,
            limit: 6
        })
    ));
    assert_eq!([ahead.len(0), ahead.len(1)], [6, 3]);
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
