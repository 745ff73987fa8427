//! Tokens drawn from scores, without a model.

use ziggurat_models::{Error, Sampler, Sampling};

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
