// f16 and bf16 as bits in the lower half of a word, on every adapter, rounded to nearest even, subnormals and NaN kept:
// f16_to_f32(bits), f32_to_f16(x), bf16_to_f32(bits), f32_to_bf16(x).

fn f16_to_f32(bits: u32) -> f32 {
    let sign = (bits & 0x8000u) << 16u;
    let magnitude = bits & 0x7fffu;
    if magnitude >= 0x7c00u {
        return bitcast<f32>(sign | 0x7f800000u | ((magnitude & 0x3ffu) << 13u));
    }
    if magnitude < 0x400u {
        return bitcast<f32>(sign | bitcast<u32>(f32(magnitude) * 5.9604644775390625e-8));
    }
    return bitcast<f32>(sign | ((magnitude + 0x1c000u) << 13u));
}

fn f32_to_f16(x: f32) -> u32 {
    let bits = bitcast<u32>(x);
    let sign = (bits >> 16u) & 0x8000u;
    let magnitude = bits & 0x7fffffffu;
    if magnitude > 0x7f800000u {
        return sign | 0x7e00u | ((magnitude >> 13u) & 0x1ffu);
    }
    if magnitude >= 0x477ff000u {
        return sign | 0x7c00u;
    }
    if magnitude < 0x33000000u {
        return sign;
    }
    if magnitude < 0x38800000u {
        // Subnormal: the digits move right until the exponent is the least.
        let shift = 126u - (magnitude >> 23u);
        let digits = (magnitude & 0x7fffffu) | 0x800000u;
        let kept = digits >> shift;
        let rest = digits & ((1u << shift) - 1u);
        let half = 1u << (shift - 1u);
        let up = rest > half || (rest == half && (kept & 1u) == 1u);
        return sign | (kept + u32(up));
    }
    let rounded = magnitude + 0xfffu + ((magnitude >> 13u) & 1u);
    return sign | ((rounded >> 13u) - 0x1c000u);
}

fn bf16_to_f32(bits: u32) -> f32 {
    return bitcast<f32>(bits << 16u);
}

fn f32_to_bf16(x: f32) -> u32 {
    let bits = bitcast<u32>(x);
    if (bits & 0x7fffffffu) > 0x7f800000u {
        return (bits >> 16u) | 0x40u;
    }
    return (bits + 0x7fffu + ((bits >> 16u) & 1u)) >> 16u;
}
