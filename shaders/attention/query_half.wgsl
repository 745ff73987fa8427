// Query part of few.wgsl and lanes.wgsl: 16-bit floats that lie so that eight neighbouring elements are one load.

@group(0) @binding(1) var<storage, read> a: array<vec4<u32>>;

fn query_oct(at: u32) -> Oct {
    let w = a[at / 8u];
    return Oct(unpack(w.xy), unpack(w.zw));
}
