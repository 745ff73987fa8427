//! How far the result of one way may be from that of another.
//!
//! Every way is within the op's bound of the true result, so two of them are within twice the bound, and one unit in the last
//! place of the result's dtype for the rounding at the end. Data are random in [-1, 1], or multiples of 1/8 there: sums of
//! products of those are exact in f32, so that every way must give the same bits.

use ziggurat_core::{DType, decode};

/// ε of f32.
const EPS: f64 = 5.960_464_477_539_063e-8;

/// Terms up to which sums of products of multiples of 1/8 are exact: 2^24 multiples of 1/64.
pub(super) const EXACT_TERMS: usize = 1 << 17;

/// How far two results may differ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Bound {
    /// Not at all.
    Exact,
    /// Sums of so many products, `(n / 16 + 48) ε Σ|term|`: what matrix products promise where matrix units compute them.
    Sums {
        terms: usize,
        /// Rows have sums of very different sizes.
        uneven: bool,
    },
    /// `8 ε · (4 · dim · scale + 8)`, 3 ε for each time that the number of splits doubles, and 2^-10 for f16 and bf16, as
    /// attention promises.
    Attention { dim: usize, scale: f64 },
}

/// Where two results differ by more than the bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Difference {
    pub(super) at: usize,
    pub(super) wanted: f64,
    pub(super) got: f64,
    pub(super) allowed: f64,
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            at,
            wanted,
            got,
            allowed,
        } = self;
        write!(
            f,
            "element {at} is {got}, {wanted} by the default, and may differ by {allowed:.3e}"
        )
    }
}

/// A unit in the last place of 1, and the least number.
fn steps(dtype: DType) -> [f64; 2] {
    match dtype {
        DType::F16 => [2_f64.powi(-10), 2_f64.powi(-24)],
        DType::BF16 => [2_f64.powi(-7), 0.0],
        _ => [2.0 * EPS, 0.0],
    }
}

impl Bound {
    /// The first element of `got` that is further from `wanted` than this.
    pub(super) fn first_beyond(
        self,
        dtype: DType,
        wanted: &[u8],
        got: &[u8],
    ) -> Option<Difference> {
        if wanted == got {
            return None;
        }
        let (wanted, got) = (decode(dtype, wanted), decode(dtype, got));
        let absolute = self.absolute(dtype, &wanted);
        let [ulp, least] = steps(dtype);
        let far = |(at, (&wanted, &got)): (usize, (&f64, &f64))| {
            let allowed = absolute.map_or(0.0, |absolute| absolute + ulp * wanted.abs() + least);
            let same = wanted == got || (wanted.is_nan() && got.is_nan());
            // Written so that what is no number, or infinite, on one side alone is far.
            let near = same || (wanted.is_finite() && (wanted - got).abs() <= allowed);
            (!near).then_some(Difference {
                at,
                wanted,
                got,
                allowed,
            })
        };
        if wanted.len() != got.len() {
            return Some(Difference {
                at: wanted.len().min(got.len()),
                wanted: f64::NAN,
                got: f64::NAN,
                allowed: 0.0,
            });
        }
        wanted.iter().zip(&got).enumerate().find_map(far)
    }

    /// `None` if nothing may differ.
    fn absolute(self, dtype: DType, wanted: &[f64]) -> Option<f64> {
        let finite = || wanted.iter().filter(|value| value.is_finite());
        match self {
            _ if !dtype.is_float() => None,
            Self::Exact => None,
            Self::Sums { terms, uneven } => {
                // Terms of random signs: their magnitudes add up to 0.75 √n times the size of their sum.
                let size = if uneven {
                    finite().fold(0.0, |most: f64, value| most.max(value.abs()))
                } else {
                    let squares: f64 = finite().map(|value| value * value).sum();
                    (squares / finite().count().max(1) as f64).sqrt()
                };
                let terms = terms as f64;
                Some(2.0 * (terms / 16.0 + 48.0) * EPS * terms.sqrt() * size)
            }
            Self::Attention { dim, scale } => {
                let scores = 4.0 * dim as f64 * scale.abs();
                // Matrix units multiply weights in f16.
                let weights = match dtype {
                    DType::F16 | DType::BF16 => 2_f64.powi(-10),
                    _ => 0.0,
                };
                Some(2.0 * (EPS * (8.0 * (scores + 8.0) + 3.0 * 16.0) + weights))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ziggurat_core::encode;

    fn beyond(bound: Bound, dtype: DType, wanted: &[f64], got: &[f64]) -> Option<usize> {
        let (wanted, got) = (encode(dtype, wanted), encode(dtype, got));
        let found = bound.first_beyond(dtype, &wanted, &got);
        found.map(|difference| difference.at)
    }

    const SUMS: Bound = Bound::Sums {
        terms: 64,
        uneven: false,
    };

    #[test]
    fn what_is_near_passes_and_what_is_far_has_its_place() {
        let f32 = DType::F32;
        assert_eq!(beyond(SUMS, f32, &[1.0, 2.0], &[1.0, 2.000_01]), None);
        assert_eq!(beyond(SUMS, f32, &[1.0, 2.0], &[1.0, 2.001]), Some(1));
        assert_eq!(
            beyond(Bound::Exact, f32, &[1.0, 2.0], &[1.0, 2.000_01]),
            Some(1)
        );
        // A size that is not that of the sums at hand.
        let uneven = Bound::Sums {
            terms: 64,
            uneven: true,
        };
        let (wanted, got) = ([1.0, 100.0, 0.0, 0.0], [1.002, 100.0, 0.0, 0.0]);
        assert_eq!(beyond(uneven, f32, &wanted, &got), None);
        assert_eq!(
            beyond(uneven, f32, &wanted, &[1.1, 100.0, 0.0, 0.0]),
            Some(0)
        );
        let attention = Bound::Attention {
            dim: 64,
            scale: 0.125,
        };
        assert_eq!(beyond(attention, f32, &[0.1], &[0.100_02]), None);
        assert_eq!(beyond(attention, f32, &[0.1], &[0.101]), Some(0));
    }

    #[test]
    fn a_unit_in_the_last_place_is_left_to_rounding() {
        assert_eq!(beyond(SUMS, DType::F16, &[1.0, 2.0], &[1.0, 2.002]), None);
        assert_eq!(beyond(SUMS, DType::F16, &[1.0, 2.0], &[1.0, 2.01]), Some(1));
        assert_eq!(beyond(SUMS, DType::BF16, &[1.0], &[1.007_812_5]), None);
        assert_eq!(beyond(SUMS, DType::BF16, &[1.0], &[1.023_437_5]), Some(0));
    }

    #[test]
    fn what_is_no_number_must_be_so_on_both_sides() {
        let (nan, inf) = (f64::NAN, f64::INFINITY);
        let f32 = DType::F32;
        assert_eq!(
            beyond(SUMS, f32, &[nan, inf, 1.0], &[nan, inf, 1.000_001]),
            None
        );
        assert_eq!(beyond(SUMS, f32, &[nan, 1.0], &[0.0, 1.0]), Some(0));
        assert_eq!(beyond(SUMS, f32, &[1.0, 1.0], &[1.0, nan]), Some(1));
        assert_eq!(beyond(SUMS, f32, &[inf, 1.0], &[-inf, 1.0]), Some(0));
        assert_eq!(beyond(SUMS, DType::I32, &[5.0], &[6.0]), Some(0));
        assert_eq!(beyond(SUMS, f32, &[1.0], &[1.0, 2.0]), Some(1));
    }
}
