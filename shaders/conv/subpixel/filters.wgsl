// Computes: the filters of the convolution that takes the place of a transposed one: [group, filter, phase, channel, tap], each filled up with zeros to a multiple of four, and its bias behind them. Phase r of an axis has taps r, r + stride, .. in reverse order; where there is no such tap, 0.
// Bindings: params, b = w, out, bias.
// Grid: one invocation for four neighbours of all phases of a filter, and for four elements of the bias, folded.
// Requires: filter_tap, bias, store4.
// Accuracy: exact.

@group(0) @binding(3) var<storage, read_write> out: array<cell>;

// Where an element of the first phase is: its tap, and how far it lies from the first of the filter.
struct Place {
    at: vec3<u32>,
    from_first: u32,
}

fn place(e: u32) -> Place {
    let channel = e / params.taps;
    if channel >= params.channels {
        return Place(params.kernel.xyz, 0u);
    }
    let tap = e % params.taps;
    let area = params.window.y * params.window.z;
    let back = params.window.xyz - vec3<u32>(1u) - vec3<u32>(tap / area, tap % area / params.window.z, tap % params.window.z);
    let at = back * params.stride.xyz;
    return Place(at, channel * params.w_channel + steps_to(at));
}

fn steps_to(at: vec3<u32>) -> u32 {
    return at.x * params.w_steps.x + at.y * params.w_steps.y + at.z * params.w_steps.z;
}

fn element(place: Place, filter_at: u32, phase: vec3<u32>) -> acc {
    if any(place.at + phase >= params.kernel.xyz) {
        return acc();
    }
    return filter_tap(filter_at + place.from_first + steps_to(phase));
}

// An element of the bias; every phase has it.
fn biased(i: u32) -> acc {
    if i >= params.biases {
        return acc();
    }
    return bias(i / params.phases);
}

@compute @workgroup_size(WG)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let id = folded(group, groups) * WG + lid;
    let of_row = params.row / 4u;
    if id < params.rows * of_row {
        let filter_index = id / of_row;
        let e = id % of_row * 4u;
        let filter_at = params.w_offset + filter_index / params.filters * params.w_group
            + filter_index % params.filters * params.w_filter;
        let place_0 = place(e);
        let place_1 = place(e + 1u);
        let place_2 = place(e + 2u);
        let place_3 = place(e + 3u);
        var phase = vec3<u32>();
        for (var i = 0u; i < params.phases; i++) {
            let v = vec4<acc>(
                element(place_0, filter_at, phase),
                element(place_1, filter_at, phase),
                element(place_2, filter_at, phase),
                element(place_3, filter_at, phase),
            );
            store4((filter_index * params.phases + i) * params.row + e, vec4<out_elem>(v));
            phase.z += 1u;
            if phase.z == params.stride.z {
                phase = vec3<u32>(phase.x, phase.y + 1u, 0u);
            }
            if phase.y == params.stride.y {
                phase = vec3<u32>(phase.x + 1u, 0u, 0u);
            }
        }
    } else {
        let i = (id - params.rows * of_row) * 4u;
        if i < params.biases {
            let v = vec4<acc>(biased(i), biased(i + 1u), biased(i + 2u), biased(i + 3u));
            store4(params.rows * params.phases * params.row + i, vec4<out_elem>(v));
        }
    }
}
