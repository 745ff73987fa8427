//! Kernels of which the author writes the body: dtypes, views, shapes, several outputs, and what is refused.

use crate::common;
use ziggurat_tensor::software::{self, assert_clean};
use ziggurat_tensor::{
    AdapterWish, Any, DType, Device, DeviceOptions, Error, InputType, SoftwareWish, Tensor,
    TensorKernel, like,
};

mod in_place;
mod refusals;

const DTYPES: [DType; 3] = [DType::F32, DType::F16, DType::BF16];

/// The device that tests share, and the software device as every kind of GPU.
pub(crate) fn devices() -> Vec<Device> {
    let profiles = software::Profile::all().into_iter();
    std::iter::once(common::device())
        .chain(profiles.map(software_device))
        .collect()
}

fn software_device(profile: software::Profile) -> Device {
    let adapter = AdapterWish {
        software: Some(SoftwareWish::Own(Box::new(profile))),
        ..AdapterWish::default()
    };
    let options = DeviceOptions {
        adapter,
        ..DeviceOptions::default()
    };
    Device::open_blocking(options).unwrap()
}

fn double() -> TensorKernel {
    TensorKernel::wgsl(
        "double",
        "fn kernel(i: u32) { y_store(i, x_at(i) + x_at(i)); }",
    )
    .input("x", Any::numbers())
    .output("y", like("x"))
    .writes_all()
}

fn numbers(device: &Device, dims: &[usize], dtype: DType) -> Tensor {
    let len = dims.iter().product::<usize>() as i32;
    let x = Tensor::arange(device, 0, len, 1, DType::I32).unwrap();
    let x = x.remainder(50).unwrap().to_dtype(dtype).unwrap();
    x.reshape(dims.iter().map(|dim| *dim as isize).collect::<Vec<_>>())
        .unwrap()
}

/// Views of a tensor of three axes.
pub(crate) fn views(x: &Tensor) -> Vec<Tensor> {
    vec![
        x.clone(),
        x.permute([2, 0, 1]).unwrap(),
        x.slice(1, 1..).unwrap(),
        x.slice_step(2, 1.., 2).unwrap(),
        x.flip([0, 2]).unwrap(),
        x.select(0, 1).unwrap(),
        x.select(0, 1)
            .unwrap()
            .select(0, 2)
            .unwrap()
            .select(0, 3)
            .unwrap(),
        x.slice(2, 0..1).unwrap().expand([-1, -1, 6]).unwrap(),
        x.slice(0, 0..0).unwrap(),
    ]
}

#[test]
fn one_text_serves_every_dtype_and_view() {
    for device in devices() {
        let dtypes = DType::ALL.into_iter().filter(|dtype| *dtype != DType::Bool);
        for dtype in dtypes {
            for view in views(&numbers(&device, &[3, 5, 7], dtype)) {
                let y = double().call(&[&view]).run().unwrap();
                assert_eq!((y.dims(), y.dtype()), (view.dims(), dtype));
                let expected = view.add(&view).unwrap().to_dtype(dtype).unwrap();
                assert_eq!(values(&y), values(&expected), "{dtype} {:?}", view.dims());
            }
        }
    }
}

pub(crate) fn values(tensor: &Tensor) -> Vec<f32> {
    let all = tensor.to_dtype(DType::F32).unwrap();
    all.to_vec_blocking::<f32>().unwrap()
}

#[test]
fn views_are_read_where_they_lie_and_pipelines_are_for_layouts_not_for_shapes() {
    let device = Device::open_blocking(DeviceOptions::default()).unwrap();
    let kernel = double();
    let dispatches = || device.executor().pipelines().stats().dispatches;
    let compiled = || device.executor().pipelines().stats().entries;
    let x = numbers(&device, &[4, 6, 5], DType::F32);
    drop(values(&x));
    kernel.call(&[&x]).run().unwrap();
    kernel
        .call(&[&x.permute([2, 1, 0]).unwrap()])
        .run()
        .unwrap();
    let (before, kernels) = (dispatches(), compiled());
    let others = [
        x.flip([1]).unwrap(),
        x.slice(2, 1..3).unwrap(),
        x.select(1, 2).unwrap().t().unwrap(),
        x.reshape([20, 6]).unwrap(),
    ];
    for view in &others {
        kernel.call(&[view]).run().unwrap();
    }
    assert_eq!(dispatches() - before, others.len() as u64, "no copies");
    assert_eq!(compiled(), kernels, "no kernel for a shape");
}

#[test]
fn operands_are_broadcast_and_parameters_have_types() {
    let kernel = TensorKernel::wgsl(
        "affine",
        "fn kernel(i: u32) {
             let mixed = a_at(i) * weight + f32(b_at(i)) * step.y + f32(shift);
             y_store(i, y_t(mixed));
         }",
    )
    .input("a", Any::floats())
    .input("b", DType::I32)
    .output("y", like("a"))
    .param("weight", 1.0f32)
    .param("step", [0u32, 1].map(|n| n as f32))
    .param("shift", 0i32)
    .broadcast();
    for device in devices() {
        for dtype in DTYPES {
            let a = numbers(&device, &[2, 1, 3], dtype);
            let b = numbers(&device, &[4, 1], DType::I32);
            let call = || kernel.call(&[&a, &b]);
            let sum = call().run().unwrap();
            assert_eq!((sum.dims(), sum.dtype()), (&[2, 4, 3][..], dtype));
            let expected = a.add(&b).unwrap().to_dtype(dtype).unwrap();
            assert_eq!(values(&sum), values(&expected));
            let other = call()
                .param("weight", 2.0f32)
                .param("step", [9.0f32, -1.0])
                .param("shift", -3i32)
                .run()
                .unwrap();
            let expected = ((&a * 2.0).unwrap() - &b).unwrap().sub(3).unwrap();
            assert_eq!(values(&other), values(&expected));
        }
    }
}

#[test]
fn several_outputs_of_shapes_and_dtypes_of_their_own() {
    // Rows' sums in f32, their largest index as u8, and a mask.
    let kernel = TensorKernel::wgsl(
        "rows",
        "fn kernel(row: u32) {
             var total = 0.0;
             var best = 0u;
             for (var k = 0u; k < x_shape(1u); k++) {
                 let at = vec4<u32>(0u, 0u, row, k);
                 total += x_load(at);
                 if x_load(at) > x_load(vec4<u32>(0u, 0u, row, best)) { best = k; }
                 mask_store_at(at, x_load(at) > 25.0);
             }
             sum_store(row, total);
             best_store(row, best);
         }",
    )
    .input("x", Any::floats().rank(2))
    .output("sum", DType::F32)
    .output("best", DType::U8)
    .output("mask", DType::Bool)
    .writes_all();
    for device in devices() {
        let x = numbers(&device, &[7, 9], DType::F16).t().unwrap();
        let all = kernel
            .call(&[&x])
            .shape("sum", [9])
            .shape("best", [9])
            .shape("mask", [9, 7])
            .run_all()
            .unwrap();
        let [sum, best, mask] = all.try_into().unwrap();
        assert_eq!(values(&sum), values(&x.sum([1], false).unwrap()));
        assert_eq!(values(&best), values(&x.argmax(1, false).unwrap()));
        assert_eq!(values(&mask), values(&x.gt(25).unwrap()));
    }
}

#[test]
fn what_is_not_written_is_zero_and_nothing_is_read_or_written_outside() {
    let scatter = TensorKernel::wgsl(
        "odd",
        "fn kernel(i: u32) {
             // Far outside, before and behind: nothing.
             y_store(i + 4000000000u, y_t(1));
             if (i & 1u) == 1u { y_store(i, x_at(i) + x_at(i + x_len()) + x_load(vec4<u32>(11u))); }
         }",
    )
    .input("x", Any::numbers())
    .output("y", like("x"));
    for device in devices() {
        for dtype in [DType::F32, DType::BF16, DType::U8, DType::I8] {
            let around = numbers(&device, &[40], dtype);
            let x = around.slice(0, 3..14).unwrap();
            let y = scatter.call(&[&x]).run().unwrap();
            let expected: Vec<f32> = (0..11)
                .map(|i| if i % 2 == 1 { (i + 3) as f32 } else { 0.0 })
                .collect();
            assert_eq!(values(&y), expected, "{dtype}");
        }
    }
}

#[test]
fn elements_of_a_word_are_written_by_whoever_computes_them() {
    // Every element is written by an invocation that has none of its neighbours.
    let spread = TensorKernel::wgsl(
        "spread",
        "fn kernel(i: u32) {
             let to = (i * 37u) % elements();
             if to == element() { y_store(to, x_at(to)); return; }
             y_store(to, x_at(to));
         }",
    )
    .input("x", Any::numbers())
    .output("y", like("x"));
    for device in devices() {
        for dtype in [DType::U8, DType::F16, DType::I32] {
            for len in [1, 2, 3, 5, 1001] {
                let x = numbers(&device, &[len], dtype);
                let y = spread.call(&[&x]).run().unwrap();
                assert_eq!(values(&y), values(&x), "{dtype} {len}");
            }
        }
    }
}

#[test]
fn grids_are_folded() {
    for most in [1, 3, 65_535] {
        let options = DeviceOptions {
            max_workgroups: Some(most),
            workgroup_size: Some(64),
            ..DeviceOptions::default()
        };
        let device = Device::open_blocking(options).unwrap();
        // Three of three workgroups each way are 27; with one there is room for one.
        let len = if most == 1 { 64 } else { 27 * 64 - 5 };
        let x = numbers(&device, &[len], DType::F32);
        let y = double().call(&[&x]).run().unwrap();
        assert_eq!(values(&y), values(&(&x * 2.0).unwrap()));
    }
}

#[test]
fn kernels_without_inputs_and_without_elements() {
    let ramp = TensorKernel::wgsl("ramp", "fn kernel(i: u32) { y_store(i, f32(i) * by); }")
        .output("y", DType::F32)
        .param("by", 1.0f32);
    let device = common::device();
    let y = ramp
        .call_on(&device, &[])
        .shape("y", [5])
        .param("by", 0.5f32);
    assert_eq!(values(&y.run().unwrap()), [0.0, 0.5, 1.0, 1.5, 2.0]);
    let none = ramp.call_on(&device, &[]).shape("y", [0, 4]).run().unwrap();
    assert_eq!(none.dims(), [0, 4]);
    let few = ramp.call_on(&device, &[]).shape("y", [5]).elements(3).run();
    assert_eq!(values(&few.unwrap()), [0.0, 1.0, 2.0, 0.0, 0.0]);
    let empty = Tensor::zeros(&device, [0], DType::F32).unwrap();
    let sum = TensorKernel::wgsl("first", "fn kernel(i: u32) { y_store(i, x_at(i)); }")
        .input("x", DType::F32)
        .output("y", DType::F32);
    let read = sum.call(&[&empty]).shape("y", [2]).run().unwrap();
    assert_eq!(values(&read), [0.0, 0.0], "nothing to read is 0");
}

#[test]
fn pending_values_are_computed_and_results_are_tensors_like_any_other() {
    let device = common::device();
    let x = numbers(&device, &[4, 3], DType::F32);
    let pending = (&x + 1.0).unwrap().t().unwrap();
    let y = double().call(&[&pending]).run().unwrap();
    let z = (&y * 10.0).unwrap().sum_all().unwrap();
    let expected: f32 = (0..12).map(|i| (i as f32 + 1.0) * 20.0).sum();
    assert_eq!(z.item_blocking::<f32>().unwrap(), expected);
}

#[test]
fn a_capture_repeats_it() {
    let device = common::device();
    let x = numbers(&device, &[5], DType::F32);
    let kernel = double();
    let captured = device
        .capture(&[&x], |inputs| {
            let y = kernel.call(&[&inputs[0]]).run()?;
            Ok(vec![(&y + 1.0)?])
        })
        .unwrap();
    let other = (&x * 3.0).unwrap();
    let got = captured.run(&[&other]).unwrap();
    assert_eq!(values(&got[0]), [1.0, 7.0, 13.0, 19.0, 25.0]);
}

#[test]
fn the_sanitizer_finds_nothing_in_what_is_generated() {
    assert_clean(|device: &Device| {
        for dtype in [DType::F32, DType::F16, DType::U8] {
            for view in views(&numbers(device, &[3, 5, 7], dtype)) {
                let y = double().call(&[&view]).run().unwrap();
                let _ = values(&y);
                let mut w = y.clone();
                let add = TensorKernel::wgsl(
                    "add",
                    "fn kernel(i: u32) { w_store(i, w_at(i) + x_at(i)); }",
                )
                .input("x", Any::numbers())
                .update("w", Any::numbers());
                add.call(&[&view]).run_in_place(&mut [&mut w]).unwrap();
                let _ = values(&w);
            }
        }
    });
}

#[test]
fn elements_that_a_kernel_promised_to_write_and_did_not_are_found() {
    let run = |name: &'static str, text: &'static str, dtype: DType| {
        let checked = move |device: &Device| {
            let x = Tensor::ones(device, [7], dtype).unwrap();
            let kernel = TensorKernel::wgsl(name, text)
                .input("x", Any::dtype())
                .output("y", like("x"))
                .writes_all();
            let y = kernel.call(&[&x]).run().unwrap();
            y.eval_blocking().unwrap();
        };
        software::sanitize(checked).unwrap().to_string()
    };
    for dtype in DType::ALL {
        let all = run("all", "fn kernel(i: u32) { y_store(i, x_at(i)); }", dtype);
        assert!(!all.contains("unwritten-output"), "{dtype}: {all}");
        let most = run(
            "most",
            "fn kernel(i: u32) { if i != 5u { y_store(i, x_at(i)); } }",
            dtype,
        );
        let first = format!("the first at byte {}", 5 * dtype.bytes());
        assert!(
            most.contains("unwritten-output: kernel most"),
            "{dtype}: {most}"
        );
        assert!(most.contains(&first), "{dtype}: {most}");
    }
}
