//! f64 reference of softmax, on dense row-major values.

/// `exp(x − max) / Σ exp(x − max)` along `axis`. NaN, +inf or nothing but −inf in a row makes the row NaN.
#[must_use]
pub fn softmax(values: &[f64], dims: &[usize], axis: usize) -> Vec<f64> {
    let len = dims[axis];
    let inner: usize = dims[axis + 1..].iter().product();
    let mut out = vec![0.0; values.len()];
    for start in 0..values.len() {
        // Positions whose index along the axis is 0 begin the rows.
        if !(start / inner).is_multiple_of(len) {
            continue;
        }
        let row = || (0..len).map(|j| start + j * inner);
        let max = row().map(|i| values[i]).fold(f64::NEG_INFINITY, f64::max);
        let nan = row().any(|i| values[i].is_nan());
        let sum: f64 = row().map(|i| (values[i] - max).exp()).sum();
        for i in row() {
            out[i] = if nan {
                f64::NAN
            } else {
                (values[i] - max).exp() / sum
            };
        }
    }
    out
}

/// `x − max − ln Σ exp(x − max)` along `axis`; NaN where [`softmax`] is.
#[must_use]
pub fn log_softmax(values: &[f64], dims: &[usize], axis: usize) -> Vec<f64> {
    let len = dims[axis];
    let inner: usize = dims[axis + 1..].iter().product();
    let mut out = softmax(values, dims, axis);
    for start in (0..values.len()).filter(|start| (start / inner).is_multiple_of(len)) {
        let row = || (0..len).map(|j| start + j * inner);
        let max = row().map(|i| values[i]).fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = row().map(|i| (values[i] - max).exp()).sum();
        for i in row().filter(|&i| !out[i].is_nan()).collect::<Vec<_>>() {
            out[i] = values[i] - max - sum.ln();
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_to_one_along_the_axis() {
        let y = softmax(&[1000., 1001., 0., 1001.], &[2, 2], 0);
        assert!((y[0] + y[2] - 1.0).abs() < 1e-12 && y[1] == 0.5);
    }

    #[test]
    fn rows_without_a_finite_maximum_are_nan() {
        let inf = f64::INFINITY;
        assert!(softmax(&[-inf, -inf], &[2], 0).iter().all(|y| y.is_nan()));
        assert!(softmax(&[inf, 1.], &[2], 0).iter().all(|y| y.is_nan()));
        assert!(softmax(&[f64::NAN, 1.], &[2], 0).iter().all(|y| y.is_nan()));
        assert_eq!(softmax(&[0., -inf], &[2], 0), [1., 0.]);
    }
}
