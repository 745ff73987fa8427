// Part of what packs a convolution: channels of a pixel, wherever they lie. Requires pixel, unfolded, behind, image.

// A channel; 0 in the padding.
fn element(from_pixel: Pixel, channel: u32) -> acc {
    if !from_pixel.inside || channel >= params.channels {
        return acc();
    }
    return image(from_pixel.first + channel * params.x_channel);
}

// The same of (tap along the width, channel).
fn unfolded_element(from_pixel: Pixel, at: vec2<u32>) -> acc {
    let x = from_pixel.at.z + at.x * params.dilation.z;
    if !from_pixel.inside || at.x >= params.kernel.z || x >= params.extent.z {
        return acc();
    }
    return image(from_pixel.first + at.y * params.x_channel + x * params.x_steps.z);
}

// Four neighbours.
fn four(from_pixel: Pixel, channel: u32) -> vec4<acc> {
    if FOLD == 1u {
        let at_0 = unfolded(channel);
        let at_1 = behind(at_0);
        let at_2 = behind(at_1);
        let at_3 = behind(at_2);
        return vec4<acc>(
            unfolded_element(from_pixel, at_0),
            unfolded_element(from_pixel, at_1),
            unfolded_element(from_pixel, at_2),
            unfolded_element(from_pixel, at_3),
        );
    }
    return vec4<acc>(
        element(from_pixel, channel),
        element(from_pixel, channel + 1u),
        element(from_pixel, channel + 2u),
        element(from_pixel, channel + 3u),
    );
}
