// Operand part: convolution as one matrix product per group for the tiled body: rows are filters, k runs over
// (channel, tap), columns over (batch, position). The image matrix is never stored: its elements are gathered from x,
// 0 in the padding.
// Requires: image, first and source (walk part), emit (output part); filter_rows.wgsl comes behind it.

// Per column its image and where its first tap reads.
struct Operands {
    w: u32,
    image: vec4<u32>,
    z: vec4<u32>,
    y: vec4<u32>,
    x: vec4<u32>,
}

// Outside of every extent for every tap, forward and transposed.
const NO_COLUMN: u32 = 0xc0000000u;

fn batches() -> u32 {
    return params.groups;
}

fn operands(batch: u32, row: u32, col: u32) -> Operands {
    let cols = vec4<u32>(col) + vec4<u32>(0u, 1u, 2u, 3u);
    let n = cols / params.plane;
    let position = cols % params.plane;
    let area = params.result.y * params.result.z;
    let y = first((position % area) / params.result.z, vec4<u32>(params.stride.y), vec4<u32>(params.pad.y));
    return Operands(
        params.w_offset + batch * params.w_group + row * params.w_filter,
        params.x_offset + batch * params.x_group + n * params.x_batch,
        first(position / area, vec4<u32>(params.stride.x), vec4<u32>(params.pad.x)),
        select(y, vec4<u32>(NO_COLUMN), n >= vec4<u32>(params.batch)),
        first(position % params.result.z, vec4<u32>(params.stride.z), vec4<u32>(params.pad.z)),
    );
}

// The element that `tap` of a column reads; `channel_at` is the column's image at the channel.
fn fetch_b(channel_at: u32, start: vec3<u32>, tap: vec3<u32>) -> acc {
    let y = source(start.y, tap.y, params.stride.y);
    let x = source(start.z, tap.z, params.stride.z);
    var i = channel_at + y * params.x_steps.y + x * params.x_steps.z;
    if VOLUME == 1u {
        let z = source(start.x, tap.x, params.stride.x);
        if z >= params.extent.x {
            return acc();
        }
        i += z * params.x_steps.x;
    }
    if y >= params.extent.y || x >= params.extent.z {
        return acc();
    }
    return image(i);
}

fn fetch_b4(at: Operands, k: u32, col: u32) -> vec4<acc> {
    if k >= params.k {
        return vec4<acc>();
    }
    let area = params.kernel.y * params.kernel.z;
    let taps = params.kernel.x * area;
    let number = k % taps;
    let tap = vec3<u32>(number / area, (number % area) / params.kernel.z, number % params.kernel.z) * params.dilation.xyz;
    let channel_at = at.image + vec4<u32>((k / taps) * params.x_channel);
    return vec4<acc>(
        fetch_b(channel_at.x, vec3<u32>(at.z.x, at.y.x, at.x.x), tap),
        fetch_b(channel_at.y, vec3<u32>(at.z.y, at.y.y, at.x.y), tap),
        fetch_b(channel_at.z, vec3<u32>(at.z.z, at.y.z, at.x.z), tap),
        fetch_b(channel_at.w, vec3<u32>(at.z.w, at.y.w, at.x.w), tap),
    );
}

fn emit4(batch: u32, row: u32, col: u32, v: vec4<acc>) {
    if row < params.filters {
        let filter_index = batch * params.filters + row;
        for (var i = 0u; i < 4u; i++) {
            let at = col + i;
            let n = at / params.plane;
            if n < params.batch {
                emit((n * params.groups * params.filters + filter_index) * params.plane + at % params.plane, filter_index, v[i]);
            }
        }
    }
}
