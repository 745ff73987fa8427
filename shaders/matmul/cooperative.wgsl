// Shared by the kernels of tiles of f16 on matrix units: the tiles in workgroup memory, and their matrices.
// Requires SIDE (rows and columns of the tile), DEPTH, loaded, fetch_a4; loads of b are up to plain_lines.wgsl, or to a convolution.

// 0: a (b) lies along k, and so do lines of its tile; 1: along the rows (columns).
override A_ACROSS: u32 = 0u;
override B_ACROSS: u32 = 1u;
// 1: k is a multiple of DEPTH.
override WHOLE: u32 = 0u;

// Vec4 of a line, one more pair against bank conflicts.
const ALONG: u32 = DEPTH / 4u;
const PITCH_ALONG: u32 = ALONG + 2u;
const ACROSS: u32 = SIDE / 4u;
const PITCH_ACROSS: u32 = ACROSS + 2u;
// How many f16 each element becomes.
override PIECES: u32 = 1u;
// Vec4 of one of them of a tile.
override LEN_A: u32 = A_ACROSS * DEPTH * PITCH_ACROSS + (1u - A_ACROSS) * SIDE * PITCH_ALONG;
override LEN_B: u32 = B_ACROSS * DEPTH * PITCH_ACROSS + (1u - B_ACROSS) * SIDE * PITCH_ALONG;
override ALL_A: u32 = PIECES * LEN_A;
override ALL_B: u32 = PIECES * LEN_B;
// Vec4 of a tile per invocation.
const LOADS: u32 = SIDE * DEPTH / 512u;

var<workgroup> tile_a: array<vec4<f16>, ALL_A>;
var<workgroup> tile_b: array<vec4<f16>, ALL_B>;

// Line and vector in it of load `i` of the tile.
fn place(i: u32, is_across: u32) -> vec2<u32> {
    if is_across == 1u {
        return vec2<u32>(i / ACROSS, i % ACROSS);
    }
    // Neighbouring lines of 8 vectors share banks, lines at a distance of 4 do not.
    let line = i / ALONG;
    if ALONG == 8u {
        return vec2<u32>((line & ~7u) | ((line & 1u) << 2u) | ((line >> 1u) & 3u), i % ALONG);
    }
    return vec2<u32>(line, i % ALONG);
}

fn slot(at: vec2<u32>, is_across: u32) -> u32 {
    if is_across == 1u {
        return at.x * PITCH_ACROSS + at.y;
    }
    return at.x * PITCH_ALONG + at.y;
}

// Load `i` of a tile whose first elements are at a row and k.
fn load_a(first: u32, row: u32, k: u32, i: u32) -> loaded {
    let at = place(i, A_ACROSS);
    if A_ACROSS == 1u {
        return fetch_a4(first, row + at.y * 4u, k + at.x);
    }
    return fetch_a4(first, row + at.x, k + at.y * 4u);
}

// The matrix of 16 rows and 16 of k, of f16 that begin there.
fn left(first: u32, row: u32, k: u32) -> coop_mat16x16<f16, A> {
    if A_ACROSS == 1u {
        let across = first + k * PITCH_ACROSS + row / 4u;
        return coopLoad<coop_mat16x16<f16, A>>(&tile_a[across], PITCH_ACROSS);
    }
    let along = first + row * PITCH_ALONG + k / 4u;
    return coopLoadT<coop_mat16x16<f16, A>>(&tile_a[along], PITCH_ALONG);
}

// The matrix of 16 of k and 16 columns.
fn right(first: u32, k: u32, col: u32) -> coop_mat16x16<f16, B> {
    if B_ACROSS == 1u {
        let across = first + k * PITCH_ACROSS + col / 4u;
        return coopLoadT<coop_mat16x16<f16, B>>(&tile_b[across], PITCH_ACROSS);
    }
    let along = first + col * PITCH_ALONG + k / 4u;
    return coopLoad<coop_mat16x16<f16, B>>(&tile_b[along], PITCH_ALONG);
}
