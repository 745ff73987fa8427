//! Quantised matrices: blocks decoded on the device against those decoded on the host, products against f64.

use crate::common;
use crate::operands::shape;
use ziggurat_kernels::core::{decode, encode, f16, round_to};
use ziggurat_kernels::{
    BlockFormat, BlockShape, Blocks, DType, Executor, KernelError, Layout, View,
};

mod cooperative;
mod errors;
mod forms;
mod magnitudes;
mod products;

const FLOATS: [DType; 3] = [DType::F32, DType::F16, DType::BF16];

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    /// From -1 up to 1, of few bits: exact in every float dtype.
    fn number(&mut self) -> f64 {
        (self.next() % 129) as f64 / 64.0 - 1.0
    }
}

/// Scales: ordinary ones.
const USUAL: [f32; 4] = [0.0625, -0.03, 1.5, 0.007];
/// Infinite, no number, the greatest, subnormal and zeros too.
const EXTREME: [f32; 10] = [
    0.25,
    f32::INFINITY,
    f32::NEG_INFINITY,
    f32::NAN,
    65_504.0,
    -65_504.0,
    5.960_464_5e-8,
    -3.04e-5,
    0.0,
    -0.0,
];

/// Blocks of random bits, with scales from a list.
fn blocks(format: BlockFormat, count: usize, scales: &[f32], random: &mut Random) -> Vec<u8> {
    let mut all = Vec::new();
    for _ in 0..count {
        let mut block: Vec<u8> = (0..format.bytes()).map(|_| random.next() as u8).collect();
        for &at in format.halves() {
            let scale = scales[random.next() as usize % scales.len()];
            block[at..at + 2].copy_from_slice(&f16::from_f32(scale).to_le_bytes());
        }
        all.extend(block);
    }
    all
}

/// A matrix on a device, and its numbers.
fn matrix(
    exec: &Executor,
    format: BlockFormat,
    dims: [usize; 2],
    scales: &[f32],
    random: &mut Random,
) -> (Blocks, Vec<f32>) {
    let count = dims[0] * dims[1] / format.elements();
    let bytes = blocks(format, count, scales, random);
    let shape = BlockShape::new(format, dims).unwrap();
    let blocks = exec.upload_blocks(shape, &bytes).unwrap();
    (blocks, format.dequantize(&bytes).unwrap())
}

fn read(exec: &Executor, view: &View) -> Vec<f64> {
    let bytes = exec.download(view).unwrap().wait().unwrap();
    decode(view.dtype, &bytes)
}

/// The same numbers in every bit but those of NaN.
fn assert_same(got: &[f64], want: &[f64], what: &str) {
    assert_eq!(got.len(), want.len(), "{what}");
    for (at, (got, want)) in got.iter().zip(want).enumerate() {
        let same = got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan();
        assert!(same, "{what}: element {at} is {got}, should be {want}");
    }
}

fn rounded(dtype: DType, numbers: &[f32]) -> Vec<f64> {
    let numbers = numbers.iter().map(|&number| f64::from(number));
    numbers.map(|number| round_to(dtype, number)).collect()
}

#[test]
fn every_format_decodes_to_the_numbers_of_the_host() {
    let devices = [common::executor(), common::plain_executor()];
    for exec in &devices {
        let mut random = Random(1);
        for &format in BlockFormat::ALL {
            for (rows, count) in [(3, 1), (5, 3), (1, 8)] {
                let dims = [rows, count * format.elements()];
                let (blocks, numbers) = matrix(exec, format, dims, &EXTREME, &mut random);
                for dtype in FLOATS {
                    let out = exec.alloc(&shape(&dims), dtype).unwrap();
                    drop(exec.dequantize(&blocks, &out).unwrap());
                    let what = format!("{format} {dims:?} as {dtype}");
                    assert_same(&read(exec, &out), &rounded(dtype, &numbers), &what);
                }
            }
        }
    }
}

#[test]
fn planes_become_the_blocks_that_they_were() {
    let exec = common::executor();
    let mut random = Random(2);
    for &format in BlockFormat::ALL {
        let bytes = blocks(format, 7, &EXTREME, &mut random);
        let shape = BlockShape::new(format, [7, format.elements()]).unwrap();
        let blocks = exec.upload_blocks(shape, &bytes).unwrap();
        assert_eq!(shape.bytes(), bytes.len() as u64);
        let scales_of_groups = match format {
            BlockFormat::Q4_K | BlockFormat::Q5_K => 4 * 7,
            _ => 0,
        };
        let behind = shape.device_bytes() - shape.bytes() - scales_of_groups;
        assert!((0..64).contains(&behind), "{format}");
        let planes = exec.download(&blocks.words).unwrap().wait().unwrap();
        assert_eq!(blocks.shape.from_planes(&planes), Some(bytes), "{format}");
        assert_eq!(blocks.shape.from_planes(&planes[1..]), None, "{format}");
    }
}

#[test]
fn an_embedding_has_the_rows_that_indices_name() {
    let exec = common::executor();
    let mut random = Random(3);
    for &format in BlockFormat::ALL {
        let dims = [6, 2 * format.elements()];
        let (table, numbers) = matrix(&exec, format, dims, &USUAL, &mut random);
        let row = |at: usize| &numbers[at * dims[1]..(at + 1) * dims[1]];
        for (dtype, named, rows) in [
            (
                DType::I32,
                [0.0, 5.0, -1.0, 2.0, -9.0, 77.0],
                [0, 5, 5, 2, 0, 5],
            ),
            (
                DType::U32,
                [3.0, 1.0, 5.0, 6.0, 4e9, 0.0],
                [3, 1, 5, 5, 5, 0],
            ),
        ] {
            let words = encode(dtype, &named);
            let ids = exec.upload_bytes(dtype, &words, &shape(&[2, 3])).unwrap();
            // As they lie, and transposed.
            let transposed = ids
                .with_layout(ids.layout.transpose(0, 1).unwrap())
                .unwrap();
            for (ids, order) in [
                (&ids, [0, 1, 2, 3, 4, 5]),
                (&transposed, [0, 3, 1, 4, 2, 5]),
            ] {
                let out_dims = [ids.dims(), &dims[1..]].concat();
                let out = exec.alloc(&shape(&out_dims), DType::F16).unwrap();
                drop(exec.quantized_embedding(ids, &table, &out).unwrap());
                let want = order
                    .iter()
                    .flat_map(|&at| rounded(DType::F16, row(rows[at])));
                let want: Vec<f64> = want.collect();
                assert_same(&read(&exec, &out), &want, &format!("{format} by {dtype}"));
            }
        }
    }
}

#[test]
fn rows_are_written_into_any_view() {
    let exec = common::executor();
    let mut random = Random(4);
    let (blocks, numbers) = matrix(&exec, BlockFormat::Q5_1, [3, 64], &USUAL, &mut random);
    let memory = exec.alloc(&shape(&[64, 5]), DType::F32).unwrap();
    let layout = Layout::new(shape(&[3, 64]), &[1, 5], 1).unwrap();
    let out = memory.with_layout(layout).unwrap();
    drop(exec.dequantize(&blocks, &out).unwrap());
    assert_same(
        &read(&exec, &out),
        &rounded(DType::F32, &numbers),
        "transposed",
    );
    let whole = read(&exec, &memory);
    assert!(
        whole.iter().step_by(5).all(|number| number.is_nan()),
        "guards"
    );
}

#[test]
fn results_beyond_a_binding_are_made_in_parts() {
    let exec = common::limited_executor(4096, 1 << 15);
    let mut random = Random(5);
    let (blocks, numbers) = matrix(&exec, BlockFormat::Q4_0, [40, 64], &USUAL, &mut random);
    let out = exec.alloc(&shape(&[40, 64]), DType::F32).unwrap();
    drop(exec.dequantize(&blocks, &out).unwrap());
    assert_same(
        &read(&exec, &out),
        &rounded(DType::F32, &numbers),
        "dequantize",
    );
    let named: Vec<f64> = (0..50).map(|i| f64::from(i * 7 % 40)).collect();
    let ids = exec
        .upload_bytes(DType::I32, &encode(DType::I32, &named), &shape(&[50]))
        .unwrap();
    let out = exec.alloc(&shape(&[50, 64]), DType::F32).unwrap();
    drop(exec.quantized_embedding(&ids, &blocks, &out).unwrap());
    let row = |&at: &f64| rounded(DType::F32, &numbers[at as usize * 64..][..64]);
    let want: Vec<f64> = named.iter().flat_map(row).collect();
    assert_same(&read(&exec, &out), &want, "embedding");
}

/// More rows of weights than a plane of workgroups has, where a dimension has 24.
#[test]
fn products_of_many_rows_fold_the_grid() {
    let exec = common::fresh_folded_executor();
    let mut random = Random(6);
    let rows = 5000;
    let format = BlockFormat::Q8_0;
    let (blocks, numbers) = matrix(&exec, format, [rows, 32], &USUAL, &mut random);
    let x: Vec<f64> = (0..32).map(|i| f64::from(i % 5) - 2.0).collect();
    let bytes = encode(DType::F32, &x);
    let x_view = exec
        .upload_bytes(DType::F32, &bytes, &shape(&[1, 32]))
        .unwrap();
    let out = exec.alloc(&shape(&[1, rows]), DType::F32).unwrap();
    drop(exec.quantized_linear(&x_view, &blocks, &out).unwrap());
    let got = read(&exec, &out);
    assert_eq!(got.len(), rows);
    for (row, got) in got.into_iter().enumerate() {
        let terms = numbers[row * 32..][..32].iter().zip(&x);
        let terms: Vec<f64> = terms.map(|(&w, x)| f64::from(w) * x).collect();
        let (want, size) = (
            terms.iter().sum::<f64>(),
            terms.iter().map(|term| term.abs()).sum::<f64>(),
        );
        assert!(
            (got - want).abs() <= 4e-6 * size,
            "row {row}: {got}, not {want}"
        );
    }
    let ran = exec.pipelines().trace();
    assert!(ran.kernels().iter().any(|kernel| {
        let last = kernel.source.parts().last();
        last.is_some_and(|part| part.file == "quantised/product.wgsl")
    }));
}

#[test]
fn the_comparison_sees_a_number_that_is_wrong() {
    let wrong = std::panic::catch_unwind(|| assert_same(&[1.0, 0.0], &[1.0, -0.0], "control"));
    assert!(wrong.is_err());
}
