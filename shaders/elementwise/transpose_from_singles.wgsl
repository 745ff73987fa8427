// Read part: four neighbours of the operand, one by one; past the last row, that of the last row.
// Requires: word, word_index, from_word.

@group(0) @binding(1) var<storage, read> a: array<word>;

fn read1(i: u32) -> u32 {
    return from_word(a[word_index(i)], i);
}

// The elements of rows `row` to `row + 3` of a column that begins at `at`.
fn read4(at: u32, row: u32) -> vec4<u32> {
    let last = params.rows - 1u;
    return vec4<u32>(
        read1(at + row),
        read1(at + min(row + 1u, last)),
        read1(at + min(row + 2u, last)),
        read1(at + min(row + 3u, last)),
    );
}
