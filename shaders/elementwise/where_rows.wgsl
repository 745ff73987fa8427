// Computes: out[i] = b[address of i] where a[address of i], else c[address of i], as bare bits; out contiguous. Along the innermost
//           axis, of whole vectors, neighbours of each are neighbours in memory, the first at a multiple of four elements; or they
//           are one element (SPLAT_A, SPLAT_B, SPLAT_C).
// Bindings: params, 1 a (the condition), 2 b, 3 c, 4 out.
// Grid: one row of workgroups, looping; four elements per invocation and step.
// Requires: elem, words, unpack; unpack_cond; out_elem, out_words, emit; address.
// Accuracy: exact.

override WG: u32 = 256u;
override SPLAT_A: bool = false;
override SPLAT_B: bool = false;
override SPLAT_C: bool = false;

@group(0) @binding(1) var<storage, read> a: array<cond_words>;
@group(0) @binding(2) var<storage, read> b: array<words>;
@group(0) @binding(3) var<storage, read> c: array<words>;
@group(0) @binding(4) var<storage, read_write> out: array<out_words>;

fn vec4_a(at: u32) -> vec4<bool> {
    if SPLAT_A {
        return vec4<bool>(unpack_cond(a[at / 4u])[at % 4u]);
    }
    return unpack_cond(a[at / 4u]);
}

fn vec4_b(at: u32) -> vec4<elem> {
    if SPLAT_B {
        return vec4<elem>(unpack(b[at / 4u])[at % 4u]);
    }
    return unpack(b[at / 4u]);
}

fn vec4_c(at: u32) -> vec4<elem> {
    if SPLAT_C {
        return vec4<elem>(unpack(c[at / 4u])[at % 4u]);
    }
    return unpack(c[at / 4u]);
}

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let vectors = params.len / 4u;
    for (var vector = id.x; vector < vectors; vector += groups.x * WG) {
        let at = address(vector * 4u);
        emit(vector, select(vec4_c(at.z), vec4_b(at.y), vec4_a(at.x)));
    }
}
