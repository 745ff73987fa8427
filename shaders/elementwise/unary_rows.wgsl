// Computes: out[i] = apply(a[address of i]), out contiguous. Along the innermost axis, of whole vectors, neighbours of a are
//           neighbours in memory, the first at a multiple of four elements; or they are one element (SPLAT_A).
// Bindings: params, 1 a, 2 out.
// Grid: one row of workgroups, looping; four elements per invocation and step.
// Requires: elem, words, unpack; out_elem, out_words, emit; address; apply.
// Accuracy: that of apply.

override WG: u32 = 256u;
override SPLAT_A: bool = false;

@group(0) @binding(1) var<storage, read> a: array<words>;
@group(0) @binding(2) var<storage, read_write> out: array<out_words>;

fn vec4_a(at: u32) -> vec4<elem> {
    if SPLAT_A {
        return vec4<elem>(unpack(a[at / 4u])[at % 4u]);
    }
    return unpack(a[at / 4u]);
}

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let vectors = params.len / 4u;
    for (var vector = id.x; vector < vectors; vector += groups.x * WG) {
        let at = address(vector * 4u);
        let x = vec4_a(at.x);
        emit(vector, vec4<out_elem>(apply(x.x), apply(x.y), apply(x.z), apply(x.w)));
    }
}
