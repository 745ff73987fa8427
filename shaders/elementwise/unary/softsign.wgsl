// x / (1 + |x|); its limits -1 and 1 for infinity.

fn apply(x: elem) -> elem {
    let magnitude = abs(x);
    if is_nan(x) {
        return x;
    }
    // From 2^25 on 1 + |x| is |x|.
    if magnitude >= 33554432.0 {
        return select(1.0, -1.0, x < 0.0);
    }
    return x / (1.0 + magnitude);
}
