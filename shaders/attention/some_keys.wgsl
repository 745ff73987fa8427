// Length part: each batch says how many of its keys count; its last query stands at the last of them.

@group(0) @binding(6) var<storage, read> in_4: array<i32>;

fn keys_of(batch: u32) -> u32 {
    return min(u32(max(in_4[params.lengths_offset + batch], 0)), params.keys);
}

fn shift_of(batch: u32) -> i32 {
    return in_4[params.lengths_offset + batch] - i32(params.queries);
}
