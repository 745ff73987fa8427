// Computes: a batch of matrix products in 128 x 128 tiles of the output, 8 x 8 outputs per invocation, 16 deep; the next part of the operands is loaded while one is multiplied.
//           What the matrices are is up to the operand parts: strided views (matmul) or a gathered image (conv).
// Bindings: params, a, b, out (declared by the operand and output parts).
// Grid: batch * tiles_m * tiles_n workgroups of 256 invocations, folded, in bands of 8 tiles along m.
// Requires: tile_at, computes, batches, Operands, operands, block_a, block_b (0 outside), emit4.
// Accuracy: (n + 2) ε Σ|term| for a sum of n terms in f32, then one rounding to the dtype; integers exact.

// 1: the invocations of a load lie side by side along k; 0: along the rows of a (columns of b).
override A_ALONG_DEPTH: u32 = 1u;
override B_ALONG_DEPTH: u32 = 0u;

const SIDE: u32 = 128u;
const DEPTH: u32 = 16u;
const VEC4: u32 = SIDE / 4u;
const HALF: u32 = VEC4 / 2u;
const BLOCKS_K: u32 = DEPTH / 4u;

// [k][row / 4] and [k][col / 4].
var<workgroup> tile_a: array<vec4<acc>, DEPTH * VEC4>;
var<workgroup> tile_b: array<vec4<acc>, DEPTH * VEC4>;

// The (row or column, k) at which block `i` of 128 begins.
fn place(i: u32, along_depth: u32) -> vec2<u32> {
    var at = vec2<u32>(i % VEC4, i / VEC4);
    if along_depth == 1u {
        at = vec2<u32>(i / BLOCKS_K, i % BLOCKS_K);
    }
    return at * 4u;
}

fn block(loads_a: bool, at: Operands, line: u32, k: u32) -> Block {
    var loaded: Block;
    if loads_a {
        loaded = block_a(at, line, k);
    } else {
        loaded = block_b(at, k, line);
    }
    return loaded;
}

fn compute(where_to: vec3<u32>, lid: u32) {
    let row0 = where_to.x * SIDE;
    let col0 = where_to.y * SIDE;

    // Half of the invocations load a, the others b, one block each.
    let loads_a = lid < 128u;
    let start = place(lid % 128u, select(B_ALONG_DEPTH, A_ALONG_DEPTH, loads_a));
    let line = start.x + select(col0, row0, loads_a);
    let at = operands(where_to.z, select(row0, line, loads_a), select(line, col0, loads_a));
    let slot = start.y * VEC4 + start.x / 4u;

    // Rows 4 ty to 4 ty + 3 and the same 64 further down; columns likewise.
    let ty = lid / 16u;
    let tx = lid % 16u;
    var c_0 = vec4<acc>();
    var c_1 = vec4<acc>();
    var c_2 = vec4<acc>();
    var c_3 = vec4<acc>();
    var c_4 = vec4<acc>();
    var c_5 = vec4<acc>();
    var c_6 = vec4<acc>();
    var c_7 = vec4<acc>();
    var c_8 = vec4<acc>();
    var c_9 = vec4<acc>();
    var c_10 = vec4<acc>();
    var c_11 = vec4<acc>();
    var c_12 = vec4<acc>();
    var c_13 = vec4<acc>();
    var c_14 = vec4<acc>();
    var c_15 = vec4<acc>();

    var next = block(loads_a, at, line, start.y);
    for (var k0 = 0u; k0 < params.k; k0 += DEPTH) {
        if loads_a {
            tile_a[slot] = next.k0;
            tile_a[slot + VEC4] = next.k1;
            tile_a[slot + 2u * VEC4] = next.k2;
            tile_a[slot + 3u * VEC4] = next.k3;
        } else {
            tile_b[slot] = next.k0;
            tile_b[slot + VEC4] = next.k1;
            tile_b[slot + 2u * VEC4] = next.k2;
            tile_b[slot + 3u * VEC4] = next.k3;
        }
        workgroupBarrier();
        next = block(loads_a, at, line, k0 + DEPTH + start.y);
        for (var k = 0u; k < DEPTH; k++) {
            let a0 = tile_a[k * VEC4 + ty];
            let a1 = tile_a[k * VEC4 + HALF + ty];
            let b0 = tile_b[k * VEC4 + tx];
            let b1 = tile_b[k * VEC4 + HALF + tx];
            c_0 = c_0 + a0[0] * b0;
            c_4 = c_4 + a0[0] * b1;
            c_8 = c_8 + a1[0] * b0;
            c_12 = c_12 + a1[0] * b1;
            c_1 = c_1 + a0[1] * b0;
            c_5 = c_5 + a0[1] * b1;
            c_9 = c_9 + a1[1] * b0;
            c_13 = c_13 + a1[1] * b1;
            c_2 = c_2 + a0[2] * b0;
            c_6 = c_6 + a0[2] * b1;
            c_10 = c_10 + a1[2] * b0;
            c_14 = c_14 + a1[2] * b1;
            c_3 = c_3 + a0[3] * b0;
            c_7 = c_7 + a0[3] * b1;
            c_11 = c_11 + a1[3] * b0;
            c_15 = c_15 + a1[3] * b1;
        }
        workgroupBarrier();
    }
    let row = row0 + ty * 4u;
    let col = col0 + tx * 4u;
    if writes(where_to.z, row0, col0) {
        emit4(where_to.z, row, col, c_0);
        emit4(where_to.z, row + 1u, col, c_1);
        emit4(where_to.z, row + 2u, col, c_2);
        emit4(where_to.z, row + 3u, col, c_3);
    }
    if writes(where_to.z, row0, col0 + 64u) {
        emit4(where_to.z, row, col + 64u, c_4);
        emit4(where_to.z, row + 1u, col + 64u, c_5);
        emit4(where_to.z, row + 2u, col + 64u, c_6);
        emit4(where_to.z, row + 3u, col + 64u, c_7);
    }
    if writes(where_to.z, row0 + 64u, col0) {
        emit4(where_to.z, row + 64u, col, c_8);
        emit4(where_to.z, row + 65u, col, c_9);
        emit4(where_to.z, row + 66u, col, c_10);
        emit4(where_to.z, row + 67u, col, c_11);
    }
    if writes(where_to.z, row0 + 64u, col0 + 64u) {
        emit4(where_to.z, row + 64u, col + 64u, c_12);
        emit4(where_to.z, row + 65u, col + 64u, c_13);
        emit4(where_to.z, row + 66u, col + 64u, c_14);
        emit4(where_to.z, row + 67u, col + 64u, c_15);
    }
}

@compute @workgroup_size(WG)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let where_to = tile_at(folded(group, groups));
    if where_to.z < batches() && computes(where_to) {
        compute(where_to, lid);
    }
}
