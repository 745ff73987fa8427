// Computes: out[i] = apply(a[i], b[i]), all elements contiguous; a and b may each be a scalar instead.
// Bindings: params, 1 a, 2 b, 3 out.
// Grid: one row of workgroups, looping; STEPS times four elements per invocation and iteration, all of them loaded before any is stored.
// Requires: elem, words, unpack; out_elem, out_words, emit; apply.
// Accuracy: that of apply.

override WG: u32 = 256u;
// More for packed elements, of which four are few bytes; 1, 2 or 4.
override STEPS: u32 = 1u;
override SCALAR_A: bool = false;
override SCALAR_B: bool = false;

@group(0) @binding(1) var<storage, read> a: array<words>;
@group(0) @binding(2) var<storage, read> b: array<words>;
@group(0) @binding(3) var<storage, read_write> out: array<out_words>;

fn vec4_a(vector: u32) -> vec4<elem> {
    if SCALAR_A {
        return vec4<elem>(unpack(a[params.offset_a / 4u])[params.offset_a % 4u]);
    }
    return unpack(a[params.offset_a / 4u + vector]);
}

fn vec4_b(vector: u32) -> vec4<elem> {
    if SCALAR_B {
        return vec4<elem>(unpack(b[params.offset_b / 4u])[params.offset_b % 4u]);
    }
    return unpack(b[params.offset_b / 4u + vector]);
}

fn results(x: vec4<elem>, y: vec4<elem>) -> vec4<out_elem> {
    return vec4<out_elem>(apply(x.x, y.x), apply(x.y, y.y), apply(x.z, y.z), apply(x.w, y.w));
}

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let vectors = (params.len + 3u) / 4u;
    let step = groups.x * WG;
    for (var vector = id.x; vector < vectors; vector += STEPS * step) {
        let x = vec4_a(vector);
        let y = vec4_b(vector);
        if STEPS == 1u {
            emit(vector, results(x, y));
            continue;
        }
        let next = vector + step;
        let x_next = vec4_a(min(next, vectors - 1u));
        let y_next = vec4_b(min(next, vectors - 1u));
        if STEPS == 2u {
            emit(vector, results(x, y));
            if next < vectors {
                emit(next, results(x_next, y_next));
            }
            continue;
        }
        let third = next + step;
        let x_third = vec4_a(min(third, vectors - 1u));
        let y_third = vec4_b(min(third, vectors - 1u));
        let fourth = third + step;
        let x_fourth = vec4_a(min(fourth, vectors - 1u));
        let y_fourth = vec4_b(min(fourth, vectors - 1u));
        emit(vector, results(x, y));
        if next < vectors {
            emit(next, results(x_next, y_next));
        }
        if third < vectors {
            emit(third, results(x_third, y_third));
        }
        if fourth < vectors {
            emit(fourth, results(x_fourth, y_fourth));
        }
    }
}
