//! Products with weights in blocks.

use ziggurat_tensor::{BlockFormat, DType, QuantizedTensor};

use super::size;
use crate::bench::case::{Case, Cost, Ready, amount};
use crate::bench::expect::product;

const FORMATS: [BlockFormat; 4] = [
    BlockFormat::Q8_0,
    BlockFormat::Q4_0,
    BlockFormat::Q4_K,
    BlockFormat::Q6_K,
];

/// One row of f32, which is what a step of a decoder multiplies; the largest weight is beyond what caches hold. Then several rows.
pub(super) fn cases(quick: bool) -> Vec<Case> {
    let k = size(quick, 4096, 256);
    let long = size(quick, 11_008, 512);
    let most = size(quick, 32_768, 1024);
    let mut cases = Vec::new();
    for format in FORMATS {
        let row = [[1, k, k], [1, k, long], [1, long, k], [1, k, most]];
        let rows = [2, 4, 8, 16, size(quick, 512, 32)].map(|m| [m, k, k]);
        let shapes = row.into_iter().chain(rows);
        cases.extend(shapes.map(|shape| linear(format, shape)));
    }
    cases
}

/// `x wᵀ`; the bytes are those of the blocks.
fn linear(format: BlockFormat, [m, k, n]: [usize; 3]) -> Case {
    let blocks = n * k / format.elements();
    let bytes = blocks * format.bytes() + DType::F32.bytes() * m * (n + k);
    let cost = Cost::bytes(bytes).flops(2.0 * amount(m) * amount(n) * amount(k));
    let op = format!("linear_{format}").to_lowercase();
    Case::new(op, DType::F32, format!("{m}x{k}x{n}"), cost, move |lab| {
        let x = lab.uniform(&[m, k], DType::F32)?;
        let bytes = random(format, blocks);
        let w = QuantizedTensor::from_blocks(x.device(), &bytes, [n, k], format)?;
        let check = product(&x, &w.dequantize(DType::F32)?.t()?);
        Ok(Ready::new(DType::F32, check, move || w.linear(&x, None)))
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
