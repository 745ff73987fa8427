//! Tokens drawn from scores, on the host and on a device.

use std::collections::BTreeMap;

use ziggurat_models::{
    Batch, BatchOptions, DeviceSampler, Error, Event, FullContext, GenerateOptions, Sampler,
    Sampling, SequenceId,
};
use ziggurat_tensor::Tensor;

use crate::decoders::device;
use crate::generation::{drawn, model, run};

#[test]
fn samplers_draw_by_probability_from_what_is_left() {
    let draws = |options: Sampling| {
        let mut sampler = Sampler::new(options).unwrap();
        let mut counts = [0usize; 4];
        for _ in 0..4000 {
            let mut scores = [0.0, f32::ln(2.0), f32::ln(4.0), f32::ln(1.0)];
            counts[sampler.draw(&mut scores, &[]).unwrap() as usize] += 1;
        }
        counts
    };
    let all = Sampling {
        temperature: 1.0,
        top_k: 0,
        top_p: 1.0,
        min_p: 0.0,
        ..Sampling::default()
    };
    // 1 : 2 : 4 : 1 of 4000, within five standard deviations.
    for (count, wanted) in draws(all.clone()).into_iter().zip([500, 1000, 2000, 500]) {
        assert!(count.abs_diff(wanted) < 160, "{count} instead of {wanted}");
    }
    let of = |counts: [usize; 4]| counts.map(|count| count > 0);
    let two = [false, true, true, false];
    assert_eq!(
        of(draws(Sampling {
            top_k: 2,
            ..all.clone()
        })),
        two
    );
    assert_eq!(
        of(draws(Sampling {
            top_p: 0.7,
            ..all.clone()
        })),
        two
    );
    assert_eq!(
        of(draws(Sampling {
            min_p: 0.4,
            ..all.clone()
        })),
        two
    );
    assert_eq!(
        of(draws(Sampling {
            top_p: 1e-6,
            ..all.clone()
        })),
        [false, false, true, false]
    );
    assert_eq!(
        of(draws(Sampling {
            temperature: 0.01,
            ..all.clone()
        })),
        [false, false, true, false]
    );
    for wrong in [
        Sampling {
            temperature: -1.0,
            ..all.clone()
        },
        Sampling {
            temperature: f32::NAN,
            ..all.clone()
        },
        Sampling {
            top_p: 0.0,
            ..all.clone()
        },
        Sampling {
            min_p: 1.5,
            ..all.clone()
        },
        Sampling {
            repetition_penalty: 0.0,
            ..all.clone()
        },
    ] {
        assert!(matches!(Sampler::new(wrong), Err(Error::Options(_))));
    }
    let mut sampler = Sampler::new(all).unwrap();
    assert!(matches!(
        sampler.draw(&mut [0.0, f32::NAN], &[]),
        Err(Error::Scores(2))
    ));
    assert!(matches!(sampler.draw(&mut [], &[]), Err(Error::Scores(0))));
}

#[test]
fn biases_favour_and_ban_tokens() {
    let draw = |bias: &[(u32, f32)], temperature: f32| {
        let options = Sampling {
            temperature,
            top_k: 0,
            top_p: 1.0,
            min_p: 0.0,
            logit_bias: bias.to_vec(),
            ..Sampling::default()
        };
        let mut sampler = Sampler::new(options)?;
        let scores = [1.0, 3.0, 2.0];
        (0..200)
            .map(|_| sampler.draw(&mut scores.clone(), &[]))
            .collect::<Result<Vec<_>, _>>()
    };
    assert!(draw(&[], 0.0).unwrap().iter().all(|&token| token == 1));
    let favoured = draw(&[(0, 2.5), (77, 5.0)], 0.0).unwrap();
    assert!(favoured.iter().all(|&token| token == 0));
    let banned = [(1, f32::NEG_INFINITY), (2, f32::NEG_INFINITY)];
    assert!(draw(&banned, 50.0).unwrap().iter().all(|&token| token == 0));
    assert!(draw(&banned[..1], 50.0).unwrap().contains(&2));
    let all = [&banned[..], &[(0, f32::NEG_INFINITY)]].concat();
    for temperature in [0.0, 1.0] {
        assert!(matches!(draw(&all, temperature), Err(Error::Scores(3))));
    }
    for wrong in [f32::NAN, f32::INFINITY] {
        assert!(matches!(draw(&[(0, wrong)], 1.0), Err(Error::Options(_))));
    }
    // A ban holds for a score that is infinite, too.
    let mut sampler = Sampler::new(Sampling {
        logit_bias: vec![(1, f32::NEG_INFINITY)],
        ..Sampling::default()
    })
    .unwrap();
    assert_eq!(sampler.draw(&mut [0.0, f32::INFINITY], &[]).unwrap(), 0);
}

/// Scores that differ from each other, in rows of so many.
fn scores(seed: u64, rows: usize, vocabulary: usize) -> Vec<f32> {
    let mut state = seed;
    let score = |_| {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 40) as f32 / (1u64 << 24) as f32 * 12.0 - 6.0
    };
    (0..rows * vocabulary).map(score).collect()
}

fn on_device(sampling: &Sampling) -> Sampling {
    Sampling {
        on_device: true,
        ..sampling.clone()
    }
}

#[test]
fn devices_draw_what_the_host_draws() {
    const ROWS: usize = 6;
    let device = device();
    let mut all = Vec::new();
    for temperature in [0.0, 0.4, 1.7] {
        for top_k in [1, 5, 40, 64] {
            for (top_p, min_p) in [(1.0, 0.0), (0.9, 0.05), (0.3, 0.0), (1.0, 0.4), (1e-6, 1.0)] {
                all.push(Sampling {
                    temperature,
                    top_k,
                    top_p,
                    min_p,
                    seed: all.len() as u64,
                    on_device: true,
                    ..Sampling::default()
                });
            }
        }
    }
    // Every third is penalised, every second biased.
    for (at, sampling) in all.iter_mut().enumerate() {
        if at % 3 == 0 {
            (sampling.repetition_penalty, sampling.repetition_window) = (1.5, 20);
        }
        if at % 2 == 0 {
            let bans = (0..40).map(|at| (at * 2, f32::NEG_INFINITY));
            sampling.logit_bias = bans.chain([(7, 4.0), (9, -2.5), (7, 1.0)]).collect();
        }
    }
    let (mut different, mut draws) = (0, 0);
    for vocabulary in [50, 300] {
        let mut sampler = DeviceSampler::new(&device, ROWS, vocabulary);
        for (number, chunk) in all.chunks(ROWS).enumerate() {
            let of = |sampling: &Sampling| Sampler::new(sampling.clone()).unwrap();
            let mut hosts: Vec<Sampler> = chunk.iter().map(of).collect();
            let mut devices = hosts.clone();
            let mut others: Vec<Sampler> = (chunk.iter())
                .map(|sampling| {
                    let seed = sampling.seed + 1000;
                    let sampling = sampling.clone();
                    of(&Sampling { seed, ..sampling })
                })
                .collect();
            let before: Vec<u32> = (0..30).map(|at| at * 3 % 50).collect();
            for round in 0..4 {
                let mut values = scores((number * 10 + round) as u64, ROWS, vocabulary);
                let tensor = Tensor::from_slice(&device, &values, [ROWS, vocabulary]).unwrap();
                let mut given: Vec<_> = (devices.iter_mut())
                    .map(|device| device.on_device(&before))
                    .collect();
                assert!(given.iter().all(Option::is_some));
                given.resize_with(ROWS, || None);
                let tokens = sampler.draw(&tensor, &given).unwrap();
                let tokens = tokens.to_vec_blocking::<i32>().unwrap();
                for (row, (host, other)) in hosts.iter_mut().zip(&mut others).enumerate() {
                    let values = &mut values[row * vocabulary..][..vocabulary];
                    let changed = other.draw(&mut values.to_vec(), &before).unwrap();
                    let token = host.draw(values, &before).unwrap();
                    let sampling = &chunk[row];
                    assert_eq!(tokens[row], token as i32, "{vocabulary} {sampling:?}");
                    different += usize::from(changed != token);
                    draws += 1;
                }
            }
        }
    }
    // Other random numbers would be noticed.
    println!("{draws} draws, {different} others with another seed");
    assert!(draws == 480 && different > 100, "{draws} {different}");
}

#[test]
fn devices_tell_of_rows_without_a_token() {
    let device = device();
    let mut sampler = DeviceSampler::new(&device, 5, 4);
    let (inf, nan) = (f32::INFINITY, f32::NAN);
    let rows = [
        [1.0, nan, 3.0, 0.0],
        [-inf, -inf, -inf, -inf],
        [0.0, 1.0, inf, 2.0],
        [-inf, -inf, 0.0, -inf],
        [3.0, 2.0, 1.0, 0.0],
    ];
    let tensor = Tensor::from_slice(&device, &rows.concat(), [5, 4]).unwrap();
    for temperature in [0.0, 1.0] {
        let sampling = on_device(&Sampling {
            temperature,
            top_p: 1.0,
            ..Sampling::default()
        });
        let mut one = Sampler::new(sampling.clone()).unwrap();
        // All tokens of the last row are banned, the infinite one too.
        let banned = Sampling {
            logit_bias: (0..4).map(|token| (token, -inf)).collect(),
            ..sampling
        };
        let mut draws: Vec<_> = (0..4).map(|_| one.on_device(&[])).collect();
        draws.push(Sampler::new(banned).unwrap().on_device(&[]));
        let tokens = sampler.draw(&tensor, &draws).unwrap();
        let tokens = tokens.to_vec_blocking::<i32>().unwrap();
        assert_eq!(tokens, [-1, -1, 2, 2, -1]);
    }
    let few = sampler.draw(&tensor, &[None]).unwrap_err();
    assert!(matches!(few, Error::Options(_)), "{few}");
    let narrow = Tensor::from_slice(&device, &[0.0f32; 15], [5, 3]).unwrap();
    let none = [const { None }; 5];
    assert!(matches!(
        sampler.draw(&narrow, &none),
        Err(Error::Options(_))
    ));
    let nothing = DeviceSampler::new(&device, 5, 0).draw(&narrow, &none);
    assert!(matches!(nothing, Err(Error::Options(_))));
}

#[test]
fn the_host_draws_what_a_device_cannot() {
    let is = |sampling: Sampling| Sampler::new(sampling).unwrap().is_on_device();
    let greedy = on_device(&Sampling::default());
    assert!(is(greedy.clone()) && !is(Sampling::default()));
    let drawn = |top_k| Sampling {
        temperature: 1.0,
        top_k,
        ..greedy.clone()
    };
    assert!(is(drawn(1)) && is(drawn(64)) && !is(drawn(0)) && !is(drawn(65)));
    assert!(is(Sampling {
        top_k: 0,
        ..greedy.clone()
    }));
    let penalised = |biases: u32, window| Sampling {
        repetition_penalty: 1.1,
        repetition_window: window,
        logit_bias: (0..biases).map(|token| (token, 1.0)).collect(),
        ..greedy.clone()
    };
    assert!(is(penalised(64, 64)) && !is(penalised(65, 64)) && !is(penalised(0, 129)));
    assert!(Sampler::new(drawn(0)).unwrap().on_device(&[]).is_none());
}

#[test]
fn texts_drawn_on_the_device_are_those_of_the_host() {
    let model = model();
    let host = |seed| {
        let mut options = drawn(seed);
        (options.sampling.top_k, options.sampling.repetition_penalty) = (30, 1.2);
        options
    };
    let on_device = |options: GenerateOptions| GenerateOptions {
        sampling: on_device(&options.sampling),
        ..options
    };
    let greedy = GenerateOptions {
        max_tokens: Some(20),
        ignore_end: true,
        ..GenerateOptions::default()
    };
    let all = [host(1), host(2), greedy, drawn(4)];
    let texts: Vec<_> = all
        .iter()
        .map(|options| run(&model, "The fox", options))
        .collect();
    for (options, text) in all.iter().zip(&texts) {
        assert_eq!(run(&model, "The fox", &on_device(options.clone())), *text);
    }
    // The model is shown tokens before the host has read them: to the end of the context and behind it, and up to a stop text.
    let mut ahead = drawn(5);
    ahead.sampling.top_k = 30;
    (ahead.max_tokens, ahead.ignore_end) = (Some(150), true);
    ahead.full = FullContext::Slide { keep: 2 };
    let text = run(&model, "The fox", &ahead);
    assert_eq!(text.0.len(), 150);
    assert_eq!(run(&model, "The fox", &on_device(ahead.clone())), text);
    let middle = text.1.chars().skip(text.1.chars().count() / 2).take(3);
    ahead.stop = vec![middle.collect()];
    let stopped = run(&model, "The fox", &ahead);
    assert!(stopped.0.len() < 150);
    assert_eq!(run(&model, "The fox", &on_device(ahead)), stopped);
    // Together, some of them on the host: the last one is in any case.
    let mut batch = Batch::new(&model, 5, BatchOptions::default()).unwrap();
    let mut ids = vec![batch.join("The fox", &host(2)).unwrap()];
    let mut told: BTreeMap<SequenceId, Vec<u32>> = BTreeMap::new();
    let mut note = |batch: &mut Batch| {
        for (id, event) in batch.step().unwrap() {
            match event {
                Event::Piece(piece) => told.entry(id).or_default().extend(piece.token),
                Event::Finished(_) => {}
                Event::Failed(error) => panic!("{error}"),
            }
        }
    };
    for options in all {
        note(&mut batch);
        ids.push(batch.join("The fox", &on_device(options)).unwrap());
    }
    while !batch.is_empty() {
        note(&mut batch);
    }
    let expected = [&texts[1], &texts[0], &texts[1], &texts[2], &texts[3]];
    for (id, text) in ids.iter().zip(expected) {
        assert_eq!(told[id], text.0);
    }
}
