//! What people get wrong about kernels of their own, with every kind of kernel: an error that says what to write instead,
//! within a second.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use crate::common;
use ziggurat_tensor::software::{Profile, sanitize};
use ziggurat_tensor::{
    AdapterWish, Any, CustomKernel, CustomOp, CustomReduce, CustomScan, DType, Device,
    DeviceOptions, Error, InputType, SoftwareWish, Tensor, TensorKernel, like,
};

/// The error of a call, which takes less than a second: the best of three, because other tests may have the processor.
fn soon(what: &str, call: impl Fn() -> Result<Tensor, Error>) -> Error {
    let begin = Instant::now();
    let error = call().map(|_| ()).unwrap_err();
    let mut best = begin.elapsed();
    for _ in 1..3 {
        let begin = Instant::now();
        assert!(call().is_err(), "{what}");
        best = best.min(begin.elapsed());
    }
    assert!(best < Duration::from_secs(1), "{what}: {best:?}");
    assert!(
        !error.is_internal() && error.to_string().len() <= 1100,
        "{what}: {error}"
    );
    error
}

struct Case {
    what: &'static str,
    call: Box<dyn Fn() -> Result<Tensor, Error>>,
    is: fn(&Error) -> bool,
    says: &'static str,
}

fn case(
    what: &'static str,
    call: impl Fn() -> Result<Tensor, Error> + 'static,
    is: fn(&Error) -> bool,
    says: &'static str,
) -> Case {
    Case {
        what,
        call: Box::new(call),
        is,
        says,
    }
}

const WHOLE: &str = "@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) n: vec3<u32>) {
    let i = id.x + (id.y + id.z * n.y) * n.x * 64u;
    if i < arrayLength(&y) { y[i] = x[i]; }
}";

fn copies() -> TensorKernel {
    TensorKernel::wgsl("copy", "fn kernel(i: u32) { y_store(i, x_at(i)); }")
        .input("x", InputType::from(DType::F32).rank(2))
        .output("y", like("x"))
}

fn four() -> CustomKernel {
    let text = "@group(0) @binding(0) var<storage, read_write> y: array<f32, 4>;
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) { y[i] = 1.0; }";
    CustomKernel::wgsl("four", text).output("y", DType::F32)
}

fn whole() -> CustomKernel {
    CustomKernel::wgsl("whole", WHOLE)
        .input("x", DType::F32)
        .output("y", DType::F32)
}

#[test]
fn wrong_operands_are_told_with_what_is_wanted() {
    let device = common::device();
    let x = Tensor::ones(&device, [2, 3], DType::F32).unwrap();
    let (row, ints) = (x.select(0, 0).unwrap(), x.to_dtype(DType::I32).unwrap());
    let table = || x.clone();
    let [a, b, c, d, e, f, g] = [0; 7].map(|_| table());
    let scale =
        || CustomOp::elementwise("scale", "fn apply(x: i32, k: i32) -> i32 { return x * k; }");
    let cases = [
        case(
            "rank",
            {
                let row = row.clone();
                move || copies().call(&[&row]).run()
            },
            Error::is_shape,
            "must have 2 axes, got [3]",
        ),
        case(
            "dtype",
            {
                let ints = ints.clone();
                move || copies().call(&[&ints]).run()
            },
            Error::is_dtype,
            "`x` must be f32, got i32",
        ),
        case(
            "dtype of a whole shader",
            {
                let ints = ints.clone();
                move || whole().call(&[&ints]).run()
            },
            Error::is_dtype,
            "takes inputs of f32, got i32",
        ),
        case(
            "dtype of an op",
            {
                let a = a.clone();
                move || scale()?.call(&[&a, &2])
            },
            Error::is_dtype,
            "to_dtype",
        ),
        case(
            "number of an op",
            {
                let ints = ints.clone();
                move || scale()?.call(&[&ints, &0.5])
            },
            Error::is_dtype,
            "got the number 0.5",
        ),
        case(
            "extents",
            move || {
                let sum = TensorKernel::wgsl(
                    "sum",
                    "fn kernel(i: u32) { y_store(i, x_at(i) + z_at(i)); }",
                );
                let sum = sum
                    .input("x", DType::F32)
                    .input("z", DType::F32)
                    .output("y", like("x"))
                    .broadcast();
                sum.call(&[&b, &Tensor::ones(b.device(), [4, 3], DType::F32)?])
                    .run()
            },
            Error::is_shape,
            "[4, 3]",
        ),
        case(
            "an axis that is not there",
            move || {
                let text = "fn combine(a: f32, b: f32) -> f32 { return a + b; }";
                CustomReduce::new("total", 0.0, text)?.call(&c, [2], false)
            },
            Error::is_shape,
            "2",
        ),
        case(
            "the same of a scan",
            move || {
                let text = "fn combine(a: f32, b: f32) -> f32 { return a + b; }";
                CustomScan::new("total", 0.0, text)?.call(&d, -3)
            },
            Error::is_shape,
            "-3",
        ),
        case(
            "no shape of the output",
            {
                let device = device.clone();
                move || {
                    let kernel =
                        TensorKernel::wgsl("ones", "fn kernel(i: u32) { y_store(i, 1.0); }");
                    kernel.output("y", DType::F32).call_on(&device, &[]).run()
                }
            },
            Error::is_argument,
            ".shape(\"y\"",
        ),
        case(
            "the same of a whole shader",
            {
                let device = device.clone();
                move || {
                    let text = "@group(0) @binding(0) var<storage, read_write> y: array<f32>;
                @compute @workgroup_size(1) fn main() { y[0] = 1.0; }";
                    CustomKernel::wgsl("ones", text)
                        .output("y", DType::F32)
                        .call_on(&device, &[])
                        .run()
                }
            },
            Error::is_argument,
            "shape",
        ),
        case(
            "no accessor",
            move || {
                let kernel = TensorKernel::wgsl("none", "fn kernel(i: u32) { y_store(i, 1.0); }");
                kernel
                    .input("x", Any::floats())
                    .output("y", like("x"))
                    .call(&[&e])
                    .run()
            },
            Error::is_argument,
            "does not use the input `x`: call `x_at(i)`",
        ),
        case(
            "an unused tensor of a whole shader",
            move || whole().input("z", DType::F32).call(&[&f, &f]).run(),
            Error::is_kernel,
            "no storage buffer `z`; it has `x` (group 0, binding 0), `y`",
        ),
        case(
            "an output larger than the shader's variable",
            {
                let device = device.clone();
                move || four().call_on(&device, &[]).shape([5]).run()
            },
            Error::is_shape,
            "four:1:23: `y` has 16 bytes, but an output of shape [5] has 20",
        ),
        case(
            "an output smaller than that",
            {
                let device = device.clone();
                move || four().call_on(&device, &[]).shape([3]).run()
            },
            Error::is_kernel,
            "`y` (binding 0) needs at least 16 bytes, got 12",
        ),
        case(
            "a tensor given by another name",
            move || whole().call_named(&[("y", &g)]).run(),
            Error::is_argument,
            "there is no `y`; it has `x`",
        ),
    ];
    for Case {
        what,
        call,
        is,
        says,
    } in cases
    {
        let error = soon(what, call);
        println!("{what}: {error}");
        assert!(
            is(&error) && error.to_string().contains(says),
            "{what}: {error}"
        );
    }
}

#[test]
fn texts_of_any_size_and_depth_are_refused_in_time() {
    let device = common::device();
    let x = Tensor::ones(&device, [2, 3], DType::F32).unwrap();
    let nested = format!("{}1.0{}", "(".repeat(10_000), ")".repeat(10_000));
    // Blanks, comments, one name, and a function of statements.
    let mut long = String::new();
    while long.len() < 10 << 20 {
        let n = long.len();
        let _ = writeln!(long, "    let a{n} = {n}.0; // and what it is for");
    }
    let texts = [
        nested,
        format!("1.0; {long}"),
        format!("1.0{}", " ".repeat(10 << 20)),
        "n".repeat(10 << 20),
    ];
    for (number, value) in texts.iter().enumerate() {
        let body = format!("fn kernel(i: u32) {{ y_store(i, x_at(i) + {value}); }}");
        let kernel = TensorKernel::wgsl("body", body)
            .input("x", DType::F32)
            .output("y", like("x"));
        let shader = WHOLE.replace("= x[i]", &format!("= {value}"));
        let shader = CustomKernel::wgsl("whole", shader)
            .input("x", DType::F32)
            .output("y", DType::F32);
        let apply = format!("fn apply(x: f32) -> f32 {{ return x + {value}; }}");
        let combine = format!("fn combine(a: f32, b: f32) -> f32 {{ return a + b + {value}; }}");
        let errors = [
            soon("body", || kernel.call(&[&x]).run()),
            soon("shader", || shader.call(&[&x]).run()),
            soon("op", || CustomOp::elementwise("own", &apply)?.call(&[&x])),
            soon("reduction", || {
                CustomReduce::new("own", 0.0, &combine)?.call(&x, [0], false)
            }),
            soon("scan", || {
                CustomScan::new("own", 0.0, &combine)?.call(&x, 0)
            }),
        ];
        for error in errors {
            let shown = error.to_string();
            println!("{number}: {shown}");
            assert!(error.is_kernel(), "{number}: {shown}");
            let says = ["allowed", "may have"]
                .iter()
                .any(|word| shown.contains(word));
            assert!(says, "{number}: {shown}");
        }
    }
}

#[test]
fn what_is_written_past_the_end_is_found() {
    // By the sanitizer, where the shader has the index.
    let past = WHOLE.replace(
        "if i < arrayLength(&y) { y[i] = x[i]; }",
        "y[i + 1u] = x[i];",
    );
    let report = sanitize(|device: &Device| {
        let x = Tensor::ones(device, [64], DType::F32).unwrap();
        let kernel = CustomKernel::wgsl("past", past.clone());
        let kernel = kernel.input("x", DType::F32).output("y", DType::F32);
        let _ = kernel.call(&[&x]).run().unwrap().to_vec_blocking::<f32>();
    });
    let report = report.unwrap().to_string();
    assert!(
        report.contains("past:6") && report.contains("y[i + 1u] = x[i];"),
        "{report}"
    );

    // By the read behind it, of a kernel whose stores are generated, where kernels are debugged.
    let device = |debug_kernels: bool| {
        let software = Some(SoftwareWish::Own(Box::new(Profile::nvidia())));
        let adapter = AdapterWish {
            software,
            ..AdapterWish::default()
        };
        let options = DeviceOptions {
            adapter,
            debug_kernels,
            ..DeviceOptions::default()
        };
        Device::open_blocking(options).unwrap()
    };
    let shift = |text: &'static str, dtype: DType, debug: bool| {
        let x = Tensor::ones(&device(debug), [2, 3], dtype).unwrap();
        let kernel = TensorKernel::wgsl("shift", text);
        let kernel = kernel.input("x", Any::dtype()).output("y", like("x"));
        let y = kernel.call(&[&x]).run()?;
        y.to_dtype(DType::F32)?.to_vec_blocking::<f32>()
    };
    let text = "fn kernel(i: u32) { y_store(i + 1u, x_at(i)); }";
    for dtype in [DType::F32, DType::F16, DType::U8] {
        let error = shift(text, dtype, true).unwrap_err();
        let said = "`y_store` past the last element: it is given, of, in the call for, 6, 6, 5";
        assert!(
            error.is_kernel() && error.to_string().contains(said),
            "{error}"
        );
        let elsewhere = shift(text, dtype, false).unwrap();
        assert_eq!(elsewhere, [0.0, 1.0, 1.0, 1.0, 1.0, 1.0]);
        let inside = shift(
            "fn kernel(i: u32) { y_store(5u - i, x_at(i)); }",
            dtype,
            true,
        );
        assert_eq!(inside.unwrap(), [1.0; 6]);
        let own = "fn assert(x: bool) { } fn kernel(i: u32) { assert(true); y_store(i, x_at(i)); }";
        assert_eq!(shift(own, dtype, true).unwrap(), [1.0; 6]);
    }
}
