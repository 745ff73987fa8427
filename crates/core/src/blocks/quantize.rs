//! Numbers into blocks, on the host, rounded as the reference of the formats rounds them.
//!
//! The formats whose scales follow from the extremes of a block; those of 256 elements search for theirs, and are read only.

use half::f16;

use super::BlockFormat;

/// Why numbers cannot be quantised.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum QuantizeError {
    /// The format is only read.
    #[error("{0} is only read: Q4_0, Q4_1, Q5_0, Q5_1 and Q8_0 are written")]
    ReadOnly(BlockFormat),
    /// They are no whole blocks.
    #[error("{format} has blocks of {} elements, but {elements} are given", format.elements())]
    Length {
        /// The format.
        format: BlockFormat,
        /// How many numbers there are.
        elements: usize,
    },
    /// A number has no place between others.
    #[error("element {position} is {value}: only finite numbers can be quantised")]
    NotFinite {
        /// Where it is.
        position: usize,
        /// What it is.
        value: f32,
    },
    /// Numbers are too large for a scale of 16 bits.
    #[error("the block at element {position} needs the scale {scale}, which is beyond f16")]
    Scale {
        /// The first element of the block.
        position: usize,
        /// The scale, or a minimum.
        scale: f32,
    },
}

impl BlockFormat {
    /// Whether [`BlockFormat::quantize`] writes it.
    #[must_use]
    pub const fn is_written(self) -> bool {
        matches!(
            self,
            Self::Q4_0 | Self::Q4_1 | Self::Q5_0 | Self::Q5_1 | Self::Q8_0
        )
    }

    /// Blocks of numbers, equal in every byte to those that the reference makes. A block of numbers so small that their scale is
    /// less than f16 has becomes zeros.
    ///
    /// ```
    /// use ziggurat_core::BlockFormat;
    ///
    /// let numbers: Vec<f32> = (0..32).map(|i| i as f32 - 16.0).collect();
    /// let blocks = BlockFormat::Q8_0.quantize(&numbers)?;
    /// let again = BlockFormat::Q8_0.dequantize(&blocks).unwrap_or_default();
    /// // The scale is 16 / 127.
    /// assert!(numbers.iter().zip(&again).all(|(a, b)| (a - b).abs() <= 16.0 / 127.0 * 0.57));
    /// # Ok::<(), ziggurat_core::QuantizeError>(())
    /// ```
    ///
    /// # Errors
    /// If the format is only read, the numbers are no whole blocks, one is not finite, or a scale is beyond f16.
    pub fn quantize(self, numbers: &[f32]) -> Result<Vec<u8>, QuantizeError> {
        if !self.is_written() {
            return Err(QuantizeError::ReadOnly(self));
        }
        if !numbers.len().is_multiple_of(self.elements()) {
            return Err(QuantizeError::Length {
                format: self,
                elements: numbers.len(),
            });
        }
        let finite = |value: &f32| !value.is_finite();
        if let Some(position) = numbers.iter().position(finite) {
            let value = numbers.get(position).copied().unwrap_or(f32::NAN);
            return Err(QuantizeError::NotFinite { position, value });
        }
        let blocks = numbers.chunks_exact(self.elements());
        let mut out = Vec::with_capacity(blocks.len() * self.bytes());
        for (at, block) in blocks.enumerate() {
            let (scales, quants) = self.integers(block);
            for scale in scales.into_iter().flatten() {
                let half = f16::from_f32(scale);
                if !half.is_finite() {
                    let position = at * self.elements();
                    return Err(QuantizeError::Scale { position, scale });
                }
                out.extend(half.to_le_bytes());
            }
            self.pack(&quants, &mut out);
        }
        Ok(out)
    }

    /// The scale, and the minimum if the format has one, with the integers of a block's elements as bytes.
    fn integers(self, block: &[f32]) -> ([Option<f32>; 2], Vec<u8>) {
        let greatest = block.iter().copied().fold(f32::MIN, f32::max);
        let least = block.iter().copied().fold(f32::MAX, f32::min);
        // The first of those that are farthest from 0.
        let far = block.iter().copied();
        let far = far.reduce(|a, b| if b.abs() > a.abs() { b } else { a });
        let far = far.unwrap_or(0.0);
        let inverse = |scale: f32| if scale == 0.0 { 0.0 } else { 1.0 / scale };
        // Casts cut toward zero, and keep to the range.
        let around = |zero: f32, most: u8| {
            let scale = far / -zero;
            let by = f64::from(inverse(scale));
            let number = |x: &f32| ((f64::from(*x) * by + f64::from(zero) + 0.5) as u8).min(most);
            ([Some(scale), None], block.iter().map(number).collect())
        };
        let above = |most: u8| {
            let scale = (greatest - least) / f32::from(most);
            let by = inverse(scale);
            let number = |x: &f32| (((x - least) * by + 0.5) as u8).min(most);
            (
                [Some(scale), Some(least)],
                block.iter().map(number).collect(),
            )
        };
        match self {
            Self::Q4_0 => around(8.0, 15),
            Self::Q5_0 => around(16.0, 31),
            Self::Q4_1 => above(15),
            Self::Q5_1 => above(31),
            _ => {
                let scale = far.abs() / 127.0;
                let by = inverse(scale);
                // Halves are rounded away from zero.
                let number = |x: &f32| ((x * by).round() as i8).cast_unsigned();
                ([Some(scale), None], block.iter().map(number).collect())
            }
        }
    }

    /// Appends the integers as the block holds them.
    fn pack(self, quants: &[u8], out: &mut Vec<u8>) {
        if self == Self::Q8_0 {
            out.extend(quants);
            return;
        }
        if matches!(self, Self::Q5_0 | Self::Q5_1) {
            let fifth = quants.iter().enumerate();
            let high = fifth.fold(0, |all, (at, q)| all | (u32::from(q >> 4) << at));
            out.extend(high.to_le_bytes());
        }
        let (low, high) = quants.split_at(quants.len() / 2);
        out.extend(
            low.iter()
                .zip(high)
                .map(|(low, high)| (low & 15) | (high << 4)),
        );
    }
}
