// Computes: out[i] = apply(a[i]), all elements contiguous; or apply(a[0]) where a is a scalar.
// Bindings: params, 1 a, 2 out.
// Grid: one row of workgroups, looping; STEPS times four elements per invocation and iteration, all of them loaded before any is stored.
// Requires: elem, words, unpack; out_elem, out_words, emit; apply.
// Accuracy: that of apply.

override WG: u32 = 256u;
// More for packed elements, of which four are few bytes; 1, 2 or 4.
override STEPS: u32 = 1u;
override SCALAR_A: bool = false;

@group(0) @binding(1) var<storage, read> a: array<words>;
@group(0) @binding(2) var<storage, read_write> out: array<out_words>;

fn vec4_a(vector: u32) -> vec4<elem> {
    if SCALAR_A {
        return vec4<elem>(unpack(a[params.offset_a / 4u])[params.offset_a % 4u]);
    }
    return unpack(a[params.offset_a / 4u + vector]);
}

fn results(x: vec4<elem>) -> vec4<out_elem> {
    return vec4<out_elem>(apply(x.x), apply(x.y), apply(x.z), apply(x.w));
}

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let vectors = (params.len + 3u) / 4u;
    let step = groups.x * WG;
    for (var vector = id.x; vector < vectors; vector += STEPS * step) {
        let x = vec4_a(vector);
        if STEPS == 1u {
            emit(vector, results(x));
            continue;
        }
        let next = vector + step;
        let x_next = vec4_a(min(next, vectors - 1u));
        if STEPS == 2u {
            emit(vector, results(x));
            if next < vectors {
                emit(next, results(x_next));
            }
            continue;
        }
        let third = next + step;
        let x_third = vec4_a(min(third, vectors - 1u));
        let fourth = third + step;
        let x_fourth = vec4_a(min(fourth, vectors - 1u));
        emit(vector, results(x));
        if next < vectors {
            emit(next, results(x_next));
        }
        if third < vectors {
            emit(third, results(x_third));
        }
        if fourth < vectors {
            emit(fourth, results(x_fourth));
        }
    }
}
