//! When elementwise operations run, in how many kernels, and in which memory.
mod memo;
mod plans;

use std::thread;

use crate::counts::{counted, own_device};
use ziggurat_kernels::Executor;
use ziggurat_memory::{Memory, MemoryOptions};
use ziggurat_pipeline::Pipelines;
use ziggurat_tensor::{DType, Device, Error, FusionPolicy, Tensor, read_many_blocking};

fn dispatches(device: &Device) -> u64 {
    device.executor().device().queue_stats().dispatches
}

fn range(device: &Device, len: usize) -> Tensor {
    let values: Vec<f32> = (0..len).map(|i| i as f32).collect();
    Tensor::from_slice(device, &values, [len]).unwrap()
}

fn floats(tensor: &Tensor) -> Vec<f32> {
    tensor.to_vec_blocking::<f32>().unwrap()
}

#[test]
fn one_expression_is_one_dispatch_and_one_buffer() {
    let device = own_device();
    let [a, b, c] = [1, 2, 3].map(|_| range(&device, 1000));
    let run = || -> Result<Tensor, Error> { ((&a * &b)? + &c)?.sqrt() };
    let (d, recorded, allocated) = counted(&device, || run().unwrap());
    assert_eq!((recorded, allocated), (0, 0), "recording runs nothing");
    let ((), recorded, allocated) = counted(&device, || d.eval_blocking().unwrap());
    assert_eq!((recorded, allocated), (1, 1));
    let ((), recorded, allocated) = counted(&device, || d.eval_blocking().unwrap());
    assert_eq!((recorded, allocated), (0, 0), "a value is computed once");
    let expected: Vec<f32> = (0..1000).map(|i| ((i * i + i) as f32).sqrt()).collect();
    for (got, expected) in floats(&d).iter().zip(expected) {
        assert!(
            (got - expected).abs() <= 1e-6 * expected,
            "{got}, expected {expected}"
        );
    }
}

#[test]
fn temporaries_of_one_statement_are_not_stored() {
    let device = own_device();
    let [a, b, c] = [1, 2, 3].map(|_| range(&device, 64));
    let ((), recorded, allocated) = counted(&device, || {
        ((&a * &b).unwrap() + &c)
            .unwrap()
            .sqrt()
            .unwrap()
            .eval_blocking()
            .unwrap();
    });
    assert_eq!((recorded, allocated), (1, 1));
}

#[test]
fn dead_branches_never_run() {
    let device = own_device();
    let a = range(&device, 64);
    let (_, recorded, allocated) = counted(&device, || {
        let dead = a.exp().unwrap().add(&a).unwrap();
        drop(dead.sqrt().unwrap());
        dead.t().unwrap()
    });
    device.synchronize_blocking().unwrap();
    assert_eq!((recorded, allocated), (0, 0));
}

#[test]
fn memory_of_inputs_that_nobody_else_has_is_written_in_place() {
    let device = own_device();
    let (a, b) = (range(&device, 64), range(&device, 64));
    let sum = a.add(&b).unwrap().mul(2.0).unwrap();
    drop(b);
    let ((), recorded, allocated) = counted(&device, || sum.eval_blocking().unwrap());
    assert_eq!((recorded, allocated), (1, 0));
    assert_eq!(floats(&sum)[..3], [0.0, 4.0, 8.0]);
    assert_eq!(
        floats(&a)[..3],
        [0.0, 1.0, 2.0],
        "an input with a handle is left alone"
    );
}

#[test]
fn what_is_read_again_is_not_overwritten() {
    let device = own_device();
    let a = range(&device, 64);
    let double = a.mul(2.0).unwrap().add(1.0).unwrap();
    drop(a);
    // `double` is passed over here, and computed from the same input afterwards.
    let root = double.add(1.0).unwrap().sqrt().unwrap();
    assert_eq!(floats(&root)[1], 2.0);
    assert_eq!(floats(&double)[..3], [1.0, 3.0, 5.0]);
}

#[test]
fn buffers_of_the_application_are_never_overwritten() {
    let device = own_device();
    let plain = range(&device, 64);
    let buffer = ziggurat_tensor::interop::buffer(&plain).unwrap().buffer;
    let shared =
        ziggurat_tensor::interop::tensor_from_buffer(&device, buffer, [64], DType::F32).unwrap();
    let sum = shared.add(1.0).unwrap().mul(2.0).unwrap();
    drop(shared);
    assert_eq!(floats(&sum)[..2], [2.0, 4.0]);
    assert_eq!(floats(&plain)[..2], [0.0, 1.0]);
}

#[test]
fn a_value_that_two_expressions_need_is_computed_once() {
    let device = own_device();
    let a = range(&device, 64);
    let shared = a.add(1.0).unwrap().mul(2.0).unwrap();
    let (left, right) = (shared.add(1.0).unwrap(), shared.sub(1.0).unwrap());
    drop(shared);
    let ((), recorded, allocated) = counted(&device, || left.eval_blocking().unwrap());
    assert_eq!(
        (recorded, allocated),
        (1, 2),
        "the shared value is a second output"
    );
    let explained = right.explain().unwrap();
    assert_eq!(explained.kernels().len(), 1);
    assert_eq!(explained.kernels()[0].ops(), ["sub"]);
    assert_eq!((floats(&left)[1], floats(&right)[1]), (5.0, 3.0));
}

#[test]
fn tensors_read_together_share_a_kernel() {
    let device = own_device();
    let a = range(&device, 64);
    let shared = a.add(1.0).unwrap();
    let (sum, product) = (shared.add(&a).unwrap(), shared.mul(&a).unwrap());
    let flipped = product.flip([0]).unwrap();
    drop(shared);
    let before = dispatches(&device);
    let bytes = read_many_blocking(&[&sum, &product]).unwrap();
    assert_eq!(dispatches(&device) - before, 1);
    assert_eq!(bytes.len(), 2);
    assert_eq!(
        (floats(&sum)[2], floats(&product)[2], floats(&flipped)[63]),
        (5.0, 6.0, 0.0)
    );
}

#[test]
fn held_values_are_computed_twice_at_most() {
    let device = own_device();
    let mut chain = vec![range(&device, 16)];
    for _ in 0..30 {
        chain.push(chain.last().unwrap().add(1.0).unwrap());
    }
    let before = dispatches(&device);
    for (steps, value) in chain.iter().enumerate().rev() {
        assert_eq!(floats(value)[1], 1.0 + steps as f32);
    }
    let recorded = dispatches(&device) - before;
    assert!(recorded <= 31, "{recorded} kernels for 30 values");
    for value in &chain {
        assert!(value.explain().unwrap().kernels().is_empty());
    }
}

#[test]
fn views_of_pending_values_are_fused() {
    let device = own_device();
    let a = range(&device, 6).reshape([2, 3]).unwrap();
    let row = range(&device, 2);
    let sum = a
        .add(1.0)
        .unwrap()
        .t()
        .unwrap()
        .mul(&row)
        .unwrap()
        .slice(0, 1..)
        .unwrap();
    let out = sum.add(0.5).unwrap();
    assert_eq!(sum.dims(), [2, 2]);
    drop(sum);
    let ((), recorded, _) = counted(&device, || out.eval_blocking().unwrap());
    assert_eq!(recorded, 1);
    assert_eq!(floats(&out), [0.5, 5.5, 0.5, 6.5]);
    assert!(!a.add(1.0).unwrap().t().unwrap().is_contiguous());
    assert!(a.t().unwrap().add(1.0).unwrap().is_contiguous());
}

#[test]
fn a_value_of_which_only_the_beginning_is_needed_is_not_stored_as_if_whole() {
    let device = own_device();
    let all = range(&device, 24)
        .reshape([4, 6])
        .unwrap()
        .add(1.0)
        .unwrap();
    let (first, other) = (all.narrow(0, 0, 1).unwrap(), all.mul(2.0).unwrap());
    let root = first.neg().unwrap().sub(1.0).unwrap();
    assert_eq!(floats(&root), [-2.0, -3.0, -4.0, -5.0, -6.0, -7.0]);
    assert_eq!((floats(&all)[23], floats(&other)[23]), (24.0, 48.0));
}

#[test]
fn a_long_computation_is_not_repeated_for_each_place_it_is_broadcast_to() {
    let device = own_device();
    let scale = (0..8).fold(range(&device, 3), |x, _| x.add(1.0).unwrap());
    let wide = Tensor::ones(&device, [4, 3], DType::F32).unwrap();
    let cheap = wide.mul(range(&device, 3).add(1.0).unwrap()).unwrap();
    assert_eq!(cheap.explain().unwrap().kernels().len(), 1);
    let dear = wide.mul(scale).unwrap();
    let explained = dear.explain().unwrap();
    assert_eq!(explained.kernels().len(), 2);
    assert_eq!(explained.kernels()[0].outputs()[0].0.dims(), [3]);
    assert_eq!(floats(&dear)[..4], [8.0, 9.0, 10.0, 8.0]);
}

#[test]
fn a_chain_of_a_thousand_adds_takes_few_kernels() {
    let device = own_device();
    let (start, one) = (
        range(&device, 256),
        Tensor::ones(&device, [256], DType::F32).unwrap(),
    );
    let before = dispatches(&device);
    let end = (0..1000).fold(start, |x, _| x.add(&one).unwrap());
    assert_eq!(floats(&end)[..3], [1000.0, 1001.0, 1002.0]);
    let recorded = dispatches(&device) - before;
    assert!(recorded <= 20, "{recorded} kernels");
    let doubled = (0..40).fold(one, |x, _| x.add(&x).unwrap());
    assert_eq!(floats(&doubled)[0], f32::powi(2.0, 40));
}

#[test]
fn more_inputs_than_bindings_take_several_kernels() {
    let device = own_device();
    let inputs: Vec<Tensor> = (0..100)
        .map(|i| range(&device, 8).add(i).unwrap())
        .collect();
    for input in &inputs {
        input.eval_blocking().unwrap();
    }
    let sum = inputs
        .iter()
        .fold(range(&device, 8), |sum, input| sum.add(input).unwrap());
    assert_eq!(floats(&sum)[1], 1.0 + 100.0 + 4950.0);
    // As a balanced tree, and through two maps each.
    let mut level = inputs;
    while level.len() > 1 {
        level = level
            .chunks(2)
            .map(|pair| match pair {
                [a, b] => a.add(b.flip([0]).unwrap()).unwrap(),
                _ => pair[0].clone(),
            })
            .collect();
    }
    let sum: f32 = floats(&level[0]).iter().sum();
    assert_eq!(sum, 100.0 * 28.0 + 8.0 * 4950.0);
}

#[test]
fn threads_share_pending_values() {
    let device = own_device();
    let a = range(&device, 100);
    let shared = a.mul(3.0).unwrap().add(1.0).unwrap();
    let other = shared.flip([0]).unwrap();
    thread::scope(|scope| {
        for number in 0..8 {
            let (shared, other) = (&shared, &other);
            scope.spawn(move || {
                for round in 0..20 {
                    let mine = shared
                        .add(number)
                        .unwrap()
                        .mul(other)
                        .unwrap()
                        .add(round)
                        .unwrap();
                    let half = mine.mul(2.0).unwrap();
                    drop(half.add(1.0).unwrap());
                    let at = 7;
                    let (x, y) = (3.0 * 7.0 + 1.0, 3.0 * 92.0 + 1.0);
                    let expected = (x + number as f32) * y + round as f32;
                    let seen = if round % 2 == 0 { mine } else { half };
                    let factor = if round % 2 == 0 { 1.0 } else { 2.0 };
                    assert_eq!(floats(&seen)[at], expected * factor);
                }
            });
        }
    });
    assert_eq!(floats(&shared)[1], 4.0);
}

#[test]
fn half_built_graphs_can_be_dropped_from_any_side() {
    let device = own_device();
    let live = device.usage().live;
    {
        let a = range(&device, 1000);
        let b = a.add(1.0).unwrap().mul(&a).unwrap();
        let c = b.t().unwrap().sub(&b).unwrap();
        drop(b);
        drop(a);
        drop(c.neg().unwrap());
    }
    device.synchronize_blocking().unwrap();
    assert_eq!(device.usage().live, live);
    // Inputs are let go of when the kernel is recorded, not when the result is dropped.
    let before = device.usage().live;
    let end = {
        let wide = Tensor::ones(&device, [64, 1024], DType::F32).unwrap();
        wide.add(1.0).unwrap().to_dtype(DType::U8).unwrap()
    };
    end.eval_blocking().unwrap();
    assert!(device.usage().live - before < 64 * 1024 * 4);
}

#[test]
fn mistakes_are_reported_at_the_call() {
    let device = own_device();
    let (a, b) = (range(&device, 3), range(&device, 4));
    let pending = a.add(1.0).unwrap();
    assert!(pending.add(&b).unwrap_err().is_shape());
    assert!(pending.bitwise_not().unwrap_err().is_dtype());
    assert!(pending.bitwise_and(&a).unwrap_err().is_dtype());
    assert!(pending.where_(&a, &b).unwrap_err().is_dtype());
    assert!(pending.permute([1]).unwrap_err().is_shape());
}

#[test]
fn an_error_of_the_evaluation_stays_with_the_node() {
    let device = own_device();
    let options = MemoryOptions {
        limit: Some(4 << 20),
        ..MemoryOptions::default()
    };
    let memory = Memory::new(device.executor().device(), options);
    let small = Device::from_executor(&Executor::new(&Pipelines::new(&memory)));
    let column = Tensor::ones(&small, [1 << 11, 1], DType::F32).unwrap();
    let row = Tensor::ones(&small, [1, 1 << 11], DType::F32).unwrap();
    let wide = column.add(&row).unwrap();
    let above = wide.add(1.0).unwrap();
    assert!(wide.eval_blocking().unwrap_err().is_out_of_memory());
    assert!(
        wide.to_vec_blocking::<f32>()
            .unwrap_err()
            .is_out_of_memory()
    );
    assert!(above.eval_blocking().unwrap_err().is_out_of_memory());
    assert!(wide.add(1.0).unwrap_err().is_out_of_memory());
    assert_eq!(floats(&column.add(1.0).unwrap())[0], 2.0);
}

#[test]
fn what_the_device_cannot_hold_is_refused_when_it_is_recorded() {
    let device = own_device();
    let one = Tensor::ones(&device, [1], DType::F32).unwrap();
    let pending = one.add(1.0).unwrap();
    // Views take no memory, whatever their extents; what is computed from them does.
    for narrow in [&one, &pending] {
        let wide = narrow.broadcast_to([1 << 40]).unwrap();
        for refused in [wide.add(1.0), wide.add(&wide), wide.relu(), wide.exp()] {
            assert!(refused.unwrap_err().is_too_large());
        }
        let sum = narrow.broadcast_to([3]).unwrap().add(1.0).unwrap();
        let sum = sum.add(&sum).unwrap();
        assert_eq!(floats(&sum).len(), 3, "what fits is computed");
    }
}

#[test]
fn tensors_of_two_handles_on_one_device_mix() {
    let device = own_device();
    let other = Device::from_executor(device.executor());
    let (a, b) = (
        range(&device, 4).add(1.0).unwrap(),
        range(&other, 4).add(2.0).unwrap(),
    );
    assert_eq!(floats(&a.add(&b).unwrap()), [3.0, 5.0, 7.0, 9.0]);
    assert_eq!(
        read_many_blocking(&[&a.neg().unwrap(), &b.neg().unwrap()])
            .unwrap()
            .len(),
        2
    );
}

#[test]
fn a_policy_switches_fusion_off() {
    let device = own_device();
    let a = range(&device, 16);
    let run = || a.add(1.0).unwrap().mul(2.0).unwrap().sqrt().unwrap();
    assert_eq!(device.fusion(), FusionPolicy::Fused);
    let (_, recorded, _) = counted(&device, || FusionPolicy::Unfused.scope(run));
    assert_eq!(recorded, 3);
    let pending = run();
    let (_, recorded, _) = counted(&device, || {
        let _unfused = FusionPolicy::Unfused.enter();
        pending.eval_blocking().unwrap();
    });
    assert_eq!(recorded, 3, "what is pending is computed op by op");
    device.set_fusion(FusionPolicy::Unfused);
    assert_eq!(device.fusion(), FusionPolicy::Unfused);
    let (_, recorded, _) = counted(&device, run);
    assert_eq!(recorded, 3);
    let (_, recorded, _) = counted(&device, || FusionPolicy::Fused.scope(run));
    assert_eq!(recorded, 0);
}

#[test]
fn an_explanation_names_ops_bytes_and_code() {
    let device = own_device();
    let (a, b) = (range(&device, 12), range(&device, 12));
    let c = (&a * &b).unwrap().add(1.0).unwrap();
    let before = dispatches(&device);
    let explained = c.explain().unwrap();
    assert_eq!(dispatches(&device), before);
    let [kernel] = explained.kernels() else {
        panic!("{explained}");
    };
    assert_eq!(kernel.ops(), ["mul", "add"]);
    assert_eq!(
        (
            kernel.inputs().len(),
            kernel.outputs().len(),
            kernel.in_place()
        ),
        (2, 1, 0)
    );
    assert_eq!((kernel.bytes_read(), kernel.bytes_written()), (96, 48));
    let wgsl = kernel.wgsl().unwrap();
    assert!(
        wgsl.contains("@compute") && wgsl.contains("fn main"),
        "{wgsl}"
    );
    assert!(explained.to_string().contains("mul, add over [12]"));
    let single = a.sqrt().unwrap().explain().unwrap();
    let wgsl = single.kernels()[0].wgsl().unwrap();
    assert!(
        wgsl.contains("fn apply") && wgsl.contains("@compute"),
        "{wgsl}"
    );
    assert!(a.explain().unwrap().to_string().contains("in memory"));
}

#[test]
fn empty_tensors_and_numbers_alone_are_computed() {
    let device = own_device();
    let none = Tensor::zeros(&device, [0, 3], DType::F32).unwrap();
    assert!(floats(&none.add(1.0).unwrap().sqrt().unwrap().t().unwrap()).is_empty());
    let condition = Tensor::from_slice(&device, &[true, false], [2]).unwrap();
    assert_eq!(floats(&condition.where_(1.5, 2.5).unwrap()), [1.5, 2.5]);
    let one = Tensor::from_value(&device, 2.0f32).unwrap();
    assert_eq!(floats(&one.mul(2.0).unwrap().add(1.0).unwrap()), [5.0]);
}
