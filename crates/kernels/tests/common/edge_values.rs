//! Values at which dtypes, casts and rounding differ.

use ziggurat_kernels::DType;
use ziggurat_kernels::reference::round_to;

/// Values at which casts differ, those that the dtype holds.
pub(crate) fn edges(dtype: DType) -> Vec<f64> {
    let all = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        -0.5,
        1.5,
        -1.5,
        2.5,
        127.0,
        128.0,
        129.0,
        -128.0,
        -129.0,
        255.0,
        255.9,
        256.0,
        300.7,
        -300.7,
        2048.5,
        2049.0,
        65_504.0,
        65_519.0,
        65_520.0,
        16_777_215.0,
        16_777_216.0,
        3e9,
        -3e9,
        2_147_483_520.0,
        2_147_483_647.0,
        2_147_483_648.0,
        -2_147_483_648.0,
        4_294_967_040.0,
        4_294_967_295.0,
        1e10,
        3e38,
        6e-8,
        3e-8,
        2.98e-8,
        5.96e-8,
        6.1e-5,
        1.000_488_281_25,
        1.001_464_843_75,
        1.003_906_25,
        1.011_718_75,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
    ];
    all.iter().map(|&x| round_to(dtype, x)).collect()
}
