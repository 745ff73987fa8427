//! Running products, logarithms of sums and extremes.

use ziggurat_tensor::{DType, ScanOptions};

use super::{moved, within};
use crate::operands::Expected;
use crate::problems::{Values, axis_of, fuzz_few, given, modest};

const F32: f64 = f32::EPSILON as f64;
const LEAST: f64 = f32::MIN_POSITIVE as f64;

/// The rows along an axis: where their elements stand, in the order of the scan.
fn rows(dims: &[usize], axis: usize, reverse: bool) -> Vec<Vec<usize>> {
    let (len, inner) = (dims[axis], dims[axis + 1..].iter().product::<usize>());
    let outer: usize = dims[..axis].iter().product();
    let row = |which: usize| {
        let place = |i: usize| (which / inner * len + i) * inner + which % inner;
        if reverse {
            (0..len).rev().map(place).collect()
        } else {
            (0..len).map(place).collect()
        }
    };
    (0..outer * inner).map(row).collect()
}

/// Rounding of a tree over so many elements, in units of the result.
fn steps(len: usize) -> f64 {
    16.0 + len as f64 / 64.0
}

/// The product so far, and what is to be known of all the products of neighbours that it may be made of.
#[derive(Clone, Copy)]
struct Product {
    value: f64,
    /// The greatest and the least magnitude of a product of neighbours that are neither 0 nor infinite, as logarithms; and
    /// those of the ones that end here.
    ends: [f64; 2],
    all: [f64; 2],
    /// How much what is lost below the least number may have grown since, and before.
    prefix: f64,
    special: bool,
}

impl Product {
    const ONE: Self = Self {
        value: 1.0,
        ends: [0.0; 2],
        all: [0.0; 2],
        prefix: 0.0,
        special: false,
    };

    fn times(mut self, x: f64) -> Self {
        self.value *= x;
        if x == 0.0 || !x.is_finite() {
            self.special = true;
            return self;
        }
        let log = x.abs().ln();
        self.ends = [(self.ends[0] + log).max(0.0), (self.ends[1] + log).min(0.0)];
        self.all = [self.all[0].max(self.ends[0]), self.all[1].min(self.ends[1])];
        self.prefix = self.prefix.max(self.value.abs().ln());
        self
    }

    /// `None` where the order of the multiplications decides: beyond the range of f32, beside an infinity or a 0.
    fn expected(self, len: usize) -> Option<Expected> {
        let beyond = self.all[0] > 88.0;
        let below = self.all[1] < -87.0;
        if beyond || (below && self.special && !self.value.is_nan()) {
            return None;
        }
        let lost = if below {
            (self.prefix.max(0.0) + self.ends[0]).exp() * LEAST * 16.0
        } else {
            LEAST
        };
        Some(Expected {
            value: self.value,
            // Every factor is rounded once, in any order.
            bound: F32 * (16.0 + len as f64 / 2.0) * self.value.abs() + lost,
        })
    }
}

#[test]
fn running_products_agree_with_the_reference() {
    fuzz_few(|device, rng| {
        let dtype = rng.pick(&DType::ALL);
        let rank = 1 + rng.below(4);
        let dims = modest(rank, rng);
        let (signed, axis) = axis_of(rank, rng);
        let values = if dtype.is_float() {
            rng.pick(&[Values::Plain, Values::Special])
        } else {
            Values::Extreme
        };
        let x = given(device, dtype, &dims, values, rng);
        let options = ScanOptions {
            exclusive: rng.below(2) == 0,
            reverse: rng.below(2) == 0,
        };
        let what = format!("cumprod {options:?} {dtype} {dims:?} along {axis}");
        let result = x.tensor.cumprod_with(signed, options);
        let rows = rows(&dims, axis, options.reverse);
        if !dtype.is_float() {
            let mut wanted = vec![0.0; x.values.len()];
            for row in rows {
                let mut product = 1i32;
                for at in row {
                    let before = product;
                    product = product.wrapping_mul(x.values[at] as i64 as i32);
                    let kept = if options.exclusive { before } else { product };
                    wanted[at] = if dtype == DType::U32 {
                        f64::from(kept.cast_unsigned())
                    } else {
                        f64::from(kept)
                    };
                }
            }
            return moved(&what, result, &dims, &wanted);
        }
        let got = crate::fuzz_values::read(result.as_ref().unwrap());
        let mut wanted = vec![Expected::exact(0.0); x.values.len()];
        for row in rows {
            let mut product = Product::ONE;
            for &at in &row {
                let before = product;
                product = product.times(x.values[at]);
                let kept = if options.exclusive { before } else { product };
                wanted[at] = kept.expected(row.len()).unwrap_or(Expected::exact(got[at]));
            }
        }
        within(&what, result, &dims, &wanted);
    });
}

#[test]
fn running_logarithms_of_sums_agree_with_the_reference() {
    fuzz_few(|device, rng| {
        let dtype = rng.pick(&DType::ALL);
        let rank = 1 + rng.below(4);
        let dims = modest(rank, rng);
        let (signed, axis) = axis_of(rank, rng);
        let values = if dtype.is_float() {
            Values::Special
        } else {
            Values::Plain
        };
        let x = given(device, dtype, &dims, values, rng);
        let to = if dtype.is_float() { dtype } else { DType::F32 };
        let mut wanted = vec![Expected::exact(0.0); x.values.len()];
        for row in rows(&dims, axis, false) {
            // The greatest so far, and the sum of exponentials relative to it.
            let (mut most, mut sum, mut nan) = (f64::NEG_INFINITY, 0.0, false);
            for &at in &row {
                let x = f64::from(x.values[at] as f32);
                nan |= x.is_nan();
                if x > most {
                    let scale: f64 = if most.is_finite() {
                        (most - x).exp()
                    } else {
                        0.0
                    };
                    (sum, most) = (sum * scale + 1.0, x);
                } else if x > f64::NEG_INFINITY {
                    sum += if most.is_infinite() {
                        0.0
                    } else {
                        (x - most).exp()
                    };
                }
                let value = match most {
                    _ if nan => f64::NAN,
                    most if most.is_infinite() => most,
                    most => most + sum.ln(),
                };
                let bound = F32 * steps(row.len()) * (1.0 + value.abs());
                wanted[at] = Expected { value, bound };
            }
        }
        let what = format!("logcumsumexp {dtype} {dims:?} along {axis}");
        let result = x.tensor.logcumsumexp(signed);
        assert_eq!(result.as_ref().unwrap().dtype(), to, "{what}");
        within(&what, result, &dims, &wanted);
    });
}

#[test]
fn running_extremes_agree_with_the_reference() {
    fuzz_few(|device, rng| {
        let dtype = rng.pick(&DType::ALL);
        let rank = 1 + rng.below(4);
        let dims = modest(rank, rng);
        let (signed, axis) = axis_of(rank, rng);
        let x = given(device, dtype, &dims, Values::Extreme, rng);
        let greatest = rng.below(2) == 0;
        let (mut values, mut positions) = (vec![0.0; x.values.len()], vec![0.0; x.values.len()]);
        for row in rows(&dims, axis, false) {
            let mut best = 0;
            for (i, &at) in row.iter().enumerate() {
                let (x, y) = (x.values[at], x.values[row[best]]);
                // The last of equals; NaN beats all, and so does the next NaN.
                let wins = if greatest { x >= y } else { x <= y };
                if x.is_nan() || (wins && !y.is_nan()) {
                    best = i;
                }
                (values[at], positions[at]) = (0.0, best as f64);
            }
            for &at in &row {
                values[at] = x.values[row[positions[at] as usize]];
            }
        }
        let what = format!("greatest={greatest} {dtype} {dims:?} along {axis}");
        let (got, at) = if greatest {
            x.tensor.cummax(signed).unwrap()
        } else {
            x.tensor.cummin(signed).unwrap()
        };
        moved(&format!("positions {what}"), Ok(at), &dims, &positions);
        moved(&format!("values {what}"), Ok(got), &dims, &values);
    });
}
