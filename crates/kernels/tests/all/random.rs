//! Random numbers: the bits of the published algorithm, independence of how the work is laid out, and the distributions.

use crate::common;
use crate::operands;
use crate::operands::{Expected, check, output, shape};
use ziggurat_kernels::reference::random::{integers, normal, philox, uniform, words};
use ziggurat_kernels::{DType, Executor, KernelError, Random, RandomState};

const STATES: [RandomState; 3] = [
    RandomState {
        seed: 0,
        counter: 0,
        stream: 0,
    },
    RandomState {
        seed: u64::MAX,
        counter: u64::MAX,
        stream: u64::MAX,
    },
    RandomState {
        seed: 0x1234_5678_9abc_def0,
        counter: 0xffff_fffe,
        stream: 7,
    },
];

fn drawn(
    exec: &Executor,
    kind: Random,
    state: RandomState,
    dtype: DType,
    len: usize,
    front: usize,
) -> Vec<f64> {
    let out = output(exec, dtype, &[len], front);
    let _done = exec.random(kind, state, &out.view).unwrap();
    out.read(exec)
}

#[test]
fn words_are_those_of_the_published_algorithm_on_every_device() {
    for exec in [
        common::executor(),
        common::plain_executor(),
        common::narrow_executor(),
        common::matrix_executor(),
    ] {
        for state in STATES {
            for len in [0, 1, 2, 3, 4, 5, 1023, 4097] {
                for front in [0, 1] {
                    let got = drawn(&exec, Random::Bits, state, DType::U32, len, front);
                    let wanted: Vec<f64> = words(state, len).into_iter().map(f64::from).collect();
                    assert_eq!(got, wanted, "{state:?} {len}");
                }
            }
        }
    }
    assert_eq!(words(RandomState::default(), 4), philox([0; 4], [0; 2]));
}

#[test]
fn a_call_is_the_same_in_parts_and_beyond_a_row_of_workgroups() {
    let exec = common::narrow_executor();
    // 65,535 workgroups of 8 invocations of 4 elements are 2,097,120.
    let len = 2_097_120 + 7;
    let out = exec.alloc(&shape(&[len]), DType::U32).unwrap();
    let state = STATES[2];
    let _done = exec.random(Random::Bits, state, &out).unwrap();
    let bytes = exec.download(&out).unwrap().wait().unwrap();
    let got = bytemuck::pod_collect_to_vec::<u8, u32>(&bytes);
    assert_eq!(got, words(state, len));
    let later = RandomState {
        counter: state.counter.wrapping_add(100),
        ..state
    };
    let part = drawn(&exec, Random::Bits, later, DType::U32, 40, 0);
    assert!(
        part.iter()
            .zip(&got[400..])
            .all(|(part, &whole)| *part == f64::from(whole))
    );
}

#[test]
fn numbers_are_drawn_from_the_words_as_documented() {
    for exec in [common::executor(), common::plain_executor()] {
        for state in STATES {
            let even = words(state, 2002);
            let words = &even[..2001];
            for (dtype, digits) in [(DType::F32, 24), (DType::F16, 11), (DType::BF16, 8)] {
                let got = drawn(&exec, Random::Uniform, state, dtype, words.len(), 2);
                assert_eq!(got, uniform(words, digits), "{dtype}");
                assert!(got.iter().all(|x| (0.0..1.0).contains(x)));
                let got = drawn(&exec, Random::Normal, state, dtype, words.len(), 0);
                // Two numbers come from two words each.
                let wanted: Vec<_> = normal(&even)[..words.len()]
                    .iter()
                    .map(|&value| {
                        let bound = 4e-6 + operands::epsilon(dtype) * value.abs();
                        Expected { value, bound }.rounded(dtype)
                    })
                    .collect();
                check(&format!("normal {dtype}"), &got, &wanted);
            }
            for (dtype, low, count) in [
                (DType::I32, -3i32 as u32, 10),
                (DType::U32, 5, u32::MAX),
                (DType::I32, 9, 1),
            ] {
                let got = drawn(
                    &exec,
                    Random::Integer { low, count },
                    state,
                    dtype,
                    words.len(),
                    0,
                );
                let wanted: Vec<f64> = integers(words, low, count)
                    .into_iter()
                    .map(|x| {
                        if dtype == DType::I32 {
                            f64::from(x as i32)
                        } else {
                            f64::from(x)
                        }
                    })
                    .collect();
                assert_eq!(got, wanted, "{dtype} {low} {count}");
            }
        }
    }
}

/// The greatest distance between the distribution of the samples and `cdf`, times the root of their number: below 1.95
/// with a probability of 0.999 (Kolmogorov's distribution).
fn kolmogorov_smirnov(samples: &[f64], cdf: impl Fn(f64) -> f64) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len() as f64;
    let distance = |(i, &x): (usize, &f64)| {
        let at = cdf(x);
        (at - i as f64 / n)
            .abs()
            .max(((i + 1) as f64 / n - at).abs())
    };
    sorted.iter().enumerate().map(distance).fold(0.0, f64::max) * n.sqrt()
}

/// The normal distribution's function, by Simpson's rule over its density.
fn normal_cdf(x: f64) -> f64 {
    let density = |x: f64| (-x * x / 2.0).exp() / std::f64::consts::TAU.sqrt();
    let (steps, end) = (400, x.abs().min(9.0));
    let h = end / f64::from(steps);
    let sum: f64 = (0..=steps)
        .map(|i| {
            let weight = if i == 0 || i == steps {
                1.0
            } else if i % 2 == 1 {
                4.0
            } else {
                2.0
            };
            weight * density(f64::from(i) * h)
        })
        .sum();
    0.5 + (sum * h / 3.0).copysign(x)
}

/// What a sequence fails of: moments and distribution of uniform numbers, correlation with the next ones, equal bits.
fn faults(samples: &[f64]) -> Vec<&'static str> {
    let n = samples.len() as f64;
    let mean = samples.iter().sum::<f64>() / n;
    let variance = samples.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
    let lagged = |lag: usize| {
        let products = samples
            .iter()
            .zip(&samples[lag..])
            .map(|(x, y)| (x - mean) * (y - mean));
        products.sum::<f64>() / n / variance
    };
    let mut faults = Vec::new();
    // Four standard errors each.
    if (mean - 0.5).abs() > 4.0 / (12.0 * n).sqrt() {
        faults.push("mean");
    }
    if (variance - 1.0 / 12.0).abs() > 4.0 / (180.0 * n).sqrt() {
        faults.push("variance");
    }
    if kolmogorov_smirnov(samples, |x| x.clamp(0.0, 1.0)) > 1.95 {
        faults.push("distribution");
    }
    if [1, 2, 3, 4, 256, 1024]
        .into_iter()
        .any(|lag| lagged(lag).abs() > 4.5 / n.sqrt())
    {
        faults.push("correlation");
    }
    faults
}

#[test]
fn uniform_numbers_are_uniform_and_independent() {
    let exec = common::executor();
    for seed in [1, 2, 3] {
        let state = RandomState {
            seed,
            ..RandomState::default()
        };
        let samples = drawn(&exec, Random::Uniform, state, DType::F32, 100_000, 0);
        assert_eq!(faults(&samples), [""; 0], "seed {seed}");
    }
    // Neighbouring seeds and streams have nothing to do with each other.
    let of = |state| drawn(&exec, Random::Uniform, state, DType::F32, 50_000, 0);
    let first = of(STATES[0]);
    for other in [
        of(RandomState {
            seed: 1,
            ..STATES[0]
        }),
        of(RandomState {
            stream: 1,
            ..STATES[0]
        }),
    ] {
        let n = first.len() as f64;
        let product: f64 = first
            .iter()
            .zip(&other)
            .map(|(x, y)| (x - 0.5) * (y - 0.5))
            .sum();
        assert!((product / n * 12.0).abs() < 4.5 / n.sqrt());
    }
}

#[test]
fn skewed_generators_are_rejected() {
    let fair = uniform(&words(STATES[2], 100_000), 24);
    assert_eq!(faults(&fair), [""; 0]);
    let squared: Vec<f64> = fair.iter().map(|x| x.powf(1.03)).collect();
    assert!(faults(&squared).contains(&"mean") && faults(&squared).contains(&"distribution"));
    let narrow: Vec<f64> = fair.iter().map(|x| 0.5 + (x - 0.5) * 0.98).collect();
    assert!(faults(&narrow).contains(&"variance"));
    let repeated: Vec<f64> = fair
        .chunks(2)
        .flat_map(|pair| [pair[0], 0.9 * pair[1] + 0.1 * pair[0]])
        .collect();
    assert!(faults(&repeated).contains(&"correlation"));
    // A linear congruential generator, whose low bits hardly change.
    let mut x = 1_u32;
    let poor: Vec<f64> = (0..100_000)
        .map(|_| {
            x = x.wrapping_mul(65_539);
            f64::from(x & 0xffff) / 65_536.0
        })
        .collect();
    assert!(!faults(&poor).is_empty());
}

#[test]
fn normal_numbers_are_normal() {
    let exec = common::executor();
    let state = RandomState {
        seed: 11,
        ..RandomState::default()
    };
    let samples = drawn(&exec, Random::Normal, state, DType::F32, 100_000, 0);
    let n = samples.len() as f64;
    let moment = |k: i32| samples.iter().map(|x| x.powi(k)).sum::<f64>() / n;
    // Four standard errors of each moment.
    for (k, wanted, error) in [
        (1, 0.0, 1.0_f64),
        (2, 1.0, 2.0),
        (3, 0.0, 15.0),
        (4, 3.0, 96.0),
    ] {
        assert!(
            (moment(k) - wanted).abs() < 4.0 * (error / n).sqrt(),
            "moment {k} is {}",
            moment(k)
        );
    }
    assert!(kolmogorov_smirnov(&samples, normal_cdf) < 1.95);
    let wide: Vec<f64> = samples.iter().map(|x| x * 1.03).collect();
    assert!(
        kolmogorov_smirnov(&wide, normal_cdf) > 1.95,
        "a wider distribution is rejected"
    );
    assert!(samples.iter().all(|x| x.is_finite()) && samples.iter().any(|x| x.abs() > 4.0));
}

#[test]
fn what_does_not_fit_is_refused() {
    let exec = common::executor();
    let text = |kind, dtype| {
        let out = exec.alloc(&shape(&[4]), dtype).unwrap();
        let result: Result<_, KernelError> = exec.random(kind, RandomState::default(), &out);
        result.unwrap_err().to_string()
    };
    assert_eq!(
        text(Random::Bits, DType::I32),
        "random_bits: out is i32, but random words are u32"
    );
    assert_eq!(
        text(Random::Normal, DType::I32),
        "random_normal: out is i32, but it must be a float"
    );
    assert_eq!(
        text(Random::Integer { low: 0, count: 3 }, DType::U8),
        "random_integer: out is u8, but random integers are i32 or u32"
    );
    assert_eq!(
        text(Random::Integer { low: 0, count: 0 }, DType::I32),
        "random_integer: count must be at least 1, but it is 0"
    );
}
