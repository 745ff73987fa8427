// The remainder of a division truncated toward zero; x % 0 is 0.

fn apply(x: elem, y: elem) -> elem {
    return x % y;
}
