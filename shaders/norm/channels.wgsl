// The channels of the elements from place r of a row on, whose first channel is `first`. Past the end of the row, the last one.

fn channels(first: u32, r: u32) -> vec4<u32> {
    let places = min(four_places(r), vec4<u32>(params.len - 1u));
    return vec4<u32>(first) + places / vec4<u32>(params.span);
}
