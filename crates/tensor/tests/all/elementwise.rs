//! Elementwise functions, activations, bitcasts and in-place forms through the public interface.
mod activations;
mod bytes;

use crate::common;
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

#[test]
fn predicates_answer_for_every_dtype() {
    let device = common::device();
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
    let device = common::device();
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
    let device = common::device();
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
    let device = common::device();
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
    let device = common::device();
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
    let device = common::device();
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

/// PyTorch's table (`torch.promote_types`), with i32 for its i16 and for pairs whose result it gives as i64.
#[test]
fn promotion_is_the_documented_table() {
    let device = common::device();
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
