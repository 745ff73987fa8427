// Computes: out[0] = how many f16 the adapter's own conversions treat as our integer code does: to f32, and from the f32 with
//           their value, those halfway to the next f16, and the neighbours of both, which fixes where every f32 is rounded to.
//           A NaN must stay one, whatever its bits.
// Bindings: params, 1 out (zero before).
// Grid: 65,536 invocations, one for each f16, folded.
// Requires: f32_from_f16_bits, f16_bits_from_f32.
// Accuracy: that is the question.

struct Params {
    len: u32,
}

override WG: u32 = 256u;

@group(0) @binding(1) var<storage, read_write> out: array<atomic<u32>>;

fn same_f32(native: f32, half: u32) -> bool {
    if (half & 0x7fffu) > 0x7c00u {
        return is_nan(native);
    }
    return bitcast<u32>(native) == bitcast<u32>(f32_from_f16_bits(half));
}

fn same_half(native: u32, x: f32) -> bool {
    if is_nan(x) {
        return (native & 0x7fffu) > 0x7c00u;
    }
    return native == f16_bits_from_f32(x);
}

// Both halves of a word.
fn widens(half: u32) -> bool {
    let other = half ^ 0x1234u;
    let pair = unpack2x16float(half | (other << 16u));
    return same_f32(pair.x, half) && same_f32(pair.y, other);
}

fn narrows(bits: u32) -> bool {
    let x = bitcast<f32>(bits);
    let other = bitcast<f32>(bits ^ 0x80000000u);
    let pair = pack2x16float(vec2<f32>(x, other));
    return same_half(pair & 0xffffu, x) && same_half(pair >> 16u, other);
}

@compute @workgroup_size(WG)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let half = (group.x + (group.y + group.z * groups.y) * groups.x) * WG + lid;
    if half >= params.len {
        return;
    }
    let bits = bitcast<u32>(f32_from_f16_bits(half));
    var right = widens(half) && narrows(bits) && narrows(bits + 1u) && narrows(bits - 1u);
    if (half & 0x7fffu) < 0x7c00u {
        // The number halfway to the next f16: behind the greatest, where that would be.
        let step = select(0x1000u, 0u, (half & 0x7fffu) < 0x400u);
        var halfway = bits + step;
        if step == 0u {
            let middle = (f32(half & 0x7fffu) + 0.5) * 5.9604644775390625e-8;
            halfway = bitcast<u32>(middle) | ((half & 0x8000u) << 16u);
        }
        right = right && narrows(halfway) && narrows(halfway + 1u) && narrows(halfway - 1u);
    }
    // All other magnitudes: 65,536 f32 from the least to NaN.
    right = right && narrows(half * 0x8000u + 0x123u);
    if right {
        atomicAdd(&out[0], 1u);
    }
}
