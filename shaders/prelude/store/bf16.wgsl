// Writing bf16 in pairs: rounded to nearest even from f32, NaN kept.

alias out_elem = f32;
alias out_words = vec2<u32>;

fn out_bits(x: out_elem) -> u32 {
    let bits = bitcast<u32>(x);
    // Without a branch: chains of ops round each of their values.
    let nearest = (bits + 0x7fffu + ((bits >> 16u) & 1u)) >> 16u;
    return select(nearest, (bits >> 16u) | 0x40u, (bits & 0x7fffffffu) > 0x7f800000u);
}

// Of elements none of which is NaN.
fn pack_numbers(v: vec4<out_elem>) -> out_words {
    let bits = bitcast<vec4<u32>>(v);
    let r = bits + ((bits >> vec4<u32>(16u)) & vec4<u32>(1u)) + vec4<u32>(0x7fffu);
    return vec2<u32>((r.x >> 16u) | (r.y & 0xffff0000u), (r.z >> 16u) | (r.w & 0xffff0000u));
}

fn pack(v: vec4<out_elem>) -> out_words {
    if all((bitcast<vec4<u32>>(v) & vec4<u32>(0x7fffffffu)) <= vec4<u32>(0x7f800000u)) {
        // As usual.
        return pack_numbers(v);
    }
    return vec2<u32>(out_bits(v.x) | (out_bits(v.y) << 16u), out_bits(v.z) | (out_bits(v.w) << 16u));
}

// The first n (1 to 3) elements of `new_words`, the rest of `old_words`.
fn merge(old_words: out_words, new_words: out_words, n: u32) -> out_words {
    let mask = select(vec2<u32>(0xffffffffu, (1u << ((n & 1u) * 16u)) - 1u), vec2<u32>(0xffffu, 0u), n < 2u);
    return (old_words & ~mask) | (new_words & mask);
}
