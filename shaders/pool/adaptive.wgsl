// Range part: as many windows as there are outputs, window o from floor(o * extent / result) to
// ceil((o + 1) * extent / result). Split so that nothing overflows for results below 2^16.

fn range_of(o: u32, axis: u32) -> Range {
    let extent = params.extent[axis];
    let result = params.result[axis];
    let whole = extent / result;
    let rest = extent % result;
    let first = o * whole + (o * rest) / result;
    let end = (o + 1u) * whole + ((o + 1u) * rest + result - 1u) / result;
    return Range(first, 1u, end - first);
}
