// Natural and binary logarithm within a few ulp on every adapter. Source of the polynomial: Cephes, logf.c (Moshier).

// x = (1 + f) * 2^e with 1 + f in [sqrt(1/2), sqrt(2)), and ln(1 + f) = f + y.
struct LogParts {
    e: f32,
    f: f32,
    y: f32,
}

// ln(1 + f) - f for 1 + f in [sqrt(1/2), sqrt(2)).
fn log_tail(f: f32) -> f32 {
    let z = f * f;
    var y = 7.0376836292e-2;
    y = y * f - 1.1514610310e-1;
    y = y * f + 1.1676998740e-1;
    y = y * f - 1.2420140846e-1;
    y = y * f + 1.4249322787e-1;
    y = y * f - 1.6668057665e-1;
    y = y * f + 2.0000714765e-1;
    y = y * f - 2.4999993993e-1;
    y = y * f + 3.3333331174e-1;
    return y * f * z - 0.5 * z;
}

// For positive finite x that is not subnormal.
fn log_parts_normal(x: f32) -> LogParts {
    // As far above 2^e as x is above sqrt(1/2) * 2^e.
    let bits = bitcast<u32>(x) + (0x3f800000u - 0x3f3504f3u);
    let f = bitcast<f32>((bits & 0x007fffffu) + 0x3f3504f3u) - 1.0;
    return LogParts(f32(i32(bits >> 23u) - 127), f, log_tail(f));
}

// For positive finite x. A subnormal is an integer times 2^-149; arithmetic on it might flush it.
fn log_parts(x: f32) -> LogParts {
    let bits = bitcast<u32>(x);
    let is_small = bits < 0x00800000u;
    var parts = log_parts_normal(select(x, f32(bits), is_small));
    parts.e -= select(0.0, 149.0, is_small);
    return parts;
}

// log2(1 + f): log2(e) is split so that the large part of the product is exact.
fn log2_mantissa(parts: LogParts) -> f32 {
    return parts.y * 0.44269504 + parts.f * 0.44269504 + parts.y + parts.f;
}

// What a logarithm is where it is no finite number: NaN, -inf, inf; `found` says whether x is such a place.
struct LogEdge {
    found: bool,
    value: f32,
}

fn log_edge(x: f32) -> LogEdge {
    let bits = bitcast<u32>(x);
    if is_nan(x) {
        return LogEdge(true, x);
    }
    if (bits & 0x7fffffffu) == 0u {
        return LogEdge(true, -inf_f32());
    }
    if bits >= 0x80000000u {
        return LogEdge(true, nan_f32());
    }
    return LogEdge(bits == 0x7f800000u, x);
}

fn log_f32(x: f32) -> f32 {
    let edge = log_edge(x);
    if edge.found {
        return edge.value;
    }
    let parts = log_parts(x);
    // ln(2) in two parts, the smaller one first.
    return (parts.f + (parts.y - 2.12194440e-4 * parts.e)) + 0.693359375 * parts.e;
}
