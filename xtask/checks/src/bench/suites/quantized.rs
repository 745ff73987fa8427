//! Products with weights in blocks, and their numbers.

use ziggurat_tensor::{BlockFormat, DType, QuantizedTensor, Tensor};

use super::size;
use crate::bench::case::{Case, Cost, Ready, amount};
use crate::bench::expect::{near, product, row, spread, worst};
use xtask::failure::Failure;

const FORMATS: [BlockFormat; 4] = [
    BlockFormat::Q8_0,
    BlockFormat::Q4_0,
    BlockFormat::Q4_K,
    BlockFormat::Q6_K,
];

/// One row of f32, which is what a step of a decoder multiplies; the largest weight is beyond what caches hold. Then several rows,
/// and what a prompt decodes first, in both dtypes of activations.
pub(super) fn cases(quick: bool) -> Vec<Case> {
    let k = size(quick, 4096, 256);
    let long = size(quick, 11_008, 512);
    let most = size(quick, 32_768, 1024);
    let mut cases = Vec::new();
    for format in FORMATS {
        let row = [[1, k, k], [1, k, long], [1, long, k], [1, k, most]];
        let rows = [2, 4, 8, 16, size(quick, 512, 32)].map(|m| [m, k, k]);
        let shapes = row.into_iter().chain(rows);
        cases.extend(shapes.map(|shape| linear(format, DType::F32, shape)));
        cases.push(linear(format, DType::F16, [size(quick, 512, 32), k, k]));
        cases.extend([DType::F32, DType::F16].map(|dtype| dequantize(format, dtype, [most, k])));
    }
    cases
}

/// `x wᵀ`; the bytes are those of the blocks.
fn linear(format: BlockFormat, dtype: DType, [m, k, n]: [usize; 3]) -> Case {
    let blocks = n * k / format.elements();
    let bytes = blocks * format.bytes() + dtype.bytes() * m * (n + k);
    let cost = Cost::bytes(bytes).flops(2.0 * amount(m) * amount(n) * amount(k));
    let op = format!("linear_{format}").to_lowercase();
    Case::new(op, dtype, format!("{m}x{k}x{n}"), cost, move |lab| {
        let x = lab.uniform(&[m, k], dtype)?;
        let bytes = random(format, blocks);
        let w = QuantizedTensor::from_blocks(x.device(), &bytes, [n, k], format)?;
        // Many rows are multiplied by numbers of their own dtype.
        let check = product(&x, &w.dequantize(dtype)?.t()?);
        Ok(Ready::new(dtype, check, move || w.linear(&x, None)))
    })
}

/// The numbers of blocks, `[n, k]`, read and written.
fn dequantize(format: BlockFormat, dtype: DType, [n, k]: [usize; 2]) -> Case {
    let blocks = n * k / format.elements();
    let cost = Cost::bytes(blocks * format.bytes() + dtype.bytes() * n * k);
    let op = format!("dequantize_{format}").to_lowercase();
    Case::new(op, dtype, format!("[{n},{k}]"), cost, move |lab| {
        let bytes = random(format, blocks);
        let w = QuantizedTensor::from_blocks(&lab.device, &bytes, [n, k], format)?;
        let of_row = bytes.len() / n;
        let mut wanted = Vec::new();
        for index in spread(n, 3) {
            let numbers = format.dequantize(&bytes[index * of_row..][..of_row]);
            let numbers = numbers.ok_or_else(|| Failure::new("rows are no whole blocks"))?;
            let numbers = numbers.into_iter().map(|x| near(f64::from(x)));
            wanted.push((index, numbers.collect::<Vec<_>>()));
        }
        let check = Box::new(move |out: &Tensor| {
            let mut error = 0.0_f64;
            for (index, want) in &wanted {
                error = error.max(worst(&row(out, *index)?, want));
            }
            Ok(error)
        });
        Ok(Ready::new(dtype, check, move || w.dequantize(dtype)))
    })
}

/// Blocks of random bits with scales of 2⁻⁷ up to 2⁻⁶.
fn random(format: BlockFormat, count: usize) -> Vec<u8> {
    // Xorshift.
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut bytes = vec![0; count * format.bytes()];
    for word in bytes.chunks_mut(8) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        word.copy_from_slice(&state.to_le_bytes()[..word.len()]);
    }
    for block in bytes.chunks_exact_mut(format.bytes()) {
        for &at in format.halves() {
            block[at + 1] = 0x20 | (block[at + 1] & 3);
        }
    }
    bytes
}
