// |x|; the lowest signed integer stays what it is.

fn apply(x: elem) -> elem {
    return abs(x);
}
