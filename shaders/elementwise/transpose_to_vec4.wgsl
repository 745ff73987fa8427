// Write part: four neighbours of the output at once, the first at a multiple of four elements.
// Requires: store4.

@group(0) @binding(2) var<storage, read_write> out: array<cell>;

// The elements of columns `col` to `col + 3` of a row that begins at `at`.
fn write4(at: u32, col: u32, v: vec4<u32>) {
    store4(at + col, v);
}
