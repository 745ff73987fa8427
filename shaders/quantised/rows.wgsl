// Computes: out[i] = the numbers of a row of blocks, for each i.
// Bindings: params, the blocks, out (declared by the operand and output parts); indices (by the row part).
// Grid: one invocation per word of a unit of a row of the result, folded: neighbours write neighbouring vectors.
// Requires: RUNS, unit_at, run_at, run_of (format part); by_word (word part); row_of (row part); store4.
// Accuracy: exact in f32, then one rounding to the dtype.

override WG: u32 = 256u;

@compute @workgroup_size(WG)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let id = (group.x + (group.y + group.z * groups.y) * groups.x) * WG + lid;
    let words = params.units * 4u;
    let line = id / words;
    if line >= params.m {
        return;
    }
    let at = id - line * words;
    let i = at / 4u;
    let word = at % 4u;
    let unit = by_word(unit_at(row_of(line) * params.units + i), word);
    // In vectors of four elements.
    let first = params.out_offset / 4u + line * params.units * RUNS * 4u + word;
    for (var r = 0u; r < RUNS; r++) {
        store4((first + run_at(i, r)) * 4u, vec4<out_elem>(run_of(unit, r).v0));
    }
}
