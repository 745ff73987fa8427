// exp(x) for x <= 0, within 2 ULP: Cody and Waite's reduction to |r| <= ln(2)/2, then a polynomial of degree 6.
// Results below the smallest normal number are 0. The builtin may be off by 3 + 2|x| ULP, which long rows add up.

fn exp_nonpositive(x: f32) -> f32 {
    let n = floor(x * 1.44269504 + 0.5);
    let r = (x - n * 0.693359375) + n * 2.12194440e-4;
    let p = 1.0 + r * (1.0 + r * (0.5 + r * (0.166666657 + r * (0.0416666456 + r * (0.00833345205 + r * 0.00138888940)))));
    return select(p * bitcast<f32>(u32(i32(n) + 127) << 23u), 0.0, x < -87.0); // sanitizer: allow(conversion): whatever a NaN becomes here, p is one too
}
