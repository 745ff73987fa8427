// Part of the kernel of tiles of f32 on matrix units: what f16 leaves of each element, and which lines two f16 do not do for.
// Requires Scale, partial_sums, misfits.

// What is left behind the higher f16 of four elements, 2^11 times as large.
fn lower(v: vec4<f32>, higher: vec4<f16>, scale: Scale) -> vec4<f16> {
    return vec4<f16>((v * scale.factor - vec4<f32>(higher)) * 2048.0);
}

// Of the four lines that an invocation loads parts of: the sums of these parts' magnitudes, and the largest.
struct Weights {
    sums: vec4<f32>,
    tops: vec4<f32>,
}

// With load `i`: a part of one line, or an element of each.
fn weighed(w: Weights, i: u32, v: vec4<f32>, is_across: u32) -> Weights {
    let m = abs(v);
    var sums = m;
    var tops = m;
    if is_across == 0u {
        let of_line = vec4<u32>(0u, 1u, 2u, 3u) == vec4<u32>(i);
        sums = select(vec4<f32>(), vec4<f32>((m.x + m.y) + (m.z + m.w)), of_line);
        tops = select(vec4<f32>(), vec4<f32>(max(max(m.x, m.y), max(m.z, m.w))), of_line);
    }
    return Weights(w.sums + sums, max(w.tops, tops));
}

// Flags the tile if a line has too few large elements for sums to make up for the bit that two f16 lack; between barriers.
fn weigh(w: Weights, lid: u32, is_across: u32) {
    partial_sums[lid] = w.sums;
    partial_sums[WG + lid] = w.tops;
    workgroupBarrier();
    var sums = vec4<f32>();
    var tops = vec4<f32>();
    // Eight invocations load the same lines.
    for (var i = 0u; i < 8u; i++) {
        let other = select(lid / 8u * 8u + i, lid % 16u + i * 16u, is_across == 1u);
        sums += partial_sums[other];
        tops = max(tops, partial_sums[WG + other]);
    }
    if any(sums < 8.0 * tops) {
        misfits |= UNFIT;
    }
    workgroupBarrier();
}
