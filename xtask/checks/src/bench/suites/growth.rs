//! Growth curves: time per element over sizes, so that cliffs are seen.
//!
//! Elements from 2^8 to 2^28, rows from 1 to 2^20 long, and sizes near multiples of a tile; each also where the number of
//! elements is not a multiple of four.

use ziggurat_tensor::DType;

use super::reduce::sum_last;
use super::{elementwise, matmul, rows, size};
use crate::bench::case::{Case, Cost, Lab, Ready, dims_text};
use crate::bench::expect::pointwise;
use xtask::failure::Outcome;

pub(super) fn cases(quick: bool) -> Vec<Case> {
    let mut cases = Vec::new();
    for power in (8..=size(quick, 28, 14)).step_by(size(quick, 2, 3)) {
        for n in [1_usize << power, (1 << power) + 1] {
            for dtype in super::WIDE_AND_NARROW {
                cases.push(elementwise::add(dtype, n).grows("grow_add", n));
            }
            cases.push(unaligned(n));
        }
    }
    // The same number of elements in rows of every length.
    let elements = size(quick, 1 << 24, 1 << 14);
    for power in (0..=size(quick, 20, 12)).step_by(2) {
        for length in [1_usize << power, (1 << power) + 1] {
            let dims = [(elements / length).max(1), length];
            let cost = Cost::bytes(4 * dims[0] * dims[1]);
            let shape = dims_text(&dims);
            let sum = Case::new("sum_last", DType::F32, shape, cost, move |lab| {
                Ok(sum_last(lab.uniform(&dims, DType::F32)?))
            });
            cases.push(sum.grows("grow_sum_last", length));
            cases.push(rows::softmax(DType::F32, dims).grows("grow_softmax", length));
        }
    }
    for tile in size(quick, &[64_usize, 128, 256, 1024, 2048][..], &[16, 64]) {
        for side in [tile - 1, *tile, tile + 1] {
            for dtype in super::WIDE_AND_NARROW {
                cases.push(matmul::plain(dtype, [side; 3]).grows("grow_matmul", side));
            }
        }
    }
    cases
}

/// A view that begins at the second element, so that no four elements lie in one aligned word.
fn unaligned(n: usize) -> Case {
    let cost = Cost::bytes(8 * n);
    let prepare = move |lab: &Lab| -> Outcome<Ready> {
        let x = lab
            .between(&[n + 1], [0.0, 1.0], DType::F32)?
            .narrow(0, 1, n)?;
        let check = pointwise(&[&x], |at| at[0].exp());
        Ok(Ready::new(DType::F32, check, move || x.exp()))
    };
    Case::new("exp", DType::F32, dims_text(&[n]), cost, prepare).grows("grow_exp_unaligned", n)
}
