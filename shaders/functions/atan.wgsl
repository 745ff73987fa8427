// The arc tangent of x >= 0, infinity included. Source of the polynomial: Cephes, atanf.c (Moshier).

fn atan_positive(x: f32) -> f32 {
    var start = 0.0;
    var t = x;
    if x > 2.41421356 {
        start = 1.57079633;
        t = -1.0 / x;
    } else if x > 0.41421356 {
        start = 0.78539816;
        t = (x - 1.0) / (x + 1.0);
    }
    let z = t * t;
    let p = ((8.05374449538e-2 * z - 1.38776856032e-1) * z + 1.99777106478e-1) * z - 3.33329491539e-1;
    return start + (p * z * t + t);
}
