// Part of the kernels on matrix units of packed products: which tiles they compute, and what pack.wgsl left about lines. The others are
// flagged, as are those with sums that are too small for what f16 has no room for. Requires Params, SIDE, stray.wgsl, doubt.wgsl.

// Blocks of 16 lines, 17 words each: exponents of 2; and in the uppermost bit of the last whether a line is flagged, below how many
// elements a line has at most that f16 has no room for. Those of a come first.
@group(0) @binding(4) var<storage, read> c: array<i32>;
@group(0) @binding(5) var<storage, read_write> out_1: array<u32>;

const FLAGGED: u32 = 0x80000000u;

fn blocks_of(lines: u32) -> u32 {
    return (lines + 15u) / 16u;
}

// The largest of the last words of a tile's blocks along one of its sides, of those from `first` to `first + last`.
fn worst(first: u32, block: u32, last: u32) -> u32 {
    var word = 0u;
    for (var i = 0u; i < SIDE / 16u; i++) {
        word = max(word, bitcast<u32>(c[(first + min(block + i, last)) * 17u + 16u]));
    }
    return word;
}

// Of rows and of columns.
fn worst_lines(at: vec3<u32>) -> vec2<u32> {
    let entry = min(at.z, params.batch - 1u);
    let rows = blocks_of(params.m);
    let cols = blocks_of(params.n);
    return vec2<u32>(
        worst(entry * rows, at.x * (SIDE / 16u), rows - 1u),
        worst(params.batch * rows + entry * cols, at.y * (SIDE / 16u), cols - 1u),
    );
}

fn computes(at: vec3<u32>) -> bool {
    return all(worst_lines(at) < vec2<u32>(FLAGGED));
}

// The magnitude below which sums may be off, 0 for none.
fn doubtful(at: vec3<u32>, lid: u32) -> f32 {
    let lines = worst_lines(at);
    return select(0.0, STRAY * (f32(lines.x) + f32(lines.y)), all(lines < vec2<u32>(FLAGGED)));
}

// Whether the sums of a tile are to be written; leaves its flag.
fn written(at: vec3<u32>, live: bool, lid: u32) -> bool {
    return kept(at, !live, lid);
}

// The exponents of what a row and a column of the result are multiplied by; those of lines behind the last are not used.
fn row_exponent(batch: u32, row: u32) -> i32 {
    let line = min(row, params.m - 1u);
    return c[(batch * blocks_of(params.m) + line / 16u) * 17u + line % 16u];
}

fn col_exponent(batch: u32, col: u32) -> i32 {
    let line = min(col, params.n - 1u);
    return c[(params.batch * blocks_of(params.m) + batch * blocks_of(params.n) + line / 16u) * 17u + line % 16u];
}
