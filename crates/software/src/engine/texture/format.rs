//! Texel formats: how the channels of a texel lie in its bytes.

use wgpu::TextureFormat as F;

/// What a channel's bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Channel {
    Unorm8,
    /// Unorm8 through the sRGB curve, except for alpha.
    Srgb8,
    Snorm8,
    Uint8,
    Sint8,
    Unorm16,
    Snorm16,
    Uint16,
    Sint16,
    Float16,
    Word,
}

/// A format that the engine reads and writes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Texel {
    channel: Channel,
    channels: usize,
    /// Blue comes first.
    swapped: bool,
    /// Three channels of ten bits and one of two, unsigned normalised or integers.
    packed: Option<bool>,
    /// Whether a missing alpha is the float one.
    float: bool,
}

impl Texel {
    /// The format, if the engine has it.
    pub(crate) fn of(format: F) -> Option<Self> {
        use Channel as C;
        let (channel, channels, float) = match format {
            F::R8Unorm => (C::Unorm8, 1, true),
            F::Rg8Unorm => (C::Unorm8, 2, true),
            F::Rgba8Unorm | F::Bgra8Unorm => (C::Unorm8, 4, true),
            F::Rgba8UnormSrgb | F::Bgra8UnormSrgb => (C::Srgb8, 4, true),
            F::R8Snorm => (C::Snorm8, 1, true),
            F::Rg8Snorm => (C::Snorm8, 2, true),
            F::Rgba8Snorm => (C::Snorm8, 4, true),
            F::R8Uint => (C::Uint8, 1, false),
            F::Rg8Uint => (C::Uint8, 2, false),
            F::Rgba8Uint => (C::Uint8, 4, false),
            F::R8Sint => (C::Sint8, 1, false),
            F::Rg8Sint => (C::Sint8, 2, false),
            F::Rgba8Sint => (C::Sint8, 4, false),
            F::R16Unorm => (C::Unorm16, 1, true),
            F::Rg16Unorm => (C::Unorm16, 2, true),
            F::Rgba16Unorm => (C::Unorm16, 4, true),
            F::R16Snorm => (C::Snorm16, 1, true),
            F::Rg16Snorm => (C::Snorm16, 2, true),
            F::Rgba16Snorm => (C::Snorm16, 4, true),
            F::R16Uint => (C::Uint16, 1, false),
            F::Rg16Uint => (C::Uint16, 2, false),
            F::Rgba16Uint => (C::Uint16, 4, false),
            F::R16Sint => (C::Sint16, 1, false),
            F::Rg16Sint => (C::Sint16, 2, false),
            F::Rgba16Sint => (C::Sint16, 4, false),
            F::R16Float => (C::Float16, 1, true),
            F::Rg16Float => (C::Float16, 2, true),
            F::Rgba16Float => (C::Float16, 4, true),
            F::R32Float => (C::Word, 1, true),
            F::Rg32Float => (C::Word, 2, true),
            F::Rgba32Float => (C::Word, 4, true),
            F::R32Uint | F::R32Sint => (C::Word, 1, false),
            F::Rg32Uint | F::Rg32Sint => (C::Word, 2, false),
            F::Rgba32Uint | F::Rgba32Sint => (C::Word, 4, false),
            F::Rgb10a2Unorm => (C::Word, 1, true),
            F::Rgb10a2Uint => (C::Word, 1, false),
            _ => return None,
        };
        Some(Self {
            channel,
            channels,
            swapped: matches!(format, F::Bgra8Unorm | F::Bgra8UnormSrgb),
            packed: match format {
                F::Rgb10a2Unorm => Some(true),
                F::Rgb10a2Uint => Some(false),
                _ => None,
            },
            float,
        })
    }

    fn channel_bytes(self) -> usize {
        use Channel as C;
        match self.channel {
            C::Unorm8 | C::Srgb8 | C::Snorm8 | C::Uint8 | C::Sint8 => 1,
            C::Unorm16 | C::Snorm16 | C::Uint16 | C::Sint16 | C::Float16 => 2,
            C::Word => 4,
        }
    }

    /// Bytes of a texel.
    pub(crate) fn bytes(self) -> usize {
        self.channels * self.channel_bytes()
    }

    /// The four words that a shader reads.
    pub(super) fn decode(self, bytes: [u8; 16]) -> [u32; 4] {
        let one = if self.float { 1f32.to_bits() } else { 1 };
        let mut words = [0, 0, 0, one];
        if let Some(normalised) = self.packed {
            let [a, b, c, d, ..] = bytes;
            let word = u32::from_le_bytes([a, b, c, d]);
            let parts = [(0, 1023), (10, 1023), (20, 1023), (30, 3)];
            for (to, (shift, mask)) in words.iter_mut().zip(parts) {
                let value = word >> shift & mask;
                *to = match normalised {
                    true => (value as f32 / mask as f32).to_bits(),
                    false => value,
                };
            }
            return words;
        }
        let chunks = bytes.chunks_exact(self.channel_bytes());
        for (at, (to, from)) in words.iter_mut().zip(chunks.take(self.channels)).enumerate() {
            *to = self.decode_one(from, at == 3);
        }
        if self.swapped {
            words.swap(0, 2);
        }
        words
    }

    fn decode_one(self, from: &[u8], alpha: bool) -> u32 {
        use Channel as C;
        let mut four = [0; 4];
        for (to, from) in four.iter_mut().zip(from) {
            *to = *from;
        }
        let word = u32::from_le_bytes(four);
        let (byte, half) = (word as u8, word as u16);
        match self.channel {
            C::Srgb8 if !alpha => linear(f32::from(byte) / 255.0).to_bits(),
            C::Unorm8 | C::Srgb8 => (f32::from(byte) / 255.0).to_bits(),
            C::Snorm8 => (f32::from(byte as i8) / 127.0).max(-1.0).to_bits(),
            C::Unorm16 => (f32::from(half) / 65535.0).to_bits(),
            C::Snorm16 => (f32::from(half as i16) / 32767.0).max(-1.0).to_bits(),
            C::Float16 => half::f16::from_bits(half).to_f32().to_bits(),
            C::Sint8 => i32::from(byte as i8) as u32,
            C::Sint16 => i32::from(half as i16) as u32,
            C::Uint8 | C::Uint16 | C::Word => word,
        }
    }

    /// The bytes of a texel that a shader writes.
    pub(super) fn encode(self, mut words: [u32; 4]) -> [u8; 16] {
        let mut out = [0; 16];
        if let Some(normalised) = self.packed {
            let parts = [(0, 1023), (10, 1023), (20, 1023), (30, 3)];
            let mut word = 0u32;
            for (value, (shift, most)) in words.iter().zip(parts) {
                let part = match normalised {
                    true => unorm(*value, most as f32),
                    false => *value & most,
                };
                word |= part << shift;
            }
            for (to, from) in out.iter_mut().zip(word.to_le_bytes()) {
                *to = from;
            }
            return out;
        }
        if self.swapped {
            words.swap(0, 2);
        }
        let chunks = out.chunks_exact_mut(self.channel_bytes());
        for (at, (to, word)) in chunks.zip(words).take(self.channels).enumerate() {
            for (to, from) in to
                .iter_mut()
                .zip(self.encode_one(word, at == 3).to_le_bytes())
            {
                *to = from;
            }
        }
        out
    }

    fn encode_one(self, word: u32, alpha: bool) -> u32 {
        use Channel as C;
        let float = f32::from_bits(word);
        match self.channel {
            C::Srgb8 if !alpha => unorm(curved(float).to_bits(), 255.0),
            C::Unorm8 | C::Srgb8 => unorm(word, 255.0),
            C::Unorm16 => unorm(word, 65535.0),
            C::Snorm8 => snorm(float, 127.0),
            C::Snorm16 => snorm(float, 32767.0),
            C::Float16 => u32::from(half::f16::from_f32(float).to_bits()),
            C::Uint8 | C::Sint8 | C::Uint16 | C::Sint16 | C::Word => word,
        }
    }
}

/// The nearest of `0..=most`; NaN is 0, as in the conversions of graphics APIs.
fn unorm(bits: u32, most: f32) -> u32 {
    (f32::from_bits(bits).clamp(0.0, 1.0) * most).round_ties_even() as u32
}

fn snorm(value: f32, most: f32) -> u32 {
    (value.clamp(-1.0, 1.0) * most).round_ties_even() as i32 as u32
}

/// From sRGB to linear.
fn linear(value: f32) -> f32 {
    if value <= 0.04045 {
        value / 12.92
    } else {
        ((value + 0.055) / 1.055).powf(2.4)
    }
}

/// From linear to sRGB.
fn curved(value: f32) -> f32 {
    if value <= 0.003_130_8 {
        value * 12.92
    } else {
        1.055 * value.powf(1.0 / 2.4) - 0.055
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn floats(values: [f32; 4]) -> [u32; 4] {
        values.map(f32::to_bits)
    }

    #[test]
    fn a_byte_of_every_normalised_format_comes_back() {
        for format in [F::R8Unorm, F::R8Snorm, F::R8Uint, F::R8Sint] {
            let texel = Texel::of(format).unwrap();
            // -128 and -127 are both -1 in snorm.
            let least = u8::from(format == F::R8Snorm) * 0x81;
            for byte in (0..=255u8).filter(|byte| *byte != 0x80 || least == 0) {
                let mut bytes = [0; 16];
                bytes[0] = byte;
                assert_eq!(texel.encode(texel.decode(bytes))[0], byte, "{format:?}");
            }
        }
        let texel = Texel::of(F::Rgba8UnormSrgb).unwrap();
        for byte in 0..=255u8 {
            let mut bytes = [0; 16];
            bytes[..4].fill(byte);
            assert_eq!(texel.encode(texel.decode(bytes)), bytes);
        }
    }

    #[test]
    fn missing_channels_are_zero_and_one() {
        let red = Texel::of(F::R32Float).unwrap();
        let mut bytes = [0; 16];
        bytes[..4].copy_from_slice(&2.5f32.to_le_bytes());
        assert_eq!(red.decode(bytes), floats([2.5, 0.0, 0.0, 1.0]));
        assert_eq!(Texel::of(F::R32Uint).unwrap().decode([0; 16]), [0, 0, 0, 1]);
    }

    #[test]
    fn what_is_out_of_range_is_clamped_and_blue_first_is_swapped() {
        let texel = Texel::of(F::Bgra8Unorm).unwrap();
        let bytes = texel.encode(floats([2.0, -1.0, 0.5, f32::NAN]));
        assert_eq!(bytes[..4], [128, 0, 255, 0]);
        let ten = Texel::of(F::Rgb10a2Unorm).unwrap();
        let word = ten.encode(floats([1.0, 0.0, 0.5, 1.0]));
        assert_eq!(ten.decode(word)[0], 1f32.to_bits());
        assert_eq!(ten.decode(word)[3], 1f32.to_bits());
    }
}
