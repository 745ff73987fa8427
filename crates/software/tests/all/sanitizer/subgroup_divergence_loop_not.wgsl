// In a loop that all leave together, and behind a return of a whole subgroup.
@group(0) @binding(0) var<storage, read_write> data: array<u32>;
@group(0) @binding(1) var<storage, read_write> out: array<u32>;

@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) i: u32) {
    var sum = 0u;
    for (var k = 0u; k < data[3] % 5u; k++) {
        sum += subgroupAdd(k);
    }
    if i >= 32u {
        return;
    }
    out[i] = subgroupBroadcastFirst(sum);
    out[i] += subgroupShuffleXor(sum, 1u);
    out[i] += subgroupBallot(sum > 1u).x;
}
