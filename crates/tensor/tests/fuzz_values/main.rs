//! Random problems of every family against f64 references: shapes (empty ones too), dtypes, arrangements of memory, values
//! with NaN and infinities, pending expressions as inputs. Never a wrong value, never a panic.
//!
//! Each test runs the same few hundred problems everywhere, or others: [`problems::fuzz`] says how to ask for them.
#![allow(clippy::unwrap_used, reason = "tests")]

#[path = "../common/mod.rs"]
mod common;
#[path = "../../../kernels/tests/common/expect.rs"]
mod expect;
#[path = "../../../kernels/tests/common/operands.rs"]
mod operands;
#[path = "../common/problems.rs"]
mod problems;
#[path = "../../../kernels/tests/common/reducing.rs"]
mod reducing;

mod index;
mod linalg;
mod losses;
mod norms;
mod order;
mod products;
mod random;
mod resample;
mod walks;
mod windows;

use operands::{Expected, check, worst};
use ziggurat_kernels::core::decode;
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
