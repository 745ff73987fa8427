// Computes: out[l, r] = sum over k of x[l, k] * w[r, k] for LINES rows of x and ROWS of w, which is in blocks. The invocations of a
//           workgroup share k; the numbers of w are those of its blocks in f32.
// Bindings: params, x, 2 the blocks, 3 out.
// Grid: ceil(m / LINES) * tiles workgroups, folded, those along the rows of w innermost.
// Requires: words, unpack; blocks; UNIT_VECTORS, unit_at, vector_at, vector_of (format part); LINES, ROWS (size part); store1.
// Accuracy: (k + 2) ε Σ|term| for the numbers that the blocks have, then one rounding to the dtype.

override WG: u32 = 128u;
override LOG_WG: u32 = 7u;

const TOTALS: u32 = LINES * ROWS;
override SUMS: u32 = TOTALS * WG;

@group(0) @binding(1) var<storage, read> x: array<words>;
@group(0) @binding(3) var<storage, read_write> out: array<cell>;

var<workgroup> partial_sums: array<f32, SUMS>;

fn plus(sum: f32, a: vec4<f32>, b: vec4<f32>) -> f32 {
    return sum + a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
}

@compute @workgroup_size(WG)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let id = group.x + (group.y + group.z * groups.y) * groups.x;
    let line = (id / params.tiles) * LINES;
    let row = (id % params.tiles) * ROWS;

    // What stands in for rows behind the last is never stored.
    var lines: array<u32, LINES>;
    for (var l = 0u; l < LINES; l++) {
        lines[l] = (params.x_offset + min(line + l, params.m - 1u) * params.x_row) / 4u;
    }
    var rows: array<u32, ROWS>;
    for (var r = 0u; r < ROWS; r++) {
        rows[r] = min(row + r, params.n - 1u) * params.units;
    }
    var sums: array<f32, TOTALS>;
    for (var i = lid; i < params.units; i += WG) {
        var units: array<Unit, ROWS>;
        for (var r = 0u; r < ROWS; r++) {
            units[r] = unit_at(rows[r] + i);
        }
        for (var q = 0u; q < UNIT_VECTORS; q++) {
            let at = vector_at(i, q);
            var of_x: array<vec4<f32>, LINES>;
            for (var l = 0u; l < LINES; l++) {
                of_x[l] = unpack(x[lines[l] + at]);
            }
            for (var r = 0u; r < ROWS; r++) {
                let of_w = vector_of(units[r], q);
                for (var l = 0u; l < LINES; l++) {
                    sums[l * ROWS + r] = plus(sums[l * ROWS + r], of_w, of_x[l]);
                }
            }
        }
    }

    for (var t = 0u; t < TOTALS; t++) {
        partial_sums[t * WG + lid] = sums[t];
    }
    workgroupBarrier();
    // A fixed tree, whose pairs the invocations share.
    for (var level = LOG_WG; level > 0u; level--) {
        let step = 1u << (level - 1u);
        for (var i = lid; i < TOTALS * step; i += WG) {
            let at = (i >> (level - 1u)) * WG + (i & (step - 1u));
            partial_sums[at] += partial_sums[at + step];
        }
        workgroupBarrier();
    }
    if lid < TOTALS {
        let l = line + lid / ROWS;
        let r = row + lid % ROWS;
        if l < params.m && r < params.n {
            store1(params.out_offset + l * params.n + r, out_elem(partial_sums[lid * WG]));
        }
    }
}
