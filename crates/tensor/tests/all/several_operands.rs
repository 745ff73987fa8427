//! Reductions and scans whose `lift` takes several operands: the bits of an elementwise op and a reduction in f32, in one kernel.

use crate::common;
use crate::custom_op::{bits, numbers};
use crate::tensor_kernel::{devices, values};
use ziggurat_tensor::software::assert_clean;
use ziggurat_tensor::{
    CustomReduce, CustomScan, DType, Device, Error, FusionPolicy, ScanOptions, Tensor, check_kernel,
};

const FLOATS: [DType; 3] = [DType::F32, DType::F16, DType::BF16];
const DOT: &str = "fn lift(x: f32, y: f32) -> f32 { return x * y; }
    fn combine(a: f32, b: f32) -> f32 { return a + b; }";

fn dot() -> CustomReduce {
    CustomReduce::new("dot", 0.0, DOT).unwrap()
}

fn running() -> CustomScan {
    CustomScan::new("running dot", 0.0, DOT).unwrap()
}

/// The product, in f32.
fn product(x: &Tensor, y: &Tensor) -> Tensor {
    let [x, y] = [x, y].map(|x| x.to_dtype(DType::F32).unwrap());
    x.mul(&y).unwrap()
}

#[test]
fn they_have_the_bits_of_the_parts() {
    for device in devices() {
        for dtype in FLOATS {
            let x = numbers(&device, &[6, 70], dtype);
            let y = numbers(&device, &[70, 6], dtype).t().unwrap();
            let row = y.select(0, 2).unwrap();
            for y in [&y, &row] {
                for axes in [&[1_isize] as &[isize], &[0], &[0, 1], &[]] {
                    let own = dot().call_of(&[&x, y], axes, true).unwrap();
                    let parts = product(&x, y).sum(axes, true).unwrap();
                    let parts = parts.to_dtype(dtype).unwrap();
                    assert_eq!((own.dtype(), own.dims()), (dtype, parts.dims()));
                    // A built-in sum over no axes does not add 0, which makes 0 of -0.
                    if !axes.is_empty() {
                        assert_eq!(bits(&own), bits(&parts), "{dtype} {axes:?}");
                    }
                }
                let own = running().call_of(&[&x, y], 1, ScanOptions::default());
                let parts = product(&x, y).cumsum(1).unwrap();
                let parts = parts.to_dtype(dtype).unwrap();
                assert_eq!(bits(&own.unwrap()), bits(&parts), "{dtype}");
            }
            let doubled = dot().call_of(&[&x, &2.0], [1], false).unwrap();
            let parts = product(&x, &Tensor::full(&device, [], 2.0, DType::F32).unwrap());
            let parts = parts.sum([1], false).unwrap().to_dtype(dtype).unwrap();
            assert_eq!(bits(&doubled), bits(&parts), "{dtype}");
        }
    }
}

#[test]
fn operands_have_types_of_their_own() {
    let device = common::device();
    let x = Tensor::from_slice(&device, &[1.0f32, 2.0, 4.0, 8.0], [2, 2]).unwrap();
    let keep = Tensor::from_slice(&device, &[true, false, true, true], [2, 2]).unwrap();
    let text =
        "fn lift(x: f32, keep: bool, bias: i32) -> f32 { return select(0.0, x + f32(bias), keep); }
        fn combine(a: f32, b: f32) -> f32 { return a + b; }";
    let kept = CustomReduce::new("kept", 0.0, text).unwrap();
    let sums = kept.call_of(&[&x, &keep, &1], [1], false).unwrap();
    assert_eq!(values(&sums), [2.0, 14.0]);
    // What is combined, and what is given, have types of their own, too.
    let text = "fn lift(x: f32, y: f32) -> u32 { return u32(x > y); }
        fn combine(a: u32, b: u32) -> u32 { return a + b; }
        fn finish(a: u32) -> bool { return a > 1u; }";
    let often = CustomReduce::new("often", 0, text).unwrap();
    let half = x.to_dtype(DType::F16).unwrap();
    let most = often.call_of(&[&half, &1.5], [1], false).unwrap();
    assert_eq!(most.to_vec_blocking::<bool>().unwrap(), [false, true]);
    // Of one operand it is `call`.
    let text = "fn combine(a: f32, b: f32) -> f32 { return max(a, b); }";
    let largest = CustomReduce::new("largest", f32::MIN, text).unwrap();
    let most = largest.call_of(&[&x], [0, 1], false).unwrap();
    assert_eq!(values(&most), [8.0]);
}

fn chain(x: &Tensor, y: &Tensor) -> Result<Vec<Tensor>, Error> {
    let rows = dot().call_of(&[&x.relu()?, &y.add(1.0)?], [1], true)?;
    let behind = rows.mul(0.5)?.tanh()?;
    let columns = dot().call_of(&[&x.mul(&behind)?, y], [0], false)?;
    Ok(vec![behind, columns])
}

#[test]
fn fused_unfused_and_captured_give_equal_bits() {
    for device in devices() {
        for dtype in FLOATS {
            let (x, y) = (
                numbers(&device, &[24, 40], dtype),
                numbers(&device, &[40], dtype),
            );
            let all = |results: &[Tensor]| results.iter().map(bits).collect::<Vec<_>>();
            let fused = all(&chain(&x, &y).unwrap());
            let capture = device.capture(&[&x, &y], |inputs| chain(&inputs[0], &inputs[1]));
            assert_eq!(all(&capture.unwrap().run(&[&x, &y]).unwrap()), fused);
            let _unfused = FusionPolicy::Unfused.enter();
            assert_eq!(all(&chain(&x, &y).unwrap()), fused, "{dtype}");
        }
    }
}

#[test]
fn it_is_one_kernel_with_its_neighbours() {
    let device = common::device();
    let x = numbers(&device, &[8, 16], DType::F32);
    let y = dot().call_of(&[&x.exp().unwrap(), &x], [1], false).unwrap();
    let explained = y.relu().unwrap().explain().unwrap();
    let [kernel] = explained.kernels() else {
        panic!("{explained}");
    };
    assert_eq!(kernel.ops(), ["exp", "dot", "dot", "relu"], "{explained}");
}

#[test]
fn against_the_cpu_under_the_sanitizer() {
    let sums = |wrong: f64| {
        let report = check_kernel(&dot())
            .against(move |x| {
                let width = x[0].dims.last().copied().unwrap_or(1).max(1);
                let pairs: Vec<f64> = x[0]
                    .values
                    .iter()
                    .zip(&x[1].values)
                    .map(|(x, y)| x * y)
                    .collect();
                let rows = x[0]
                    .dims
                    .split_last()
                    .map_or(1, |(_, rows)| rows.iter().product());
                let mut sums: Vec<f64> = pairs
                    .chunks(width)
                    .map(|row| row.iter().sum::<f64>() + wrong)
                    .collect();
                sums.resize(rows, 0.0);
                vec![sums]
            })
            .tolerance(1e-2, 1e-2)
            .run();
        report.unwrap()
    };
    let report = sums(0.0);
    assert!(report.is_good(), "{report}");
    assert!(!sums(1.0).is_good(), "a wrong sum is found");
    assert_clean(|device: &Device| {
        for dtype in FLOATS {
            let (x, y) = (
                numbers(device, &[9, 70], dtype),
                numbers(device, &[70], dtype),
            );
            for result in chain(&x, &y).unwrap() {
                let _ = values(&result);
            }
        }
    });
}

#[test]
fn mistakes_are_errors() {
    let refused = |text: &str, place: &str, words: &str| {
        for error in [
            CustomReduce::new("own", 0.0, text).unwrap_err(),
            CustomScan::new("own", 0.0, text).unwrap_err(),
        ] {
            let shown = error.to_string();
            let is_there = shown.contains(&format!("own:{place}: "));
            assert!(
                error.is_kernel() && is_there && shown.contains(words),
                "{shown}"
            );
        }
    };
    let combine = "fn combine(a: f32, b: f32) -> f32 { return a + b; }";
    let pairs = "fn combine(a: vec2<f32>, b: vec2<f32>) -> vec2<f32> { return a + b; }
fn finish(a: vec2<f32>) -> f32 { return a.x; }";
    refused(
        &format!("{pairs}\nfn lift(x: f32, y: f32) -> vec2<f32> {{ return vec2(x, y); }}"),
        "3:4",
        "gives a number",
    );
    refused(
        &format!("{combine}\nfn lift(x: f32, y: f32) -> u32 {{ return 1u; }}"),
        "2:4",
        "write `fn lift(x: f32, y: f32) -> f32`",
    );
    refused(
        &format!("{combine}\nfn lift(x: f32, y: vec2<f32>) -> f32 {{ return x; }}"),
        "2:4",
        "write `fn lift(x: f32, y: f32) -> f32`",
    );
    refused(
        &format!("{combine}\nfn apply() {{ }} fn lift(x: f32, y: f32) -> f32 {{ return x; }}"),
        "2:19",
        "no function may be called `apply`",
    );
    let nine: Vec<String> = (0..9).map(|i| format!("x{i}: f32")).collect();
    let nine = nine.join(", ");
    refused(
        &format!("{combine}\nfn lift({nine}) -> f32 {{ return 1.0; }}"),
        "2:81",
        "at most 8",
    );
    let device = common::device();
    let x = Tensor::ones(&device, [3], DType::F32).unwrap();
    let said = |result: Result<Tensor, Error>, words: &str| {
        let error = result.unwrap_err();
        assert!(
            error.is_argument() && error.to_string().contains(words),
            "{error}"
        );
    };
    said(dot().call(&x, [0], false), "`call_of`");
    said(running().call(&x, 0), "`call_of`");
    said(dot().call_of(&[&x], [0], false), "2 operands, got 1");
    said(dot().call_of(&[&1.0, &2.0], [0], false), "must be a tensor");
    let one = CustomReduce::new("one", 0.0, combine).unwrap();
    said(one.call_of(&[&x, &x], [0], false), "one operand, got 2");
    said(one.call_of(&[&1.0], [0], false), "must be a tensor");
    let four = Tensor::ones(&device, [4], DType::F32).unwrap();
    let error = dot().call_of(&[&x, &four], [0], false).unwrap_err();
    assert!(error.is_shape(), "{error}");
    assert!(dot().call_of(&[&x, &x], [1], false).unwrap_err().is_shape());
}
