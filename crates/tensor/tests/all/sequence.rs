//! Sequences of users' kernels: sorting, captures, profiles, the sanitizer, and what is refused.

use crate::common;
use crate::tensor_kernel::devices;
use ziggurat_tensor::software::{assert_clean, sanitize};
use ziggurat_tensor::{
    CustomKernel, DType, Device, DeviceOptions, Error, ScanOptions, Sequence, Tensor,
};

/// The texts of a program in the cookbook, by the names of its constants.
fn text(title: &str, name: &str) -> String {
    let book = include_str!("../../../../docs/cookbook.md");
    let recipe = book.split("\n## ").find(|part| part.starts_with(title));
    let begin = format!("const {name}: &str = \"");
    let text = recipe.unwrap().split(&begin).nth(1).unwrap();
    text.split("\";").next().unwrap().to_owned()
}

fn kernel(title: &str, name: &'static str) -> CustomKernel {
    CustomKernel::wgsl(name, text(title, name))
}

fn sorted(x: &Tensor) -> Result<Tensor, Error> {
    let [count, before, moves] = ["COUNT", "BEFORE", "MOVE"].map(|name| kernel("Radix sort", name));
    let n = x.len();
    let mut sort = Sequence::new(x.device(), "radix sort");
    let (mut from, mut to) = (sort.copy(x)?, sort.scratch([n], DType::U32)?);
    let counts = sort.zeros([16 * n.div_ceil(256)], DType::U32)?;
    for shift in (0..32u32).step_by(4) {
        let shift = shift.to_le_bytes();
        sort.step(&count, [from, counts])
            .uniform(&shift)
            .elements(n)
            .run()?;
        sort.step(&before, [counts]).workgroups([1, 1, 1]).run()?;
        sort.step(&moves, [from, counts, to])
            .uniform(&shift)
            .elements(n)
            .run()?;
        std::mem::swap(&mut from, &mut to);
    }
    sort.finish(from)
}

fn keys(device: &Device, n: u32) -> Tensor {
    let keys: Vec<u32> = (0..n)
        .map(|i| (i + 7).wrapping_mul(2_654_435_769))
        .collect();
    Tensor::from_slice(device, &keys, [keys.len()]).unwrap()
}

fn check_sorted(x: &Tensor, y: &Tensor) {
    let mut expected = x.to_vec_blocking::<u32>().unwrap();
    expected.sort_unstable();
    assert_eq!(y.to_vec_blocking::<u32>().unwrap(), expected);
}

#[test]
fn it_sorts_tensors_of_any_size_and_views() {
    for device in devices() {
        for n in [0, 1, 255, 256, 257, 3001] {
            let x = keys(&device, n);
            check_sorted(&x, &sorted(&x).unwrap());
        }
        let x = keys(&device, 900);
        let every_third = x.slice_step(0, 1.., 3).unwrap().flip([0]).unwrap();
        check_sorted(&every_third, &sorted(&every_third).unwrap());
        let before = x.to_vec_blocking::<u32>().unwrap();
        let pending = x.maximum(5).unwrap();
        check_sorted(&pending, &sorted(&pending).unwrap());
        assert_eq!(x.to_vec_blocking::<u32>().unwrap(), before);
    }
}

#[test]
fn captures_replay_a_sequence() {
    let device = common::device();
    let x = keys(&device, 1000);
    let captured = device
        .capture(&[&x], |inputs| Ok(vec![sorted(&inputs[0])?]))
        .unwrap();
    assert!(captured.dispatches() >= 24);
    for other in [x.clone(), x.flip([0]).unwrap().bitwise_xor(99).unwrap()] {
        let replayed = captured.run(&[&other]).unwrap();
        check_sorted(&other, &replayed[0]);
    }
    let names: Vec<String> = captured.kernels().map(|k| k.name().to_owned()).collect();
    assert!(
        names.iter().any(|name| name == "radix sort/MOVE"),
        "{names:?}"
    );
}

#[test]
fn the_sanitizer_finds_what_is_read_too_early_and_nothing_else() {
    assert_clean(|device: &Device| {
        for n in [0, 700] {
            let x = keys(device, n);
            check_sorted(&x, &sorted(&x).unwrap());
        }
    });
    let report = sanitize(|device: &Device| {
        let mut sequence = Sequence::new(device, "early");
        let sums = sequence.scratch([300], DType::U32).unwrap();
        let before = kernel("Scan", "BEFORE");
        let step = sequence.step(&before, [sums]).workgroups([1, 1, 1]);
        step.run().unwrap();
        let y = sequence.finish(sums).unwrap();
        let _ = y.to_vec_blocking::<u32>();
    });
    let report = report.unwrap().to_string();
    assert!(report.contains("early/BEFORE"), "{report}");
}

/// The positive elements in front, in order, each then halved by as many workgroups as there are for them.
fn compacted(x: &Tensor) -> Result<(Tensor, u32), Error> {
    let head = "@group(0) @binding(0) var<storage, read> x: array<f32>;";
    let place = CustomKernel::wgsl("place", format!("{head}
        @group(0) @binding(1) var<storage, read> before: array<i32>;
        @group(0) @binding(2) var<storage, read_write> kept: array<f32>;
        @group(0) @binding(3) var<storage, read_write> grid: array<u32>;
        @compute @workgroup_size(64)
        fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) n: vec3<u32>) {{
            let i = id.x + (id.y + id.z * n.y) * n.x * 64u;
            let len = arrayLength(&x);
            if i < len && x[i] > 0.0 {{ kept[before[i]] = x[i]; }}
            if i == len - 1u {{
                let count = u32(before[i]) + select(0u, 1u, x[i] > 0.0);
                grid[1] = (count + 63u) / 64u;
                grid[2] = 1u;
                grid[3] = 1u;
                grid[0] = count;
            }}
        }}"));
    let halve = CustomKernel::wgsl(
        "halve",
        "
        @group(0) @binding(0) var<storage, read> grid: array<u32>;
        @group(0) @binding(1) var<storage, read_write> kept: array<f32>;
        @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
            if id.x < grid[0] { kept[id.x] *= 0.5; }
        }",
    );
    let before = x.gt(0.0)?.cumsum_with(
        0,
        ScanOptions {
            exclusive: true,
            ..ScanOptions::default()
        },
    )?;
    let mut steps = Sequence::new(x.device(), "compact");
    let (values, before) = (steps.read(x)?, steps.read(&before)?);
    let kept = steps.zeros([x.len()], DType::F32)?;
    let grid = steps.scratch([4], DType::U32)?;
    steps
        .step(&place, [values, before, kept, grid])
        .elements(x.len())
        .run()?;
    steps.step(&halve, [grid, kept]).indirect(grid, 1).run()?;
    let [kept, grid] = steps.finish_all([kept, grid])?;
    Ok((kept, grid.to_vec_blocking::<u32>()?[0]))
}

#[test]
fn steps_take_their_workgroups_from_a_buffer() {
    let run = |device: &Device| {
        for len in [1, 64, 1000] {
            let raw: Vec<f32> = (0..len).map(|i| ((i * 37) % 101) as f32 - 50.0).collect();
            let x = Tensor::from_slice(device, &raw, [len]).unwrap();
            let (kept, count) = compacted(&x).unwrap();
            let expected: Vec<f32> = raw.iter().filter(|x| **x > 0.0).map(|x| 0.5 * x).collect();
            assert_eq!(count as usize, expected.len());
            assert_eq!(
                kept.to_vec_blocking::<f32>().unwrap()[..expected.len()],
                expected
            );
        }
    };
    run(&common::device());
    assert_clean(run);
}

#[test]
fn captures_replay_counts_of_their_inputs() {
    let device = common::device();
    let fill = CustomKernel::wgsl("fill", "
        @group(0) @binding(0) var<storage, read_write> out: array<u32>;
        @compute @workgroup_size(1) fn main(@builtin(workgroup_id) id: vec3<u32>) { out[id.x] = id.x + 1u; }");
    let filled = |counts: &Tensor| -> Result<Tensor, Error> {
        let mut steps = Sequence::new(&device, "filled");
        let (counts, out) = (steps.read(counts)?, steps.zeros([6], DType::U32)?);
        steps.step(&fill, [out]).indirect(counts, 0).run()?;
        steps.finish(out)
    };
    let counts = |x: u32| Tensor::from_slice(&device, &[x, 1, 1], [3]).unwrap();
    let first = counts(2);
    let captured = device
        .capture(&[&first], |inputs| Ok(vec![filled(&inputs[0])?]))
        .unwrap();
    for x in [4, 0, 6, u32::MAX, 1] {
        let expected: Vec<u32> = (0..6)
            .map(|i| if i < x && x < u32::MAX { i + 1 } else { 0 })
            .collect();
        let results = captured.run(&[&counts(x)]).unwrap();
        assert_eq!(
            results[0].to_vec_blocking::<u32>().unwrap(),
            expected,
            "{x}"
        );
        assert_eq!(
            filled(&counts(x))
                .unwrap()
                .to_vec_blocking::<u32>()
                .unwrap(),
            expected
        );
    }
    device.set_profiling(true);
    filled(&first).unwrap().eval_blocking().unwrap();
    let profile = device.profile_blocking();
    device.set_profiling(false);
    if let Ok(profile) = profile
        && !profile.is_empty()
    {
        assert!(
            profile.iter().any(|time| time.label == "filled/fill"),
            "{profile:?}"
        );
    }
}

#[test]
fn mistakes_are_errors() {
    let device = common::device();
    let (x, add) = (keys(&device, 9), kernel("Scan", "ADD"));
    let mut one = Sequence::new(&device, "one");
    let (input, copy) = (one.read(&x).unwrap(), one.copy(&x).unwrap());
    let scratch = one.scratch([9], DType::U32).unwrap();
    let halves = one.scratch([9], DType::F16).unwrap();
    let floats = one.zeros([9], DType::F32).unwrap();
    let fails = |error: Error, words: &str| {
        assert!(error.to_string().contains(words), "{error}");
        assert!(!error.is_internal());
    };
    let error = one.step(&add, [copy, input]).elements(9).run();
    fails(error.unwrap_err(), "which is a tensor");
    let error = one.step(&add, [input, copy]).run();
    fails(error.unwrap_err(), "has no grid");
    let error = one.step(&add, [input]).elements(9).run();
    fails(error.unwrap_err(), "2");
    let error = one.step(&add, [floats, copy]).elements(9).run();
    fails(error.unwrap_err(), "`sums`");
    let error = one.step(&add, [copy, copy]).elements(9).run();
    fails(error.unwrap_err(), "same memory");
    let error = one
        .step(&add, [input, copy])
        .uniform(&[1, 2])
        .elements(9)
        .run();
    assert!(error.unwrap_err().is_kernel());
    let broken = CustomKernel::wgsl("broken", "fn main() { let x = ; }");
    let error = one.step(&broken, [input]).elements(9).run();
    fails(error.unwrap_err(), "broken:1:21");
    let signed = add
        .clone()
        .input("sums", DType::U32)
        .output("y", DType::F32);
    let error = one.step(&signed, [input, copy]).elements(9).run();
    assert!(error.unwrap_err().is_dtype());
    let other = Device::open_blocking(DeviceOptions::default()).unwrap();
    fails(one.read(&keys(&other, 1)).unwrap_err(), "on its device");
    let words = one.zeros([4], DType::U32).unwrap();
    let unwritten = one.scratch([4], DType::U32).unwrap();
    let floats = one.zeros([4], DType::F32).unwrap();
    for (counts, at, words) in [
        (floats, 0, "from a buffer of f32"),
        (unwritten, 0, "no step wrote"),
        (words, 2, "from element 2 of 4"),
        (words, usize::MAX, "they are three elements"),
    ] {
        let step = one.step(&add, [input, copy]).indirect(counts, at);
        fails(step.run().unwrap_err(), words);
    }
    let mut two = Sequence::new(&device, "two");
    fails(
        two.step(&add, [input, copy]).elements(9).run().unwrap_err(),
        "another sequence",
    );
    fails(two.finish(input).unwrap_err(), "another sequence");
    one.step(&add, [input, halves]).elements(9).run().unwrap();
    fails(
        one.finish_all([copy, scratch]).unwrap_err(),
        "no step wrote",
    );
    check_sorted(&x, &sorted(&x).unwrap());
}
