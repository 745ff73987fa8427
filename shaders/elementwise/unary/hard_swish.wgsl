// x * min(max(x + 3, 0), 6) / 6; x itself from 3 on, zero up to -3, infinity included.

fn apply(x: elem) -> elem {
    if is_nan(x) || x >= 3.0 {
        return x;
    }
    if x <= -3.0 {
        return -0.0;
    }
    return x * (x + 3.0) / 6.0;
}
