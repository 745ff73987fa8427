// Computes: out[i] = b[i] where a[i], else c[i], as bare bits; all elements contiguous, or scalars.
// Bindings: params, 1 a (the condition), 2 b, 3 c, 4 out.
// Grid: one row of workgroups, looping; STEPS times four elements per invocation and iteration, all of them loaded before any is stored.
// Requires: elem, words, unpack; cond_words, unpack_cond; out_elem, out_words, emit.
// Accuracy: exact.

override WG: u32 = 256u;
// More for packed elements, of which four are few bytes; at most 4.
override STEPS: u32 = 1u;
override SCALAR_A: bool = false;
override SCALAR_B: bool = false;
override SCALAR_C: bool = false;

@group(0) @binding(1) var<storage, read> a: array<cond_words>;
@group(0) @binding(2) var<storage, read> b: array<words>;
@group(0) @binding(3) var<storage, read> c: array<words>;
@group(0) @binding(4) var<storage, read_write> out: array<out_words>;

fn vec4_a(vector: u32) -> vec4<bool> {
    if SCALAR_A {
        return vec4<bool>(unpack_cond(a[params.offset_a / 4u])[params.offset_a % 4u]);
    }
    return unpack_cond(a[params.offset_a / 4u + vector]);
}

fn vec4_b(vector: u32) -> vec4<elem> {
    if SCALAR_B {
        return vec4<elem>(unpack(b[params.offset_b / 4u])[params.offset_b % 4u]);
    }
    return unpack(b[params.offset_b / 4u + vector]);
}

fn vec4_c(vector: u32) -> vec4<elem> {
    if SCALAR_C {
        return vec4<elem>(unpack(c[params.offset_c / 4u])[params.offset_c % 4u]);
    }
    return unpack(c[params.offset_c / 4u + vector]);
}

fn results(c: vec4<bool>, x: vec4<elem>, y: vec4<elem>) -> vec4<out_elem> {
    return select(y, x, c);
}

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let vectors = (params.len + 3u) / 4u;
    let step = groups.x * WG;
    for (var vector = id.x; vector < vectors; vector += STEPS * step) {
        var c: array<vec4<bool>, 4>;
        var x: array<vec4<elem>, 4>;
        var y: array<vec4<elem>, 4>;
        for (var s = 0u; s < STEPS; s++) {
            let at = min(vector + s * step, vectors - 1u);
            c[s] = vec4_a(at);
            x[s] = vec4_b(at);
            y[s] = vec4_c(at);
        }
        for (var s = 0u; s < STEPS; s++) {
            let at = vector + s * step;
            if at < vectors {
                emit(at, results(c[s], x[s], y[s]));
            }
        }
    }
}
