// Operand part: the packed operands of a convolution as matrices of f16, a line for each filter and for each position.
// Requires cooperative.wgsl, position_at, pixels_of.

@group(0) @binding(1) var<storage, read> a: array<vec4<f16>>;
@group(0) @binding(2) var<storage, read> b: array<vec4<f16>>;

struct Origin {
    a: u32,
    b: u32,
}

fn origin(batch: u32) -> Origin {
    return Origin(batch * params.m * params.k, batch * params.blocks * params.pixels * ALONG);
}

fn fetch_a4(first: u32, row: u32, k: u32) -> vec4<f16> {
    // What stands in for filters behind the last is never stored.
    return a[(first + min(row, params.m - 1u) * params.k + k) / 4u];
}

// Where the lines of an invocation's loads begin.
struct Lines {
    at: array<u32, LOADS>,
}

fn lines_b(first: u32, col: u32, lid: u32) -> Lines {
    var lines: Lines;
    for (var i = 0u; i < LOADS; i++) {
        let at = place(lid + i * WG, 0u);
        // The same for positions.
        let position = min(col + at.x, params.n - 1u);
        lines.at[i] = first + position_at(position) * ALONG + at.y;
    }
    return lines;
}

fn step_b(k: u32) -> u32 {
    return pixels_of(k / DEPTH) * ALONG;
}

fn load_b(lines: ptr<function, Lines>, step: u32, col: u32, i: u32, lid: u32) -> vec4<f16> {
    return b[(*lines).at[i] + step];
}
