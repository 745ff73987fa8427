// Computes: out[i] = the key of a[address of i]; with DESCENDING its complement, among keys of KEY_MASK's bits.
// Bindings: params, 1 a (any strides), 2 out.
// Grid: one row of workgroups, looping; one element per invocation and step.
// Requires: word, word_index, from_word; ordered_key; address.
// Accuracy: exact.

override WG: u32 = 256u;

@group(0) @binding(1) var<storage, read> a: array<word>;
@group(0) @binding(2) var<storage, read_write> out: array<u32>;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    for (var i = id.x; i < params.len; i += groups.x * WG) {
        let at = address(i).x;
        out[params.offset_out + i] = ordered_key(from_word(a[word_index(at)], at));
    }
}
