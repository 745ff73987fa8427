// Input part: x with any strides, element by element. Requires image.

fn part_of_row(first: u32, x: u32) -> acc {
    if x >= params.extent.z {
        return acc();
    }
    return image(first + x * params.x_steps.z);
}

// Elements of the row at `first` from `x - SHIFT` on, 0 outside.
fn window(row: ptr<function, array<vec4<acc>, 4>>, first: u32, x: u32) {
    for (var i = 0u; i < (SHIFT + 3u * STRIDE_X + KERNEL_X + 3u) / 4u; i++) {
        let at = x - SHIFT + i * 4u;
        (*row)[i] = vec4<acc>(
            part_of_row(first, at),
            part_of_row(first, at + 1u),
            part_of_row(first, at + 2u),
            part_of_row(first, at + 3u),
        );
    }
}
