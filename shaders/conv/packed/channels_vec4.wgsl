// Part of what packs a convolution: channels of a pixel that lie side by side, in whole vectors. Requires pixel.

@group(0) @binding(1) var<storage, read> a: array<words>;

// Four neighbours; 0 in the padding.
fn four(from_pixel: Pixel, channel: u32) -> vec4<acc> {
    if !from_pixel.inside || channel >= params.channels {
        return vec4<acc>();
    }
    return unpack(a[(from_pixel.first + channel) / 4u]);
}
