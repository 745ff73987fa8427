// The remainder of a division truncated toward zero; x % 0 is 0.

fn apply(x: elem, y: elem) -> elem {
    let one = elem(1);
    // By 1 instead of 0, and of the lowest number by -1: then x / 0 is x, MIN / -1 is MIN and both rests are 0, whatever
    // the adapter does with them.
    let wraps = y < elem(0) && one == elem(0) - y && x == elem(0) - x;
    let divisor = select(y, one, y == elem(0) || wraps);
    // Not `%`: GLSL leaves it undefined for negative operands.
    return x - x / divisor * divisor;
}
