// Computes: a batch of matrix products in 64 x 64 tiles of the output, 4 x 4 outputs per invocation, 16 deep.
//           What the matrices are is up to the operand parts: strided views (matmul) or a gathered image (conv).
// Bindings: params, a, b, out (declared by the operand and output parts).
// Grid: batch * tiles_m * tiles_n workgroups of exactly 256 invocations, folded, tiles along n innermost.
// Requires: batches, Operands, operands, fetch_a4 (4 elements along k of one row, 0 outside), fetch_b4 (4 neighbouring columns at one k, 0 outside), emit4.
// Accuracy: (n + 2) ε Σ|term| for a sum of n terms in f32, then one rounding to the dtype; integers exact.

// 1: the invocations of a load lie side by side along k; 0: along the rows of a (columns of b).
override A_ALONG_DEPTH: u32 = 1u;
override B_ALONG_DEPTH: u32 = 0u;

const SIDE: u32 = 64u;
const DEPTH: u32 = 16u;
// In quads, padded against bank conflicts.
const PITCH_A: u32 = 5u;
const PITCH_B: u32 = 17u;

// [row][k / 4] and [k][col / 4].
var<workgroup> tile_a: array<vec4<acc>, 320>;
var<workgroup> tile_b: array<vec4<acc>, 272>;

@compute @workgroup_size(WG)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let id = folded(group, groups);
    let tile_n = id % params.tiles_n;
    let tile_m = (id / params.tiles_n) % params.tiles_m;
    let batch = id / params.tiles_n / params.tiles_m;
    let live = batch < batches();
    let row0 = tile_m * SIDE;
    let col0 = tile_n * SIDE;

    // Which quads this invocation loads.
    var load_row = lid % 64u;
    var load_quad = lid / 64u;
    if A_ALONG_DEPTH == 1u {
        load_row = lid / 4u;
        load_quad = lid % 4u;
    }
    var load_k = lid / 16u;
    var load_col = lid % 16u;
    if B_ALONG_DEPTH == 1u {
        load_k = lid % 16u;
        load_col = lid / 16u;
    }
    let at = operands(select(0u, batch, live), row0 + load_row, col0 + load_col * 4u);

    // Which outputs it owns.
    let ty = lid / 16u;
    let tx = lid % 16u;
    var c0 = vec4<acc>();
    var c1 = vec4<acc>();
    var c2 = vec4<acc>();
    var c3 = vec4<acc>();

    for (var k0 = 0u; k0 < params.k; k0 += DEPTH) {
        tile_a[load_row * PITCH_A + load_quad] = fetch_a4(at, row0 + load_row, k0 + load_quad * 4u);
        tile_b[load_k * PITCH_B + load_col] = fetch_b4(at, k0 + load_k, col0 + load_col * 4u);
        workgroupBarrier();
        for (var q = 0u; q < DEPTH / 4u; q++) {
            let a0 = tile_a[(ty * 4u) * PITCH_A + q];
            let a1 = tile_a[(ty * 4u + 1u) * PITCH_A + q];
            let a2 = tile_a[(ty * 4u + 2u) * PITCH_A + q];
            let a3 = tile_a[(ty * 4u + 3u) * PITCH_A + q];
            let b0 = tile_b[(q * 4u) * PITCH_B + tx];
            let b1 = tile_b[(q * 4u + 1u) * PITCH_B + tx];
            let b2 = tile_b[(q * 4u + 2u) * PITCH_B + tx];
            let b3 = tile_b[(q * 4u + 3u) * PITCH_B + tx];
            c0 = c0 + a0.x * b0;
            c1 = c1 + a1.x * b0;
            c2 = c2 + a2.x * b0;
            c3 = c3 + a3.x * b0;
            c0 = c0 + a0.y * b1;
            c1 = c1 + a1.y * b1;
            c2 = c2 + a2.y * b1;
            c3 = c3 + a3.y * b1;
            c0 = c0 + a0.z * b2;
            c1 = c1 + a1.z * b2;
            c2 = c2 + a2.z * b2;
            c3 = c3 + a3.z * b2;
            c0 = c0 + a0.w * b3;
            c1 = c1 + a1.w * b3;
            c2 = c2 + a2.w * b3;
            c3 = c3 + a3.w * b3;
        }
        workgroupBarrier();
    }
    if live {
        let row = row0 + ty * 4u;
        let col = col0 + tx * 4u;
        emit4(batch, row, col, c0);
        emit4(batch, row + 1u, col, c1);
        emit4(batch, row + 2u, col, c2);
        emit4(batch, row + 3u, col, c3);
    }
}
