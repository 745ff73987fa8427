//! How far a result may be from a recorded one.

use ziggurat_core::{DType, DTypeKind, decode};

/// What two devices may differ by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Bound {
    /// Nothing: the same bits.
    Exact,
    /// Twice so many units in the last place of an f32, twice so much, and the rounding to the dtype.
    Function([f64; 2]),
    /// Sums of so many terms, relative to the greatest result.
    Sums(usize),
}

/// Where two results differ by more than they may.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Found {
    pub(super) beyond: usize,
    pub(super) worst: usize,
    pub(super) wanted: f64,
    pub(super) got: f64,
    pub(super) allowed: f64,
}

/// The distance of neighbours of a float dtype near a number.
fn ulp(dtype: DType, value: f64) -> f64 {
    let DTypeKind::Float {
        digits,
        least_exponent,
    } = dtype.info().kind
    else {
        return 0.0;
    };
    let exponent = value.abs().log2().floor() + 1.0 - f64::from(digits);
    exponent.max(f64::from(least_exponent)).exp2()
}

/// Half of the last place of 1 in f32.
const EPS: f64 = 5.960_464_477_539_063e-8;

impl Bound {
    /// What an element may differ by, `most` being the greatest result.
    fn allowed(self, dtype: DType, wanted: f64, most: f64) -> f64 {
        let computed = match self {
            Self::Exact => return 0.0,
            Self::Function([ulps, absolute]) => 2.0 * (ulps * ulp(DType::F32, wanted) + absolute),
            Self::Sums(terms) => {
                let terms = terms.max(1) as f64;
                2.0 * (terms / 16.0 + 48.0) * EPS * terms.sqrt() * most
            }
        };
        computed + 2.0 * ulp(dtype, wanted)
    }
}

/// The element of `got` that is furthest from `wanted`, if any is further than it may be.
pub(super) fn compare(bound: Bound, dtype: DType, wanted: &[u8], got: &[u8]) -> Option<Found> {
    if wanted == got {
        return None;
    }
    let width = dtype.bytes();
    let exact = bound == Bound::Exact || !dtype.is_float();
    let same_bits = |at: usize| {
        let range = at * width..(at + 1) * width;
        wanted.get(range.clone()) == got.get(range)
    };
    let (a, b) = (decode(dtype, wanted), decode(dtype, got));
    let most = a.iter().filter(|value| value.is_finite());
    let most = most.fold(0.0, |most: f64, value| most.max(value.abs()));
    let mut found: Option<Found> = None;
    let mut farthest = 0.0;
    for (at, (&wanted, &got)) in a.iter().zip(&b).enumerate() {
        if same_bits(at) {
            continue;
        }
        let allowed = match exact {
            true => 0.0,
            false => bound.allowed(dtype, wanted, most),
        };
        let distance = (wanted - got).abs();
        let alike = wanted == got || (wanted.is_nan() && got.is_nan());
        // Written so that what is no number, or infinite, on one side alone is far.
        let near = !exact && (alike || (wanted.is_finite() && distance <= allowed));
        if near {
            continue;
        }
        let share = match distance / allowed.max(f64::MIN_POSITIVE) {
            share if share.is_finite() => share,
            _ => f64::INFINITY,
        };
        let beyond = found.map_or(0, |found| found.beyond) + 1;
        match &mut found {
            Some(found) if share <= farthest => found.beyond = beyond,
            _ => {
                farthest = share;
                found = Some(Found {
                    beyond,
                    worst: at,
                    wanted,
                    got,
                    allowed,
                });
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use ziggurat_core::encode;

    fn found(bound: Bound, dtype: DType, wanted: &[f64], got: &[f64]) -> Option<Found> {
        compare(bound, dtype, &encode(dtype, wanted), &encode(dtype, got))
    }

    const FUNCTION: Bound = Bound::Function([2.0, 0.0]);

    #[test]
    fn what_is_near_passes_and_what_is_far_is_found() {
        let near = 1.0 + 4.0 * f64::from(f32::EPSILON);
        let far = 1.0 + 20.0 * f64::from(f32::EPSILON);
        assert_eq!(found(FUNCTION, DType::F32, &[1.0], &[near]), None);
        assert_eq!(
            found(FUNCTION, DType::F32, &[1.0, 1.0], &[1.0, far])
                .unwrap()
                .worst,
            1
        );
        assert!(found(Bound::Exact, DType::F32, &[1.0], &[near]).is_some());
        // Sums are compared with the greatest result.
        assert_eq!(
            found(Bound::Sums(64), DType::F32, &[100.0, 0.0], &[100.0, 1e-3]),
            None
        );
        assert!(found(Bound::Sums(64), DType::F32, &[100.0, 0.0], &[100.0, 0.1]).is_some());
        assert!(found(Bound::Sums(64), DType::F32, &[0.1, 0.0], &[0.1, 1e-3]).is_some());
    }

    #[test]
    fn integers_nan_and_infinity_have_no_room() {
        assert!(found(FUNCTION, DType::I32, &[3.0], &[4.0]).is_some());
        let (nan, infinity) = (f64::NAN, f64::INFINITY);
        assert_eq!(found(FUNCTION, DType::F32, &[nan], &[-nan]), None);
        for (a, b) in [(nan, 1.0), (1.0, nan), (infinity, 3e38), (3e38, infinity)] {
            assert!(found(FUNCTION, DType::F32, &[a], &[b]).is_some(), "{a} {b}");
            assert!(found(Bound::Sums(9), DType::F32, &[a, 1.0], &[b, 1.0]).is_some());
        }
        assert!(found(Bound::Exact, DType::F32, &[0.0], &[-0.0]).is_some());
        assert_eq!(found(FUNCTION, DType::F32, &[0.0], &[-0.0]), None);
    }

    #[test]
    fn the_worst_of_several_is_named() {
        let worst = found(FUNCTION, DType::F32, &[1.0, 1.0, 1.0], &[1.1, 2.0, 1.2]).unwrap();
        assert_eq!((worst.beyond, worst.worst, worst.got), (3, 1, 2.0));
    }
}
