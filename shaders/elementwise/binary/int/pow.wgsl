// x^y by squaring, wrapping. A negative exponent gives the truncated reciprocal: 0 unless x is 1 or -1.

fn apply(x: elem, y: elem) -> elem {
    let one = elem(1);
    if y < elem(0) {
        let odd = (y & one) == one;
        if x == one || (x == elem(0) - one && !odd) {
            return one;
        }
        return select(elem(0), x, x == elem(0) - one);
    }
    var result = one;
    var power = x;
    for (var rest = y; rest > elem(0); rest >>= 1u) {
        if (rest & one) == one {
            result *= power;
        }
        power *= power;
    }
    return result;
}
