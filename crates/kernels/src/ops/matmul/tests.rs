//! Every way of a product, on a device with matrix units too.

#![allow(clippy::unwrap_used, reason = "tests")]
use super::*;
use crate::fused::{Expression, FusedOp, FusedOutput};
use crate::ops::elementwise::binary::Binary;
use ziggurat_core::{DType, Shape, decode, encode};
use ziggurat_pipeline::device::{DeviceOptions, SoftwareWish};

mod streamed;

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
const MOST_WAYS: u8 = 21;

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
        // Few columns.
        [2, 40, 36, 5],
    ];
    let many: &[_] = &[
        [1, 1, 17, 16],
        [1, 130, 33, 70],
        [2, 64, 48, 132],
        [3, 3, 100, 36],
        [1, 70, 48, 6],
    ];
    let [f32, f16, bf16, u8] = [DType::F32, DType::F16, DType::BF16, DType::U8];
    let mixed = [[f32, f16], [bf16, f32], [f16, bf16]];
    let devices: [(_, &[_], &[[DType; 2]]); 7] = [
        (&default, many, &[[f32; 2], [f16; 2], [bf16; 2], [u8; 2]]),
        (&default, few, &mixed),
        (&large, few, &[[f32; 2], [f16; 2], [bf16; 2]]),
        (&large, &few[1..2], &mixed),
        (&large, &[[2, 130, 70, 132]], &[[f32; 2], [bf16; 2]]),
        (&large, &[[2, 131, 35, 67], [3, 20, 33, 64]], &[[f16; 2]]),
        // Shares of every tile, of equal depth and not.
        (&large, &[[1, 132, 256, 68], [2, 68, 320, 68]], &[[f16; 2]]),
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

/// Operands lie in matrices of infinities: what is behind a line, or behind the last one, never enters a sum.
#[test]
fn what_lies_behind_operands_does_not_count() {
    let mut options = DeviceOptions::default();
    options.adapter.software = Some(SoftwareWish::Named("nvidia".to_owned()));
    let exec = Executor::open_blocking(options).unwrap();
    let within = |lines: usize, len: usize, [more_lines, more]: [usize; 2], transposed: bool| {
        let stored = Shape::new([lines + more_lines, len + more]).unwrap();
        let value = |i: usize| {
            let (line, at) = (i / (len + more), i % (len + more));
            if line < lines && at < len {
                ((line * len + at) * 37 % 13) as f64 - 6.0
            } else {
                f64::INFINITY
            }
        };
        let elements: Vec<f64> = (0..stored.len()).map(value).collect();
        let words = encode(DType::F16, &elements);
        let all = exec.upload_bytes(DType::F16, &words, &stored).unwrap();
        let layout = all.layout.slice(0, 0, Some(lines as isize), 1).unwrap();
        let layout = layout.slice(1, 0, Some(len as isize), 1).unwrap();
        let layout = match transposed {
            true => layout.transpose(0, 1).unwrap(),
            false => layout,
        };
        let element = move |row: usize, col: usize| {
            let (line, at) = if transposed { (col, row) } else { (row, col) };
            elements[line * (len + more) + at]
        };
        (all.with_layout(layout).unwrap(), element)
    };
    let mut copying = 0;
    for ([m, k, n], more) in [
        ([65, 33, 61], 3),
        ([66, 35, 64], 4),
        ([64, 37, 66], 2),
        ([64, 32, 61], 3),
    ] {
        for (a_transposed, b_transposed) in [(false, false), (true, false), (false, true)] {
            let extents = |transposed, [rows, cols]: [usize; 2]| match transposed {
                true => [cols, rows],
                false => [rows, cols],
            };
            let [lines, len] = extents(a_transposed, [m, k]);
            let (a, a_at) = within(lines, len, [3, more], a_transposed);
            let [lines, len] = extents(b_transposed, [k, n]);
            let (b, b_at) = within(lines, len, [3, more], b_transposed);
            let sum = |i: usize| (0..k).map(|d| a_at(i / n, d) * b_at(d, i % n)).sum::<f64>();
            let want: Vec<f64> = (0..m * n).map(sum).collect();
            let (p, shape) = Problem::new(&a.layout, &b.layout).unwrap();
            for (way, named) in ways(&p, DType::F16, &exec.ability()).all().enumerate() {
                copying += usize::from(matches!(named, Choice::Aligned(_)));
                let exec = exec.in_way(u8::try_from(way).unwrap());
                let out = exec.alloc(&shape, DType::F32).unwrap();
                let _done = exec.matmul(&a, &b, &out).unwrap();
                let bytes = exec.download(&out).unwrap().wait().unwrap();
                assert_eq!(
                    decode(DType::F32, &bytes),
                    want,
                    "{:?} {named:?}",
                    [m, k, n]
                );
            }
        }
    }
    assert!(copying >= 20, "{copying}");
}

/// Rows of many outputs that are no whole vectors are written in lines that are, and copied, unless an expression wants them
/// in their order; both give the exact sums.
#[test]
fn many_rows_that_are_no_whole_vectors_are_copied_into_the_output() {
    let mut options = DeviceOptions::default();
    options.adapter.software = Some(SoftwareWish::Named("nvidia".to_owned()));
    let exec = Executor::open_blocking(options).unwrap();
    let extents = [1, 2060, 40, 2041];
    let [_, m, k, n] = extents;
    let a = matrix(&exec, DType::F16, [1, m, k], false, 0);
    for transposed in [false, true] {
        let b = matrix(&exec, DType::F16, [1, k, n], transposed, 7);
        let want = expected(&a, &b, extents);
        let (_, shape) = Problem::new(&a.view.layout, &b.view.layout).unwrap();
        let read = |out: &View| {
            let bytes = exec.download(out).unwrap().wait().unwrap();
            decode(DType::F16, &bytes)
        };
        let operands = Operands {
            others: [Some(&b.view), None, None, None, None],
            ..Operands::one(&a.view)
        };
        let out = exec.alloc(&shape, DType::F16).unwrap();
        let plan = exec
            .plan(&Call::matmul(), &operands, Sink::new(&out))
            .unwrap();
        let lines = plan.scratch_bytes();
        assert_eq!(plan.dispatches(), Some(2));
        let _done = exec.matmul(&a.view, &b.view, &out).unwrap();
        assert_eq!(read(&out), want, "{transposed}");

        let mut over = Expression::new();
        let (x, y) = (over.computed(DType::F16), over.input(out.clone()));
        let value = over.op(FusedOp::Binary(Binary::Add), &[x, y]).unwrap();
        let through = FusedOutput {
            expression: &over,
            value,
            shape,
            also: &[],
        };
        let sum = exec.alloc(&shape, DType::F16).unwrap();
        let plan = exec.plan(
            &Call::matmul(),
            &operands,
            Sink::new(&sum).through(&through),
        );
        let plan = plan.unwrap();
        assert_eq!(plan.dispatches(), Some(2));
        assert!(plan.scratch_bytes() + (2 * m * n) as u64 <= lines);
        let _done = exec
            .matmul(&a.view, &b.view, Sink::new(&sum).through(&through))
            .unwrap();
        let twice: Vec<f64> = want.iter().map(|x| 2.0 * x).collect();
        assert_eq!(read(&sum), twice, "{transposed}");
    }
}
