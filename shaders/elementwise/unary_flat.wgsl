// Computes: out[i] = apply(a[i]), all elements contiguous; or apply(a[0]) where a is a scalar.
// Bindings: params, 1 a, 2 out.
// Grid: one row of workgroups, looping; STEPS times four elements per invocation and iteration, all of them loaded before any is stored.
// Requires: elem, words, unpack; out_elem, out_words, emit_packed; apply; results.
// Accuracy: that of apply.

override WG: u32 = 256u;
// More for packed elements, of which four are few bytes; 1, 2 or 4.
override STEPS: u32 = 1u;
override SCALAR_A: bool = false;

@group(0) @binding(1) var<storage, read> a: array<words>;
@group(0) @binding(2) var<storage, read_write> out: array<out_words>;

fn words_a(vector: u32) -> words {
    if SCALAR_A {
        return a[params.offset_a / 4u];
    }
    return a[params.offset_a / 4u + vector];
}

fn numbers_of(w: words) -> vec4<elem> {
    if SCALAR_A {
        return vec4<elem>(unpack(w)[params.offset_a % 4u]);
    }
    return unpack(w);
}

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let vectors = (params.len + 3u) / 4u;
    let step = groups.x * WG;
    for (var vector = id.x; vector < vectors; vector += STEPS * step) {
        let x = words_a(vector);
        if STEPS == 1u {
            emit_packed(vector, results(x));
            continue;
        }
        let next = vector + step;
        let x_next = words_a(min(next, vectors - 1u));
        if STEPS == 2u {
            emit_packed(vector, results(x));
            if next < vectors {
                emit_packed(next, results(x_next));
            }
            continue;
        }
        let third = next + step;
        let x_third = words_a(min(third, vectors - 1u));
        let fourth = third + step;
        let x_fourth = words_a(min(fourth, vectors - 1u));
        emit_packed(vector, results(x));
        if next < vectors {
            emit_packed(next, results(x_next));
        }
        if third < vectors {
            emit_packed(third, results(x_third));
        }
        if fourth < vectors {
            emit_packed(fourth, results(x_fourth));
        }
    }
}
