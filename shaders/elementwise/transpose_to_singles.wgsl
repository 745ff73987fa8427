// Write part: up to four neighbours of the output, one by one.
// Requires: store1.

@group(0) @binding(2) var<storage, read_write> out: array<cell>;

// The elements of columns `col` to `col + 3` of a row that begins at `at`, but for those past the last column.
fn write4(at: u32, col: u32, v: vec4<u32>) {
    store1(at + col, v.x);
    if col + 1u < params.cols {
        store1(at + col + 1u, v.y);
    }
    if col + 2u < params.cols {
        store1(at + col + 2u, v.z);
    }
    if col + 3u < params.cols {
        store1(at + col + 3u, v.w);
    }
}
