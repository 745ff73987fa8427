// Computes: out[i] = the bits of plain WGSL operations on numbers that no compiler knows.
// Bindings: params, 1 a (NaN, NaN, 1, a subnormal, 3e38, 0, 2.5, 100, -2, 2, 1 + 2^-12, -1 - 2^-11, 7, 0, the lowest i32, -1),
// 2 out.
// Grid: one invocation.
// Requires: nothing; what is asked is what the language does by itself, so no helper takes part.
// Accuracy: whatever the adapter does: that is the question.

struct Params {
    len: u32,
}

override WG: u32 = 256u;

@group(0) @binding(1) var<storage, read> a: array<u32>;
@group(0) @binding(2) var<storage, read_write> out: array<u32>;

fn float(i: u32) -> f32 {
    return bitcast<f32>(a[i]);
}

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x > 0u || params.len < 16u {
        return;
    }
    let nan = float(0u);
    let one = float(2u);
    out[0] = u32(nan != float(1u)) | (u32(nan < one) << 1u) | (u32(nan >= one) << 2u);
    out[1] = bitcast<u32>(max(nan, one));
    out[2] = bitcast<u32>(min(one, nan));
    out[3] = bitcast<u32>(float(3u) * one);
    out[4] = bitcast<u32>(float(3u) + float(3u));
    out[5] = bitcast<u32>(float(4u) * float(4u));
    out[6] = bitcast<u32>(one / float(5u));
    out[7] = bitcast<u32>(round(float(6u)));
    out[8] = bitcast<u32>(tanh(float(7u)));
    out[9] = bitcast<u32>(pow(float(8u), float(9u)));
    out[10] = bitcast<u32>(float(10u) * float(10u) + float(11u));
    let seven = bitcast<i32>(a[12]);
    let zero = bitcast<i32>(a[13]);
    let lowest = bitcast<i32>(a[14]);
    let minus_one = bitcast<i32>(a[15]);
    // The question is what the adapter makes of these three.
    out[11] = bitcast<u32>(seven / zero); // sanitizer: allow(division-by-zero): see above
    out[12] = bitcast<u32>(seven % zero); // sanitizer: allow(division-by-zero): see above
    out[13] = bitcast<u32>(lowest / minus_one); // sanitizer: allow(division-overflow): see above
}
