// The quotient rounded down; x / 0 is x.

fn apply(x: elem, y: elem) -> elem {
    let one = elem(1);
    // By 1 instead of 0, and of the lowest number by -1: then x / 0 is x, MIN / -1 is MIN and both rests are 0, whatever
    // the adapter does with them.
    let wraps = y < elem(0) && one == elem(0) - y && x == elem(0) - x;
    let divisor = select(y, one, y == elem(0) || wraps);
    let quotient = x / divisor;
    // Not `%`: GLSL leaves it undefined for negative operands.
    let rest = x - quotient * divisor;
    return select(quotient, quotient - one, rest != elem(0) && (rest < elem(0)) != (y < elem(0)));
}
