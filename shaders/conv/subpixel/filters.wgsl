// Computes: the filters of the convolution that takes the place of a transposed one: [group, filter, phase, channel, tap], and its bias behind them. Phase r of an axis has taps r, r + stride, .. in reverse order; where there is no such tap, 0.
// Bindings: params, b = w, out, bias.
// Grid: one invocation for four elements, folded.
// Requires: filter_tap, bias, store4.
// Accuracy: exact.

@group(0) @binding(3) var<storage, read_write> out: array<cell>;

// Where the bias begins.
fn from_bias() -> u32 {
    return (params.weights + 3u) / 4u * 4u;
}

fn element(i: u32) -> acc {
    if i >= from_bias() && i - from_bias() < params.biases {
        return bias((i - from_bias()) / params.phases);
    }
    if i >= params.weights {
        return acc();
    }
    let line = i / params.taps;
    let row = line / params.channels;
    let filter_index = row / params.phases;
    let phase = row % params.phases;
    let tap = i % params.taps;
    let area = params.window.y * params.window.z;
    let back = params.window.xyz - vec3<u32>(1u) - vec3<u32>(tap / area, tap % area / params.window.z, tap % params.window.z);
    let sides = params.stride.y * params.stride.z;
    let first = vec3<u32>(phase / sides, phase % sides / params.stride.z, phase % params.stride.z);
    let at = first + back * params.stride.xyz;
    if any(at >= params.kernel.xyz) {
        return acc();
    }
    return filter_tap(params.w_offset + filter_index / params.filters * params.w_group
        + filter_index % params.filters * params.w_filter + line % params.channels * params.w_channel
        + at.x * params.w_steps.x + at.y * params.w_steps.y + at.z * params.w_steps.z);
}

@compute @workgroup_size(WG)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let i = (folded(group, groups) * WG + lid) * 4u;
    if i < from_bias() + params.biases {
        let v = vec4<acc>(element(i), element(i + 1u), element(i + 2u), element(i + 3u));
        store4(i, vec4<out_elem>(v));
    }
}
