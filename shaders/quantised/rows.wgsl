// Computes: out[i] = the numbers of a row of blocks, for each i.
// Bindings: params, the blocks, out (declared by the operand and output parts); indices (by the row part).
// Grid: one invocation per unit of a row of the result, folded.
// Requires: UNIT_VECTORS, unit_at, vector_at, vector_of (format part); row_of (row part); store4.
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
    // Vectors of four elements of a row of units.
    let first = params.out_offset / 4u + line * params.units * UNIT_VECTORS;
    for (var q = 0u; q < UNIT_VECTORS; q++) {
        store4((first + vector_at(i, q)) * 4u, vec4<out_elem>(vector_of(unit, q)));
    }
}
