// Computes: a batch of products of matrices in 128 x 128 tiles of the output, by matrix units that multiply f16: 2 x 2 subgroups with 64 x 64 outputs each, as matrices of 16 x 16 with sums in f32.
// Bindings: params, a, b, out (declared by the operand and output parts); where tiles may be flagged, out_1, of packed operands behind the scales.
// Grid: batch * tiles_m * tiles_n workgroups of 128 invocations, 4 subgroups of 32, folded, in bands of 8 tiles along m.
// Requires: tile_at, depth_of, computes, restored; loaded, halves, observe, scales_of_step, doubtful, doubt, fitted (units_f16.wgsl or running.wgsl); cooperative.wgsl, fetch_a4 (4 neighbours along k, or with A_ACROSS along the rows, 0 outside), lines_b, step_b, load_b (the same for b), emit4.
// Accuracy: (n + 2) ε Σ|term| for a sum of n terms in f32, then one rounding to the dtype; the unit cuts sums off instead of rounding them.

const SIDE: u32 = 128u;

@compute @workgroup_size(WG)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let where_to = tile_at(folded(group, groups));
    let live = where_to.z < params.batch && computes(where_to);
    let entry = min(where_to.z, params.batch - 1u);
    let depth = select(0u, depth_of(entry), live);
    let row0 = where_to.x * SIDE;
    let col0 = where_to.y * SIDE;
    let at = origin(entry);
    let subgroup = lid / 32u;
    let row = (subgroup / 2u) * 64u;
    let col = (subgroup % 2u) * 64u;

    var sum_00 = coop_mat16x16<f32, C>();
    var sum_01 = coop_mat16x16<f32, C>();
    var sum_02 = coop_mat16x16<f32, C>();
    var sum_03 = coop_mat16x16<f32, C>();
    var sum_10 = coop_mat16x16<f32, C>();
    var sum_11 = coop_mat16x16<f32, C>();
    var sum_12 = coop_mat16x16<f32, C>();
    var sum_13 = coop_mat16x16<f32, C>();
    var sum_20 = coop_mat16x16<f32, C>();
    var sum_21 = coop_mat16x16<f32, C>();
    var sum_22 = coop_mat16x16<f32, C>();
    var sum_23 = coop_mat16x16<f32, C>();
    var sum_30 = coop_mat16x16<f32, C>();
    var sum_31 = coop_mat16x16<f32, C>();
    var sum_32 = coop_mat16x16<f32, C>();
    var sum_33 = coop_mat16x16<f32, C>();
    var next_a: array<loaded, LOADS>;
    var next_b: array<loaded, LOADS>;
    var lines = lines_b(at.b, col0, lid);
    let first_b = step_b(0u);
    for (var i = 0u; i < LOADS; i++) {
        next_a[i] = load_a(at.a, row0, 0u, lid + i * WG);
        next_b[i] = load_b(&lines, first_b, col0, i, lid);
    }
    observe(&next_a, &next_b, lid);
    workgroupBarrier();
    for (var k0 = 0u; k0 < depth; k0 += DEPTH) {
        let scales = scales_of_step();
        // Seldom: where elements are larger than all before.
        if scales.sums != 1.0 {
            sum_00 = sum_00 * scales.sums;
            sum_01 = sum_01 * scales.sums;
            sum_02 = sum_02 * scales.sums;
            sum_03 = sum_03 * scales.sums;
            sum_10 = sum_10 * scales.sums;
            sum_11 = sum_11 * scales.sums;
            sum_12 = sum_12 * scales.sums;
            sum_13 = sum_13 * scales.sums;
            sum_20 = sum_20 * scales.sums;
            sum_21 = sum_21 * scales.sums;
            sum_22 = sum_22 * scales.sums;
            sum_23 = sum_23 * scales.sums;
            sum_30 = sum_30 * scales.sums;
            sum_31 = sum_31 * scales.sums;
            sum_32 = sum_32 * scales.sums;
            sum_33 = sum_33 * scales.sums;
        }
        for (var i = 0u; i < LOADS; i++) {
            tile_a[slot(place(lid + i * WG, A_ACROSS), A_ACROSS)] = halves(next_a[i], scales.a);
            tile_b[slot(place(lid + i * WG, B_ACROSS), B_ACROSS)] = halves(next_b[i], scales.b);
        }
        workgroupBarrier();
        // Behind the last part whole parts are loaded again, and not used; others are 0.
        var k1 = k0 + DEPTH;
        if WHOLE == 1u {
            k1 = min(k1, depth - DEPTH);
        }
        let from_b = step_b(k1);
        for (var i = 0u; i < LOADS; i++) {
            next_a[i] = load_a(at.a, row0, k1, lid + i * WG);
            next_b[i] = load_b(&lines, from_b, col0, i, lid);
        }
        for (var k = 0u; k < DEPTH; k += 16u) {
            let a0 = left(0u, row, k);
            let a1 = left(0u, row + 16u, k);
            let a2 = left(0u, row + 32u, k);
            let a3 = left(0u, row + 48u, k);
            let b0 = right(0u, k, col);
            let b1 = right(0u, k, col + 16u);
            let b2 = right(0u, k, col + 32u);
            let b3 = right(0u, k, col + 48u);
            sum_00 = coopMultiplyAdd(a0, b0, sum_00);
            sum_01 = coopMultiplyAdd(a0, b1, sum_01);
            sum_02 = coopMultiplyAdd(a0, b2, sum_02);
            sum_03 = coopMultiplyAdd(a0, b3, sum_03);
            sum_10 = coopMultiplyAdd(a1, b0, sum_10);
            sum_11 = coopMultiplyAdd(a1, b1, sum_11);
            sum_12 = coopMultiplyAdd(a1, b2, sum_12);
            sum_13 = coopMultiplyAdd(a1, b3, sum_13);
            sum_20 = coopMultiplyAdd(a2, b0, sum_20);
            sum_21 = coopMultiplyAdd(a2, b1, sum_21);
            sum_22 = coopMultiplyAdd(a2, b2, sum_22);
            sum_23 = coopMultiplyAdd(a2, b3, sum_23);
            sum_30 = coopMultiplyAdd(a3, b0, sum_30);
            sum_31 = coopMultiplyAdd(a3, b1, sum_31);
            sum_32 = coopMultiplyAdd(a3, b2, sum_32);
            sum_33 = coopMultiplyAdd(a3, b3, sum_33);
        }
        observe(&next_a, &next_b, lid);
        workgroupBarrier();
    }

    // Matrices have no elements: one at a time passes through workgroup memory, from where rows are written.
    var to = Strip(where_to.z, row0 + row, col0 + col, subgroup * 64u, lid % 32u, live);
    // Seldom: where operands have elements that f16 has no room for.
    let least = doubtful(where_to, lid);
    if least > 0.0 {
        doubt(to, 0u, 0u, sum_00, least);
        doubt(to, 0u, 16u, sum_01, least);
        doubt(to, 0u, 32u, sum_02, least);
        doubt(to, 0u, 48u, sum_03, least);
        doubt(to, 16u, 0u, sum_10, least);
        doubt(to, 16u, 16u, sum_11, least);
        doubt(to, 16u, 32u, sum_12, least);
        doubt(to, 16u, 48u, sum_13, least);
        doubt(to, 32u, 0u, sum_20, least);
        doubt(to, 32u, 16u, sum_21, least);
        doubt(to, 32u, 32u, sum_22, least);
        doubt(to, 32u, 48u, sum_23, least);
        doubt(to, 48u, 0u, sum_30, least);
        doubt(to, 48u, 16u, sum_31, least);
        doubt(to, 48u, 32u, sum_32, least);
        doubt(to, 48u, 48u, sum_33, least);
    }
    to.live = fitted(where_to, live, lid);
    let first = to.first;
    coopStoreT(sum_00, &partial_sums[first], 4u);
    workgroupBarrier();
    emit_strip(to, 0u, 0u);
    workgroupBarrier();
    coopStoreT(sum_01, &partial_sums[first], 4u);
    workgroupBarrier();
    emit_strip(to, 0u, 16u);
    workgroupBarrier();
    coopStoreT(sum_02, &partial_sums[first], 4u);
    workgroupBarrier();
    emit_strip(to, 0u, 32u);
    workgroupBarrier();
    coopStoreT(sum_03, &partial_sums[first], 4u);
    workgroupBarrier();
    emit_strip(to, 0u, 48u);
    workgroupBarrier();
    coopStoreT(sum_10, &partial_sums[first], 4u);
    workgroupBarrier();
    emit_strip(to, 16u, 0u);
    workgroupBarrier();
    coopStoreT(sum_11, &partial_sums[first], 4u);
    workgroupBarrier();
    emit_strip(to, 16u, 16u);
    workgroupBarrier();
    coopStoreT(sum_12, &partial_sums[first], 4u);
    workgroupBarrier();
    emit_strip(to, 16u, 32u);
    workgroupBarrier();
    coopStoreT(sum_13, &partial_sums[first], 4u);
    workgroupBarrier();
    emit_strip(to, 16u, 48u);
    workgroupBarrier();
    coopStoreT(sum_20, &partial_sums[first], 4u);
    workgroupBarrier();
    emit_strip(to, 32u, 0u);
    workgroupBarrier();
    coopStoreT(sum_21, &partial_sums[first], 4u);
    workgroupBarrier();
    emit_strip(to, 32u, 16u);
    workgroupBarrier();
    coopStoreT(sum_22, &partial_sums[first], 4u);
    workgroupBarrier();
    emit_strip(to, 32u, 32u);
    workgroupBarrier();
    coopStoreT(sum_23, &partial_sums[first], 4u);
    workgroupBarrier();
    emit_strip(to, 32u, 48u);
    workgroupBarrier();
    coopStoreT(sum_30, &partial_sums[first], 4u);
    workgroupBarrier();
    emit_strip(to, 48u, 0u);
    workgroupBarrier();
    coopStoreT(sum_31, &partial_sums[first], 4u);
    workgroupBarrier();
    emit_strip(to, 48u, 16u);
    workgroupBarrier();
    coopStoreT(sum_32, &partial_sums[first], 4u);
    workgroupBarrier();
    emit_strip(to, 48u, 32u);
    workgroupBarrier();
    coopStoreT(sum_33, &partial_sums[first], 4u);
    workgroupBarrier();
    emit_strip(to, 48u, 48u);
    workgroupBarrier();
}
