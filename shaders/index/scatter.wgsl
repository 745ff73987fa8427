// Computes: out[the element that position i and its index name] = apply(itself, a[i]), one after the other in any order.
// Bindings: params, 1 a (the updates, any strides), 2 b (the indices, any strides), 3 out (any strides; declared by the update part).
// Grid: one row of workgroups, looping; one update per invocation and step.
// Requires: word, word_index, from_word; update; located (which reads b).
// Accuracy: that of apply, rounded to the dtype after each update.

override WG: u32 = 256u;

@group(0) @binding(1) var<storage, read> a: array<word>;
@group(0) @binding(2) var<storage, read> b: array<u32>;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let step = groups.x * WG;
    var i = id.x;
    while i < params.len {
        let at = located(i);
        update(at.x, from_word(a[word_index(at.y)], at.y));
        if params.len - i <= step {
            break;
        }
        i += step;
    }
}
