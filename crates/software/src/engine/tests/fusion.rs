//! Operations that become one with another, and those that may not.

use super::{bits, compile, map};

fn words() -> [Vec<u32>; 2] {
    let word = |i: u32| i.wrapping_mul(0x9e37_79b9);
    [0, 40].map(|from| (from..from + 40).map(word).collect())
}

/// `body` against a closure of two words.
fn same(body: &str, expected: impl Fn(u32, u32) -> u32) {
    let [a, b] = words();
    let got = map("u32", body, &a, &b);
    for ((x, y), word) in a.iter().zip(&b).zip(got) {
        assert_eq!(word, expected(*x, *y), "{body} of {x:#x}, {y:#x}");
    }
}

#[test]
fn and_is_a_part_of_the_or_that_takes_it() {
    same("out[i] = (x & 0xffu) | 0x4b000000u;", |x, _| {
        (x & 0xff) | 0x4b00_0000
    });
    same("out[i] = (x & y) | i;", |x, y| {
        (x & y) | words()[0].iter().position(|word| *word == x).unwrap() as u32
    });
    same("out[i] = (x & 0xffu) | (y & 0xff00u);", |x, y| {
        (x & 0xff) | (y & 0xff00)
    });
    // Its own result twice, and one that others read, too.
    same("let p = x & y; out[i] = p | p;", |x, y| x & y);
    same("let p = x & y; out[i] = (p | 1u) + p;", |x, y| {
        ((x & y) | 1).wrapping_add(x & y)
    });
    // What it reads is written in between.
    same(
        "var v = x; let p = v & y; v = 7u; out[i] = (p | v) ^ v;",
        |x, y| ((x & y) | 7) ^ 7,
    );
}

#[test]
fn halves_of_a_word_are_numbers() {
    let [a, _] = words();
    let body =
        "let h = unpack2x16float(x); out[i] = bitcast<u32>(select(h.x, h.y, (i & 1u) == 1u));";
    let half = |word: u32| half::f16::from_bits(word as u16).to_f32();
    for (i, word) in map("u32", body, &a, &a).into_iter().enumerate() {
        let expected = half(if i % 2 == 1 { a[i] >> 16 } else { a[i] });
        let got = f32::from_bits(word);
        let same = got.to_bits() == expected.to_bits() || (got.is_nan() && expected.is_nan());
        assert!(same, "{i}: {got} is not {expected}");
    }
    assert_ne!(
        bits(&[half(a[1])]),
        bits(&[half(a[1] >> 16)]),
        "halves differ"
    );
}

/// Words with many exponents, and what unpacking a half of `(word & mask) | or` gives.
fn halves(mask: u32, or: u32) -> Vec<(u32, [f32; 2])> {
    let words = (0..4096u32).map(|i| i.wrapping_mul(0x9e37_79b9) ^ (i << 20));
    let half = |word: u32| half::f16::from_bits(word as u16).to_f32();
    let parts = |word: u32| [half(word), half(word >> 16)];
    words
        .map(|word| (word, parts((word & mask) | or)))
        .collect()
}

#[test]
fn halves_of_known_exponents_are_the_same_numbers() {
    // Normal whatever the word is; then those that may be negative, infinite or NaN, zero or subnormal.
    for (mask, or) in [
        (0x00ff_00ff, 0x6400_6400),
        (0x03ff_03ff, 0x3c00_0400),
        (0x3bff_3bff, 0x0400_0400),
        (0x83ff_83ff, 0x6400_6400),
        (0x7bff_7bff, 0x0400_0400),
        (0x03ff_03ff, 0x7c00_7c00),
        (0x03ff_03ff, 0),
        (!0, 0x6400_6400),
    ] {
        let (words, expected): (Vec<_>, Vec<_>) = halves(mask, or).into_iter().unzip();
        for part in [0, 1] {
            let half = format!("unpack2x16float((x & {mask}u) | {or}u)[{part}]");
            for (body, of) in [
                (half.clone(), (|x| x) as fn(f32) -> f32),
                (format!("{half} - 1032.0"), |x| x - 1032.0),
                (format!("1032.0 - {half}"), |x| 1032.0 - x),
            ] {
                let body = format!("out[i] = bitcast<u32>({body});");
                let got = map("u32", &body, &words, &words);
                for ((word, expected), got) in words.iter().zip(&expected).zip(got) {
                    let (got, expected) = (f32::from_bits(got), of(expected[part]));
                    let same =
                        got.to_bits() == expected.to_bits() || got.is_nan() && expected.is_nan();
                    assert!(same, "{body} of {word:#x}: {got} is not {expected}");
                }
            }
        }
    }
    // A variable that is such a number in some lanes.
    let body = "var v = (x & 0xffu) | 0x6400u; if (i & 1u) == 1u { v = x; }
        out[i] = bitcast<u32>(unpack2x16float(v).x - 1.0);";
    let [words, _] = words();
    for (i, got) in map("u32", body, &words, &words).into_iter().enumerate() {
        let word = if i % 2 == 1 {
            words[i]
        } else {
            (words[i] & 0xff) | 0x6400
        };
        let expected = half::f16::from_bits(word as u16).to_f32() - 1.0;
        let got = f32::from_bits(got);
        assert!(got.to_bits() == expected.to_bits() || got.is_nan() && expected.is_nan());
    }
}

#[test]
fn only_normal_positive_halves_are_converted_by_a_shift() {
    let program = |mask: u32, or: u32| {
        let source = format!(
            "@group(0) @binding(0) var<storage, read_write> out: array<u32>;
             @compute @workgroup_size(64) fn main(@builtin(local_invocation_index) i: u32) {{
                let half = unpack2x16float((out[i] & {mask}u) | {or}u).y;
                out[i] = bitcast<u32>(half - 1032.0);
             }}"
        );
        format!("{:?}", compile(&source))
    };
    assert!(program(0x00ff_00ff, 0x6400_6400).contains("UnpackNormalSub"));
    for (mask, or) in [
        (0x80ff_00ff, 0x6400_6400),
        (0x00ff_00ff, 0x0000_6400),
        (0x00ff_00ff, 0x7c00_6400),
        (0x7bff_00ff, 0x0400_6400),
    ] {
        assert!(
            program(mask, or).contains("UnpackHalf"),
            "{mask:#x} {or:#x}"
        );
    }
}
