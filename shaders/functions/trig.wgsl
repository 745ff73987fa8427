// Sine and cosine with their own argument reduction: WGSL promises accuracy only in [-pi, pi].
// Up to 8192 by Cody and Waite's subtraction of pi/2 in three parts, beyond that by Payne and Hanek's multiplication
// with as many bits of 2/pi as the argument needs, so that every finite f32 is reduced exactly enough.
// Source of the polynomials: Cephes, sinf.c (Moshier).

const HALF_PI_1: f32 = 1.5703125;
const HALF_PI_2: f32 = 0.0004837512969970703;
const HALF_PI_3: f32 = 7.549790126404332e-8;

// |x| = (quadrant + 4 n) * pi/2 + r with |r| up to about pi/4.
struct Angle {
    r: f32,
    quadrant: u32,
}

// The upper 32 bits of x * y.
fn multiply_high(x: u32, y: u32) -> u32 {
    let x0 = x & 0xffffu;
    let x1 = x >> 16u;
    let y0 = y & 0xffffu;
    let y1 = y >> 16u;
    let low = x0 * y0;
    let middle = x1 * y0 + (low >> 16u);
    let cross = x0 * y1 + (middle & 0xffffu);
    return x1 * y1 + (middle >> 16u) + (cross >> 16u);
}

fn reduce_near(x: f32) -> Angle {
    let k = floor(x * 0.63661977 + 0.5);
    // At most 13 bits times 11 bits: the first two products are exact.
    let r = ((x - k * HALF_PI_1) - k * HALF_PI_2) - k * HALF_PI_3;
    return Angle(r, u32(k));
}

fn reduce_far(x: f32) -> Angle {
    // 2/pi / 4, as a binary fraction.
    var table = array<u32, 7>(
        0x28be60dbu, 0x9391054au, 0x7f09d5f4u, 0x7d4d3770u, 0x36d8a566u, 0x4f10e410u, 0x7f9458eau
    );
    let bits = bitcast<u32>(x);
    let mantissa = (bits << 8u) | 0x80000000u;
    let exponent = (bits >> 23u) - 126u;
    let word = exponent / 32u;
    let shift = exponent % 32u;
    var high = 0u;
    if word > 0u {
        high = table[word - 1u];
    }
    var middle = table[word];
    var low = table[word + 1u];
    if shift > 0u {
        high = (high << shift) | (middle >> (32u - shift));
        middle = (middle << shift) | (low >> (32u - shift));
        low = (low << shift) | (table[word + 2u] >> (32u - shift));
    }
    // The 64 bits after the binary point of mantissa * (high, middle, low): a fraction of four quadrants.
    let below = multiply_high(mantissa, low);
    var p_low = mantissa * middle + below;
    var p_high = mantissa * high + multiply_high(mantissa, middle) + u32(p_low < below);
    var quadrant = p_high >> 30u;
    p_high &= 0x3fffffffu;
    var sign = 1.0;
    if p_high >= 0x20000000u {
        // Past the middle of the quadrant: count back from the next.
        quadrant += 1u;
        sign = -1.0;
        p_low = ~p_low + 1u;
        p_high = 0x40000000u - p_high - u32(p_low != 0u);
    }
    let turn = f32(p_high) * 9.31322574615478515625e-10 + f32(p_low) * 2.168404344971008868e-19;
    return Angle(sign * turn * 1.57079633, quadrant);
}

// For finite x >= 0.
fn reduce_angle(x: f32) -> Angle {
    if x < 8192.0 {
        return reduce_near(x);
    }
    return reduce_far(x);
}

fn sin_reduced(r: f32) -> f32 {
    let z = r * r;
    return ((-1.9515295891e-4 * z + 8.3321608736e-3) * z - 1.6666654611e-1) * z * r + r;
}

fn cos_reduced(r: f32) -> f32 {
    let z = r * r;
    return ((2.443315711809948e-5 * z - 1.388731625493765e-3) * z + 4.166664568298827e-2) * z * z - 0.5 * z + 1.0;
}

// The sine of an angle, whose quadrant may be advanced by one to give the cosine.
fn sin_angle(angle: Angle) -> f32 {
    var y = sin_reduced(angle.r);
    if (angle.quadrant & 1u) == 1u {
        y = cos_reduced(angle.r);
    }
    return select(y, -y, (angle.quadrant & 2u) == 2u);
}

fn is_finite(x: f32) -> bool {
    return (bitcast<u32>(x) & 0x7fffffffu) < 0x7f800000u;
}
