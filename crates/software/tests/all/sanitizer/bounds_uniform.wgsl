struct Table {
    rows: array<vec4<u32>, 4>,
}
@group(0) @binding(0) var<uniform> data: Table;
@group(0) @binding(1) var<storage, read_write> out: array<u32>;

@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) i: u32) {
    out[i] = data.rows[i / 12u].x; // FINDS out-of-bounds
}
