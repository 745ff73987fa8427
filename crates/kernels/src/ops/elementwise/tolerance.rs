//! What tests feed an op, and how far its results may be from the reference.

use ziggurat_core::{DType, DTypeKind};

/// Inputs on which an op is tested.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Samples {
    /// The lowest input.
    pub low: f64,
    /// The highest input.
    pub high: f64,
}

impl Samples {
    /// Inputs from `low` to `high`.
    pub(crate) const fn range(low: f64, high: f64) -> Self {
        Self { low, high }
    }

    /// Inputs of both signs up to `bound`.
    pub(crate) const fn signed(bound: f64) -> Self {
        Self {
            low: -bound,
            high: bound,
        }
    }
}

/// How far a float result may be from the reference, beyond its rounding to the output's dtype. Integers and bool are
/// always exact.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    /// Units in the last place of an f32 of the expected size.
    pub ulps: f64,
    /// Further units in the last place for each unit of the (second) input's size.
    pub ulps_per_input: f64,
    /// An absolute error.
    pub absolute: f64,
}

impl Tolerance {
    /// Only the rounding to the output's dtype.
    pub(crate) const EXACT: Self = Self::ulps(0.0);

    /// So many f32 units in the last place.
    pub(crate) const fn ulps(ulps: f64) -> Self {
        Self {
            ulps,
            ulps_per_input: 0.0,
            absolute: 0.0,
        }
    }

    /// Allows an absolute error too.
    pub(crate) const fn plus(self, absolute: f64) -> Self {
        Self { absolute, ..self }
    }

    /// Allows more for larger inputs.
    pub(crate) const fn per_input(self, ulps_per_input: f64) -> Self {
        Self {
            ulps_per_input,
            ..self
        }
    }

    /// The largest distance between a result in `dtype` and the `expected` value, `input` being the input that errors
    /// grow with.
    #[must_use]
    pub fn allowed(&self, dtype: DType, expected: f64, input: f64) -> f64 {
        if !dtype.is_float() {
            return 0.0;
        }
        let f32_ulp = ulp(expected, DType::F32);
        let rounding = 0.5 * ulp(expected, dtype);
        let computed = (self.ulps + self.ulps_per_input * input.abs()) * f32_ulp + self.absolute;
        // A result just beside a tie may round the other way.
        let twice = if dtype == DType::F32 || computed == 0.0 {
            1.0
        } else {
            2.0
        };
        rounding * twice * 1.001 + computed
    }
}

/// The distance between neighbours of a float dtype near `value`; 0 for other dtypes.
fn ulp(value: f64, dtype: DType) -> f64 {
    let DTypeKind::Float {
        digits,
        least_exponent,
    } = dtype.info().kind
    else {
        return 0.0;
    };
    if value == 0.0 || !value.is_finite() {
        return f64::powi(2.0, least_exponent);
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "exponents of f64 are small"
    )]
    let exponent = value.abs().log2().floor() as i32;
    f64::powi(
        2.0,
        (exponent + 1)
            .saturating_sub_unsigned(digits)
            .max(least_exponent),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tolerance_of_a_float_is_half_a_unit_at_least() {
        let exact = Tolerance::EXACT;
        assert!(exact.allowed(DType::F32, 1.0, 0.0) >= f64::powi(2.0, -24));
        assert!(exact.allowed(DType::F32, 1.0, 0.0) < f64::powi(2.0, -23));
        assert!(exact.allowed(DType::BF16, 1.0, 0.0) >= f64::powi(2.0, -8));
        assert_eq!(exact.allowed(DType::I32, 1e6, 0.0), 0.0);
    }
}
