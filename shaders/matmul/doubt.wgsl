// Part of the kernels of tiles on matrix units whose operands became f16: sums that are so small that elements which f16 has no room for
// matter, and flags of tiles, which another kernel computes. Requires Params, Strip, partial_sums, out_1 (a flag for each tile).

// Whether this invocation has seen such a sum.
var<private> doubted: bool;

// Compares the sums at a row and column of a subgroup's outputs with a magnitude; in uniform control flow.
fn doubt(to: Strip, row: u32, col: u32, sums: coop_mat16x16<f32, C>, least: f32) {
    coopStoreT(sums, &partial_sums[to.first], 4u);
    workgroupBarrier();
    for (var q = to.lane; q < 64u; q += 32u) {
        let first = to.col + col + (q % 4u) * 4u;
        let exists = vec4<u32>(first, first + 1u, first + 2u, first + 3u) < vec4<u32>(params.n);
        let small = abs(partial_sums[to.first + q]) < vec4<f32>(least);
        if to.row + row + q / 4u < params.m && any(exists & small) {
            doubted = true;
        }
    }
    workgroupBarrier();
}

// Leaves the flag of a tile, which it has if an invocation says so, or one has seen a small sum; whether its sums are to be written.
fn kept(at: vec3<u32>, own: bool, lid: u32) -> bool {
    let found = subgroupAny(own || doubted);
    if lid % 32u == 0u {
        partial_sums[lid / 32u] = vec4<f32>(select(0.0, 1.0, found));
    }
    workgroupBarrier();
    let flagged = partial_sums[0].x + partial_sums[1].x + partial_sums[2].x + partial_sums[3].x > 0.0;
    workgroupBarrier();
    let exists = at.z < params.batch;
    if exists && lid == 0u {
        out_1[(at.z * params.tiles_m + at.x) * params.tiles_n + at.y] = select(0u, 1u, flagged);
    }
    return exists && !flagged;
}
