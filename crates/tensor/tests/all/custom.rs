//! Own WGSL on tensors, and sharing a device with other wgpu code.

use crate::common;
use ziggurat_tensor::{CustomKernel, DType, DeviceOptions, Tensor, interop};

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
        .input(DType::F32)
        .output(DType::F32)
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
fn misuse_is_refused_before_anything_runs() {
    let device = common::device();
    let a = Tensor::ones(&device, [4], DType::F32).unwrap();
    let int = a.to_dtype(DType::I32).unwrap();
    let error = double().call(&[&int]).run().unwrap_err();
    assert!(error.is_dtype(), "{error}");
    assert!(double().call(&[&a, &a]).run().unwrap_err().is_dtype());
    assert!(double().call(&[]).run().unwrap_err().is_argument());
    let error = double()
        .input(DType::F32)
        .call(&[&a, &a])
        .run()
        .unwrap_err();
    assert!(error.is_kernel(), "{error}");
    let error = double().output(DType::I32).call(&[&a]).run().unwrap_err();
    assert!(
        error.is_kernel() && error.to_string().contains("out"),
        "{error}"
    );
    let error = double().call(&[&a]).uniform(&[0; 4]).run().unwrap_err();
    assert!(error.is_kernel(), "{error}");
    let broken = CustomKernel::wgsl("broken", "\n\nfn main( {").input(DType::F32);
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
        .output(DType::U32);
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
        ziggurat_tensor::Device::open_blocking(DeviceOptions {
            max_buffer_bytes: Some(1 << 20),
            ..DeviceOptions::default()
        })
        .and_then(|small| Tensor::zeros(&small, [1 << 20], DType::F32))
        .unwrap_err()
        .is_too_large()
    );
}
