// Store part: rows of results that lie one behind the other, by way of workgroup memory, so that they are written in vectors wherever
// rows begin. A workgroup has a multiple of four rows.
// Requires: out_words, pack, merge (store part); four_places.

// Elements of all rows of a workgroup.
override STAGED: u32 = 256u;

@group(0) @binding(2) var<storage, read_write> out: array<out_words>;

var<workgroup> tile_rows: array<f32, STAGED>;

// What put4 takes for a row of this workgroup, whose first row is `first`.
fn base_of(first: u32, row: u32, inner: u32) -> u32 {
    return row * params.len;
}

// Results from place r of the row on.
fn put4(base: u32, r: u32, inner: u32, y: vec4<f32>) {
    let places = four_places(r);
    if places.x < params.len {
        tile_rows[base + places.x] = y.x;
    }
    if places.y < params.len {
        tile_rows[base + places.y] = y.y;
    }
    if places.z < params.len {
        tile_rows[base + places.z] = y.z;
    }
    if places.w < params.len {
        tile_rows[base + places.w] = y.w;
    }
}

// Writes what all invocations of the workgroup have put.
fn put_rest(first: u32, lid: u32) {
    workgroupBarrier();
    let count = (min(first + ROWS, params.outputs) - min(first, params.outputs)) * params.len;
    let begin = (params.out_offset + first * params.len) / 4u;
    for (var vector = lid; 4u * vector < count; vector += WG) {
        let i = 4u * vector;
        let left = count - i;
        if left >= 4u {
            out[begin + vector] = pack(vec4<f32>(tile_rows[i], tile_rows[i + 1u], tile_rows[i + 2u], tile_rows[i + 3u]));
        } else {
            // The end of the output.
            let some = vec4<f32>(tile_rows[i], tile_rows[min(i + 1u, count - 1u)], tile_rows[min(i + 2u, count - 1u)], 0.0);
            out[begin + vector] = merge(out[begin + vector], pack(some), left); // sanitizer: allow(uninitialized): keeps what lies behind the output
        }
    }
}
