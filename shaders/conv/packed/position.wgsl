// Shared by the kernels of packed convolutions: positions, counted over all images, and the packed pixels of their first taps.

fn position_at(position: u32) -> u32 {
    let rows = position / params.result.z;
    let planes = rows / params.result.y;
    return ((planes / params.result.x * params.grid.x + planes % params.result.x) * params.grid.y
        + rows % params.result.y) * params.grid.z + position % params.result.z;
}
