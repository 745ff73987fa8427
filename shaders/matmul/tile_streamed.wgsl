// Computes: a batch of products of matrices in tiles of few rows of the output, by matrix units that multiply f16, with sums in f32: in each step a subgroup multiplies its rows by 16 lines of 64 elements of b, which are four matrices of 16 x 16: of 64 columns, or with a step of 64 along k of 16 columns.
//           Subgroups share nothing: each has the columns of b that it multiplies, and all rows of a, in workgroup memory of its own, and waits for itself alone, so that others load meanwhile.
//           Nothing in the loop is a loop, and its steps are counted one by one: so NVIDIA's compiler unrolls it, which takes a quarter less time here, and more than twice as long for large tiles.
// Bindings: params (k is that of a share, chunk_len that of all), a (lines along k), b (lines along the columns with a step of 16, along k with one of 64), out (declared by the output part).
// Grid: batch * tiles_m * tiles_n workgroups of 128 invocations, 4 subgroups of 32, folded, in bands of 8 tiles along m. The last of several shares, of which there are chunks, may have a shorter k.
// Requires: tile_at, restored, streamed.wgsl, strips.wgsl, emit4.
// Accuracy: (n + 2) ε Σ|term| for a sum of n terms in f32, then one rounding to the dtype; the unit cuts sums off instead of rounding them.

@compute @workgroup_size(WG)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let where_to = tile_at(folded(group, groups));
    let live = where_to.z < params.batch;
    let entry = min(where_to.z, params.batch - 1u);
    let at = origin(entry);
    let share = entry / (params.batch / params.chunks);
    let depth = min(params.k, params.chunk_len - share * params.k);
    let steps = select(0u, depth / DEPTH, live);
    let subgroup = lid / 32u;
    let lane = lid % 32u;
    let row0 = where_to.x * ROWS;
    let col0 = where_to.y * COLS + subgroup * OWN_COLS;

    // Where vectors are loaded from, of the first step; and how far the next one is.
    let a_0 = vector_a(at.a, row0, lane, 0u);
    let a_1 = vector_a(at.a, row0, lane, 1u);
    let a_2 = vector_a(at.a, row0, lane, 2u);
    let a_3 = vector_a(at.a, row0, lane, 3u);
    let a_4 = vector_a(at.a, row0, lane, 4u);
    let a_5 = vector_a(at.a, row0, lane, 5u);
    let a_6 = vector_a(at.a, row0, lane, 6u);
    let a_7 = vector_a(at.a, row0, lane, 7u);
    let b_0 = vector_b(at.b, col0, lane, 0u);
    let b_1 = vector_b(at.b, col0, lane, 1u);
    let b_2 = vector_b(at.b, col0, lane, 2u);
    let b_3 = vector_b(at.b, col0, lane, 3u);
    let b_4 = vector_b(at.b, col0, lane, 4u);
    let b_5 = vector_b(at.b, col0, lane, 5u);
    let b_6 = vector_b(at.b, col0, lane, 6u);
    let b_7 = vector_b(at.b, col0, lane, 7u);
    let step_a = DEPTH / 4u;
    let step_b = DEPTH / 4u * params.b_depth;
    // Where they are put.
    let own_a = subgroup * LEN_A;
    let own_b = subgroup * LEN_B;
    let to_a = own_a + lane / LANES_A * PITCH_A + lane % LANES_A;
    let to_b = own_b + lane / 16u * PITCH_B + lane % 16u;

    var next_a0 = a[a_0];
    var next_a1 = a[a_1];
    var next_a2 = vec4<f16>();
    var next_a3 = vec4<f16>();
    var next_a4 = vec4<f16>();
    var next_a5 = vec4<f16>();
    var next_a6 = vec4<f16>();
    var next_a7 = vec4<f16>();
    if LOADS_A > 2u {
        next_a2 = a[a_2];
        next_a3 = a[a_3];
    }
    if LOADS_A > 4u {
        next_a4 = a[a_4];
        next_a5 = a[a_5];
        next_a6 = a[a_6];
        next_a7 = a[a_7];
    }
    var next_b0 = b[b_0];
    var next_b1 = b[b_1];
    var next_b2 = b[b_2];
    var next_b3 = b[b_3];
    var next_b4 = b[b_4];
    var next_b5 = b[b_5];
    var next_b6 = b[b_6];
    var next_b7 = b[b_7];
    // Of the matrices of b, by 16 rows of a, and by 16 more.
    var sum_0 = coop_mat16x16<f32, C>();
    var sum_1 = coop_mat16x16<f32, C>();
    var sum_2 = coop_mat16x16<f32, C>();
    var sum_3 = coop_mat16x16<f32, C>();
    var sum_4 = coop_mat16x16<f32, C>();
    var sum_5 = coop_mat16x16<f32, C>();
    var sum_6 = coop_mat16x16<f32, C>();
    var sum_7 = coop_mat16x16<f32, C>();
    for (var s = 0u; s < steps; s++) {
        tile_b[to_b] = next_b0;
        tile_b[to_b + 2u * PITCH_B] = next_b1;
        tile_b[to_b + 4u * PITCH_B] = next_b2;
        tile_b[to_b + 6u * PITCH_B] = next_b3;
        tile_b[to_b + 8u * PITCH_B] = next_b4;
        tile_b[to_b + 10u * PITCH_B] = next_b5;
        tile_b[to_b + 12u * PITCH_B] = next_b6;
        tile_b[to_b + 14u * PITCH_B] = next_b7;
        tile_a[to_a] = next_a0;
        tile_a[to_a + LINES_A * PITCH_A] = next_a1;
        if LOADS_A > 2u {
            tile_a[to_a + 2u * LINES_A * PITCH_A] = next_a2;
            tile_a[to_a + 3u * LINES_A * PITCH_A] = next_a3;
        }
        if LOADS_A > 4u {
            tile_a[to_a + 4u * LINES_A * PITCH_A] = next_a4;
            tile_a[to_a + 5u * LINES_A * PITCH_A] = next_a5;
            tile_a[to_a + 6u * LINES_A * PITCH_A] = next_a6;
            tile_a[to_a + 7u * LINES_A * PITCH_A] = next_a7;
        }
        // Behind the last step that is loaded again, and not used.
        let next = min(s + 1u, steps - 1u);
        let more_b = next * step_b;
        let more_a = next * step_a;
        next_b0 = b[b_0 + more_b];
        next_b1 = b[b_1 + more_b];
        next_b2 = b[b_2 + more_b];
        next_b3 = b[b_3 + more_b];
        next_b4 = b[b_4 + more_b];
        next_b5 = b[b_5 + more_b];
        next_b6 = b[b_6 + more_b];
        next_b7 = b[b_7 + more_b];
        next_a0 = a[a_0 + more_a];
        next_a1 = a[a_1 + more_a];
        if LOADS_A > 2u {
            next_a2 = a[a_2 + more_a];
            next_a3 = a[a_3 + more_a];
        }
        if LOADS_A > 4u {
            next_a4 = a[a_4 + more_a];
            next_a5 = a[a_5 + more_a];
            next_a6 = a[a_6 + more_a];
            next_a7 = a[a_7 + more_a];
        }
        subgroupBarrier();
        let of_a = left(own_a);
        let of_b0 = right(own_b);
        sum_0 = coopMultiplyAdd(of_a, of_b0, sum_0);
        let of_b1 = right(own_b + 4u);
        let of_b2 = right(own_b + 8u);
        let of_b3 = right(own_b + 12u);
        if IS_ACROSS {
            sum_1 = coopMultiplyAdd(of_a, of_b1, sum_1);
            sum_2 = coopMultiplyAdd(of_a, of_b2, sum_2);
            sum_3 = coopMultiplyAdd(of_a, of_b3, sum_3);
            if ROWS > 16u {
                let of_more = left(own_a + 16u * PITCH_A);
                sum_4 = coopMultiplyAdd(of_more, of_b0, sum_4);
                sum_5 = coopMultiplyAdd(of_more, of_b1, sum_5);
                sum_6 = coopMultiplyAdd(of_more, of_b2, sum_6);
                sum_7 = coopMultiplyAdd(of_more, of_b3, sum_7);
            }
        } else {
            let of_a1 = left(own_a + 4u);
            sum_1 = coopMultiplyAdd(of_a1, of_b1, sum_1);
            let of_a2 = left(own_a + 8u);
            sum_2 = coopMultiplyAdd(of_a2, of_b2, sum_2);
            let of_a3 = left(own_a + 12u);
            sum_3 = coopMultiplyAdd(of_a3, of_b3, sum_3);
        }
        subgroupBarrier();
    }

    // Matrices have no elements: one at a time passes through workgroup memory, from where rows are written.
    let first = subgroup * 64u;
    let to = Strip(where_to.z, row0, col0, first, lane, live);
    if !IS_ACROSS {
        sum_0 = (sum_0 + sum_1) + (sum_2 + sum_3);
    }
    coopStoreT(sum_0, &partial_sums[first], 4u);
    subgroupBarrier();
    emit_strip(to, 0u, 0u);
    if IS_ACROSS {
        subgroupBarrier();
        coopStoreT(sum_1, &partial_sums[first], 4u);
        subgroupBarrier();
        emit_strip(to, 0u, 16u);
        subgroupBarrier();
        coopStoreT(sum_2, &partial_sums[first], 4u);
        subgroupBarrier();
        emit_strip(to, 0u, 32u);
        subgroupBarrier();
        coopStoreT(sum_3, &partial_sums[first], 4u);
        subgroupBarrier();
        emit_strip(to, 0u, 48u);
    }
    if ROWS > 16u {
        subgroupBarrier();
        coopStoreT(sum_4, &partial_sums[first], 4u);
        subgroupBarrier();
        emit_strip(to, 16u, 0u);
        subgroupBarrier();
        coopStoreT(sum_5, &partial_sums[first], 4u);
        subgroupBarrier();
        emit_strip(to, 16u, 16u);
        subgroupBarrier();
        coopStoreT(sum_6, &partial_sums[first], 4u);
        subgroupBarrier();
        emit_strip(to, 16u, 32u);
        subgroupBarrier();
        coopStoreT(sum_7, &partial_sums[first], 4u);
        subgroupBarrier();
        emit_strip(to, 16u, 48u);
    }
}
