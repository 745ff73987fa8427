//! Paths of the dtype preludes: reading, writing whole vec4s, writing single elements.
//!
//! Order in a shader: params part, [`FLOAT`], load, store, cell, shared functions, op snippet, body.

use ziggurat_core::DType;

/// NaN and infinity by bits; first in every kernel.
pub(crate) const FLOAT: &str = "prelude/float.wgsl";
/// Reading a bool operand along with another dtype.
pub(crate) const LOAD_COND: &str = "prelude/load_cond.wgsl";
/// Reading bare 16-bit elements.
pub(crate) const LOAD_BITS16: &str = "prelude/load/bits16.wgsl";
/// Reading f16 where devices have it as a type.
pub(crate) const LOAD_F16_NATIVE: &str = "prelude/load/f16_native.wgsl";
/// Writing bare 16-bit elements.
pub(crate) const STORE_BITS16: &str = "prelude/store/bits16.wgsl";

/// `cell` and `store4` for any dtype; needs [`store`] before it.
pub(crate) const VEC4: &str = "prelude/cell/vec4.wgsl";

/// `load_value4`, or `load_value`, from memory; needs [`load`] before it.
pub(crate) const fn value(vec4: bool) -> &'static str {
    if vec4 {
        "reduce/value_vec4.wgsl"
    } else {
        "reduce/value.wgsl"
    }
}

/// What kernels need to know of a dtype beyond [`DType::info`].
struct Facts {
    load: &'static str,
    store: &'static str,
    /// The snippet that casts a float to it.
    from_float: &'static str,
    /// The key that no element's key is below, and the same of reversed keys.
    lowest_keys: [u32; 2],
}

const CAST_PLAIN: &str = "elementwise/cast/plain.wgsl";
/// The key of −inf, and the reversed key of +inf.
const FLOAT_KEYS: [u32; 2] = [0x807f_ffff; 2];

const fn facts(dtype: DType) -> &'static Facts {
    macro_rules! facts {
        ($name:literal, $from_float:expr, $lowest_keys:expr) => {
            const {
                &Facts {
                    load: concat!("prelude/load/", $name, ".wgsl"),
                    store: concat!("prelude/store/", $name, ".wgsl"),
                    from_float: $from_float,
                    lowest_keys: $lowest_keys,
                }
            }
        };
    }
    match dtype {
        DType::F32 => facts!("f32", CAST_PLAIN, FLOAT_KEYS),
        DType::F16 => facts!("f16", CAST_PLAIN, FLOAT_KEYS),
        DType::BF16 => facts!("bf16", CAST_PLAIN, FLOAT_KEYS),
        DType::I32 => facts!("i32", "elementwise/cast/float_to_i32.wgsl", [1 << 31; 2]),
        DType::U32 => facts!("u32", "elementwise/cast/float_to_u32.wgsl", [0; 2]),
        DType::U8 => facts!("u8", "elementwise/cast/float_to_u8.wgsl", [0, !0xff]),
        DType::I8 => facts!("i8", "elementwise/cast/float_to_i8.wgsl", [!0x7f; 2]),
        DType::Bool => facts!("bool", "elementwise/cast/float_to_bool.wgsl", [0; 2]),
    }
}

/// `elem`, `word`, `words`, `unpack`, `word_index`, `from_word`, `elem_is_nan`.
pub(crate) const fn load(dtype: DType) -> &'static str {
    facts(dtype).load
}

/// What preludes define: kernels with several dtypes have a copy of each under names of its own.
pub(crate) const NAMES: [&str; 18] = [
    "elem",
    "word",
    "words",
    "unpack",
    "word_index",
    "f32_from_f16_bits",
    "f16_bits_from_f32",
    "from_word",
    "elem_is_nan",
    "has_nan",
    "out_elem",
    "out_words",
    "out_bits",
    "pack",
    "pack_each",
    "pack_numbers",
    "merge",
    "rounded",
];

/// `out_elem`, `out_words`, `pack`, `merge`; for packed dtypes also `out_bits`.
pub(crate) const fn store(dtype: DType) -> &'static str {
    facts(dtype).store
}

/// The snippet that casts elements of one dtype to another.
pub(crate) const fn cast(from: DType, to: DType) -> &'static str {
    if from.is_float() {
        facts(to).from_float
    } else {
        CAST_PLAIN
    }
}

/// Bits of the key that every element's key reaches: that of the least element, or with `least` (keys reversed) of
/// the greatest.
pub(crate) const fn lowest_key(dtype: DType, least: bool) -> u32 {
    let [lowest, reversed] = facts(dtype).lowest_keys;
    if least { reversed } else { lowest }
}

/// Whether memory holds less than the type that kernels compute in.
pub(crate) const fn is_packed(dtype: DType) -> bool {
    dtype.bytes() < dtype.compute().bytes()
}

/// What writes rows of a product by [`cell`], and what does so for dtypes of 16 bits: whole words at a time, so not by a result part.
pub(crate) const OUT_ELEMENT: &str = "matmul/tile_out_element.wgsl";
pub(crate) const OUT_HALVES: &str = "matmul/tile_out_halves.wgsl";

/// `cell` and `store1` for a dtype; needs [`store`] before it.
pub(crate) const fn cell(dtype: DType) -> &'static str {
    match dtype.bytes() {
        1 => "prelude/cell/byte.wgsl",
        2 => "prelude/cell/half.wgsl",
        _ => "prelude/cell/word.wgsl",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_keys_are_those_of_the_extreme_values() {
        let key = |x: f32| (x.to_bits() as i32) ^ ((x.to_bits() as i32 >> 31) & 0x7fff_ffff);
        assert_eq!(lowest_key(DType::F32, false), key(f32::NEG_INFINITY) as u32);
        assert_eq!(lowest_key(DType::F32, true), !key(f32::INFINITY) as u32);
        assert_eq!(lowest_key(DType::I8, false) as i32, -128);
        assert_eq!(!(lowest_key(DType::I8, true) as i32), 127);
        assert_eq!(!lowest_key(DType::U8, true), 255);
        assert_eq!(lowest_key(DType::I32, false) as i32, i32::MIN);
        assert_eq!(!lowest_key(DType::I32, true), i32::MAX as u32);
        assert_eq!(!lowest_key(DType::U32, true), u32::MAX);
        assert_eq!(lowest_key(DType::U8, false), 0);
        assert_eq!(
            [false, true].map(|least| lowest_key(DType::Bool, least)),
            [0, 0]
        );
    }

    #[test]
    fn narrow_numbers_are_packed() {
        let packed = DType::ALL.map(is_packed);
        assert_eq!(packed, [false, true, true, false, false, true, true, false]);
    }
}
