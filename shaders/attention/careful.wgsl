// Rows of matrix.wgsl and pieces.wgsl in which something is NaN or infinite: there a weight of 0 has to leave a value out, which matrix units
// do not. Requires query_vector, key_vector, value_vector, careful_four (operand part), seen_score, weights_of, finish, inside.

fn is_odd(v: vec4<f32>) -> bool {
    let w = bitcast<vec4<u32>>(v) & vec4<u32>(0x7fffffffu);
    return max(max(w.x, w.y), max(w.z, w.w)) >= 0x7f800000u;
}

// Whether one of the LANES invocations of a row says so. All of them compute it once more then: of a share of its keys one greatest score
// and one sum of weights are merged for all columns.
fn said_in_row(odd: bool) -> bool {
    var said = select(0u, 1u, odd);
    said |= subgroupShuffleXor(said, 1u);
    if LANES > 2u {
        said |= subgroupShuffleXor(said, 2u);
    }
    return said != 0u;
}

fn careful_score(share: Share, factors: Factors, at: Query, q_base: u32, k_base: u32, key: u32) -> f32 {
    var s = 0.0;
    for (var vector = 0u; vector < params.head_dim / 4u; vector++) {
        s += dot(careful_four(query_vector(q_base, vector), factors.query), careful_four(key_vector(k_base, key, vector), factors.key));
    }
    return seen_score(s * factors.scores, at, key, share.count);
}

// Leaves `count` vectors of columns, at most 16: of each four, `some` from `first` on. The count is a parameter's, so that a driver
// does not unroll loops that hardly ever run.
fn careful_row(share: Share, factors: Factors, at: Query, row: u32, first: u32, some: u32, count: u32) {
    let q_base = query_base(share, row);
    let k_base = key_base(share);
    let v_base = value_base(share);
    var top = -inf_f32();
    for (var key = share.keys.x; key < share.keys.y; key++) {
        top = max(top, counted(vec4<f32>(careful_score(share, factors, at, q_base, k_base, key))).x);
    }
    var total = 0.0;
    var sums = array<vec4<f32>, 16>();
    for (var key = share.keys.x; key < share.keys.y; key++) {
        let w = weights_of(vec4<f32>(careful_score(share, factors, at, q_base, k_base, key)), vec4<f32>(top)).x;
        if bitcast<u32>(w) != 0u {
            total += w;
            for (var i = 0u; i < count; i++) {
                sums[i] += w * careful_four(value_vector(v_base, key, inside(first + i / some * 4u + i % some, params.value_dim)), factors.value);
            }
        }
    }
    for (var i = 0u; i < count; i++) {
        finish(share, row, (first + i / some * 4u + i % some) * 4u, sums[i] * factors.sums, top, total);
    }
}
