// Range part: windows of one size at regular steps. Positions before the first element wrap to large numbers.

fn range_of(o: u32, axis: u32) -> Range {
    return Range(o * params.stride[axis] - params.pad[axis], params.dilation[axis], params.kernel[axis]);
}
