// Parameters of the matmul kernels: a batch of [m, k] x [k, n] products over any strides.
//
// Strides are two's-complement u32: negative strides come out right because all index arithmetic wraps.

struct Params {
    m: u32,
    n: u32,
    k: u32,
    batch: u32,
    a_offset: u32,
    b_offset: u32,
    out_offset: u32,
    chunks: u32,
    a_row: u32,
    a_depth: u32,
    b_depth: u32,
    b_col: u32,
    chunk_len: u32,
    tiles_m: u32,
    tiles_n: u32,
    // Of sums that come in several dispatches: whether there is one to go on with.
    resumed: u32,
    dims: array<vec4<u32>, 2>,
    a_strides: array<vec4<u32>, 2>,
    b_strides: array<vec4<u32>, 2>,
}
