// Computes: the filters of the convolution that takes the place of a transposed one: [group, filter, phase, channel, tap], each filled up with zeros to a multiple of four, and its bias behind them. Phase r of an axis has taps r, r + stride, .. in reverse order.
// Bindings: params, b = w, out, bias.
// Grid: one invocation for four neighbours of all phases of a filter, and for four elements of the bias, folded.
// Requires: filter_tap, bias, store4.
// Accuracy: exact.

@group(0) @binding(3) var<storage, read_write> out: array<cell>;

// How far an element of the first phase lies from the first of the filter, and whether there is one.
struct Place {
    from_first: u32,
    there: bool,
}

fn place(e: u32) -> Place {
    let channel = e / params.taps;
    if channel >= params.channels {
        return Place(0u, false);
    }
    let tap = e % params.taps;
    let area = params.window.y * params.window.z;
    let back = params.window.xyz - vec3<u32>(1u) - vec3<u32>(tap / area, tap % area / params.window.z, tap % params.window.z);
    return Place(channel * params.w_channel + steps_to(back * params.stride.xyz), true);
}

fn steps_to(at: vec3<u32>) -> u32 {
    return at.x * params.w_steps.x + at.y * params.w_steps.y + at.z * params.w_steps.z;
}

fn element(place: Place, from_phase: u32) -> acc {
    if !place.there {
        return acc();
    }
    return filter_tap(from_phase + place.from_first);
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
            let from_phase = filter_at + steps_to(phase);
            let v = vec4<acc>(
                element(place_0, from_phase),
                element(place_1, from_phase),
                element(place_2, from_phase),
                element(place_3, from_phase),
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
