//! Sequences of users' kernels: sorting, captures, profiles, the sanitizer, and what is refused.

use crate::common;
use crate::tensor_kernel::devices;
use ziggurat_tensor::software::{assert_clean, sanitize};
use ziggurat_tensor::{CustomKernel, DType, Device, DeviceOptions, Error, Sequence, Tensor};

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
    let signed = add.clone().input(DType::U32).output(DType::F32);
    let error = one.step(&signed, [input, copy]).elements(9).run();
    assert!(error.unwrap_err().is_dtype());
    let other = Device::open_blocking(DeviceOptions::default()).unwrap();
    fails(one.read(&keys(&other, 1)).unwrap_err(), "on its device");
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
