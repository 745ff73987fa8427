// Store part for put_elements.wgsl and put_vec4.wgsl: where results of rows go, which are written one by one.
// Requires: results_at.

// What put4 takes for a row of this workgroup, whose first row is `first`.
fn base_of(first: u32, row: u32, inner: u32) -> u32 {
    return results_at(first + row, inner);
}

// Nothing is left to write.
fn put_rest(first: u32, lid: u32) {}
