//! What results must be: sampled elements computed again on the host in f64.

use ziggurat_tensor::Tensor;

use xtask::failure::{Failure, Outcome};

/// The largest error of a result's samples, each relative to its scale.
pub(crate) type Check = Box<dyn Fn(&Tensor) -> Outcome<f64>>;

/// What an element must be, and what its error is measured by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Want {
    value: f64,
    scale: f64,
    /// Error that is not counted.
    slack: f64,
}

/// The smallest scale: f16's smallest normal number, below which it has fewer digits.
const FLOOR: f64 = 6.2e-5;

/// An element whose error is measured by itself.
pub(crate) fn near(value: f64) -> Want {
    within(value, value.abs())
}

/// An element whose error is measured by this.
pub(crate) fn within(value: f64, scale: f64) -> Want {
    Want {
        value,
        scale: scale.max(FLOOR),
        slack: 0.0,
    }
}

/// What sums in f32 may be off by, as a part of the sum of sizes.
const SUMMING: f64 = 2e-6;

/// A sum of terms whose sizes add up to this: it may be off by what adding in f32 costs, and is otherwise measured by itself.
pub(crate) fn summed(value: f64, size: f64) -> Want {
    Want {
        slack: SUMMING * size,
        ..near(value)
    }
}

/// The sum of products and of their sizes.
pub(crate) fn dot(a: &[f64], b: &[f64]) -> (f64, f64) {
    let products = a.iter().zip(b).map(|(x, y)| x * y);
    products.fold((0.0, 0.0), |(sum, size), product| {
        (sum + product, size + product.abs())
    })
}

/// The largest error; infinite if anything is missing or not a number where it should be.
pub(crate) fn worst(got: &[f64], want: &[Want]) -> f64 {
    if got.len() != want.len() || got.is_empty() {
        return f64::INFINITY;
    }
    let error = |(got, want): (&f64, &Want)| {
        let error = ((got - want.value).abs() - want.slack).max(0.0) / want.scale;
        let same = *got == want.value || (got.is_nan() && want.value.is_nan());
        match (same, got.is_nan() || want.value.is_nan()) {
            (true, _) => 0.0,
            (_, true) => f64::INFINITY,
            _ => error,
        }
    };
    got.iter().zip(want).map(error).fold(0.0, f64::max)
}

/// Positions spread over `n`, the first and the last among them.
pub(crate) fn spread(n: usize, count: usize) -> Vec<usize> {
    let last = n.saturating_sub(1);
    let steps = count.saturating_sub(1).max(1);
    let mut positions: Vec<usize> = (0..count).map(|i| last * i / steps).collect();
    positions.dedup();
    positions
}

/// Elements of a tensor in row-major order.
pub(crate) fn values(tensor: &Tensor) -> Outcome<Vec<f64>> {
    Ok(tensor.to_f64_vec_blocking()?)
}

/// `len` elements from `start` of the row-major sequence.
fn part(tensor: &Tensor, start: usize, len: usize) -> Outcome<Vec<f64>> {
    values(&tensor.reshape([-1])?.narrow(0, start, len)?)
}

/// One row of a matrix, or one index of the first axis.
pub(crate) fn row(tensor: &Tensor, index: usize) -> Outcome<Vec<f64>> {
    values(&tensor.narrow(0, index, 1)?)
}

/// Each element from the elements at the same place of `inputs`, or at the remainder of its place in shorter ones.
pub(crate) fn pointwise(inputs: &[&Tensor], f: impl Fn(&[f64]) -> f64 + 'static) -> Check {
    let inputs: Vec<Tensor> = inputs.iter().map(|&input| input.clone()).collect();
    Box::new(move |out| {
        const BLOCK: usize = 61;
        let n = out.len();
        let len = BLOCK.min(n);
        let mut error = 0.0_f64;
        for start in spread(n - len + 1, 7) {
            let read = |input: &Tensor| part(input, start, len);
            let read: Vec<Vec<f64>> = inputs.iter().map(read).collect::<Outcome<_>>()?;
            let want = |i: usize| {
                let elements: Vec<f64> = read.iter().map(|values| values[i]).collect();
                near(f(&elements))
            };
            let want: Vec<Want> = (0..len).map(want).collect();
            error = error.max(worst(&part(out, start, len)?, &want));
        }
        Ok(error)
    })
}

/// Rows of the result from rows of the input: both have the rows as their first axis.
pub(crate) fn rows(input: &Tensor, f: impl Fn(usize, &[f64]) -> Vec<Want> + 'static) -> Check {
    let input = input.clone();
    Box::new(move |out| {
        let mut error = 0.0_f64;
        for index in spread(input.dims()[0], 3) {
            let want = f(index, &row(&input, index)?);
            error = error.max(worst(&row(out, index)?, &want));
        }
        Ok(error)
    })
}

/// Elements of a result that has the columns as its only axis, from columns.
pub(crate) fn columns(input: &Tensor, f: impl Fn(&[f64]) -> Want + 'static) -> Check {
    let input = input.clone();
    Box::new(move |out| {
        let mut error = 0.0_f64;
        for index in spread(input.dims()[1], 5) {
            let want = f(&values(&input.narrow(1, index, 1)?)?);
            error = error.max(worst(&row(out, index)?, &[want]));
        }
        Ok(error)
    })
}

/// The whole result from the whole input; `f` says which elements and what they are.
pub(crate) fn whole(
    inputs: &[&Tensor],
    f: impl Fn(&[Vec<f64>], &[f64]) -> Outcome<f64> + 'static,
) -> Check {
    let inputs: Vec<Tensor> = inputs.iter().map(|&input| input.clone()).collect();
    Box::new(move |out| {
        let inputs: Vec<Vec<f64>> = inputs.iter().map(values).collect::<Outcome<_>>()?;
        f(&inputs, &values(out)?)
    })
}

/// Sampled elements of `a · b`, `[m, k]` by `[k, n]` or with one leading axis of batches.
pub(crate) fn product(a: &Tensor, b: &Tensor) -> Check {
    let (a, b) = (a.clone(), b.clone());
    Box::new(move |out| {
        let batch = |tensor: &Tensor, at: usize| match tensor.rank() {
            3 => tensor.select(0, isize::try_from(at).unwrap_or(0)),
            _ => Ok(tensor.clone()),
        };
        let batches = if out.rank() == 3 { out.dims()[0] } else { 1 };
        let mut error = 0.0_f64;
        for at in spread(batches, 3) {
            let (a, b, out) = (batch(&a, at)?, batch(&b, at)?, batch(out, at)?);
            for j in spread(out.dims()[1], 5) {
                let column = values(&b.narrow(1, j, 1)?)?;
                for i in spread(out.dims()[0], 3) {
                    let got = values(&out.narrow(0, i, 1)?.narrow(1, j, 1)?)?;
                    let (sum, size) = dot(&row(&a, i)?, &column);
                    error = error.max(worst(&got, &[summed(sum, size)]));
                }
            }
        }
        Ok(error)
    })
}

/// An error if `truth` is false, as the largest error.
pub(crate) fn holds(truth: bool) -> Outcome<f64> {
    Ok(if truth { 0.0 } else { f64::INFINITY })
}

/// Refuses a result whose error is over the bound.
pub(crate) fn judge(error: f64, bound: f64) -> Outcome {
    if error <= bound {
        return Ok(());
    }
    Err(Failure::new(format!(
        "wrong result: an error of {error:.3e} where {bound:.1e} is allowed"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_seen() {
        let want = [near(2.0), within(0.0, 4.0)];
        assert!(worst(&[2.0, 0.0], &want) == 0.0);
        assert!((worst(&[2.0, 1.0], &want) - 0.25).abs() < 1e-12);
        let sum = [summed(1.0, 1e5)];
        assert!(worst(&[1.1], &sum) == 0.0 && worst(&[2.2], &sum) > 0.9);
        assert!(worst(&[f64::NAN, 0.0], &want).is_infinite());
        assert!(worst(&[2.0], &want).is_infinite(), "one is missing");
        assert!(worst(&[], &[]).is_infinite(), "nothing was compared");
        assert!(worst(&[f64::INFINITY], &[near(1.0)]).is_infinite());
        assert!(judge(1e-3, 1e-4).is_err() && judge(0.0, 0.0).is_ok());
    }

    #[test]
    fn positions_reach_both_ends() {
        assert_eq!(spread(1, 3), [0]);
        assert_eq!(spread(10, 3), [0, 4, 9]);
        assert_eq!(spread(2, 5), [0, 1]);
    }
}
