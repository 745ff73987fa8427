// x where the condition is true, else y.

fn apply(condition: bool, x: elem, y: elem) -> elem {
    return select(y, x, condition);
}
