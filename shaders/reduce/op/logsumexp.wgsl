// Operator part: ln(sum(exp(x))) as (greatest element, sum of exp(x - greatest)), so that nothing overflows.
// The greatest is kept as a key, so NaN wins and infinities are told apart by bits.
// Requires `apply`: the logarithm; key/float.wgsl with LEAST = 0; softmax/exp.wgsl.
// Accuracy: (n + 2) ε (1 + max|x|) over n elements, then one rounding to the dtype.

struct acc {
    top: i32,
    sum: f32,
}

// The key of -inf.
const LOWEST: i32 = -2139095041;
// The key of inf; that of NaN is above it.
const HIGHEST: i32 = 0x7f800000;

fn start() -> acc {
    return acc(LOWEST, 0.0);
}

fn lift(x: elem) -> acc {
    return acc(to_key(x), 1.0);
}

fn combine(x: acc, y: acc) -> acc {
    var high = x;
    var low = y;
    if y.top > x.top {
        high = y;
        low = x;
    }
    if low.top > LOWEST && high.top < HIGHEST {
        high.sum += low.sum * exp_nonpositive(from_key(low.top) - from_key(high.top));
    }
    return high;
}

fn finish(v: acc) -> out_elem {
    if v.top > HIGHEST {
        return nan_f32();
    }
    let greatest = from_key(v.top);
    if v.top == LOWEST || v.top == HIGHEST {
        return greatest;
    }
    return greatest + apply(v.sum);
}
