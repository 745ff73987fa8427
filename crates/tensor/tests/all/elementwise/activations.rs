//! Activations and gated units.

use super::*;

/// An activation and its f64 formula.
type Row = (
    &'static str,
    fn(&Tensor) -> Result<Tensor, Error>,
    fn(f64) -> f64,
);

fn pick(low: bool, then: f64, other: f64) -> f64 {
    if low { then } else { other }
}

const ACTIVATIONS: &[Row] = &[
    (
        "leaky_relu",
        |x| x.leaky_relu(0.01),
        |x| pick(x > 0.0, x, 0.01 * x),
    ),
    (
        "elu",
        |x| x.elu(1.5),
        |x| pick(x > 0.0, x, 1.5 * x.exp_m1()),
    ),
    (
        "celu",
        |x| x.celu(2.0),
        |x| pick(x > 0.0, x, 2.0 * (x / 2.0).exp_m1()),
    ),
    ("selu", Tensor::selu, |x| {
        1.050_700_987_355_480_5 * pick(x > 0.0, x, 1.673_263_242_354_377_2 * x.exp_m1())
    }),
    (
        "softplus",
        |x| x.softplus(1.0, 20.0),
        |x| x.max(0.0) + (-x.abs()).exp().ln_1p() + 0.0 * pick(x.is_nan(), x, 0.0),
    ),
    (
        "softplus of beta",
        |x| x.softplus(2.0, 20.0),
        |x| {
            pick(
                x.is_nan(),
                x,
                x.max(0.0) + (-2.0 * x.abs()).exp().ln_1p() / 2.0,
            )
        },
    ),
    (
        "hard_sigmoid",
        |x| x.hard_sigmoid(0.2, 0.5),
        |x| pick(x.is_nan(), x, (0.2 * x + 0.5).clamp(0.0, 1.0)),
    ),
    (
        "hard_tanh",
        |x| x.hard_tanh(-1.0, 2.0),
        |x| pick(x.is_nan(), x, x.clamp(-1.0, 2.0)),
    ),
    ("relu6", Tensor::relu6, |x| {
        pick(x.is_nan(), x, x.clamp(0.0, 6.0))
    }),
    (
        "thresholded_relu",
        |x| x.thresholded_relu(1.0),
        |x| pick(x <= 1.0, 0.0, x),
    ),
    (
        "hard shrink",
        |x| x.shrink(0.5, 0.0),
        |x| pick(x.abs() <= 0.5, 0.0, x),
    ),
    (
        "soft shrink",
        |x| x.shrink(0.5, 0.5),
        |x| pick(x.abs() <= 0.5, 0.0, pick(x < 0.0, x + 0.5, x - 0.5)),
    ),
    ("hard_swish", Tensor::hard_swish, |x| {
        pick(
            x <= -3.0,
            -0.0,
            pick(x >= 3.0 || x.is_nan(), x, x * (x + 3.0) / 6.0),
        )
    }),
    ("log_sigmoid", Tensor::log_sigmoid, |x| {
        pick(x.is_nan(), x, -((-x).max(0.0) + (-x.abs()).exp().ln_1p()))
    }),
    ("softsign", Tensor::softsign, |x| {
        pick(x.is_infinite(), x.signum(), x / (1.0 + x.abs()))
    }),
];

const PROBES: [f32; 15] = [
    NAN, INF, -INF, 0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 3.0, -3.0, 1e-6, -1e-6, -1000.0, 1000.0,
];

#[test]
fn activations_meet_their_formulas_on_edges_in_one_kernel() {
    let device = common::device();
    let x = row(&device, &PROBES);
    for (name, function, formula) in ACTIVATIONS {
        let result = function(&x).unwrap();
        let kernels = result.explain().unwrap().kernels().len();
        assert_eq!(kernels, 1, "{name} is {kernels} kernels");
        let got = result.to_vec_blocking::<f32>().unwrap();
        for (&x, &got) in PROBES.iter().zip(&got) {
            let expected = formula(f64::from(x));
            assert!(
                near(got, expected),
                "{name}({x}) is {got}, should be {expected}"
            );
        }
    }
}

#[test]
fn activations_of_halves_are_rounded_once() {
    let device = common::device();
    let values: Vec<f32> = (-60..60).map(|i| i as f32 * 0.13).collect();
    let exact = row(&device, &values).to_dtype(DType::F16).unwrap();
    let held = exact
        .to_dtype(DType::F32)
        .unwrap()
        .to_vec_blocking::<f32>()
        .unwrap();
    for (name, function, formula) in ACTIVATIONS {
        let result = function(&exact).unwrap();
        assert_eq!(result.dtype(), DType::F16, "{name}");
        let got = result.to_vec_blocking::<f16>().unwrap();
        for (&x, &got) in held.iter().zip(&got) {
            let expected = formula(f64::from(x));
            // Half a unit in the last place of an f16, and what f32 may be off.
            let bound = expected.abs() * 0.000_489 + 3e-8;
            let off = (got.to_f64() - expected).abs();
            assert!(off <= bound, "{name}({x}) is {got}, should be {expected}");
        }
    }
}

#[test]
fn activations_refuse_parameters_without_meaning() {
    let device = common::device();
    let x = row(&device, &[1.0, 2.0, 3.0]);
    for (result, text) in [
        (x.celu(0.0), "celu: alpha must not be 0: it is 0"),
        (
            x.softplus(0.0, 1.0),
            "softplus: beta must not be 0: it is 0",
        ),
        (
            x.hard_tanh(1.0, 1.0),
            "hard_tanh: low must be below high: it is 1",
        ),
        (
            x.shrink(-1.0, 0.0),
            "shrink: lambd must be at least 0: it is -1",
        ),
    ] {
        let error = result.unwrap_err();
        assert!(error.is_argument());
        assert_eq!(error.to_string(), text);
    }
    let error = x.glu(0).unwrap_err();
    assert!(error.is_shape());
    assert_eq!(
        error.to_string(),
        "glu: the extent of axis 0 must be even: it is 3"
    );
    assert!(x.glu(1).unwrap_err().is_shape());
    assert!(
        Tensor::from_value(&device, 1.0f32)
            .unwrap()
            .glu(0)
            .unwrap_err()
            .is_shape()
    );
    let cube = Tensor::ones(&device, [2, 3, 4], DType::F32).unwrap();
    let error = cube.prelu(&row(&device, &[1.0, 2.0])).unwrap_err();
    assert_eq!(
        error.to_string(),
        "prelu: a weight of rank 1 must have one element or one per channel (axis 1): it has 2, the input is [2, 3, 4]"
    );
}

#[test]
fn prelu_has_a_weight_per_channel() {
    let device = common::device();
    let x = Tensor::full(&device, [1, 3, 2], -1.0, DType::F32).unwrap();
    let weight = row(&device, &[1.0, 2.0, 3.0]);
    assert_eq!(
        floats(x.prelu(&weight)),
        [-1.0, -1.0, -2.0, -2.0, -3.0, -3.0]
    );
    assert_eq!(floats(x.prelu(&row(&device, &[0.5]))), [-0.5; 6]);
    let last = row(&device, &[1.0, 2.0]).unsqueeze(0).unwrap();
    assert_eq!(floats(x.prelu(&last)), [-1.0, -2.0, -1.0, -2.0, -1.0, -2.0]);
}

#[test]
fn gated_units_read_both_halves_in_one_kernel() {
    let device = common::device();
    let x = Tensor::from_slice(
        &device,
        &[1.0f32, -2.0, 3.0, 4.0, 5.0, 0.0, -1.0, 2.0],
        [2, 4],
    )
    .unwrap();
    let (first, second) = (x.narrow(1, 0, 2).unwrap(), x.narrow(1, 2, 2).unwrap());
    type Gated = fn(&Tensor) -> Result<Tensor, Error>;
    type Parts = fn(&Tensor, &Tensor) -> Result<Tensor, Error>;
    let rows: [(Gated, Parts); 5] = [
        (|x| x.glu(-1), |a, b| a.mul(b.sigmoid()?)),
        (|x| x.swiglu(1, GateHalf::First), |a, b| a.silu()?.mul(b)),
        (|x| x.swiglu(1, GateHalf::Second), |a, b| a.mul(b.silu()?)),
        (|x| x.geglu(1, GateHalf::First), |a, b| a.gelu()?.mul(b)),
        (|x| x.reglu(1, GateHalf::First), |a, b| a.relu()?.mul(b)),
    ];
    for (gated, parts) in rows {
        let result = gated(&x).unwrap();
        assert_eq!(result.dims(), [2, 2]);
        assert_eq!(result.explain().unwrap().kernels().len(), 1);
        assert_eq!(floats(Ok(result)), floats(parts(&first, &second)));
    }
    let rows = floats(x.glu(0));
    assert_eq!(rows.len(), 4);
    assert!(near(rows[1], -1.0), "{rows:?}");
    let empty = Tensor::zeros(&device, [3, 0], DType::F32).unwrap();
    assert_eq!(empty.glu(1).unwrap().dims(), [3, 0]);
}

#[test]
fn hardmax_marks_the_first_maximum() {
    let device = common::device();
    let x = Tensor::from_slice(&device, &[1.0f32, 3.0, 3.0, 5.0, NAN, 7.0], [2, 3]).unwrap();
    assert_eq!(floats(x.hardmax(1)), [0.0, 1.0, 0.0, 0.0, 1.0, 0.0]);
    assert_eq!(floats(x.hardmax(-2)), [0.0, 0.0, 0.0, 1.0, 1.0, 1.0]);
    assert_eq!(
        floats(Tensor::from_value(&device, 4.0f32).unwrap().hardmax(0)),
        [1.0]
    );
    assert!(
        Tensor::zeros(&device, [2, 0], DType::F32)
            .unwrap()
            .hardmax(1)
            .unwrap_err()
            .is_shape()
    );
}
