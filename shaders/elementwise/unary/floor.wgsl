// The largest integer not above x.

fn apply(x: elem) -> elem {
    return floor(x);
}
