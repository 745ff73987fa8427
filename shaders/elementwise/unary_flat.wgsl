// Computes: out[i] = apply(a[i]), all elements contiguous; or apply(a[0]) where a is a scalar.
// Bindings: params, 1 a, 2 out.
// Grid: one row of workgroups, looping; four elements per invocation and step.
// Requires: elem, words, unpack; out_elem, out_words, emit; apply.
// Accuracy: that of apply.

override WG: u32 = 256u;
override SCALAR_A: bool = false;

@group(0) @binding(1) var<storage, read> a: array<words>;
@group(0) @binding(2) var<storage, read_write> out: array<out_words>;

fn quad_a(quad: u32) -> vec4<elem> {
    if SCALAR_A {
        return vec4<elem>(unpack(a[params.offset_a / 4u])[params.offset_a % 4u]);
    }
    return unpack(a[params.offset_a / 4u + quad]);
}

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let quads = (params.len + 3u) / 4u;
    for (var quad = id.x; quad < quads; quad += groups.x * WG) {
        let x = quad_a(quad);
        emit(quad, vec4<out_elem>(apply(x.x), apply(x.y), apply(x.z), apply(x.w)));
    }
}
