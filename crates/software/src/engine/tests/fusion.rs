//! Operations that become one with another, and those that may not.

use super::{bits, map};

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
