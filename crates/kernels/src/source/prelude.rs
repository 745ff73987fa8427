//! Paths of the dtype preludes: reading, writing whole quads, writing single elements.
//!
//! Order in a shader: params part, [`FLOAT`], load, store, cell, shared functions, op snippet, body.

use ziggurat_core::DType;

/// NaN and infinity by bits; first in every kernel.
pub(crate) const FLOAT: &str = "prelude/float.wgsl";
/// Reading a bool operand beside another dtype.
pub(crate) const LOAD_COND: &str = "prelude/load_cond.wgsl";
/// Reading bare 16-bit elements.
pub(crate) const LOAD_BITS16: &str = "prelude/load/bits16.wgsl";
/// Writing bare 16-bit elements.
pub(crate) const STORE_BITS16: &str = "prelude/store/bits16.wgsl";

/// `cell` and `store4` for any dtype; needs [`store`] before it.
pub(crate) const QUAD: &str = "prelude/cell/quad.wgsl";

/// `elem`, `word`, `words`, `unpack`, `word_index`, `from_word`, `elem_is_nan`.
pub(crate) const fn load(dtype: DType) -> &'static str {
    match dtype {
        DType::F32 => "prelude/load/f32.wgsl",
        DType::F16 => "prelude/load/f16.wgsl",
        DType::BF16 => "prelude/load/bf16.wgsl",
        DType::I32 => "prelude/load/i32.wgsl",
        DType::U32 => "prelude/load/u32.wgsl",
        DType::U8 => "prelude/load/u8.wgsl",
        DType::I8 => "prelude/load/i8.wgsl",
        DType::Bool => "prelude/load/bool.wgsl",
    }
}

/// `out_elem`, `out_words`, `pack`, `merge`; for packed dtypes also `out_bits`.
pub(crate) const fn store(dtype: DType) -> &'static str {
    match dtype {
        DType::F32 => "prelude/store/f32.wgsl",
        DType::F16 => "prelude/store/f16.wgsl",
        DType::BF16 => "prelude/store/bf16.wgsl",
        DType::I32 => "prelude/store/i32.wgsl",
        DType::U32 => "prelude/store/u32.wgsl",
        DType::U8 => "prelude/store/u8.wgsl",
        DType::I8 => "prelude/store/i8.wgsl",
        DType::Bool => "prelude/store/bool.wgsl",
    }
}

/// `cell` and `store1` for a dtype; needs [`store`] before it.
pub(crate) const fn cell(dtype: DType) -> &'static str {
    match dtype.bytes() {
        1 => "prelude/cell/byte.wgsl",
        2 => "prelude/cell/half.wgsl",
        _ => "prelude/cell/word.wgsl",
    }
}
