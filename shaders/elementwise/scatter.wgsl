// Computes: out[address of i] = a[address of i], any strides on both sides, as bare bits.
// Bindings: params, 1 a, 2 out; the second stride and offset of Params are out's.
// Grid: one row of workgroups, looping; one element per invocation and step.
// Requires: word, word_index, from_word; cell, store1; address. out must not map two indices to one element.
// Accuracy: exact.

override WG: u32 = 256u;

@group(0) @binding(1) var<storage, read> a: array<word>;
@group(0) @binding(2) var<storage, read_write> out: array<cell>;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let step = groups.x * WG;
    var i = id.x;
    while i < params.len {
        let at = address(i);
        store1(at.y, from_word(a[word_index(at.x)], at.x));
        if params.len - i <= step {
            break;
        }
        i += step;
    }
}
