// Computes: out[d * blocks + g] = how many keys of block g have the digit d.
// Bindings: params, 1 a (keys), 2 out.
// Grid: one workgroup per block, folded.
// Requires: digit_of, block_of.
// Accuracy: exact.

@group(0) @binding(1) var<storage, read> a: array<u32>;
@group(0) @binding(2) var<storage, read_write> out: array<u32>;

var<workgroup> partial_count: array<atomic<u32>, BINS>;

@compute @workgroup_size(WG)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let block = block_of(group, groups);
    for (var bin = lid; bin < BINS; bin += WG) {
        atomicStore(&partial_count[bin], 0u);
    }
    workgroupBarrier();
    if block < params.blocks {
        let begin = block * params.span;
        let end = min(params.len, begin + params.span);
        for (var i = begin + lid; i < end; i += WG) {
            atomicAdd(&partial_count[digit_of(a[i])], 1u);
        }
    }
    workgroupBarrier();
    if block < params.blocks {
        for (var bin = lid; bin < BINS; bin += WG) {
            out[bin * params.blocks + block] = atomicLoad(&partial_count[bin]);
        }
    }
}
