//! The check of a user's kernel: right ones pass, and each planted mistake is found where it is.

use ziggurat_tensor::software::Profile;
use ziggurat_tensor::{
    Any, CustomKernel, CustomOp, CustomReduce, CustomScan, DType, HostValues, TensorKernel,
    check_kernel, like,
};

fn weighted(body: &'static str) -> TensorKernel {
    TensorKernel::wgsl("weighted", body)
        .input("x", Any::floats())
        .input("y", DType::F32)
        .output("z", like("x"))
        .writes_all()
}

const RIGHT: &str = "fn kernel(i: u32) { z_store(i, 0.5 * x_at(i) + y_at(i)); }";

fn half_and_other(x: &[HostValues]) -> Vec<Vec<f64>> {
    let both = x[0].values.iter().zip(&x[1].values);
    vec![both.map(|(x, y)| 0.5 * x + y).collect()]
}

#[test]
fn right_kernels_pass_with_all_dtypes_shapes_layouts_and_profiles() {
    let kernel = weighted(RIGHT);
    let report = check_kernel(&kernel).against(half_and_other).run().unwrap();
    assert!(report.is_good(), "{report}");
    assert_eq!(
        report.cases(),
        4 * 7 * 3 * 5,
        "profiles, shapes, dtypes, layouts"
    );

    let limit = CustomOp::elementwise(
        "limit",
        "fn apply(x: i32, most: u32) -> i32 { return min(x, i32(most)); }",
    );
    let limit = limit.unwrap();
    let report = check_kernel(&limit)
        .against(|x| {
            let both = x[0].values.iter().zip(&x[1].values);
            vec![both.map(|(x, most)| x.min(*most)).collect()]
        })
        .shapes([&[4, 5], &[4, 5]])
        .run()
        .unwrap();
    assert!(report.is_good() && report.worst().is_none(), "{report}");
    assert_eq!(report.cases(), 4 * 2 * 5);
}

/// Rows along the last axis, of which a number is one.
fn rows(x: &HostValues) -> impl Iterator<Item = &[f64]> {
    let len = x.dims.last().copied().unwrap_or(1);
    let count: usize = x.dims.iter().rev().skip(1).product();
    (0..count).map(move |row| &x.values[row * len..(row + 1) * len])
}

#[test]
fn reductions_and_scans_are_checked_along_the_last_axis() {
    let text = "fn combine(a: f32, b: f32) -> f32 { return max(a, b); }";
    let wrong = "fn combine(a: f32, b: f32) -> f32 { return max(a, b) + f32(b == 3.0); }";
    let highest = |text| CustomReduce::new("highest", -100.0, text).unwrap();
    let most = |row: &[f64]| row.iter().copied().fold(-100.0, f64::max);
    let expected = |x: &[HostValues]| vec![rows(&x[0]).map(most).collect()];
    let report = check_kernel(&highest(text)).against(expected).run();
    let report = report.unwrap();
    assert!(report.is_good() && report.worst().is_none(), "{report}");
    assert_eq!(report.cases(), 4 * 7 * 3 * 5);
    let report = check_kernel(&highest(wrong)).against(expected).run();
    assert!(!report.unwrap().is_good());

    let text = "fn combine(a: i32, b: i32) -> i32 { return a + b; }";
    let sums = CustomScan::new("sums", 0, text).unwrap();
    let sum = |off: f64| {
        move |x: &[HostValues]| {
            let mut values = Vec::new();
            for row in rows(&x[0]) {
                let mut sum = 0.0;
                values.extend(row.iter().map(|x| {
                    sum += x + off;
                    sum
                }));
            }
            vec![values]
        }
    };
    let report = check_kernel(&sums).against(sum(0.0)).run().unwrap();
    assert!(report.is_good() && report.worst().is_none(), "{report}");
    assert_eq!(report.cases(), 4 * 7 * 2 * 5);
    let report = check_kernel(&sums).against(sum(1.0)).run().unwrap();
    assert!(!report.is_good());
}

#[test]
fn planted_mistakes_are_found() {
    // Wrong at one element of a long row.
    let kernel = weighted(
        "fn kernel(i: u32) { z_store(i, 0.5 * x_at(i) + y_at(i) + select(0.0, 1.0, i == 13u)); }",
    );
    let check = || check_kernel(&kernel).against(half_and_other);
    let report = check().shapes([&[20], &[20]]).run().unwrap();
    let worst = report.worst().unwrap();
    assert_eq!((worst.output, worst.index), (0, 13), "{report}");
    assert!(!report.is_good() && (worst.got - worst.expected - 1.0).abs() < 0.1);
    assert!(
        check()
            .tolerance(0.0, 1.5)
            .shapes([&[20], &[20]])
            .run()
            .unwrap()
            .is_good()
    );

    // Right values, but a race.
    let race = CustomKernel::wgsl(
        "race",
        "@group(0) @binding(0) var<storage, read> x: array<f32>;
         @group(0) @binding(1) var<storage, read_write> y: array<f32>;
         var<workgroup> all: f32;
         @compute @workgroup_size(64)
         fn main(@builtin(local_invocation_index) i: u32) {
             all = 1.0;
             if i < arrayLength(&y) { y[i] = x[i] * all; }
         }",
    );
    let race = race.input("x", DType::F32).output("y", DType::F32);
    let report = check_kernel(&race)
        .against(|x| vec![x[0].values.clone()])
        .shapes([&[30]])
        .profiles([Profile::webgpu_default()])
        .run()
        .unwrap();
    assert!(!report.is_good() && report.worst().is_none());
    assert!(report.to_string().contains("race"), "{report}");
}

#[test]
fn a_check_that_says_nothing_is_an_error() {
    let kernel = weighted(RIGHT);
    let fails = |error: ziggurat_tensor::Error, words: &str| {
        assert!(
            error.is_argument() && error.to_string().contains(words),
            "{error}"
        );
    };
    fails(check_kernel(&kernel).run().unwrap_err(), "against");
    let check = || check_kernel(&kernel).profiles([Profile::nvidia()]);
    let short = check().against(|_| vec![vec![]]).shapes([&[3], &[3]]);
    fails(short.run().unwrap_err(), "has 3 elements");
    let none = check().against(|_| vec![]).shapes([&[3], &[3]]);
    fails(none.run().unwrap_err(), "0 outputs");
    let one = check().against(half_and_other).shapes([&[3]]);
    fails(one.run().unwrap_err(), "1 shapes for 2 inputs");
    let broken = weighted("fn kernel(i: u32) { z_store(i, x_at(i) + y_at(i)) }");
    let broken = check_kernel(&broken).against(half_and_other).run();
    assert!(broken.unwrap_err().is_kernel());
}
