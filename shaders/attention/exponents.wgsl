// Whether f16, or two of them for each element, holds the queries, keys and values of a head, each divided by a power of two: from what ranges.wgsl found.

@group(0) @binding(7) var<storage, read> in_5: array<vec4<u32>>;

const QUERIES: u32 = 0u;
const KEYS_OF_HEAD: u32 = 1u;
const VALUES_OF_HEAD: u32 = 2u;
// As many ranges, four in a vector, has an operand of a head.
const RANGES: u32 = 16u;
// What exponents may differ by. Of magnitudes below 2^15 the 8 bits of a bf16 are exact in f16 down to 2^-17; of f32 two f16 have
// 23 bits down to 2^-13.
override SPREAD: u32 = 31u;
// Furthest exponent, so that products of three operands stay within f32.
const FURTHEST: i32 = 60;
const UNFIT: i32 = 1000;

// The power of two, as an exponent, that magnitudes below 2^15 are left by; UNFIT if f16 does not hold all elements.
fn exponent_of(share: Share, operand: u32) -> i32 {
    let first = ((share.batch * params.kv_heads + share.kv_head) * 3u + operand) * (RANGES / 4u);
    var highs = vec4<u32>();
    var lows = vec4<u32>(0xffffu);
    for (var i = 0u; i < RANGES / 4u; i++) {
        let ranges = in_5[first + i];
        highs = max(highs, ranges & vec4<u32>(0xffffu));
        lows = min(lows, ranges >> vec4<u32>(16u));
    }
    let high = max(max(highs.x, highs.y), max(highs.z, highs.w));
    let low = min(min(lows.x, lows.y), min(lows.z, lows.w));
    if low == 0xffffu {
        return 0;
    }
    let exponent = i32(high) - 141;
    return select(UNFIT, exponent, low + SPREAD >= high && abs(exponent) <= FURTHEST);
}

fn power_of(exponent: i32) -> f32 {
    return bitcast<f32>(u32(exponent + 127) << 23u);
}

fn is_flagged(share: Share) -> bool {
    return exponent_of(share, QUERIES) == UNFIT || exponent_of(share, KEYS_OF_HEAD) == UNFIT
        || exponent_of(share, VALUES_OF_HEAD) == UNFIT;
}
