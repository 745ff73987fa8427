// Part of the kernels on matrix units whose operands were scaled line by line: sums as they are without that.

// 2^e for e from -126 to 127.
fn power(e: vec4<i32>) -> vec4<f32> {
    return bitcast<vec4<f32>>(vec4<u32>(e + vec4<i32>(127)) << vec4<u32>(23u));
}

fn times_power(v: vec4<f32>, e: vec4<i32>) -> vec4<f32> {
    // In two halves, so that only the result may be too large or too small.
    let half = e / 2;
    return v * power(half) * power(e - half);
}
