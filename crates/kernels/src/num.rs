//! Numbers as kernels take them: 32 bits, vectors of four.

use ziggurat_core::MAX_RANK;

/// A count that was checked before: what would not fit is the greatest `u32`.
pub(crate) fn saturated(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// Extents or strides as a kernel's parameter array; a shape has at most [`MAX_RANK`] axes, so all fit.
pub(crate) fn pack(values: impl IntoIterator<Item = u32>) -> [[u32; 4]; 2] {
    let mut packed = [[0; 4]; 2];
    for (slot, value) in packed.as_flattened_mut().iter_mut().zip(values) {
        *slot = value;
    }
    packed
}

/// A stride as two's-complement `u32`: kernels index with wrapping arithmetic.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "wrapping is the point"
)]
pub(crate) const fn wrap(stride: isize) -> u32 {
    stride as u32
}

const _: () = assert!(MAX_RANK == 8, "parameter arrays hold eight axes");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packs_in_order() {
        assert_eq!(pack([1, 2, 3, 4, 5]), [[1, 2, 3, 4], [5, 0, 0, 0]]);
        assert_eq!(wrap(-1), u32::MAX);
    }
}
