// Shared by the kernels of packed convolutions whose columns are pixels: how matrices of sums are written. Requires
// writes, image_exponent, filter_exponent and emit.

var<workgroup> partial_sums: array<vec4<f32>, 256>;

// Where a subgroup's outputs are, and which invocation of it this is.
struct Strip {
    batch: u32,
    row: u32,
    col: u32,
    first: u32,
    lane: u32,
    live: bool,
}

// 2^e for e from -126 to 127.
fn power(e: i32) -> f32 {
    return bitcast<f32>(u32(e + 127) << 23u);
}

// A sum as it is without the scales of its image and its filter.
fn unscaled(image: u32, filter_index: u32, v: f32) -> f32 {
    let e = image_exponent(image) + filter_exponent(filter_index);
    // In two halves, so that only the result may be too large or too small.
    let half = e / 2;
    return v * power(half) * power(e - half);
}

// Writes the matrix at a row and column of the subgroup's outputs: an invocation has every second row of a column.
fn emit_strip(to: Strip, row: u32, col: u32) {
    let q = to.col + col + to.lane % 16u;
    let rows = q / params.grid.z;
    let planes = rows / params.grid.y;
    let image = planes / params.grid.x;
    let at = vec3<u32>(planes % params.grid.x, rows % params.grid.y, q % params.grid.z);
    if to.live && image < params.images && all(at < params.result.xyz) {
        let position = (at.x * params.result.y + at.y) * params.result.z + at.z;
        if writes(to.batch, image * params.plane + position) {
            let filters = params.batch * params.m;
            for (var i = 0u; i < 8u; i++) {
                let strip_row = to.lane / 16u + 2u * i;
                let filter_row = to.row + row + strip_row;
                if filter_row < params.m {
                    let v = partial_sums[to.first + strip_row * 4u + to.lane % 16u / 4u][to.lane % 4u];
                    let filter_index = to.batch * params.m + filter_row;
                    emit((image * filters + filter_index) * params.plane + position, filter_index, unscaled(image, filter_index, v));
                }
            }
        }
    }
}
