// Every bit inverted.

fn apply(x: elem) -> elem {
    return ~x;
}
