//! What `explain` says of time: operations, why kernels end where they do, labels that profiles have; and who holds memory.

use std::time::Duration;

use crate::nan_trace::fresh;
use ziggurat_tensor::{
    Bottleneck, Conv2dOptions, CustomKernel, DType, Device, Error, KernelTime, MemoryKind,
    NotFused, Roof, Sequence, Tensor, TensorKernel, like,
};

fn ones(device: &Device, dims: &[usize]) -> Tensor {
    Tensor::ones(device, dims, DType::F32).unwrap()
}

fn roof(bytes: f64, operations: f64) -> Roof {
    Roof {
        bytes_per_second: bytes,
        operations_per_second: operations,
        dispatch: Duration::from_micros(2),
    }
}

#[test]
fn operations_follow_from_shapes() {
    let device = fresh();
    let (a, b) = (ones(&device, &[6, 10]), ones(&device, &[10, 4]));
    let operations = |tensor: Tensor| {
        let explained = tensor.explain().unwrap();
        let kernels = explained.kernels().iter();
        kernels
            .map(|kernel| kernel.operations())
            .collect::<Vec<_>>()
    };
    assert_eq!(operations(a.matmul(&b).unwrap()), [2 * 6 * 4 * 10]);
    let fused = a.matmul(&b).unwrap().relu().unwrap().add(1.0).unwrap();
    assert_eq!(operations(fused), [2 * 6 * 4 * 10 + 2 * 24]);
    // A sum that computes what it reads: an addition and an exponential for each element, and its own.
    let sum = a.add(1.0).unwrap().exp().unwrap().sum([1], false).unwrap();
    assert_eq!(operations(sum), [60 * (1 + 8 + 1)]);
    let weight = ones(&device, &[5, 3, 3, 3]);
    let image = ones(&device, &[2, 3, 6, 6]);
    let conv = image
        .conv2d(&weight, None, &Conv2dOptions::default())
        .unwrap();
    assert_eq!(operations(conv), [2 * (2 * 5 * 4 * 4) * 27]);
    assert_eq!(operations(a.exp().unwrap()), [8 * 60]);
}

#[test]
fn kernels_say_why_they_end() {
    let device = fresh();
    let x = ones(&device, &[8, 8]);
    let reasons = |tensor: &Tensor| {
        let explained = tensor.explain().unwrap();
        let text = explained.to_string();
        let all: Vec<_> = explained
            .kernels()
            .iter()
            .map(|kernel| kernel.reason())
            .collect();
        for reason in all.iter().flatten() {
            assert!(
                text.contains(&format!("stored, because {reason}")),
                "{text}"
            );
        }
        all
    };
    assert_eq!(reasons(&x.exp().unwrap().add(1.0).unwrap()), [None]);
    // Two products: one of them is complete before.
    let two = (x.matmul(&x).unwrap() + x.matmul(&x).unwrap()).unwrap();
    assert_eq!(reasons(&two), [Some(NotFused::OwnKernel), None]);
    // An exponential of a row, for each row of the result.
    let row = (0..6).fold(ones(&device, &[8]), |row, _| row.exp().unwrap());
    let spread = (&x + &row).unwrap();
    assert_eq!(reasons(&spread), [Some(NotFused::ComputedOften), None]);
    // One root for each row: a kernel of its own where it saves millions of them, and no sum alone does.
    for (rows, reasons_of_root) in [
        (64, vec![None]),
        (2048, vec![Some(NotFused::ComputedOften), None]),
    ] {
        let (x, row) = (ones(&device, &[rows, 2048]), ones(&device, &[rows, 1]));
        let root = (&x / &row.add(1.0).unwrap().sqrt().unwrap()).unwrap();
        assert_eq!(reasons(&root), reasons_of_root, "{rows}");
        let sum = (&x / &row.add(1.0).unwrap()).unwrap();
        assert_eq!(reasons(&sum), [None], "{rows}");
    }
}

#[test]
fn a_roofline_predicts_and_takes_the_times_of_a_profile() {
    let device = fresh();
    let x = ones(&device, &[96, 96]);
    let y = x.matmul(&x).unwrap().relu().unwrap();
    let z = y.sum([1], true).unwrap().add(1.0).unwrap();
    let explained = z.explain().unwrap();
    let fast = explained.roofline(&roof(1e15, 1e15), &[]);
    assert!(fast.rows.iter().all(|row| row.by == Bottleneck::Dispatch));
    assert_eq!(
        fast.predicted(),
        Duration::from_micros(2) * fast.rows.len() as u32
    );
    assert_eq!(fast.measured(), None);
    let slow = explained.roofline(&roof(1e3, 1e15), &[]);
    assert!(slow.rows.iter().all(|row| row.by == Bottleneck::Memory));
    let product = &explained.roofline(&roof(1e15, 1e6), &[]).rows[0];
    assert_eq!(product.by, Bottleneck::Arithmetic);
    let seconds = product.operations as f64 / 1e6;
    assert!((product.predicted.as_secs_f64() - seconds).abs() < 1e-6);

    let labels: Vec<String> = (explained.kernels().iter())
        .flat_map(|kernel| kernel.labels().map(str::to_owned))
        .collect();
    assert!(labels.len() >= explained.kernels().len());
    if !device.set_profiling(true) {
        return;
    }
    drop(device.profile_blocking().unwrap());
    z.eval_blocking().unwrap();
    let times = device.profile_blocking().unwrap();
    device.set_profiling(false);
    for label in &labels {
        assert!(
            times.iter().any(|time| time.label == *label),
            "{label} in {times:?}"
        );
    }
    let measured = explained.roofline(&roof(1e11, 1e12), &times);
    assert!(measured.measured().is_some(), "{measured}");
    // Of another program's profile there is nothing.
    assert_eq!(explained.kernels()[0].measured(&times[..0]), None);
}

#[test]
fn a_profile_is_put_below_the_roof() {
    let times = [
        KernelTime {
            label: "own".to_owned(),
            count: 5,
            unreliable: 1,
            total_ns: 40_000_000,
            bytes_read: 30_000,
            bytes_written: 10_000,
            operations: 2_000,
            ..KernelTime::default()
        },
        KernelTime {
            label: "never timed".to_owned(),
            count: 2,
            unreliable: 2,
            ..KernelTime::default()
        },
    ];
    let table = roof(1e7, 1e5).of_profile(&times);
    let [own, never] = &table.rows[..] else {
        panic!("{table}");
    };
    assert_eq!(
        (own.bytes, own.operations, &*own.ops[0]),
        (10_000, 500, "own")
    );
    assert_eq!(
        (own.by, own.predicted),
        (Bottleneck::Arithmetic, Duration::from_millis(5))
    );
    assert_eq!(
        (own.measured, own.share()),
        (Some(Duration::from_millis(10)), Some(0.5))
    );
    assert!(
        table.to_string().contains("50%  arithmetic   own"),
        "{table}"
    );
    assert_eq!(
        (never.bytes, never.measured, never.share()),
        (0, None, None)
    );
    let unstated = times.map(|time| KernelTime {
        operations: 0,
        ..time
    });
    let table = roof(1e7, 1e5).of_profile(&unstated);
    assert_eq!(table.rows[0].by, Bottleneck::Memory);
}

/// Adds an input to another, as a text of the whole shader and as one of its body.
const ADD: &str = "
@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read_write> out: array<f32>;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < arrayLength(&out) { out[id.x] = a[id.x] + 1.0; }
}";

#[test]
fn operations_that_kernels_state_are_in_profiles() {
    let device = fresh();
    if !device.set_profiling(true) {
        return;
    }
    let x = ones(&device, &[100]);
    let whole = CustomKernel::wgsl("whole", ADD).input("a", DType::F32);
    let body = TensorKernel::wgsl("body", "fn kernel(i: u32) { y_store(i, x_at(i) + 1.0); }")
        .input("x", DType::F32)
        .output("y", like("x"));
    let sum = |label: &str| {
        let times = device.profile_blocking().unwrap();
        let all: Vec<_> = times
            .iter()
            .filter(|time| time.label.contains(label))
            .collect();
        assert!(!all.is_empty(), "{label}: {times:?}");
        assert!(
            all.iter()
                .all(|time| time.unreliable == 0 && time.bytes_read == 400 * time.count)
        );
        all.iter().map(|time| time.operations).sum::<u64>()
    };
    let run = |call: Result<Tensor, Error>| call.unwrap().eval_blocking().unwrap();

    run(whole.call(&[&x]).run());
    run(body.call(&[&x]).run());
    assert_eq!(sum("whole"), 0, "nothing is stated");

    let (whole, body) = (whole.flops_per_element(1), body.flops_per_element(3));
    run(whole.call(&[&x]).run());
    run(whole.call(&[&x]).flops(7).run());
    assert_eq!(sum("whole"), 107);
    run(body.call(&[&x]).run());
    run(body.call(&[&x]).flops(7).run());
    assert_eq!(sum("body"), 307);

    let mut steps = Sequence::new(&device, "steps");
    let (from, to) = (
        steps.read(&x).unwrap(),
        steps.scratch([100], DType::F32).unwrap(),
    );
    steps
        .step(&whole, [from, to])
        .elements(100)
        .flops(9)
        .run()
        .unwrap();
    run(steps.finish(to));
    assert_eq!(sum("steps/whole"), 9);

    // What is captured keeps it.
    let captured = device.capture(&[&x], |inputs| Ok(vec![whole.call(&[&inputs[0]]).run()?]));
    let captured = captured.unwrap();
    device.synchronize_blocking().unwrap();
    drop(device.profile_blocking().unwrap());
    for _ in 0..2 {
        run(captured.run(&[&x]).map(|mut outputs| outputs.remove(0)));
    }
    assert_eq!(sum("whole"), 200);
}

#[test]
fn a_roof_is_measured() {
    let roof = fresh().measure_roof_blocking().unwrap();
    for rate in [roof.bytes_per_second, roof.operations_per_second] {
        assert!(rate.is_finite() && rate > 1e6, "{roof:?}");
    }
    assert!(roof.dispatch > Duration::ZERO && roof.dispatch < Duration::from_secs(1));
}

#[test]
fn a_report_says_who_holds_memory() {
    let device = fresh();
    let before = ones(&device, &[64, 64]);
    assert_eq!(
        device.memory_report().rows,
        [],
        "nothing is counted by itself"
    );
    device.track_memory(true);
    let values = vec![0.5f32; 64 * 64];
    let x = Tensor::from_slice(&device, &values, [64, 64]).unwrap();
    let y = x.matmul(&before).unwrap();
    y.eval_blocking().unwrap();
    let large = ones(&device, &[1 << 20]);
    let top = device.memory_report();
    assert_eq!(
        (top.rows[0].kind, top.rows[0].label),
        (MemoryKind::Result, "full")
    );
    assert!(top.rows[0].live >= 4 << 20 && top.peak == top.live);
    drop(large);
    let report = device.memory_report();
    assert!(report.live < 1 << 20 && report.peak == top.peak, "{report}");
    let row = |label: &str| report.rows.iter().find(|row| row.label == label).unwrap();
    assert_eq!((row("full").live, row("full").blocks), (0, 0));
    assert_eq!((row("matmul").blocks, row("matmul").allocations), (1, 1));
    assert!(row("matmul").live >= 64 * 64 * 4);
    assert!(report.of_kind(MemoryKind::Upload)[0] >= 64 * 64 * 4);
    let sum: u64 = report.rows.iter().map(|row| row.live).sum();
    assert_eq!(sum, report.live);
    let at_peak: u64 = report.rows.iter().map(|row| row.at_peak).sum();
    assert_eq!(at_peak, report.peak);
    // What was there before is in none of the rows, and its end neither.
    drop(before);
    assert_eq!(device.memory_report().live, report.live);
    device.track_memory(false);
    assert_eq!(device.memory_report().rows, []);
}
