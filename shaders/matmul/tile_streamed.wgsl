// Computes: a batch of products of matrices in tiles of up to 64 rows of the output, by matrix units that multiply f16, with sums in f32: in each step the workgroup loads its rows of a and 8 KiB of b, of 128 columns and 32 of k or of 64 columns and 64 of k, and each subgroup multiplies all rows by a quarter of the columns.
//           Nothing in the loop is a loop, and its steps are counted one by one: so NVIDIA's compiler unrolls it, which takes a quarter less time here, and more than twice as long for large tiles.
// Bindings: params, a (lines along k), b (lines along the columns with a step of 32, along k with one of 64), out (declared by the output part).
// Grid: batch * tiles_m * tiles_n workgroups of 128 invocations, 4 subgroups of 32, folded, in bands of 8 tiles along m.
// Requires: tile_at, depth_of, restored, streamed.wgsl, strips.wgsl, emit4.
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
    let steps = select(0u, depth_of(entry) / DEPTH, live);
    let row0 = where_to.x * ROWS;
    let col0 = where_to.y * COLS;
    // Its columns, 32 or 16 of them.
    let own = lid / 32u * OWN_COLS;
    let own_last = own + OWN_COLS - 16u;

    // Where vectors are loaded from, of the first step; how far the next one is; and where they are put.
    let a_0 = vector_a(at.a, row0, lid, 0u);
    let a_1 = vector_a(at.a, row0, lid, 1u);
    let a_2 = vector_a(at.a, row0, lid, 2u);
    let a_3 = vector_a(at.a, row0, lid, 3u);
    let a_4 = vector_a(at.a, row0, lid, 4u);
    let a_5 = vector_a(at.a, row0, lid, 5u);
    let a_6 = vector_a(at.a, row0, lid, 6u);
    let a_7 = vector_a(at.a, row0, lid, 7u);
    let b_0 = vector_b(at.b, col0, lid, 0u);
    let b_1 = vector_b(at.b, col0, lid, 1u);
    let b_2 = vector_b(at.b, col0, lid, 2u);
    let b_3 = vector_b(at.b, col0, lid, 3u);
    let b_4 = vector_b(at.b, col0, lid, 4u);
    let b_5 = vector_b(at.b, col0, lid, 5u);
    let b_6 = vector_b(at.b, col0, lid, 6u);
    let b_7 = vector_b(at.b, col0, lid, 7u);
    let step_a = LANES_A;
    let step_b = DEPTH / 4u * select(1u, params.b_depth, IS_ACROSS);
    let to_a = lid / LANES_A * PITCH_A + lid % LANES_A;
    let to_b = lid / LANES_B * PITCH_B + lid % LANES_B;

    var next_a0 = a[a_0];
    var next_a1 = vec4<f16>();
    var next_a2 = vec4<f16>();
    var next_a3 = vec4<f16>();
    var next_a4 = vec4<f16>();
    var next_a5 = vec4<f16>();
    var next_a6 = vec4<f16>();
    var next_a7 = vec4<f16>();
    if LOADS_A > 1u {
        next_a1 = a[a_1];
    }
    if LOADS_A > 2u {
        next_a2 = a[a_2];
    }
    if LOADS_A > 3u {
        next_a3 = a[a_3];
    }
    if LOADS_A > 4u {
        next_a4 = a[a_4];
        next_a5 = a[a_5];
    }
    if LOADS_A > 6u {
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
    // Of 16 rows by 16 columns; of columns that lie side by side a subgroup has 32.
    var sum_00 = coop_mat16x16<f32, C>();
    var sum_01 = coop_mat16x16<f32, C>();
    var sum_10 = coop_mat16x16<f32, C>();
    var sum_11 = coop_mat16x16<f32, C>();
    var sum_20 = coop_mat16x16<f32, C>();
    var sum_21 = coop_mat16x16<f32, C>();
    var sum_30 = coop_mat16x16<f32, C>();
    var sum_31 = coop_mat16x16<f32, C>();
    for (var s = 0u; s < steps; s++) {
        tile_b[to_b] = next_b0;
        tile_b[to_b + 1u * LINES_B * PITCH_B] = next_b1;
        tile_b[to_b + 2u * LINES_B * PITCH_B] = next_b2;
        tile_b[to_b + 3u * LINES_B * PITCH_B] = next_b3;
        tile_b[to_b + 4u * LINES_B * PITCH_B] = next_b4;
        tile_b[to_b + 5u * LINES_B * PITCH_B] = next_b5;
        tile_b[to_b + 6u * LINES_B * PITCH_B] = next_b6;
        tile_b[to_b + 7u * LINES_B * PITCH_B] = next_b7;
        tile_a[to_a] = next_a0;
        if LOADS_A > 1u {
            tile_a[to_a + 1u * LINES_A * PITCH_A] = next_a1;
        }
        if LOADS_A > 2u {
            tile_a[to_a + 2u * LINES_A * PITCH_A] = next_a2;
        }
        if LOADS_A > 3u {
            tile_a[to_a + 3u * LINES_A * PITCH_A] = next_a3;
        }
        if LOADS_A > 4u {
            tile_a[to_a + 4u * LINES_A * PITCH_A] = next_a4;
            tile_a[to_a + 5u * LINES_A * PITCH_A] = next_a5;
        }
        if LOADS_A > 6u {
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
        if LOADS_A > 1u {
            next_a1 = a[a_1 + more_a];
        }
        if LOADS_A > 2u {
            next_a2 = a[a_2 + more_a];
        }
        if LOADS_A > 3u {
            next_a3 = a[a_3 + more_a];
        }
        if LOADS_A > 4u {
            next_a4 = a[a_4 + more_a];
            next_a5 = a[a_5 + more_a];
        }
        if LOADS_A > 6u {
            next_a6 = a[a_6 + more_a];
            next_a7 = a[a_7 + more_a];
        }
        workgroupBarrier();
        let of_b0 = right(0u, own);
        let of_last0 = right(0u, own_last);
        let of_a0 = left(0u, 0u);
        sum_00 = coopMultiplyAdd(of_a0, of_b0, sum_00);
        if IS_ACROSS {
            sum_01 = coopMultiplyAdd(of_a0, of_last0, sum_01);
        }
        if ROWS > 16u {
            let of_a = left(16u, 0u);
            sum_10 = coopMultiplyAdd(of_a, of_b0, sum_10);
            if IS_ACROSS {
                sum_11 = coopMultiplyAdd(of_a, of_last0, sum_11);
            }
        }
        if ROWS > 32u {
            let of_a = left(32u, 0u);
            sum_20 = coopMultiplyAdd(of_a, of_b0, sum_20);
            if IS_ACROSS {
                sum_21 = coopMultiplyAdd(of_a, of_last0, sum_21);
            }
        }
        if ROWS > 48u {
            let of_a = left(48u, 0u);
            sum_30 = coopMultiplyAdd(of_a, of_b0, sum_30);
            if IS_ACROSS {
                sum_31 = coopMultiplyAdd(of_a, of_last0, sum_31);
            }
        }
        let of_b1 = right(16u, own);
        let of_last1 = right(16u, own_last);
        let of_a1 = left(0u, 16u);
        sum_00 = coopMultiplyAdd(of_a1, of_b1, sum_00);
        if IS_ACROSS {
            sum_01 = coopMultiplyAdd(of_a1, of_last1, sum_01);
        }
        if ROWS > 16u {
            let of_a = left(16u, 16u);
            sum_10 = coopMultiplyAdd(of_a, of_b1, sum_10);
            if IS_ACROSS {
                sum_11 = coopMultiplyAdd(of_a, of_last1, sum_11);
            }
        }
        if ROWS > 32u {
            let of_a = left(32u, 16u);
            sum_20 = coopMultiplyAdd(of_a, of_b1, sum_20);
            if IS_ACROSS {
                sum_21 = coopMultiplyAdd(of_a, of_last1, sum_21);
            }
        }
        if ROWS > 48u {
            let of_a = left(48u, 16u);
            sum_30 = coopMultiplyAdd(of_a, of_b1, sum_30);
            if IS_ACROSS {
                sum_31 = coopMultiplyAdd(of_a, of_last1, sum_31);
            }
        }
        if !IS_ACROSS {
            let of_b2 = right(32u, own);
            let of_a2 = left(0u, 32u);
            sum_00 = coopMultiplyAdd(of_a2, of_b2, sum_00);
            if ROWS > 16u {
                let of_a = left(16u, 32u);
                sum_10 = coopMultiplyAdd(of_a, of_b2, sum_10);
            }
            if ROWS > 32u {
                let of_a = left(32u, 32u);
                sum_20 = coopMultiplyAdd(of_a, of_b2, sum_20);
            }
            if ROWS > 48u {
                let of_a = left(48u, 32u);
                sum_30 = coopMultiplyAdd(of_a, of_b2, sum_30);
            }
            let of_b3 = right(48u, own);
            let of_a3 = left(0u, 48u);
            sum_00 = coopMultiplyAdd(of_a3, of_b3, sum_00);
            if ROWS > 16u {
                let of_a = left(16u, 48u);
                sum_10 = coopMultiplyAdd(of_a, of_b3, sum_10);
            }
            if ROWS > 32u {
                let of_a = left(32u, 48u);
                sum_20 = coopMultiplyAdd(of_a, of_b3, sum_20);
            }
            if ROWS > 48u {
                let of_a = left(48u, 48u);
                sum_30 = coopMultiplyAdd(of_a, of_b3, sum_30);
            }
        }
        workgroupBarrier();
    }

    // Matrices have no elements: one at a time passes through workgroup memory, from where rows are written.
    let first = lid / 32u * 64u;
    let to = Strip(where_to.z, row0, col0 + own, first, lid % 32u, live);
    coopStoreT(sum_00, &partial_sums[first], 4u);
    subgroupBarrier();
    emit_strip(to, 0u, 0u);
    subgroupBarrier();
    if IS_ACROSS {
        coopStoreT(sum_01, &partial_sums[first], 4u);
        subgroupBarrier();
        emit_strip(to, 0u, 16u);
        subgroupBarrier();
    }
    if ROWS > 16u {
        coopStoreT(sum_10, &partial_sums[first], 4u);
        subgroupBarrier();
        emit_strip(to, 16u, 0u);
        subgroupBarrier();
        if IS_ACROSS {
            coopStoreT(sum_11, &partial_sums[first], 4u);
            subgroupBarrier();
            emit_strip(to, 16u, 16u);
            subgroupBarrier();
        }
    }
    if ROWS > 32u {
        coopStoreT(sum_20, &partial_sums[first], 4u);
        subgroupBarrier();
        emit_strip(to, 32u, 0u);
        subgroupBarrier();
        if IS_ACROSS {
            coopStoreT(sum_21, &partial_sums[first], 4u);
            subgroupBarrier();
            emit_strip(to, 32u, 16u);
            subgroupBarrier();
        }
    }
    if ROWS > 48u {
        coopStoreT(sum_30, &partial_sums[first], 4u);
        subgroupBarrier();
        emit_strip(to, 48u, 0u);
        subgroupBarrier();
        if IS_ACROSS {
            coopStoreT(sum_31, &partial_sums[first], 4u);
            subgroupBarrier();
            emit_strip(to, 48u, 16u);
            subgroupBarrier();
        }
    }
}
