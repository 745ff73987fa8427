// The arc sine of x in [0, 1/2]. Source of the polynomial: Cephes, asinf.c (Moshier).

fn asin_small(x: f32) -> f32 {
    let z = x * x;
    let p = (((4.2163199048e-2 * z + 2.4181311049e-2) * z + 4.5470025998e-2) * z + 7.4953002686e-2) * z;
    return (p + 1.6666752422e-1) * z * x + x;
}
