// Computes: out[i] = the numbers of a row of blocks, for each i.
// Bindings: params, the blocks, out (declared by the operand and output parts); indices (by the row part).
// Grid: one invocation per unit of a row of the result, folded.
// Requires: RUNS, unit_at, run_at, run_of (format part); row_of (row part); store4.
// Accuracy: exact in f32, then one rounding to the dtype.

override WG: u32 = 256u;

@compute @workgroup_size(WG)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let id = (group.x + (group.y + group.z * groups.y) * groups.x) * WG + lid;
    let line = id / params.units;
    if line >= params.m {
        return;
    }
    let i = id - line * params.units;
    let unit = unit_at(row_of(line) * params.units + i);
    // In vectors of four elements.
    let first = params.out_offset / 4u + line * params.units * RUNS * 4u;
    for (var r = 0u; r < RUNS; r++) {
        let at = first + run_at(i, r);
        let numbers = run_of(unit, r);
        store4(at * 4u, vec4<out_elem>(numbers.v0));
        store4((at + 1u) * 4u, vec4<out_elem>(numbers.v1));
        store4((at + 2u) * 4u, vec4<out_elem>(numbers.v2));
        store4((at + 3u) * 4u, vec4<out_elem>(numbers.v3));
    }
}
