//! Own WGSL on tensors, and sharing a device with other wgpu code.

use crate::common;
use ziggurat_pipeline::{Arg, Grid, KernelDescriptor, ShaderSource};
use ziggurat_tensor::{CustomKernel, DType, Device, DeviceOptions, Tensor, interop, software};

const DOUBLE: &str = "
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> out: array<f32>;
@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let i = (group.x + group.y * groups.x + group.z * groups.x * groups.y) * 64u + local;
    if (i < arrayLength(&out)) { out[i] = 2.0 * x[i]; }
}";

fn double() -> CustomKernel {
    CustomKernel::wgsl("double", DOUBLE)
        .input("x", DType::F32)
        .output("out", DType::F32)
}

#[test]
fn inputs_arrive_dense_whatever_their_strides() {
    let device = common::device();
    let a = Tensor::arange(&device, 0, 12, 1, DType::F32)
        .unwrap()
        .reshape([3, 4])
        .unwrap();
    for view in [
        a.clone(),
        a.t().unwrap(),
        a.slice(1, 1..).unwrap(),
        a.select(0, 2).unwrap(),
        a.flip([1]).unwrap(),
    ] {
        let doubled = double().call(&[&view]).run().unwrap();
        assert_eq!(doubled.dims(), view.dims());
        assert_eq!(
            doubled.to_vec_blocking::<f32>().unwrap(),
            view.add(&view).unwrap().to_vec_blocking::<f32>().unwrap()
        );
    }
    let empty = Tensor::zeros(&device, [0], DType::F32).unwrap();
    assert!(double().call(&[&empty]).run().unwrap().is_empty());
}

#[test]
fn grids_fold_beyond_the_limit_of_one_dimension() {
    let device = common::device();
    let a = Tensor::ones(&device, [65_535 * 64 + 1], DType::F32).unwrap();
    let sum = double().call(&[&a]).run().unwrap().sum_all().unwrap();
    assert_eq!(
        sum.item_blocking::<f32>().unwrap(),
        2.0 * (65_535.0 * 64.0 + 1.0)
    );
}

#[test]
fn what_a_shader_leaves_out_is_zero() {
    let device = common::device();
    let dirty = Tensor::full(&device, [1000], 7.0, DType::F32).unwrap();
    device.synchronize_blocking().unwrap();
    drop(dirty);
    let a = Tensor::ones(&device, [1000], DType::F32).unwrap();
    let out = double()
        .call(&[&a])
        .workgroups([1, 1, 1])
        .run()
        .unwrap()
        .to_vec_blocking::<f32>()
        .unwrap();
    assert_eq!(out[..64], [2.0; 64]);
    assert!(out[64..].iter().all(|&value| value == 0.0));
}

#[test]
fn elements_that_a_kernel_promised_to_write_and_did_not_are_found() {
    const MOST: &str = "
@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read_write> out: array<f32>;
@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) i: u32) {
    if i != 5u && i < arrayLength(&out) { out[i] = a[i]; }
}";
    let most = || CustomKernel::wgsl("most", MOST).input("a", DType::F32);
    let text = DOUBLE.to_owned() + "\r\n";
    let all = CustomKernel::parts("all", [("double.wgsl", text), ("end.wgsl", String::new())])
        .input("x", DType::F32)
        .writes_all();
    let run = |kernel: CustomKernel| {
        let report = software::sanitize(move |device: &Device| {
            let x = Tensor::ones(device, [7], DType::F32).unwrap();
            kernel.call(&[&x]).run().unwrap().eval_blocking().unwrap();
        });
        report.unwrap().to_string()
    };
    let found = run(most().writes_all());
    let expected = "unwritten-output: kernel most, most:3";
    assert!(found.contains(expected), "{found}");
    assert!(found.contains("the first at byte 20"), "{found}");
    // Several parts may have one name.
    let none = "\n// out is declared elsewhere\n// out\n";
    let same = CustomKernel::parts("most", [("most", none), ("most", MOST)]);
    let found = run(same.input("a", DType::F32).writes_all());
    assert!(found.contains(expected), "{found}");
    for kernel in [all, most()] {
        let found = run(kernel);
        assert!(found.starts_with("0 findings"), "{found}");
    }
}

#[test]
fn misuse_is_refused_before_anything_runs() {
    let device = common::device();
    let a = Tensor::ones(&device, [4], DType::F32).unwrap();
    let int = a.to_dtype(DType::I32).unwrap();
    let error = double().call(&[&int]).run().unwrap_err();
    assert!(error.is_dtype(), "{error}");
    assert!(double().call(&[&a, &a]).run().unwrap_err().is_dtype());
    assert!(double().call(&[]).run().unwrap_err().is_argument());
    let error = double()
        .input("z", DType::F32)
        .call(&[&a, &a])
        .run()
        .unwrap_err();
    assert!(error.is_kernel(), "{error}");
    let error = double()
        .output("out", DType::I32)
        .call(&[&a])
        .run()
        .unwrap_err();
    assert!(
        error.is_kernel() && error.to_string().contains("out"),
        "{error}"
    );
    let error = double().call(&[&a]).uniform(&[0; 4]).run().unwrap_err();
    assert!(error.is_kernel(), "{error}");
    let broken = CustomKernel::wgsl("broken", "\n\nfn main( {").input("x", DType::F32);
    let error = broken.call(&[&a]).run().unwrap_err();
    assert!(
        error.is_kernel() && error.to_string().contains('3'),
        "{error}"
    );
    assert_eq!(
        double()
            .call(&[&a])
            .run()
            .unwrap()
            .to_vec_blocking::<f32>()
            .unwrap(),
        [2.0; 4]
    );
}

#[test]
fn several_uniforms_and_groups_take_what_is_meant_for_them() {
    let device = common::device();
    let text = "
        @group(1) @binding(0) var<uniform> gain: f32;
        @group(0) @binding(0) var<uniform> add: vec2<f32>;
        @group(0) @binding(1) var<storage, read> x: array<f32>;
        @group(2) @binding(0) var<storage, read_write> y: array<f32>;
        @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
            if id.x < arrayLength(&y) { y[id.x] = x[id.x] * gain + add.y; }
        }";
    let kernel = CustomKernel::wgsl("gain", text)
        .input("x", DType::F32)
        .output("y", DType::F32);
    let x = Tensor::from_slice(&device, &[1.0f32, 2.0, 3.0], [3]).unwrap();
    let add: Vec<u8> = [0.0f32, 5.0]
        .into_iter()
        .flat_map(f32::to_le_bytes)
        .collect();
    let (add, gain) = (&add[..], &10.0f32.to_le_bytes()[..]);
    let calls = [
        kernel.call(&[&x]).uniform(add).uniform(gain),
        kernel.call(&[&x]).uniform_at(1, 0, gain).uniform(add),
        kernel
            .call(&[&x])
            .uniform_at(1, 0, gain)
            .uniform_at(0, 0, add),
    ];
    for call in calls {
        let y = call.run().unwrap().to_vec_blocking::<f32>().unwrap();
        assert_eq!(y, [15.0, 25.0, 35.0]);
    }
    let error = kernel.call(&[&x]).uniform(add).run().unwrap_err();
    assert!(error.to_string().contains("expected 2 uniforms"), "{error}");
    let error = kernel.call(&[&x]).uniform_at(0, 1, add).run().unwrap_err();
    assert!(
        error.to_string().contains("no uniform at group 0"),
        "{error}"
    );
}

#[test]
fn kernels_without_inputs_name_their_device() {
    let device = common::device();
    let index = CustomKernel::parts(
        "index",
        [
            (
                "bindings.wgsl",
                "@group(0) @binding(0) var<storage, read_write> out: array<u32>; override SCALE: u32 = 1u;",
            ),
            (
                "main.wgsl",
                "@compute @workgroup_size(1) fn first(@builtin(global_invocation_id) id: vec3<u32>) { out[id.x] = id.x * SCALE; }",
            ),
        ],
    );
    let index = index
        .entry("first")
        .constant("SCALE", 3.0)
        .output("out", DType::U32);
    let out = index.call_on(&device, &[]).shape([5]).run().unwrap();
    assert_eq!(out.to_vec_blocking::<u32>().unwrap(), [0, 3, 6, 9, 12]);
}

#[test]
fn buffers_of_the_application_become_tensors() {
    let device = common::device();
    let usage =
        wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
    let buffer = |usage| {
        let size = 16;
        interop::wgpu_device(&device).create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size,
            usage,
            mapped_at_creation: false,
        })
    };
    let own = buffer(usage);
    interop::wgpu_queue(&device).write_buffer(&own, 0, &1.5f32.to_le_bytes());
    let tensor = interop::tensor_from_buffer(&device, own.clone(), [4], DType::F32).unwrap();
    assert_eq!(
        (&tensor + 1).unwrap().to_vec_blocking::<f32>().unwrap(),
        [2.5, 1.0, 1.0, 1.0]
    );
    assert!(interop::buffer(&tensor).unwrap().buffer == own);
    assert!(interop::tensor_from_buffer(&device, own, [5], DType::F32).is_err());
    assert!(
        interop::tensor_from_buffer(
            &device,
            buffer(wgpu::BufferUsages::STORAGE),
            [4],
            DType::F32
        )
        .unwrap_err()
        .is_argument()
    );
    interop::flush(&device).unwrap();
}

#[test]
fn usage_statistics_and_trim_are_reachable() {
    let device = common::device();
    let before = device.usage().live;
    let a = Tensor::zeros(&device, [1 << 16], DType::F32).unwrap();
    assert!(device.usage().live >= before.min(1 << 18));
    drop(a);
    device.synchronize_blocking().unwrap();
    let _given_back = device.trim(0);
    if device.set_profiling(true) {
        let _b = Tensor::ones(&device, [100], DType::F32)
            .unwrap()
            .exp()
            .unwrap();
        let profile = device.profile_blocking().unwrap();
        assert!(!profile.is_empty());
    }
    let _off = device.set_profiling(false);
    assert!(device.pipeline_stats().misses > 0);
    assert!(
        Device::open_blocking(DeviceOptions {
            max_buffer_bytes: Some(1 << 20),
            ..DeviceOptions::default()
        })
        .and_then(|small| Tensor::zeros(&small, [1 << 20], DType::F32))
        .unwrap_err()
        .is_too_large()
    );
}

/// A device with rows of three workgroups, so that small tensors need several.
fn short_rows() -> Device {
    let options = DeviceOptions {
        max_workgroups: Some(3),
        ..DeviceOptions::default()
    };
    Device::open_blocking(options).unwrap()
}

#[test]
fn a_kernel_that_looks_only_at_x_is_refused_where_one_row_does_not_reach() {
    let device = short_rows();
    let by_x = "@group(0) @binding(0) var<storage, read> x: array<f32>;
        @group(0) @binding(1) var<storage, read_write> out: array<f32>;
        @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
            if id.x < arrayLength(&out) { out[id.x] = 2.0 * x[id.x]; } }";
    let kernel = CustomKernel::wgsl("by_x", by_x).input("x", DType::F32);
    let row = Tensor::ones(&device, [3 * 64], DType::F32).unwrap();
    let doubled = kernel.call(&[&row]).run().unwrap();
    assert_eq!(doubled.to_vec_blocking::<f32>().unwrap(), [2.0; 3 * 64]);
    let more = Tensor::ones(&device, [3 * 64 + 1], DType::F32).unwrap();
    let error = kernel.call(&[&more]).run().unwrap_err();
    assert!(
        error.is_kernel() && error.to_string().contains("num_workgroups"),
        "{error}"
    );
    let folded = double().call(&[&more]).run().unwrap();
    assert_eq!(folded.to_vec_blocking::<f32>().unwrap(), [2.0; 3 * 64 + 1]);
}

/// The WGSL that the documents show, with how they dispatch it.
#[test]
fn the_documents_kernels_double_each_element_once_at_any_size() {
    use ziggurat_pipeline::{Arg, Grid, KernelDescriptor, ShaderSource};
    let page = include_str!("../../../../docs/custom-kernels.md");
    let page = page
        .split("```wgsl")
        .find(|block| block.contains("fn folded"));
    let page = page.unwrap().split("```").next().unwrap();
    let readme = include_str!("../../../../README.md");
    let readme = readme.split("let double = \"").nth(1).unwrap();
    let readme = readme.split("\";").next().unwrap();
    let device = short_rows();
    let pipelines = device.executor().pipelines();
    for len in [1, 63, 64, 3 * 64, 3 * 64 + 1, 9 * 64 + 1, 27 * 64] {
        let grids: [(&str, &str, Grid); 3] = [
            (page, "folded", Grid::elements(len, 1)),
            (page, "strided", Grid::stride(len, 1)),
            (readme, "main", Grid::stride(len, 1)),
        ];
        for (text, entry, grid) in grids {
            let source = ShaderSource::wgsl("document", text.to_owned());
            let kernel = pipelines
                .kernel(&KernelDescriptor::new(source).entry(entry))
                .unwrap();
            let x = pipelines
                .memory()
                .upload_slice(&vec![1.0f32; len as usize])
                .unwrap();
            pipelines
                .dispatch(&kernel, &[Arg::write(&x)], &[], grid)
                .unwrap();
            let got = pipelines
                .memory()
                .read_slice::<f32>(&x, 0..len)
                .unwrap()
                .wait()
                .unwrap();
            assert!(
                got.iter().all(|&value| value == 2.0),
                "{entry}, {len} elements"
            );
        }
    }
}

#[test]
fn a_loop_with_the_stride_of_the_grid_is_right_at_any_size() {
    let device = short_rows();
    let strided = "@group(0) @binding(0) var<storage, read> x: array<f32>;
        @group(0) @binding(1) var<storage, read_write> out: array<f32>;
        @compute @workgroup_size(64)
        fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) n: vec3<u32>) {
            for (var i = id.x; i < arrayLength(&out); i += 64u * n.x) { out[i] += 2.0 * x[i]; } }";
    let kernel = CustomKernel::wgsl("strided", strided).input("x", DType::F32);
    for len in [1, 192, 193, 5000] {
        let x = Tensor::ones(&device, [len], DType::F32).unwrap();
        let out = kernel.call(&[&x]).stride().run().unwrap();
        assert_eq!(out.to_vec_blocking::<f32>().unwrap(), vec![2.0; len]);
    }
    let x = Tensor::ones(&device, [193], DType::F32).unwrap();
    assert!(
        kernel.call(&[&x]).run().unwrap_err().is_kernel(),
        "folded it would add twice"
    );
}

/// Writing through `interop` and through the pipeline layer leaves what was recorded before as it was.
#[test]
fn pending_readers_keep_what_they_read_when_memory_is_written() {
    let device = common::device();
    let text = "@group(0) @binding(0) var<storage, read_write> a: array<f32>;
        @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
            if id.x < arrayLength(&a) { a[id.x] = 100.0; }
        }";
    let pipelines = device.executor().pipelines();
    let kernel = pipelines.kernel(&KernelDescriptor::new(ShaderSource::wgsl("fill", text)));
    let kernel = kernel.unwrap();
    let mut x = Tensor::from_slice(&device, &[1.0f32, 2.0, 3.0, 4.0], [4]).unwrap();
    let pending = (&x + 1.0).unwrap();
    let clone = x.clone();
    let view = x.narrow(0, 1, 2).unwrap();
    let buffer = x.storage_mut().unwrap().buffer.clone();
    let grid = Grid::elements(4, 1);
    pipelines
        .dispatch(&kernel, &[Arg::write(&buffer)], &[], grid)
        .unwrap();
    assert_eq!(x.to_vec_blocking::<f32>().unwrap(), [100.0; 4]);
    assert_eq!(
        pending.to_vec_blocking::<f32>().unwrap(),
        [2.0, 3.0, 4.0, 5.0]
    );
    assert_eq!(
        clone.to_vec_blocking::<f32>().unwrap(),
        [1.0, 2.0, 3.0, 4.0]
    );
    assert_eq!(view.to_vec_blocking::<f32>().unwrap(), [2.0, 3.0]);

    drop(buffer);
    let pending = (&x + 1.0).unwrap();
    let memory = interop::buffer_mut(&mut x).unwrap();
    interop::flush(&device).unwrap();
    let bytes: Vec<u8> = [7.0f32; 4].into_iter().flat_map(f32::to_le_bytes).collect();
    interop::wgpu_queue(&device).write_buffer(&memory.buffer, 0, &bytes);
    assert_eq!(pending.to_vec_blocking::<f32>().unwrap(), [101.0; 4]);
    assert_eq!(x.to_vec_blocking::<f32>().unwrap(), [7.0; 4]);
}

ziggurat_tensor::kernel!(Line = "line.wgsl");

/// A file is checked by the compiler and called with typed parameters.
#[test]
fn a_file_is_a_typed_kernel() {
    let device = common::device();
    let x = Tensor::from_slice(&device, &[1.0f32, 2.0, 3.0], [3]).unwrap();
    let line = Line {
        slope: 10.0,
        start: [1.0, 2.0],
    };
    let y = line.run(&x).unwrap();
    assert_eq!(y.to_vec_blocking::<f32>().unwrap(), [13.0, 23.0, 33.0]);
    let y = line.call(&x).shape([2]).run().unwrap();
    assert_eq!(y.to_vec_blocking::<f32>().unwrap(), [13.0, 23.0]);
}

/// A struct with other fields than the shader's is refused by name and line.
#[test]
fn parameters_with_other_fields_are_refused() {
    #[derive(ziggurat_tensor::KernelParams)]
    struct Swapped {
        start: [f32; 2],
        slope: f32,
    }
    let device = common::device();
    let x = Tensor::from_slice(&device, &[1.0f32], [1]).unwrap();
    let swapped = Swapped {
        start: [0.0; 2],
        slope: 1.0,
    };
    let error = Line::kernel()
        .call(&[&x])
        .params(&swapped)
        .run()
        .unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("line.wgsl:5") && text.contains("`slope` of f32"),
        "{text}"
    );
}
