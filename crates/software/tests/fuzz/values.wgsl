// Built-in functions on every type.
enable f16;
@group(0) @binding(0) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> y: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> h: array<vec2<f16>>;
@group(0) @binding(3) var<uniform> scale: mat3x3<f32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = id.x;
    let v = x[i % arrayLength(&x)];
    let parts = modf(v.x + 0.25);
    let split = frexp(v.y + 1.5);
    let u = bitcast<vec4<u32>>(v);
    let packed = pack4x8unorm(saturate(v)) ^ pack2x16float(v.xy) ^ pack4xU8(u);
    let bits = countOneBits(packed) + firstLeadingBit(u.x) + extractBits(u.y, 3u, 7u) + reverseBits(insertBits(u.z, 5u, 2u, 4u));
    let spun = scale * normalize(v.xyz + vec3<f32>(1.0)) + cross(v.xyz, vec3<f32>(0.0, 1.0, 0.0));
    let m = transpose(mat2x3<f32>(v.xyz, spun)) * spun;
    let wide = i64(dot(vec4<i32>(v), vec4<i32>(3))) * 5li + i64(dot4I8Packed(packed, u.w));
    let curve = sin(v) + exp2(-abs(v)) * pow(abs(v) + 0.5, vec4<f32>(1.5)) - atan2(v, v.wzyx + 2.0) + smoothstep(vec4<f32>(0.0), vec4<f32>(9.0), v);
    h[i % arrayLength(&h)] += vec2<f16>(fma(f16(v.x), 2.0h, 0.5h), quantize(v.y));
    y[i % arrayLength(&y)] = mix(curve, vec4<f32>(m, f32(wide), f32(bits)), parts.fract) + ldexp(split.fract, split.exp) + determinant(scale);
}

fn quantize(value: f32) -> f16 {
    return f16(quantizeToF16(value));
}
