// In a loop that some leave earlier, and behind a return.
@group(0) @binding(0) var<storage, read_write> data: array<u32>;
@group(0) @binding(1) var<storage, read_write> out: array<u32>;

@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) i: u32) {
    var sum = 0u;
    for (var k = 0u; k < data[i] % 3u; k++) {
        sum += subgroupAdd(k); // FINDS subgroup-divergence
    }
    if i == 5u {
        return;
    }
    out[i] = subgroupBroadcastFirst(sum); // FINDS subgroup-divergence
    out[i] += subgroupShuffleXor(sum, 1u); // FINDS subgroup-divergence
    out[i] += subgroupBallot(sum > 1u).x; // FINDS subgroup-divergence
}
