//! Elementwise operations of a user's own WGSL: dtypes, views, fusion, names, captures, and what is refused.

use std::time::{Duration, Instant};

use crate::common;
use crate::tensor_kernel::{devices, values, views};
use ziggurat_tensor::software::assert_clean;
use ziggurat_tensor::{
    CustomOp, DType, Device, DeviceOptions, Error, FusionPolicy, Operand, Tensor,
};

mod fused;
mod refusals;

use fused::{few_bindings, neighbours};

const FLOATS: [DType; 3] = [DType::F32, DType::F16, DType::BF16];

fn op(name: &str, text: &str) -> CustomOp {
    CustomOp::elementwise(name, text).unwrap()
}

/// Several roundings, so that a compiler could contract them.
fn curve() -> CustomOp {
    op(
        "curve",
        "fn apply(x: f32, y: f32, k: f32) -> f32 { return x * y + bend(k * x); }
         const SLOPE: f32 = 0.3;
         fn bend(x: f32) -> f32 { return x * SLOPE - x * x * 0.01; }",
    )
}

/// Either of two numbers: exact.
fn either() -> CustomOp {
    op(
        "either",
        "fn apply(x: f32, y: f32, k: f32) -> f32 { if x > k { return x; } return y; }",
    )
}

/// Numbers of all kinds.
pub(crate) fn numbers(device: &Device, dims: &[usize], dtype: DType) -> Tensor {
    let odd = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.0, 1e-40, 6e4];
    let len = dims.iter().product::<usize>();
    let values: Vec<f32> = (0..len)
        .map(|i| match i % 37 {
            13 => *odd.get(i / 37 % odd.len()).unwrap(),
            other => (other as f32 * 0.61 - 9.3) * (1.0 + i as f32 * 0.013),
        })
        .collect();
    let x = Tensor::from_slice(device, &values, dims).unwrap();
    x.to_dtype(dtype).unwrap()
}

/// The bits of the values, NaNs alike.
pub(crate) fn bits(tensor: &Tensor) -> Vec<u32> {
    let all = values(tensor).into_iter();
    all.map(|x| {
        if x.is_nan() {
            f32::NAN.to_bits()
        } else {
            x.to_bits()
        }
    })
    .collect()
}

#[test]
fn every_float_and_view_is_an_operand() {
    for device in devices() {
        for dtype in FLOATS {
            for x in views(&numbers(&device, &[3, 5, 7], dtype)) {
                let y = x.neg().unwrap();
                let z = either().call(&[&x, &y, &0.5]).unwrap();
                let expected = x.gt(0.5).unwrap().where_(&x, &y).unwrap();
                assert_eq!((z.dims(), z.dtype()), (x.dims(), dtype));
                assert_eq!(bits(&z), bits(&expected), "{dtype} {:?}", x.dims());
            }
        }
    }
}

#[test]
fn operands_broadcast_and_have_the_dtypes_of_their_parameters() {
    let device = common::device();
    let x = numbers(&device, &[2, 1, 3], DType::F16);
    let y = numbers(&device, &[4, 1], DType::BF16);
    let dtype = |operands: [&dyn Operand; 3]| either().call(&operands).unwrap().dtype();
    assert_eq!(either().call(&[&x, &y, &1]).unwrap().dims(), [2, 4, 3]);
    assert_eq!(dtype([&x, &x, &1.5]), DType::F16, "numbers have no dtype");
    assert_eq!(dtype([&x, &y, &1.5]), DType::F32);
    let whole = Tensor::arange(&device, 0, 4, 1, DType::I32).unwrap();
    let column = whole.reshape([4, 1]).unwrap();
    assert_eq!(
        dtype([&x, &column, &0]),
        DType::F16,
        "integers are converted"
    );
    assert_eq!(dtype([&column, &1, &2]), DType::F32);
    let scalar = Tensor::from_slice(&device, &[2.0f32], [0; 0]).unwrap();
    assert_eq!(
        dtype([&x, &scalar, &0]),
        DType::F16,
        "a rank-0 tensor yields"
    );

    let wide = op(
        "wide",
        "fn apply(x: i32, y: i32) -> i32 { return x * 100 + y; }",
    );
    let narrow = Tensor::from_slice(&device, &[1i8, 2, -128], [3]).unwrap();
    let wrapped = wide.call(&[&narrow, &7]).unwrap();
    assert_eq!(wrapped.dtype(), DType::I8);
    assert_eq!(wrapped.to_vec_blocking::<i8>().unwrap(), [107, -49, 7]);
    let sum = wide
        .call(&[&narrow, &whole.slice(0, 1..).unwrap()])
        .unwrap();
    assert_eq!(sum.to_vec_blocking::<i32>().unwrap(), [101, 202, -12797]);

    let near = op(
        "near",
        "fn apply(x: f32, n: u32, on: bool) -> bool { return on && abs(x - f32(n)) < 0.5; }",
    );
    let n = Tensor::from_slice(&device, &[1u8, 2, 200], [3]).unwrap();
    let x = Tensor::from_slice(&device, &[1.25f32, 2.75, 200.0], [3]).unwrap();
    let on = Tensor::from_slice(&device, &[true, true, false], [3]).unwrap();
    let hit = near.call(&[&x, &n, &on]).unwrap();
    assert_eq!(hit.to_vec_blocking::<bool>().unwrap(), [true, false, false]);
    let hit = near.call(&[&x, &n, &true]).unwrap().logical_not().unwrap();
    assert_eq!(hit.to_vec_blocking::<bool>().unwrap(), [false, true, false]);
}

/// Of so many operands, each of another weight.
fn weighed(count: usize) -> CustomOp {
    let names: Vec<String> = (0..count).map(|at| format!("x{at}")).collect();
    let params: Vec<String> = names.iter().map(|name| format!("{name}: f32")).collect();
    let terms: Vec<String> = (1..)
        .zip(&names)
        .map(|(at, name)| format!("{at}.0 * {name}"))
        .collect();
    let text = format!(
        "fn apply({}) -> f32 {{ return {}; }}",
        params.join(", "),
        terms.join(" + ")
    );
    op(&format!("weighed {count}"), &text)
}

#[test]
fn up_to_eight_operands() {
    for device in devices() {
        let all: Vec<Tensor> = (0..6)
            .map(|at| {
                let dims = if at % 2 == 0 { [4, 6] } else { [1, 6] };
                let x = numbers(&device, &dims, FLOATS[at % 3]);
                let x = x.is_finite().unwrap().where_(&x, 0.5).unwrap();
                if at % 3 == 0 { x.flip([1]).unwrap() } else { x }
            })
            .collect();
        for count in 4..=8 {
            let own = weighed(count);
            let mut expected = all[0].to_dtype(DType::F32).unwrap();
            for (at, x) in all.iter().enumerate().take(count).skip(1) {
                expected = x
                    .to_dtype(DType::F32)
                    .unwrap()
                    .mul(at as i32 + 1)
                    .unwrap()
                    .add(&expected)
                    .unwrap();
            }
            // Numbers besides as many tensors as every kernel can read.
            for at in 7..=count {
                expected = expected.add(at as f32 * 0.25).unwrap();
            }
            let mut operands: Vec<&dyn Operand> =
                all.iter().take(count).map(|x| x as &dyn Operand).collect();
            operands.resize(count, &0.25);
            let result = own.call(&operands).unwrap();
            let sum = result.sum([1], false).unwrap().relu().unwrap();
            assert_eq!(sum.explain().unwrap().kernels().len(), 1, "{count}");
            for (got, wanted) in values(&result).iter().zip(values(&expected)) {
                assert!(
                    (got - wanted).abs() <= 1e-4 * wanted.abs().max(10.0),
                    "{count}: {got} {wanted}"
                );
            }
            // The same ops and leaves in another order are another kernel, also where plans are remembered.
            let turned: Vec<&dyn Operand> = operands.iter().rev().copied().collect();
            let other = own.call(&turned).unwrap();
            assert_ne!(bits(&other), bits(&result));
            assert_eq!(bits(&own.call(&operands).unwrap()), bits(&result));
            let _unfused = FusionPolicy::Unfused.enter();
            assert_eq!(bits(&own.call(&operands).unwrap()), bits(&result));
            // Other numbers, of a plan that is remembered.
            if count > all.len() {
                let mut others = operands.clone();
                others[count - 1] = &0.5;
                let moved = own.call(&others).unwrap();
                let _fused = FusionPolicy::Fused.enter();
                assert_eq!(bits(&moved), bits(&own.call(&others).unwrap()));
                assert_ne!(bits(&moved), bits(&result));
            }
        }
    }
}

#[test]
fn more_tensors_than_a_kernel_binds_are_an_error() {
    let device = few_bindings();
    let all: Vec<Tensor> = (0..8)
        .map(|at| Tensor::full(&device, [3], f64::from(at), DType::F32).unwrap())
        .collect();
    let operands: Vec<&dyn Operand> = all.iter().map(|x| x as &dyn Operand).collect();
    // As many as WebGPU's default limits have room for beside the result.
    let most = weighed(6).call(&operands[..6]).unwrap();
    assert_eq!(values(&most), [70.0; 3]);
    let error = weighed(8).call(&operands).unwrap_err();
    assert!(
        error.is_argument()
            && error
                .to_string()
                .contains("reads 8 tensors; a kernel of this device reads at most"),
        "{error}"
    );
    let again: Vec<&dyn Operand> = operands
        .iter()
        .take(4)
        .chain(operands.iter().take(4))
        .copied()
        .collect();
    let result = weighed(8).call(&again).unwrap();
    assert_eq!(values(&result), [64.0; 3]);
}

#[test]
fn names_clash_with_nothing() {
    let device = common::device();
    let x = numbers(&device, &[40], DType::BF16);
    // Names of the library, of members, of attributes, and the same helper in two operations of one kernel.
    let first = op(
        "first",
        "alias elem = f32;
         const params = 2.0;
         struct Lane { @align(16) keep: elem, x: elem }
         fn keep(align: elem) -> Lane { return Lane(align, params * align); }
         fn load_0(v: vec2<elem>) -> elem { return v.x; }
         const x = 0.0; // x, params
         fn apply(store_0: f32) -> f32 { let out_0 = keep(store_0); return load_0(vec2(out_0.keep, x)); }",
    );
    let second = op(
        "second",
        "fn load_0(x: f32) -> f32 { let max = x; return max; } /* /* fn apply() */ */
         fn apply(apply: f32, y: f32) -> f32 { return select(y, load_0(apply), true); }",
    );
    let both = second.call(&[&first.call(&[&x]).unwrap(), &1]).unwrap();
    assert_eq!(both.explain().unwrap().kernels().len(), 1);
    assert_eq!(bits(&both), bits(&x));
}

#[test]
fn nothing_is_computed_of_nothing() {
    let device = common::device();
    let x = Tensor::zeros(&device, [3, 0], DType::F16).unwrap();
    let y = curve().call(&[&x, &1, &2]).unwrap();
    assert_eq!((y.dims(), y.dtype()), (&[3, 0][..], DType::F16));
    assert!(values(&y).is_empty());
    assert_eq!(values(&y.sum([1], false).unwrap()), [0.0; 3]);
}

#[test]
fn loops_and_indices_are_checked_and_stay_out_of_other_kernels() {
    let powers = op(
        "powers",
        "fn apply(x: f32, n: i32) -> f32 {
             var all = array<f32, 4>(1.0, x, x * x, x * x * x);
             var sum = 0.0;
             for (var i = 0; i < n; i++) { sum += all[i]; }
             return sum;
         }",
    );
    for device in devices() {
        let x = Tensor::from_slice(&device, &[2.0f32, -1.0], [2]).unwrap();
        let sums = powers.call(&[&x, &3]).unwrap();
        assert_eq!(values(&sums), [7.0, 1.0]);
        let total = powers.call(&[&x, &3]).unwrap().sum([0], false).unwrap();
        assert_eq!(total.explain().unwrap().kernels().len(), 1, "the sum alone");
        assert_eq!(values(&total), [8.0]);
        let behind = powers.call(&[&x.sum([0], true).unwrap(), &2]).unwrap();
        assert_eq!(behind.explain().unwrap().kernels().len(), 2);
        assert_eq!(values(&behind), [2.0]);
    }
}

#[test]
fn captures_replay_it() {
    let device = common::device();
    let x = numbers(&device, &[6, 8], DType::F16);
    let y = numbers(&device, &[8, 6], DType::F16).t().unwrap();
    let captured = device
        .capture(&[&x, &y], |inputs| neighbours(&inputs[0], &inputs[1], 0.5))
        .unwrap();
    let other = x.mul(0.5).unwrap();
    let replayed = captured.run(&[&other, &y]).unwrap();
    let expected = neighbours(&other, &y, 0.5).unwrap();
    for (replayed, expected) in replayed.iter().zip(&expected) {
        assert_eq!(bits(replayed), bits(expected));
    }
}

#[test]
fn the_sanitizer_finds_nothing() {
    assert_clean(|device: &Device| {
        for dtype in FLOATS {
            let x = numbers(device, &[7, 9], dtype);
            let y = numbers(device, &[9, 7], dtype).t().unwrap();
            for result in neighbours(&x, &y, 0.5).unwrap() {
                let _ = values(&result);
            }
        }
    });
}

#[test]
fn long_chains_and_heavy_texts_are_cut_into_kernels() {
    let device = common::device();
    let x = numbers(&device, &[33], DType::F32).relu().unwrap();
    let heavy: String = (0..200)
        .map(|i| format!("y += sin(x * {i}.5);\n"))
        .collect();
    let heavy =
        format!("fn apply(x: f32) -> f32 {{ var y = 0.0;\n{heavy} return min(x, abs(y) + 1e9); }}");
    let heavy = op("heavy", &heavy);
    let mut y = x.clone();
    for _ in 0..6 {
        y = heavy.call(&[&y]).unwrap().add(0).unwrap();
    }
    let explained = y.explain().unwrap();
    let ops: Vec<_> = explained
        .kernels()
        .iter()
        .map(|kernel| kernel.ops().to_vec())
        .collect();
    assert_eq!(
        ops,
        [["add"]],
        "what is below is computed already, each by itself"
    );
    for _ in 0..300 {
        y = either().call(&[&y, &x, &-1]).unwrap();
    }
    assert_eq!(bits(&y).len(), 33);
}
