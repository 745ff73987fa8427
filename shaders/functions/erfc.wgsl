// The complementary error function for x >= 0, with a small relative error up to its underflow.
// Source: Press et al., Numerical Recipes, "erfcc" (Chebyshev fit, 1.2e-7). Requires exp_f32.

// The fitted part of the exponent, for t = 1 / (1 + x / 2).
fn erfc_fit(t: f32) -> f32 {
    var p = 0.17087277;
    p = p * t - 0.82215223;
    p = p * t + 1.48851587;
    p = p * t - 1.13520398;
    p = p * t + 0.27886807;
    p = p * t - 0.18628806;
    p = p * t + 0.09678418;
    p = p * t + 0.37409196;
    p = p * t + 1.00002368;
    return p * t - 1.26551223;
}
