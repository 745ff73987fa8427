//! Problems from which the catalogue lists the kernels of products.

use crate::ops::matmul::precision::MatmulPrecision;
use crate::ops::matmul::problem::Problem;
use crate::ops::reduce::axes::Axis;

/// Problems that reach every way to load and store, for the catalogue.
pub(crate) fn samples() -> Vec<Problem> {
    let unaligned = |p: Problem| Problem {
        b_aligned: false,
        ..p
    };
    let plain = [false; 2];
    let tiles = [32, 33].map(|k| {
        [
            dense([64, k, 64], plain),
            unaligned(dense([64, k, 64], plain)),
            dense([64, k, 65], plain),
            dense([64, k, 64], [true, false]),
            dense([64, k, 64], [false, true]),
        ]
    });
    let deep = dense([64, 128, 64], plain);
    let shared = [
        Problem {
            a_aligned: false,
            ..deep.clone()
        },
        Problem {
            precision: MatmulPrecision::High,
            ..deep.clone()
        },
        deep,
        dense([65, 33, 64], [true, false]),
    ];
    let few = [1, 2, 4, 8, 16].map(|m| dense([m, 64, 64], [false, m == 2]));
    let columns = [2, 4, 8, 15].map(|n| dense([64, 64, n], [n == 2, n == 4]));
    let dots = [[1, 64, 4], [1, 1 << 16, 4]].map(|extents| dense(extents, plain));
    let tiles = tiles.into_iter().flatten().chain(shared);
    tiles.chain(few).chain(columns).chain(dots).collect()
}

/// Problems that reach every way to stream columns, by whole tiles and in shares.
pub(crate) fn streamed_samples() -> Vec<Problem> {
    let extents = |m| {
        [
            dense([m, 64, 64], [false; 2]),
            dense([m, 64, 64], [false, true]),
            dense([m, 64, 65], [false, true]),
        ]
    };
    let deep = [false, true].map(|transposed| dense([16, 512, 64], [false, transposed]));
    let all = [16, 32, 48, 64].into_iter().flat_map(extents);
    all.chain(deep).collect()
}

/// Matrices of a batch of two, lying as they are or transposed.
fn dense([m, k, n]: [u32; 3], [a_transposed, b_transposed]: [bool; 2]) -> Problem {
    let stride = |n: u32| n as isize;
    let [a_row, a_depth] = if a_transposed { [1, m] } else { [k, 1] };
    let [b_depth, b_col] = if b_transposed { [1, k] } else { [n, 1] };
    Problem {
        m: m.into(),
        n: n.into(),
        k: k.into(),
        batch: vec![Axis {
            dim: 2,
            strides: [stride(m * k), stride(k * n)],
        }],
        a_aligned: true,
        b_aligned: true,
        a_row: stride(a_row),
        a_depth: stride(a_depth),
        b_depth: stride(b_depth),
        b_col: stride(b_col),
        one_dtype: true,
        precision: MatmulPrecision::Highest,
        flipped: false,
    }
}
