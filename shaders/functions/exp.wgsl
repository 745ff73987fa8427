// exp and exp2 within a few ulp on every adapter, with infinity, zero and NaN where they belong.
// Source of the polynomial: Cephes, expf.c (Moshier).

// y * 2^k for k in [-252, 252], in two steps so that neither factor leaves the normal range.
fn scale_by_power(y: f32, k: f32) -> f32 {
    let first = i32(k) / 2;
    let second = i32(k) - first;
    return y * bitcast<f32>((first + 127) << 23u) * bitcast<f32>((second + 127) << 23u);
}

// e^r - 1 for |r| up to ln(2) / 2.
fn expm1_reduced(r: f32) -> f32 {
    var y = 1.9875691500e-4;
    y = y * r + 1.3981999507e-3;
    y = y * r + 8.3334519073e-3;
    y = y * r + 4.1665795894e-2;
    y = y * r + 1.6666665459e-1;
    y = y * r + 5.0000001201e-1;
    return y * (r * r) + r;
}

// e^r for |r| up to ln(2) / 2.
fn exp_reduced(r: f32) -> f32 {
    return expm1_reduced(r) + 1.0;
}

fn exp_f32(x: f32) -> f32 {
    if is_nan(x) {
        return x;
    }
    if x > 88.7228394 {
        return inf_f32();
    }
    if x < -104.0 {
        return 0.0;
    }
    let k = floor(x * 1.44269504 + 0.5);
    // ln(2) in two parts: the first has so few bits that its product with k is exact.
    let r = (x - k * 0.693359375) + k * 2.12194440e-4;
    return scale_by_power(exp_reduced(r), k);
}

fn exp2_f32(x: f32) -> f32 {
    if is_nan(x) {
        return x;
    }
    if x >= 128.0 {
        return inf_f32();
    }
    if x < -150.0 {
        return 0.0;
    }
    let k = floor(x + 0.5);
    return scale_by_power(exp_reduced((x - k) * 0.69314718), k);
}
