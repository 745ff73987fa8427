// Writing f16 in pairs: rounded to nearest even from f32, overflow to infinity, subnormals kept. By integer code, or by the
// adapter's own conversion where it has proved to be the same. Every NaN becomes the same one.

alias out_elem = f32;
alias out_words = vec2<u32>;

fn f16_bits_from_f32(x: f32) -> u32 {
    let bits = bitcast<u32>(x);
    let sign = (bits >> 16u) & 0x8000u;
    let magnitude = bits & 0x7fffffffu;
    if magnitude > 0x7f800000u {
        return 0x7e00u;
    }
    if magnitude >= 0x477ff000u {
        // 65,520 and more round to infinity.
        return sign | 0x7c00u;
    }
    if magnitude < 0x38800000u {
        // Below 2^-14: a multiple of 2^-24. Up to 2^-25 (a tie with zero) nothing is left.
        let exponent = magnitude >> 23u;
        if exponent < 102u {
            return sign;
        }
        let mantissa = (magnitude & 0x7fffffu) | 0x800000u;
        let shift = 126u - exponent;
        let kept = mantissa >> shift;
        let rest = mantissa & ((1u << shift) - 1u);
        let tie = 1u << (shift - 1u);
        return sign | (kept + u32(rest > tie || (rest == tie && (kept & 1u) == 1u)));
    }
    return sign | ((magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13u) & 1u)) >> 13u);
}

fn out_bits(x: out_elem) -> u32 {
    if NATIVE_HALVES {
        // Without a branch: chains of ops round each of their values.
        return select(pack2x16float(vec2<f32>(x, 0.0)) & 0xffffu, 0x7e00u, is_nan(x));
    }
    return f16_bits_from_f32(x);
}

fn pack_each(v: vec4<out_elem>) -> out_words {
    return vec2<u32>(out_bits(v.x) | (out_bits(v.y) << 16u), out_bits(v.z) | (out_bits(v.w) << 16u));
}

// Of elements none of which is NaN.
fn pack_numbers(v: vec4<out_elem>) -> out_words {
    if NATIVE_HALVES {
        return vec2<u32>(pack2x16float(v.xy), pack2x16float(v.zw));
    }
    return pack_each(v);
}

fn pack(v: vec4<out_elem>) -> out_words {
    if NATIVE_HALVES {
        let native = pack_numbers(v);
        if !has_nan_half(native) {
            return native;
        }
    }
    return pack_each(v);
}

// The first n (1 to 3) elements of `new_words`, the rest of `old_words`.
fn merge(old_words: out_words, new_words: out_words, n: u32) -> out_words {
    let mask = select(vec2<u32>(0xffffffffu, (1u << ((n & 1u) * 16u)) - 1u), vec2<u32>(0xffffu, 0u), n < 2u);
    return (old_words & ~mask) | (new_words & mask);
}
