// Input part: elements as keys with their positions, of which `identity` lie before these. Requires: load_value (value part); tie_key (key part).

fn fetch(i: u32, position: u32) -> acc {
    return Extreme(tie_key(load_value(i)), params.identity + position);
}
