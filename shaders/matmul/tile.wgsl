// Computes: a batch of matrix products in ROWS x COLS tiles of the output, 4 x 4 outputs per invocation, DEPTH deep.
//           What the matrices are is up to the operand parts: strided views (matmul) or a gathered image (conv).
// Bindings: params, a, b, out (declared by the operand and output parts).
// Grid: batch * tiles_m * tiles_n workgroups of exactly ROWS * COLS / 16 invocations, folded, tiles along n innermost.
// Requires: batches, Operands, operands, fetch_a4 (4 elements along k of one row, 0 outside), fetch_b4 (4 neighbouring columns at one k, 0 outside), emit4.
// Accuracy: (n + 2) ε Σ|term| for a sum of n terms in f32, then one rounding to the dtype; integers exact.

// 1: the invocations of a load lie side by side along k; 0: along the rows of a (columns of b).
override A_ALONG_DEPTH: u32 = 1u;
override B_ALONG_DEPTH: u32 = 0u;

// The tile: all three are multiples of 4, and WG is ROWS * COLS / 16.
override ROWS: u32 = 64u;
override COLS: u32 = 64u;
override DEPTH: u32 = 16u;

// In vectors of 4; rows are padded by one against bank conflicts.
override VEC4_K: u32 = DEPTH / 4u;
override VEC4_N: u32 = COLS / 4u;
override PITCH_A: u32 = VEC4_K + 1u;
override PITCH_B: u32 = VEC4_N + 1u;
override LEN_A: u32 = ROWS * PITCH_A;
override LEN_B: u32 = DEPTH * PITCH_B;

// [row][k / 4] and [k][col / 4].
var<workgroup> tile_a: array<vec4<acc>, LEN_A>;
var<workgroup> tile_b: array<vec4<acc>, LEN_B>;

// The (row, k / 4) of a that load `i` of a workgroup fetches.
fn place_a(i: u32) -> vec2<u32> {
    var place = vec2<u32>(i % ROWS, i / ROWS);
    if A_ALONG_DEPTH == 1u {
        place = vec2<u32>(i / VEC4_K, i % VEC4_K);
    }
    return place;
}

// The (k, col / 4) of b that load `i` of a workgroup fetches.
fn place_b(i: u32) -> vec2<u32> {
    var place = vec2<u32>(i / VEC4_N, i % VEC4_N);
    if B_ALONG_DEPTH == 1u {
        place = vec2<u32>(i % DEPTH, i / DEPTH);
    }
    return place;
}

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
    let row0 = tile_m * ROWS;
    let col0 = tile_n * COLS;

    // The first vector of each operand that this invocation loads. Tiles with more vectors than invocations load the
    // others in loops, whose operands are found again; in a tile with fewer, some invocations load none.
    let from_a = place_a(lid);
    let from_b = place_b(lid);
    let loads_a = ROWS * VEC4_K >= WG || lid < ROWS * VEC4_K;
    let loads_b = DEPTH * VEC4_N >= WG || lid < DEPTH * VEC4_N;
    let safe = select(0u, batch, live);
    let at = operands(safe, row0 + from_a.x, col0 + from_b.y * 4u);

    // Which outputs it owns.
    let ty = lid / VEC4_N;
    let tx = lid % VEC4_N;
    var c0 = vec4<acc>();
    var c1 = vec4<acc>();
    var c2 = vec4<acc>();
    var c3 = vec4<acc>();

    for (var k0 = 0u; k0 < params.k; k0 += DEPTH) {
        if loads_a {
            tile_a[from_a.x * PITCH_A + from_a.y] = fetch_a4(at, row0 + from_a.x, k0 + from_a.y * 4u);
        }
        if loads_b {
            tile_b[from_b.x * PITCH_B + from_b.y] = fetch_b4(at, k0 + from_b.x, col0 + from_b.y * 4u);
        }
        if ROWS * VEC4_K > WG {
            for (var i = lid + WG; i < ROWS * VEC4_K; i += WG) {
                let a = place_a(i);
                let row = row0 + a.x;
                tile_a[a.x * PITCH_A + a.y] = fetch_a4(operands(safe, row, col0), row, k0 + a.y * 4u);
            }
        }
        if DEPTH * VEC4_N > WG {
            for (var i = lid + WG; i < DEPTH * VEC4_N; i += WG) {
                let b = place_b(i);
                let col = col0 + b.y * 4u;
                tile_b[b.x * PITCH_B + b.y] = fetch_b4(operands(safe, row0, col), k0 + b.x, col);
            }
        }
        workgroupBarrier();
        for (var q = 0u; q < VEC4_K; q++) {
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
