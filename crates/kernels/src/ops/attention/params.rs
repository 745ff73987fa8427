//! [`AttentionParams`]: what all kernels of attention are told by numbers.

use crate::source::params::params;

params! {
    /// Parameters of attention.
    pub(crate) struct AttentionParams {
        heads: u32,
        kv_heads: u32,
        queries: u32,
        keys: u32,
        head_dim: u32,
        value_dim: u32,
        row0: u32,
        row_tiles: u32,
        state_rows: u32,
        column_tiles: u32,
        splits: u32,
        span: u32,
        batches: u32,
        flags: u32,
        left: i32,
        right: i32,
        shift: i32,
        scale: f32,
        softcap: f32,
        q_offset: u32,
        k_offset: u32,
        v_offset: u32,
        out_offset: u32,
        mask_offset: u32,
        lengths_offset: u32,
        factors_offset: u32,
        reserved_0: u32,
        reserved_1: u32,
        q_strides: [u32; 4],
        k_strides: [u32; 4],
        v_strides: [u32; 4],
        mask_strides: [u32; 4],
        factors_strides: [u32; 4],
    }
}
