//! Casts between all dtypes, copies between all arrangements, fills and generators.

use crate::common;
use crate::edge_values;
use crate::expect;
use crate::operands::{Arrangement, Expected, Random, check, given, output, random, shape};
use ziggurat_kernels::core::{decode, encode};
use ziggurat_kernels::reference::round_to;
use ziggurat_kernels::{DType, Executor, Layout, View};

const DIMS: [usize; 3] = [4, 3, 5];

fn cast_sweep(exec: &Executor) {
    for from in DType::ALL {
        let values = edge_values::edges(from);
        for to in DType::ALL {
            let a = given(exec, from, &[values.len()], &values);
            let out = output(exec, to, &[values.len()], 4);
            let _done = exec.cast(&a.view, &out.view).unwrap();
            let expected: Vec<Expected> =
                values.iter().map(|&x| expect::cast(from, to, x)).collect();
            let actual = out.read(exec);
            for ((x, e), got) in values.iter().zip(&expected).zip(&actual) {
                assert!(
                    *got == e.value || (got.is_nan() && e.value.is_nan()),
                    "{from} {x:?} to {to} is {got:?}, should be {:?}",
                    e.value
                );
            }
        }
    }
}

#[test]
fn casts_between_all_dtypes_follow_the_rules() {
    let exec = common::executor();
    cast_sweep(&exec);
}

#[test]
fn casts_hold_within_the_default_limits_and_without_features() {
    let exec = common::plain_executor();
    cast_sweep(&exec);
}

#[test]
fn every_f16_and_bf16_survives_widening_and_narrowing() {
    let exec = common::executor();
    for dtype in [DType::F16, DType::BF16] {
        let bytes: Vec<u8> = (0..=u16::MAX).flat_map(u16::to_le_bytes).collect();
        let a = exec.upload_bytes(dtype, &bytes, &shape(&[65_536])).unwrap();
        let wide = exec.alloc(a.shape(), DType::F32).unwrap();
        let back = exec.alloc(a.shape(), dtype).unwrap();
        let _done = exec.cast(&a, &wide).unwrap();
        let _done = exec.cast(&wide, &back).unwrap();
        let got = exec.download_many(&[&wide, &back]).unwrap().wait().unwrap();
        let widened = decode(DType::F32, &got[0]);
        for (i, (got, expected)) in widened.iter().zip(decode(dtype, &bytes)).enumerate() {
            assert!(
                *got == expected
                    || (got.is_nan() && expected.is_nan())
                    || (*got == 0.0 && expected.abs() < 1.2e-38),
                "{dtype} {i:#x} widens to {got}"
            );
        }
        for (i, (got, (before, bits))) in decode(dtype, &got[1])
            .iter()
            .zip(decode(dtype, &bytes).iter().zip(0..))
            .enumerate()
        {
            let _: u32 = bits;
            assert!(
                got == before
                    || (got.is_nan() && before.is_nan())
                    || (*got == 0.0 && before.abs() < 1.2e-38),
                "{dtype} {i:#x} comes back as {got}"
            );
        }
    }
}

#[test]
fn rounding_to_halves_is_exact_for_many_floats() {
    let exec = common::executor();
    let mut rng = Random(5);
    let values: Vec<f32> = (0..60_000)
        .map(|_| f32::from_bits(rng.bits() as u32))
        .filter(|x| x.is_normal() || x.is_nan())
        .collect();
    // Half of them in the range where f16 has something to round.
    let values: Vec<f32> = values
        .iter()
        .flat_map(|&x| [x, f32::from_bits((x.to_bits() & 0x87ff_ffff) | 0x3000_0000)])
        .collect();
    let a = exec.upload(&values, &shape(&[values.len()])).unwrap();
    for dtype in [DType::F16, DType::BF16] {
        let out = exec.alloc(a.shape(), dtype).unwrap();
        let _done = exec.cast(&a, &out).unwrap();
        let got = decode(dtype, &exec.download(&out).unwrap().wait().unwrap());
        let expected: Vec<Expected> = values
            .iter()
            .map(|&x| Expected::exact(round_to(dtype, f64::from(x))))
            .collect();
        check(&format!("f32 to {dtype}"), &got, &expected);
    }
}

/// A destination within a larger buffer: its layout, and which storage elements it touches.
fn destinations() -> Vec<Layout> {
    let whole = Layout::contiguous(shape(&[9, 7, 11]));
    let narrow = whole
        .narrow(0, 2, 4)
        .unwrap()
        .narrow(1, 1, 3)
        .unwrap()
        .narrow(2, 3, 5)
        .unwrap();
    let stepped = whole
        .slice(2, 1, None, 2)
        .unwrap()
        .narrow(0, 1, 4)
        .unwrap()
        .narrow(1, 0, 3)
        .unwrap();
    let flipped = narrow.flip(&[0, 2]).unwrap();
    let odd = Layout::contiguous(shape(&[200]))
        .narrow(0, 5, 60)
        .unwrap()
        .reshape(shape(&DIMS))
        .unwrap()
        .unwrap();
    let transposed = Layout::contiguous(shape(&[5, 3, 4]))
        .permute(&[2, 1, 0])
        .unwrap();
    vec![
        Layout::contiguous(shape(&DIMS)),
        narrow,
        stepped,
        flipped,
        odd,
        transposed,
    ]
}

#[test]
fn copies_between_any_strides_keep_what_lies_around() {
    let exec = common::executor();
    let mut rng = Random(6);
    for dtype in DType::ALL {
        for destination in destinations() {
            for arrangement in Arrangement::ALL {
                let a = random(&exec, dtype, &DIMS, arrangement, &mut rng);
                let mut storage: Vec<f64> = (0..9 * 7 * 11).map(|_| rng.value(dtype)).collect();
                let whole = exec
                    .upload_bytes(dtype, &encode(dtype, &storage), &shape(&[storage.len()]))
                    .unwrap();
                let _done = exec
                    .copy(&a.view, &whole.with_layout(destination).unwrap())
                    .unwrap();
                for (at, value) in destination.offsets().zip(&a.values) {
                    storage[at] = *value;
                }
                let expected: Vec<Expected> = storage.iter().map(|&x| Expected::exact(x)).collect();
                let got = decode(dtype, &exec.download(&whole).unwrap().wait().unwrap());
                check(
                    &format!("{dtype} {arrangement:?} to {destination:?}"),
                    &got,
                    &expected,
                );
            }
        }
    }
}

#[test]
fn rows_of_packed_elements_move_by_words_and_by_vectors() {
    let exec = common::executor();
    let mut rng = Random(16);
    let columns = |view: &View, from: usize, len: usize| {
        let layout = view.layout.narrow(2, from, len).unwrap();
        view.with_layout(layout.flip(&[0]).unwrap()).unwrap()
    };
    let dims = [3, 5, 96];
    for dtype in DType::ALL {
        let a = random(&exec, dtype, &dims, Arrangement::Contiguous, &mut rng);
        for (from, to, len) in [
            (0, 32, 64),
            (16, 48, 16),
            (8, 24, 24),
            (4, 16, 8),
            (16, 4, 32),
            (1, 16, 32),
        ] {
            let source = columns(&a.view, from, len);
            let values: Vec<f64> = source.layout.offsets().map(|at| a.values[at]).collect();
            // A part of something larger, then memory of its own.
            let mut storage: Vec<f64> = (0..a.values.len()).map(|_| rng.value(dtype)).collect();
            let whole = exec
                .upload_bytes(dtype, &encode(dtype, &storage), &shape(&dims))
                .unwrap();
            let target = columns(&whole, to, len);
            let _done = exec.copy(&source, &target).unwrap();
            for (at, value) in target.layout.offsets().zip(&values) {
                storage[at] = *value;
            }
            let own = output(&exec, dtype, &[3, 5, len], 16);
            let _done = exec.copy(&source, &own.view).unwrap();
            let got = decode(dtype, &exec.download(&whole).unwrap().wait().unwrap());
            let exact = |values: &[f64]| {
                values
                    .iter()
                    .map(|&x| Expected::exact(x))
                    .collect::<Vec<_>>()
            };
            check(
                &format!("{dtype} {from} to {to}, {len}"),
                &got,
                &exact(&storage),
            );
            check(
                &format!("{dtype} {from}, {len}"),
                &own.read(&exec),
                &exact(&values),
            );
        }
    }
}

#[test]
fn copies_keep_the_payload_of_a_nan() {
    let exec = common::executor();
    let bits: Vec<u32> = vec![
        0x7fc1_2345,
        0xff80_0001,
        0x0000_0001,
        0x8000_0000,
        0x7f80_0001,
    ];
    let bytes: Vec<u8> = bits.iter().flat_map(|word| word.to_le_bytes()).collect();
    let a = exec.upload_bytes(DType::F32, &bytes, &shape(&[5])).unwrap();
    let out = exec.alloc(a.shape(), DType::F32).unwrap();
    let reversed = |view: &View| view.with_layout(view.layout.flip(&[0]).unwrap()).unwrap();
    let _done = exec.copy(&reversed(&a), &reversed(&out)).unwrap();
    assert_eq!(exec.download(&out).unwrap().wait().unwrap(), bytes);
}

#[test]
fn downloads_of_strided_views_are_row_major() {
    let exec = common::executor();
    let mut rng = Random(7);
    for dtype in DType::ALL {
        for arrangement in Arrangement::ALL {
            for dims in [&DIMS[..], &[], &[17], &[3, 0]] {
                let a = random(&exec, dtype, dims, arrangement, &mut rng);
                let got = decode(dtype, &exec.download(&a.view).unwrap().wait().unwrap());
                assert_eq!(got, a.values, "{dtype} {arrangement:?} {dims:?}");
            }
        }
    }
}

#[test]
fn fill_sets_every_element_and_no_other() {
    let exec = common::executor();
    for dtype in DType::ALL {
        let value = round_to(dtype, -3.25);
        for len in [0, 1, 2, 3, 4, 5, 7, 1025] {
            for front in [0, 1, 4] {
                let out = output(&exec, dtype, &[len], front);
                let _done = exec.fill(&out.view, value).unwrap();
                assert_eq!(
                    out.read(&exec),
                    vec![value; len],
                    "{dtype} {len} after {front}"
                );
            }
        }
        let out = output(&exec, dtype, &[6, 4], 0);
        let _done = exec.fill(&out.view, value).unwrap();
        let column = out
            .view
            .with_layout(out.view.layout.narrow(1, 1, 2).unwrap())
            .unwrap();
        let _done = exec.fill(&column, 1.0).unwrap();
        let row = [value, 1.0, 1.0, value];
        assert_eq!(out.read(&exec), row.repeat(6), "{dtype} column");
    }
}

#[test]
fn arange_counts_in_every_dtype() {
    let exec = common::executor();
    for dtype in DType::ALL.into_iter().filter(|dtype| !dtype.is_bool()) {
        let (start, step) = if dtype.is_signed() {
            (-3.0, 2.0)
        } else {
            (1.0, 2.0)
        };
        let out = output(&exec, dtype, &[3, 7], 4);
        let _done = exec.arange(&out.view, start, step).unwrap();
        let expected: Vec<f64> = (0..21).map(|i| start + step * f64::from(i)).collect();
        assert_eq!(out.read(&exec), expected, "{dtype}");
    }
    let out = output(&exec, DType::F32, &[10], 1);
    let _done = exec.arange(&out.view, 0.0, 0.1).unwrap();
    let expected: Vec<Expected> = (0..10)
        .map(|i| Expected {
            value: f64::from(i) * 0.1,
            bound: 1e-7,
        })
        .collect();
    check("arange by 0.1", &out.read(&exec), &expected);
    assert!(
        exec.arange(&output(&exec, DType::Bool, &[2], 0).view, 0.0, 1.0)
            .is_err()
    );
}

#[test]
fn eye_marks_the_diagonal() {
    let exec = common::executor();
    for dtype in DType::ALL {
        for (rows, cols, k) in [
            (3, 3, 0),
            (3, 5, 1),
            (5, 3, -2),
            (2, 2, 9),
            (1, 1, 0),
            (0, 4, 0),
            (4, 4, i64::MIN),
        ] {
            let out = output(&exec, dtype, &[rows, cols], 4);
            let _done = exec.eye(&out.view, k).unwrap();
            let expected: Vec<f64> = (0..rows as i64)
                .flat_map(|row| {
                    (0..cols as i64)
                        .map(move |col| f64::from(u8::from(Some(col) == row.checked_add(k))))
                })
                .collect();
            assert_eq!(out.read(&exec), expected, "{dtype} {rows}x{cols} {k}");
        }
    }
    assert!(
        exec.eye(&output(&exec, DType::F32, &[2], 0).view, 0)
            .is_err()
    );
}
