// Row part: the rows that indices name; outside, the nearest end. Requires index/position.wgsl.

@group(0) @binding(1) var<storage, read> a: array<u32>;

fn row_of(i: u32) -> u32 {
    return position(a[params.x_offset + i], params.n);
}
