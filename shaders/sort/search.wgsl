// Computes: out[i] = how many elements of the sorted row of i stand before b[i]: those less, with RIGHT also those equal.
//           NaN is greater than everything.
// Bindings: params, 1 a (sorted rows), 2 b (values, a row each), 3 out; all contiguous.
// Grid: one row of workgroups, looping; one value per invocation and step.
// Requires: elem, word, word_index, from_word; sort_key.
// Accuracy: exact.

struct Params {
    len: u32,
    // Elements of a sorted row, values of a row, and from one sorted row to the next (0: there is only one).
    sorted: u32,
    values: u32,
    step: u32,
    offset_a: u32,
    offset_b: u32,
    offset_out: u32,
}

override WG: u32 = 256u;
override RIGHT: bool = false;

@group(0) @binding(1) var<storage, read> a: array<word>;
@group(0) @binding(2) var<storage, read> b: array<word>;
@group(0) @binding(3) var<storage, read_write> out: array<u32>;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    for (var i = id.x; i < params.len; i += groups.x * WG) {
        let place = params.offset_b + i;
        let wanted = sort_key(from_word(b[word_index(place)], place));
        let row = params.offset_a + (i / params.values) * params.step;
        var low = 0u;
        var high = params.sorted;
        while low < high {
            let middle = low + (high - low) / 2u;
            let at = row + middle;
            let found = sort_key(from_word(a[word_index(at)], at));
            if found < wanted || (RIGHT && found == wanted) {
                low = middle + 1u;
            } else {
                high = middle;
            }
        }
        out[params.offset_out + i] = low;
    }
}
