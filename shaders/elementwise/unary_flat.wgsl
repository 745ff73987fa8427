// Computes: out[i] = apply(a[i]), all elements contiguous; or apply(a[0]) where a is a scalar.
// Bindings: params, 1 a, 2 out.
// Grid: one row of workgroups, looping; STEPS times four elements per invocation and turn, all of them loaded before any is stored.
// Requires: elem, words, unpack; out_elem, out_words, emit; apply.
// Accuracy: that of apply.

override WG: u32 = 256u;
// 2 for packed elements, of which four are few bytes.
override STEPS: u32 = 1u;
override SCALAR_A: bool = false;

@group(0) @binding(1) var<storage, read> a: array<words>;
@group(0) @binding(2) var<storage, read_write> out: array<out_words>;

fn quad_a(quad: u32) -> vec4<elem> {
    if SCALAR_A {
        return vec4<elem>(unpack(a[params.offset_a / 4u])[params.offset_a % 4u]);
    }
    return unpack(a[params.offset_a / 4u + quad]);
}

fn results(x: vec4<elem>) -> vec4<out_elem> {
    return vec4<out_elem>(apply(x.x), apply(x.y), apply(x.z), apply(x.w));
}

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let quads = (params.len + 3u) / 4u;
    let step = groups.x * WG;
    for (var quad = id.x; quad < quads; quad += STEPS * step) {
        let x = quad_a(quad);
        let next = quad + step;
        if STEPS == 2u {
            let at = min(next, quads - 1u);
            let x_next = quad_a(at);
            emit(quad, results(x));
            if next < quads {
                emit(next, results(x_next));
            }
        } else {
            emit(quad, results(x));
        }
    }
}
