// Computes: what reduce/body.wgsl does, in the same order, for outputs whose elements are neighbours in memory: four outputs at
//           once, of which each load has one element each.
// Bindings: params, a, out (declared by the value and output parts).
// Grid: ceil(outputs / 4 / ROWS) * chunks workgroups, folded; chunk c of an output covers chunk_len elements from c * chunk_len.
// Requires: start, combine (operator part); block (block part); tail (tail part); load_value4 (value part); over_lanes of four; emit (output part).
// Accuracy: that of the operator part.

// Of 16 elements each.
const BLOCK: u32 = 16u;

// The elements at place r of four outputs.
fn column4(base: u32, r: u32) -> vec4<elem> {
    return load_value4(base + reduced_offset(r));
}

@compute @workgroup_size(WG)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let id = folded(group, groups);
    let chunk = id % params.chunks;
    let row = (lid / ROW_STEP) % ROWS;
    let lane = (lid / LANE_STEP) % LANES;
    let output = 4u * ((id / params.chunks) * ROWS + row);
    let live = output < params.outputs;

    var total = lane_acc(start(), start(), start(), start());
    if live {
        let base = kept_offset(output);
        let end = min(params.len, (chunk + 1u) * params.chunk_len);
        let step = 4u * LANES;
        var r = chunk * params.chunk_len + 4u * lane;
        while r + 3u * step + 3u < end {
            var s = lane_acc(start(), start(), start(), start());
            for (var n = 0u; n < BLOCK && r + 3u * step + 3u < end; n++) {
                // Sixteen loads in flight.
                let x0 = column4(base, r);
                let x1 = column4(base, r + 1u);
                let x2 = column4(base, r + 2u);
                let x3 = column4(base, r + 3u);
                let y0 = column4(base, r + step);
                let y1 = column4(base, r + step + 1u);
                let y2 = column4(base, r + step + 2u);
                let y3 = column4(base, r + step + 3u);
                let z0 = column4(base, r + 2u * step);
                let z1 = column4(base, r + 2u * step + 1u);
                let z2 = column4(base, r + 2u * step + 2u);
                let z3 = column4(base, r + 2u * step + 3u);
                let w0 = column4(base, r + 3u * step);
                let w1 = column4(base, r + 3u * step + 1u);
                let w2 = column4(base, r + 3u * step + 2u);
                let w3 = column4(base, r + 3u * step + 3u);
                s = combine_lanes(s, lane_acc(
                    block(
                        vec4<elem>(x0.x, x1.x, x2.x, x3.x),
                        vec4<elem>(y0.x, y1.x, y2.x, y3.x),
                        vec4<elem>(z0.x, z1.x, z2.x, z3.x),
                        vec4<elem>(w0.x, w1.x, w2.x, w3.x),
                    ),
                    block(
                        vec4<elem>(x0.y, x1.y, x2.y, x3.y),
                        vec4<elem>(y0.y, y1.y, y2.y, y3.y),
                        vec4<elem>(z0.y, z1.y, z2.y, z3.y),
                        vec4<elem>(w0.y, w1.y, w2.y, w3.y),
                    ),
                    block(
                        vec4<elem>(x0.z, x1.z, x2.z, x3.z),
                        vec4<elem>(y0.z, y1.z, y2.z, y3.z),
                        vec4<elem>(z0.z, z1.z, z2.z, z3.z),
                        vec4<elem>(w0.z, w1.z, w2.z, w3.z),
                    ),
                    block(
                        vec4<elem>(x0.w, x1.w, x2.w, x3.w),
                        vec4<elem>(y0.w, y1.w, y2.w, y3.w),
                        vec4<elem>(z0.w, z1.w, z2.w, z3.w),
                        vec4<elem>(w0.w, w1.w, w2.w, w3.w),
                    ),
                ));
                r += 4u * step;
            }
            total = combine_lanes(total, s);
        }
        for (; r < end; r += step) {
            let last = end - 1u;
            let a = column4(base, r);
            let b = column4(base, min(r + 1u, last));
            let c = column4(base, min(r + 2u, last));
            let d = column4(base, min(r + 3u, last));
            let left = end - r;
            total = lane_acc(
                tail(total[0], vec4<elem>(a.x, b.x, c.x, d.x), left),
                tail(total[1], vec4<elem>(a.y, b.y, c.y, d.y), left),
                tail(total[2], vec4<elem>(a.z, b.z, c.z, d.z), left),
                tail(total[3], vec4<elem>(a.w, b.w, c.w, d.w), left),
            );
        }
    }
    total = over_lanes(lid, lane, total);
    if live && lane == 0u {
        emit(output * params.chunks + chunk, total[0]);
        emit((output + 1u) * params.chunks + chunk, total[1]);
        emit((output + 2u) * params.chunks + chunk, total[2]);
        emit((output + 3u) * params.chunks + chunk, total[3]);
    }
}
