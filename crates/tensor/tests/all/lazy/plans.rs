//! Expressions that were planned before, and which of their values are stored.

use super::*;

/// `y` in both policies must have the same bits; with and without the comparison of keys with plans.
fn same_fused_and_not(device: &Device, what: &str, y: impl Fn() -> Result<Tensor, Error>) {
    let plain = FusionPolicy::Unfused.scope(|| floats(&y().unwrap()));
    for checks in [true, false, true] {
        device.executor().pipelines().set_key_checks(checks);
        let bits = |values: &[f32]| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
        let fused = floats(&y().unwrap());
        assert_eq!(bits(&fused), bits(&plain), "{what}, key checks {checks}");
    }
}

#[test]
fn expressions_of_like_structure_are_not_taken_for_each_other() {
    let device = own_device();
    let [x, y] = [1000, 1000].map(|len| range(&device, len));
    let z = range(&device, 1000).neg().unwrap();
    z.eval_blocking().unwrap();
    for (s, t) in [(2.0, 3.0), (2.0, 2.0), (3.0, 2.0), (0.5, 0.5)] {
        let what = format!("x·{s} + y·{t}");
        same_fused_and_not(&device, &what, || x.mul(s)?.add(y.mul(t)?));
        let what = format!("x·{s} - x·{t}");
        same_fused_and_not(&device, &what, || x.mul(s)?.sub(x.mul(t)?));
        let what = format!("(x + {s}) · (z - {t})");
        same_fused_and_not(&device, &what, || x.add(s)?.mul(z.sub(t)?));
    }
    // As f16 both numbers are the same; as f32 they are not.
    for dtype in [DType::F16, DType::F32, DType::BF16] {
        for (s, t) in [(1.0, 1.000_01), (1.0, 1.5)] {
            same_fused_and_not(&device, &format!("{dtype}: {s} and {t}"), || {
                let x = x.to_dtype(dtype)?;
                x.add(s)?.sub(x.add(t)?)?.to_dtype(DType::F32)
            });
        }
    }
    same_fused_and_not(&device, "which operand is which", || x.sub(&y)?.sub(&z));
    same_fused_and_not(&device, "which operand is which", || z.sub(x.sub(&y)?));
    same_fused_and_not(&device, "which operand is which", || y.sub(x.sub(&z)?));
    same_fused_and_not(&device, "one tensor twice", || x.sub(&x)?.sub(&z));
    same_fused_and_not(&device, "a shared part", || {
        let part = x.mul(&y)?;
        part.add(&z)?.mul(&part)
    });
    same_fused_and_not(&device, "two equal parts", || {
        x.mul(&y)?.add(&z)?.mul(x.mul(&y)?)
    });
    same_fused_and_not(&device, "another dtype behind a cast", || {
        let bits = x.to_dtype(DType::I32)?.add(y.to_dtype(DType::I32)?)?;
        bits.to_dtype(DType::F32)
    });
    same_fused_and_not(&device, "in place", || {
        let own = x.mul(&y)?;
        own.eval_blocking()?;
        own.add(&z)?.mul(2.0)
    });
    same_fused_and_not(&device, "not in place", || {
        let own = x.mul(&y)?;
        own.eval_blocking()?;
        let sum = own.add(&z)?.mul(2.0)?;
        sum.eval_blocking()?;
        sum.sub(&own)?.mul(0.5)
    });
    same_fused_and_not(&device, "a held part that is read again", || {
        let part = x.add(&y)?;
        let whole = part.mul(&z)?.add(1.0)?;
        whole.eval_blocking()?;
        whole.add(part.mul(2.0)?)
    });
    let whole = range(&device, 2000);
    same_fused_and_not(&device, "views at other places", || {
        let (a, b) = (whole.narrow(0, 4, 1000)?, whole.narrow(0, 512, 1000)?);
        a.mul(&b)?.add(&x)
    });
    same_fused_and_not(&device, "a broadcast part", || {
        let row = range(&device, 10).reshape([1, 10])?;
        x.reshape([100, 10])?.mul(row)?.add(1.0)
    });
}

#[test]
fn a_repeated_expression_takes_one_kernel_and_one_buffer_each_time() {
    let device = own_device();
    device.executor().pipelines().set_key_checks(false);
    let [x, y] = [1000, 1000].map(|len| range(&device, len));
    let mut compiled = 0;
    for round in 0..4_u8 {
        let number = f32::from(round);
        let run = || x.mul(&y)?.add(number)?.relu();
        let (z, recorded, allocated) = counted(&device, || {
            let z = run().unwrap();
            z.eval_blocking().unwrap();
            z
        });
        assert_eq!((recorded, allocated), (1, 1), "round {round}");
        let expected: Vec<f32> = (0..1000).map(|i| (i * i) as f32 + number).collect();
        assert_eq!(floats(&z), expected);
        // The memory of what nobody has any more is written over.
        let ((), recorded, allocated) = counted(&device, || {
            let w = z.add(1.0).unwrap().mul(2.0).unwrap();
            drop(z);
            w.eval_blocking().unwrap();
        });
        assert_eq!((recorded, allocated), (1, 0), "round {round}");
        match round {
            0 => compiled = device.pipeline_stats().misses,
            _ => assert_eq!(device.pipeline_stats().misses, compiled, "round {round}"),
        }
    }
}

#[test]
fn a_cheap_value_that_is_seen_through_two_views_is_not_stored() {
    let device = own_device();
    let a = Tensor::from_slice(&device, &(0..16).collect::<Vec<i32>>(), [4, 4]).unwrap();
    let twice = |view: fn(&Tensor) -> Tensor| {
        let value = a.mul(3).unwrap().add(1).unwrap();
        let other = view(&value);
        let sum = value.sub(&other).unwrap();
        drop((value, other));
        let before = device.executor().device().queue_stats().dispatches;
        let got = sum.to_vec_blocking::<i32>().unwrap();
        (
            got,
            device.executor().device().queue_stats().dispatches - before,
        )
    };
    let value = |i: i32, j: i32| (i * 4 + j) * 3 + 1;
    let all = |of: fn(i32, i32) -> (i32, i32)| {
        let places = (0..4).flat_map(|i| (0..4).map(move |j| (i, j)));
        let differences = places.map(|(i, j)| value(i, j) - value(of(i, j).0, of(i, j).1));
        differences.collect::<Vec<i32>>()
    };
    let (across, kernels) = twice(|x| x.t().unwrap());
    assert_eq!((across, kernels), (all(|i, j| (j, i)), 1));
    let (back, kernels) = twice(|x| x.flip([0]).unwrap());
    assert_eq!((back, kernels), (all(|i, j| (3 - i, j)), 1));
    // What something else needs is stored all the same, once.
    let value = a.mul(3).unwrap().add(1).unwrap();
    let waiting = value.neg().unwrap();
    let sum = value.add(value.t().unwrap()).unwrap();
    drop(value);
    sum.eval_blocking().unwrap();
    assert_eq!(waiting.explain().unwrap().kernels()[0].ops(), ["neg"]);
    let negated = waiting.to_vec_blocking::<i32>().unwrap();
    assert_eq!(negated[..3], [-1, -4, -7]);
    // Memory of which a view is read is not overwritten.
    let x = Tensor::from_slice(&device, &[1i32, 2, 3, 4], [2, 2]).unwrap();
    let y = x.add(1).unwrap();
    let z = y.add(y.t().unwrap()).unwrap();
    drop(y);
    assert_eq!(z.to_vec_blocking::<i32>().unwrap(), [4, 7, 7, 10]);
    assert_eq!(x.to_vec_blocking::<i32>().unwrap(), [1, 2, 3, 4]);
}

#[test]
fn explaining_allocates_nothing_and_compiles_nothing() {
    let device = own_device();
    let x = Tensor::ones(&device, [33, 47], DType::F32).unwrap();
    let w = Tensor::ones(&device, [47, 20], DType::F32).unwrap();
    let b = Tensor::ones(&device, [20], DType::F32).unwrap();
    for tensor in [&x, &w, &b] {
        tensor.eval_blocking().unwrap();
    }
    // Several kernels: a product with what is above it, a softmax of that, a reduction with a prologue, one op alone.
    let hidden = x.matmul(&w).unwrap().add(&b).unwrap().relu().unwrap();
    let weights = hidden.softmax(-1).unwrap();
    let wide = weights.unsqueeze(0).unwrap().broadcast_to([2, 33, 20]);
    let sum = wide.unwrap().mul(2.0).unwrap().sum([0], false).unwrap();
    let out = sum.exp().unwrap().neg().unwrap();
    let single = b.mul(3.0).unwrap();
    let state = || {
        let executor = device.executor();
        let (usage, stats) = (executor.memory().usage(), executor.pipelines().stats());
        let queue = executor.device().queue_stats();
        (
            format!("{usage:?}"),
            (stats.misses, stats.entries, stats.texts),
            queue.dispatches,
        )
    };
    let before = state();
    let explained = out.explain().unwrap();
    let alone = single.explain().unwrap();
    assert_eq!(state(), before);
    let all = explained.kernels().iter().chain(alone.kernels());
    for kernel in all {
        let wgsl = kernel.wgsl().unwrap_or_default();
        assert!(wgsl.contains("@compute"), "{:?}: {wgsl}", kernel.ops());
    }
    // It can be computed all the same.
    out.eval_blocking().unwrap();
    single.eval_blocking().unwrap();
}
