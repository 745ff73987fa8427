// The sum of nothing.

fn identity() -> acc {
    return acc();
}
