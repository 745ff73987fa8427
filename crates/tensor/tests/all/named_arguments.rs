//! Tensors of one dtype that are given by name take no other's place.

use crate::common;
use ziggurat_tensor::{CustomKernel, DType, Device, Error, Sequence, Tensor, TensorKernel, like};

const LESS: &str = include_str!("less.wgsl");

ziggurat_tensor::kernel!("less.wgsl");
ziggurat_tensor::kernel!("keywords.wgsl");

fn operands(device: &Device) -> [Tensor; 2] {
    let tensor = |values: &[f32]| Tensor::from_slice(device, values, [2]).unwrap();
    [tensor(&[5.0, 7.0]), tensor(&[1.0, 2.0])]
}

fn values(result: Result<Tensor, Error>) -> Vec<f32> {
    result.unwrap().to_vec_blocking().unwrap()
}

fn shader() -> CustomKernel {
    CustomKernel::wgsl("less", LESS)
}

fn body() -> TensorKernel {
    TensorKernel::wgsl(
        "less",
        "fn kernel(i: u32) { y_store(i, whole_at(i) - part_at(i)); }",
    )
    .input("whole", DType::F32)
    .input("part", DType::F32)
    .output("y", like("whole"))
}

/// A call of a kernel by the names of its inputs.
type Call<'a> = dyn Fn(&[(&str, &Tensor)]) -> Result<Tensor, Error> + 'a;

/// The names in the declaration choose the variables, whatever the order of declaration and binding.
#[test]
fn an_input_is_bound_to_the_variable_of_its_name() {
    let device = common::device();
    let [whole, part] = &operands(&device);
    let as_bound = shader()
        .input("whole", DType::F32)
        .input("part", DType::F32);
    assert_eq!(values(as_bound.call(&[whole, part]).run()), [4.0, 5.0]);
    let other_way = shader()
        .input("part", DType::F32)
        .input("whole", DType::F32);
    assert_eq!(values(other_way.call(&[part, whole]).run()), [4.0, 5.0]);
    // What the order alone decides is wrong without a word when it is swapped.
    assert_eq!(values(as_bound.call(&[part, whole]).run()), [-4.0, -5.0]);
}

#[test]
fn a_declared_name_that_the_shader_lacks_is_refused() {
    let device = common::device();
    let [whole, part] = &operands(&device);
    let shader = || shader().input("whole", DType::F32);
    let refused = [
        (
            shader().input("parts", DType::F32),
            "no storage buffer `parts`; it has `part` (group 0, binding 0), `whole` (group 0, binding 1), `rest` (group 0, binding 2)",
        ),
        (
            shader().input("rest", DType::F32),
            "`part` (binding 0) is read-only, the argument is read_write",
        ),
        (shader().input("whole", DType::F32), "was given twice"),
        (
            shader().input("part", DType::F32).output("y", DType::F32),
            "no storage buffer `y`",
        ),
        (
            shader()
                .input("part", DType::F32)
                .output("part", DType::F32),
            "was given twice",
        ),
    ];
    for (kernel, words) in refused {
        let error = kernel.call(&[whole, part]).run().unwrap_err();
        assert!(error.is_kernel(), "{error}");
        assert!(error.to_string().contains(words), "{words}: {error}");
    }
}

#[test]
fn a_call_by_name_takes_any_order_and_refuses_other_names() {
    let device = common::device();
    let [whole, part] = &operands(&device);
    let (shader, body) = (
        shader()
            .input("whole", DType::F32)
            .input("part", DType::F32),
        body(),
    );
    let by_shader = |given: &[(&str, &Tensor)]| shader.call_named(given).run();
    let by_body = |given: &[(&str, &Tensor)]| body.call_named(given).run();
    let both: [&Call<'_>; 2] = [&by_shader, &by_body];
    for call in both {
        assert_eq!(
            values(call(&[("whole", whole), ("part", part)])),
            [4.0, 5.0]
        );
        assert_eq!(
            values(call(&[("part", part), ("whole", whole)])),
            [4.0, 5.0]
        );
        for (given, words) in [
            (
                &[("whole", whole), ("y", part)][..],
                "there is no `y`; it has `whole`, `part`",
            ),
            (&[("part", part), ("part", whole)], "`part` was given twice"),
            (&[("part", part)], "`whole` was not given"),
        ] {
            let error = call(given).unwrap_err();
            assert!(error.is_argument(), "{error}");
            assert!(error.to_string().contains(words), "{error}");
        }
    }
}

#[test]
fn a_step_by_name_takes_any_order() {
    let device = common::device();
    let [whole, part] = &operands(&device);
    let shader = shader()
        .input("whole", DType::F32)
        .input("part", DType::F32);
    let mut steps = Sequence::new(&device, "steps");
    let (whole, part) = (steps.read(whole).unwrap(), steps.read(part).unwrap());
    let rest = steps.scratch([2], DType::F32).unwrap();
    let given = [("rest", rest), ("whole", whole), ("part", part)];
    steps.step_named(&shader, given).elements(2).run().unwrap();
    for (given, words) in [
        (
            [("rest", rest), ("whole", whole), ("parts", part)],
            "the step `less`: there is no `parts`",
        ),
        (
            [("rest", whole), ("whole", rest), ("part", part)],
            "writes `rest`, which is a tensor",
        ),
    ] {
        let error = steps
            .step_named(&shader, given)
            .elements(2)
            .run()
            .unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
    }
    // A signature that is not the shader's.
    let other = CustomKernel::wgsl("less", LESS).input("parts", DType::F32);
    let error = steps
        .step(&other, [part, whole, rest])
        .elements(2)
        .run()
        .unwrap_err();
    assert!(error.to_string().contains("no buffer `parts`"), "{error}");
    let fewer = CustomKernel::wgsl("less", LESS)
        .input("whole", DType::F32)
        .output("rest", DType::F32);
    let error = steps
        .step(&fewer, [part, whole, rest])
        .elements(2)
        .run()
        .unwrap_err();
    assert!(
        error.to_string().contains("`part` is not declared"),
        "{error}"
    );
    assert_eq!(values(steps.finish(rest)), [4.0, 5.0]);
}

/// The macro makes a struct of several inputs: the compiler checks their names.
#[test]
fn several_inputs_of_a_typed_kernel_are_fields() {
    let device = common::device();
    let [whole, part] = &operands(&device);
    assert_eq!(values(Less.run(LessArgs { whole, part })), [4.0, 5.0]);
    let call = Less.call(LessArgs { part, whole }).shape([1]);
    assert_eq!(values(call.run()), [4.0]);
}

#[test]
fn keywords_of_rust_are_raw_names_of_fields() {
    let device = common::device();
    let [whole, part] = &operands(&device);
    let kernel = Keywords {
        r#gen: 2.0,
        r#dyn: 10.0,
    };
    let result = kernel.run(KeywordsArgs {
        r#in: whole,
        r#box: part,
    });
    assert_eq!(values(result), [20.0, 34.0]);
}
