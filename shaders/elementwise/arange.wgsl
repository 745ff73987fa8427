// Computes: out[i] = start + (first + i) * step, in the dtype's compute type; start and step are given by their bits.
// Bindings: params, 1 out.
// Grid: one row of workgroups, looping; four elements per invocation and step.
// Requires: out_elem, out_words, emit.
// Accuracy: one rounding of the product and one of the sum, in f32 for floats; integers are exact.

struct Params {
    len: u32,
    offset_out: u32,
    first: u32,
    start: u32,
    step: u32,
}

override WG: u32 = 256u;

@group(0) @binding(1) var<storage, read_write> out: array<out_words>;

fn lane(i: u32) -> out_elem {
    return bitcast<out_elem>(params.start) + out_elem(params.first + i) * bitcast<out_elem>(params.step);
}

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let vectors = (params.len + 3u) / 4u;
    for (var vector = id.x; vector < vectors; vector += groups.x * WG) {
        let i = vector * 4u;
        emit(vector, vec4<out_elem>(lane(i), lane(i + 1u), lane(i + 2u), lane(i + 3u)));
    }
}
