//! Matrix products.

use ziggurat_tensor::{DType, Tensor};

use super::size;
use crate::bench::case::{Case, Cost, Ready, amount};
use crate::bench::expect::product;

pub(super) fn cases(quick: bool) -> Vec<Case> {
    let k = size(quick, 4096, 256);
    let squares: &[usize] = size(quick, &[512, 1024, 2048, 4096, 8192], &[128, 256]);
    let mut cases = Vec::new();
    for dtype in [DType::F32, DType::F16, DType::BF16] {
        cases.extend(squares.iter().map(|&side| plain(dtype, [side; 3])));
        cases.extend([1, 16].map(|m| plain(dtype, [m, k, k])));
        cases.push(batched(
            dtype,
            size(quick, 64, 4),
            [size(quick, 512, 64); 3],
        ));
        if dtype != DType::BF16 {
            cases.extend([1, 16, k].map(|m| transposed(dtype, [m, k, k])));
        }
    }
    // What models ask for besides: few rows, odd extents, many small products, few columns or little depth, few outputs, and what
    // is too small for a large GPU.
    for dtype in [DType::F32, DType::F16] {
        for m in [2, 4, 8, 32, 64, 128] {
            cases.push(plain(dtype, [m, k, k]));
            cases.push(transposed(dtype, [m, k, k]));
        }
        let (odd, vocabulary) = size(quick, (4095, 50_257), (255, 1001));
        cases.extend([
            plain(dtype, [k, odd, k]),
            plain(dtype, [odd, odd, odd]),
            plain(dtype, [k, k, odd]),
            transposed(dtype, [1, k, vocabulary]),
            transposed(dtype, [16, k, vocabulary]),
            batched(dtype, size(quick, 1024, 8), [64; 3]),
            batched(dtype, size(quick, 4096, 8), [32; 3]),
            batched(dtype, size(quick, 512, 4), [1, 128, 1024]),
            batched(dtype, size(quick, 512, 4), [96, 64, 96]),
            plain(dtype, [vocabulary, size(quick, 768, 64), 8]),
            plain(dtype, [size(quick, 65_536, 2048), 3, 64]),
            transposed(dtype, [17, 512, size(quick, 8192, 256)]),
            plain(dtype, [k, k, 1]),
            plain(dtype, [vocabulary, size(quick, 768, 64), 1]),
            plain(dtype, [size(quick, 16_384, 1024), size(quick, 1024, 64), 2]),
            plain(dtype, [1000, size(quick, 1000, 100), 10]),
            plain(dtype, [1, size(quick, 65_536, 4096), 64]),
            plain(dtype, [16, k, size(quick, 11_008, 512)]),
        ]);
        let width = size(quick, 768, 96);
        cases.extend([
            transposed(dtype, [384, width, width]),
            transposed(dtype, [64, width, 4 * width]),
            transposed(dtype, [64, 4 * width, width]),
        ]);
    }
    cases
}

/// `[m, k]` by `[k, n]`.
pub(super) fn plain(dtype: DType, [m, k, n]: [usize; 3]) -> Case {
    Case::new(
        "matmul",
        dtype,
        format!("{m}x{k}x{n}"),
        cost(dtype, 1, [m, k, n]),
        move |lab| {
            let (x, w) = (lab.uniform(&[m, k], dtype)?, lab.uniform(&[k, n], dtype)?);
            let check = product(&x, &w);
            Ok(Ready::new(dtype, check, move || x.matmul(&w)))
        },
    )
}

/// `x wᵀ`: the weights have one row per output.
pub(super) fn transposed(dtype: DType, [m, k, n]: [usize; 3]) -> Case {
    let shape = format!("{m}x{k}x{n}");
    Case::new(
        "matmul_bt",
        dtype,
        shape,
        cost(dtype, 1, [m, k, n]),
        move |lab| {
            let (x, w) = (lab.uniform(&[m, k], dtype)?, lab.uniform(&[n, k], dtype)?);
            let w: Tensor = w.t()?;
            let check = product(&x, &w);
            Ok(Ready::new(dtype, check, move || x.matmul(&w)))
        },
    )
}

fn batched(dtype: DType, batch: usize, [m, k, n]: [usize; 3]) -> Case {
    let shape = format!("{batch}x[{m}x{k}x{n}]");
    let cost = cost(dtype, batch, [m, k, n]);
    Case::new("matmul", dtype, shape, cost, move |lab| {
        let x = lab.uniform(&[batch, m, k], dtype)?;
        let w = lab.uniform(&[batch, k, n], dtype)?;
        let check = product(&x, &w);
        Ok(Ready::new(dtype, check, move || x.matmul(&w)))
    })
}

fn cost(dtype: DType, batch: usize, [m, k, n]: [usize; 3]) -> Cost {
    let flops = 2.0 * amount(batch * m) * amount(n) * amount(k);
    Cost::bytes(dtype.bytes() * batch * (m * k + k * n + m * n)).flops(flops)
}
