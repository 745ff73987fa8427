// Computes: out[i] = b[address of i] where a[address of i], else c[address of i], as bare bits; out contiguous.
// Bindings: params, 1 a (the condition), 2 b, 3 c, 4 out.
// Grid: one row of workgroups, looping; four elements per invocation and step.
// Requires: elem, word, word_index, from_word; cond_word_index, cond_from_word; out_elem, out_words, emit; address.
// Accuracy: exact.

override WG: u32 = 256u;

@group(0) @binding(1) var<storage, read> a: array<u32>;
@group(0) @binding(2) var<storage, read> b: array<word>;
@group(0) @binding(3) var<storage, read> c: array<word>;
@group(0) @binding(4) var<storage, read_write> out: array<out_words>;

fn lane(i: u32) -> out_elem {
    let at = address(min(i, params.len - 1u));
    if cond_from_word(a[cond_word_index(at.x)], at.x) {
        return from_word(b[word_index(at.y)], at.y);
    }
    return from_word(c[word_index(at.z)], at.z);
}

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let vectors = (params.len + 3u) / 4u;
    for (var vector = id.x; vector < vectors; vector += groups.x * WG) {
        let i = vector * 4u;
        emit(vector, vec4<out_elem>(lane(i), lane(i + 1u), lane(i + 2u), lane(i + 3u)));
    }
}
