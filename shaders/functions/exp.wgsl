// exp and exp2 within a few ulp on every adapter, with infinity, zero and NaN where they belong.
// Source of the polynomial: Cephes, expf.c (Moshier).

// y * 2^k for k in [-252, 252], in two steps so that neither factor leaves the normal range.
fn scale_by_power(y: f32, k: f32) -> f32 {
    let whole = i32(k); // sanitizer: allow(conversion): whatever a NaN becomes here, y is one too
    let first = whole >> 1u;
    let second = whole - first;
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

// The integer nearest to x / ln(2), for |x| up to 2^20: the last bits of the sum, which compilers cannot see through as they can
// through a difference. Without a conversion to an integer, which many GPUs do few of at a time.
fn nearest_power(x: f32) -> i32 {
    return bitcast<i32>(x * 1.44269504 + 12582912.0) - 0x4b400000;
}

// y * e^x for x from -2000 to 0, without checks of either; 0 with the sign of y where e^x alone would be subnormal.
fn scaled_exp(y: f32, x: f32) -> f32 {
    let power = nearest_power(x);
    let k = f32(power);
    let r = (x - k * 0.693359375) + k * 2.12194440e-4;
    return y * exp_reduced(r) * bitcast<f32>(bitcast<u32>(max(power + 127, 0)) << 23u);
}

// y * e^x for x from -174 to 0, also where e^x alone would be subnormal.
fn scaled_exp_far(y: f32, x: f32) -> f32 {
    let k = floor(x * 1.44269504 + 0.5);
    let r = (x - k * 0.693359375) + k * 2.12194440e-4;
    return scale_by_power(y * exp_reduced(r), k);
}

// Without branches: numbers beyond the ends, and NaN, are exchanged for the results that they have.
fn exp_f32(x: f32) -> f32 {
    let within = min(max(x, -104.0), 89.0);
    let k = floor(within * 1.44269504 + 0.5);
    // ln(2) in two parts: the first has so few bits that its product with k is exact.
    let r = (within - k * 0.693359375) + k * 2.12194440e-4;
    let y = select(scale_by_power(exp_reduced(r), k), inf_f32(), x > 88.7228394);
    return select(y, x, is_nan(x));
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
