// The quotient rounded down; x / 0 is x.

fn apply(x: elem, y: elem) -> elem {
    let rest = x % y;
    let quotient = x / y;
    return select(quotient, quotient - elem(1), rest != elem(0) && (rest < elem(0)) != (y < elem(0)));
}
