// Workgroup memory, atomics and subgroups.
struct Params { count: u32, shift: u32 }
@group(0) @binding(0) var<storage, read_write> data: array<u32>;
@group(0) @binding(1) var<storage, read_write> totals: array<atomic<i32>>;
var<immediate> params: Params;
var<workgroup> tile: array<u32, 64>;
var<workgroup> most: atomic<u32>;

@compute @workgroup_size(64)
fn main(
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(subgroup_invocation_id) in_subgroup: u32,
) {
    let at = group.x * 64u + lane;
    tile[lane] = data[at % arrayLength(&data)] << (params.shift & 7u);
    atomicMax(&most, tile[lane]);
    workgroupBarrier();
    for (var step = 32u; step > 0u; step >>= 1u) {
        if lane < step { tile[lane] += tile[lane + step]; }
        workgroupBarrier();
    }
    let sum = workgroupUniformLoad(&tile[0]);
    let near = subgroupAdd(lane) + subgroupShuffleXor(sum + lane, 1u) + subgroupExclusiveAdd(1u);
    let vote = subgroupBallot(lane % 3u == 0u);
    if lane == 0u {
        atomicAdd(&totals[group.x % arrayLength(&totals)], i32(sum + atomicLoad(&most)));
        let old = atomicCompareExchangeWeak(&totals[0], 5, 6);
        if old.exchanged { atomicStore(&totals[1], old.old_value); }
    }
    storageBarrier();
    data[at % arrayLength(&data)] = near + vote.x + in_subgroup + params.count;
}
