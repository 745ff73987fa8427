// Computes: out[batch, row, col] = sum over k of a[row, k] * b[k, col], one output per row of the invocation grid.
//           For outputs with a small side (matrix times vector), and the fallback for everything else.
// Bindings: params, a, b, out (declared by the output part).
// Grid: ceil(batch * m * n / ROWS) * chunks workgroups, folded; ROWS x LANES invocations lie in the workgroup as in reduce/index.wgsl;
//       chunk c of an output covers chunk_len products from c * chunk_len.
// Requires: emit (output part).
// Accuracy: (n + 2) ε Σ|term| for a sum of n terms in f32, then one rounding to the dtype; integers exact.

override ROWS: u32 = 256u;
override LANES: u32 = 1u;
override ROW_STEP: u32 = 1u;
override LANE_STEP: u32 = 256u;

const BLOCK: u32 = 64u;

@group(0) @binding(1) var<storage, read> a: array<word_a>;
@group(0) @binding(2) var<storage, read> b: array<word_b>;

var<workgroup> partial_acc: array<acc, WG>;

fn product(i: u32, j: u32) -> acc {
    return from_word_a(a[word_index_a(i)], i) * from_word_b(b[word_index_b(j)], j);
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
    let output = (id / params.chunks) * ROWS + row;
    let live = output < params.batch * params.m * params.n;

    var total = acc();
    if live {
        let line = output / params.n;
        let at = origin(line / params.m);
        var k = chunk * params.chunk_len + lane;
        let end = min(params.k, (chunk + 1u) * params.chunk_len);
        var i = at.a + (line % params.m) * params.a_row + k * params.a_depth;
        var j = at.b + (output % params.n) * params.b_col + k * params.b_depth;
        let i_step = LANES * params.a_depth;
        let j_step = LANES * params.b_depth;
        // Blocks of bounded length keep long sums accurate.
        while k + 3u * LANES < end {
            var s0 = acc();
            var s1 = acc();
            var s2 = acc();
            var s3 = acc();
            for (var step = 0u; step < BLOCK && k + 3u * LANES < end; step++) {
                s0 += product(i, j);
                s1 += product(i + i_step, j + j_step);
                s2 += product(i + 2u * i_step, j + 2u * j_step);
                s3 += product(i + 3u * i_step, j + 3u * j_step);
                k += 4u * LANES;
                i += 4u * i_step;
                j += 4u * j_step;
            }
            total += (s0 + s1) + (s2 + s3);
        }
        for (; k < end; k += LANES) {
            total += product(i, j);
            i += i_step;
            j += j_step;
        }
    }

    if LANES > 1u {
        partial_acc[lid] = total;
        workgroupBarrier();
        for (var s = LANES / 2u; s > 0u; s /= 2u) {
            if lane < s {
                partial_acc[lid] += partial_acc[lid + s * LANE_STEP];
            }
            workgroupBarrier();
        }
        total = partial_acc[lid];
    }
    if live && lane == 0u {
        emit(output * params.chunks + chunk, total);
    }
}
