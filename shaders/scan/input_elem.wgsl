// Input part: elements, lifted to the accumulator. Requires: load_value (value part); lift (operator part).

fn fetch(i: u32, position: u32) -> acc {
    return lift(load_value(i));
}
