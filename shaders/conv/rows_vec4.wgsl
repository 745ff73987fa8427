// Input part: x contiguous along the width, which is a multiple of four as all starts of rows are.

@group(0) @binding(1) var<storage, read> a: array<words>;

// Elements of the row at `first` from the last multiple of four up to `x` on, 0 outside.
fn window(row: ptr<function, array<vec4<acc>, 4>>, first: u32, x: u32) {
    for (var i = 0u; i < (SHIFT + 3u * STRIDE_X + KERNEL_X + 3u) / 4u; i++) {
        let at = x - SHIFT + i * 4u;
        (*row)[i] = vec4<acc>();
        if at < params.extent.z {
            (*row)[i] = unpack(a[(first + at) / 4u]);
        }
    }
}
