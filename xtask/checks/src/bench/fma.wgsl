// Computes: chains of multiply-adds that depend on nothing but themselves, to measure how many the adapter does in a second.
// Bindings: 0 out, one f32 per invocation.
// Grid: any; 256 invocations a workgroup.

@group(0) @binding(0) var<storage, read_write> out: array<f32>;

override rounds: u32 = 256u;

@compute @workgroup_size(256)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let seed = f32(id.x & 1023u) * 1e-6;
    var a = vec4<f32>(seed, seed + 0.1, seed + 0.2, seed + 0.3);
    var b = a + 0.5;
    var c = a + 0.25;
    var d = a + 0.125;
    let by = vec4<f32>(0.999 - seed);
    let plus = vec4<f32>(0.0001);
    for (var i = 0u; i < rounds; i++) {
        // 16 chains, four steps each: 64 multiply-adds a round.
        a = fma(a, by, plus);
        b = fma(b, by, plus);
        c = fma(c, by, plus);
        d = fma(d, by, plus);
        a = fma(a, by, plus);
        b = fma(b, by, plus);
        c = fma(c, by, plus);
        d = fma(d, by, plus);
        a = fma(a, by, plus);
        b = fma(b, by, plus);
        c = fma(c, by, plus);
        d = fma(d, by, plus);
        a = fma(a, by, plus);
        b = fma(b, by, plus);
        c = fma(c, by, plus);
        d = fma(d, by, plus);
    }
    let sum = a + b + c + d;
    if (id.x < arrayLength(&out)) {
        out[id.x] = sum.x + sum.y + sum.z + sum.w;
    }
}
