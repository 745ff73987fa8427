//! Scans by a user's own WGSL: like the built-in ones of the same operator, over every shape, layout and pass, and like the
//! CPU where there is no such operator.

use crate::common;
use crate::custom_op::{bits, numbers};
use crate::tensor_kernel::{devices, values, views};
use ziggurat_tensor::software::assert_clean;
use ziggurat_tensor::{CustomScan, DType, Device, ScanOptions, Tensor};

/// Each way to go, with and without the element itself.
const WAYS: [ScanOptions; 4] = [
    way(false, false),
    way(false, true),
    way(true, false),
    way(true, true),
];

const fn way(exclusive: bool, reverse: bool) -> ScanOptions {
    ScanOptions { exclusive, reverse }
}

/// The operator of the built-in sum, of one type.
fn total(ty: &str) -> CustomScan {
    let text = format!("fn combine(a: {ty}, b: {ty}) -> {ty} {{ return a + b; }}");
    let name = format!("total {ty}");
    if ty == "f32" {
        CustomScan::new(&name, 0.0, &text).unwrap()
    } else {
        CustomScan::new(&name, 0, &text).unwrap()
    }
}

/// `y[i] = y[i - 1] / 2 + x[i]`: a combination that is not commutative.
fn decay() -> CustomScan {
    CustomScan::from_wgsl(
        "decay",
        "struct acc { scale: f32, sum: f32 }
         fn identity() -> acc { return acc(1.0, 0.0); }
         fn lift(elem: f32) -> acc { return acc(0.5, elem); }
         fn combine(a: acc, b: acc) -> acc { return acc(a.scale * b.scale, a.sum * b.scale + b.sum); }
         fn finish(a: acc) -> f32 { return a.sum; }",
    )
    .unwrap()
}

/// The three last elements, the last one thousandfold: accumulators of three words, of integers, read from bool too.
fn last_three() -> CustomScan {
    CustomScan::from_wgsl(
        "last three",
        "struct Three { a: u32, b: u32, c: u32 }
         fn identity() -> Three { return Three(0u, 0u, 0u); }
         fn lift(x: u32) -> Three { return Three(0u, 0u, x + 1u); }
         fn combine(a: Three, b: Three) -> Three {
             if b.c == 0u { return a; }
             if b.b == 0u { return Three(a.b, a.c, b.c); }
             if b.a == 0u { return Three(a.c, b.b, b.c); }
             return b;
         }
         fn finish(v: Three) -> i32 { return i32(v.a + 100u * v.b + 10000u * v.c); }",
    )
    .unwrap()
}

/// One row as the CPU scans it: `next` of what was before and an element.
fn expected<T: Copy>(
    row: &[f32],
    options: ScanOptions,
    none: T,
    next: impl Fn(T, f32) -> T,
) -> Vec<T> {
    let mut all = vec![none; row.len()];
    let mut so_far = none;
    let order: Vec<usize> = if options.reverse {
        (0..row.len()).rev().collect()
    } else {
        (0..row.len()).collect()
    };
    for at in order {
        let with = next(so_far, row[at]);
        all[at] = if options.exclusive { so_far } else { with };
        so_far = with;
    }
    all
}

#[test]
fn it_has_the_bits_of_the_built_in_scan_of_the_same_operator() {
    for (at, device) in devices().iter().enumerate() {
        for (ty, dtype) in [
            ("f32", DType::F32),
            ("f32", DType::F16),
            ("f32", DType::BF16),
            ("i32", DType::I32),
            ("i32", DType::I8),
            ("i32", DType::U8),
            ("i32", DType::Bool),
            ("u32", DType::U32),
        ] {
            if at > 0 && ![DType::F32, DType::I8].contains(&dtype) {
                continue;
            }
            let raw = numbers(device, &[3, 5, 7], DType::F32);
            let raw = if dtype.is_float() {
                raw
            } else {
                raw.is_finite().unwrap().where_(&raw, 3.0).unwrap()
            };
            let raw = if dtype == DType::U32 {
                raw.abs().unwrap()
            } else {
                raw
            };
            for (number, x) in views(&raw.to_dtype(dtype).unwrap()).iter().enumerate() {
                for axis in 0..x.rank().max(1) as isize {
                    let options = WAYS[(number + axis as usize) % 4];
                    let (own, known) = (
                        total(ty).call_with(x, axis, options).unwrap(),
                        x.cumsum_with(axis, options).unwrap(),
                    );
                    assert_eq!((own.dims(), own.dtype()), (known.dims(), known.dtype()));
                    let place = format!("{dtype} {:?} {axis} {options:?}", x.dims());
                    assert_eq!(bits(&own), bits(&known), "{place}");
                }
            }
        }
    }
}

#[test]
fn order_is_kept_in_long_rows_of_many_words() {
    let device = common::device();
    for (dims, axis) in [([1, 50_001], 1), ([700, 3], 0), ([4, 333], 1), ([2, 0], 1)] {
        let len: usize = dims.iter().product();
        let raw: Vec<f32> = (0..len).map(|i| ((i * 29) % 97) as f32).collect();
        let x = Tensor::from_slice(&device, &raw, dims).unwrap();
        let rows = if axis == 1 { x.clone() } else { x.t().unwrap() };
        let rows = rows.to_vec2_blocking::<f32>().unwrap();
        let whole = x.to_dtype(DType::U32).unwrap();
        for options in WAYS {
            let halved = decay().call_with(&x, axis, options).unwrap();
            let last = last_three().call_with(&whole, axis, options).unwrap();
            assert_eq!((halved.dtype(), last.dtype()), (DType::F32, DType::I32));
            let turned = |tensor: &Tensor| {
                let tensor = if axis == 1 {
                    tensor.clone()
                } else {
                    tensor.t().unwrap()
                };
                tensor
                    .to_dtype(DType::F32)
                    .unwrap()
                    .to_vec2_blocking::<f32>()
                    .unwrap()
            };
            for ((row, got), three) in rows.iter().zip(turned(&halved)).zip(turned(&last)) {
                let sums = expected(row, options, 0.0, |sum, x| 0.5 * sum + x);
                for (at, (got, sum)) in got.iter().zip(&sums).enumerate() {
                    assert!(
                        (got - sum).abs() < 1e-3,
                        "{dims:?} {options:?} {at}: {got} {sum}"
                    );
                }
                let threes = expected(row, options, [0.0; 3], |[_, b, c], x| [b, c, x + 1.0]);
                let threes = threes.iter().map(|[a, b, c]| a + 100.0 * b + 10_000.0 * c);
                assert_eq!(three, threes.collect::<Vec<_>>(), "{dims:?} {options:?}");
            }
        }
    }
}

#[test]
fn rank_0_and_pending_expressions_and_captures() {
    let device = common::device();
    let one = Tensor::full(&device, [], 3.0, DType::F16).unwrap();
    let scanned = total("f32").call_with(&one, -1, way(true, false)).unwrap();
    assert_eq!((scanned.rank(), values(&scanned)), (0, vec![0.0]));
    let x = numbers(&device, &[9, 40], DType::F32);
    let chain = |x: &Tensor| decay().call(&x.mul(2.0)?, -1)?.add(1.0);
    let once = bits(&chain(&x).unwrap());
    let captured = device
        .capture(&[&x], |inputs| Ok(vec![chain(&inputs[0])?]))
        .unwrap();
    for _ in 0..2 {
        assert_eq!(bits(&captured.run(&[&x]).unwrap()[0]), once);
    }
}

#[test]
fn the_sanitizer_finds_nothing() {
    assert_clean(|device: &Device| {
        for (dims, axis) in [([2, 20_000], 1), ([300, 5], 0), ([3, 70], 1)] {
            let x = numbers(device, &dims, DType::F16);
            let whole = Tensor::ones(device, dims, DType::Bool).unwrap();
            for options in WAYS {
                drop(values(&decay().call_with(&x, axis, options).unwrap()));
                drop(values(
                    &last_three().call_with(&whole, axis, options).unwrap(),
                ));
            }
        }
    });
}

#[test]
fn mistakes_are_errors() {
    let device = common::device();
    let x = Tensor::ones(&device, [3], DType::F32).unwrap();
    assert!(total("f32").call(&x, 1).unwrap_err().is_shape());
    let error = total("i32").call(&x, 0).unwrap_err();
    assert!(error.is_dtype(), "{error}");
    assert!(
        error
            .to_string()
            .contains("total i32: its text is of i32, got a tensor of f32"),
        "{error}"
    );
    let error = CustomScan::new(
        "own",
        0.5,
        "fn combine(a: u32, b: u32) -> u32 { return a; }",
    );
    let error = error.unwrap_err();
    assert!(
        error.is_dtype() && error.to_string().contains("is of u32, the identity is 0.5"),
        "{error}"
    );
}
