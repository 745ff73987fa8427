//! Random tensors: what a generator promises, the distributions, and what is refused.

use crate::common;
use ziggurat_kernels::{RandomState, reference::random};
use ziggurat_tensor::{DType, Error, Generator, Tensor};

fn floats(tensor: &Tensor) -> Vec<f64> {
    tensor.to_f64_vec_blocking().unwrap()
}

#[test]
fn a_generator_goes_on_where_it_stopped() {
    let device = common::device();
    let mut generator = Generator::with_stream(9, 4);
    let first = Tensor::rand(&device, [2, 3], DType::F32, &mut generator).unwrap();
    assert_eq!(generator.counter(), 2);
    let second = Tensor::rand(&device, [4], DType::F32, &mut generator).unwrap();
    let state = RandomState {
        seed: 9,
        counter: 0,
        stream: 4,
    };
    let wanted = random::uniform(&random::words(state, 12), 24);
    assert_eq!(floats(&first), wanted[..6]);
    assert_eq!(floats(&second), wanted[8..]);
    generator.set_counter(0);
    let again = Tensor::rand(&device, [6], DType::F32, &mut generator).unwrap();
    assert_eq!(floats(&again), wanted[..6]);
    for dtype in [DType::F16, DType::BF16] {
        let part = floats(&Tensor::rand(&device, [1000], dtype, &mut generator).unwrap());
        assert!(part.iter().all(|x| (0.0..1.0).contains(x)), "{dtype}");
        assert_eq!(
            Tensor::randn(&device, [3], dtype, &mut generator)
                .unwrap()
                .dtype(),
            dtype
        );
    }
    assert_eq!(
        Tensor::randn(&device, [0, 3], DType::F32, &mut generator)
            .unwrap()
            .dims(),
        [0, 3]
    );
}

#[test]
fn integers_and_permutations_cover_their_range() {
    let device = common::device();
    let mut generator = Generator::new(5);
    let drawn = Tensor::randint(&device, [5000], -2, 3, &mut generator).unwrap();
    let drawn = drawn.to_vec_blocking::<i32>().unwrap();
    for value in -2..3 {
        // 1000 expected, with a standard deviation of 28.
        let count = drawn.iter().filter(|&&x| x == value).count();
        assert!((850..1150).contains(&count), "{value}: {count}");
    }
    assert!(drawn.iter().all(|x| (-2..3).contains(x)));
    let all = Tensor::randint(&device, [64], i32::MIN, i32::MAX, &mut generator).unwrap();
    assert!(all.to_vec_blocking::<i32>().unwrap().iter().any(|&x| x < 0));
    for n in [0, 1, 2, 1000] {
        let order = Tensor::randperm(&device, n, &mut generator).unwrap();
        let order = order.to_vec_blocking::<i32>().unwrap();
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert!(sorted.iter().copied().eq(0..n as i32));
        assert!(n < 1000 || order != sorted);
    }
}

#[test]
fn choices_have_their_probabilities() {
    let device = common::device();
    let mut generator = Generator::new(6);
    let probabilities = Tensor::from_slice(&device, &[0.0f32, 0.25, 1.0], [3, 1]).unwrap();
    let drawn = probabilities
        .expand([3, 4000])
        .unwrap()
        .bernoulli(&mut generator)
        .unwrap();
    let shares = drawn
        .mean([1], false)
        .unwrap()
        .to_vec_blocking::<f32>()
        .unwrap();
    assert!(
        shares[0] == 0.0 && (shares[1] - 0.25).abs() < 0.03 && shares[2] == 1.0,
        "{shares:?}"
    );

    let ones = Tensor::ones(&device, [8000], DType::F16).unwrap();
    let kept = floats(&ones.dropout(0.75, &mut generator).unwrap());
    let share = kept.iter().filter(|&&x| x == 4.0).count() as f64 / 8000.0;
    assert!((share - 0.25).abs() < 0.03 && kept.iter().all(|&x| x == 0.0 || x == 4.0));
    assert!(
        floats(&ones.dropout(1.0, &mut generator).unwrap())
            .iter()
            .all(|&x| x == 0.0)
    );
    assert!(
        floats(&ones.dropout(0.0, &mut generator).unwrap())
            .iter()
            .all(|&x| x == 1.0)
    );

    let weights = Tensor::from_slice(
        &device,
        &[1.0f32, 0.0, 3.0, 0.0, 0.0, 2.0, 2.0, 0.0],
        [2, 4],
    )
    .unwrap();
    let drawn = weights.multinomial(4000, true, &mut generator).unwrap();
    assert_eq!(drawn.dims(), [2, 4000]);
    let drawn = drawn.to_vec_blocking::<i32>().unwrap();
    let share = |row: usize, value: i32| {
        drawn[row * 4000..][..4000]
            .iter()
            .filter(|&&x| x == value)
            .count() as f64
            / 4000.0
    };
    assert!((share(0, 0) - 0.25).abs() < 0.03 && (share(0, 2) - 0.75).abs() < 0.03);
    assert!((share(1, 1) - 0.5).abs() < 0.03 && (share(1, 2) - 0.5).abs() < 0.03);
    let weights = weights.expand([500, 2, 4]).unwrap();
    let apart = weights.multinomial(2, false, &mut generator).unwrap();
    let apart = apart.to_vec_blocking::<i32>().unwrap();
    let mut first_is_2 = 0;
    for pair in apart.chunks(4) {
        // Row 0 has weights at 0 and 2 only, row 1 at 1 and 2 only.
        assert!(
            pair[0] != pair[1] && [0, 2].contains(&pair[0]) && [0, 2].contains(&pair[1]),
            "{pair:?}"
        );
        assert!(
            pair[2] != pair[3] && [1, 2].contains(&pair[2]) && [1, 2].contains(&pair[3]),
            "{pair:?}"
        );
        first_is_2 += i32::from(pair[0] == 2);
    }
    assert!(
        (f64::from(first_is_2) / 500.0 - 0.75).abs() < 0.1,
        "{first_is_2}"
    );
}

#[test]
fn misuse_is_an_error_that_says_what_was_given() {
    let device = common::device();
    let mut generator = Generator::new(0);
    let weights = Tensor::ones(&device, [3], DType::F32).unwrap();
    let whole = Tensor::ones(&device, [3], DType::I32).unwrap();
    type Call = (Result<Tensor, Error>, fn(&Error) -> bool, &'static str);
    let calls: Vec<Call> = vec![
        (
            Tensor::rand(&device, [2], DType::I32, &mut generator),
            Error::is_dtype,
            "rand: the dtype must be a float: it is i32",
        ),
        (
            Tensor::randint(&device, [2], 3, 3, &mut generator),
            Error::is_argument,
            "randint: low must be less than high: 3 and 3 given",
        ),
        (
            whole.bernoulli(&mut generator),
            Error::is_dtype,
            "bernoulli: ",
        ),
        (
            weights.dropout(1.5, &mut generator),
            Error::is_argument,
            "dropout: p must be from 0 to 1: it is 1.5",
        ),
        (
            weights.multinomial(4, false, &mut generator),
            Error::is_shape,
            "multinomial: 4 indices need as many weights",
        ),
        (
            Tensor::from_value(&device, 1.0f32)
                .unwrap()
                .multinomial(1, true, &mut generator),
            Error::is_shape,
            "multinomial: the weights must have an axis",
        ),
        (
            Tensor::randn(&device, [usize::MAX, 9], DType::F32, &mut generator),
            Error::is_shape,
            "randn: ",
        ),
    ];
    for (i, (result, kind, text)) in calls.into_iter().enumerate() {
        let error = result.expect_err(&format!("call {i}: {text}"));
        assert!(error.to_string().starts_with(text), "call {i}: {error}");
        assert!(kind(&error), "call {i}: {error}");
    }
}

#[test]
fn bounds_and_moments_are_those_asked_for() {
    let device = common::device();
    let n = 20_000;
    for dtype in [DType::F32, DType::F16, DType::BF16] {
        let mut generator = Generator::new(5);
        let a = Tensor::uniform(&device, [n], 1.0, 2.0, dtype, &mut generator).unwrap();
        let values = a.to_f64_vec_blocking().unwrap();
        assert!(values.iter().all(|x| (1.0..2.0).contains(x)), "{dtype}");
        let mean = values.iter().sum::<f64>() / n as f64;
        assert!((mean - 1.5).abs() < 0.02, "{dtype}: {mean}");
        let b = Tensor::normal(&device, [n], -3.0, 0.5, dtype, &mut generator).unwrap();
        let values = b.to_f64_vec_blocking().unwrap();
        let mean = values.iter().sum::<f64>() / n as f64;
        let var = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n as f64;
        assert!(
            (mean + 3.0).abs() < 0.02 && (var - 0.25).abs() < 0.01,
            "{dtype}: {mean} {var}"
        );
    }
    // The numbers are those of `rand` and `randn`, scaled.
    let (mut one, mut two) = (Generator::new(9), Generator::new(9));
    let plain = Tensor::rand(&device, [3, 2], DType::F32, &mut one).unwrap();
    let scaled = Tensor::uniform(&device, [3, 2], 0.0, 4.0, DType::F32, &mut two).unwrap();
    let plain = plain.mul(4.0).unwrap();
    assert_eq!(
        plain.to_vec_blocking::<f32>().unwrap(),
        scaled.to_vec_blocking::<f32>().unwrap()
    );
    assert_eq!(one, two);
    let mut uniform = |low, high| Tensor::uniform(&device, [2], low, high, DType::F32, &mut one);
    assert_eq!(
        uniform(1.0, 1.0).unwrap_err().to_string(),
        "uniform: low must be below high, but it is 1"
    );
    assert!(uniform(0.0, f32::INFINITY).unwrap_err().is_argument());
    let mut normal = |std| Tensor::normal(&device, [2], 0.0, std, DType::F32, &mut two);
    assert!(normal(-1.0).unwrap_err().is_argument());
    assert_eq!(
        normal(0.0).unwrap().to_vec_blocking::<f32>().unwrap(),
        [0.0; 2]
    );
    let none = Tensor::normal(&device, [0, 4], 0.0, 1.0, DType::F16, &mut two).unwrap();
    assert_eq!(none.dims(), [0, 4]);
    let int = Tensor::uniform(&device, [2], 0.0, 1.0, DType::I32, &mut two);
    assert!(int.unwrap_err().is_dtype());
}
