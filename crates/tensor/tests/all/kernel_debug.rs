//! `assert` and `debug_print` in users' kernels of every kind, on tensors.

use ziggurat_tensor::software::Profile;
use ziggurat_tensor::{
    AdapterWish, Any, CustomKernel, DType, Device, DeviceOptions, Sequence, SoftwareWish, Tensor,
    TensorKernel, like,
};

fn device(software: bool, debug_kernels: bool) -> Device {
    let wish = software.then(|| SoftwareWish::Own(Box::new(Profile::nvidia())));
    Device::open_blocking(DeviceOptions {
        adapter: AdapterWish {
            software: wish,
            ..AdapterWish::default()
        },
        debug_kernels,
        ..DeviceOptions::default()
    })
    .unwrap()
}

const ROOT: &str = "
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) n: vec3<u32>) {
    let i = id.x + (id.y + id.z * n.y) * n.x * 64u;
    if i >= arrayLength(&y) { return; }
    assert(x[i] >= 0.0, \"a root of a negative number\", x[i]);
    debug_print(\"root of\", x[i]);
    y[i] = sqrt(max(x[i], 0.0));
}";

fn root() -> CustomKernel {
    CustomKernel::wgsl("root", ROOT)
        .input("x", DType::F32)
        .output("y", DType::F32)
}

fn body() -> TensorKernel {
    let text = "fn kernel(i: u32) {\n    assert(x_at(i) >= 0.0, \"negative\", i);\n    y_store(i, x_at(i));\n}";
    TensorKernel::wgsl("body", text)
        .input("x", Any::floats())
        .output("y", like("x"))
}

#[test]
fn a_failed_assertion_is_the_error_of_the_next_read() {
    for software in [false, true] {
        let device = device(software, true);
        let good = Tensor::from_slice(&device, &[4.0f32, 9.0], [2]).unwrap();
        let bad = Tensor::from_slice(&device, &[4.0f32, -1.0], [2]).unwrap();
        let roots = root().call(&[&good]).run().unwrap();
        assert_eq!(roots.to_vec_blocking::<f32>().unwrap(), [2.0, 3.0]);
        let first = "root:9: workgroup (0, 0, 0), invocation (0, 0, 0): root of: 4.0";
        let prints = device.take_debug_prints_blocking().unwrap();
        assert_eq!(prints.prints[0].to_string(), first);
        assert_eq!(prints.prints.len(), 2);

        let error = root().call(&[&bad]).run().unwrap().to_vec_blocking::<f32>();
        let error = error.unwrap_err();
        assert!(error.is_kernel(), "{error}");
        let text = error.to_string();
        for word in [
            "root:8",
            "[0, 0, 0]",
            "[1, 0, 0]",
            "a root of a negative number, -1.0",
        ] {
            assert!(text.contains(word), "{word}: {text}");
        }
        // It was told.
        assert_eq!(roots.to_vec_blocking::<f32>().unwrap(), [2.0, 3.0]);

        for view in [bad.clone(), bad.flip([0]).unwrap()] {
            let y = body().call(&[&view]).run().unwrap();
            let error = y.to_vec_blocking::<f32>().unwrap_err().to_string();
            assert!(
                error.contains("body:2") && error.contains("negative, "),
                "{error}"
            );
        }

        let run = |x: &Tensor| {
            let mut sequence = Sequence::new(&device, "twice");
            let from = sequence.read(x).unwrap();
            let to = sequence.zeros([2], DType::F32).unwrap();
            let kernel = root();
            let step = sequence.step(&kernel, [from, to]);
            step.elements(2).run().unwrap();
            sequence.finish(to).unwrap()
        };
        assert!(run(&good).to_vec_blocking::<f32>().is_ok());
        let error = run(&bad).to_vec_blocking::<f32>().unwrap_err().to_string();
        assert!(error.contains("root:8"), "{error}");

        let captured = device.capture(&[&good], |x| Ok(vec![root().call(&[&x[0]]).run()?]));
        let captured = captured.unwrap();
        captured.replay(&[&good]).unwrap();
        let output = captured.output(0).unwrap();
        assert_eq!(output.to_vec_blocking::<f32>().unwrap(), [2.0, 3.0]);
        captured.replay(&[&bad]).unwrap();
        assert!(
            captured
                .output(0)
                .unwrap()
                .to_vec_blocking::<f32>()
                .is_err()
        );
    }
}

#[test]
fn without_the_option_nothing_is_checked_and_nothing_is_bound() {
    let device = device(false, false);
    let bad = Tensor::from_slice(&device, &[4.0f32, -1.0], [2]).unwrap();
    let y = root().call(&[&bad]).run().unwrap();
    assert_eq!(y.to_vec_blocking::<f32>().unwrap(), [2.0, 0.0]);
    let y = body().call(&[&bad]).run().unwrap();
    assert_eq!(y.to_vec_blocking::<f32>().unwrap(), [4.0, -1.0]);
}
