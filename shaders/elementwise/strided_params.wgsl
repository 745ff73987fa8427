// Parameters of the strided bodies. Each axis, outermost first: extent, then the strides of a, b and c in elements,
// in two's complement. Offsets count elements from the start of the binding.

struct Params {
    len: u32,
    offset_out: u32,
    offset_a: u32,
    offset_b: u32,
    offset_c: u32,
    unused_0: u32,
    unused_1: u32,
    unused_2: u32,
    axes: array<vec4<u32>, 8>,
}
