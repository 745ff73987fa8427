// Shared by kernels that read indices: the position that one names.

// Whether indices are i32, so that negative ones count from the end.
override SIGNED: bool = true;

// The position that an index names among `extent`: outside, the nearest end.
fn position(index: u32, extent: u32) -> u32 {
    var at = index;
    if SIGNED && at >= 0x80000000u {
        at += extent;
        if at >= 0x80000000u {
            at = 0u;
        }
    }
    return min(at, extent - 1u);
}

// Whether an index names a position among `extent`.
fn names_one(index: u32, extent: u32) -> bool {
    return index < extent || (SIGNED && index >= 0x80000000u && index + extent < extent);
}
