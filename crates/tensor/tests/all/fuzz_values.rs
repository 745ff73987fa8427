//! Random problems of every family against f64 references: shapes (empty ones too), dtypes, arrangements of memory, values
//! with NaN and infinities, pending expressions as inputs. Never a wrong value, never a panic.
//!
//! Each test runs the same few hundred problems everywhere, or others: [`problems::fuzz`] says how to ask for them.

mod blocks;
mod caches;
mod casts;
mod chains;
mod contractions;
mod counts;
mod elements;
mod index;
mod layouts;
mod linalg;
mod losses;
mod moves;
mod norms;
mod order;
mod products;
mod put;
mod random;
mod resample;
mod scans;
mod statistics;
mod variables;
mod windows;

use crate::operands::{Expected, check, worst};
use ziggurat_kernels::core::decode;
use ziggurat_kernels::reference::round_to;
use ziggurat_tensor::{DType, Error, Tensor};

const FLOATS: [DType; 3] = [DType::F32, DType::F16, DType::BF16];
const NUMBERS: [DType; 7] = [
    DType::F32,
    DType::F16,
    DType::BF16,
    DType::I32,
    DType::U32,
    DType::I8,
    DType::U8,
];

/// The value is what the reference says; an error is one of the argument's fault.
fn agrees(what: &str, result: Result<Tensor, Error>, dims: &[usize], expected: &[Expected]) {
    let tensor = result.unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_eq!(tensor.dims(), dims, "{what}");
    check(what, &read(&tensor), expected);
}

/// The values are these bit by bit, the sign of a zero and subnormal numbers included; any NaN is a NaN.
fn moved(what: &str, result: Result<Tensor, Error>, dims: &[usize], values: &[f64]) {
    let tensor = result.unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_eq!(tensor.dims(), dims, "{what}");
    let got = read(&tensor);
    assert_eq!(got.len(), values.len(), "{what}");
    if let Some(at) = unlike(&got, values) {
        panic!("{what}: element {at} is {}, not {}", got[at], values[at]);
    }
}

/// The first element that is not the same bit by bit.
fn unlike(got: &[f64], values: &[f64]) -> Option<usize> {
    let same = |(x, y): (&f64, &f64)| x.to_bits() == y.to_bits() || (x.is_nan() && y.is_nan());
    got.iter().zip(values).position(|pair| !same(pair))
}

/// Each value is what the dtype holds of a number within the bound of the exact one, which is not rounded. Beyond the
/// dtype's range that is an infinity, and next to its end either.
fn within(what: &str, result: Result<Tensor, Error>, dims: &[usize], exact: &[Expected]) -> Tensor {
    let tensor = result.unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_eq!(tensor.dims(), dims, "{what}");
    let got = read(&tensor);
    assert_eq!(got.len(), exact.len(), "{what}");
    if let Some(at) = outside(&got, exact, tensor.dtype()) {
        panic!("{what}: element {at} is {}, not {:?}", got[at], exact[at]);
    }
    tensor
}

/// The first element that is no rounding of a number within its bound.
fn outside(got: &[f64], exact: &[Expected], dtype: DType) -> Option<usize> {
    let meets = |(&got, e): (&f64, &Expected)| {
        if e.value.is_nan() || got.is_nan() {
            return e.value.is_nan() && got.is_nan();
        }
        // An infinite bound says that nothing but NaN is wrong.
        let bound = if e.value.is_infinite() { 0.0 } else { e.bound };
        let [low, high] = [e.value - bound, e.value + bound].map(|x| round_to(dtype, x));
        (low..=high).contains(&got)
    };
    got.iter().zip(exact).position(|pair| !meets(pair))
}

fn read(tensor: &Tensor) -> Vec<f64> {
    decode(tensor.dtype(), &tensor.to_bytes_blocking().unwrap())
}

fn refused(what: &str, result: Result<Tensor, Error>) {
    let Err(error) = result else {
        panic!("{what} was accepted");
    };
    assert!(
        error.is_shape() || error.is_dtype() || error.is_argument(),
        "{what}: {error}"
    );
}

#[test]
fn the_comparison_catches_what_it_should() {
    let expected = [
        Expected::exact(1.0),
        Expected {
            value: 2.0,
            bound: 0.1,
        },
    ];
    let fails = |actual: [f64; 2]| worst(&actual, &expected).is_some_and(|(off, _)| off > 1.0);
    assert!(!fails([1.0, 2.05]));
    assert!(fails([1.0, 2.2]) && fails([1.000_001, 2.0]));
    assert!(fails([f64::NAN, 2.0]) && fails([1.0, f64::INFINITY]));
}

#[test]
fn the_comparison_of_bits_catches_what_it_should() {
    let values = [0.0, f64::NAN, 1e-45];
    assert_eq!(unlike(&values, &values), None);
    assert_eq!(unlike(&[-0.0, f64::NAN, 1e-45], &values), Some(0));
    assert_eq!(unlike(&[0.0, 0.0, 1e-45], &values), Some(1));
    assert_eq!(unlike(&[0.0, f64::NAN, 0.0], &values), Some(2));
}

#[test]
fn the_comparison_of_roundings_catches_what_it_should() {
    let near = |value: f64, bound: f64| Expected { value, bound };
    let fits = |got: f64, e: Expected, dtype| outside(&[got], &[e], dtype).is_none();
    // 1 + 2^-11 is half way between two numbers of f16: with a bound both are right, and no third.
    let tie = near(1.0 + 2f64.powi(-11), 1e-7);
    let step = 2f64.powi(-10);
    assert!(fits(1.0, tie, DType::F16) && fits(1.0 + step, tie, DType::F16));
    assert!(!fits(1.0 + 2.0 * step, tie, DType::F16) && !fits(1.0 - step / 2.0, tie, DType::F16));
    assert!(!fits(f64::NAN, tie, DType::F16) && !fits(f64::INFINITY, tie, DType::F16));
    // Near the largest number an infinity may be right, far from it it is not.
    let end = near(65_519.0, 2.0);
    assert!(fits(65_504.0, end, DType::F16) && fits(f64::INFINITY, end, DType::F16));
    assert!(!fits(f64::INFINITY, near(65_000.0, 2.0), DType::F16));
    let nan = near(f64::NAN, 1.0);
    assert!(fits(f64::NAN, nan, DType::F32) && !fits(0.0, nan, DType::F32));
    let infinite = near(f64::INFINITY, 1.0);
    assert!(fits(f64::INFINITY, infinite, DType::F32) && !fits(f64::MAX, infinite, DType::F32));
}
