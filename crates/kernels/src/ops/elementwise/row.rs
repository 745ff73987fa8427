//! What a row of the op tables says, and the choice of its snippet.
//!
//! References work in f64 for floats and in i64 for integers and bool (0 and 1); an integer result is wrapped to
//! the dtype afterwards, and a bool is whether it is not 0. Samples must tell the op from the others of its table,
//! and a test sees to it.

use ziggurat_core::DType;

use crate::ops::elementwise::walk::Recipe;
use crate::source::list::List;
use crate::source::prelude;

/// The floating-point dtypes.
pub(crate) const FLOAT: &[DType] = &[DType::F32, DType::F16, DType::BF16];
/// The integer dtypes.
pub(crate) const INT: &[DType] = &[DType::I32, DType::U32, DType::U8, DType::I8];
/// Everything but bool.
pub(crate) const NUMERIC: &[DType] = &[
    DType::F32,
    DType::F16,
    DType::BF16,
    DType::I32,
    DType::U32,
    DType::U8,
    DType::I8,
];
/// Integers and bool.
pub(crate) const BITS: &[DType] = &[DType::I32, DType::U32, DType::U8, DType::I8, DType::Bool];
/// Bool alone.
pub(crate) const BOOL: &[DType] = &[DType::Bool];
/// Every dtype.
pub(crate) const ALL: &[DType] = &DType::ALL;

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
        let f32_ulp = ulp(expected, 24, -149);
        let rounding = match dtype {
            DType::F16 => 0.5 * ulp(expected, 11, -24),
            DType::BF16 => 0.5 * ulp(expected, 8, -133),
            _ => 0.5 * f32_ulp,
        };
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

/// The distance between neighbours of a float format with `digits` binary digits near `value`.
fn ulp(value: f64, digits: i32, lowest: i32) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return f64::powi(2.0, lowest);
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "exponents of f64 are small"
    )]
    let exponent = value.abs().log2().floor() as i32;
    f64::powi(2.0, (exponent + 1 - digits).max(lowest))
}

/// A row of the unary table.
#[derive(Clone, Copy, Debug)]
pub struct UnarySpec {
    /// The name of op, snippet, method and documentation row.
    pub name: &'static str,
    /// The dtypes it exists for; the output has the input's.
    pub dtypes: &'static [DType],
    /// The reference for floats.
    pub float: fn(f64) -> f64,
    /// The reference for integers and bool, before wrapping.
    pub int: fn(i64) -> i64,
    /// Inputs to test with.
    pub samples: Samples,
    /// The error allowed on floats.
    pub tolerance: Tolerance,
    pub(crate) functions: &'static [&'static str],
    pub(crate) snippets: Snippets,
}

/// A row of the binary table.
#[derive(Clone, Copy, Debug)]
pub struct BinarySpec {
    /// The name of op, snippet, method and documentation row.
    pub name: &'static str,
    /// The dtypes it exists for; both inputs and the output have the same.
    pub dtypes: &'static [DType],
    /// The reference for floats.
    pub float: fn(f64, f64) -> f64,
    /// The reference for integers and bool, before wrapping.
    pub int: fn(i64, i64) -> i64,
    /// First inputs to test with.
    pub samples: Samples,
    /// The error allowed on floats.
    pub tolerance: Tolerance,
    pub(crate) functions: &'static [&'static str],
    pub(crate) snippets: Snippets,
}

/// A row of the comparison table; the output is bool.
#[derive(Clone, Copy, Debug)]
pub struct CompareSpec {
    /// The name of op, snippet, method and documentation row.
    pub name: &'static str,
    /// The dtypes it exists for.
    pub dtypes: &'static [DType],
    /// The reference, which is exact for every dtype.
    pub reference: fn(f64, f64) -> bool,
    pub(crate) snippets: Snippets,
}

/// A row of the predicate table: one input, the output is bool.
#[derive(Clone, Copy, Debug)]
pub struct PredicateSpec {
    /// The name of op, snippet, method and documentation row.
    pub name: &'static str,
    /// The dtypes it exists for.
    pub dtypes: &'static [DType],
    /// The reference, which is exact for every dtype.
    pub reference: fn(f64) -> bool,
    pub(crate) snippets: Snippets,
}

/// Where an op's snippet may lie: one for its kind of dtype goes before the general one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Snippets {
    pub(crate) general: &'static str,
    pub(crate) int: &'static str,
    pub(crate) bool: &'static str,
}

impl Snippets {
    /// The snippet for `dtype`.
    pub(crate) fn of(&self, dtype: DType) -> &'static str {
        if dtype.is_bool() {
            self.bool
        } else if dtype.is_float() {
            self.general
        } else {
            self.int
        }
    }
}

/// The snippet paths of the op `$name` in the table `$table`.
macro_rules! snippets {
    ($table:literal, $name:literal) => {
        $crate::ops::elementwise::row::Snippets {
            general: concat!("elementwise/", $table, "/", $name, ".wgsl"),
            int: $crate::source::shaders::first_of(
                concat!("elementwise/", $table, "/int/", $name, ".wgsl"),
                concat!("elementwise/", $table, "/", $name, ".wgsl"),
            ),
            bool: $crate::source::shaders::first_of(
                concat!("elementwise/", $table, "/bool/", $name, ".wgsl"),
                concat!("elementwise/", $table, "/", $name, ".wgsl"),
            ),
        }
    };
}
pub(crate) use snippets;

/// The recipe of an op with one input dtype and one output dtype.
pub(crate) fn recipe(
    op: &'static str,
    operands: usize,
    from: DType,
    to: DType,
    functions: &'static [&'static str],
    snippet: &'static str,
) -> Recipe {
    let mut parts = List::of(if from.is_float() { functions } else { &[] });
    parts.push(snippet);
    let (flat, strided) = if operands == 1 {
        (
            "elementwise/unary_flat.wgsl",
            "elementwise/unary_strided.wgsl",
        )
    } else {
        (
            "elementwise/binary_flat.wgsl",
            "elementwise/binary_strided.wgsl",
        )
    };
    Recipe {
        op,
        names: List::of(&[from.name()]),
        preludes: List::of(&[prelude::load(from), prelude::store(to)]),
        snippet: parts,
        flat,
        strided,
    }
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

    #[test]
    fn special_snippets_go_before_general_ones() {
        let neg = snippets!("unary", "neg");
        assert_eq!(neg.of(DType::U8), "elementwise/unary/int/neg.wgsl");
        assert_eq!(neg.of(DType::F16), "elementwise/unary/neg.wgsl");
        assert_eq!(
            snippets!("unary", "abs").of(DType::I8),
            "elementwise/unary/abs.wgsl"
        );
    }
}
