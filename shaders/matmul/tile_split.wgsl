// Computes: a batch of products of f32 matrices in 128 x 128 tiles of the output, by matrix units that multiply f16: each element is two f16, the lower one 2^11 times as large, and of four products three count. 2 x 2 subgroups with 64 x 64 outputs each, as matrices of 16 x 16 with sums in f32. Tiles with flagged lines are left out.
// Bindings: params, a, b (packed, 32 f16 for 16 of k: the higher ones, then the lower ones), out (declared by the output part), scales.
// Grid: batch * tiles_m * tiles_n workgroups of 128 invocations, 4 subgroups of 32, folded, in bands of 8 tiles along m.
// Requires: tile_at, computes, restored; cooperative.wgsl, fetch_a4, fetch_b4 (4 neighbours along a line), emit4.
// Accuracy: (n / 16 + 48) ε Σ|term| for a sum of n terms in f32, then one rounding to the dtype.

// What the lower f16 are multiplied by.
const LOW: f32 = 0.00048828125;
const SIDE: u32 = 128u;

@compute @workgroup_size(WG)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let where_to = tile_at(folded(group, groups));
    let live = where_to.z < params.batch && computes(where_to);
    let depth = select(0u, params.k, live);
    let row0 = where_to.x * SIDE;
    let col0 = where_to.y * SIDE;
    let at = origin(min(where_to.z, params.batch - 1u));
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
    var next_a: array<vec4<f16>, LOADS>;
    var next_b: array<vec4<f16>, LOADS>;
    for (var i = 0u; i < LOADS; i++) {
        next_a[i] = load_a(at.a, row0, 0u, lid + i * WG);
        next_b[i] = load_b(at.b, 0u, col0, lid + i * WG);
    }
    for (var k0 = 0u; k0 < depth; k0 += DEPTH) {
        for (var i = 0u; i < LOADS; i++) {
            tile_a[slot(place(lid + i * WG, A_ACROSS), A_ACROSS)] = next_a[i];
            tile_b[slot(place(lid + i * WG, B_ACROSS), B_ACROSS)] = next_b[i];
        }
        workgroupBarrier();
        // Behind the last part whole parts are loaded again, and not used; others are 0.
        var k1 = k0 + DEPTH;
        if WHOLE == 1u {
            k1 = min(k1, params.k - DEPTH);
        }
        for (var i = 0u; i < LOADS; i++) {
            next_a[i] = load_a(at.a, row0, k1, lid + i * WG);
            next_b[i] = load_b(at.b, k1, col0, lid + i * WG);
        }
        // Of 16 of k: the lower products first; the unit cuts off what it adds, but sums of parts are rounded.
        let b0_high = right(0u, col);
        let b0_low = right(16u, col);
        let b1_high = right(0u, col + 16u);
        let b1_low = right(16u, col + 16u);
        let b2_high = right(0u, col + 32u);
        let b2_low = right(16u, col + 32u);
        let b3_high = right(0u, col + 48u);
        let b3_low = right(16u, col + 48u);
        let a0_high = left(row, 0u);
        let a0_low = left(row, 16u);
        var part_00 = coopMultiplyAdd(a0_low, b0_high, coop_mat16x16<f32, C>());
        var part_01 = coopMultiplyAdd(a0_low, b1_high, coop_mat16x16<f32, C>());
        var part_02 = coopMultiplyAdd(a0_low, b2_high, coop_mat16x16<f32, C>());
        var part_03 = coopMultiplyAdd(a0_low, b3_high, coop_mat16x16<f32, C>());
        part_00 = coopMultiplyAdd(a0_high, b0_low, part_00);
        part_01 = coopMultiplyAdd(a0_high, b1_low, part_01);
        part_02 = coopMultiplyAdd(a0_high, b2_low, part_02);
        part_03 = coopMultiplyAdd(a0_high, b3_low, part_03);
        part_00 = coopMultiplyAdd(a0_high, b0_high, part_00 * LOW);
        part_01 = coopMultiplyAdd(a0_high, b1_high, part_01 * LOW);
        part_02 = coopMultiplyAdd(a0_high, b2_high, part_02 * LOW);
        part_03 = coopMultiplyAdd(a0_high, b3_high, part_03 * LOW);
        sum_00 = sum_00 + part_00;
        sum_01 = sum_01 + part_01;
        sum_02 = sum_02 + part_02;
        sum_03 = sum_03 + part_03;
        let a1_high = left(row + 16u, 0u);
        let a1_low = left(row + 16u, 16u);
        var part_10 = coopMultiplyAdd(a1_low, b0_high, coop_mat16x16<f32, C>());
        var part_11 = coopMultiplyAdd(a1_low, b1_high, coop_mat16x16<f32, C>());
        var part_12 = coopMultiplyAdd(a1_low, b2_high, coop_mat16x16<f32, C>());
        var part_13 = coopMultiplyAdd(a1_low, b3_high, coop_mat16x16<f32, C>());
        part_10 = coopMultiplyAdd(a1_high, b0_low, part_10);
        part_11 = coopMultiplyAdd(a1_high, b1_low, part_11);
        part_12 = coopMultiplyAdd(a1_high, b2_low, part_12);
        part_13 = coopMultiplyAdd(a1_high, b3_low, part_13);
        part_10 = coopMultiplyAdd(a1_high, b0_high, part_10 * LOW);
        part_11 = coopMultiplyAdd(a1_high, b1_high, part_11 * LOW);
        part_12 = coopMultiplyAdd(a1_high, b2_high, part_12 * LOW);
        part_13 = coopMultiplyAdd(a1_high, b3_high, part_13 * LOW);
        sum_10 = sum_10 + part_10;
        sum_11 = sum_11 + part_11;
        sum_12 = sum_12 + part_12;
        sum_13 = sum_13 + part_13;
        let a2_high = left(row + 32u, 0u);
        let a2_low = left(row + 32u, 16u);
        var part_20 = coopMultiplyAdd(a2_low, b0_high, coop_mat16x16<f32, C>());
        var part_21 = coopMultiplyAdd(a2_low, b1_high, coop_mat16x16<f32, C>());
        var part_22 = coopMultiplyAdd(a2_low, b2_high, coop_mat16x16<f32, C>());
        var part_23 = coopMultiplyAdd(a2_low, b3_high, coop_mat16x16<f32, C>());
        part_20 = coopMultiplyAdd(a2_high, b0_low, part_20);
        part_21 = coopMultiplyAdd(a2_high, b1_low, part_21);
        part_22 = coopMultiplyAdd(a2_high, b2_low, part_22);
        part_23 = coopMultiplyAdd(a2_high, b3_low, part_23);
        part_20 = coopMultiplyAdd(a2_high, b0_high, part_20 * LOW);
        part_21 = coopMultiplyAdd(a2_high, b1_high, part_21 * LOW);
        part_22 = coopMultiplyAdd(a2_high, b2_high, part_22 * LOW);
        part_23 = coopMultiplyAdd(a2_high, b3_high, part_23 * LOW);
        sum_20 = sum_20 + part_20;
        sum_21 = sum_21 + part_21;
        sum_22 = sum_22 + part_22;
        sum_23 = sum_23 + part_23;
        let a3_high = left(row + 48u, 0u);
        let a3_low = left(row + 48u, 16u);
        var part_30 = coopMultiplyAdd(a3_low, b0_high, coop_mat16x16<f32, C>());
        var part_31 = coopMultiplyAdd(a3_low, b1_high, coop_mat16x16<f32, C>());
        var part_32 = coopMultiplyAdd(a3_low, b2_high, coop_mat16x16<f32, C>());
        var part_33 = coopMultiplyAdd(a3_low, b3_high, coop_mat16x16<f32, C>());
        part_30 = coopMultiplyAdd(a3_high, b0_low, part_30);
        part_31 = coopMultiplyAdd(a3_high, b1_low, part_31);
        part_32 = coopMultiplyAdd(a3_high, b2_low, part_32);
        part_33 = coopMultiplyAdd(a3_high, b3_low, part_33);
        part_30 = coopMultiplyAdd(a3_high, b0_high, part_30 * LOW);
        part_31 = coopMultiplyAdd(a3_high, b1_high, part_31 * LOW);
        part_32 = coopMultiplyAdd(a3_high, b2_high, part_32 * LOW);
        part_33 = coopMultiplyAdd(a3_high, b3_high, part_33 * LOW);
        sum_30 = sum_30 + part_30;
        sum_31 = sum_31 + part_31;
        sum_32 = sum_32 + part_32;
        sum_33 = sum_33 + part_33;
        workgroupBarrier();
    }

    // Matrices have no elements: one at a time passes through workgroup memory, from where rows are written.
    let to = Strip(where_to.z, row0 + row, col0 + col, subgroup * 64u, lid % 32u, live);
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
