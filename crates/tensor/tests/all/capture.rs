//! Captured computations, replayed with other inputs, against the same computations run as always.

use crate::common;
use std::cell::RefCell;
use std::thread;

use ziggurat_tensor::{DType, Device, DeviceOptions, Error, FusionPolicy, Tensor};

fn range(device: &Device, len: usize, start: f32) -> Tensor {
    let values: Vec<f32> = (0..len).map(|i| start + i as f32 * 0.25).collect();
    Tensor::from_slice(device, &values, [len]).unwrap()
}

fn floats(tensor: &Tensor) -> Vec<f32> {
    tensor.to_vec_blocking::<f32>().unwrap()
}

/// A device whose counters no other test moves.
fn own_device() -> Device {
    Device::open_blocking(DeviceOptions::default()).unwrap()
}

fn dispatches(device: &Device) -> u64 {
    device.executor().device().queue_stats().dispatches
}

/// A small network with fused chains, a broadcast bias, views, a matmul and reductions.
fn network(x: &Tensor, weight: &Tensor, bias: &Tensor) -> Result<Vec<Tensor>, Error> {
    let hidden = x.reshape([4, 8])?.matmul(weight)?.add(bias)?.relu()?;
    let scaled = ((&hidden * &hidden)? + &hidden)?.sqrt()?;
    let transposed = scaled.transpose(0, 1)?.mul(2.0)?;
    let soft = hidden.softmax(-1)?;
    Ok(vec![scaled, transposed, soft.sum([1], false)?])
}

struct Parts {
    device: Device,
    weight: Tensor,
    bias: Tensor,
}

fn parts() -> Parts {
    let device = common::device();
    let weight = range(&device, 48, -3.0).reshape([8, 6]).unwrap();
    let bias = range(&device, 6, -0.5);
    Parts {
        device,
        weight,
        bias,
    }
}

#[test]
fn replays_give_what_running_gives() {
    let parts = parts();
    let Parts {
        device,
        weight,
        bias,
    } = &parts;
    for policy in [FusionPolicy::Fused, FusionPolicy::Unfused] {
        let _scope = policy.enter();
        let like = range(device, 32, 0.0);
        let captured = device
            .capture(&[&like], |inputs| network(&inputs[0], weight, bias))
            .unwrap();
        assert_eq!(captured.outputs(), 3);
        for start in [0.0, -4.0, 7.5] {
            let x = range(device, 32, start);
            let expected = network(&x, weight, bias).unwrap();
            let got = captured.run(&[&x]).unwrap();
            for (index, (got, expected)) in got.iter().zip(&expected).enumerate() {
                assert_eq!(got.dims(), expected.dims());
                assert_eq!(floats(got), floats(expected), "{policy:?} {index} {start}");
                let again = captured.output(index).unwrap();
                assert_eq!(floats(&again), floats(expected));
            }
        }
    }
}

#[test]
fn outputs_of_one_replay_stay_when_the_next_one_runs() {
    let device = common::device();
    let twice = device
        .capture(&[&range(&device, 5, 0.0)], |inputs| {
            Ok(vec![inputs[0].mul(2.0)?])
        })
        .unwrap();
    let first = twice.run(&[&range(&device, 5, 1.0)]).unwrap();
    let later = first[0].add(1.0).unwrap();
    let second = twice.run(&[&range(&device, 5, 10.0)]).unwrap();
    assert_eq!(floats(&first[0]), [2.0, 2.5, 3.0, 3.5, 4.0]);
    assert_eq!(floats(&later), [3.0, 3.5, 4.0, 4.5, 5.0], "still pending");
    assert_eq!(floats(&second[0]), [20.0, 20.5, 21.0, 21.5, 22.0]);
}

#[test]
fn nothing_runs_while_capturing_and_a_replay_runs_the_fused_kernels() {
    let device = own_device();
    let x = range(&device, 1000, 0.0);
    x.eval_blocking().unwrap();
    let before = dispatches(&device);
    let captured = device
        .capture(&[&x], |inputs| {
            let x = &inputs[0];
            Ok(vec![((x * x)? + x)?.sqrt()?])
        })
        .unwrap();
    assert_eq!(dispatches(&device), before, "nothing ran");
    assert_eq!(captured.dispatches(), 1, "three ops, one kernel");
    captured.replay(&[&x]).unwrap();
    assert_eq!(dispatches(&device), before + 2, "and a copy of the input");
    let mut inputs = captured.inputs();
    assert_eq!(inputs.next(), Some((x.shape(), DType::F32)));
}

#[test]
fn values_from_before_are_computed_once_and_never_overwritten() {
    let device = own_device();
    // Pending, and nobody else holds it: a plan would like to write over it.
    let weight = range(&device, 64, 1.0).mul(3.0).unwrap();
    let moved = range(&device, 64, 2.0);
    let kept = weight.add(1.0).unwrap();
    let before = dispatches(&device);
    let captured = device
        .capture(&[&range(&device, 64, 0.0)], move |inputs| {
            let sum = inputs[0].mul(&weight)?;
            drop(weight);
            let sum = sum.add(&moved)?;
            drop(moved);
            Ok(vec![sum.exp()?, inputs[0].clone()])
        })
        .unwrap();
    assert!(dispatches(&device) > before, "the weight was computed");
    for _ in 0..3 {
        let x = Tensor::full(&device, [64], 0.0, DType::F32).unwrap();
        let got = captured.run(&[&x]).unwrap();
        let expected: Vec<f32> = floats(&range(&device, 64, 2.0));
        let logs = floats(&got[0].log().unwrap());
        for (log, expected) in logs.iter().zip(expected) {
            assert!(
                (log - expected).abs() < 1e-4 * expected.abs(),
                "{log} {expected}"
            );
        }
        assert_eq!(floats(&got[1]), [0.0; 64], "an input may be an output");
    }
    assert_eq!(floats(&kept)[..2], [4.0, 4.75]);
}

#[test]
fn pending_values_from_before_are_not_computed_within_reductions_of_the_capture() {
    let device = common::device();
    let pending = || range(&device, 16, 0.0).mul(2.0).unwrap();
    let (a, b) = (pending(), pending());
    let captured = device
        .capture(&[&range(&device, 16, 0.0)], |inputs| {
            let sum = inputs[0].add(&a)?.mul(2.0)?.sum_all()?;
            Ok(vec![sum, b.sum_all()?])
        })
        .unwrap();
    assert_eq!(floats(&a), floats(&pending()), "computed before any replay");
    assert_eq!(floats(&b), floats(&pending()));
    let got = captured.run(&[&range(&device, 16, 0.0)]).unwrap();
    assert_eq!([floats(&got[0]), floats(&got[1])], [[180.0], [60.0]]);
}

#[test]
fn inputs_may_be_views_pending_or_broadcast() {
    let device = common::device();
    let like = Tensor::zeros(&device, [4, 3], DType::F32).unwrap();
    let captured = device
        .capture(&[&like], |inputs| Ok(vec![inputs[0].add(1.0)?]))
        .unwrap();
    let strided = range(&device, 12, 0.0).reshape([3, 4]).unwrap();
    let strided = strided.transpose(0, 1).unwrap();
    let pending = like.add(2.0).unwrap();
    let row = range(&device, 3, 0.0).broadcast_to([4, 3]).unwrap();
    for input in [&strided, &pending, &row] {
        let got = captured.run(&[input]).unwrap();
        assert_eq!(floats(&got[0]), floats(&input.add(1.0).unwrap()));
    }
}

#[test]
fn zero_sizes_and_packed_dtypes_work() {
    let device = common::device();
    let empty = Tensor::zeros(&device, [0, 3], DType::F32).unwrap();
    let bytes = Tensor::from_slice(&device, &[1u8, 2, 250, 7, 9], [5]).unwrap();
    let captured = device
        .capture(&[&empty, &bytes], |inputs| {
            let next = inputs[1].add(1)?;
            Ok(vec![inputs[0].add(1.0)?, next])
        })
        .unwrap();
    let got = captured.run(&[&empty, &bytes]).unwrap();
    assert_eq!(got[0].dims(), [0, 3]);
    assert_eq!(got[1].to_vec_blocking::<u8>().unwrap(), [2, 3, 251, 8, 10]);
}

#[test]
fn reads_and_uploads_within_a_capture_are_errors() {
    let device = common::device();
    let x = range(&device, 8, 0.0);
    let capture = |f: &dyn Fn(&Tensor) -> Result<Vec<Tensor>, Error>| {
        device
            .capture(&[&x], |inputs| f(&inputs[0]))
            .map(drop)
            .unwrap_err()
            .to_string()
    };
    let error = capture(&|x| x.to_vec_blocking::<f32>().map(|_| Vec::new()));
    assert!(
        error.contains("download") && error.contains("captur"),
        "{error}"
    );
    let error = capture(&|_| Ok(vec![Tensor::from_slice(&device, &[1.0f32], [1])?]));
    assert!(error.contains("upload"), "{error}");
    let error = capture(&|x| device.capture(&[x], |_| Ok(Vec::new())).map(|_| Vec::new()));
    assert!(error.contains("in a capture already"), "{error}");
    // Another tensor's read as well, and the thread is as before afterwards.
    let error = capture(&|_| x.item_blocking::<f32>().map(|_| Vec::new()));
    assert!(!error.is_empty());
    assert_eq!(floats(&x.add(1.0).unwrap())[0], 1.0);
}

#[test]
fn inputs_that_differ_from_the_captured_ones_are_errors() {
    let device = common::device();
    let x = range(&device, 8, 0.0);
    let captured = device
        .capture(&[&x], |inputs| Ok(vec![inputs[0].neg()?]))
        .unwrap();
    assert!(captured.output(0).is_err(), "nothing was replayed yet");
    let error = captured.replay(&[&range(&device, 9, 0.0)]).unwrap_err();
    assert!(error.is_shape());
    assert_eq!(
        error.to_string(),
        "replay: input 0 must have the shape [8]: got [9]"
    );
    let error = captured
        .replay(&[&x.to_dtype(DType::F16).unwrap()])
        .unwrap_err();
    assert!(error.is_dtype(), "{error}");
    let error = captured.replay(&[]).unwrap_err().to_string();
    assert!(error.contains("number of inputs"), "{error}");
    let elsewhere = Device::open_blocking(DeviceOptions::default()).unwrap();
    let foreign = range(&elsewhere, 8, 0.0);
    assert!(captured.replay(&[&foreign]).is_err());
    assert!(device.capture(&[&foreign], |_| Ok(Vec::new())).is_err());
    captured.replay(&[&x]).unwrap();
    assert_eq!(floats(&captured.output(0).unwrap())[1], -0.25);
    assert!(captured.output(1).is_err());
    let error = device
        .capture(&[&x], |_| captured.replay(&[&x]).map(|()| Vec::new()))
        .unwrap_err()
        .to_string();
    assert!(error.contains("cannot be captured"), "{error}");
}

#[test]
fn what_leaks_out_of_a_capture_is_an_error_and_not_garbage() {
    let device = common::device();
    let leaked = RefCell::new(Vec::new());
    let captured = device
        .capture(&[&range(&device, 8, 0.0)], |inputs| {
            let pending = inputs[0].add(1.0)?;
            let computed = inputs[0].mul(2.0)?;
            let _done = computed.eval();
            leaked.borrow_mut().extend([
                inputs[0].clone(),
                pending.clone(),
                computed,
                pending.neg()?,
            ]);
            Ok(vec![pending])
        })
        .unwrap();
    captured.replay(&[&range(&device, 8, 1.0)]).unwrap();
    for (index, tensor) in leaked.borrow().iter().enumerate() {
        for error in [
            tensor.to_vec_blocking::<f32>().map(|_| ()).unwrap_err(),
            tensor.add(1.0).map(|_| ()).unwrap_err(),
            tensor.sum_all().map(|_| ()).unwrap_err(),
        ] {
            assert!(
                error.to_string().contains("made within a capture"),
                "{index}: {error}"
            );
        }
    }
    assert_eq!(floats(&captured.output(0).unwrap())[0], 2.0);
}

#[test]
fn a_capture_that_fails_or_panics_leaves_the_thread_as_it_was() {
    let device = common::device();
    let x = range(&device, 8, 0.0);
    let failed = device.capture(&[&x], |inputs| {
        inputs[0]
            .matmul(&inputs[0].reshape([2, 4])?)
            .map(|y| vec![y])
    });
    assert!(failed.is_err_and(|error| error.is_shape()));
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _never = device.capture(&[&x], |_| panic!("on purpose"));
    }));
    assert!(panicked.is_err());
    assert_eq!(floats(&x.add(1.0).unwrap())[0], 1.0);
    device.capture(&[&x], |_| Ok(Vec::new())).unwrap();
}

#[test]
fn threads_that_share_a_capture_get_their_own_results() {
    let parts = parts();
    let Parts {
        device,
        weight,
        bias,
    } = &parts;
    let like = range(device, 32, 0.0);
    let captured = device
        .capture(&[&like], |inputs| network(&inputs[0], weight, bias))
        .unwrap();
    thread::scope(|scope| {
        for number in 0..8_u8 {
            let captured = &captured;
            scope.spawn(move || {
                for round in 0..10_u8 {
                    let x = range(device, 32, f32::from(number) - f32::from(round) * 0.5);
                    let expected = network(&x, weight, bias).unwrap();
                    // One thread captures for itself while others compute and replay.
                    if number == 0 {
                        let own = device
                            .capture(&[&x], |inputs| network(&inputs[0], weight, bias))
                            .unwrap();
                        let got = own.run(&[&x]).unwrap();
                        assert_eq!(floats(&got[0]), floats(&expected[0]));
                    }
                    for (got, expected) in captured.run(&[&x]).unwrap().iter().zip(&expected) {
                        assert_eq!(floats(got), floats(expected));
                    }
                }
            });
        }
    });
}

#[test]
fn memory_of_a_capture_is_held_and_given_back_with_it() {
    let device = Device::open_blocking(DeviceOptions::default()).unwrap();
    let like = range(&device, 4096, 0.0);
    device.synchronize_blocking().unwrap();
    let before = device.usage();
    let captured = device
        .capture(&[&like], |inputs| {
            let hidden = inputs[0].reshape([64, 64])?;
            let hidden = hidden.matmul(&hidden)?.matmul(&hidden)?;
            Ok(vec![hidden])
        })
        .unwrap();
    let held = device.usage();
    assert!(held.live >= before.live + 3 * 16384);
    // Others cannot get what the capture uses: results stay right while memory is taken and filled.
    let expected = floats(&captured.run(&[&like]).unwrap()[0]);
    for round in 0..4 {
        let noise: Vec<Tensor> = (0..8)
            .map(|i| Tensor::full(&device, [64, 64], f64::from(i + round), DType::F32).unwrap())
            .collect();
        captured.replay(&[&like]).unwrap();
        drop(noise);
        assert_eq!(floats(&captured.output(0).unwrap()), expected);
    }
    drop(captured);
    device.synchronize_blocking().unwrap();
    assert_eq!(device.usage().live, before.live);
}
