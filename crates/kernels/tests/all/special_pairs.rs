//! Every binary op of floats on all pairs of special values, and correctly rounded quotients and roots.

use crate::common;
use crate::edge_runs::{run_binary, same};
use crate::operands::Random;
use ziggurat_kernels::core::{decode, encode};
use ziggurat_kernels::reference::round_to;
use ziggurat_kernels::{Binary, DType, Executor, Shape, reference};

const FLOATS: [DType; 3] = [DType::F32, DType::F16, DType::BF16];

/// Both signs of zeros, subnormals, limits, powers of two and their neighbours, infinity; and NaN.
fn special(dtype: DType) -> Vec<f64> {
    let bits: &[u32] = &[
        0x0000_0000, // 0
        0x0000_0001, // the least subnormal
        0x0000_0003,
        0x0040_0000,
        0x007f_ffff, // the greatest subnormal
        0x0080_0000, // the least normal number
        0x0080_0001,
        0x00ff_ffff,
        0x0100_0000,
        0x1f80_0001,
        0x3380_0000, // 2^-24
        0x3eaa_aaab, // a third
        0x3f00_0000,
        0x3f7f_ffff,
        0x3f80_0000, // 1
        0x3f80_0001,
        0x3fc0_0000,
        0x4000_0000,
        0x4040_0000, // 3
        0x4b7f_ffff, // 2^24 - 1
        0x4b80_0000,
        0x5f80_0000, // 2^64
        0x7e7f_ffff,
        0x7e80_0000, // 2^126
        0x7e80_0001,
        0x7f00_0000, // 2^127
        0x7f7f_fffe,
        0x7f7f_ffff, // the greatest number
        0x7f80_0000, // infinity
        0x7fc0_0000, // NaN
    ];
    let all = bits.iter().flat_map(|&bits| {
        let x = f64::from(f32::from_bits(bits));
        [x, -x].map(|x| round_to(dtype, x))
    });
    let narrow = [65_504.0, 6.1e-5, 6e-8, 1.000_976_562_5].map(|x| round_to(dtype, x));
    all.chain(narrow).collect()
}

fn all_pairs(dtype: DType) -> Vec<[f64; 2]> {
    let values = special(dtype);
    let pairs = values
        .iter()
        .flat_map(|&x| values.iter().map(move |&y| [x, y]));
    pairs.collect()
}

fn apply(exec: &Executor, op: Binary, dtype: DType, pairs: &[[f64; 2]]) -> Vec<f64> {
    let rows: Vec<[f64; 3]> = pairs.iter().map(|&[x, y]| [x, y, 0.0]).collect();
    run_binary(exec, op, dtype, &rows)
}

#[test]
fn quotients_of_all_special_pairs_are_correctly_rounded() {
    let exec = common::executor();
    for dtype in FLOATS {
        let pairs = all_pairs(dtype);
        for (&[x, y], got) in pairs.iter().zip(apply(&exec, Binary::Div, dtype, &pairs)) {
            // The quotient in f64 has more than twice the bits of any of the dtypes: rounding it again is harmless, but for
            // f32's subnormals, where f32's own division is the reference.
            let expected = match dtype {
                DType::F32 => f64::from(x as f32 / y as f32),
                _ => round_to(dtype, x / y),
            };
            assert!(
                same(got, expected),
                "{x:e} / {y:e} in {dtype} is {got:e}, should be {expected:e}"
            );
        }
    }
}

/// The first of the results that differs from `expected` in any bit, NaN being equal to NaN.
fn first_difference(got: &[f32], expected: impl Fn(usize) -> f32) -> Option<(usize, f32, f32)> {
    got.iter().enumerate().find_map(|(i, &got)| {
        let wanted = expected(i);
        let equal = got.to_bits() == wanted.to_bits() || (got.is_nan() && wanted.is_nan());
        (!equal).then_some((i, got, wanted))
    })
}

fn random_bits(len: usize, seed: u64) -> Vec<f32> {
    let mut random = Random(seed);
    let float = |bits: u64| f32::from_bits((bits >> 32) as u32);
    (0..len).map(|_| float(random.bits())).collect()
}

fn downloaded(exec: &Executor, view: &ziggurat_kernels::View) -> Vec<f32> {
    let bytes = exec.download(view).unwrap().wait().unwrap();
    let words = bytes.chunks_exact(4);
    words
        .map(|word| f32::from_le_bytes([word[0], word[1], word[2], word[3]]))
        .collect()
}

/// Quotients of `len` random pairs of all bit patterns; half of the pairs have exponents close to each other.
fn check_random_quotients(exec: &Executor, len: usize, seed: u64) {
    let x = random_bits(len, seed);
    let mut y = random_bits(len, seed + 1);
    for (x, y) in x.iter().zip(&mut y).step_by(2) {
        let exponent = (x.to_bits() & 0x7f80_0000) ^ (y.to_bits() & 0x0180_0000);
        *y = f32::from_bits((y.to_bits() & 0x807f_ffff) | exponent);
    }
    let shape = Shape::new([len]).unwrap();
    let (a, b) = (
        exec.upload(&x, &shape).unwrap(),
        exec.upload(&y, &shape).unwrap(),
    );
    let out = exec.alloc(&shape, DType::F32).unwrap();
    let _done = exec.div(&a, &b, &out).unwrap();
    let wrong = first_difference(&downloaded(exec, &out), |i| x[i] / y[i]);
    if let Some((i, got, expected)) = wrong {
        panic!(
            "{:e} / {:e} is {got:e}, should be {expected:e} (seed {seed})",
            x[i], y[i]
        );
    }
    let _done = exec.reciprocal(&a, &out).unwrap();
    let wrong = first_difference(&downloaded(exec, &out), |i| 1.0 / x[i]);
    if let Some((i, got, expected)) = wrong {
        panic!(
            "1 / {:e} is {got:e}, should be {expected:e} (seed {seed})",
            x[i]
        );
    }
}

fn check_roots(exec: &Executor, x: &[f32]) {
    let shape = Shape::new([x.len()]).unwrap();
    let a = exec.upload(x, &shape).unwrap();
    let out = exec.alloc(&shape, DType::F32).unwrap();
    let _done = exec.sqrt(&a, &out).unwrap();
    let wrong = first_difference(&downloaded(exec, &out), |i| x[i].sqrt());
    if let Some((i, got, expected)) = wrong {
        panic!("the root of {:e} is {got:e}, should be {expected:e}", x[i]);
    }
}

#[test]
fn the_comparison_of_bits_finds_a_last_bit_and_a_lost_nan() {
    let wanted = [1.0f32, -0.0, f32::NAN];
    assert_eq!(first_difference(&wanted, |i| wanted[i]), None);
    for wrong in [
        [1.000_000_1f32, -0.0, f32::NAN],
        [1.0, 0.0, f32::NAN],
        [1.0, -0.0, 0.0],
    ] {
        assert!(
            first_difference(&wrong, |i| wanted[i]).is_some(),
            "{wrong:?}"
        );
    }
}

#[test]
fn random_quotients_reciprocals_and_roots_are_correctly_rounded() {
    let exec = common::executor();
    check_random_quotients(&exec, 1 << 20, 2026);
    check_roots(&exec, &random_bits(1 << 19, 7));
    // Every exponent, and roots that are just not exact.
    let near = (0..1u32 << 19).map(|i| f32::from_bits(i << 12));
    let squares = (1..4096u32).flat_map(|i| {
        let square = (i * i) as f32;
        [-1, 0, 1].map(|by| f32::from_bits(square.to_bits().wrapping_add_signed(by)))
    });
    check_roots(&exec, &near.chain(squares).collect::<Vec<_>>());
}

#[test]
fn quotients_of_all_mantissas_of_16_bits_are_correctly_rounded() {
    let exec = common::executor();
    for (dtype, mantissas) in [(DType::F16, 1024_u32), (DType::BF16, 128)] {
        let all = mantissas..2 * mantissas;
        let pairs: Vec<[f64; 2]> = (all.clone())
            .flat_map(|x| all.clone().map(move |y| [f64::from(x), f64::from(y)]))
            .collect();
        // Quotients near 1, and where f16 has fewer and fewer bits.
        for [down, up] in [[0, 0], [14, 1], [14, 3], [14, 6], [14, 10]] {
            let powers = [
                -down - mantissas.ilog2() as i32,
                up - mantissas.ilog2() as i32,
            ];
            let scaled: Vec<[f64; 2]> = (pairs.iter())
                .map(|&[x, y]| [x * 2f64.powi(powers[0]), y * 2f64.powi(powers[1])])
                .collect();
            let shape = Shape::new([scaled.len()]).unwrap();
            let upload = |at: usize| {
                let values: Vec<f64> = scaled.iter().map(|pair| pair[at]).collect();
                exec.upload_bytes(dtype, &encode(dtype, &values), &shape)
                    .unwrap()
            };
            let (a, b, out) = (upload(0), upload(1), exec.alloc(&shape, dtype).unwrap());
            let _done = exec.div(&a, &b, &out).unwrap();
            let got = decode(dtype, &exec.download(&out).unwrap().wait().unwrap());
            for (&[x, y], got) in scaled.iter().zip(got) {
                assert_eq!(got, round_to(dtype, x / y), "{dtype} {x:e} / {y:e}");
            }
        }
    }
}

#[test]
#[ignore = "10⁹ pairs and all 2³² roots: minutes on a GPU, most of a day on a software adapter"]
fn a_billion_quotients_and_all_roots_are_correctly_rounded() {
    let exec = common::executor();
    const CHUNK: usize = 1 << 25;
    for round in 0..30 {
        check_random_quotients(&exec, CHUNK, 1_000 + 2 * round);
    }
    for chunk in 0..(1usize << 32) / CHUNK {
        let first = (chunk * CHUNK) as u32;
        let x: Vec<f32> = (0..CHUNK as u32)
            .map(|i| f32::from_bits(first + i))
            .collect();
        check_roots(&exec, &x);
    }
}

/// A subnormal number, of f32 or of the dtype's own, may be taken for a zero of its sign wherever it is read or written.
fn flushed(dtype: DType, x: f64) -> [f64; 2] {
    let least = match dtype {
        DType::F16 => 6.103_515_625e-5,
        _ => f64::from(f32::MIN_POSITIVE),
    };
    let flushed = if x.abs() < least {
        0.0f64.copysign(x)
    } else {
        x
    };
    [x, flushed]
}

/// Whether f32 holds a number as a subnormal one.
fn is_subnormal(x: f64) -> bool {
    x != 0.0 && x.abs() < f64::from(f32::MIN_POSITIVE)
}

#[test]
fn every_binary_op_holds_on_all_special_pairs() {
    let exec = common::executor();
    let mut wrong = Vec::new();
    for op in Binary::ALL {
        let spec = op.spec();
        for dtype in FLOATS
            .into_iter()
            .filter(|dtype| spec.dtypes.contains(dtype))
        {
            let pairs = all_pairs(dtype);
            for (&[x, y], got) in pairs.iter().zip(apply(&exec, *op, dtype, &pairs)) {
                // A remainder's last step adds the exact remainder of the magnitudes to y, where it has another sign.
                let tiny = [x, y, x % y].map(is_subnormal).contains(&true);
                let slack = if *op == Binary::Remainder && tiny {
                    f64::from(f32::MIN_POSITIVE)
                } else {
                    0.0
                };
                let right = flushed(dtype, x).into_iter().any(|x| {
                    flushed(dtype, y).into_iter().any(|y| {
                        let expected = reference::binary(*op, dtype, x, y);
                        flushed(dtype, expected).into_iter().any(|expected| {
                            let allowed = spec.tolerance.allowed(dtype, expected, y) + slack;
                            same(got, expected)
                                || (got == 0.0 && expected == 0.0)
                                || (got - expected).abs() <= allowed
                                || same(got, round_to(dtype, expected))
                        })
                    })
                });
                if !right {
                    let expected = reference::binary(*op, dtype, x, y);
                    wrong.push(format!(
                        "{}({x:e}, {y:e}) in {dtype} is {got:e}, should be {expected:e}",
                        spec.name
                    ));
                }
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong[..wrong.len().min(60)].join("\n")
    );
}
