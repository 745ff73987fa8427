//! f64 references of small linear algebra, on one dense row-major matrix at a time.

/// X with A X = B by elimination with partial pivoting, and the determinant of A: `a` is `[n, n]`, `b` `[n, columns]`.
#[must_use]
pub fn solve(a: &[f64], b: &[f64], n: usize, columns: usize) -> (Vec<f64>, f64) {
    let (mut a, mut x) = (a.to_vec(), b.to_vec());
    let mut determinant = 1.0;
    for k in 0..n {
        let larger = |i: usize, j: usize| a[j * n + k].abs() > a[i * n + k].abs();
        let pivot = (k..n)
            .reduce(|i, j| if larger(i, j) { j } else { i })
            .unwrap_or(k);
        if pivot != k {
            determinant = -determinant;
            for j in 0..n {
                a.swap(k * n + j, pivot * n + j);
            }
            for j in 0..columns {
                x.swap(k * columns + j, pivot * columns + j);
            }
        }
        determinant *= a[k * n + k];
        for i in (0..n).filter(|&i| i != k) {
            // Below a pivot of 0 are zeros, and nothing to eliminate.
            let factor = match a[i * n + k] {
                0.0 => 0.0,
                above => above / a[k * n + k],
            };
            for j in k..n {
                a[i * n + j] -= factor * a[k * n + j];
            }
            for j in 0..columns {
                x[i * columns + j] -= factor * x[k * columns + j];
            }
        }
    }
    for i in 0..n {
        for j in 0..columns {
            x[i * columns + j] /= a[i * n + i];
        }
    }
    (x, determinant)
}

/// L with A = L Lᵀ, reading the lower triangle of `a` `[n, n]`.
#[must_use]
pub fn cholesky(a: &[f64], n: usize) -> Vec<f64> {
    let mut l = vec![0.0; n * n];
    for i in 0..n {
        for j in 0..=i {
            let dot: f64 = (0..j).map(|k| l[i * n + k] * l[j * n + k]).sum();
            let rest = a[i * n + j] - dot;
            l[i * n + j] = if i == j {
                rest.sqrt()
            } else {
                rest / l[j * n + j]
            };
        }
    }
    l
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn solves_and_factors_small_matrices() {
        let (x, determinant) = solve(&[0., 2., 1., 1.], &[4., 5.], 2, 1);
        assert_eq!((x, determinant), (vec![3., 2.], -2.));
        assert_eq!(solve(&[1.; 9], &[], 3, 0).1, 0.);
        assert_eq!(cholesky(&[4., 9., 2., 10.], 2), [2., 0., 1., 3.]);
    }
}
