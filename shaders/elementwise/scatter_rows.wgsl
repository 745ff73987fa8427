// Computes: out[address of i] = a[address of i], as bare bits. Along the innermost axis, of whole vectors, neighbours are neighbours in
//           memory on both sides, the first at a multiple of four elements; or those of a are one element (SPLAT_A).
// Bindings: params, 1 a, 2 out; the second stride and offset of Params are out's.
// Grid: one row of workgroups, looping; four elements per invocation and step.
// Requires: words, unpack; out_words, pack; address. out must not map two indices to one element.
// Accuracy: exact.

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
        out[at.y / 4u] = pack(vec4_a(at.x));
    }
}
