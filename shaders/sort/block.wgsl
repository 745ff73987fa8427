// Computes: the places of the least `keep` keys of each block of a row, in order, those of equal keys in the order they had; the
//           others of a row's last block, which may have fewer, come behind all of its own. Blocks are sorted in workgroup memory by a
//           bitonic network over pairs of a key and a place, no two of which are equal.
// Bindings: params, 1 a, 3 b (declared by the input part), 2 out, 4 out_0 (by the output part).
// Grid: one workgroup per BLOCK / SEGMENT blocks, folded.
// Requires: key_at, place_at (input part); put (output part).
// Accuracy: exact.

override WG: u32 = 256u;
// Pairs of a workgroup and of a block, powers of two.
override BLOCK: u32 = 2048u;
override SEGMENT: u32 = 2048u;

var<workgroup> partial_keys: array<u32, BLOCK>;
var<workgroup> partial_slots: array<u32, BLOCK>;

// Whether the pair at `low` comes behind that at `high`.
fn is_behind(low: u32, high: u32) -> bool {
    let first = partial_keys[low];
    let second = partial_keys[high];
    return first > second || (first == second && partial_slots[low] > partial_slots[high]);
}

@compute @workgroup_size(WG)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let begin = (group.x + (group.y + group.z * groups.y) * groups.x) * (BLOCK / SEGMENT);
    for (var slot = lid; slot < BLOCK; slot += WG) {
        let block = begin + slot / SEGMENT;
        let row = block / params.per_row;
        let within = (block - row * params.per_row) * SEGMENT + slot % SEGMENT;
        // Past the end of the row: no key is greater, and of equal ones these are last.
        var ordered = 0xffffffffu;
        if block < params.blocks && within < params.row {
            ordered = key_at(row * params.row + within);
        }
        partial_keys[slot] = ordered;
        partial_slots[slot] = slot;
    }
    workgroupBarrier();
    for (var size = 2u; size <= SEGMENT; size *= 2u) {
        for (var stride = size / 2u; stride > 0u; stride /= 2u) {
            for (var pair = lid; pair < BLOCK / 2u; pair += WG) {
                let low = 2u * pair - (pair & (stride - 1u));
                let high = low + stride;
                // Whole blocks are ascending, what is merged next goes both ways.
                let ascending = size == SEGMENT || (low & size) == 0u;
                if is_behind(low, high) == ascending {
                    let key_low = partial_keys[low];
                    let slot_low = partial_slots[low];
                    partial_keys[low] = partial_keys[high];
                    partial_slots[low] = partial_slots[high];
                    partial_keys[high] = key_low;
                    partial_slots[high] = slot_low;
                }
            }
            workgroupBarrier();
        }
    }
    for (var slot = lid; slot < BLOCK; slot += WG) {
        let block = begin + slot / SEGMENT;
        let rank = slot % SEGMENT;
        if block < params.blocks && rank < params.keep {
            let row = block / params.per_row;
            let within = (block - row * params.per_row) * SEGMENT + partial_slots[slot] % SEGMENT;
            // What is behind the row's own is never among those that are wanted in the end.
            let last = min(within, params.row - 1u);
            put(block * params.keep + rank, partial_keys[slot], place_at(row * params.row + last, last));
        }
    }
}
