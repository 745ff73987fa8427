// Reading f16 from pairs in 32-bit words, computed in f32. The conversion is exact on every adapter: integer code, or the
// adapter's own where it has proved to be the same. A NaN stays one; of which bits is the adapter's affair.

alias elem = f32;
alias word = u32;
alias words = vec2<u32>;

fn f32_from_f16_bits(h: u32) -> f32 {
    let sign = (h & 0x8000u) << 16u;
    let magnitude = h & 0x7fffu;
    if magnitude > 0x7c00u {
        return nan_f32();
    }
    if magnitude == 0x7c00u {
        return bitcast<f32>(sign | 0x7f800000u);
    }
    if magnitude < 0x400u {
        // Subnormal: magnitude * 2^-24, exact and normal in f32.
        return bitcast<f32>(sign | bitcast<u32>(f32(magnitude) * 5.9604644775390625e-8));
    }
    return bitcast<f32>(sign | ((magnitude << 13u) + 0x38000000u));
}

fn unpack(w: words) -> vec4<elem> {
    if NATIVE_HALVES {
        return vec4<elem>(unpack2x16float(w.x), unpack2x16float(w.y));
    }
    return vec4<elem>(
        f32_from_f16_bits(w.x & 0xffffu),
        f32_from_f16_bits(w.x >> 16u),
        f32_from_f16_bits(w.y & 0xffffu),
        f32_from_f16_bits(w.y >> 16u),
    );
}

fn has_nan(w: words) -> bool {
    return has_nan_half(w);
}

fn word_index(i: u32) -> u32 {
    return i >> 1u;
}

fn from_word(w: word, i: u32) -> elem {
    if NATIVE_HALVES {
        return unpack2x16float(w >> ((i & 1u) * 16u)).x;
    }
    return f32_from_f16_bits((w >> ((i & 1u) * 16u)) & 0xffffu);
}

fn elem_is_nan(x: elem) -> bool {
    return is_nan(x);
}
