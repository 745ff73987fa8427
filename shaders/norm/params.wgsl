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
    reserved_0: u32,
    reserved_1: u32,
    dims: array<vec4<u32>, 2>,
    strides: array<vec4<u32>, 2>,
}
