// The decimal logarithm: log10(0) is -inf, of a negative number NaN. Requires functions/log.wgsl.
// Source of the constants: Cephes, log10f.c (Moshier): log10(e) and log10(2), each in two parts.

fn apply(x: elem) -> elem {
    let edge = log_edge(x);
    if edge.found {
        return edge.value;
    }
    let parts = log_parts(x);
    let small = (parts.f + parts.y) * 7.00731903251827651129e-4 + parts.y * 4.3359375e-1;
    let middle = parts.f * 4.3359375e-1 + parts.e * 2.48745663981195213739e-4;
    return (small + middle) + parts.e * 3.0078125e-1;
}
