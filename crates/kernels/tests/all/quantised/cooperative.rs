//! Products of blocks with some tens of rows on matrix units, where there are some: as exact as others, whatever the numbers.

use ziggurat_kernels::device::{DeviceOptions, SoftwareWish};
use ziggurat_kernels::{
    Binary, Call, CallKind, Expression, FusedOp, FusedOutput, LinearForm, Operands, Sink,
};

use super::products::{assert_near, expected};
use super::*;

/// The test's adapter, and one that has matrix units.
fn devices() -> [Executor; 2] {
    let mut options = DeviceOptions::default();
    options.adapter.software = Some(SoftwareWish::Named("nvidia".to_owned()));
    let with_units = Executor::open_blocking(options).unwrap();
    [common::executor(), with_units]
}

/// The executor in the way that takes matrix units, if the device has them.
fn on_units(exec: &Executor, x: &View, weight: &Blocks, out: &View) -> Option<Executor> {
    let call = Call::new(CallKind::QuantizedLinear {
        weight: weight.shape,
        form: LinearForm::default(),
    });
    let operands = Operands {
        others: [Some(&weight.words), None, None, None, None],
        ..Operands::one(x)
    };
    let has = |exec: &Executor| {
        let plan = exec.plan(&call, &operands, Sink::new(out)).unwrap();
        plan.listing().contains("coop_mat16x16")
    };
    (0..4).map(|way| exec.in_way(way)).find(has)
}

/// The product on matrix units of an input's numbers by blocks; `None` without such units.
fn product(
    exec: &Executor,
    (values, m, x): (&[f64], usize, DType),
    weight: &Blocks,
    out: DType,
) -> Option<Vec<f64>> {
    let [n, k] = weight.shape.dims();
    let input = exec.upload_bytes(x, &encode(x, values), &shape(&[m, k]));
    let input = input.unwrap();
    let target = exec.alloc(&shape(&[m, n]), out).unwrap();
    let exec = on_units(exec, &input, weight, &target)?;
    drop(exec.quantized_linear(&input, weight, &target).unwrap());
    Some(read(&exec, &target))
}

/// From -1 up to 1, with all the bits of a dtype.
fn numbers_of(dtype: DType, count: usize, random: &mut Random) -> Vec<f64> {
    let number = |random: &mut Random| (random.next() >> 11) as f64 / 2f64.powi(52) - 1.0;
    let numbers = (0..count).map(|_| number(random));
    numbers.map(|number| round_to(dtype, number)).collect()
}

fn one(exec: &Executor, format: BlockFormat, [m, n, k]: [usize; 3], [x, out]: [DType; 2]) -> bool {
    let random = &mut Random((m * 37 + n * 5 + k) as u64);
    let (weight, numbers) = matrix(exec, format, [n, k], &USUAL, random);
    let values = numbers_of(x, m * k, random);
    let Some(got) = product(exec, (&values, m, x), &weight, out) else {
        return false;
    };
    let what = format!("{format} {m} x {k} x {n}, {x} to {out}");
    let exact = expected(&values, &rounded(DType::F32, &numbers), k);
    if x == DType::F32 || m <= 16 {
        // What matrix units promise, which is less than what vectors do.
        assert_near(&got, &exact, k / 16 + 62, out, &what);
        return true;
    }
    // More rows of f16 and bf16 are multiplied by numbers of 11 bits, unless these have no room for one that matters.
    let of_11_bits = expected(&values, &rounded(DType::F16, &numbers), k);
    let nearer = got.iter().zip(exact.iter().zip(&of_11_bits));
    let nearer = nearer.map(|(got, (exact, rounded))| {
        let is_exact = (got - exact.0).abs() < (got - rounded.0).abs();
        *if is_exact { exact } else { rounded }
    });
    assert_near(&got, &nearer.collect::<Vec<_>>(), k, out, &what);
    let rounds = got
        .iter()
        .zip(&exact)
        .filter(|(got, exact)| (**got - exact.0).abs() > (k + 2) as f64 * 2f64.powi(-24) * exact.1);
    assert!(out != DType::F32 || rounds.count() > 0, "{what}");
    true
}

#[test]
fn every_format_multiplies_on_matrix_units() {
    let ran = devices().map(|exec| {
        let mut ran = 0;
        for (at, &format) in BlockFormat::ALL.iter().enumerate() {
            let k = 512.max(2 * format.elements());
            for (x, rows) in FLOATS.into_iter().zip([[9, 33], [16, 17], [64, 48]]) {
                let out = if at % 2 == 0 { x } else { DType::F32 };
                ran += usize::from(one(&exec, format, [rows[at % 2], 21, k], [x, out]));
            }
        }
        ran
    });
    assert_eq!(ran[1], 3 * BlockFormat::ALL.len());
}

#[test]
fn rows_beyond_a_workgroup_and_shares_multiply_on_matrix_units() {
    let [_, exec] = devices();
    let f32 = DType::F32;
    for dims in [[65, 5, 512], [100, 70, 512], [20, 129, 2048], [2, 16, 256]] {
        assert!(one(&exec, BlockFormat::Q4_K, dims, [f32; 2]), "{dims:?}");
    }
    assert!(one(&exec, BlockFormat::Q8_0, [12, 67, 64 * 17], [f32; 2]));
}

/// Small, for the sanitizer: units of each kind, and every number of f16 that elements become.
#[test]
fn every_part_of_the_kernels_runs_on_matrix_units() {
    let [_, exec] = devices();
    for (format, m, x) in [
        (BlockFormat::Q8_0, 9, DType::F32),
        (BlockFormat::Q4_1, 33, DType::F32),
        (BlockFormat::Q2_K, 17, DType::F32),
        (BlockFormat::Q4_1, 9, DType::F16),
        (BlockFormat::Q8_0, 17, DType::F16),
        (BlockFormat::Q2_K, 18, DType::BF16),
    ] {
        assert!(one(&exec, format, [m, 17, 512], [x; 2]), "{format}, {x}");
    }
}

/// Weights by the scale of each of their blocks, the same for every group of it, as much as a format has of them.
fn with_scales(
    exec: &Executor,
    format: BlockFormat,
    dims: [usize; 2],
    scale: impl Fn(usize, usize) -> f32,
    random: &mut Random,
) -> (Blocks, Vec<f32>) {
    let row = dims[1] / format.elements();
    let mut bytes = Vec::new();
    for at in 0..dims[0] * row {
        bytes.extend(blocks(format, 1, &[scale(at / row, at % row)], random));
    }
    let shape = BlockShape::new(format, dims).unwrap();
    let blocks = exec.upload_blocks(shape, &bytes).unwrap();
    (blocks, format.dequantize(&bytes).unwrap())
}

#[test]
fn scales_of_any_magnitude_side_by_side_multiply() {
    const FORMATS: [BlockFormat; 4] = [
        BlockFormat::Q4_0,
        BlockFormat::Q4_K,
        BlockFormat::Q8_0,
        BlockFormat::Q6_K,
    ];
    let (m, n) = (18, 40);
    for exec in devices() {
        for format in FORMATS {
            let random = &mut Random(31);
            let k = 1024;
            // Of 16 rows one is large or all but one are, blocks grow or shrink along a row, or no two are alike.
            let scales: [&dyn Fn(usize, usize) -> f32; 5] = [
                &|row, _| if row % 16 == 3 { 1024.0 } else { 6e-8 },
                &|row, _| if row % 16 == 3 { 6e-8 } else { 512.0 },
                &|_, block| 2f32.powi(block as i32 % 36 - 24),
                &|_, block| 2f32.powi(11 - block as i32 % 36),
                &|row, block| 2f32.powi(((row * 7 + block * 13) % 36) as i32 - 24),
            ];
            for (at, scale) in scales.into_iter().enumerate() {
                let (weight, numbers) = with_scales(&exec, format, [n, k], scale, random);
                let values = numbers_of(DType::F32, m * k, random);
                let numbers = rounded(DType::F32, &numbers);
                let Some(got) = product(&exec, (&values, m, DType::F32), &weight, DType::F32)
                else {
                    continue;
                };
                let want = expected(&values, &numbers, k);
                let what = format!("{format}, scales {at}");
                assert_near(&got, &want, k, DType::F32, &what);
            }
        }
    }
}

#[test]
fn inputs_of_any_magnitude_side_by_side_multiply() {
    let (m, n, k) = (20, 24, 512);
    for exec in devices() {
        let random = &mut Random(32);
        let (weight, numbers) = matrix(&exec, BlockFormat::Q4_K, [n, k], &[0.0625, 0.007], random);
        let numbers = rounded(DType::F32, &numbers);
        // Rows unlike each other, one element that is larger than all others together, elements unlike each other, nothing else than
        // zeros and a few.
        let of = |row: usize, at: usize, x: f64| -> [f64; 4] {
            let alone = if at == row { 1e6 } else { 1e-5 };
            let few = if at % 97 == row { 1.0 } else { 0.0 };
            [
                x * 2f64.powi(row as i32 * 9 - 90),
                x * alone,
                x * 2f64.powi((at * 29 % 80) as i32 - 40),
                x * few,
            ]
        };
        for kind in 0..4 {
            let value = |i: usize| f64::from(of(i / k, i % k, random.number())[kind] as f32);
            let values: Vec<f64> = (0..m * k).map(value).collect();
            let Some(got) = product(&exec, (&values, m, DType::F32), &weight, DType::F32) else {
                continue;
            };
            let want = expected(&values, &numbers, k);
            assert_near(&got, &want, k, DType::F32, &format!("inputs {kind}"));
        }
    }
}

/// Inputs far below others, which only meet numbers that are zero.
#[test]
fn small_inputs_behind_zeros_multiply() {
    let (m, n, k) = (17, 40, 512);
    for exec in devices() {
        let random = &mut Random(35);
        for format in [BlockFormat::Q8_0, BlockFormat::Q4_K] {
            let zeros = 256 / format.elements();
            let scale = |row: usize, block: usize| match (row % 3, block < zeros) {
                (0, true) => 0.0,
                _ => 0.03,
            };
            let (weight, numbers) = with_scales(&exec, format, [n, k], scale, random);
            let mut values = numbers_of(DType::F32, m * k, random);
            for (at, value) in values.iter_mut().enumerate() {
                let factor = if at % k < 256 { 1e6 } else { 1e-6 };
                *value = f64::from((*value * factor) as f32);
            }
            let Some(got) = product(&exec, (&values, m, DType::F32), &weight, DType::F32) else {
                continue;
            };
            let want = expected(&values, &rounded(DType::F32, &numbers), k);
            assert_near(&got, &want, k, DType::F32, &format.to_string());
        }
    }
}

/// Whether inputs have what is not finite, and whether numbers have.
fn not_finite(exec: &Executor, format: BlockFormat, [of_x, of_w]: [bool; 2]) {
    let (m, n, k) = (35, 70, 512);
    let random = &mut Random(33);
    let scale = |row: usize, block: usize| match (row, block) {
        (5, 1) if of_w => f32::NAN,
        (20, 0) if of_w => f32::INFINITY,
        (69, 1) if of_w => f32::NEG_INFINITY,
        _ => 0.03,
    };
    let (weight, numbers) = with_scales(exec, format, [n, k], scale, random);
    let mut values = numbers_of(DType::F32, m * k, random);
    if of_x {
        values[3 * k + 7] = f64::NAN;
        values[19 * k + 8] = f64::INFINITY;
    }
    let Some(got) = product(exec, (&values, m, DType::F32), &weight, DType::F32) else {
        return;
    };
    let want = expected(&values, &rounded(DType::F32, &numbers), k);
    let mut finite = 0;
    for (at, (got, &(want, size))) in got.iter().zip(&want).enumerate() {
        let what = format!("{format}, output {at}: {got}, not {want}");
        if want.is_finite() {
            finite += 1;
            let bound = (k + 2) as f64 * 2f64.powi(-24) * size;
            assert!((got - want).abs() <= bound, "{what}");
        } else {
            assert_eq!(got.is_nan(), want.is_nan(), "{what}");
            assert!(want.is_nan() || *got == want, "{what}");
        }
    }
    assert!((m * n / 2..m * n).contains(&finite), "{format}");
}

#[test]
fn what_is_not_finite_stays_on_matrix_units() {
    for exec in devices() {
        for format in [BlockFormat::Q8_0, BlockFormat::Q5_1, BlockFormat::Q3_K] {
            for which in [[true, false], [false, true], [true, true]] {
                not_finite(&exec, format, which);
            }
        }
    }
}

/// Each output is written once: an expression that reads memory of the output finds what was there.
#[test]
fn products_on_matrix_units_are_written_through_an_expression() {
    let (m, n, k) = (17, 70, 512);
    let [_, exec] = devices();
    let random = &mut Random(34);
    for (x, infinite) in [(DType::F32, false), (DType::F16, true)] {
        let (weight, _) = matrix(&exec, BlockFormat::Q4_K, [n, k], &USUAL, random);
        let mut values = numbers_of(x, m * k, random);
        if infinite {
            values[5] = f64::INFINITY;
        }
        let input = exec.upload_bytes(x, &encode(x, &values), &shape(&[m, k]));
        let input = input.unwrap();
        let others = encode(x, &numbers_of(x, m * n, random));
        let other = exec.upload_bytes(x, &others, &shape(&[m, n])).unwrap();
        let mut e = Expression::new();
        let (product, other) = (e.computed(x), e.input(other));
        let value = e.op(FusedOp::Binary(Binary::Add), &[product, other]);
        let out = exec.alloc(&shape(&[m, n]), x).unwrap();
        let written = FusedOutput {
            expression: &e,
            value: value.unwrap(),
            shape: *out.shape(),
            also: &[],
        };
        let plain = exec.alloc(&shape(&[m, n]), x).unwrap();
        let exec = on_units(&exec, &input, &weight, &plain).unwrap();
        let sink = Sink::new(&out).through(&written);
        drop(exec.quantized_linear(&input, &weight, sink).unwrap());
        drop(exec.quantized_linear(&input, &weight, &plain).unwrap());
        let others = decode(x, &others);
        let plain = read(&exec, &plain);
        let want = plain.iter().zip(others).map(|(p, o)| round_to(x, p + o));
        let want: Vec<_> = want.collect();
        assert_same(&read(&exec, &out), &want, &format!("{x}"));
        assert_eq!(want.iter().any(|x| !x.is_finite()), infinite);
    }
}
