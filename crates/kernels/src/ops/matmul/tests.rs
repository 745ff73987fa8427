//! Every way of a product, on a device with matrix units too.

#![allow(clippy::unwrap_used, reason = "tests")]
use super::*;
use ziggurat_core::{DType, Shape, decode, encode};
use ziggurat_pipeline::device::{DeviceOptions, SoftwareWish};

/// A matrix of each batch entry, and its elements in row-major order.
struct Matrix {
    view: View,
    values: Vec<f64>,
}

/// Elements from `from` on, stored transposed if that is said.
fn matrix(
    exec: &Executor,
    dtype: DType,
    [batch, rows, cols]: [usize; 3],
    transposed: bool,
    from: usize,
) -> Matrix {
    // Nothing is lost in any dtype, and sums of some hundred products are exact in f32.
    let value = |i: usize| ((from + i) * 37 % 13) as f64 - if dtype.is_float() { 6.0 } else { 0.0 };
    let stored = if transposed {
        [batch, cols, rows]
    } else {
        [batch, rows, cols]
    };
    let shape = Shape::new(stored).unwrap();
    let elements: Vec<f64> = (0..shape.len()).map(value).collect();
    let words = encode(dtype, &elements);
    let mut view = exec.upload_bytes(dtype, &words, &shape).unwrap();
    let place = |i: usize| {
        let (b, row, col) = (i / (rows * cols), i / cols % rows, i % cols);
        if transposed {
            (b * cols + col) * rows + row
        } else {
            i
        }
    };
    if transposed {
        view.layout = view.layout.transpose(1, 2).unwrap();
    }
    Matrix {
        values: (0..shape.len()).map(|i| elements[place(i)]).collect(),
        view,
    }
}

fn expected(a: &Matrix, b: &Matrix, [batch, m, k, n]: [usize; 4]) -> Vec<f64> {
    let one = |i: usize| {
        let (entry, row, col) = (i / (m * n), i / n % m, i % n);
        (0..k)
            .map(|d| a.values[(entry * m + row) * k + d] * b.values[(entry * k + d) * n + col])
            .sum()
    };
    (0..batch * m * n).map(one).collect()
}

/// No product has more ways.
const MOST_WAYS: u8 = 13;

/// Every way of a product gives the exact sums, in the dtype that sums are kept in; how many ways there were.
fn all_ways(
    execs: &[Executor],
    operands: [DType; 2],
    extents: [usize; 4],
    transposed: [bool; 2],
) -> usize {
    let [batch, m, k, n] = extents;
    let exec = &execs[0];
    let a = matrix(exec, operands[0], [batch, m, k], transposed[0], 0);
    let b = matrix(exec, operands[1], [batch, k, n], transposed[1], 7);
    let want = expected(&a, &b, extents);
    let (p, shape) = Problem::new(&a.view.layout, &b.view.layout).unwrap();
    let dtype = operands[0].promote(operands[1]);
    let ways = ways(&p, dtype, &exec.ability());
    let sums = dtype.compute();
    for (exec, way) in execs.iter().zip(ways.all()) {
        let out = exec.alloc(&shape, sums).unwrap();
        let _done = exec.matmul(&a.view, &b.view, &out).unwrap();
        let bytes = exec.download(&out).unwrap().wait().unwrap();
        let got = decode(sums, &bytes);
        assert_eq!(got, want, "{operands:?} {extents:?} {transposed:?} {way:?}");
    }
    let count = ways.all().count();
    assert!(count <= execs.len(), "{count} ways");
    count
}

#[test]
fn every_way_gives_exact_sums() {
    let default = Executor::open_blocking(DeviceOptions::default()).unwrap();
    let mut options = DeviceOptions::default();
    options.adapter.software = Some(SoftwareWish::Named("nvidia".to_owned()));
    let large = Executor::open_blocking(options).unwrap();
    let few: &[_] = &[
        [1, 1, 17, 16],
        [2, 36, 20, 40],
        // Rows of each kernel for few, and tiles of which k is a multiple.
        [1, 1, 64, 64],
        [1, 2, 64, 64],
        [1, 8, 64, 64],
        [1, 64, 64, 64],
    ];
    let many: &[_] = &[
        [1, 1, 17, 16],
        [1, 130, 33, 70],
        [2, 64, 48, 132],
        [3, 3, 100, 36],
    ];
    let [f32, f16, bf16, u8] = [DType::F32, DType::F16, DType::BF16, DType::U8];
    let mixed = [[f32, f16], [bf16, f32], [f16, bf16]];
    let devices: [(_, &[_], &[[DType; 2]]); 5] = [
        (&default, many, &[[f32; 2], [f16; 2], [bf16; 2], [u8; 2]]),
        (&default, few, &mixed),
        (&large, few, &[[f32; 2], [f16; 2], [bf16; 2]]),
        (&large, &few[1..2], &mixed),
        (&large, &[[2, 130, 70, 132]], &[[f32; 2], [bf16; 2]]),
    ];
    for (exec, all, dtypes) in devices {
        let execs: Vec<_> = (0..MOST_WAYS).map(|way| exec.in_way(way)).collect();
        for extents in all {
            for operands in dtypes {
                for transposed in [[false, false], [false, true], [true, false]] {
                    let count = all_ways(&execs, *operands, *extents, transposed);
                    assert!(count > 4, "{count} ways");
                }
            }
        }
    }
}
