//! Declarations, calls and texts of kernels that are refused.

use super::*;

fn refused(kernel: &TensorKernel, inputs: &[&Tensor], text: &str) -> Error {
    let error = kernel.call(inputs).run().unwrap_err();
    let said = error.to_string();
    assert!(said.contains(text) && said.len() <= 1100, "{said}");
    error
}

#[test]
fn a_wrong_declaration_says_what_to_write_instead() {
    let device = common::device();
    let x = numbers(&device, &[4], DType::F32);
    let kernel = |text: &'static str| TensorKernel::wgsl("bad", text).input("x", DType::F32);
    let ok = "fn kernel(i: u32) { y_store(i, x_at(i)); }";
    refused(&kernel(ok), &[&x], "`bad`: it has no output: add .output");
    let y = |kernel: TensorKernel| kernel.output("y", like("x"));
    let cases = [
        (
            "fn main(i: u32) { y_store(i, x_at(i)); }",
            "no `fn kernel(i: u32)`",
        ),
        (
            "fn kernel(i: u32) { y_store(i, 1.0); }",
            "does not use the input `x`: call `x_at(i)`",
        ),
        (
            "fn kernel(i: u32) { let a = x_at(i); }",
            "does not write the output `y`",
        ),
        (
            "// x_at\nfn kernel(i: u32) { y_store(i, 1.0); }",
            "does not use the input `x`",
        ),
    ];
    for (text, said) in cases {
        assert!(refused(&y(kernel(text)), &[&x], said).is_argument());
    }
    for name in [
        "",
        "1a",
        "a b",
        "a__b",
        "_a",
        "kernel",
        "kit_x",
        "\u{e4}",
        &"n".repeat(99),
    ] {
        let named = TensorKernel::wgsl("bad", ok).output(name, DType::F32);
        assert!(refused(&named, &[], "name").is_argument(), "{name}");
    }
    let twice = y(kernel(ok)).param("x", 1.0f32);
    refused(&twice, &[&x], "`x` is declared twice");
    let like_none = kernel(ok).output("y", like("z"));
    refused(&like_none, &[&x], "`y` is like `z`, which is no input");
    let two = y(kernel(
        "fn kernel(i: u32) { y_store(i, x_at(i)); z_store(i, 1.0); }",
    ));
    refused(
        &two.output("z", DType::F32),
        &[&x],
        "several outputs: use run_all",
    );
}

#[test]
fn a_wrong_call_is_refused_before_anything_runs() {
    let device = common::device();
    let x = numbers(&device, &[4], DType::F32);
    let kernel = TensorKernel::wgsl(
        "scale",
        "fn kernel(i: u32) { y_store(i, k * x_load(vec4<u32>(i))); }",
    )
    .input("x", InputType::from([DType::F32, DType::F16]).rank(1))
    .output("y", like("x"))
    .param("k", 1.0f32);
    assert!(refused(&kernel, &[&x, &x], "takes 1 tensors (x), got 2").is_argument());
    let int = x.to_dtype(DType::I32).unwrap();
    assert!(refused(&kernel, &[&int], "`x` must be f32 or f16, got i32").is_dtype());
    let table = x.reshape([2, 2]).unwrap();
    assert!(refused(&kernel, &[&table], "must have 1 axes, got [2, 2]").is_shape());
    refused(&kernel, &[], "name a device");
    let other = software_device(software::Profile::intel());
    let foreign = numbers(&other, &[4], DType::F32);
    let error = kernel.call_on(&device, &[&foreign]).run().unwrap_err();
    assert!(error.to_string().contains("on another device"), "{error}");
    let calls = [
        (kernel.call(&[&x]).param("j", 1.0f32), "no parameter `j`"),
        (
            kernel.call(&[&x]).param("k", 1i32),
            "the parameter `k` is f32, got i32",
        ),
        (kernel.call(&[&x]).param("k", [1.0f32; 3]), "got vec3<f32>"),
        (kernel.call(&[&x]).shape("z", [1]), "no output `z`"),
    ];
    for (call, said) in calls {
        let error = call.run().unwrap_err();
        assert!(
            error.to_string().contains(said) && error.is_argument(),
            "{error}"
        );
    }
    let deep = TensorKernel::wgsl(
        "deep",
        "fn kernel(i: u32) { y_store_at(vec4<u32>(i), x_load(vec4<u32>(i))); }",
    )
    .input("x", DType::F32)
    .output("y", like("x"));
    let five = numbers(&device, &[1, 1, 1, 1, 2], DType::F32);
    assert!(refused(&deep, &[&five], "up to 4 axes").is_shape());
    let two = TensorKernel::wgsl(
        "two",
        "fn kernel(i: u32) { y_store(i, a_at(i) + b_at(i)); }",
    )
    .input("a", DType::F32)
    .input("b", DType::F32)
    .output("y", like("a"))
    .broadcast();
    let three = numbers(&device, &[3], DType::F32);
    assert!(refused(&two, &[&x, &three], "[4]").is_shape());
    assert_eq!(values(&kernel.call(&[&x]).run().unwrap()), values(&x));
}

#[test]
fn mistakes_in_the_text_have_its_line_and_hostile_texts_are_refused() {
    let device = common::device();
    let x = numbers(&device, &[4], DType::F32);
    let kernel = |text: String| {
        TensorKernel::wgsl("mine", text)
            .input("x", Any::dtype())
            .output("y", DType::F32)
    };
    let body = |rest: &str| format!("fn kernel(i: u32) {{\n  y_store(i, x_at(i){rest});\n}}");
    let error = refused(&kernel(body(" + nothing")), &[&x], "mine:2:");
    assert!(error.is_kernel(), "{error}");
    refused(&kernel(body(" + 1u")), &[&x], "mine:2:14: ");
    refused(&kernel(body(" +")), &[&x], "mine:2:");
    let bools = x.gt(1).unwrap();
    refused(&kernel(body(" * 2.0")), &[&bools], "mine:2:");
    let nested = |n: usize| format!(" + {}1.0{}", "(".repeat(n), ")".repeat(n));
    let hostile: [&dyn Fn(usize) -> String; 2] = [&|more| nested(100_000 + more), &|more| {
        " ".repeat((10 << 20) + more)
    }];
    for text in hostile {
        // The best of three, none of which was met before: another test may have the processor.
        let times = [1, 2, 3].map(|more| {
            let kernel = kernel(body(&text(more)));
            let start = std::time::Instant::now();
            refused(&kernel, &[&x], "mine");
            start.elapsed()
        });
        let best = times.into_iter().min().unwrap();
        assert!(best.as_secs() < 1, "{times:?}");
    }
}
