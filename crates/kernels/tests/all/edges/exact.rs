//! Edges whose results have no tolerance.

use super::*;

#[test]
fn unary_float_edges_are_exact() {
    let exec = common::executor();
    let table: &[(Unary, &[[f64; 2]])] = &[
        (
            Unary::Abs,
            &[[-0.0, 0.0], [-INF, INF], [NAN, NAN], [-2.5, 2.5]],
        ),
        (Unary::Neg, &[[0.0, -0.0], [INF, -INF], [NAN, NAN]]),
        (
            Unary::Sign,
            &[
                [NAN, NAN],
                [-0.0, 0.0],
                [0.0, 0.0],
                [-INF, -1.0],
                [3.0, 1.0],
            ],
        ),
        (
            Unary::Exp,
            &[
                [0.0, 1.0],
                [-INF, 0.0],
                [INF, INF],
                [NAN, NAN],
                [89.0, INF],
                [-104.0, 0.0],
                [-1000.0, 0.0],
                [1000.0, INF],
            ],
        ),
        (
            Unary::Exp2,
            &[
                [3.0, 8.0],
                [-2.0, 0.25],
                [-INF, 0.0],
                [INF, INF],
                [NAN, NAN],
                [128.0, INF],
                [-1000.0, 0.0],
            ],
        ),
        (
            Unary::Log,
            &[
                [1.0, 0.0],
                [0.0, -INF],
                [-0.0, -INF],
                [-1.0, NAN],
                [-INF, NAN],
                [INF, INF],
                [NAN, NAN],
            ],
        ),
        (
            Unary::Log2,
            &[
                [8.0, 3.0],
                [0.25, -2.0],
                [0.0, -INF],
                [-1.0, NAN],
                [INF, INF],
                [NAN, NAN],
            ],
        ),
        (
            Unary::Sqrt,
            &[
                [4.0, 2.0],
                [0.0, 0.0],
                [-0.0, -0.0],
                [-1.0, NAN],
                [-INF, NAN],
                [INF, INF],
                [NAN, NAN],
            ],
        ),
        (
            Unary::Rsqrt,
            &[[4.0, 0.5], [0.0, INF], [-1.0, NAN], [INF, 0.0], [NAN, NAN]],
        ),
        (
            Unary::Square,
            &[[-3.0, 9.0], [INF, INF], [-INF, INF], [NAN, NAN]],
        ),
        (
            Unary::Reciprocal,
            &[
                [2.0, 0.5],
                [0.0, INF],
                [-0.0, -INF],
                [INF, 0.0],
                [-INF, -0.0],
                [NAN, NAN],
            ],
        ),
        (
            Unary::Sin,
            &[
                [0.0, 0.0],
                [-0.0, -0.0],
                [INF, NAN],
                [-INF, NAN],
                [NAN, NAN],
            ],
        ),
        (Unary::Cos, &[[0.0, 1.0], [INF, NAN], [NAN, NAN]]),
        (
            Unary::Floor,
            &[
                [-0.5, -1.0],
                [-0.0, -0.0],
                [2.5, 2.0],
                [INF, INF],
                [NAN, NAN],
                [16_777_216.0, 16_777_216.0],
            ],
        ),
        (
            Unary::Ceil,
            &[[-0.5, -0.0], [0.5, 1.0], [-INF, -INF], [NAN, NAN]],
        ),
        (
            Unary::Trunc,
            &[
                [-0.5, -0.0],
                [2.5, 2.0],
                [-2.5, -2.0],
                [INF, INF],
                [NAN, NAN],
            ],
        ),
        (
            Unary::Round,
            &[
                [0.5, 0.0],
                [1.5, 2.0],
                [2.5, 2.0],
                [-0.5, -0.0],
                [-1.5, -2.0],
                [0.499_999_97, 0.0],
                [8_388_609.0, 8_388_609.0],
                [INF, INF],
                [-INF, -INF],
                [NAN, NAN],
            ],
        ),
        (
            Unary::Relu,
            &[
                [NAN, NAN],
                [-0.0, -0.0],
                [-1.0, 0.0],
                [-INF, 0.0],
                [INF, INF],
                [2.0, 2.0],
            ],
        ),
        (
            Unary::Gelu,
            &[
                [NAN, NAN],
                [-INF, -0.0],
                [INF, INF],
                [0.0, 0.0],
                [100.0, 100.0],
                [-100.0, -0.0],
            ],
        ),
        (
            Unary::GeluTanh,
            &[
                [NAN, NAN],
                [-INF, -0.0],
                [INF, INF],
                [0.0, 0.0],
                [100.0, 100.0],
                [-100.0, -0.0],
                [1e20, 1e20],
            ],
        ),
        (
            Unary::Sigmoid,
            &[
                [NAN, NAN],
                [-INF, 0.0],
                [INF, 1.0],
                [0.0, 0.5],
                [-1000.0, 0.0],
                [1000.0, 1.0],
            ],
        ),
        (
            Unary::Tanh,
            &[
                [NAN, NAN],
                [-INF, -1.0],
                [INF, 1.0],
                [100.0, 1.0],
                [-100.0, -1.0],
                [0.0, 0.0],
                [-0.0, -0.0],
            ],
        ),
        (
            Unary::Silu,
            &[
                [NAN, NAN],
                [-INF, -0.0],
                [INF, INF],
                [0.0, 0.0],
                [-1000.0, -0.0],
                [100.0, 100.0],
            ],
        ),
        (
            Unary::Expm1,
            &[
                [0.0, 0.0],
                [-0.0, -0.0],
                [NAN, NAN],
                [INF, INF],
                [-INF, -1.0],
                [-100.0, -1.0],
                [89.0, INF],
                [1e-30, 1e-30],
            ],
        ),
        (
            Unary::Log10,
            &[
                [1.0, 0.0],
                [100.0, 2.0],
                [0.0, -INF],
                [-1.0, NAN],
                [INF, INF],
                [NAN, NAN],
            ],
        ),
        (
            Unary::Log1p,
            &[
                [0.0, 0.0],
                [-0.0, -0.0],
                [-1.0, -INF],
                [-1.5, NAN],
                [-INF, NAN],
                [INF, INF],
                [NAN, NAN],
                [1e-30, 1e-30],
            ],
        ),
        (
            Unary::Tan,
            &[
                [0.0, 0.0],
                [-0.0, -0.0],
                [INF, NAN],
                [-INF, NAN],
                [NAN, NAN],
            ],
        ),
        (
            Unary::Asin,
            &[
                [0.0, 0.0],
                [-0.0, -0.0],
                [1.0, PI / 2.0],
                [-1.0, -PI / 2.0],
                [1.5, NAN],
                [-INF, NAN],
                [NAN, NAN],
            ],
        ),
        (
            Unary::Acos,
            &[
                [1.0, 0.0],
                [0.0, PI / 2.0],
                [-1.0, PI],
                [-1.5, NAN],
                [INF, NAN],
                [NAN, NAN],
            ],
        ),
        (
            Unary::Atan,
            &[
                [0.0, 0.0],
                [-0.0, -0.0],
                [INF, PI / 2.0],
                [-INF, -PI / 2.0],
                [1e38, PI / 2.0],
                [NAN, NAN],
            ],
        ),
        (
            Unary::Sinh,
            &[
                [0.0, 0.0],
                [-0.0, -0.0],
                [INF, INF],
                [-INF, -INF],
                [90.0, INF],
                [1e-30, 1e-30],
                [NAN, NAN],
            ],
        ),
        (
            Unary::Cosh,
            &[
                [0.0, 1.0],
                [INF, INF],
                [-INF, INF],
                [-90.0, INF],
                [NAN, NAN],
            ],
        ),
        (
            Unary::Asinh,
            &[
                [0.0, 0.0],
                [-0.0, -0.0],
                [INF, INF],
                [-INF, -INF],
                [1e-30, 1e-30],
                [NAN, NAN],
            ],
        ),
        (
            Unary::Acosh,
            &[[1.0, 0.0], [0.5, NAN], [-INF, NAN], [INF, INF], [NAN, NAN]],
        ),
        (
            Unary::Atanh,
            &[
                [0.0, 0.0],
                [-0.0, -0.0],
                [1.0, INF],
                [-1.0, -INF],
                [1.5, NAN],
                [INF, NAN],
                [NAN, NAN],
            ],
        ),
        (
            Unary::Erf,
            &[
                [0.0, 0.0],
                [-0.0, -0.0],
                [INF, 1.0],
                [-INF, -1.0],
                [20.0, 1.0],
                [NAN, NAN],
            ],
        ),
        (
            Unary::Erfc,
            &[[0.0, 1.0], [INF, 0.0], [-INF, 2.0], [20.0, 0.0], [NAN, NAN]],
        ),
        (
            Unary::Frac,
            &[
                [2.5, 0.5],
                [-2.5, -0.5],
                [-2.0, -0.0],
                [0.0, 0.0],
                [1e30, 0.0],
                [INF, NAN],
                [NAN, NAN],
            ],
        ),
        (
            Unary::Softplus,
            &[
                [1000.0, 1000.0],
                [-1000.0, 0.0],
                [INF, INF],
                [-INF, 0.0],
                [NAN, NAN],
            ],
        ),
        (
            Unary::LogSigmoid,
            &[
                [-1000.0, -1000.0],
                [1000.0, -0.0],
                [INF, -0.0],
                [-INF, -INF],
                [NAN, NAN],
            ],
        ),
        (
            Unary::Softsign,
            &[
                [1.0, 0.5],
                [-0.0, -0.0],
                [INF, 1.0],
                [-INF, -1.0],
                [-1e38, -1.0],
                [NAN, NAN],
            ],
        ),
        (
            Unary::Mish,
            &[
                [0.0, 0.0],
                [INF, INF],
                [-INF, -0.0],
                [-1000.0, -0.0],
                [100.0, 100.0],
                [1e38, 1e38],
                [NAN, NAN],
            ],
        ),
        (
            Unary::GeluQuick,
            &[
                [0.0, 0.0],
                [INF, INF],
                [-INF, -0.0],
                [-1000.0, -0.0],
                [3e38, 3e38],
                [NAN, NAN],
            ],
        ),
        (
            Unary::HardSwish,
            &[
                [0.0, 0.0],
                [3.0, 3.0],
                [-3.0, -0.0],
                [INF, INF],
                [-INF, -0.0],
                [3e38, 3e38],
                [NAN, NAN],
            ],
        ),
    ];
    for (op, rows) in table {
        let inputs: Vec<f64> = rows.iter().map(|row| f64::from(row[0] as f32)).collect();
        let rounded: Vec<[f64; 2]> = rows
            .iter()
            .map(|row| [row[0], f64::from(row[1] as f32)])
            .collect();
        exactly(
            &format!("{op:?}"),
            &rounded,
            &run_unary(&exec, *op, DType::F32, &inputs),
        );
    }
}
