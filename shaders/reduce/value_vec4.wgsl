// Value part: four neighbouring elements, the first at a multiple of four, from memory. A fused kernel has a generated part in
// its place, which computes them.

@group(0) @binding(1) var<storage, read> a: array<words>;

fn load_value4(i: u32) -> vec4<elem> {
    return unpack(a[i / 4u]);
}
