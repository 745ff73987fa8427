// Operator part: variance by merging (count, mean, squared distances); no large squares are ever subtracted. What becomes of
// that is in var_finish.wgsl.
// Accuracy: (n + 2) ε (variance + |mean| · deviation) over n elements, deviations (n + 2) ε (deviation + |mean|); then one rounding to the dtype.
// Source: Chan, Golub and LeVeque (1979), "Updating formulae and a pairwise algorithm for computing sample variances".

struct acc {
    count: u32,
    mean: f32,
    spread: f32,
    // Makes the size a power of two: buffers hold whole elements.
    room: u32,
}

fn start() -> acc {
    return acc(0u, 0.0, 0.0, 0u);
}

fn lift(x: elem) -> acc {
    var spread = 0.0;
    if (bitcast<u32>(x) & 0x7f800000u) == 0x7f800000u {
        // Not even one infinity has a distance from the mean.
        spread = nan_f32();
    }
    return acc(1u, x, spread, 0u);
}

fn combine(x: acc, y: acc) -> acc {
    if y.count == 0u {
        return x;
    }
    if x.count == 0u {
        return y;
    }
    let count = x.count + y.count;
    let share = f32(y.count) / f32(count);
    let delta = y.mean - x.mean;
    var mean = x.mean + delta * share;
    if (bitcast<u32>(x.mean) & 0x7f800000u) == 0x7f800000u {
        // From an infinity there is no step to another mean: it stays, but for its opposite and NaN.
        mean = x.mean + y.mean;
    }
    return acc(count, mean, x.spread + (y.spread + delta * delta * (f32(x.count) * share)), 0u);
}
