// Computes: out[4 q .. 4 q + 4] = four values drawn from the four words of counter (first + q).
// Bindings: params, 1 out (contiguous).
// Grid: one row of workgroups, looping; four elements per invocation and step.
// Requires: philox; drawn (which reads low and count of Params); out_elem, out_words, emit.
// Accuracy: words and integers are exact; that of the distribution part otherwise.

override WG: u32 = 256u;

@group(0) @binding(1) var<storage, read_write> out: array<out_words>;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let vectors = (params.len + 3u) / 4u;
    for (var vector = id.x; vector < vectors; vector += groups.x * WG) {
        let low_word = params.first_low + vector;
        let high_word = params.first_high + u32(low_word < vector);
        let counter = vec4<u32>(low_word, high_word, params.stream_low, params.stream_high);
        emit(vector, drawn(philox(counter, vec2<u32>(params.seed_low, params.seed_high))));
    }
}
