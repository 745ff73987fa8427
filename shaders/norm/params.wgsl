// Parameters of the kernels that normalise rows. `dims` and `strides` are those of reduce/params.wgsl.

struct Params {
    outputs: u32,
    len: u32,
    offset: u32,
    out_offset: u32,
    eps: f32,
    period: u32,
    step: u32,
    span: u32,
    weight_offset: u32,
    bias_offset: u32,
    // Of rows that are cut: into how many chunks, of how many elements.
    chunks: u32,
    chunk_len: u32,
    dims: array<vec4<u32>, 2>,
    strides: array<vec4<u32>, 2>,
}
