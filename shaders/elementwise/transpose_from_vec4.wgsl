// Read part: four neighbours of the operand at once, the first at a multiple of four elements.
// Requires: words, unpack.

@group(0) @binding(1) var<storage, read> a: array<words>;

// The elements of rows `row` to `row + 3` of a column that begins at `at`.
fn read4(at: u32, row: u32) -> vec4<u32> {
    return unpack(a[(at + row) / 4u]);
}
