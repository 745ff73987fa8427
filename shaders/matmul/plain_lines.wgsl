// Part of the kernels of tiles on matrix units: how b is loaded where it is a matrix. Requires fetch_b4, loaded.

alias Lines = u32;

// What an invocation's loads of the tile at a column have in common.
fn lines_b(first: u32, col: u32, lid: u32) -> Lines {
    return first;
}

// What those of a part along k have.
fn step_b(k: u32) -> u32 {
    return k;
}

// Load `i` of an invocation of the tile at that part and column.
fn load_b(lines: ptr<function, Lines>, step: u32, col: u32, i: u32, lid: u32) -> loaded {
    let at = place(lid + i * WG, B_ACROSS);
    if B_ACROSS == 1u {
        return fetch_b4(*lines, step + at.x, col + at.y * 4u);
    }
    return fetch_b4(*lines, step + at.y * 4u, col + at.x);
}
