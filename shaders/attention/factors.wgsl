// Factors part: keys and values are integers, those of a position times a factor of its own. What an infinite factor makes is NaN:
// some of its products would be infinite and some NaN, and a sum over integers cannot tell which.

// Of a key, then of its value.
@group(0) @binding(7) var<storage, read> in_5: array<f32>;

const FACTORED: bool = true;

// Where the factor of the first key of the workgroup's head is.
var<private> factors_from: u32;

fn begin_factors(share: Share) {
    factors_from = params.factors_offset + share.batch * params.factors_strides.x + share.kv_head * params.factors_strides.y;
}

fn finite_or_nan(factor: f32) -> f32 {
    return select(factor, nan_f32(), (bitcast<u32>(factor) & 0x7fffffffu) >= 0x7f800000u);
}

// The factor of a key of this head; of none from `end` on.
fn key_factor(key: u32, end: u32) -> f32 {
    var factor = 0.0;
    if key < end {
        factor = finite_or_nan(in_5[factors_from + key * params.factors_strides.z]);
    }
    return factor;
}

// The same of a value.
fn value_factor(key: u32, end: u32) -> f32 {
    var factor = 0.0;
    if key < end {
        factor = finite_or_nan(in_5[factors_from + key * params.factors_strides.z + params.factors_strides.w]);
    }
    return factor;
}

// Weights of values as they are for their integers: what has no weight has none by any factor.
fn factored(weights: vec4<f32>, factors: vec4<f32>) -> vec4<f32> {
    return select(weights * factors, vec4<f32>(), bitcast<vec4<u32>>(weights) == vec4<u32>(0u));
}
