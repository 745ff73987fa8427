//! Values of a capture share memory, and replays are right all the same.

use crate::common;
use ziggurat_tensor::{DType, Device, DeviceOptions, Error, FusionPolicy, Tensor};

const WIDTH: usize = 48;
const LAYERS: usize = 12;

fn values(device: &Device, dims: [usize; 2], start: f32) -> Tensor {
    let len = dims[0] * dims[1];
    let values: Vec<f32> = (0..len)
        .map(|i| ((i * 37 + 11) % 101) as f32 * 0.002 + start)
        .collect();
    Tensor::from_slice(device, &values, dims).unwrap()
}

/// Layers with a residual that lives longer than what is computed meanwhile, reductions, views, and copies: the outputs are
/// the first layer's, one from the middle, and the last one's.
fn network(x: &Tensor, weight: &Tensor) -> Result<Vec<Tensor>, Error> {
    let mut outputs = Vec::new();
    let mut hidden = x.clone();
    for layer in 0..LAYERS {
        let product = hidden.matmul(weight)?.relu()?;
        let scores = product.matmul(&product.t()?)?.softmax(-1)?;
        let mixed = scores.matmul(&product)?;
        let shifted = mixed.narrow(1, 1, WIDTH - 1)?.contiguous()?;
        let padded = Tensor::concat(&[&shifted, &mixed.narrow(1, 0, 1)?], 1)?;
        let normed = padded.layer_norm([WIDTH], None, None, 1e-5)?;
        hidden = ((&hidden * 0.5)? + normed)?;
        if layer == 0 || layer == LAYERS / 2 {
            outputs.push(hidden.clone());
        }
    }
    outputs.push(hidden.sum([0], false)?);
    Ok(outputs)
}

fn bits(tensor: &Tensor) -> Vec<u32> {
    let values = tensor.to_vec_blocking::<f32>().unwrap();
    values.iter().map(|value| value.to_bits()).collect()
}

/// Captures the network under a policy, replays it with several inputs, and compares each output with the network run as
/// always. Returns what the capture keeps.
fn replay(device: &Device, policy: FusionPolicy) -> ziggurat_tensor::MemoryPlan {
    let _scope = policy.enter();
    let weight = values(device, [WIDTH, WIDTH], -0.1);
    let like = values(device, [WIDTH, WIDTH], 0.0);
    let captured = device
        .capture(&[&like], |inputs| network(&inputs[0], &weight))
        .unwrap();
    for round in 0..3 {
        let x = values(device, [WIDTH, WIDTH], round as f32 * 0.3 - 0.2);
        let expected = network(&x, &weight).unwrap();
        let got = captured.run(&[&x]).unwrap();
        for (index, (got, expected)) in got.iter().zip(&expected).enumerate() {
            assert_eq!(bits(got), bits(expected), "{policy:?} {round} {index}");
        }
    }
    captured.memory_plan()
}

#[test]
fn values_share_memory_and_replays_are_right() {
    for policy in [FusionPolicy::Fused, FusionPolicy::Unfused] {
        // Memory that is handed out is filled with NaN there.
        let plan = replay(&common::device(), policy);
        assert!(plan.values > 4 * LAYERS as u64, "{plan:?}");
        assert!(plan.reserved_bytes * 3 < plan.value_bytes, "{plan:?}");
    }
}

#[cfg(feature = "software")]
#[test]
fn replays_over_shared_memory_are_clean() {
    ziggurat_tensor::software::assert_clean(|device: &Device| {
        replay(device, FusionPolicy::Fused);
    });
}

#[test]
fn a_value_that_is_kept_keeps_its_memory() {
    let device = common::device();
    let x = values(&device, [16, 16], 0.1);
    let mut kept = Vec::new();
    let captured = device
        .capture(&[&x], |inputs| {
            let mut power = inputs[0].clone();
            for _ in 0..6 {
                power = power.matmul(&inputs[0])?;
                kept.push(power.clone());
            }
            Ok(kept.clone())
        })
        .unwrap();
    let plan = captured.memory_plan();
    // What kernels need between their dispatches may come on top.
    assert!(plan.values >= 7, "{plan:?}");
    assert!(plan.reserved_bytes >= 7 * 16 * 16 * 4, "{plan:?}");
    let got = captured.run(&[&x]).unwrap();
    let mut power = x.clone();
    for got in got {
        power = power.matmul(&x).unwrap();
        assert_eq!(bits(&got), bits(&power));
    }
}

#[test]
fn memory_goes_back_when_the_capture_and_its_values_are_gone() {
    let device = Device::open_blocking(DeviceOptions::default()).unwrap();
    let x = Tensor::ones(&device, [64, 64], DType::F32).unwrap();
    x.eval_blocking().unwrap();
    let before = device.usage().live;
    let mut kept = None;
    let captured = device
        .capture(&[&x], |inputs| {
            let product = inputs[0].matmul(&inputs[0])?.matmul(&inputs[0])?;
            kept = Some(product.clone());
            Ok(vec![product])
        })
        .unwrap();
    assert_eq!(
        device.usage().live,
        before + captured.memory_plan().reserved_bytes
    );
    drop(captured);
    assert!(device.usage().live > before, "a value is still held");
    drop(kept);
    assert_eq!(device.usage().live, before);
}
