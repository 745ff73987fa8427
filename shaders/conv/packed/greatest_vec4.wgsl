// Part of what finds the largest magnitudes of images: the elements of an image fill a range of memory of whole vectors.

@group(0) @binding(1) var<storage, read> a: array<words>;

fn magnitude(vector: u32) -> u32 {
    let bits = bitcast<vec4<u32>>(unpack(a[vector])) & vec4<u32>(0x7fffffffu);
    let finite = select(vec4<u32>(), bits, bits < vec4<u32>(0x7f800000u));
    return max(max(finite.x, finite.y), max(finite.z, finite.w));
}

// The bits of the largest finite magnitude that an invocation sees of the elements of an image from `first` to before `end`.
fn greatest(n: u32, first: u32, end: u32, lid: u32) -> u32 {
    let from_vector = (params.x_offset + n * params.x_batch) / 4u;
    var top = 0u;
    for (var v = first / 4u + lid; v < end / 4u; v += 2048u) {
        // Vectors are looked at again where there are no more.
        let last = end / 4u - 1u;
        let top_0 = max(magnitude(from_vector + v), magnitude(from_vector + min(v + 256u, last)));
        let top_1 = max(magnitude(from_vector + min(v + 512u, last)), magnitude(from_vector + min(v + 768u, last)));
        let top_2 = max(magnitude(from_vector + min(v + 1024u, last)), magnitude(from_vector + min(v + 1280u, last)));
        let top_3 = max(magnitude(from_vector + min(v + 1536u, last)), magnitude(from_vector + min(v + 1792u, last)));
        top = max(top, max(max(top_0, top_1), max(top_2, top_3)));
    }
    return top;
}
