// The binary logarithm: log2(0) is -inf, of a negative number NaN. Requires functions/log.wgsl.

fn apply(x: elem) -> elem {
    let edge = log_edge(x);
    if edge.found {
        return edge.value;
    }
    let parts = log_parts(x);
    return log2_mantissa(parts) + parts.e;
}
