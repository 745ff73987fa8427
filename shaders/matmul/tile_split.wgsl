// Computes: a batch of products of f32 matrices in 64 x 64 tiles of the output, by matrix units that multiply f16: each element is two f16, the lower one 2^11 times as large, and of four products three count. 2 x 2 subgroups with 32 x 32 outputs each, as matrices of 16 x 16 with sums in f32, whose operands are read from storage: neighbours share them through the cache, and nobody waits for others. Tiles with flagged lines are left out, and flagged.
// Bindings: params, a, b (packed in blocks of 16 lines and 16 of k: the higher f16, then the lower ones; b of a convolution as pixels), out (declared by the output part), scales, of products out_1 (flags of tiles).
// Grid: batch * tiles_m * tiles_n workgroups of 128 invocations, 4 subgroups of 32, folded, in bands of 8 tiles along m.
// Requires: tile_at, computes, doubtful, doubt, written; line_halves, lines_b, step_b and lower_b (where matrices are), strips.wgsl with what it requires.
// Accuracy: (n / 16 + 48) ε Σ|term| for a sum of n terms in f32, then one rounding to the dtype.

@group(0) @binding(1) var<storage, read> a: array<vec4<f16>>;
@group(0) @binding(2) var<storage, read> b: array<vec4<f16>>;

// What the lower f16 are multiplied by.
const LOW: f32 = 0.00048828125;
const SIDE: u32 = 64u;
// f16 of a line, and vectors of f16 of a block and of its higher half, for 16 of k.
const DEPTH: u32 = 32u;
const BLOCK: u32 = 128u;
const HALF: u32 = 64u;

// Where the block of a line is, of an operand whose first f16 is given. What stands in for blocks behind the last is never stored.
fn block_at(first: u32, line: u32, lines: u32) -> u32 {
    return first / 4u + min(line / 16u, (lines - 1u) / 16u) * (line_halves() / DEPTH) * BLOCK;
}

// The matrices of 16 rows and 16 of k, and of 16 of k and 16 columns.
fn left(at: u32) -> coop_mat16x16<f16, A> {
    return coopLoadT<coop_mat16x16<f16, A>>(&a[at], 4u);
}

fn right(at: u32) -> coop_mat16x16<f16, B> {
    return coopLoad<coop_mat16x16<f16, B>>(&b[at], 4u);
}

@compute @workgroup_size(WG)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let where_to = tile_at(folded(group, groups));
    let live = where_to.z < params.batch && computes(where_to);
    let depth = select(0u, params.k, live);
    let at = origin(min(where_to.z, params.batch - 1u));
    let subgroup = lid / 32u;
    let row = where_to.x * SIDE + (subgroup / 2u) * 32u;
    let col = where_to.y * SIDE + (subgroup % 2u) * 32u;
    var from_a0 = block_at(at.a, row, params.m);
    var from_a1 = block_at(at.a, row + 16u, params.m);
    let first_b0 = lines_b(at.b, col);
    let first_b1 = lines_b(at.b, col + 16u);
    let lower = lower_b();

    // Of products of the higher f16, and 2^11 times those of a lower one.
    var sum_00 = coop_mat16x16<f32, C>();
    var sum_01 = coop_mat16x16<f32, C>();
    var sum_10 = coop_mat16x16<f32, C>();
    var sum_11 = coop_mat16x16<f32, C>();
    var low_00 = coop_mat16x16<f32, C>();
    var low_01 = coop_mat16x16<f32, C>();
    var low_10 = coop_mat16x16<f32, C>();
    var low_11 = coop_mat16x16<f32, C>();
    var step = step_b(0u);
    for (var k = 0u; k < depth; k += DEPTH) {
        let from_b0 = first_b0 + step;
        let from_b1 = first_b1 + step;
        let from_b0_low = from_b0 + lower;
        let from_b1_low = from_b1 + lower;
        // Known before it is needed; behind the last part that of the last.
        step = step_b(min(k + DEPTH, depth - DEPTH));
        let b0_high = right(from_b0);
        let b0_low = right(from_b0_low);
        let b1_high = right(from_b1);
        let b1_low = right(from_b1_low);
        let a0_high = left(from_a0);
        let a0_low = left(from_a0 + HALF);
        // The unit cuts off what it adds: little of the lower products, which are small; of the others sums of 16 are rounded.
        low_00 = coopMultiplyAdd(a0_low, b0_high, low_00);
        low_01 = coopMultiplyAdd(a0_low, b1_high, low_01);
        low_00 = coopMultiplyAdd(a0_high, b0_low, low_00);
        low_01 = coopMultiplyAdd(a0_high, b1_low, low_01);
        let high_00 = coopMultiplyAdd(a0_high, b0_high, coop_mat16x16<f32, C>());
        let high_01 = coopMultiplyAdd(a0_high, b1_high, coop_mat16x16<f32, C>());
        sum_00 = sum_00 + high_00;
        sum_01 = sum_01 + high_01;
        let a1_high = left(from_a1);
        let a1_low = left(from_a1 + HALF);
        low_10 = coopMultiplyAdd(a1_low, b0_high, low_10);
        low_11 = coopMultiplyAdd(a1_low, b1_high, low_11);
        low_10 = coopMultiplyAdd(a1_high, b0_low, low_10);
        low_11 = coopMultiplyAdd(a1_high, b1_low, low_11);
        let high_10 = coopMultiplyAdd(a1_high, b0_high, coop_mat16x16<f32, C>());
        let high_11 = coopMultiplyAdd(a1_high, b1_high, coop_mat16x16<f32, C>());
        sum_10 = sum_10 + high_10;
        sum_11 = sum_11 + high_11;
        from_a0 += BLOCK;
        from_a1 += BLOCK;
    }

    // Matrices have no elements: one at a time passes through workgroup memory, from where rows are written.
    var to = Strip(where_to.z, row, col, subgroup * 64u, lid % 32u, live);
    let all_00 = sum_00 + low_00 * LOW;
    let all_01 = sum_01 + low_01 * LOW;
    let all_10 = sum_10 + low_10 * LOW;
    let all_11 = sum_11 + low_11 * LOW;
    // Seldom: where operands have elements that f16 has no room for.
    let least = doubtful(where_to, lid);
    if least > 0.0 {
        doubt(to, 0u, 0u, all_00, least);
        doubt(to, 0u, 16u, all_01, least);
        doubt(to, 16u, 0u, all_10, least);
        doubt(to, 16u, 16u, all_11, least);
    }
    to.live = written(where_to, live, lid);
    let first = to.first;
    coopStoreT(all_00, &partial_sums[first], 4u);
    workgroupBarrier();
    emit_strip(to, 0u, 0u);
    workgroupBarrier();
    coopStoreT(all_01, &partial_sums[first], 4u);
    workgroupBarrier();
    emit_strip(to, 0u, 16u);
    workgroupBarrier();
    coopStoreT(all_10, &partial_sums[first], 4u);
    workgroupBarrier();
    emit_strip(to, 16u, 0u);
    workgroupBarrier();
    coopStoreT(all_11, &partial_sums[first], 4u);
    workgroupBarrier();
    emit_strip(to, 16u, 16u);
    workgroupBarrier();
}
