// A window of a plane, all of it within the input: its size and the steps between windows are constants of the kernel.
// Requires: start, combine, finish (window part).

@group(0) @binding(1) var<storage, read> a: array<word>;

override TAPS_HEIGHT: u32 = 2u;
override TAPS_WIDTH: u32 = 2u;
override STEP_HEIGHT: u32 = 2u;
override STEP_WIDTH: u32 = 2u;

// The plane of an image, from its number.
fn plane_at(image: u32) -> u32 {
    return params.offset + (image / params.channels) * params.x_batch + (image % params.channels) * params.x_channel;
}

fn window(plane: u32, line: u32, column: u32) -> out_elem {
    let first = plane + line * STEP_HEIGHT * params.steps.y + column * STEP_WIDTH * params.steps.z;
    var v = start();
    for (var kh = 0u; kh < TAPS_HEIGHT; kh++) {
        for (var kw = 0u; kw < TAPS_WIDTH; kw++) {
            let i = first + kh * params.steps.y + kw * params.steps.z;
            let place = (line * STEP_HEIGHT + kh) * params.extent.z + column * STEP_WIDTH + kw;
            v = combine(v, from_word(a[word_index(i)], i), place);
        }
    }
    return finish(v, TAPS_HEIGHT * TAPS_WIDTH);
}
