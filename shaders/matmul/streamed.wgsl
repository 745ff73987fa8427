// Part of the kernel of few rows that streams columns: its tiles in workgroup memory, and what an invocation loads of them. Requires params, WG.

// Rows (16, 32, 48 or 64) and columns of a tile, and the part of k of a step: 128 columns and 32, or 64 and 64.
override ROWS: u32 = 16u;
override COLS: u32 = 128u;
override DEPTH: u32 = 32u;

// Whether lines of b's tile lie along the columns.
override IS_ACROSS: bool = DEPTH == 32u;
// Columns of a subgroup.
override OWN_COLS: u32 = COLS / 4u;
// Vec4 of a line of a's tile and of b's, and two more against bank conflicts.
override LANES_A: u32 = DEPTH / 4u;
override LANES_B: u32 = COLS / 4u;
override PITCH_A: u32 = LANES_A + 2u;
override PITCH_B: u32 = LANES_B + 2u;
// Lines of each that the workgroup loads at a time.
override LINES_A: u32 = 128u / LANES_A;
override LINES_B: u32 = 128u / LANES_B;
override LEN_A: u32 = ROWS * PITCH_A;
override LEN_B: u32 = 8u * LINES_B * PITCH_B;
// How often it loads of a.
override LOADS_A: u32 = ROWS / LINES_A;

@group(0) @binding(1) var<storage, read> a: array<vec4<f16>>;
@group(0) @binding(2) var<storage, read> b: array<vec4<f16>>;

var<workgroup> tile_a: array<vec4<f16>, LEN_A>;
var<workgroup> tile_b: array<vec4<f16>, LEN_B>;

// Where load `i` of an invocation is in a. What stands in for rows behind the last is never stored.
fn vector_a(first: u32, row: u32, lid: u32, i: u32) -> u32 {
    let line = min(row + i * LINES_A + lid / LANES_A, params.m - 1u);
    return (first + line * params.a_row) / 4u + lid % LANES_A;
}

// Where load `i` of an invocation is in b. What stands in for columns behind the last is never stored.
fn vector_b(first: u32, col: u32, lid: u32, i: u32) -> u32 {
    let line = i * LINES_B + lid / LANES_B;
    let vector = lid % LANES_B;
    if IS_ACROSS {
        let at = min(col + vector * 4u, (params.n - 1u) / 4u * 4u);
        return (first + line * params.b_depth + at) / 4u;
    }
    return (first + min(col + line, params.n - 1u) * params.b_col) / 4u + vector;
}

// The matrix of 16 rows and 16 of k at a row and an element of k of the tile.
fn left(row: u32, k: u32) -> coop_mat16x16<f16, A> {
    let at = row * PITCH_A + k / 4u;
    return coopLoadT<coop_mat16x16<f16, A>>(&tile_a[at], PITCH_A);
}

// The matrix of 16 of k and 16 columns at an element of k and a column of the tile.
fn right(k: u32, col: u32) -> coop_mat16x16<f16, B> {
    if IS_ACROSS {
        let across = k * PITCH_B + col / 4u;
        return coopLoadT<coop_mat16x16<f16, B>>(&tile_b[across], PITCH_B);
    }
    let along = col * PITCH_B + k / 4u;
    return coopLoad<coop_mat16x16<f16, B>>(&tile_b[along], PITCH_B);
}
