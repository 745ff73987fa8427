//! Judging an output: shape, dtype, and every element or sample against the tolerance.
//!
//! The verdict is the worst element, never an average.

use ziggurat_tensor::{DType, f16};

use super::case::Tolerance;

/// What an output must be.
#[derive(Clone, Debug)]
pub(crate) struct Expected {
    pub(crate) shape: Vec<usize>,
    pub(crate) dtype: DType,
    /// Flat positions of `values`; `None`: all of them.
    pub(crate) indices: Option<Vec<usize>>,
    /// Little-endian values.
    pub(crate) values: Vec<u8>,
}

/// An error text naming the worst element, unless the output is as expected.
pub(crate) fn check(
    expected: &Expected,
    shape: &[usize],
    dtype: DType,
    bytes: &[u8],
    tolerance: &Tolerance,
) -> Result<(), String> {
    if shape != expected.shape.as_slice() {
        return Err(format!("shape is {shape:?}, expected {:?}", expected.shape));
    }
    if dtype != expected.dtype {
        return Err(format!("dtype is {dtype}, expected {}", expected.dtype));
    }
    let wanted = decode(dtype, &expected.values);
    let got = decode(dtype, bytes);
    let len: usize = shape.iter().product();
    if got.len() != len {
        return Err(format!("{} elements were read, expected {len}", got.len()));
    }
    let places: Box<dyn Iterator<Item = usize>> = match &expected.indices {
        Some(indices) if indices.len() == wanted.len() => Box::new(indices.iter().copied()),
        None if wanted.len() == len => Box::new(0..len),
        _ => {
            return Err(format!(
                "the vectors have {} values for {len} elements",
                wanted.len()
            ));
        }
    };
    let mut worst: Option<(f64, usize, f64, f64)> = None;
    let mut wrong = 0usize;
    for (place, &expected) in places.zip(&wanted) {
        let Some(&actual) = got.get(place) else {
            return Err(format!(
                "sample position {place} is outside of {len} elements"
            ));
        };
        let excess = excess(dtype, actual, expected, tolerance);
        if excess > 1.0 {
            wrong += 1;
            if worst.is_none_or(|(most, ..)| excess > most) {
                worst = Some((excess, place, actual, expected));
            }
        }
    }
    match worst {
        None => Ok(()),
        Some((excess, place, actual, expected)) => Err(format!(
            "{wrong} of {} wrong, worst at {:?}: {actual:?}, expected {expected:?} ({excess:.3} of the tolerance, {tolerance:?})",
            wanted.len(),
            index_of(place, shape),
        )),
    }
}

/// The error as a multiple of what is allowed; above 1 is wrong.
fn excess(dtype: DType, actual: f64, expected: f64, tolerance: &Tolerance) -> f64 {
    let equal = |same: bool| if same { 0.0 } else { f64::INFINITY };
    if !dtype.is_float() {
        return equal(actual == expected);
    }
    if actual.is_nan() || expected.is_nan() {
        return equal(actual.is_nan() && expected.is_nan());
    }
    if actual.is_infinite() || expected.is_infinite() {
        return equal(actual == expected);
    }
    let (error, allowed) = match *tolerance {
        Tolerance::Exact => return equal(actual == expected),
        Tolerance::Ulp { ulp } => (ulps(dtype, actual, expected), ulp),
        Tolerance::Close { rtol, atol } => {
            ((actual - expected).abs(), atol + rtol * expected.abs())
        }
    };
    if error <= allowed {
        if allowed > 0.0 { error / allowed } else { 0.0 }
    } else {
        (error / allowed).max(1.0 + f64::EPSILON)
    }
}

/// Distance on the line of ordered bit patterns; subnormals count as 0.
fn ulps(dtype: DType, a: f64, b: f64) -> f64 {
    let rank = |value: f64| -> i64 {
        match dtype {
            DType::F16 => {
                let half = f16::from_f64(value);
                let magnitude = if half.to_f64().abs() < f16::MIN_POSITIVE.to_f64() {
                    0
                } else {
                    i64::from(half.to_bits() & 0x7FFF)
                };
                if half.is_sign_negative() {
                    -magnitude
                } else {
                    magnitude
                }
            }
            _ => {
                let single = value as f32;
                let magnitude = if single.abs() < f32::MIN_POSITIVE {
                    0
                } else {
                    i64::from(single.to_bits() & 0x7FFF_FFFF)
                };
                if single.is_sign_negative() {
                    -magnitude
                } else {
                    magnitude
                }
            }
        }
    };
    (rank(a) - rank(b)).unsigned_abs() as f64
}

/// Values as f64, decoded here so that the library's own decoding is under test too.
fn decode(dtype: DType, bytes: &[u8]) -> Vec<f64> {
    fn words<const N: usize>(bytes: &[u8], value: impl Fn([u8; N]) -> f64) -> Vec<f64> {
        bytes
            .as_chunks::<N>()
            .0
            .iter()
            .map(|&word| value(word))
            .collect()
    }
    match dtype {
        DType::F32 => words(bytes, |word| f64::from(f32::from_le_bytes(word))),
        DType::F16 => words(bytes, |word| f16::from_le_bytes(word).to_f64()),
        DType::BF16 => words(bytes, |word| {
            ziggurat_tensor::bf16::from_le_bytes(word).to_f64()
        }),
        DType::I32 => words(bytes, |word| f64::from(i32::from_le_bytes(word))),
        DType::U32 => words(bytes, |word| f64::from(u32::from_le_bytes(word))),
        DType::I8 => words(bytes, |[byte]| f64::from(byte as i8)),
        DType::U8 | DType::Bool => words(bytes, |[byte]| f64::from(byte)),
    }
}

fn index_of(mut place: usize, shape: &[usize]) -> Vec<usize> {
    let mut index = vec![0; shape.len()];
    for (slot, &extent) in index.iter_mut().zip(shape).rev() {
        *slot = place % extent.max(1);
        place /= extent.max(1);
    }
    index
}
