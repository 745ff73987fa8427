//! Data for products, that f16 holds and that it does not.

use crate::operands::Random;

/// A product of `[m, k]` and `[k, n]`, rows of a and columns of b.
pub(super) struct Case {
    pub(super) name: &'static str,
    pub(super) a: Vec<Vec<f32>>,
    pub(super) b: Vec<Vec<f32>>,
    /// Whether lines have all that f16 has room for.
    pub(super) fits: bool,
}

/// What f16 has room for in each line, and not in a tile of them.
pub(super) const SCALES_OF_LINES: &str = "rows and columns from 1e-20 to 1e20";

/// What f16 has no room for: in much larger sums, in sums that are just large enough for it, and where a column of b has nothing else.
pub(super) const FEW_TINY: &str = "a few tiny elements";
pub(super) const TINY_AND_SMALL: &str = "tiny elements whose sums are just large enough";
pub(super) const TINY_ALONE: &str = "tiny elements alone in a column's sums";

pub(super) const M: usize = 132;
pub(super) const N: usize = 70;
pub(super) const K: usize = 300;

pub(super) fn lines(count: usize, mut value: impl FnMut(usize, usize) -> f64) -> Vec<Vec<f32>> {
    let one = |line| (0..K).map(|k| value(line, k) as f32).collect();
    (0..count).map(one).collect()
}

/// Normal, near enough.
pub(super) fn normal(rng: &mut Random) -> f64 {
    (0..12).map(|_| uniform(rng)).sum::<f64>() - 6.0
}

fn uniform(rng: &mut Random) -> f64 {
    (rng.bits() % 1_000_003) as f64 / 1_000_003.0
}

pub(super) fn cases() -> Vec<Case> {
    let mut rng = Random(41);
    let mut all = Vec::new();
    let mut add = |name, a, b, fits| all.push(Case { name, a, b, fits });
    let r = &mut rng;
    add(
        "normal",
        lines(M, |_, _| normal(r)),
        lines(N, |_, _| normal(r)),
        true,
    );
    add(
        "positive",
        lines(M, |_, _| uniform(r) + 0.1),
        lines(N, |_, _| uniform(r) + 0.1),
        true,
    );
    add(
        "halves that cancel",
        lines(M, |_, k| {
            (uniform(r) + 1.0) * if k < K / 2 { 1.0 } else { -1.0 }
        }),
        lines(N, |_, _| uniform(r) + 1.0),
        true,
    );
    let tens = |line: usize, most: i32| 10f64.powi((line as i32 * 7) % (2 * most + 1) - most);
    add(
        SCALES_OF_LINES,
        lines(M, |line, _| normal(r) * tens(line, 20)),
        lines(N, |line, _| normal(r) * tens(line, 15)),
        true,
    );
    add(
        "rows from 1e-30 to 1e30",
        lines(M, |line, _| normal(r) * tens(line, 30)),
        lines(N, |_, _| normal(r)),
        false,
    );
    add(
        "elements from 1e-30 to 1e30",
        lines(M, |_, k| normal(r) * tens(k, 30)),
        lines(N, |_, k| normal(r) / tens(k, 30)),
        false,
    );
    let mut last = 0.0;
    add(
        "neighbours that cancel",
        lines(M, |_, k| {
            last = if k % 2 == 0 {
                normal(r)
            } else {
                -last * (1.0 + 1e-5 * normal(r))
            };
            last
        }),
        lines(N, |line, k| {
            1.0 + ((line * 31 + k / 2 * 17) % 64) as f64 / 64.0
        }),
        true,
    );
    add(
        "large by small and small by large",
        lines(M, |_, k| {
            if k % 2 == 0 {
                1.0 + uniform(r)
            } else {
                1e-20 * uniform(r)
            }
        }),
        lines(N, |_, k| {
            if k % 2 == 0 {
                1e-20 * uniform(r)
            } else {
                1.0 + uniform(r)
            }
        }),
        false,
    );
    add(
        FEW_TINY,
        lines(M, |line, k| {
            if (line * 31 + k) % 97 == 5 {
                1e-12 * normal(r)
            } else {
                normal(r)
            }
        }),
        lines(N, |_, _| normal(r)),
        false,
    );
    let signed = |r: &mut Random| 1.98 * uniform(r) - 0.99;
    // In the first row of each tile: 15 terms of 2^-25, and 16 elements of 2^-29 next to elements of 1 at most.
    add(
        TINY_AND_SMALL,
        lines(M, |line, k| match (line % 64, k % 20, k) {
            (1.., _, _) => signed(r),
            (_, 0, _) => 0.9 + 0.09 * uniform(r),
            (_, _, 44..60) => 0.7 * signed(r) / f64::from(1 << 29),
            _ => 0.0,
        }),
        lines(N, |_, k| {
            if k % 20 == 0 {
                (0.9 + 0.2 * uniform(r)) / f64::from(1 << 25)
            } else {
                signed(r)
            }
        }),
        false,
    );
    add(
        TINY_ALONE,
        lines(M, |_, k| normal(r) * if k % 2 == 0 { 1.0 } else { 1e-12 }),
        lines(N, |line, k| {
            let hidden = line == 5 && k % 2 == 0;
            if hidden { 0.0 } else { normal(r) }
        }),
        false,
    );
    add(
        "every bit of 24",
        lines(M, |line, k| {
            1.0 + f64::from(2 * ((line * 31 + k * 17) % 4096) as u32 + 1) / 8_388_608.0
        }),
        lines(N, |line, k| {
            1.0 - f64::from(2 * ((line * 13 + k * 29) % 4096) as u32 + 1) / 16_777_216.0
        }),
        true,
    );
    add(
        "one element of each row",
        lines(M, |line, k| if k == line % K { 1.0 } else { 0.0 }),
        lines(N, |_, _| normal(r)),
        false,
    );
    add(
        "subnormals",
        lines(M, |_, _| normal(r) * 1e-39),
        lines(N, |_, _| normal(r) * 1e3),
        false,
    );
    add(
        "zeros, and rows of them",
        lines(M, |line, k| {
            if line % 3 == 0 || k % 5 == 0 {
                0.0
            } else {
                normal(r)
            }
        }),
        lines(N, |_, k| if k % 7 == 0 { -0.0 } else { normal(r) }),
        true,
    );
    let from = |first: usize, k: usize, x: f64| if k < first { 0.0 } else { x };
    add(
        "zeros up to the middle",
        lines(M, |_, k| from(K / 3, k, normal(r))),
        lines(N, |_, k| from(K / 2, k, normal(r))),
        true,
    );
    all
}
