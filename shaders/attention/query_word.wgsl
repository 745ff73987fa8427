// Query part of few.wgsl and lanes.wgsl: f32 that lie so that eight neighbouring elements are two loads.

@group(0) @binding(1) var<storage, read> a: array<words>;

fn query_oct(at: u32) -> Oct {
    return Oct(unpack(a[at / 4u]), unpack(a[at / 4u + 1u]));
}
