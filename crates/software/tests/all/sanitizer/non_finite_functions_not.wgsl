// all checks: the same where it is defined, and NaN that comes from NaN.
enable f16;
@group(0) @binding(1) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) i: u32) {
    let x = f32(i) + 1.0;
    var sum = sqrt(x) + log(x) + pow(x, 0.5) + 1.0 / x;
    sum += exp(x) + acos(x / 65.0) + inverseSqrt(x);
    let large = vec2(x, x) * 1e7;
    sum += dot(large, large) + length(mat2x2(large, large) * large);
    sum += normalize(vec2(x, x)).x + fma(x * 1e10, 1e20, 1.0);
    sum += f32(f16(x * 400.0)) + f32(f16(x) * 400.0h) + x % 3.0;
    let nan = bitcast<f32>(0x7fc00000u | i);
    sum += sqrt(nan) + nan * 2.0 + f32(f16(nan));
    out[i] = sum;
}
