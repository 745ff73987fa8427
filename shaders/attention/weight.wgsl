// Weights exp(s - top) of scores: 0 for -inf, NaN for NaN and for inf. `top` is -inf or a number; scores of NaN are not counted in it.
// exp within 2 ULP as in softmax/exp.wgsl, without branches; results below the smallest normal number are 0.

const HIDDEN: u32 = 0xff800000u;

fn weights_of(s: vec4<f32>, top: vec4<f32>) -> vec4<f32> {
    let none = bitcast<vec4<u32>>(top) == vec4<u32>(HIDDEN);
    let x = s - select(top, vec4<f32>(), none);
    let low = max(x, vec4<f32>(-87.0));
    let n = floor(low * 1.44269504 + 0.5);
    let r = (low - n * 0.693359375) + n * 2.12194440e-4;
    let p = 1.0 + r * (1.0 + r * (0.5 + r * (0.166666657 + r * (0.0416666456 + r * (0.00833345205 + r * 0.00138888940)))));
    let power = p * bitcast<vec4<f32>>(vec4<u32>(vec4<i32>(n) + 127) << vec4<u32>(23u)); // sanitizer: allow(conversion): a score that is NaN has another weight below
    let bits = bitcast<vec4<u32>>(s);
    let gone = (bits == vec4<u32>(HIDDEN)) | (x < vec4<f32>(-87.0));
    // NaN of either sign, and inf.
    let wrong = ((bits & vec4<u32>(0x7fffffffu)) >= vec4<u32>(0x7f800000u)) & (bits != vec4<u32>(HIDDEN));
    return select(select(power, vec4<f32>(), gone), vec4<f32>(nan_f32()), wrong);
}

// Scores as they count for the greatest one: one that is not a number makes its row so by its weight, and any maximum does for
// that.
fn counted(s: vec4<f32>) -> vec4<f32> {
    let odd = (bitcast<vec4<u32>>(s) & vec4<u32>(0x7fffffffu)) > vec4<u32>(0x7f800000u);
    return select(s, vec4<f32>(-inf_f32()), odd);
}

fn greatest_of(s: vec4<f32>) -> f32 {
    let t = counted(s);
    return max(max(t.x, t.y), max(t.z, t.w));
}
