//! Products with blocks: every format, few rows and many, whatever the input's strides.

use super::*;
use ziggurat_kernels::{Binary, Expression, FusedOp, FusedOutput, Sink, Unary};

/// `x · wᵀ` in f64, with the sums of magnitudes.
pub(super) fn expected(x: &[f64], w: &[f64], k: usize) -> Vec<(f64, f64)> {
    let one = |x: &[f64], w: &[f64]| {
        let terms = x.iter().zip(w).map(|(x, w)| x * w);
        terms.fold((0.0, 0.0), |(sum, size), term| {
            (sum + term, size + term.abs())
        })
    };
    let rows = x.chunks_exact(k);
    rows.flat_map(|x| {
        w.chunks_exact(k)
            .map(move |w| one(x, w))
            .collect::<Vec<_>>()
    })
    .collect()
}

/// Of one rounding to a dtype.
fn step(dtype: DType) -> f64 {
    match dtype {
        DType::F16 => 2f64.powi(-11),
        DType::BF16 => 2f64.powi(-8),
        _ => 2f64.powi(-24),
    }
}

pub(super) fn assert_near(got: &[f64], want: &[(f64, f64)], k: usize, out: DType, what: &str) {
    assert_eq!(got.len(), want.len(), "{what}");
    for (at, (&got, &(want, size))) in got.iter().zip(want).enumerate() {
        let sums = (k + 2) as f64 * 2f64.powi(-24) * size;
        let bound = sums + (want.abs() + sums) * step(out) + 1e-30;
        let error = (got - want).abs();
        assert!(
            error <= bound,
            "{what}: output {at} is {got}, should be {want} ± {bound}"
        );
    }
}

fn input(exec: &Executor, dtype: DType, dims: &[usize], random: &mut Random) -> (View, Vec<f64>) {
    let numbers: Vec<f64> = (0..dims.iter().product())
        .map(|_| random.number())
        .collect();
    let view = exec.upload_bytes(dtype, &encode(dtype, &numbers), &shape(dims));
    (view.unwrap(), numbers)
}

/// What a product of so many rows multiplies by: more than 16 are multiplied by rounded numbers.
fn multiplied(dtype: DType, rows: usize, numbers: &[f32]) -> Vec<f64> {
    rounded(if rows > 16 { dtype } else { DType::F32 }, numbers)
}

fn one(exec: &Executor, format: BlockFormat, [m, n, k]: [usize; 3], [x, out]: [DType; 2]) {
    let random = &mut Random((m * 31 + n * 7 + k) as u64);
    let (weight, numbers) = matrix(exec, format, [n, k], &USUAL, random);
    let (input, values) = input(exec, x, &[m, k], random);
    let target = exec.alloc(&shape(&[m, n]), out).unwrap();
    drop(exec.quantized_linear(&input, &weight, &target).unwrap());
    let want = expected(&values, &multiplied(x, m, &numbers), k);
    let what = format!("{format} {m} x {k} x {n}, {x} to {out}");
    assert_near(&read(exec, &target), &want, k, out, &what);
}

#[test]
fn every_format_multiplies() {
    let [f32, f16, bf16] = FLOATS;
    let devices = [common::executor(), common::plain_executor()];
    for exec in &devices {
        for (at, &format) in BlockFormat::ALL.iter().enumerate() {
            let block = format.elements();
            for m in [1, 2, 3, 5, 16] {
                one(exec, format, [m, 13, 3 * block], [f32; 2]);
            }
            one(
                exec,
                format,
                [1 + at, 7, block],
                [[f16, f16], [bf16, f32]][at % 2],
            );
            one(
                exec,
                format,
                [[33, 17][at % 2] + at % 3, 9, block],
                [[f32, f32], [f16, f32]][at % 2],
            );
        }
    }
}

#[test]
fn every_number_of_rows_multiplies() {
    let exec = common::executor();
    for m in 1..=36 {
        let dtype = FLOATS[m % 3];
        one(&exec, BlockFormat::Q8_0, [m, 5, 96], [dtype; 2]);
        one(&exec, BlockFormat::Q4_K, [m, 11, 512], [dtype, DType::F32]);
    }
    // Several chunks of the input in workgroup memory, the last one not whole.
    one(&exec, BlockFormat::Q4_K, [3, 7, 9 * 256], [DType::F32; 2]);
    one(
        &exec,
        BlockFormat::Q8_0,
        [6, 9, 5 * 1024 + 96],
        [DType::F16; 2],
    );
    one(&exec, BlockFormat::Q5_1, [2, 19, 69 * 32], [DType::F32; 2]);
    // More units of a row than invocations of a workgroup.
    one(&exec, BlockFormat::Q8_0, [1, 9, 5 * 1024], [DType::F32; 2]);
    one(&exec, BlockFormat::Q4_0, [2, 3, 5 * 1024], [DType::F16; 2]);
    // Two tiles in a workgroup, of eight rows: a device is busy with so many.
    one(
        &exec,
        BlockFormat::Q4_0,
        [2, 8203, 33 * 32],
        [DType::F32; 2],
    );
}

#[test]
fn every_way_multiplies() {
    let exec = common::executor().in_way(1);
    for &format in BlockFormat::ALL {
        for dtype in FLOATS {
            one(&exec, format, [3, 5, format.elements()], [dtype; 2]);
        }
    }
    // One row, by fewer blocks than a workgroup has invocations and by more, in steps of which the last is not whole.
    for way in 0..3 {
        let exec = common::executor().in_way(way);
        for &format in BlockFormat::ALL {
            for blocks in [3, 18, 48, 130] {
                one(
                    &exec,
                    format,
                    [1, 37, blocks * format.elements()],
                    [DType::F32; 2],
                );
            }
        }
    }
}

/// Rows of f16 times numbers beyond what f16 holds, few and many, where kernels decode them and where memory has them.
#[test]
fn numbers_beyond_f16_multiply_rows_of_f16() {
    let of = |way| common::executor().in_way(way);
    for (exec, m) in [(of(0), 3), (of(1), 3), (of(0), 19)] {
        let random = &mut Random(77);
        let k = 64;
        let (weight, numbers) = matrix(&exec, BlockFormat::Q8_0, [5, k], &[1000.0], random);
        assert!(numbers.iter().any(|number| number.abs() > 65_504.0));
        let values: Vec<f64> = (0..m * k).map(|_| random.number() / 1024.0).collect();
        let x = exec.upload_bytes(DType::F16, &encode(DType::F16, &values), &shape(&[m, k]));
        for out in [DType::F16, DType::F32] {
            let target = exec.alloc(&shape(&[m, 5]), out).unwrap();
            drop(
                exec.quantized_linear(x.as_ref().unwrap(), &weight, &target)
                    .unwrap(),
            );
            let numbers = rounded(DType::F32, &numbers);
            let want = expected(&values, &numbers, k);
            assert_near(&read(&exec, &target), &want, k, out, "large numbers");
        }
    }
}

#[test]
fn the_same_input_gives_the_same_bits() {
    let exec = common::executor();
    let random = &mut Random(9);
    let (weight, _) = matrix(&exec, BlockFormat::Q6_K, [33, 1024], &USUAL, random);
    let (input, _) = input(&exec, DType::F32, &[3, 1024], random);
    let runs = [(); 4].map(|()| {
        let out = exec.alloc(&shape(&[3, 33]), DType::F32).unwrap();
        drop(exec.quantized_linear(&input, &weight, &out).unwrap());
        exec.download(&out).unwrap().wait().unwrap()
    });
    assert!(runs.iter().all(|run| *run == runs[0]));
}

#[test]
fn inputs_of_any_strides_multiply() {
    let exec = common::executor();
    let random = &mut Random(11);
    let k = 64;
    let (weight, numbers) = matrix(&exec, BlockFormat::Q5_0, [6, k], &USUAL, random);
    let numbers = multiplied(DType::F32, 1, &numbers);
    let (memory, values) = input(&exec, DType::F32, &[4096], random);
    let cases: [(&[usize], &[isize], usize); 6] = [
        (&[3, k], &[68, 1], 4),
        (&[3, k], &[67, 1], 3),
        (&[3, k], &[1, 5], 0),
        (&[2, 3, k], &[256, 72, 1], 8),
        (&[2, 1, 3, k], &[192, 999, 64, 1], 0),
        (&[3, k], &[-128, 1], 512),
    ];
    for (dims, strides, offset) in cases {
        let layout = Layout::new(shape(dims), strides, offset).unwrap();
        let view = memory.with_layout(layout).unwrap();
        let x: Vec<f64> = layout.offsets().map(|at| values[at]).collect();
        let out_dims = [&dims[..dims.len() - 1], &[6]].concat();
        let out = exec.alloc(&shape(&out_dims), DType::F32).unwrap();
        drop(exec.quantized_linear(&view, &weight, &out).unwrap());
        let want = expected(&x, &numbers, k);
        let what = format!("{dims:?} by {strides:?}");
        assert_near(&read(&exec, &out), &want, k, DType::F32, &what);
    }
}

#[test]
fn what_is_not_finite_stays_in_products() {
    let exec = common::executor();
    let random = &mut Random(12);
    for &format in BlockFormat::ALL {
        let k = format.elements();
        let (weight, numbers) = matrix(&exec, format, [40, k], &EXTREME, random);
        for m in [1, 18] {
            let (input, _) = input(&exec, DType::F32, &[m, k], random);
            let ones = exec.fill(&input, 1.0);
            drop(ones.unwrap());
            let out = exec.alloc(&shape(&[m, 40]), DType::F32).unwrap();
            drop(exec.quantized_linear(&input, &weight, &out).unwrap());
            for (at, got) in read(&exec, &out).into_iter().enumerate() {
                let row = &numbers[at % 40 * k..][..k];
                let sum: f64 = row.iter().map(|&w| f64::from(w)).sum();
                let what = format!("{format}, {m} rows, output {at}: {got}, not {sum}");
                if sum.is_finite() && sum.abs() < 1e30 {
                    assert!(got.is_finite(), "{what}");
                } else {
                    assert_eq!(got.is_nan(), sum.is_nan(), "{what}");
                    assert!(sum.is_nan() || got == sum, "{what}");
                }
            }
        }
    }
}

#[test]
fn numbers_beyond_f16_stay_finite_in_products_of_many_rows() {
    let exec = common::executor();
    let random = &mut Random(13);
    let (weight, numbers) = matrix(&exec, BlockFormat::Q8_0, [4, 32], &[40_000.0], random);
    assert!(numbers.iter().any(|number| number.abs() > 65_520.0));
    let (input, values) = input(&exec, DType::F16, &[20, 32], random);
    let out = exec.alloc(&shape(&[20, 4]), DType::F32).unwrap();
    drop(exec.quantized_linear(&input, &weight, &out).unwrap());
    let want = expected(&values, &rounded(DType::F32, &numbers), 32);
    assert_near(
        &read(&exec, &out),
        &want,
        32,
        DType::F32,
        "f16 by large numbers",
    );
}

#[test]
fn weights_beyond_a_binding_are_decoded_in_parts() {
    let exec = common::limited_executor(8192, 1 << 15);
    // In f32 the weight has 40 KiB, in blocks 5,760 bytes.
    one(&exec, BlockFormat::Q4_0, [35, 160, 64], [DType::F32; 2]);
    one(&exec, BlockFormat::Q4_0, [3, 160, 64], [DType::F32; 2]);
    let few = common::limited_executor(1 << 20, 64);
    one(&few, BlockFormat::Q2_K, [4, 9, 2048], [DType::F32; 2]);
}

#[test]
fn a_product_is_written_through_an_expression() {
    let exec = common::executor();
    let random = &mut Random(14);
    let k = 256;
    let (weight, numbers) = matrix(&exec, BlockFormat::Q4_K, [10, k], &USUAL, random);
    let of_f32 = [1, 2, 33].map(|m| (m, DType::F32));
    let others = [DType::F16, DType::BF16].map(|dtype| (1, dtype));
    for (m, dtype) in of_f32.into_iter().chain(others) {
        let (input, values) = input(&exec, dtype, &[m, k], random);
        let halves = encode(dtype, &[0.5; 10]);
        let bias = exec.upload_bytes(dtype, &halves, &shape(&[10])).unwrap();
        let mut e = Expression::new();
        let (product, bias) = (e.computed(dtype), e.input(bias));
        let sum = e
            .op(FusedOp::Binary(Binary::Add), &[product, bias])
            .unwrap();
        let value = e.op(FusedOp::Unary(Unary::Relu), &[sum]).unwrap();
        let out = exec.alloc(&shape(&[m, 10]), dtype).unwrap();
        let written = FusedOutput {
            expression: &e,
            value,
            shape: *out.shape(),
            also: &[],
        };
        let sink = Sink::new(&out).through(&written);
        drop(exec.quantized_linear(&input, &weight, sink).unwrap());
        // Unfused, the same bits.
        let plain = exec.alloc(&shape(&[m, 10]), dtype).unwrap();
        drop(exec.quantized_linear(&input, &weight, &plain).unwrap());
        let plain = read(&exec, &plain);
        let want = plain.iter().map(|&x| round_to(dtype, x + 0.5).max(0.0));
        assert_same(&read(&exec, &out), &want.collect::<Vec<_>>(), "an epilogue");
        let want = expected(&values, &multiplied(dtype, m, &numbers), k);
        assert_near(&plain, &want, k, dtype, "the product");
    }
}

#[test]
fn rows_are_written_through_an_expression() {
    let exec = common::executor();
    let random = &mut Random(15);
    let ids = exec.upload(&[2i32, -1, 0], &shape(&[3])).unwrap();
    for format in [BlockFormat::Q8_0, BlockFormat::Q4_0] {
        let (blocks, numbers) = matrix(&exec, format, [3, 64], &USUAL, random);
        let mut e = Expression::new();
        let rows = e.computed(DType::F32);
        let value = e.op(FusedOp::Unary(Unary::Neg), &[rows]).unwrap();
        let out = exec.alloc(&shape(&[3, 64]), DType::F32).unwrap();
        let written = FusedOutput {
            expression: &e,
            value,
            shape: *out.shape(),
            also: &[],
        };
        let sink = Sink::new(&out).through(&written);
        let order = if format == BlockFormat::Q8_0 {
            drop(exec.dequantize(&blocks, sink).unwrap());
            [0, 1, 2]
        } else {
            drop(exec.quantized_embedding(&ids, &blocks, sink).unwrap());
            [2, 2, 0]
        };
        let rows = order.iter().flat_map(|&row| &numbers[row * 64..][..64]);
        let want: Vec<f64> = rows.map(|&number| -f64::from(number)).collect();
        assert_same(&read(&exec, &out), &want, &format.to_string());
    }
}

/// Small, for the sanitizer: every format, and every size and dtype of one.
#[test]
fn every_part_of_the_kernels_runs() {
    let exec = common::executor();
    let f32 = DType::F32;
    for &format in BlockFormat::ALL {
        one(&exec, format, [1, 9, format.elements()], [f32; 2]);
    }
    for dtype in FLOATS {
        for m in [1, 2, 3, 5] {
            one(&exec, BlockFormat::Q8_0, [m, 5, 64], [dtype; 2]);
            one(&exec, BlockFormat::Q8_0, [m, 5, 64], [dtype, f32]);
        }
    }
    // Eight rows of an input at once are for so many workgroups that an adapter is busy.
    one(&exec, BlockFormat::Q8_0, [9, 850, 256], [f32; 2]);
}

/// Sums of an input times integers are beyond f32 here; those times numbers are not.
#[test]
fn large_inputs_of_small_numbers_stay_finite() {
    let exec = common::executor();
    for format in [BlockFormat::Q4_0, BlockFormat::Q4_1, BlockFormat::Q8_0] {
        let (weight, numbers) = matrix(&exec, format, [5, 64], &[0.007, -0.03], &mut Random(9));
        for m in [1, 4] {
            let values: Vec<f64> = (0..m * 64)
                .map(|i| if i % 3 == 0 { 1e37 } else { -9e36 })
                .collect();
            let x = exec.upload_bytes(DType::F32, &encode(DType::F32, &values), &shape(&[m, 64]));
            let target = exec.alloc(&shape(&[m, 5]), DType::F32).unwrap();
            drop(
                exec.quantized_linear(&x.unwrap(), &weight, &target)
                    .unwrap(),
            );
            let values: Vec<f64> = values.iter().map(|&x| f64::from(x as f32)).collect();
            let want = expected(&values, &rounded(DType::F32, &numbers), 64);
            let what = format!("{format}, {m} rows");
            assert_near(&read(&exec, &target), &want, 64, DType::F32, &what);
        }
    }
}

#[test]
fn nothing_to_multiply_gives_zeros_or_nothing() {
    let exec = common::executor();
    for (m, n, k) in [(2, 3, 0), (0, 3, 32), (2, 0, 32), (20, 3, 0)] {
        let shape_of = BlockShape::new(BlockFormat::Q8_0, [n, k]).unwrap();
        let bytes = vec![0; usize::try_from(shape_of.bytes()).unwrap()];
        let weight = exec.upload_blocks(shape_of, &bytes).unwrap();
        let x = exec.alloc(&shape(&[m, k]), DType::F32).unwrap();
        let out = exec.alloc(&shape(&[m, n]), DType::F32).unwrap();
        drop(exec.quantized_linear(&x, &weight, &out).unwrap());
        assert_eq!(read(&exec, &out), vec![0.0; m * n]);
        let numbers = exec.alloc(&shape(&[n, k]), DType::F32).unwrap();
        drop(exec.dequantize(&weight, &numbers).unwrap());
    }
}
