// x / 2^y rounded down; 0, or -1 for negative x, where y is negative or at least the width.

fn apply(x: elem, y: elem) -> elem {
    let count = u32(y);
    let one = elem(1);
    let all = select(elem(0), elem(0) - one, x < elem(0));
    return select(x >> (count & 31u), all, count >= 32u);
}
