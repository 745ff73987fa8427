// The natural logarithm: log(0) is -inf, of a negative number NaN. Requires functions/log.wgsl.

fn apply(x: elem) -> elem {
    let edge = log_edge(x);
    if edge.found {
        return edge.value;
    }
    let parts = log_parts(x);
    // ln(2) in two parts, the smaller one first.
    return (parts.f + (parts.y - 2.12194440e-4 * parts.e)) + 0.693359375 * parts.e;
}
