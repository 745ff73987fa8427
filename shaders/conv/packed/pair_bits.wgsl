// Pack part: two neighbours as they are.

fn pair(first: acc, second: acc) -> u32 {
    return first | second << 16u;
}
