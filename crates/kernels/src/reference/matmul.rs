//! f64 reference of matmul, on dense row-major values.

use super::reduce::Term;

/// Extents of a batch of products: `[batch, m, k] × [batch, k, n]`, the batch already broadcast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extents {
    /// Matrices.
    pub batch: usize,
    /// Rows of a.
    pub m: usize,
    /// Columns of b.
    pub n: usize,
    /// Columns of a, rows of b.
    pub k: usize,
}

/// The batch of products in f64, with the magnitudes that bound their rounding error.
#[must_use]
pub fn matmul(a: &[f64], b: &[f64], e: Extents) -> Vec<Term> {
    entries(
        e,
        |i, j, term: &mut Term| {
            let product = a[i] * b[j];
            term.value += product;
            term.magnitude += product.abs();
        },
        Term {
            value: 0.0,
            magnitude: 0.0,
        },
    )
}

/// The batch of products in integers that wrap modulo 2⁶⁴: the low bits are those of any narrower type.
#[must_use]
pub fn matmul_wrapping(a: &[i64], b: &[i64], e: Extents) -> Vec<i64> {
    entries(
        e,
        |i, j, sum: &mut i64| *sum = sum.wrapping_add(a[i].wrapping_mul(b[j])),
        0,
    )
}

fn entries<T: Copy>(e: Extents, mut add: impl FnMut(usize, usize, &mut T), zero: T) -> Vec<T> {
    let mut out = Vec::with_capacity(e.batch * e.m * e.n);
    for batch in 0..e.batch {
        for row in 0..e.m {
            for col in 0..e.n {
                let mut sum = zero;
                for k in 0..e.k {
                    add(
                        (batch * e.m + row) * e.k + k,
                        (batch * e.k + k) * e.n + col,
                        &mut sum,
                    );
                }
                out.push(sum);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn multiplies_small_matrices() {
        let e = Extents {
            batch: 1,
            m: 2,
            n: 2,
            k: 2,
        };
        let y = matmul(&[1., 2., 3., 4.], &[5., 6., 7., -8.], e);
        assert_eq!(
            y.iter().map(|t| t.value).collect::<Vec<_>>(),
            [19., -10., 43., -14.]
        );
        assert_eq!(y[1].magnitude, 22.0);
        assert_eq!(
            matmul_wrapping(&[1, 2, 3, 4], &[5, 6, 7, -8], e),
            [19, -10, 43, -14]
        );
    }

    #[test]
    fn no_inner_extent_gives_zeros() {
        let y = matmul(
            &[],
            &[],
            Extents {
                batch: 1,
                m: 2,
                n: 3,
                k: 0,
            },
        );
        assert_eq!(
            y,
            [Term {
                value: 0.0,
                magnitude: 0.0
            }; 6]
        );
    }
}
