// Part of the kernel that streams columns: a subgroup's tiles in workgroup memory, and what an invocation loads of them. Requires params, WG.

// Rows and columns of a tile, and the part of k of a step: 16 or 32, 256 and 16; or 16, 64 and 64.
override ROWS: u32 = 16u;
override COLS: u32 = 256u;
override DEPTH: u32 = 16u;

// Whether lines of b's tile lie along the columns.
override IS_ACROSS: bool = DEPTH == 16u;
override OWN_COLS: u32 = COLS / 4u;
// Vec4 of a line of b's tile, and of a's, one more pair against bank conflicts.
const PITCH_B: u32 = 18u;
override PITCH_A: u32 = DEPTH / 4u + 2u;
// Invocations that load a row of a together, rows that a subgroup loads at a time, and how often it does.
override LANES_A: u32 = DEPTH / 4u;
override LINES_A: u32 = 32u / LANES_A;
override LOADS_A: u32 = ROWS / LINES_A;
// Vec4 of a subgroup's tiles.
override LEN_A: u32 = ROWS * PITCH_A;
const LEN_B: u32 = 16u * PITCH_B;
override ALL_A: u32 = 4u * LEN_A;

@group(0) @binding(1) var<storage, read> a: array<vec4<f16>>;
@group(0) @binding(2) var<storage, read> b: array<vec4<f16>>;

var<workgroup> tile_a: array<vec4<f16>, ALL_A>;
var<workgroup> tile_b: array<vec4<f16>, 4u * LEN_B>;

// Where load `i` of an invocation is in a. What stands in for rows behind the last is never stored.
fn vector_a(first: u32, row: u32, lane: u32, i: u32) -> u32 {
    let line = min(row + i * LINES_A + lane / LANES_A, params.m - 1u);
    return (first + line * params.a_row) / 4u + lane % LANES_A;
}

// Where load `i` of an invocation is in b: a subgroup loads two lines at a time. What stands in for columns behind the last is never stored.
fn vector_b(first: u32, col: u32, lane: u32, i: u32) -> u32 {
    let line = 2u * i + lane / 16u;
    let vector = lane % 16u;
    if IS_ACROSS {
        let at = min(col + vector * 4u, (params.n - 1u) / 4u * 4u);
        return (first + line * params.b_depth + at) / 4u;
    }
    return (first + min(col + line, params.n - 1u) * params.b_col) / 4u + vector;
}

// The matrix of 16 rows and 16 of k, and of 16 of k and 16 columns.
fn left(at: u32) -> coop_mat16x16<f16, A> {
    return coopLoadT<coop_mat16x16<f16, A>>(&tile_a[at], PITCH_A);
}

fn right(at: u32) -> coop_mat16x16<f16, B> {
    if IS_ACROSS {
        return coopLoadT<coop_mat16x16<f16, B>>(&tile_b[at], PITCH_B);
    }
    return coopLoad<coop_mat16x16<f16, B>>(&tile_b[at], PITCH_B);
}
