//! What the check of a way sees, by runs that are spoiled on purpose.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeSet;

use ziggurat_core::{BlockFormat, DType, Layout, Shape};
use ziggurat_device::DeviceOptions;

use super::meet::{Forced, Met};
use super::report::WayOutcome;
use super::trial::Trial;
use super::tuner::check;
use super::*;
use crate::ops::quantised::BlockShape;
use crate::run::call::{Call, CallKind, Operands};
use crate::run::executor::Executor;
use crate::run::view::View;
use crate::{AttentionOptions, Conv2dOptions};

fn view(exec: &Executor, dims: &[usize], dtype: DType) -> View {
    let view = exec.alloc(&Shape::new(dims).unwrap(), dtype).unwrap();
    drop(exec.fill(&view, 0.5).unwrap());
    view
}

/// A problem of each family that has ways.
fn problems(exec: &Executor) -> Vec<Met> {
    let f32 = |dims: &[usize]| view(exec, dims, DType::F32);
    let weight = BlockShape::new(BlockFormat::Q8_0, [24, 64]).unwrap();
    let words = usize::try_from(weight.device_bytes() / 4).unwrap();
    let words = exec.upload(&vec![0_u32; words], &Shape::new([words]).unwrap());
    let words = words.unwrap();
    let (_, problems) = exec.meet(|| {
        let (a, b, out) = (f32(&[40, 72]), f32(&[72, 36]), f32(&[40, 36]));
        drop(exec.matmul(&a, &b, &out).unwrap());
        let halves = [&[20, 32][..], &[32, 20], &[20, 20]].map(|dims| view(exec, dims, DType::F16));
        drop(exec.matmul(&halves[0], &halves[1], &halves[2]).unwrap());
        let (x, w, y) = (f32(&[2, 8, 9, 9]), f32(&[16, 8, 3, 3]), f32(&[2, 16, 7, 7]));
        let options = Conv2dOptions::default();
        drop(exec.conv(&x, &w, None, &options, &y).unwrap());
        let [q, k, v, o] = [
            [1, 2, 20, 16],
            [1, 2, 33, 16],
            [1, 2, 33, 16],
            [1, 2, 20, 16],
        ];
        let [q, k, v, o] = [q, k, v, o].map(|dims| f32(&dims));
        let operands = crate::AttentionOperands {
            q: &q,
            k: &k,
            v: &v,
            mask: None,
            lengths: None,
            factors: None,
        };
        drop(
            exec.attention(&operands, &AttentionOptions::default(), &o)
                .unwrap(),
        );
        let (eighths, factors) = (view(exec, &[1, 2, 33, 16], DType::I8), f32(&[1, 2, 33, 2]));
        let operands = crate::AttentionOperands {
            k: &eighths,
            v: &eighths,
            factors: Some(&factors),
            ..operands
        };
        drop(
            exec.attention(&operands, &AttentionOptions::default(), &o)
                .unwrap(),
        );
        let (rows, result) = (f32(&[3, 64]), f32(&[3, 24]));
        let operands = Operands {
            others: [Some(&words), None, None, None, None],
            ..Operands::one(&rows)
        };
        drop(
            exec.run(
                &Call::new(CallKind::QuantizedLinear {
                    weight,
                    form: crate::LinearForm::default(),
                }),
                &operands,
                (&result).into(),
            )
            .unwrap(),
        );
    });
    assert_eq!(problems.len(), 6);
    problems.met
}

fn executor() -> Executor {
    Executor::open_blocking(DeviceOptions::default()).unwrap()
}

#[test]
fn every_family_has_its_ways_with_names_of_their_own() {
    let exec = executor();
    let met = problems(&exec);
    let families: BTreeSet<_> = met.iter().map(|met| met.class.family).collect();
    let wanted = ["attention", "conv", "matmul", "quantized_linear"];
    assert!(families.into_iter().eq(wanted));
    for met in &met {
        let names: BTreeSet<String> = met.ways.iter().map(ToString::to_string).collect();
        let bits: BTreeSet<u64> = met.ways.iter().map(WayName::bits).collect();
        assert!(met.ways.len() > 1, "{}", met.text());
        assert_eq!(
            (names.len(), bits.len()),
            (met.ways.len(), met.ways.len()),
            "{names:?}"
        );
    }
}

/// Every way of every family passes the check; one that leaves a single element wrong, or leaves one out, does not.
#[test]
fn a_wrong_way_is_refused_and_the_right_ones_are_not() {
    let exec = executor();
    for met in problems(&exec) {
        let execs: Vec<Executor> = met
            .ways
            .iter()
            .map(|name| {
                exec.forced_to(Forced {
                    key: met.class.key,
                    way: name.bits(),
                })
            })
            .collect();
        for (fill, bound) in met.checks() {
            let trial = Trial::new(&exec, &met, fill).unwrap();
            let mut outcomes = vec![None; execs.len()];
            let right = check(&trial, bound, |way| &execs[way], &mut outcomes, || false);
            assert!(ziggurat_device::block_on(right).unwrap());
            assert!(
                outcomes.iter().all(Option::is_none),
                "{}: {outcomes:?}",
                met.text()
            );

            // The second way is spoiled: one element is moved by a hundredth.
            let wanted = ziggurat_device::block_on(trial.result(&execs[0])).unwrap();
            let ran = ziggurat_device::block_on(trial.result(&execs[1])).unwrap();
            let (_, dtype) = met.out;
            let mut values = ziggurat_core::decode(dtype, &ran);
            let last = values.len() - 1;
            values[last] += 0.011 + 0.011 * values[last].abs();
            let spoiled = ziggurat_core::encode(dtype, &values);
            let found = trial.first_beyond(bound, &wanted, &spoiled);
            assert_eq!(found.map(|found| found.at), Some(last), "{}", met.text());
            values[last] = f64::NAN;
            let missed = ziggurat_core::encode(dtype, &values);
            assert!(trial.first_beyond(bound, &wanted, &missed).is_some());
        }
    }
}

/// A way that is wrong on the device, through all of tuning: it is never taken, however fast.
#[test]
fn a_planted_wrong_way_is_never_chosen() {
    let exec = executor();
    for met in problems(&exec) {
        let wrong = met.ways[1];
        trial::SPOILED.set(Some(wrong.bits()));
        let (name, key) = (wrong.to_string(), met.class.key);
        let mut problems = Problems::default();
        problems.met.push(met);
        // Whatever is measured is called faster than the default.
        let options = TuneOptions::default().rounds(1).least_gain(-1e9);
        let tuned = exec.tune_problems(options, problems);
        let report = ziggurat_device::block_on(tuned).unwrap();
        trial::SPOILED.set(None);
        let row = &report.problems[0];
        let refused = &row.ways[1];
        assert_eq!(refused.name, name);
        assert!(
            matches!(refused.outcome, WayOutcome::Refused(_)),
            "{report}"
        );
        assert!(
            row.chosen().is_some_and(|chosen| chosen.name != name),
            "{report}"
        );
        assert_ne!(exec.pipelines().tuning().way(key), Some(wrong.bits()));
        let others = row.ways.iter().filter(|way| way.name != name);
        for way in others {
            assert!(matches!(way.outcome, WayOutcome::Time(_)), "{report}");
        }
    }
}

#[test]
fn a_way_that_cannot_run_fails_alone_and_time_ends_the_check() {
    let exec = executor();
    let met = problems(&exec).remove(0);
    let (fill, bound) = met.checks().remove(0);
    let trial = Trial::new(&exec, &met, fill).unwrap();
    let honest = exec.clone();
    // An executor on another device cannot see this memory: its way fails.
    let stranger = executor();
    let mut outcomes = vec![None, None, None];
    let run = |way: usize| if way == 1 { &stranger } else { &honest };
    let checked = check(&trial, bound, run, &mut outcomes, || false);
    assert!(ziggurat_device::block_on(checked).unwrap());
    assert!(
        matches!(outcomes[1], Some(WayOutcome::Failed(_))),
        "{outcomes:?}"
    );
    assert_eq!((&outcomes[0], &outcomes[2]), (&None, &None));
    let mut outcomes = vec![None, None];
    let late = check(&trial, bound, |_| &honest, &mut outcomes, || true);
    assert!(!ziggurat_device::block_on(late).unwrap());
}

#[test]
fn scratch_memory_lies_like_the_operand() {
    let exec = executor();
    let shape = Shape::new([4, 6]).unwrap();
    let big = view(&exec, &[1000], DType::F16);
    let layout = Layout::new(shape, &[-7, 1], 700).unwrap();
    let a = big.with_layout(layout).unwrap();
    let (b, out) = (
        view(&exec, &[6, 4], DType::F16),
        view(&exec, &[4, 4], DType::F16),
    );
    let (_, problems) = exec.meet(|| drop(exec.matmul(&a, &b, &out).unwrap()));
    let met = &problems.met[0];
    // What lies between the rows counts, what lies before them does not.
    assert_eq!(met.bytes(), 2 * (27 + 24 + 16));
    let (_, again) = exec.meet(|| {
        for _ in 0..3 {
            drop(exec.matmul(&a, &b, &out).unwrap());
        }
    });
    assert_eq!(again.len(), 1, "each class once");
    let trial = Trial::new(&exec, met, trial::Fill::Exact).unwrap();
    trial.run(&exec).unwrap();
}
