//! Plans that are found again: what is computed the same way in every step is planned once.

use super::*;
use ziggurat_tensor::Conv2dOptions;

/// A network with products, a convolution, reductions, softmax and norms, with prologues and epilogues, over numbers that
/// change.
fn network(x: &Tensor, weight: &Tensor, filters: &Tensor, step: f32) -> Result<Tensor, Error> {
    let hidden = x.matmul(weight)?.add(step)?.relu()?;
    let image = hidden.reshape([1, 1, 16, 16])?;
    let image = image.conv2d(filters, None, &Conv2dOptions::default())?;
    let wide = image.mul(step)?.reshape([14, 14])?.tanh()?;
    let scores = wide.mul(0.5)?.softmax(-1)?;
    let normed = scores.mul(&wide)?.layer_norm([14], None, None, 1e-5)?;
    normed.mul(&normed)?.sum([0], true)?.sqrt()?.add(step)
}

fn values(device: &Device, dims: &[usize], start: f32) -> Tensor {
    let len: usize = dims.iter().product();
    let values: Vec<f32> = (0..len)
        .map(|i| ((i * 29 + 7) % 64) as f32 * 0.01 + start)
        .collect();
    Tensor::from_slice(device, &values, dims).unwrap()
}

fn bits(tensor: &Tensor) -> Vec<u32> {
    floats(tensor).iter().map(|value| value.to_bits()).collect()
}

#[test]
fn a_network_is_planned_in_its_first_step_only() {
    for checks in [true, false] {
        let device = own_device();
        device.executor().pipelines().set_key_checks(checks);
        let weight = values(&device, &[16, 16], -0.3);
        let filters = values(&device, &[1, 1, 3, 3], -0.2);
        let mut known = None;
        for step in 1..6_u8 {
            let step = f32::from(step);
            let x = values(&device, &[16, 16], step * 0.1);
            let expected = FusionPolicy::Unfused
                .scope(|| bits(&network(&x, &weight, &filters, step).unwrap()));
            let before = device.plan_stats();
            let got = network(&x, &weight, &filters, step).unwrap();
            assert_eq!(bits(&got), expected, "step {step}");
            let after = device.plan_stats();
            // In the first step numbers may be equal that are not in others.
            match known {
                Some(()) => {
                    assert_eq!(after.misses, before.misses, "step {step}");
                    assert!(after.hits > before.hits + 3, "step {step}: {after:?}");
                }
                None if step > 1.0 => known = Some(()),
                None => {}
            }
        }
    }
}

type Op = fn(&Tensor, f32) -> Result<Tensor, Error>;

#[test]
fn single_ops_are_planned_once_in_both_policies() {
    let device = own_device();
    let x = values(&device, &[5, 7], 0.0);
    for policy in [FusionPolicy::Fused, FusionPolicy::Unfused] {
        let _scope = policy.enter();
        let ops: [Op; 4] = [
            |x, number| x.mul(number),
            |x, _| x.exp(),
            |x, number| x.gt(number)?.to_dtype(DType::F32),
            |x, _| x.narrow(1, 1, 3)?.add(x.narrow(1, 2, 3)?),
        ];
        for op in ops {
            for (round, number) in [0.5, 0.25, 3.0].into_iter().enumerate() {
                let before = device.plan_stats();
                let got = bits(&op(&x, number).unwrap());
                let expected = op(&x, number).unwrap().add(0.0).unwrap();
                assert_eq!(got, bits(&expected), "{policy:?}");
                if round > 0 {
                    assert_eq!(device.plan_stats().misses, before.misses, "{policy:?}");
                }
            }
        }
    }
}

/// Calls of values in memory that differ in little: which operands are one value or lie in one memory, their order, how they
/// lie there, their dtype, the op, the shape.
fn similar_calls(a: &Tensor, b: &Tensor) -> Result<Vec<Tensor>, Error> {
    let turned = a.t()?;
    let [left, right, low] = [
        a.narrow(1, 0, 3)?,
        a.narrow(1, 3, 3)?,
        b.narrow(0, 3, 3)?.t()?,
    ];
    let row = b.narrow(0, 0, 1)?;
    let whole = [a.to_dtype(DType::I32)?, b.to_dtype(DType::I32)?];
    let mask = a.gt(b)?;
    Ok(vec![
        a.sub(b)?,
        b.sub(a)?,
        a.sub(a)?,
        a.div(b)?,
        a.sub(&turned)?,
        turned.sub(a)?,
        left.sub(&right)?,
        right.sub(&left)?,
        left.sub(&left)?,
        left.sub(&low)?,
        a.sub(&row)?,
        row.sub(a)?,
        whole[0].sub(&whole[1])?.to_dtype(DType::F32)?,
        whole[1].sub(&whole[0])?.to_dtype(DType::F32)?,
        mask.where_(a, b)?,
        mask.where_(b, a)?,
        mask.where_(a, a)?,
        mask.where_(&turned, b)?,
        a.neg()?,
        turned.neg()?,
    ])
}

#[test]
fn calls_that_come_again_are_told_apart_as_by_their_keys() {
    let _scope = FusionPolicy::Unfused.enter();
    // With checks each call goes by its key, and is planned again and compared.
    let [checked, quick] = [true, false].map(|checks| {
        let device = own_device();
        device.executor().pipelines().set_key_checks(checks);
        device
    });
    for round in 0..4_u8 {
        let results = [&checked, &quick].map(|device| {
            let scattered = |step: usize, scale: f32| {
                let value = |i: usize| ((i * step + 7) % 64) as f32 * scale + f32::from(round);
                let values: Vec<f32> = (0..36).map(value).collect();
                Tensor::from_slice(device, &values, [6, 6]).unwrap()
            };
            let (a, b) = (scattered(29, 0.37), scattered(13, 0.53));
            let before = device.plan_stats();
            let results = similar_calls(&a, &b).unwrap();
            let after = device.plan_stats();
            if round > 1 {
                assert_eq!(after.misses, before.misses, "round {round}");
                assert!(after.hits >= before.hits + results.len() as u64);
            }
            results.iter().map(bits).collect::<Vec<_>>()
        });
        let [expected, got] = &results;
        for (at, (expected, got)) in expected.iter().zip(got).enumerate() {
            assert_eq!(got, expected, "round {round}, call {at}");
        }
        // Calls that are taken for each other would be seen.
        for at in 0..expected.len() {
            assert!(!expected[..at].contains(&expected[at]), "call {at}");
        }
    }
}

#[test]
fn plans_that_were_not_used_for_longest_are_forgotten() {
    let device = own_device();
    let x = values(&device, &[1200], 0.0);
    let sum = |len: usize| x.narrow(0, 0, len).unwrap().add(1.0).unwrap().mul(2.0);
    for len in 1..1200 {
        sum(len).unwrap().eval_blocking().unwrap();
    }
    let full = device.plan_stats();
    assert_eq!(full.entries, 1024);
    assert_eq!(full.evicted, full.misses - 1024);
    // The last ones are known, the first ones are planned anew, and right.
    assert_eq!(floats(&sum(1199).unwrap()).len(), 1199);
    assert_eq!(device.plan_stats().misses, full.misses);
    let expected = FusionPolicy::Unfused.scope(|| bits(&sum(2).unwrap()));
    let before = device.plan_stats().misses;
    assert_eq!(bits(&sum(2).unwrap()), expected);
    assert_eq!(device.plan_stats().misses, before + 1);
}

#[test]
fn an_operand_with_the_memory_of_another_is_not_taken_for_one_of_its_own() {
    let device = own_device();
    let whole = values(&device, &[64], 0.0);
    let other = values(&device, &[64], 1.0);
    let product = |a: &Tensor, b: &Tensor| {
        let a = a.reshape([8, 8])?;
        a.matmul(&b.reshape([8, 8])?)?.add(&a)?.relu()
    };
    for _ in 0..2 {
        for (a, b) in [(&whole, &whole), (&whole, &other), (&other, &whole)] {
            let expected = FusionPolicy::Unfused.scope(|| bits(&product(a, b).unwrap()));
            assert_eq!(bits(&product(a, b).unwrap()), expected);
        }
    }
}

/// Kernels that differ in one field each: the op, its options, how operands lie, their dtypes, which are one value, what is
/// computed where they read and where they write.
fn similar_kernels(a: &Tensor, b: &Tensor, number: f32) -> Result<Vec<Tensor>, Error> {
    let (turned, half) = (b.t()?, b.to_dtype(DType::F16)?);
    half.eval_blocking()?;
    let [upper, lower] = [b.narrow(0, 0, 5)?, b.narrow(0, 1, 5)?];
    let [left, right] = [a.narrow(1, 0, 5)?, a.narrow(1, 1, 5)?];
    let [row, column] = [b.narrow(0, 2, 1)?, b.narrow(1, 2, 1)?];
    let pending = |x: &Tensor| x.mul(number)?.add(0.5);
    Ok(vec![
        a.matmul(b)?,
        b.matmul(a)?,
        a.matmul(a)?,
        a.matmul(&turned)?,
        a.matmul(&half)?,
        left.matmul(&upper)?,
        left.matmul(&lower)?,
        right.matmul(&upper)?,
        a.matmul(b)?.add(number)?,
        a.matmul(b)?.mul(number)?,
        a.matmul(b)?.add(number)?.relu()?,
        a.matmul(b)?.relu()?.add(number)?,
        a.matmul(b)?.add(a)?,
        a.matmul(b)?.add(b)?,
        a.matmul(b)?.add(&turned)?,
        a.matmul(b)?.add(&row)?,
        a.matmul(b)?.add(&column)?,
        a.softmax(0)?,
        a.softmax(1)?,
        a.log_softmax(1)?,
        b.softmax(1)?,
        pending(a)?.softmax(0)?,
        pending(a)?.softmax(1)?,
        pending(a)?.log_softmax(1)?,
        pending(b)?.softmax(1)?,
        pending(&turned)?.softmax(1)?,
        pending(&left)?.softmax(1)?,
        pending(&right)?.softmax(1)?,
        pending(&half)?.softmax(1)?.to_dtype(DType::F32)?,
        a.mul(number)?.mul(0.75)?.log_softmax(1)?,
        a.mul(b)?.softmax(1)?,
        a.mul(a)?.softmax(1)?,
        a.mul(&row)?.softmax(1)?,
        a.mul(&column)?.softmax(1)?,
        a.matmul(b)?.add(number)?.softmax(1)?,
        a.layer_norm([6], None, None, 1e-5)?,
        a.layer_norm([6], None, None, 1.0)?,
        a.layer_norm([6, 6], None, None, 1e-5)?,
        a.rms_norm([6], None, 1e-5)?,
        pending(a)?.layer_norm([6], None, None, 1e-5)?,
        pending(a)?.layer_norm([6], None, None, 1.0)?,
        pending(a)?.layer_norm([6, 6], None, None, 1e-5)?,
        pending(a)?.sum([0], false)?,
        pending(a)?.sum([1], false)?,
        pending(a)?.sum([0, 1], false)?,
        pending(a)?.max([1], false)?,
        pending(a)?.norm(1.0, [1], false)?,
        pending(a)?.norm(3.0, [1], false)?,
        pending(a)?.sum([1], false)?.add(number)?,
    ])
}

#[test]
fn kernels_that_differ_in_one_field_are_not_taken_for_each_other() {
    // With checks each is planned again and compared.
    let [checked, quick] = [true, false].map(|checks| {
        let device = own_device();
        device.executor().pipelines().set_key_checks(checks);
        device
    });
    for round in 0..4_u8 {
        // A number that differs from the others', so that it has a place of its own each time.
        let number = 1.25 + 0.0625 * f32::from(round);
        let results = [&checked, &quick].map(|device| {
            let scattered = |step: usize, scale: f32| {
                let value = |i: usize| ((i * step + 7) % 64) as f32 * scale - 1.0;
                let values: Vec<f32> = (0..36).map(value).collect();
                Tensor::from_slice(device, &values, [6, 6]).unwrap()
            };
            let (a, b) = (scattered(29, 0.037), scattered(13, 0.053));
            let before = device.plan_stats();
            let results = similar_kernels(&a, &b, number).unwrap();
            let results: Vec<_> = results.iter().map(bits).collect();
            let after = device.plan_stats();
            // After the first kernels of f16 the device may prove that its conversions are exact, and plans are made anew.
            if round == 3 {
                assert_eq!(after.misses, before.misses, "round {round}");
                assert!(after.hits >= before.hits + results.len() as u64);
            }
            results
        });
        let [expected, got] = &results;
        for (at, (expected, got)) in expected.iter().zip(got).enumerate() {
            assert_eq!(got, expected, "round {round}, kernel {at}");
        }
        // Kernels that are taken for each other would be seen.
        for at in 0..expected.len() {
            assert!(!expected[..at].contains(&expected[at]), "kernel {at}");
        }
    }
}

#[test]
fn what_a_kernel_reads_by_an_expression_is_not_left_for_the_next() {
    let device = own_device();
    device.executor().pipelines().set_key_checks(false);
    let (a, b) = (values(&device, &[6, 6], 0.0), values(&device, &[6, 6], 1.0));
    for _ in 0..3 {
        // Calls are used again: one that read an expression of two values, then one of a value in memory.
        let first = a.mul(&b).unwrap().exp().unwrap().softmax(1).unwrap();
        let read = first.explain().unwrap();
        assert!(read.to_string().contains("exp"), "{read}");
        first.eval_blocking().unwrap();
        drop(first);
        let plain = a.softmax(1).unwrap();
        let explained = plain.explain().unwrap();
        let ops = explained
            .kernels()
            .iter()
            .flat_map(|kernel| kernel.ops().iter().copied());
        assert_eq!(ops.collect::<Vec<_>>(), ["softmax"]);
        let expected = FusionPolicy::Unfused.scope(|| bits(&a.softmax(1).unwrap()));
        assert_eq!(bits(&plain), expected);
    }
}
