//! Operators and built-in functions, against Rust's.

use super::{bits, map, run};

fn floats() -> Vec<f32> {
    let mut values = vec![
        0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -2.5, 1e-20, 3e30, 100.25, -7.75,
    ];
    values.extend((0..53).map(|i| (i as f32 - 26.0) * 0.37));
    values
}

fn close(got: f32, expected: f32, what: &str) {
    let same = got == expected || (got.is_nan() && expected.is_nan());
    let tolerance = expected.abs() * 4e-6 + 1e-30;
    assert!(
        same || (got - expected).abs() <= tolerance,
        "{what}: {got} is not {expected}"
    );
}

/// `expression` of `x` and `y` against a closure.
fn float(expression: &str, expected: impl Fn(f32, f32) -> f32) {
    let a = floats();
    let b: Vec<f32> = a.iter().rev().copied().collect();
    let body = format!("out[i] = bitcast<u32>({expression});");
    let got = map("f32", &body, &bits(&a), &bits(&b));
    for ((x, y), word) in a.iter().zip(&b).zip(got) {
        close(
            f32::from_bits(word),
            expected(*x, *y),
            &format!("{expression} of {x}, {y}"),
        );
    }
}

fn int(expression: &str, expected: impl Fn(i32, i32) -> i32) {
    let a = [
        0,
        1,
        -1,
        5,
        -7,
        1000,
        i32::MIN,
        i32::MAX,
        0x1234_5678,
        -40,
        3,
        0,
    ];
    let b = [3, 0, -1, 2, 2, -9, -1, 1, 4, 31, 33, 0];
    let words = |values: &[i32]| values.iter().map(|v| *v as u32).collect::<Vec<_>>();
    let body = format!("out[i] = bitcast<u32>({expression});");
    let got = map("i32", &body, &words(&a), &words(&b));
    for ((x, y), word) in a.iter().zip(&b).zip(got) {
        assert_eq!(word as i32, expected(*x, *y), "{expression} of {x}, {y}");
    }
}

fn uint(expression: &str, expected: impl Fn(u32, u32) -> u32) {
    let a = [0, 1, 5, 1000, u32::MAX, 0x8000_0000, 0x1234_5678, 7, 0];
    let b = [3, 0, 2, 9, 1, 31, 4, 33, 0];
    let got = map("u32", &format!("out[i] = {expression};"), &a, &b);
    for ((x, y), word) in a.iter().zip(&b).zip(got) {
        assert_eq!(word, expected(*x, *y), "{expression} of {x}, {y}");
    }
}

#[test]
fn float_operators() {
    float("x + y", |x, y| x + y);
    float("x - y * 2.0", |x, y| x - y * 2.0);
    float("x / y", |x, y| x / y);
    float("x % y", |x, y| x % y);
    float("-x", |x, _| -x);
    float(
        "select(0.0, 1.0, x < y) + select(0.0, 2.0, x >= y)",
        |x, y| if x < y { 1.0 } else { 2.0 },
    );
    float("f32(x == y) + f32(x != y) * 2.0", |x, y| {
        if x == y { 1.0 } else { 2.0 }
    });
    float("f32(i32(x)) + f32(u32(y))", |x, y| {
        x as i32 as f32 + y as u32 as f32
    });
}

#[test]
fn float_functions() {
    float("abs(x) + floor(y)", |x, y| x.abs() + y.floor());
    float("ceil(x) + trunc(y)", |x, y| x.ceil() + y.trunc());
    float("round(x)", |x, _| x.round_ties_even());
    float("fract(x)", |x, _| x - x.floor());
    float("sqrt(abs(x))", |x, _| x.abs().sqrt());
    float("inverseSqrt(abs(x) + 1.0)", |x, _| {
        1.0 / (x.abs() + 1.0).sqrt()
    });
    float("exp(clamp(x, -20.0, 20.0))", |x, _| {
        x.clamp(-20.0, 20.0).exp()
    });
    float("exp2(clamp(x, -20.0, 20.0))", |x, _| {
        x.clamp(-20.0, 20.0).exp2()
    });
    float("log(abs(x) + 0.5) + log2(abs(y) + 0.5)", |x, y| {
        (x.abs() + 0.5).ln() + (y.abs() + 0.5).log2()
    });
    float("sin(clamp(x, -9.0, 9.0))", |x, _| x.clamp(-9.0, 9.0).sin());
    float("cos(clamp(x, -9.0, 9.0))", |x, _| x.clamp(-9.0, 9.0).cos());
    float("tan(clamp(x, -1.0, 1.0))", |x, _| x.clamp(-1.0, 1.0).tan());
    float(
        "asin(clamp(x, -1.0, 1.0)) + acos(clamp(y, -1.0, 1.0))",
        |x, y| x.clamp(-1.0, 1.0).asin() + y.clamp(-1.0, 1.0).acos(),
    );
    float("atan(x)", |x, _| x.atan());
    float("atan2(x, y)", f32::atan2);
    float("sinh(clamp(x, -3.0, 3.0))", |x, _| {
        x.clamp(-3.0, 3.0).sinh()
    });
    float("cosh(clamp(x, -3.0, 3.0))", |x, _| {
        x.clamp(-3.0, 3.0).cosh()
    });
    float("tanh(x)", |x, _| x.tanh());
    float("asinh(x)", |x, _| x.asinh());
    float("acosh(abs(x) + 1.0)", |x, _| (x.abs() + 1.0).acosh());
    float("atanh(clamp(x, -0.9, 0.9))", |x, _| {
        x.clamp(-0.9, 0.9).atanh()
    });
    float("pow(abs(x) + 0.1, clamp(y, -3.0, 3.0))", |x, y| {
        (x.abs() + 0.1).powf(y.clamp(-3.0, 3.0))
    });
    float("fma(x, y, 1.0)", |x, y| x.mul_add(y, 1.0));
    float("sign(x)", |x, _| {
        if x > 0.0 {
            1.0
        } else if x < 0.0 {
            -1.0
        } else {
            0.0
        }
    });
    float("min(x, y) + max(x, 0.5)", |x, y| x.min(y) + x.max(0.5));
    float("clamp(x, -2.0, 3.0) + saturate(y)", |x, y| {
        x.clamp(-2.0, 3.0) + y.clamp(0.0, 1.0)
    });
    float("mix(x, y, 0.25)", |x, y| x * 0.75 + y * 0.25);
    float("step(x, y)", |x, y| if x <= y { 1.0 } else { 0.0 });
    float("smoothstep(-2.0, 5.0, x)", |x, _| {
        let t = ((x + 2.0) / 7.0).clamp(0.0, 1.0);
        t * t * (3.0 - 2.0 * t)
    });
    float("radians(x) + degrees(y)", |x, y| {
        x.to_radians() + y.to_degrees()
    });
    float("quantizeToF16(x)", |x, _| half::f16::from_f32(x).to_f32());
    float("ldexp(x, 3)", |x, _| x * 8.0);
    float(
        "frexp(x + 0.0).fract * exp2(f32(clamp(frexp(x).exp, -30, 30)))",
        |x, _| {
            if x.abs() > 1e9 || (x != 0.0 && x.abs() < 1e-9) {
                return f32::from_bits((x.to_bits() & 0x807f_ffff) | 0x3f00_0000)
                    * if x.abs() > 1.0 {
                        2f32.powi(30)
                    } else {
                        2f32.powi(-30)
                    };
            }
            x
        },
    );
    float("modf(x).fract * 10.0 + modf(y).whole", |x, y| {
        (x - x.trunc()) * 10.0 + y.trunc()
    });
}

#[test]
fn a_wrong_expectation_is_noticed() {
    let wrong = std::panic::catch_unwind(|| float("x + y", |x, y| x - y));
    assert!(wrong.is_err());
    let wrong = std::panic::catch_unwind(|| int("x / y", |x, y| x.wrapping_add(y)));
    assert!(wrong.is_err());
}

#[test]
fn signed_integers() {
    int("x + y * 3 - 1", |x, y| {
        x.wrapping_add(y.wrapping_mul(3)).wrapping_sub(1)
    });
    int("x / y", |x, y| if y == 0 { x } else { x.wrapping_div(y) });
    int("x % y", |x, y| if y == 0 { 0 } else { x.wrapping_rem(y) });
    int("-x", |x, _| x.wrapping_neg());
    int("x << (u32(y) & 31u)", |x, y| x << (y & 31));
    int("x >> (u32(y) & 31u)", |x, y| x >> (y & 31));
    int("(x & y) | (x ^ 255) | ~y", |x, y| (x & y) | (x ^ 255) | !y);
    int("abs(x) + sign(y)", |x, y| {
        x.wrapping_abs().wrapping_add(y.signum())
    });
    int("min(x, y) ^ max(x, y) ^ clamp(x, -5, 5)", |x, y| {
        x.min(y) ^ x.max(y) ^ x.clamp(-5, 5)
    });
    int(
        "select(1, 2, x < y) + select(10, 20, x >= y) + i32(x > y) + i32(x <= y) * 5",
        |x, y| {
            if x < y {
                2 + 10 + 5
            } else {
                1 + 20 + i32::from(x > y) + i32::from(x == y) * 5
            }
        },
    );
    int("firstLeadingBit(x)", |x, _| {
        let folded = if x < 0 { !x } else { x };
        31 - folded.leading_zeros() as i32
    });
    int("extractBits(x, 4u, 8u)", |x, _| x << 20 >> 24);
    int("insertBits(x, y, 4u, 8u)", |x, y| {
        (x & !0xff0) | ((y << 4) & 0xff0)
    });
    // The greatest f32 that is an i32, as naga's back ends clamp.
    int("i32(f32(x))", |x, _| (x as f32).min(2_147_483_520.0) as i32);
    int("dot4I8Packed(bitcast<u32>(x), bitcast<u32>(y))", |x, y| {
        x.to_le_bytes()
            .iter()
            .zip(y.to_le_bytes())
            .map(|(a, b)| i32::from(*a as i8) * i32::from(b as i8))
            .sum()
    });
}

#[test]
fn unsigned_integers() {
    uint("x + y * 3u", |x, y| x.wrapping_add(y.wrapping_mul(3)));
    uint("x / y", |x, y| x.checked_div(y).unwrap_or(x));
    uint("x % y", |x, y| x.checked_rem(y).unwrap_or(0));
    uint("x / 8u + x % 8u + x * 16u", |x, _| {
        (x / 8).wrapping_add(x % 8).wrapping_add(x.wrapping_mul(16))
    });
    uint("x >> (y & 31u)", |x, y| x >> (y & 31));
    uint(
        "countOneBits(x) + countLeadingZeros(x) * 100u + countTrailingZeros(x) * 10000u",
        |x, _| x.count_ones() + x.leading_zeros() * 100 + x.trailing_zeros() * 10000,
    );
    uint("reverseBits(x)", |x, _| x.reverse_bits());
    uint("firstTrailingBit(x)", |x, _| {
        if x == 0 { !0 } else { x.trailing_zeros() }
    });
    uint("firstLeadingBit(x)", |x, _| {
        if x == 0 { !0 } else { 31 - x.leading_zeros() }
    });
    uint("extractBits(x, 4u, 8u)", |x, _| (x >> 4) & 0xff);
    uint("min(x, y) ^ max(x, 6u)", |x, y| x.min(y) ^ x.max(6));
    uint(
        "u32(x > y) + u32(x != y) * 2u + u32(!(x == 5u)) * 4u",
        |x, y| u32::from(x > y) + u32::from(x != y) * 2 + u32::from(x != 5) * 4,
    );
    // The greatest f32 that is a u32, as naga's back ends clamp.
    uint("u32(f32(x))", |x, _| (x as f32).min(4_294_967_040.0) as u32);
    uint(
        "pack4xU8(unpack4xU8(x)) + dot4U8Packed(x, 0x01010101u)",
        |x, _| x.wrapping_add(x.to_le_bytes().iter().map(|b| u32::from(*b)).sum()),
    );
    uint("pack2x16float(unpack2x16float(x & 0x7bff7bffu))", |x, _| {
        x & 0x7bff_7bff
    });
    uint("pack4x8unorm(unpack4x8unorm(x))", |x, _| x);
    uint("pack2x16unorm(unpack2x16unorm(x))", |x, _| x);
    uint(
        "u32(all(vec2<bool>(x > 1u, y > 1u))) + u32(any(vec2<bool>(x > 1u, y > 1u))) * 2u",
        |x, y| u32::from(x > 1 && y > 1) + u32::from(x > 1 || y > 1) * 2,
    );
}

#[test]
fn vectors_and_matrices() {
    float("dot(vec3(x, y, 1.0), vec3(0.5, 0.25, x))", |x, y| {
        x * 0.5 + y * 0.25 + x
    });
    float(
        "cross(vec3(1.0, 2.0, 3.0), vec3(0.5, 0.0, 0.25)).y + x * 0.0 + 1.0",
        |x, _| 1.5 - 0.25 + 1.0 + x * 0.0,
    );
    float("length(vec2(clamp(x, -9.0, 9.0), 3.0))", |x, _| {
        (x.clamp(-9.0, 9.0).powi(2) + 9.0).sqrt()
    });
    float(
        "distance(vec2(1.0, clamp(x, -9.0, 9.0)), vec2(4.0, 1.0))",
        |x, _| ((x.clamp(-9.0, 9.0) - 1.0).powi(2) + 9.0).sqrt(),
    );
    float(
        "normalize(vec2(3.0, 4.0 + 0.0 * clamp(x, 0.0, 1.0))).y",
        |_, _| 0.8,
    );
    float("reflect(vec2(1.0, -1.0), vec2(0.0, 1.0)).y", |_, _| 1.0);
    float("refract(vec2(0.0, -1.0), vec2(0.0, 1.0), 0.5).y", |_, _| {
        -1.0
    });
    float("faceForward(vec2(x, y), vec2(1.0), vec2(1.0)).x", |x, _| -x);
    float(
        "(mat2x2<f32>(1.0, 2.0, 3.0, 4.0) * vec2(x, 0.5)).y",
        |x, _| 2.0 * x + 2.0,
    );
    float(
        "(vec2(x, 0.5) * mat2x2<f32>(1.0, 2.0, 3.0, 4.0)).y",
        |x, _| 3.0 * x + 2.0,
    );
    float(
        "(mat2x2<f32>(1.0, 2.0, 3.0, 4.0) * mat2x2<f32>(0.0, 1.0, 1.0, 0.0))[0].x * x",
        |x, _| 3.0 * x,
    );
    float(
        "transpose(mat2x3<f32>(1.0, 2.0, 3.0, 4.0, 5.0, 6.0))[2].y * x",
        |x, _| 6.0 * x,
    );
    float(
        "determinant(mat3x3<f32>(2.0, 0.0, 1.0, 1.0, 3.0, 2.0, 1.0, 1.0, 4.0)) + 0.0 * clamp(x, 0.0, 1.0)",
        |_, _| 18.0,
    );
    float("vec4(x, y, 1.0, 2.0).wzyx.z", |_, y| y);
    float("(vec3(x, y, 2.0) * 2.0 + vec3(1.0)).y", |_, y| {
        y * 2.0 + 1.0
    });
    float(
        "vec3(x, y, 2.0)[i % 3u] * 0.0 + array<f32, 3>(1.0, 2.0, 3.0)[i % 3u] * 0.0 + 4.0",
        |x, y| {
            if x.is_finite() && y.is_finite() {
                4.0
            } else {
                f32::NAN
            }
        },
    );
}

#[test]
fn half_precision_rounds_after_each_operation() {
    let source = "enable f16;
        @group(0) @binding(0) var<storage, read_write> a: array<f16>;
        @group(0) @binding(1) var<storage, read_write> out: array<f32>;
        var<workgroup> shared_half: array<vec2<f16>, 32>;
        @compute @workgroup_size(32) fn main(@builtin(local_invocation_index) i: u32) {
            let x = a[i]; shared_half[i] = vec2(x, x * 3.0h); workgroupBarrier();
            let y = shared_half[31u - i].y; out[i] = f32(x * y + sqrt(abs(x)) - f16(i)); a[i] = x + y;
        }";
    let values: Vec<half::f16> = (0..32)
        .map(|i| half::f16::from_f32(i as f32 * 0.3 - 2.0))
        .collect();
    let pack = |v: &[half::f16]| {
        v.chunks(2)
            .map(|p| u32::from(p[0].to_bits()) | u32::from(p[1].to_bits()) << 16)
            .collect::<Vec<_>>()
    };
    let got = run(source, &[&pack(&values), &[0; 32]], 1);
    let h = |v: f32| half::f16::from_f32(v);
    let mut sums = Vec::new();
    for i in 0..32usize {
        let x = values[i];
        let y = h(values[31 - i].to_f32() * 3.0);
        let product = h(x.to_f32() * y.to_f32());
        let sum = h(product.to_f32() + h(x.to_f32().abs().sqrt()).to_f32());
        assert_eq!(
            f32::from_bits(got[1][i]),
            h(sum.to_f32() - i as f32).to_f32(),
            "{i}"
        );
        sums.push(h(x.to_f32() + y.to_f32()));
    }
    assert_eq!(got[0], pack(&sums));
}

#[test]
fn numbers_of_64_bits() {
    let source = "
        @group(0) @binding(0) var<storage, read_write> out: array<u64>;
        @group(0) @binding(1) var<storage, read_write> f: array<f64>;
        @compute @workgroup_size(8) fn main(@builtin(local_invocation_index) i: u32) {
            var x = u64(i) * 5000000000lu + 3lu; if i > 3u { x = x >> 3u; }
            let s = i64(i) * -7000000000li;
            out[i] = x ^ u64(s) ^ min(x, 100lu);
            f[i] = sqrt(f64(i)) + f64(s) / 3.0lf;
        }";
    let got = run(source, &[&[0; 16], &[0; 16]], 1);
    let join = |w: &[u32], i: usize| u64::from(w[2 * i]) | u64::from(w[2 * i + 1]) << 32;
    for i in 0..8usize {
        let mut x = i as u64 * 5_000_000_000 + 3;
        if i > 3 {
            x >>= 3;
        }
        let s = i as i64 * -7_000_000_000;
        assert_eq!(join(&got[0], i), x ^ s as u64 ^ x.min(100), "{i}");
        assert_eq!(
            f64::from_bits(join(&got[1], i)),
            (i as f64).sqrt() + s as f64 / 3.0,
            "{i}"
        );
    }
}
