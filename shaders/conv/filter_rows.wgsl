// Operand part: the filters of a group as a matrix, a row per filter, (channel, tap) along k.
// Requires: Operands with `w`, the first element of the row.

// 1: channel and taps of a filter lie side by side. 2: there is one tap.
override DENSE_ROWS: u32 = 0u;

// Filters of a group.
fn filters() -> u32 {
    return params.filters;
}

fn fetch_a(at: Operands, k: u32) -> acc {
    if k >= params.k {
        return acc();
    }
    if DENSE_ROWS == 1u {
        return filter_tap(at.w + k);
    }
    if DENSE_ROWS == 2u {
        return filter_tap(at.w + k * params.w_channel);
    }
    let area = params.kernel.y * params.kernel.z;
    let taps = params.kernel.x * area;
    let tap = k % taps;
    return filter_tap(at.w
        + (k / taps) * params.w_channel
        + (tap / area) * params.w_steps.x
        + ((tap % area) / params.kernel.z) * params.w_steps.y
        + (tap % params.kernel.z) * params.w_steps.z);
}

fn fetch_a4(at: Operands, row: u32, k: u32) -> vec4<acc> {
    if row >= params.filters {
        return vec4<acc>();
    }
    return vec4<acc>(fetch_a(at, k), fetch_a(at, k + 1u), fetch_a(at, k + 2u), fetch_a(at, k + 3u));
}
