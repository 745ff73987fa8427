//! Norms and log-softmax through `Tensor`: one kernel each, dtypes, channels, running statistics, and what is refused.

use crate::common;
use ziggurat_tensor::{DType, Device, DeviceOptions, Error, Tensor};

fn floats(t: &Tensor) -> Vec<f32> {
    t.to_dtype(DType::F32).unwrap().to_vec_blocking().unwrap()
}

fn near(got: &Tensor, wanted: &Tensor, bound: f32) {
    assert_eq!(got.dims(), wanted.dims());
    for (i, (a, b)) in floats(got).into_iter().zip(floats(wanted)).enumerate() {
        assert!((a - b).abs() <= bound, "element {i}: {a} is not {b}");
    }
}

/// Some values in a shape.
fn waves(device: &Device, dims: &[usize]) -> Tensor {
    let len = dims.iter().product::<usize>() as i32;
    let line = Tensor::arange(device, 0, len, 1, DType::F32).unwrap();
    let waves = (line * 1.7).unwrap().sin().unwrap();
    (waves * 3.0).unwrap().reshape_to(dims).unwrap()
}

fn kernels(device: &Device, run: impl FnOnce() -> Tensor) -> (u64, Tensor) {
    let before = device.executor().device().queue_stats().dispatches;
    let out = run();
    out.eval_blocking().unwrap();
    let after = device.executor().device().queue_stats().dispatches;
    (after - before, out)
}

#[test]
fn each_norm_is_one_kernel_and_agrees_with_its_formula() {
    let device = common::device();
    let x = waves(&device, &[4, 6, 5]);
    x.eval_blocking().unwrap();
    let (w, b) = (waves(&device, &[5]), waves(&device, &[5]).neg().unwrap());
    w.eval_blocking().unwrap();
    b.eval_blocking().unwrap();
    let mean = x.mean([-1], true).unwrap();
    let var = x.var([-1], 0, true).unwrap();
    let centred = (&x - &mean).unwrap();
    let formula = (centred.div((&var + 1e-5).unwrap().sqrt().unwrap()).unwrap() * &w).unwrap();
    near(
        &x.layer_norm([5], Some(&w), Some(&b), 1e-5).unwrap(),
        &(formula + &b).unwrap(),
        1e-5,
    );
    let squares = x.square().unwrap().mean([1, 2], true).unwrap();
    near(
        &x.rms_norm([6, 5], None, 1e-6).unwrap(),
        &x.div((squares + 1e-6).unwrap().sqrt().unwrap()).unwrap(),
        1e-5,
    );
    let length = x.norm(2, [-1], true).unwrap();
    near(
        &x.normalize(2, [-1], 1e-12).unwrap(),
        &x.div(&length).unwrap(),
        1e-6,
    );
    let length = x.norm(3.0, [0, 1], true).unwrap();
    near(
        &x.normalize(3.0, [0, 1], 1e-12).unwrap(),
        &x.div(length).unwrap(),
        1e-6,
    );
    near(
        &x.log_softmax(1).unwrap().exp().unwrap(),
        &x.softmax(1).unwrap(),
        1e-6,
    );
    let sums = x.logsumexp([1], true).unwrap();
    near(&x.log_softmax(1).unwrap(), &(&x - &sums).unwrap(), 2e-6);
}

#[test]
fn norms_take_one_dispatch() {
    // A device of its own, whose dispatches nothing else counts.
    let device = Device::open_blocking(DeviceOptions::default()).unwrap();
    let x = waves(&device, &[4, 6, 5]);
    let (last, channels) = (waves(&device, &[5]), waves(&device, &[6]));
    let positive = channels.abs().unwrap();
    for t in [&x, &last, &channels, &positive] {
        t.eval_blocking().unwrap();
    }
    let one = |run: &dyn Fn() -> Result<Tensor, Error>| {
        let (count, _) = kernels(&device, || run().unwrap());
        assert_eq!(count, 1);
    };
    one(&|| x.layer_norm([5], Some(&last), Some(&last), 1e-5));
    one(&|| x.rms_norm([6, 5], None, 1e-5));
    one(&|| x.group_norm(3, Some(&channels), Some(&channels), 1e-5));
    one(&|| x.instance_norm(Some(&channels), None, 1e-5));
    one(&|| x.normalize(2, [-1], 1e-12));
    one(&|| x.log_softmax(0));
    one(&|| {
        let statistics = (&channels, &positive);
        x.batch_norm(1, statistics, Some(&channels), Some(&channels), 1e-5)
    });
}

#[test]
fn groups_and_instances_are_layer_norms_of_their_parts() {
    let device = common::device();
    let x = waves(&device, &[2, 6, 3, 5]);
    let (w, b) = (waves(&device, &[6]), waves(&device, &[6]).neg().unwrap());
    let along = |t: &Tensor| t.reshape([6, 1, 1]).unwrap();
    let apply = |y: Tensor| (y * along(&w) + along(&b)).unwrap();
    let groups = x.reshape([2, 3, 30]).unwrap();
    let plain = groups.layer_norm([30], None, None, 1e-5).unwrap();
    let plain = plain.reshape_to(x.dims()).unwrap();
    let turned = x.permute([0, 1, 3, 2]).unwrap();
    near(
        &x.group_norm(3, Some(&w), Some(&b), 1e-5).unwrap(),
        &apply(plain),
        1e-5,
    );
    let plain = turned.layer_norm([5, 3], None, None, 1e-5).unwrap();
    near(
        &turned.instance_norm(Some(&w), Some(&b), 1e-5).unwrap(),
        &apply(plain),
        1e-5,
    );
    // A bias alone.
    near(
        &x.instance_norm(None, Some(&b), 1e-5).unwrap(),
        &(x.layer_norm([3, 5], None, None, 1e-5).unwrap() + along(&b)).unwrap(),
        1e-5,
    );
}

#[test]
fn training_returns_the_statistics_of_the_batch() {
    let device = common::device();
    let x = (waves(&device, &[4, 3, 5]) + 1000.0).unwrap();
    let trained = x.batch_norm_train(1, None, None, 1e-5).unwrap();
    near(&trained.mean, &x.mean([0, 2], false).unwrap(), 1e-3);
    near(&trained.var, &x.var([0, 2], 0, false).unwrap(), 1e-4);
    let moments = trained.output.var_mean([0, 2], 0, false).unwrap();
    near(
        &moments.0,
        &Tensor::ones(&device, [3], DType::F32).unwrap(),
        1e-3,
    );
    near(
        &moments.1,
        &Tensor::zeros(&device, [3], DType::F32).unwrap(),
        1e-3,
    );
    let (zeros, ones) = (
        Tensor::zeros(&device, [3], DType::F32).unwrap(),
        Tensor::ones(&device, [3], DType::F32).unwrap(),
    );
    let (mean, var) = trained.running((&zeros, &ones), 0.75).unwrap();
    near(&mean, &(&trained.mean * 0.25).unwrap(), 1e-3);
    near(
        &var,
        &(&trained.var * 0.25 + ziggurat_tensor::scalar(0.75)).unwrap(),
        1e-5,
    );
    assert!(trained.running((&x, &ones), 0.5).unwrap_err().is_shape());
}

#[test]
fn weights_of_another_dtype_are_combined_in_the_wider_one() {
    let device = common::device();
    let x = waves(&device, &[3, 8]).to_dtype(DType::F16).unwrap();
    let w = waves(&device, &[8]);
    let y = x.layer_norm([8], Some(&w), None, 1e-5).unwrap();
    assert_eq!(y.dtype(), DType::F16);
    let exact = x.to_dtype(DType::F32).unwrap();
    let exact = exact.layer_norm([8], Some(&w), None, 1e-5).unwrap();
    near(&y, &exact, 4e-3);
}

#[test]
fn mistakes_are_told() {
    let device = common::device();
    let x = Tensor::zeros(&device, [2, 6, 4], DType::F32).unwrap();
    let error = x.layer_norm([6], None, None, 1e-5).unwrap_err();
    assert_eq!(
        error.to_string(),
        "layer_norm: the last extents must be normalized_shape: the shape is [2, 6, 4], normalized_shape [6]"
    );
    let error = x.group_norm(4, None, None, 1e-5).unwrap_err();
    assert_eq!(
        error.to_string(),
        "group_norm: groups must divide the channels: 4 groups of 6 channels"
    );
    let two = Tensor::zeros(&device, [2], DType::F32).unwrap();
    assert!(
        x.group_norm(3, Some(&two), None, 1e-5)
            .unwrap_err()
            .is_shape()
    );
    assert!(
        x.layer_norm([4], Some(&two), None, 1e-5)
            .unwrap_err()
            .is_shape()
    );
    assert!(
        x.batch_norm(1, (&two, &two), None, None, 1e-5)
            .unwrap_err()
            .is_shape()
    );
    assert!(
        x.batch_norm(3, (&two, &two), None, None, 1e-5)
            .unwrap_err()
            .is_shape()
    );
    // Statistics of another device.
    let other = Device::open_blocking(DeviceOptions::default()).unwrap();
    let (here, there) = (
        Tensor::ones(&device, [6], DType::F32).unwrap(),
        Tensor::ones(&other, [6], DType::F32).unwrap(),
    );
    for (stats, weight) in [
        ((&there, &here), None),
        ((&here, &there), None),
        ((&here, &here), Some(&there)),
    ] {
        let error = x.batch_norm(1, stats, weight, None, 1e-5).unwrap_err();
        assert!(
            error.is_argument() && error.to_string().contains("on one device"),
            "{error}"
        );
    }
    // One value per channel.
    let single = Tensor::zeros(&device, [1, 6, 1], DType::F32).unwrap();
    assert!(
        single
            .instance_norm(None, None, 1e-5)
            .unwrap_err()
            .is_shape()
    );
    let error = single.batch_norm_train(1, None, None, 1e-5).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("more than one value per channel"),
        "{error}"
    );
    let whole = Tensor::zeros(&device, [2, 3], DType::I32).unwrap();
    assert!(
        whole
            .layer_norm([3], None, None, 1e-5)
            .unwrap_err()
            .is_dtype()
    );
    assert!(x.log_softmax(3).unwrap_err().is_shape());
    // Nothing is normalised to nothing.
    let none = Tensor::zeros(&device, [0, 4], DType::F32).unwrap();
    assert_eq!(
        none.layer_norm([4], None, None, 1e-5).unwrap().dims(),
        [0, 4]
    );
    assert_eq!(none.log_softmax(1).unwrap().dims(), [0, 4]);
}
