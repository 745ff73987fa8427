// The remainder of a division rounded down, with the sign of y; the remainder by 0 is 0.

fn apply(x: elem, y: elem) -> elem {
    let rest = x % y;
    return select(rest, rest + y, rest != elem(0) && (rest < elem(0)) != (y < elem(0)));
}
