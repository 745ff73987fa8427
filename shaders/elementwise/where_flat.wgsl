// Computes: out[i] = b[i] where a[i], else c[i], as bare bits; all elements contiguous, or scalars.
// Bindings: params, 1 a (the condition), 2 b, 3 c, 4 out.
// Grid: one row of workgroups, looping; STEPS times four elements per invocation and turn, all of them loaded before any is stored.
// Requires: elem, words, unpack; cond_words, unpack_cond; out_elem, out_words, emit.
// Accuracy: exact.

override WG: u32 = 256u;
// 2 for packed elements, of which four are few bytes.
override STEPS: u32 = 1u;
override SCALAR_A: bool = false;
override SCALAR_B: bool = false;
override SCALAR_C: bool = false;

@group(0) @binding(1) var<storage, read> a: array<cond_words>;
@group(0) @binding(2) var<storage, read> b: array<words>;
@group(0) @binding(3) var<storage, read> c: array<words>;
@group(0) @binding(4) var<storage, read_write> out: array<out_words>;

fn quad_a(quad: u32) -> vec4<bool> {
    if SCALAR_A {
        return vec4<bool>(unpack_cond(a[params.offset_a / 4u])[params.offset_a % 4u]);
    }
    return unpack_cond(a[params.offset_a / 4u + quad]);
}

fn quad_b(quad: u32) -> vec4<elem> {
    if SCALAR_B {
        return vec4<elem>(unpack(b[params.offset_b / 4u])[params.offset_b % 4u]);
    }
    return unpack(b[params.offset_b / 4u + quad]);
}

fn quad_c(quad: u32) -> vec4<elem> {
    if SCALAR_C {
        return vec4<elem>(unpack(c[params.offset_c / 4u])[params.offset_c % 4u]);
    }
    return unpack(c[params.offset_c / 4u + quad]);
}

fn results(c: vec4<bool>, x: vec4<elem>, y: vec4<elem>) -> vec4<out_elem> {
    return select(y, x, c);
}

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let quads = (params.len + 3u) / 4u;
    let step = groups.x * WG;
    for (var quad = id.x; quad < quads; quad += STEPS * step) {
        let c = quad_a(quad);
        let x = quad_b(quad);
        let y = quad_c(quad);
        let next = quad + step;
        if STEPS == 2u {
            let at = min(next, quads - 1u);
            let c_next = quad_a(at);
            let x_next = quad_b(at);
            let y_next = quad_c(at);
            emit(quad, results(c, x, y));
            if next < quads {
                emit(next, results(c_next, x_next, y_next));
            }
        } else {
            emit(quad, results(c, x, y));
        }
    }
}
