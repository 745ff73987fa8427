//! Packing into 32-bit words and unpacking.

use super::Fun;
use super::float::{f, half_from_f32};

/// Four `f32` to bytes.
fn bytes(a: &[u32; 8], convert: fn(f32) -> u8) -> [u32; 2] {
    let [x, y, z, w, ..] = *a;
    [u32::from_le_bytes([x, y, z, w].map(|v| convert(f(v)))), 0]
}

/// Two `f32` to halves of a word.
fn halves(a: &[u32; 8], convert: fn(u32) -> u32) -> [u32; 2] {
    [(convert(a[0]) & 0xffff) | (convert(a[1]) << 16), 0]
}

pub(in crate::engine) const PACK_4X8_SNORM: Fun = Fun(|a| {
    bytes(a, |v| {
        (v.clamp(-1.0, 1.0) * 127.0 + 0.5).floor() as i8 as u8
    })
});
pub(in crate::engine) const PACK_4X8_UNORM: Fun =
    Fun(|a| bytes(a, |v| (v.clamp(0.0, 1.0) * 255.0 + 0.5).floor() as u8));
pub(in crate::engine) const PACK_2X16_SNORM: Fun = Fun(|a| {
    halves(a, |v| {
        (f(v).clamp(-1.0, 1.0) * 32_767.0 + 0.5).floor() as i16 as u16 as u32
    })
});
pub(in crate::engine) const PACK_2X16_UNORM: Fun = Fun(|a| {
    halves(a, |v| {
        u32::from((f(v).clamp(0.0, 1.0) * 65_535.0 + 0.5).floor() as u16)
    })
});
pub(in crate::engine) const PACK_2X16_FLOAT: Fun = Fun(|a| halves(a, half_from_f32));

/// Low bytes of four words.
pub(in crate::engine) const PACK_4X8: Fun = Fun(|a| {
    let [x, y, z, w, ..] = *a;
    [u32::from_le_bytes([x, y, z, w].map(|v| v as u8)), 0]
});
pub(in crate::engine) const PACK_4X_I8_CLAMP: Fun = Fun(|a| {
    let [x, y, z, w, ..] = *a;
    [
        u32::from_le_bytes([x, y, z, w].map(|v| (v as i32).clamp(-128, 127) as u8)),
        0,
    ]
});
pub(in crate::engine) const PACK_4X_U8_CLAMP: Fun = Fun(|a| {
    let [x, y, z, w, ..] = *a;
    [
        u32::from_le_bytes([x, y, z, w].map(|v| v.min(255) as u8)),
        0,
    ]
});

/// The second operand says which byte of the first.
fn byte(a: &[u32; 8]) -> u8 {
    (a[0] >> ((a[1] & 3) * 8)) as u8
}

fn short(a: &[u32; 8]) -> u16 {
    (a[0] >> ((a[1] & 1) * 16)) as u16
}

fn float(value: f32) -> [u32; 2] {
    [value.to_bits(), 0]
}

pub(in crate::engine) const UNPACK_8_SNORM: Fun =
    Fun(|a| float((f32::from(byte(a) as i8) / 127.0).max(-1.0)));
pub(in crate::engine) const UNPACK_8_UNORM: Fun = Fun(|a| float(f32::from(byte(a)) / 255.0));
pub(in crate::engine) const UNPACK_16_SNORM: Fun =
    Fun(|a| float((f32::from(short(a) as i16) / 32_767.0).max(-1.0)));
pub(in crate::engine) const UNPACK_16_UNORM: Fun = Fun(|a| float(f32::from(short(a)) / 65_535.0));
pub(in crate::engine) const UNPACK_I16: Fun = Fun(|a| [i32::from(short(a) as i16) as u32, 0]);
pub(in crate::engine) const UNPACK_U16: Fun = Fun(|a| [u32::from(short(a)), 0]);
pub(in crate::engine) const UNPACK_I8: Fun = Fun(|a| [i32::from(byte(a) as i8) as u32, 0]);
pub(in crate::engine) const UNPACK_U8: Fun = Fun(|a| [u32::from(byte(a)), 0]);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::scalar::Bin;

    fn words(values: [f32; 4]) -> [u32; 8] {
        let [x, y, z, w] = values.map(f32::to_bits);
        [x, y, z, w, 0, 0, 0, 0]
    }

    #[test]
    fn packs_as_the_specification_says() {
        assert_eq!(
            (PACK_4X8_SNORM.0)(&words([1.0, -1.0, 0.0, -2.0]))[0],
            0x8100_817f
        );
        assert_eq!(
            (PACK_4X8_UNORM.0)(&words([1.0, 0.5, 0.0, 2.0]))[0],
            0xff00_80ff
        );
        assert_eq!(
            (PACK_2X16_SNORM.0)(&words([1.0, -1.0, 0.0, 0.0]))[0],
            0x8001_7fff
        );
        assert_eq!(
            (PACK_2X16_UNORM.0)(&words([1.0, 0.0, 0.0, 0.0]))[0],
            0x0000_ffff
        );
        assert_eq!(
            (PACK_2X16_FLOAT.0)(&words([1.0, -2.0, 0.0, 0.0]))[0],
            0xc000_3c00
        );
        let signed = [(-1i32) as u32, 300, (-300i32) as u32, 5, 0, 0, 0, 0];
        assert_eq!((PACK_4X8.0)(&signed)[0], 0x05d4_2cff);
        assert_eq!((PACK_4X_I8_CLAMP.0)(&signed)[0], 0x0580_7fff);
        assert_eq!((PACK_4X_U8_CLAMP.0)(&signed)[0], 0x05ff_ffff);
    }

    #[test]
    fn unpacks_each_part() {
        let part = |fun: Fun, word, i| (fun.0)(&[word, i, 0, 0, 0, 0, 0, 0])[0];
        assert_eq!(f(part(UNPACK_8_SNORM, 0x8000_007f, 3)), -1.0);
        assert_eq!(f(part(UNPACK_8_UNORM, 0x0000_ff00, 1)), 1.0);
        assert_eq!(f(part(UNPACK_16_SNORM, 0x8001_0000, 1)), -1.0);
        assert_eq!(f(part(UNPACK_16_UNORM, 0x0000_ffff, 0)), 1.0);
        assert_eq!(f(Bin::UnpackHalf.eval(0xc000_3c00, 1)), -2.0);
        assert_eq!(f(Bin::UnpackHalf.eval(0xc000_3c00, 0)), 1.0);
        assert_eq!(part(UNPACK_I8, 0x0000_80ff, 0) as i32, -1);
        assert_eq!(part(UNPACK_U8, 0x0000_80ff, 1), 0x80);
    }
}
