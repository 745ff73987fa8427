// Part of the kernels on matrix units: operands are packed, and tiles with a flagged line are left out.

fn computes(at: vec3<u32>) -> bool {
    return !is_flagged(at.z, at.x * SIDE, at.y * SIDE);
}

// 2^e for e from -126 to 127.
fn power(e: vec4<i32>) -> vec4<f32> {
    return bitcast<vec4<f32>>(vec4<u32>(e + vec4<i32>(127)) << vec4<u32>(23u));
}

// Sums of four columns as they are without the scales of their lines.
fn restored(batch: u32, row: u32, col: u32, v: vec4<acc>) -> vec4<acc> {
    if row >= params.m || col >= params.n {
        return v;
    }
    let line = (batch * blocks_of(params.m) + row / 16u) * 17u + row % 16u;
    // Four columns are of one block.
    let block = params.batch * blocks_of(params.m) + batch * blocks_of(params.n) + col / 16u;
    let first = block * 17u + col % 16u;
    let e = vec4<i32>(c[first], c[first + 1u], c[first + 2u], c[first + 3u]) + vec4<i32>(c[line]);
    // In two halves, so that only the result may be too large or too small.
    let half = e / 2;
    return v * power(half) * power(e - half);
}
