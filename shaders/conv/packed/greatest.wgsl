// Part of what finds the largest magnitudes of images: element by element. Requires image.

// 1: the elements of an image fill a range of memory, whatever their order.
override FLAT: u32 = 0u;

fn magnitude(n: u32, e: u32) -> u32 {
    var i = params.x_offset + n * params.x_batch;
    if FLAT == 1u {
        i += e;
    } else {
        let rows = e / params.extent.z;
        let planes = rows / params.extent.y;
        i += planes / params.extent.x * params.x_channel + planes % params.extent.x * params.x_steps.x
            + rows % params.extent.y * params.x_steps.y + e % params.extent.z * params.x_steps.z;
    }
    let bits = bitcast<u32>(image(i)) & 0x7fffffffu;
    return select(0u, bits, bits < 0x7f800000u);
}

// The bits of the largest finite magnitude that an invocation sees of the elements of an image from `first` to before `end`.
fn greatest(n: u32, first: u32, end: u32, lid: u32) -> u32 {
    var top = 0u;
    for (var e = first + lid; e < end; e += 1024u) {
        // Elements are looked at again where there are no more.
        let last = end - 1u;
        let lower = max(magnitude(n, e), magnitude(n, min(e + 256u, last)));
        let upper = max(magnitude(n, min(e + 512u, last)), magnitude(n, min(e + 768u, last)));
        top = max(top, max(lower, upper));
    }
    return top;
}
