//! Scans against a reference: every op, dtype and arrangement, short and long rows, one pass and three.

use crate::common;
use crate::expect;
use crate::operands::{Arrangement, Operand, Random, check, given, operand, output, shape};
use ziggurat_kernels::reference::round_to;
use ziggurat_kernels::{DType, Executor, KernelError, Scan, ScanOptions};

const ALL_OPTIONS: [ScanOptions; 4] = [
    ScanOptions {
        exclusive: false,
        reverse: false,
    },
    ScanOptions {
        exclusive: true,
        reverse: false,
    },
    ScanOptions {
        exclusive: false,
        reverse: true,
    },
    ScanOptions {
        exclusive: true,
        reverse: true,
    },
];

/// Values of which products and sums stay in range for some steps.
fn values(op: Scan, dtype: DType, rng: &mut Random) -> f64 {
    let raw = match (op, dtype) {
        (Scan::Product, DType::Bool) => f64::from(rng.below(50) > 0),
        (Scan::Product, _) if dtype.is_float() => [1.0, 0.5, 2.0, -1.0, 0.75][rng.below(5)],
        (Scan::Product, DType::U32 | DType::U8) => [1.0, 3.0, 2.0][rng.below(3)],
        (Scan::Product, _) => [1.0, -1.0, 3.0, 2.0][rng.below(4)],
        (Scan::ArgMax | Scan::ArgMin, _) if dtype.is_float() => {
            [-2.0, 0.0, -0.0, 1.0, 3.0, f64::INFINITY, f64::NEG_INFINITY][rng.below(7)]
        }
        _ => return rng.value(dtype),
    };
    round_to(dtype, raw)
}

fn compare(
    exec: &Executor,
    op: Scan,
    a: &Operand,
    axis: usize,
    options: ScanOptions,
    to: DType,
    front: usize,
) {
    let dims = a.view.dims().to_vec();
    let out = output(exec, to, &dims, front);
    let _done = exec.scan(op, &a.view, axis, options, &out.view).unwrap();
    let expected = expect::scan(op, &a.values, &dims, axis, options, to);
    let what = format!(
        "{op:?} {} to {to} {dims:?} axis {axis} {options:?}",
        a.view.dtype
    );
    check(&what, &out.read(exec), &expected);
}

fn sweep(exec: &Executor, seed: u64) {
    let mut rng = Random(seed);
    let problems: &[(&[usize], usize)] = &[
        (&[1], 0),
        (&[3], 0),
        (&[257], 0),
        (&[5, 33], 1),
        (&[33, 5], 0),
        (&[2, 19, 3], 1),
        (&[300, 2], 1),
        (&[1, 1, 7], 0),
    ];
    for op in Scan::ALL {
        for dtype in DType::ALL {
            for to in DType::ALL.into_iter().filter(|&to| op.accepts(dtype, to)) {
                // Each takes a pipeline; the choices differ between the profiles.
                for _ in 0..2 {
                    let mut options = rng.pick(&ALL_OPTIONS);
                    options.exclusive &= !matches!(op, Scan::ArgMax | Scan::ArgMin);
                    let (dims, axis) = rng.pick(problems);
                    let mut source = Random(rng.bits());
                    let arrangement = rng.pick(&Arrangement::ALL);
                    let a = operand(exec, dtype, dims, arrangement, || {
                        values(op, dtype, &mut source)
                    });
                    compare(exec, op, &a, axis, options, to, rng.below(5));
                }
            }
        }
    }
}

#[test]
fn scans_of_every_dtype_agree_with_the_reference() {
    let exec = common::executor();
    sweep(&exec, 51);
}

#[test]
fn scans_hold_within_the_default_limits() {
    let exec = common::plain_executor();
    sweep(&exec, 52);
}

#[test]
fn long_rows_are_scanned_in_chunks() {
    let exec = common::executor();
    let mut rng = Random(53);
    for (dims, axis) in [(&[100_003][..], 0), (&[2, 70_001], 1), (&[70_001, 2], 0)] {
        for op in Scan::ALL {
            let dtype = if op == Scan::Product {
                DType::I32
            } else {
                DType::F32
            };
            let options = ScanOptions {
                exclusive: !matches!(op, Scan::ArgMax | Scan::ArgMin) && rng.below(2) == 0,
                reverse: rng.below(2) == 0,
            };
            let mut source = Random(rng.bits());
            let a = operand(&exec, dtype, dims, Arrangement::Sliced, || {
                // Mostly falling, so that the greatest stands early and the least late.
                values(op, dtype, &mut source)
            });
            let to = if op.accepts(dtype, dtype) {
                dtype
            } else {
                DType::I32
            };
            compare(&exec, op, &a, axis, options, to, 0);
        }
    }
    // A maximum in the first chunk and none after it: its position must be carried through all of them.
    let mut peak = vec![0.0; 100_000];
    peak[7] = 5.0;
    let a = given(&exec, DType::F32, &[100_000], &peak);
    let out = output(&exec, DType::I32, &[100_000], 0);
    let _done = exec
        .scan(Scan::ArgMax, &a.view, 0, ScanOptions::default(), &out.view)
        .unwrap();
    assert!(out.read(&exec)[7..].iter().all(|&at| at == 7.0));
}

#[test]
fn a_long_sum_of_ones_is_exact() {
    let exec = common::executor();
    let n = 1 << 20;
    let ones = exec.alloc(&shape(&[n]), DType::F32).unwrap();
    let _done = exec.fill(&ones, 1.0).unwrap();
    let out = exec.alloc(&shape(&[n]), DType::F32).unwrap();
    let _done = exec
        .scan(Scan::Sum, &ones, 0, ScanOptions::default(), &out)
        .unwrap();
    let bytes = exec.download(&out).unwrap().wait().unwrap();
    let got = bytemuck::pod_collect_to_vec::<u8, f32>(&bytes);
    assert!(got.iter().enumerate().all(|(i, &x)| x == (i + 1) as f32));
}

#[test]
fn nan_and_infinity_stay() {
    let exec = common::executor();
    let a = [
        1.0,
        f64::NEG_INFINITY,
        f64::NAN,
        2.0,
        f64::INFINITY,
        f64::NAN,
        0.0,
    ];
    let a = given(&exec, DType::F32, &[7], &a);
    for op in Scan::ALL {
        for options in ALL_OPTIONS {
            if options.exclusive && matches!(op, Scan::ArgMax | Scan::ArgMin) {
                continue;
            }
            let to = if op.accepts(DType::F32, DType::F32) {
                DType::F32
            } else {
                DType::I32
            };
            compare(&exec, op, &a, 0, options, to, 0);
        }
    }
    let low = given(
        &exec,
        DType::F32,
        &[3],
        &[f64::NEG_INFINITY, f64::NEG_INFINITY, 0.0],
    );
    compare(
        &exec,
        Scan::LogSumExp,
        &low,
        0,
        ScanOptions::default(),
        DType::F32,
        0,
    );
    compare(
        &exec,
        Scan::ArgMax,
        &low,
        0,
        ScanOptions::default(),
        DType::I32,
        0,
    );
    let large = given(&exec, DType::F32, &[3], &[1000.0, 1000.0, 0.0]);
    compare(
        &exec,
        Scan::LogSumExp,
        &large,
        0,
        ScanOptions::default(),
        DType::F32,
        0,
    );
}

#[test]
fn what_does_not_fit_is_refused_and_nothing_is_fine() {
    let exec = common::executor();
    let view = |dims: &[usize], dtype| exec.alloc(&shape(dims), dtype).unwrap();
    let (a, out) = (view(&[2, 3], DType::F32), view(&[2, 3], DType::F32));
    let options = ScanOptions::default();
    let text =
        |result: Result<ziggurat_kernels::Completion, KernelError>| result.unwrap_err().to_string();
    assert_eq!(
        text(exec.scan(Scan::Sum, &a, 0, options, &view(&[2, 3], DType::F16))),
        "cumsum: out is f16, but it must be the input's dtype or a wider one"
    );
    assert_eq!(
        text(exec.scan(
            Scan::LogSumExp,
            &view(&[2, 3], DType::I32),
            0,
            options,
            &out
        )),
        "logcumsumexp: a is i32, but it must be a float"
    );
    assert_eq!(
        text(exec.scan(Scan::ArgMax, &a, 0, options, &out)),
        "cummax: out is f32, but positions are i32"
    );
    assert_eq!(
        text(exec.scan(Scan::Sum, &a, 0, options, &view(&[3, 2], DType::F32))),
        "cumsum: the output must be [2, 3], but it is [3, 2]"
    );
    assert!(text(exec.scan(Scan::Sum, &a, 2, options, &out)).starts_with("cumsum: "));
    let exclusive = ScanOptions {
        exclusive: true,
        reverse: false,
    };
    assert!(
        text(exec.scan(Scan::ArgMin, &a, 0, exclusive, &view(&[2, 3], DType::I32)))
            .contains("exclusive")
    );
    let none = view(&[0, 3], DType::F32);
    assert!(exec.scan(Scan::Sum, &none, 0, options, &none).is_ok());
}

#[test]
fn every_scan_of_every_dtype_takes_one_pass_and_three() {
    let exec = common::narrow_executor();
    let mut rng = Random(57);
    for op in Scan::ALL {
        for dtype in DType::ALL {
            for to in DType::ALL.into_iter().filter(|&to| op.accepts(dtype, to)) {
                // Eight invocations cut rows of 600 into chunks; those of whole vectors are read and written four at a time.
                for (len, front) in [(7, 1), (8, 0), (600, 0), (600, 1)] {
                    let a = operand(&exec, dtype, &[len], Arrangement::Contiguous, || {
                        // Products of many values leave the range of small floats.
                        match (op, dtype.is_float()) {
                            (Scan::Product, true) => [1.0, -1.0][rng.below(2)],
                            _ => values(op, dtype, &mut rng),
                        }
                    });
                    compare(&exec, op, &a, 0, ScanOptions::default(), to, front);
                }
            }
        }
    }
}

#[test]
fn rows_of_whole_vectors_are_scanned_from_both_ends() {
    let exec = common::executor();
    let mut rng = Random(59);
    // One tile of lanes and less, several, several chunks of several; at the beginning of whole vectors and behind it.
    for (dims, front) in [
        (&[3, 36][..], 0),
        (&[2, 4096 + 8], 4),
        (&[1, 100_004], 0),
        (&[3, 70_004], 1),
        (&[5, 16_384], 8),
    ] {
        for op in Scan::ALL {
            for options in ALL_OPTIONS {
                let is_extreme = matches!(op, Scan::ArgMax | Scan::ArgMin);
                if is_extreme && options.exclusive {
                    continue;
                }
                let dtype = match op {
                    Scan::Product => rng.pick(&[DType::I32, DType::U8]),
                    Scan::LogSumExp => rng.pick(&[DType::F32, DType::BF16]),
                    _ => rng.pick(&[DType::F32, DType::F16, DType::I8, DType::I32]),
                };
                let mut source = Random(rng.bits());
                let a = operand(&exec, dtype, dims, Arrangement::Contiguous, || {
                    values(op, dtype, &mut source)
                });
                let to = if is_extreme { DType::I32 } else { dtype };
                compare(&exec, op, &a, 1, options, to, front);
            }
        }
    }
}
