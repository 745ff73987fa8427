// all checks: functions and operators of every kind, f16 and matrices among them.
enable f16;
@group(0) @binding(1) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) i: u32) {
    let x = f32(i) - 32.0;
    var sum = sqrt(x); // FINDS non-finite
    sum += log(x); // FINDS non-finite
    sum += pow(x, 0.5); // FINDS non-finite
    sum += 1.0 / x; // FINDS non-finite
    sum += x / (x * 0.0 + out[i]); // FINDS non-finite
    sum += exp(x * 4.0); // FINDS non-finite
    sum += acos(x); // FINDS non-finite
    sum += inverseSqrt(x); // FINDS non-finite
    let huge = vec2(x, x) * 3e36;
    sum += dot(huge, huge); // FINDS non-finite
    sum += length(mat2x2(huge, huge) * huge); // FINDS non-finite
    sum += normalize(vec2(x, x)).x; // FINDS non-finite
    sum += fma(x * 1e20, 1e20, 1.0); // FINDS non-finite
    sum += f32(f16(x * 4000.0)); // FINDS non-finite
    sum += f32(f16(x) * 4000.0h); // FINDS non-finite
    sum += x % out[i]; // FINDS non-finite
    out[i] = sum;
}
