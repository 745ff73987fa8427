// Parameters of the kernels that walk "outputs x reduced elements".
//
// `dims` and `strides` hold KEPT axes, then REDUCED axes, outermost first. Strides are two's-complement
// u32: negative strides come out right because all index arithmetic wraps.

struct Params {
    outputs: u32,
    len: u32,
    chunks: u32,
    chunk_len: u32,
    offset: u32,
    out_offset: u32,
    identity: u32,
    count: u32,
    dims: array<vec4<u32>, 2>,
    strides: array<vec4<u32>, 2>,
}
