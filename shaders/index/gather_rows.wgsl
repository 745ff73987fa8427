// Computes: out[i] = a[the element that position i and its index name]. Bare bits. Along the innermost axis, of whole vectors, an index
//           names neighbours in memory, the first at a multiple of four elements.
// Bindings: params, 1 a, 2 b (the indices, any strides), 3 out (contiguous).
// Grid: one row of workgroups, looping; twice four elements per invocation and step, both loaded before any is stored.
// Requires: words, unpack; out_words, emit; located (which reads b).
// Accuracy: exact.

override WG: u32 = 256u;

@group(0) @binding(1) var<storage, read> a: array<words>;
@group(0) @binding(2) var<storage, read> b: array<u32>;
@group(0) @binding(3) var<storage, read_write> out: array<out_words>;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let vectors = params.len / 4u;
    let step = groups.x * WG;
    for (var vector = id.x; vector < vectors; vector += 2u * step) {
        let next = min(vector + step, vectors - 1u);
        let at = located(vector * 4u).x / 4u;
        let at_next = located(next * 4u).x / 4u;
        let x = a[at];
        let x_next = a[at_next];
        emit(vector, unpack(x));
        if vector + step < vectors {
            emit(next, unpack(x_next));
        }
    }
}
