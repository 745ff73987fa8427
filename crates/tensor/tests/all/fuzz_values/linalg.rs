//! Systems, factors, inverses and determinants: what they give is put back into the equation that they should meet, so that
//! no matrix is too ill-conditioned to judge.
//!
//! N. J. Higham, "Accuracy and Stability of Numerical Algorithms", 2nd ed.: a computed solution meets `(A + E) x = b` with
//! `|E| <= 3 n u |L| |U|` (theorem 9.4), a triangle `|E| <= n u |T|` (8.5), a Cholesky factor `A + E = L L^T` with
//! `|E| <= (n + 1) u |L| |L^T|` (10.3), u being half an ulp of 1. Divisions and roots of WGSL are off by up to 2.5 ulps, which
//! is what the factor 4 in front of ε is for.

use crate::expect;
use ziggurat_kernels::reference::linalg;
use ziggurat_kernels::reference::round_to;
use ziggurat_tensor::{DType, Tensor};

use super::{FLOATS, read};
use crate::operands::{Expected, Random, check, epsilon};
use crate::problems::{Given, Values, fuzz, given};

const F32: f64 = f32::EPSILON as f64;

/// Beyond this an element is taken for that of a singular matrix.
fn is_tame(values: &[f64], dtype: DType) -> bool {
    let most = if dtype == DType::F16 { 6e4 } else { 1e30 };
    values.iter().all(|x| x.abs() < most)
}

/// `a b` and the sums of the magnitudes of its terms: `a` is `[m, k]`, `b` `[k, n]`.
fn product(a: &[f64], b: &[f64], [m, k, n]: [usize; 3]) -> (Vec<f64>, Vec<f64>) {
    let sum = |size: bool| {
        let (a, b) = (&a, &b);
        let term = move |x: f64| if size { x.abs() } else { x };
        let entry = move |i: usize, j: usize| -> f64 {
            (0..k).map(|l| term(a[i * k + l] * b[l * n + j])).sum()
        };
        (0..m * n).map(|e| entry(e / n, e % n)).collect()
    };
    (sum(false), sum(true))
}

/// `|L| |U|` of the elimination with partial pivoting, its rows in the order of those of `a`.
fn growth(a: &[f64], n: usize) -> Vec<f64> {
    let (mut u, mut rows): (Vec<f64>, Vec<usize>) = (a.to_vec(), (0..n).collect());
    for k in 0..n {
        let pivot = (k..n).fold(k, |best, i| {
            if u[i * n + k].abs() > u[best * n + k].abs() {
                i
            } else {
                best
            }
        });
        rows.swap(k, pivot);
        (0..n).for_each(|j| u.swap(k * n + j, pivot * n + j));
        for i in k + 1..n {
            u[i * n + k] /= u[k * n + k];
            for j in k + 1..n {
                u[i * n + j] -= u[i * n + k] * u[k * n + j];
            }
        }
    }
    let lower = expect::triangle(&u, n, false, true);
    let upper = expect::triangle(&u, n, true, false);
    let (_, sizes) = product(&lower, &upper, [n; 3]);
    let mut out = vec![0.0; n * n];
    for (k, &row) in rows.iter().enumerate() {
        out[row * n..][..n].copy_from_slice(&sizes[k * n..][..n]);
    }
    out
}

/// The matrices of a batch.
fn matrices(values: &[f64], len: usize) -> impl Iterator<Item = &[f64]> {
    values.chunks(len.max(1))
}

/// A side: mostly small, at times longer than what one workgroup takes at once.
fn side(rng: &mut Random) -> usize {
    if rng.below(20) == 0 {
        60 + rng.below(20)
    } else {
        rng.below(14)
    }
}

/// `a x` for solutions `x` of any batch is `b`, within what the equation's error may be.
fn solves(
    what: &str,
    a: &[f64],
    b: &[f64],
    x: &[f64],
    [n, columns]: [usize; 2],
    dtype: DType,
    sizes: &[f64],
) {
    let extents = [n, n, columns];
    let (actual, terms) = product(a, x, extents);
    let absolute: Vec<f64> = x.iter().map(|x| x.abs()).collect();
    let (errors, _) = product(sizes, &absolute, extents);
    let wanted: Vec<Expected> = (b.iter().zip(errors).zip(terms))
        .map(|((&value, error), terms)| Expected {
            value,
            bound: 4.0 * (3.0 * n as f64 + 2.0) * F32 * error + epsilon(dtype) * terms + 1e-30,
        })
        .collect();
    check(what, &actual, &wanted);
}

#[test]
fn solutions_meet_their_equations() {
    fuzz(|device, rng| {
        let dtype = rng.pick(&FLOATS);
        let n = side(rng);
        let batch: Vec<usize> = if n > 20 {
            vec![]
        } else {
            (0..rng.below(3)).map(|_| 1 + rng.below(3)).collect()
        };
        let a = given(
            device,
            dtype,
            &[&batch[..], &[n, n]].concat(),
            Values::Plain,
            rng,
        );
        let columns = rng.below(4);
        let vector = rng.below(4) == 0;
        // Right sides of every matrix, or the same for all.
        let own = rng.below(2) == 0;
        let b_dims = match (vector, own) {
            (true, _) => vec![n],
            (false, true) => [&batch[..], &[n, columns]].concat(),
            (false, false) => vec![n, columns],
        };
        let columns = if vector { 1 } else { columns };
        let b = given(device, dtype, &b_dims, Values::Plain, rng);
        let triangle = (rng.below(2) == 0).then(|| [(); 2].map(|()| rng.below(2) == 0));
        let what = format!("{triangle:?} {dtype} {:?} {b_dims:?}", a.dims());
        let x = match triangle {
            Some([upper, unit]) => a.tensor.solve_triangular(&b.tensor, upper, unit).unwrap(),
            None => a.tensor.solve(&b.tensor).unwrap(),
        };
        let out = if vector {
            [&batch[..], &[n]].concat()
        } else {
            [&batch[..], &[n, columns]].concat()
        };
        assert_eq!(x.dims(), out, "{what}");
        let x = read(&x);
        if n * columns == 0 {
            return;
        }
        for (i, a) in matrices(&a.values, n * n).enumerate() {
            let of = |values: &[f64], one: bool| {
                let at = if one { 0 } else { i };
                values[at * n * columns..][..n * columns].to_vec()
            };
            let (b, x) = (of(&b.values, vector || !own), of(&x, false));
            let (a, sizes) = match triangle {
                Some([upper, unit]) => {
                    let t = expect::triangle(a, n, upper, unit);
                    let sizes = t.iter().map(|t| t.abs()).collect();
                    (t, sizes)
                }
                None => (a.to_vec(), growth(a, n)),
            };
            let exact = linalg::solve(&a, &b, n, columns).0;
            // Steps on the way to a solution may be greater than it.
            if is_tame(&exact, dtype) && is_tame(&x, dtype) && is_tame(&sizes, DType::F32) {
                solves(&what, &a, &b, &x, [n, columns], dtype, &sizes);
            } else {
                let near = exact.iter().all(|x| x.abs() < 1e3);
                assert!(!near, "{what}: {x:?}, should be {exact:?}");
            }
        }
    });
}

#[test]
fn inverses_and_determinants_meet_their_equations() {
    fuzz(|device, rng| {
        let dtype = rng.pick(&FLOATS);
        let n = side(rng);
        let batch: Vec<usize> = (0..rng.below(3)).map(|_| 1 + rng.below(3)).collect();
        let dims = [&batch[..], &[n, n]].concat();
        let a = given(device, dtype, &dims, Values::Plain, rng);
        let what = format!("{dtype} {dims:?}");
        let (inverse, det) = (a.tensor.inverse().unwrap(), a.tensor.det().unwrap());
        assert_eq!(
            (inverse.dims(), det.dims()),
            (&dims[..], &batch[..]),
            "{what}"
        );
        let (inverses, dets) = (read(&inverse), read(&det));
        if n == 0 {
            return assert!(dets.iter().all(|&det| det == 1.0), "{what}");
        }
        let eye: Vec<f64> = (0..n * n)
            .map(|e| f64::from(u8::from(e / n == e % n)))
            .collect();
        for (i, a) in matrices(&a.values, n * n).enumerate() {
            let sizes = growth(a, n);
            let (exact, det) = linalg::solve(a, &eye, n, n);
            if !is_tame(&exact, DType::F32) {
                continue;
            }
            let inverse = &inverses[i * n * n..][..n * n];
            if is_tame(inverse, dtype) {
                solves(&what, a, &eye, inverse, [n, n], dtype, &sizes);
            } else {
                let near = exact.iter().all(|x| x.abs() < 1e3);
                assert!(!near, "{what}: {inverse:?}, should be {exact:?}");
            }
            // det(A + E) = det(A) (1 + trace(A^-1 E) + ..), E as for the factors.
            let trace: f64 = (0..n * n)
                .map(|e| exact[e % n * n + e / n].abs() * sizes[e])
                .sum();
            let relative = 4.0 * n as f64 * F32 * (trace + 2.0);
            if relative > 0.1 {
                continue;
            }
            let wanted = Expected {
                value: det,
                bound: (2.0 * relative + epsilon(dtype)) * det.abs() + f64::from(f32::MIN_POSITIVE),
            };
            let least = if dtype == DType::F16 {
                2f64.powi(-24)
            } else {
                0.0
            };
            let wanted = Expected {
                bound: wanted.bound + least,
                ..wanted.rounded(dtype)
            };
            // Beyond the dtype's range the bound decides whether it is an infinity.
            if wanted.value.is_finite() && dets[i].is_finite() {
                check(&format!("det {what}"), &dets[i..=i], &[wanted]);
            } else {
                let greatest = if dtype == DType::F16 { 65_504.0 } else { 3e38 };
                assert!(
                    det.abs() * (1.0 + 2.0 * relative) > 0.99 * greatest,
                    "{what}: {}",
                    dets[i]
                );
            }
        }
    });
}

/// A positive definite matrix, in whose upper triangle stands anything.
fn definite(dtype: DType, n: usize, rng: &mut Random) -> Vec<f64> {
    let factor: Vec<f64> = (0..n * n).map(|_| rng.value(DType::F32)).collect();
    let transposed: Vec<f64> = (0..n * n).map(|e| factor[e % n * n + e / n]).collect();
    let (square, _) = product(&factor, &transposed, [n; 3]);
    // Rounding moves no eigenvalue further than a row's sum of magnitudes.
    let shift = 0.05 + epsilon(dtype) * 4.0 * (n * n) as f64;
    let entry = |(e, &x): (usize, &f64)| match (e / n).cmp(&(e % n)) {
        std::cmp::Ordering::Less => f64::from(e as u32),
        std::cmp::Ordering::Equal => round_to(dtype, x + shift),
        std::cmp::Ordering::Greater => round_to(dtype, x),
    };
    square.iter().enumerate().map(entry).collect()
}

#[test]
fn factors_meet_their_equation() {
    fuzz(|device, rng| {
        let dtype = rng.pick(&FLOATS);
        let n = side(rng);
        let batch = rng.below(4);
        let values: Vec<f64> = (0..batch).flat_map(|_| definite(dtype, n, rng)).collect();
        let a = placed(device, dtype, &[batch, n, n], &values, rng);
        let what = format!("cholesky {dtype} {:?}", a.dims());
        let factors = a.tensor.cholesky().unwrap();
        assert_eq!(factors.dims(), a.dims(), "{what}");
        let factors = read(&factors);
        for (l, a) in matrices(&factors, n * n).zip(matrices(&a.values, n * n)) {
            let transposed: Vec<f64> = (0..n * n).map(|e| l[e % n * n + e / n]).collect();
            let (square, sizes) = product(l, &transposed, [n; 3]);
            let wanted: Vec<Expected> = (0..n * n)
                .map(|e| {
                    // The upper triangle of A is not read.
                    let lower = e / n * n + e % n;
                    let at = if e % n > e / n {
                        e % n * n + e / n
                    } else {
                        lower
                    };
                    let rounding = 4.0 * (n as f64 + 2.0) * F32 + 2.0 * epsilon(dtype);
                    Expected {
                        value: a[at],
                        bound: rounding * sizes[e] + f64::from(f32::MIN_POSITIVE),
                    }
                })
                .collect();
            check(&what, &square, &wanted);
            let above = (0..n * n).filter(|e| e % n > e / n);
            assert!(
                above.into_iter().all(|e| l[e] == 0.0),
                "{what}: above the diagonal"
            );
            assert!(
                (0..n).all(|i| l[i * n + i] > 0.0),
                "{what}: on the diagonal"
            );
        }
    });
}

/// These values, seen as they are or through a transposed copy.
fn placed(
    device: &ziggurat_tensor::Device,
    dtype: DType,
    dims: &[usize; 3],
    values: &[f64],
    rng: &mut Random,
) -> Given {
    let bytes = ziggurat_kernels::core::encode(dtype, values);
    let dense = Tensor::from_bytes(device, &bytes, dims, dtype).unwrap();
    let tensor = if rng.below(2) == 0 {
        let turned = dense.transpose(1, 2).unwrap().contiguous().unwrap();
        turned.transpose(1, 2).unwrap()
    } else {
        dense
    };
    Given {
        tensor,
        values: ziggurat_kernels::core::decode(dtype, &bytes),
    }
}
