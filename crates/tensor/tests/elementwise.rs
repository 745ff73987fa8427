//! Elementwise functions, activations, bitcasts and in-place forms through the public interface.
#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use ziggurat_tensor::{
    Closeness, DType, Device, DeviceOptions, Error, GateHalf, Scalar, Tensor, f16,
};

const INF: f32 = f32::INFINITY;
const NAN: f32 = f32::NAN;

fn row(device: &Device, values: &[f32]) -> Tensor {
    Tensor::from_slice(device, values, [values.len()]).unwrap()
}

fn floats(tensor: Result<Tensor, Error>) -> Vec<f32> {
    tensor.unwrap().to_vec_blocking::<f32>().unwrap()
}

fn bools(tensor: Result<Tensor, Error>) -> Vec<bool> {
    tensor.unwrap().to_vec_blocking::<bool>().unwrap()
}

/// Equal within a few units in the last place; NaN equals NaN, infinities only themselves.
fn near(got: f32, expected: f64) -> bool {
    if expected.is_nan() {
        return got.is_nan();
    }
    if expected.is_infinite() || got.is_infinite() {
        return f64::from(got) == expected;
    }
    (f64::from(got) - expected).abs() <= 1e-6 * expected.abs() + 1e-30
}

#[test]
fn the_comparison_of_floats_catches_what_it_should() {
    assert!(near(1.000_000_5, 1.0) && near(NAN, f64::NAN) && near(INF, f64::INFINITY));
    assert!(!near(1.000_01, 1.0) && !near(NAN, 1.0) && !near(1.0, f64::NAN));
    assert!(!near(f32::MAX, f64::INFINITY) && !near(-INF, f64::INFINITY) && !near(1e-6, 0.0));
}

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
    let Some(device) = common::device() else {
        return;
    };
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
    let Some(device) = common::device() else {
        return;
    };
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
    let Some(device) = common::device() else {
        return;
    };
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
    let Some(device) = common::device() else {
        return;
    };
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
    let Some(device) = common::device() else {
        return;
    };
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
    let Some(device) = common::device() else {
        return;
    };
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

#[test]
fn predicates_answer_for_every_dtype() {
    let Some(device) = common::device() else {
        return;
    };
    let x = row(&device, &[1.0, NAN, INF, -INF, -0.0]);
    assert_eq!(bools(x.is_nan()), [false, true, false, false, false]);
    assert_eq!(bools(x.is_inf()), [false, false, true, true, false]);
    assert_eq!(bools(x.is_finite()), [true, false, false, false, true]);
    let ints = Tensor::from_slice(&device, &[i32::MIN, 0, 7], [3]).unwrap();
    assert_eq!(bools(ints.is_nan()), [false; 3]);
    assert_eq!(bools(ints.is_inf()), [false; 3]);
    assert_eq!(bools(ints.is_finite()), [true; 3]);
    assert_eq!(
        bools(x.t().unwrap().flip([0]).unwrap().is_nan()),
        [false, false, false, true, false]
    );
}

#[test]
fn closeness_follows_pytorch() {
    let Some(device) = common::device() else {
        return;
    };
    let a = row(&device, &[1.0, 1.0, INF, INF, NAN, 0.0, 1e9, 3e38]);
    let b = row(&device, &[1.000_001, 1.1, INF, 1.0, NAN, 1e-9, INF, -3e38]);
    let defaults = Closeness::default();
    assert_eq!(
        bools(a.isclose(&b, &defaults)),
        [true, false, true, false, false, true, false, false]
    );
    let with_nan = Closeness {
        equal_nan: true,
        ..defaults
    };
    assert_eq!(
        bools(a.isclose(&b, &with_nan)),
        [true, false, true, false, true, true, false, false]
    );
    let exact = Closeness {
        rtol: 0.0,
        atol: 0.0,
        equal_nan: false,
    };
    let ints = Tensor::from_slice(&device, &[16_777_216i32, 5], [2]).unwrap();
    let more = Tensor::from_slice(&device, &[16_777_217i32, 5], [2]).unwrap();
    assert_eq!(bools(ints.isclose(&more, &exact)), [false, true]);
    let error = a
        .isclose(
            &b,
            &Closeness {
                rtol: -1.0,
                ..defaults
            },
        )
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "isclose: rtol must be at least 0: it is -1"
    );
}

#[test]
fn masks_fill_in_the_dtype_of_the_tensor() {
    let Some(device) = common::device() else {
        return;
    };
    let half = row(&device, &[1.0, 2.0]).to_dtype(DType::F16).unwrap();
    let mask = Tensor::from_slice(&device, &[true, false], [2]).unwrap();
    let filled = half.masked_fill(&mask, -INF).unwrap();
    assert_eq!(filled.dtype(), DType::F16);
    assert_eq!(floats(filled.to_dtype(DType::F32)), [-INF, 2.0]);
    let of_rank_0 = Tensor::from_value(&device, 5.0f32).unwrap();
    assert_eq!(
        half.masked_fill(&mask, &of_rank_0).unwrap().dtype(),
        DType::F16
    );
    let ints = Tensor::from_slice(&device, &[1i32, 2], [2]).unwrap();
    assert!(ints.masked_fill(&mask, 0.5).unwrap_err().is_dtype());
    assert!(ints.masked_fill(&ints, 1).unwrap_err().is_dtype());
    let byte = ints.to_dtype(DType::U8).unwrap();
    assert!(byte.masked_fill(&mask, 300).unwrap_err().is_argument());
}

#[test]
fn what_is_no_number_becomes_one() {
    let Some(device) = common::device() else {
        return;
    };
    let x = row(&device, &[NAN, INF, -INF, 1.0]);
    assert_eq!(floats(x.nan_to_num()), [0.0, f32::MAX, f32::MIN, 1.0]);
    assert_eq!(
        floats(x.nan_to_num_with(2.0, Some(3.0), Some(-3.0))),
        [2.0, 3.0, -3.0, 1.0]
    );
    let half = x.to_dtype(DType::F16).unwrap().nan_to_num().unwrap();
    assert_eq!(half.dtype(), DType::F16);
    assert_eq!(
        floats(half.to_dtype(DType::F32)),
        [0.0, 65_504.0, -65_504.0, 1.0]
    );
    assert_eq!(
        x.nan_to_num().unwrap().explain().unwrap().kernels().len(),
        1
    );
}

#[test]
fn ternary_functions_round_once_and_meet_their_ends() {
    let Some(device) = common::device() else {
        return;
    };
    let (a, b) = (row(&device, &[0.1, 1e8]), row(&device, &[0.7, -1e8]));
    assert_eq!(floats(a.lerp(&b, 1.0)), [0.7, -1e8]);
    assert_eq!(floats(a.lerp(&b, 0.0)), [0.1, 1e8]);
    let weight = row(&device, &[1.0, 0.0]);
    assert_eq!(floats(a.lerp(&b, &weight)), [0.7, 1e8]);
    assert_eq!(
        floats(
            a.lerp(&b, row(&device, &[0.5, 0.5]))
                .and_then(|x| x.mul(10.0))
        )[1],
        0.0
    );
    let half = |values: &[f32]| row(&device, values).to_dtype(DType::F16).unwrap();
    // 2048 + 1.5 · 1 is 2049.5: rounded once 2050, with a rounded product too.
    let (base, x, y) = (
        half(&[2048.0]),
        half(&[1.0 + 1.0 / 1024.0]),
        half(&[1023.0]),
    );
    let once = f16::from_f64(2048.0 + (1.0 + 1.0 / 1024.0) * 1023.0);
    let got = base.addcmul(&x, &y, 1).unwrap();
    assert_eq!(got.to_vec_blocking::<f16>().unwrap(), [once]);
    assert_eq!(floats(a.addcdiv(&a, &a, 2.0))[0], 2.1);
    let ints = Tensor::from_slice(&device, &[7i32, -7], [2]).unwrap();
    assert_eq!(
        ints.addcmul(&ints, &ints, 2)
            .unwrap()
            .to_vec_blocking::<i32>()
            .unwrap(),
        [105, 91]
    );
    assert!(ints.addcdiv(&ints, &ints, 1).unwrap_err().is_dtype());
    assert!(ints.lerp(&ints, 1).unwrap_err().is_dtype());
    assert!(
        a.lerp(&row(&device, &[1.0, 2.0, 3.0]), 0.5)
            .unwrap_err()
            .is_shape()
    );
}

#[test]
fn remainders_powers_and_angles_take_numbers_and_tensors() {
    let Some(device) = common::device() else {
        return;
    };
    let a = row(&device, &[-7.5, 7.5]);
    assert_eq!(floats(a.floor_divide(2)), [-4.0, 3.0]);
    assert_eq!(floats(a.remainder(2)), [0.5, 1.5]);
    assert_eq!(floats(a.fmod(2)), [-1.5, 1.5]);
    assert_eq!(floats(a.hypot(4.0))[0], 8.5);
    assert!(near(floats(a.atan2(&a))[1], std::f64::consts::FRAC_PI_4));
    assert_eq!(floats(a.fmax(NAN)), [-7.5, 7.5]);
    assert_eq!(floats(a.fmin(0.0)), [-7.5, 0.0]);
    let ints = Tensor::from_slice(&device, &[3i32, 4], [2]).unwrap();
    assert_eq!(ints.hypot(&ints).unwrap().dtype(), DType::F32);
    assert_eq!(ints.fmax(&ints).unwrap().dtype(), DType::I32);
    assert_eq!(
        ints.rpow(2).unwrap().to_vec_blocking::<i32>().unwrap(),
        [8, 16]
    );
    assert_eq!(
        ints.shift_left(30)
            .unwrap()
            .to_vec_blocking::<i32>()
            .unwrap(),
        [3 << 30, 0]
    );
    assert_eq!(
        ints.shift_right(1)
            .unwrap()
            .to_vec_blocking::<i32>()
            .unwrap(),
        [1, 2]
    );
    assert!(a.shift_left(1).unwrap_err().is_dtype());
    let flags = Tensor::from_slice(&device, &[true, false], [2]).unwrap();
    assert!(flags.floor_divide(&flags).unwrap_err().is_dtype());
    assert!(flags.remainder(&flags).unwrap_err().is_dtype());
}

#[test]
fn bytes_are_seen_as_other_dtypes_without_a_copy() {
    let Some(device) = common::device() else {
        return;
    };
    let a = Tensor::arange(&device, 0, 24, 1, DType::I32)
        .unwrap()
        .reshape([2, 3, 4])
        .unwrap();
    let bytes = a.bitcast(DType::U8).unwrap();
    assert_eq!(bytes.dims(), [2, 3, 16]);
    let back = bytes.bitcast(DType::I32).unwrap();
    assert_eq!(
        back.to_vec_blocking::<i32>().unwrap(),
        (0..24).collect::<Vec<i32>>()
    );
    let halves = a.bitcast(DType::BF16).unwrap();
    assert_eq!(halves.dims(), [2, 3, 8]);
    // Views keep their strides and offsets.
    let view = a.permute([1, 0, 2]).unwrap().narrow(0, 1, 2).unwrap();
    let seen = view.bitcast(DType::U8).unwrap().select(2, 0).unwrap();
    assert_eq!(seen.to_vec_blocking::<u8>().unwrap(), [4, 16, 8, 20]);
    let flipped = a
        .flip([0])
        .unwrap()
        .bitcast(DType::F32)
        .unwrap()
        .bitcast(DType::U32)
        .unwrap();
    assert_eq!(flipped.to_vec_blocking::<u32>().unwrap()[0], 12);
    // Of no elements there is nothing whose order could be wrong.
    let none = a.narrow(0, 0, 0).unwrap().flip([-1]).unwrap();
    assert_eq!(none.bitcast(DType::U8).unwrap().dims(), [0, 3, 16]);
    // NaN payloads survive; what is pending is computed first.
    let bits = Tensor::from_slice(&device, &[0x7fc0_1234u32, 5], [2]).unwrap();
    let nan = bits.bitcast(DType::F32).unwrap();
    assert!(floats(Ok(nan.clone()))[0].is_nan());
    assert_eq!(
        nan.bitcast(DType::U32)
            .unwrap()
            .to_vec_blocking::<u32>()
            .unwrap(),
        [0x7fc0_1234, 5]
    );
    assert_eq!(
        (&bits + 1)
            .unwrap()
            .bitcast(DType::I32)
            .unwrap()
            .to_vec_blocking::<i32>()
            .unwrap(),
        [0x7fc0_1235, 6]
    );
    let flags = Tensor::from_slice(&device, &[true, false], [2]).unwrap();
    assert_eq!(
        flags
            .bitcast(DType::U8)
            .unwrap()
            .to_vec_blocking::<u8>()
            .unwrap(),
        [1, 0]
    );
    let empty = Tensor::zeros(&device, [0, 4], DType::U8).unwrap();
    assert_eq!(empty.bitcast(DType::F32).unwrap().dims(), [0, 1]);
}

#[test]
fn bitcasts_without_meaning_are_refused() {
    let Some(device) = common::device() else {
        return;
    };
    let a = Tensor::zeros(&device, [3, 6], DType::U8).unwrap();
    let error = a.bitcast(DType::Bool).unwrap_err();
    assert!(error.is_dtype());
    assert_eq!(
        error.to_string(),
        "bitcast: the bytes of a bool must be 0 or 1: use to_dtype to convert: it is u8"
    );
    for wrong in [
        a.bitcast(DType::F32),
        a.t().unwrap().bitcast(DType::F16),
        a.narrow(1, 1, 4).unwrap().bitcast(DType::F16),
        a.narrow(1, 0, 4).unwrap().bitcast(DType::F32),
        Tensor::from_value(&device, 1.0f32)
            .unwrap()
            .bitcast(DType::U8),
        a.slice_step(1, .., 2)
            .unwrap()
            .bitcast(DType::I8)
            .and_then(|x| x.bitcast(DType::F16)),
    ] {
        assert!(wrong.unwrap_err().is_shape());
    }
    assert_eq!(
        a.narrow(1, 2, 4)
            .unwrap()
            .bitcast(DType::F16)
            .unwrap()
            .dims(),
        [3, 2]
    );
}

#[test]
fn in_place_forms_change_one_variable_only() {
    let Some(device) = common::device() else {
        return;
    };
    let mut a = row(&device, &[1.0, -4.0]);
    let (copy, view) = (a.clone(), a.flip([0]).unwrap());
    a.mul_(2.0).unwrap();
    a.abs_().unwrap();
    a.sqrt_().unwrap();
    a.add_(&copy).unwrap();
    assert_eq!(
        floats(Ok(a.clone())),
        [2f32.sqrt() + 1.0, 8f32.sqrt() - 4.0]
    );
    assert_eq!(floats(Ok(copy)), [1.0, -4.0]);
    assert_eq!(floats(Ok(view)), [-4.0, 1.0]);
    a.clamp_(0.0, 1.0).unwrap();
    assert_eq!(floats(Ok(a.clone())), [1.0, 0.0]);
    let mask = a.gt(0.5).unwrap();
    a.masked_fill_(&mask, 9.0).unwrap();
    assert_eq!(floats(Ok(a.clone())), [9.0, 0.0]);
    a.fill_(3).unwrap();
    a.pow_(2).unwrap();
    assert_eq!(floats(Ok(a.clone())), [9.0, 9.0]);
    a.zero_().unwrap();
    assert_eq!(floats(Ok(a)), [0.0, 0.0]);
}

#[test]
fn in_place_forms_keep_shape_and_dtype() {
    let Some(device) = common::device() else {
        return;
    };
    let mut half = row(&device, &[1.0, 2.0]).to_dtype(DType::F16).unwrap();
    half.add_(row(&device, &[0.5, 0.5])).unwrap();
    assert_eq!(half.dtype(), DType::F16);
    let mut ints = Tensor::from_slice(&device, &[7i32, 8], [2]).unwrap();
    let error = ints.add_(0.5).unwrap_err();
    assert!(error.is_dtype());
    assert_eq!(
        error.to_string(),
        "add_: the result must not be of a higher category than the tensor that it is written to: f32 is written to i32"
    );
    assert!(ints.div_(2).unwrap_err().is_dtype());
    assert!(ints.sqrt_().unwrap_err().is_dtype());
    let error = ints
        .add_(Tensor::ones(&device, [3, 2], DType::I32).unwrap())
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "add_: the result must have the shape of the tensor that it is written to: [3, 2] is written to [2]"
    );
    assert_eq!(
        ints.to_vec_blocking::<i32>().unwrap(),
        [7, 8],
        "nothing has changed"
    );
    ints.floor_divide_(2).unwrap();
    assert_eq!(ints.to_vec_blocking::<i32>().unwrap(), [3, 4]);
}

/// PyTorch's table (`torch.promote_types`), with i32 for its i16 and for pairs whose result it gives as i64.
#[test]
fn promotion_is_the_documented_table() {
    let Some(device) = common::device() else {
        return;
    };
    use DType::{BF16, Bool, F16, F32, I8, I32, U8, U32};
    let order = [Bool, U8, I8, I32, U32, F16, BF16, F32];
    let table = [
        [Bool, U8, I8, I32, U32, F16, BF16, F32],
        [U8, U8, I32, I32, U32, F16, BF16, F32],
        [I8, I32, I8, I32, I32, F16, BF16, F32],
        [I32, I32, I32, I32, I32, F16, BF16, F32],
        [U32, U32, I32, I32, U32, F16, BF16, F32],
        [F16, F16, F16, F16, F16, F16, F32, F32],
        [BF16, BF16, BF16, BF16, BF16, F32, BF16, F32],
        [F32, F32, F32, F32, F32, F32, F32, F32],
    ];
    for (&a, expected) in order.iter().zip(&table) {
        for (&b, &expected) in order.iter().zip(expected) {
            let (x, y) = (
                Tensor::ones(&device, [2], a).unwrap(),
                Tensor::ones(&device, [2], b).unwrap(),
            );
            assert_eq!(x.maximum(&y).unwrap().dtype(), expected, "{a} with {b}");
        }
        for (number, expected) in [
            (Scalar::from(true), a),
            (Scalar::from(1), if a == Bool { I32 } else { a }),
            (Scalar::from(1.0), if a.is_float() { a } else { F32 }),
        ] {
            let x = Tensor::ones(&device, [2], a).unwrap();
            assert_eq!(
                x.maximum(number).unwrap().dtype(),
                expected,
                "{a} with {number:?}"
            );
        }
    }
}

#[test]
fn a_large_tensor_that_nobody_else_holds_is_written_over() {
    if common::device().is_none() {
        return;
    }
    // A device of its own, whose counters no other test moves.
    let device = Device::open_blocking(DeviceOptions::default()).unwrap();
    let allocations = || device.usage().allocations;
    let mut a = Tensor::ones(&device, [1 << 18], DType::F32).unwrap();
    let before = allocations();
    a.add_(1.0).unwrap();
    a.eval_blocking().unwrap();
    assert_eq!(allocations(), before, "written over");
    let held = a.clone();
    a.add_(1.0).unwrap();
    a.eval_blocking().unwrap();
    assert!(allocations() > before, "a clone keeps its values");
    assert_eq!(
        held.mean_all().unwrap().item_blocking::<f32>().unwrap(),
        2.0
    );
    assert_eq!(a.mean_all().unwrap().item_blocking::<f32>().unwrap(), 3.0);
}
