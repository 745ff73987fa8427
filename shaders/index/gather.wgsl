// Computes: out[i] = a[the element that position i and its index name]. Bare bits.
// Bindings: params, 1 a (any strides), 2 b (the indices, any strides), 3 out (contiguous).
// Grid: one row of workgroups, looping; four elements per invocation and step.
// Requires: word, word_index, from_word, elem = u32; out_words, emit; located (which reads b).
// Accuracy: exact.

override WG: u32 = 256u;

@group(0) @binding(1) var<storage, read> a: array<word>;
@group(0) @binding(2) var<storage, read> b: array<u32>;
@group(0) @binding(3) var<storage, read_write> out: array<out_words>;

fn lane(i: u32) -> u32 {
    let at = located(min(i, params.len - 1u)).x;
    return from_word(a[word_index(at)], at);
}

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let vectors = (params.len + 3u) / 4u;
    for (var vector = id.x; vector < vectors; vector += groups.x * WG) {
        let i = vector * 4u;
        emit(vector, vec4<u32>(lane(i), lane(i + 1u), lane(i + 2u), lane(i + 3u)));
    }
}
