// x * 2^y, wrapping; 0 where y is negative or at least the width.

fn apply(x: elem, y: elem) -> elem {
    let count = u32(y);
    return select(x << (count & 31u), elem(0), count >= 32u);
}
