//! The cast table of the semantics contract, and bytes there and back.

use super::*;

/// Equality that tells −0 from 0 and lets NaN equal NaN.
fn same(a: f64, b: f64) -> bool {
    (a.is_nan() && b.is_nan()) || a.to_bits() == b.to_bits()
}

fn assert_casts(dtype: DType, cases: &[(f64, f64)]) {
    for &(value, want) in cases {
        let got = decode(dtype, &encode(dtype, &[value]));
        assert_eq!(got.len(), 1);
        assert!(
            same(got[0], want),
            "{value:?} as {dtype}: {got:?}, not {want:?}"
        );
    }
}

const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;

#[test]
fn the_comparison_of_casts_can_fail() {
    assert!(!same(0.0, -0.0) && !same(1.0, NAN) && !same(NAN, 1.0) && !same(1.0, 2.0));
    assert!(same(NAN, -NAN) && same(INF, INF));
}

#[test]
fn casts_to_f32_round_to_even() {
    assert_casts(
        DType::F32,
        &[
            (16_777_217.0, 16_777_216.0),
            (16_777_219.0, 16_777_220.0),
            (-0.0, -0.0),
            (1e39, INF),
            (-1e39, -INF),
            (NAN, NAN),
            (1e-40, f64::from(1e-40_f32)),
        ],
    );
}

#[test]
fn casts_to_f16_round_once_and_overflow_to_infinity() {
    assert_casts(
        DType::F16,
        &[
            (65504.0, 65504.0),
            (65504.0 + 15.0, 65504.0),
            (65519.0, 65504.0),
            (65520.0, INF),
            (65504.0 + 32.0, INF),
            (-65520.0, -INF),
            (1.0 + 2_f64.powi(-11), 1.0),
            (1.0 + 3.0 * 2_f64.powi(-11), 1.0 + 2_f64.powi(-9)),
            (6e-8, 2_f64.powi(-24)),
            (2_f64.powi(-25), 0.0),
            (-2_f64.powi(-26), -0.0),
            (INF, INF),
            (NAN, NAN),
        ],
    );
}

#[test]
fn casts_to_bf16_round_once_and_overflow_to_infinity() {
    assert_casts(
        DType::BF16,
        &[
            (1.0 + 2_f64.powi(-8), 1.0),
            (1.0 + 3.0 * 2_f64.powi(-8), 1.015_625),
            (3.4e38, INF),
            (-3.4e38, -INF),
            (3.39e38, bf16::MAX.to_f64()),
            (NAN, NAN),
            (-0.0, -0.0),
        ],
    );
}

#[test]
fn casts_to_integers_truncate_saturate_and_take_nan_to_zero() {
    assert_casts(
        DType::I32,
        &[
            (1.9, 1.0),
            (-1.9, -1.0),
            (NAN, 0.0),
            (3e9, 2_147_483_647.0),
            (-3e9, -2_147_483_648.0),
            (INF, 2_147_483_647.0),
            (-INF, -2_147_483_648.0),
            (-0.0, 0.0),
        ],
    );
    assert_casts(
        DType::U32,
        &[(-1.0, 0.0), (5e9, 4_294_967_295.0), (NAN, 0.0), (0.99, 0.0)],
    );
    assert_casts(
        DType::U8,
        &[
            (-1.0, 0.0),
            (300.7, 255.0),
            (255.9, 255.0),
            (NAN, 0.0),
            (INF, 255.0),
        ],
    );
    assert_casts(
        DType::I8,
        &[
            (-129.0, -128.0),
            (127.9, 127.0),
            (300.7, 127.0),
            (NAN, 0.0),
            (-INF, -128.0),
        ],
    );
}

#[test]
fn casts_to_bool_ask_whether_it_is_not_zero() {
    assert_casts(
        DType::Bool,
        &[
            (NAN, 1.0),
            (0.5, 1.0),
            (-0.0, 0.0),
            (0.0, 0.0),
            (-3.0, 1.0),
            (1e-300, 1.0),
        ],
    );
}

#[test]
fn storage_is_little_endian() {
    assert_eq!(
        encode(DType::F32, &[1.0, -2.0]),
        [0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0]
    );
    assert_eq!(encode(DType::F16, &[-2.0]), [0x00, 0xc0]);
    assert_eq!(encode(DType::BF16, &[-2.0]), [0x00, 0xc0]);
    assert_eq!(encode(DType::I32, &[-2.0]), [0xfe, 0xff, 0xff, 0xff]);
    assert_eq!(encode(DType::U32, &[258.0]), [2, 1, 0, 0]);
    assert_eq!(encode(DType::U8, &[200.0]), [200]);
    assert_eq!(encode(DType::I8, &[-2.0]), [0xfe]);
    assert_eq!(encode(DType::Bool, &[2.0, 0.0]), [1, 0]);
}

#[test]
fn every_pattern_of_the_narrow_types_survives() {
    for bits in 0..=u16::MAX {
        let bytes = bits.to_le_bytes();
        for dtype in [DType::F16, DType::BF16] {
            let values = decode(dtype, &bytes);
            let back = encode(dtype, &values);
            if values[0].is_nan() {
                assert!(decode(dtype, &back)[0].is_nan(), "{dtype} {bits:#06x}");
            } else {
                assert_eq!(back, bytes, "{dtype} {bits:#06x}");
            }
        }
    }
    for byte in 0..=u8::MAX {
        for dtype in [DType::U8, DType::I8] {
            assert_eq!(encode(dtype, &decode(dtype, &[byte])), [byte]);
        }
        assert_eq!(
            decode(DType::Bool, &[byte]),
            [f64::from(u8::from(byte != 0))]
        );
    }
}

#[test]
fn partial_elements_at_the_end_are_ignored() {
    let bytes = [1_u8; 11];
    for dtype in DType::ALL {
        for len in 0..=bytes.len() {
            let values = decode(dtype, &bytes[..len]);
            assert_eq!(values.len(), len / dtype.bytes(), "{dtype}, {len} bytes");
        }
    }
}

#[test]
fn bytes_need_no_alignment() {
    let bytes: Vec<u8> = (0..33).collect();
    for start in 0..4 {
        let got = u32::read_bytes(&bytes[start..start + 8]);
        let first = u32::from_le_bytes([0, 1, 2, 3].map(|i| bytes[start + i]));
        assert_eq!(got.len(), 2);
        assert_eq!(got[0], first);
    }
}

#[test]
fn typed_values_survive_with_their_dtype() {
    fn check<T: Element>(dtype: DType, values: &[T]) {
        assert_eq!(T::DTYPE, dtype);
        let bytes = T::write_bytes(values);
        assert_eq!(bytes.len(), values.len() * dtype.bytes());
        assert_eq!(T::read_bytes(&bytes), values);
        let through: Vec<T> = values.iter().map(|v| T::from_f64(v.to_f64())).collect();
        assert_eq!(through, values);
        assert!(T::read_bytes(&T::write_bytes(&[])).is_empty());
    }
    check(
        DType::F32,
        &[0.0, -1.5, f32::MIN_POSITIVE, f32::MAX, f32::INFINITY],
    );
    check(
        DType::F16,
        &[f16::ONE, f16::MAX, f16::MIN_POSITIVE_SUBNORMAL],
    );
    check(
        DType::BF16,
        &[bf16::ONE, bf16::MAX, bf16::MIN_POSITIVE_SUBNORMAL],
    );
    check(DType::I32, &[i32::MIN, -1, 0, i32::MAX]);
    check(DType::U32, &[0, 1, u32::MAX]);
    check(DType::U8, &[0_u8, 255]);
    check(DType::I8, &[-128_i8, 127]);
    check(DType::Bool, &[true, false]);
}
