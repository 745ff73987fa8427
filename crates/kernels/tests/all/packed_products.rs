//! Products of f32 and bf16 on matrix units that multiply f16, compared with sums of f32 by fused multiply-adds, one after the other:
//! no worse for any data, and the same bits on every run.

use ziggurat_kernels::core::{decode, encode};
use ziggurat_kernels::device::{DeviceOptions, SoftwareWish};
use ziggurat_kernels::{
    Binary, Call, CallKind, DType, Executor, Expression, FusedOp, FusedOutput, MatmulPrecision,
    Operands, Plan, Sink, View,
};

use crate::common;
use crate::operands::{Random, shape};

use cases::{
    Case, FEW_TINY, K, M, N, SCALES_OF_LINES, TINY_ALONE, TINY_AND_SMALL, cases, lines, normal,
};

mod cases;

/// The executors, one for each way of a product as exact as they are told, whose kernels contain a text.
fn ways(a: &View, exec: &Executor, b: &View, out: &View, text: &str) -> Vec<Executor> {
    let all = (0..16).map(|way| exec.in_way(way));
    let has = |exec: &Executor| plan(exec, [a, b], out).listing().contains(text);
    all.filter(has).collect()
}

fn plan(exec: &Executor, [a, b]: [&View; 2], out: &View) -> Plan {
    let precision = exec.matmul_precision();
    let call = Call::new(CallKind::Matmul { precision });
    let operands = Operands {
        others: [Some(b), None, None, None, None],
        ..Operands::one(a)
    };
    exec.plan(&call, &operands, Sink::new(out)).unwrap()
}

/// What is in the kernels that make f16 of operands, before tiles are computed or meanwhile.
const PACKING: [&str; 2] = ["fn pack4", "fn scale_of("];

/// Those that make f16 of operands, before tiles are computed or meanwhile, in large tiles and in small ones; none without matrix
/// units for f16.
fn packing(a: &View, exec: &Executor, b: &View, out: &View) -> Vec<Executor> {
    let all = PACKING.map(|text| ways(a, exec, b, out, text));
    all.into_iter().flatten().collect()
}

/// Columns of b as they lie in memory side by side, and one after the other.
fn sides(exec: &Executor, dtype: DType, b: &[Vec<f32>]) -> [View; 2] {
    let along = upload(exec, dtype, b, false);
    let columns = along.layout.permute(&[1, 0]).unwrap();
    [
        upload(exec, dtype, b, true),
        along.with_layout(columns).unwrap(),
    ]
}

fn devices() -> Vec<Executor> {
    let mut options = DeviceOptions::default();
    options.adapter.software = Some(SoftwareWish::Named("nvidia".to_owned()));
    vec![
        common::executor(),
        Executor::open_blocking(options).unwrap(),
    ]
}

fn upload(exec: &Executor, dtype: DType, values: &[Vec<f32>], transposed: bool) -> View {
    let (lines, depth) = (values.len(), K);
    let flat: Vec<f64> = if transposed {
        (0..depth)
            .flat_map(|k| values.iter().map(move |line| f64::from(line[k])))
            .collect()
    } else {
        values.iter().flatten().map(|&x| f64::from(x)).collect()
    };
    let dims = if transposed {
        [depth, lines]
    } else {
        [lines, depth]
    };
    exec.upload_bytes(dtype, &encode(dtype, &flat), &shape(&dims))
        .unwrap()
}

fn multiply(exec: &Executor, a: &View, b: &View, out: DType) -> Vec<f32> {
    let out = exec.alloc(&shape(&[M, N]), out).unwrap();
    let _done = exec.matmul(a, b, &out).unwrap();
    let bytes = exec.download(&out).unwrap().wait().unwrap();
    decode(out.dtype, &bytes)
        .into_iter()
        .map(|x| x as f32)
        .collect()
}

/// For each output the exact sum, that of magnitudes, and the sum by fused multiply-adds, one after the other.
fn references(case: &Case) -> Vec<[f64; 3]> {
    let one = |i: usize| {
        let (row, col) = (&case.a[i / N], &case.b[i % N]);
        let mut sums = [0.0, 0.0];
        let mut fused = 0.0f32;
        for (&x, &y) in row.iter().zip(col) {
            let term = f64::from(x) * f64::from(y);
            sums[0] += term;
            sums[1] += term.abs();
            fused = x.mul_add(y, fused);
        }
        [sums[0], sums[1], f64::from(fused)]
    };
    (0..M * N).map(one).collect()
}

/// Errors in units of 2^-24 of the sums of magnitudes: the root of the mean of their squares, and the largest.
fn errors(got: impl Iterator<Item = f64>, references: &[[f64; 3]]) -> [f64; 2] {
    let mut sums = [0.0f64; 2];
    for (got, [exact, magnitudes, _]) in got.zip(references) {
        // Below the least normal number an adapter may have zeros.
        let unit = (magnitudes / 16_777_216.0).max(f64::from(f32::MIN_POSITIVE));
        let error = (got - exact).abs() / unit;
        sums[0] += error * error;
        sums[1] = sums[1].max(error);
    }
    [(sums[0] / references.len() as f64).sqrt(), sums[1]]
}

#[test]
fn no_data_gives_larger_errors_than_sums_one_after_the_other() {
    for exec in devices() {
        for case in cases() {
            let a = upload(&exec, DType::F32, &case.a, false);
            let [b, along] = sides(&exec, DType::F32, &case.b);
            let out = exec.alloc(&shape(&[M, N]), DType::F32).unwrap();
            let references = references(&case);
            let fused = errors(references.iter().map(|r| r[2]), &references);
            // What the adapter itself does with subnormals, and without fused multiply-adds.
            let plain = ways(&a, &exec, &b, &out, "fn block(loads_a").swap_remove(0);
            let plain = multiply(&plain, &a, &b, DType::F32);
            let plain = errors(plain.into_iter().map(f64::from), &references);
            // Scales are those of lines, or of whole tiles.
            let packing = |b| {
                let fits = [case.fits, case.fits && case.name != SCALES_OF_LINES];
                let all = PACKING.map(|text| ways(&a, &exec, b, &out, text));
                let all = all.into_iter().zip(fits);
                let all =
                    all.flat_map(|(all, fits)| all.into_iter().map(move |way| (way, b, fits)));
                all.collect::<Vec<_>>()
            };
            for (exec, b, fits) in [&b, &along].into_iter().flat_map(packing) {
                let fused = if fits { fused } else { plain };
                let got = multiply(&exec, &a, b, DType::F32);
                let again = multiply(&exec, &a, b, DType::F32);
                assert!(
                    got.iter()
                        .zip(&again)
                        .all(|(x, y)| x.to_bits() == y.to_bits())
                );
                let own = errors(got.iter().map(|&x| f64::from(x)), &references);
                println!("{}: {own:.2?}, one after the other {fused:.2?}", case.name);
                let name = case.name;
                assert!(!fits || own[1] <= K as f64 / 16.0 + 48.0, "{name}: {own:?}");
                // Where each term cancels the one before, a sum one after the other hardly has errors.
                assert!(own[0] <= fused[0].max(0.25), "{name}: {own:?} {fused:?}");
                assert!(own[1] <= fused[1].max(8.0), "{name}: {own:?} {fused:?}");
            }
        }
    }
}

#[test]
fn tiny_elements_need_no_other_kernel_unless_sums_are_as_small() {
    let exec = common::matrix_executor();
    for dtype in [DType::F32, DType::BF16] {
        for case in cases() {
            // Sums of bf16 have the same bits in both kernels, where no bit is lost.
            let whole = match case.name {
                "normal" | FEW_TINY | TINY_AND_SMALL if dtype == DType::F32 => true,
                TINY_ALONE => false,
                _ => continue,
            };
            let a = upload(&exec, dtype, &case.a, false);
            let [b, along] = sides(&exec, dtype, &case.b);
            let b = if dtype == DType::F32 { b } else { along };
            let out = exec.alloc(&shape(&[M, N]), DType::F32).unwrap();
            let plain = ways(&a, &exec, &b, &out, "fn block(loads_a").swap_remove(0);
            let plain = multiply(&plain, &a, &b, DType::F32);
            for (text, dispatches) in PACKING.into_iter().zip([3, 2]) {
                // Without shares what is flagged has the bits of the plain kernel.
                let alone =
                    |way: &Executor| plan(way, [&a, &b], &out).dispatches() == Some(dispatches);
                let mut ways = ways(&a, &exec, &b, &out, text).into_iter();
                let got = multiply(&ways.find(alone).unwrap(), &a, &b, DType::F32);
                let equal = |i: &usize| got[*i].to_bits() == plain[*i].to_bits();
                // The tiles of column 5.
                let same = (0..M * N).filter(|i| i % N < 64).filter(equal).count();
                let what = format!("{dtype} {} {text}: {same} of {}", case.name, M * 64);
                println!("{what}");
                assert!(if whole { same < M * 48 } else { same == M * 64 }, "{what}");
            }
        }
    }
}

#[test]
fn eleven_bits_of_each_element_are_within_their_bound() {
    // Its precision is nobody else's.
    let exec = common::fresh_matrix_executor();
    let most = 8192.0 + K as f64 + 2.0;
    for case in cases() {
        let a = upload(&exec, DType::F32, &case.a, false);
        let [_, b] = sides(&exec, DType::F32, &case.b);
        let out = exec.alloc(&shape(&[M, N]), DType::F32).unwrap();
        let references = references(&case);
        // What the adapter itself makes of subnormals.
        let plain = ways(&a, &exec, &b, &out, "fn block(loads_a").swap_remove(0);
        let plain = multiply(&plain, &a, &b, DType::F32);
        let plain = errors(plain.into_iter().map(f64::from), &references);
        for precision in [MatmulPrecision::High, MatmulPrecision::Medium] {
            exec.set_matmul_precision(precision);
            let packing = packing(&a, &exec, &b, &out);
            // Packed, and by two tiles in one share and in four.
            assert_eq!(packing.len(), 5, "{}", case.name);
            for exec in packing {
                let got = multiply(&exec, &a, &b, DType::F32);
                let own = errors(got.iter().map(|&x| f64::from(x)), &references);
                println!("{}: {own:.2?}", case.name);
                assert!(own[1] <= most, "{}: {own:?}", case.name);
                // Elements that 11 bits do not hold lose the others; lines that f16 has no room for lose nothing.
                let lost = case.name == "every bit of 24" || case.name == "normal";
                assert!(!lost || own[1] > 100.0, "{}: {own:?}", case.name);
                let kept = case.name == "subnormals" || case.name == "elements from 1e-30 to 1e30";
                assert!(
                    !kept || own[1] <= plain[1].max(100.0),
                    "{}: {own:?}",
                    case.name
                );
            }
        }
        exec.set_matmul_precision(MatmulPrecision::Highest);
        let got = multiply(&exec, &a, &b, DType::F32);
        let own = errors(got.iter().map(|&x| f64::from(x)), &references);
        assert!(
            !case.fits || own[1] <= K as f64 + 48.0,
            "{}: {own:?}",
            case.name
        );
    }
}

#[test]
fn parts_of_a_product_have_the_precision_of_its_call() {
    let case = cases().swap_remove(0);
    let references = references(&case);
    let mut options = DeviceOptions {
        // Less than the left matrix.
        max_binding_bytes: Some(128 << 10),
        ..DeviceOptions::default()
    };
    options.adapter.software = Some(SoftwareWish::Named("nvidia".to_owned()));
    let exec = Executor::open_blocking(options).unwrap();
    let (a, b) = (
        upload(&exec, DType::F32, &case.a, false),
        upload(&exec, DType::F32, &case.b, true),
    );
    let (high, highest) = (MatmulPrecision::High, MatmulPrecision::Highest);
    for (precision, other) in [(high, highest), (highest, high)] {
        let errors = (0..16).map(|way| {
            let exec = exec.in_way(way);
            exec.set_matmul_precision(other);
            let out = exec.alloc(&shape(&[M, N]), DType::F32).unwrap();
            let operands = Operands {
                others: [Some(&b), None, None, None, None],
                ..Operands::one(&a)
            };
            let call = Call::new(CallKind::Matmul { precision });
            let _done = exec.run(&call, &operands, Sink::new(&out)).unwrap();
            let bytes = exec.download(&out).unwrap().wait().unwrap();
            errors(decode(DType::F32, &bytes).into_iter(), &references)[1]
        });
        let largest = errors.fold(0.0, f64::max);
        assert_eq!(largest > 100.0, precision == high, "{largest}");
    }
}

#[test]
fn what_is_not_finite_stays_where_it_is() {
    let mut rng = Random(5);
    let mut a = lines(M, |_, _| normal(&mut rng));
    let mut b = lines(N, |_, _| normal(&mut rng));
    a[3][7] = f32::NAN;
    a[130][299] = f32::INFINITY;
    b[69][0] = f32::NEG_INFINITY;
    b[20][11] = f32::NAN;
    let case = Case {
        name: "",
        a,
        b,
        fits: false,
    };
    let references = references(&case);
    for exec in devices() {
        for dtype in [DType::F32, DType::BF16] {
            let left = upload(&exec, dtype, &case.a, false);
            let out = exec.alloc(&shape(&[M, N]), dtype).unwrap();
            let all = sides(&exec, dtype, &case.b).map(|b| (packing(&left, &exec, &b, &out), b));
            for (exec, right) in all
                .iter()
                .flat_map(|(all, b)| all.iter().map(move |exec| (exec, b)))
            {
                let got = multiply(exec, &left, right, DType::F32);
                for (i, (got, [exact, ..])) in got.iter().zip(&references).enumerate() {
                    assert_eq!(got.is_nan(), exact.is_nan(), "{i}");
                    assert_eq!(got.is_infinite(), exact.is_infinite(), "{i}");
                    if exact.is_infinite() {
                        assert_eq!(f64::from(*got), *exact, "{i}");
                    }
                }
            }
        }
    }
}

/// The elements of bf16 are exact in f16, so errors are those of sums alone.
#[test]
fn products_of_bf16_are_sums_of_f32() {
    for exec in devices() {
        for mut case in cases().into_iter().filter(|case| case.name != "subnormals") {
            let rounded = |x: &mut f32| {
                let bits = encode(DType::BF16, &[f64::from(*x)]);
                *x = decode(DType::BF16, &bits)[0] as f32;
            };
            case.a.iter_mut().flatten().for_each(rounded);
            case.b.iter_mut().flatten().for_each(rounded);
            let a = upload(&exec, DType::BF16, &case.a, false);
            let out = exec.alloc(&shape(&[M, N]), DType::F32).unwrap();
            let references = references(&case);
            let all = sides(&exec, DType::BF16, &case.b).map(|b| (packing(&a, &exec, &b, &out), b));
            for (exec, b) in all
                .iter()
                .flat_map(|(all, b)| all.iter().map(move |exec| (exec, b)))
            {
                let got = multiply(exec, &a, b, DType::F32);
                let own = errors(got.iter().map(|&x| f64::from(x)), &references);
                assert!(own[1] <= K as f64 + 2.0, "{}: {own:?}", case.name);
            }
        }
    }
}

/// Where several workgroups share a tile, sums of all shares are added: of matrices of a batch, which share no flag.
#[test]
fn shares_of_packed_tiles_are_added_for_each_matrix_of_a_batch() {
    const DEPTH: usize = 512;
    // Rows begin at multiples of four elements.
    const PAD: usize = 4;
    let mut rng = Random(77);
    for (exec, must) in devices().into_iter().zip([false, true]) {
        for dtype in [DType::F32, DType::BF16] {
            let mut values = |count: usize| -> Vec<f64> {
                let own: Vec<f64> = (0..count).map(|_| normal(&mut rng)).collect();
                decode(dtype, &encode(dtype, &own))
            };
            let mut a = values(2 * M * (DEPTH + PAD));
            let b = values(DEPTH * N);
            // A flagged line in the second matrix only.
            a[(M + 3) * (DEPTH + PAD) + 7] = f64::INFINITY;
            let whole = exec
                .upload_bytes(dtype, &encode(dtype, &a), &shape(&[2, M, DEPTH + PAD]))
                .unwrap();
            let rows = whole.layout.slice(2, 0, Some(DEPTH as isize), 1).unwrap();
            let rows = whole.with_layout(rows).unwrap();
            let right = exec
                .upload_bytes(dtype, &encode(dtype, &b), &shape(&[N, DEPTH]))
                .unwrap();
            let columns = right.layout.permute(&[1, 0]).unwrap();
            let right = right.with_layout(columns).unwrap();
            let out = exec.alloc(&shape(&[2, M, N]), DType::F32).unwrap();
            let shared: Vec<_> = packing(&rows, &exec, &right, &out)
                .into_iter()
                .filter(|exec| {
                    let operands = Operands {
                        others: [Some(&right), None, None, None, None],
                        ..Operands::one(&rows)
                    };
                    let plan = exec
                        .plan(&Call::matmul(), &operands, Sink::new(&out))
                        .unwrap();
                    plan.listing().contains("out: array<acc>")
                })
                .collect();
            assert!(!must || !shared.is_empty(), "{dtype}");
            for exec in shared {
                let _done = exec.matmul(&rows, &right, &out).unwrap();
                let got = decode(DType::F32, &exec.download(&out).unwrap().wait().unwrap());
                for (i, got) in got.iter().enumerate() {
                    let (row, col) = (i / N, i % N);
                    let terms = (0..DEPTH).map(|k| a[row * (DEPTH + PAD) + k] * b[col * DEPTH + k]);
                    let (exact, magnitudes) = terms.fold((0.0, 0.0), |(sum, all), term| {
                        (sum + term, all + term.abs())
                    });
                    if row == M + 3 {
                        assert_eq!(*got, exact, "{dtype} {row} {col}");
                        continue;
                    }
                    let error = (got - exact).abs() / (magnitudes / 16_777_216.0);
                    assert!(
                        error <= DEPTH as f64 / 16.0 + 48.0,
                        "{dtype} {row} {col}: {error}"
                    );
                }
            }
        }
    }
}

/// An epilogue is written by both kernels, each for its own tiles, and gives the bits that it gives after the product.
#[test]
fn epilogues_are_written_over_both_kinds_of_tiles() {
    let mut rng = Random(9);
    let mut a = lines(M, |_, _| normal(&mut rng));
    a[131][0] = 1e-30;
    let b = lines(N, |_, _| normal(&mut rng));
    for exec in devices() {
        let left = upload(&exec, DType::F32, &a, false);
        let [right, _] = sides(&exec, DType::F32, &b);
        let bias: Vec<f32> = (0..N).map(|i| i as f32).collect();
        let bias = exec.upload(&bias, &shape(&[N])).unwrap();
        let product = exec.alloc(&shape(&[M, N]), DType::F32).unwrap();
        for exec in packing(&left, &exec, &right, &product) {
            let _done = exec.matmul(&left, &right, &product).unwrap();
            let mut over = Expression::new();
            let (x, y) = (over.computed(DType::F32), over.input(bias.clone()));
            let sum = over.op(FusedOp::Binary(Binary::Add), &[x, y]).unwrap();
            let got = exec.alloc(&shape(&[M, N]), DType::F32).unwrap();
            let through = FusedOutput {
                expression: &over,
                value: sum,
                shape: shape(&[M, N]),
                also: &[],
            };
            let _done = exec
                .matmul(&left, &right, Sink::new(&got).through(&through))
                .unwrap();
            let values = |view: &View| {
                let bytes = exec.download(view).unwrap().wait().unwrap();
                decode(DType::F32, &bytes)
            };
            let want = values(&product).into_iter().enumerate();
            let want = want.map(|(i, x)| f64::from(x as f32 + (i % N) as f32));
            assert_eq!(values(&got), want.collect::<Vec<_>>());
        }
    }
}
