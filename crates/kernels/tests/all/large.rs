//! Tensors larger than one storage binding: ops cut them into parts that fit.

use crate::common;
use ziggurat_kernels::{
    DType, Executor, GridSampleOptions, KernelError, Pad, Random, RandomState, Scan, ScanOptions,
    Scatter, Shape, View,
};

fn alloc(exec: &Executor, dims: &[usize]) -> View {
    exec.alloc(&Shape::new(dims).unwrap(), DType::U8).unwrap()
}

fn read(exec: &Executor, view: &View) -> Vec<u8> {
    exec.download(view).unwrap().wait().unwrap()
}

#[test]
fn operands_over_the_binding_limit_are_computed_in_parts() {
    let exec = common::plain_executor();
    let limit = usize::try_from(exec.device().caps().max_binding_bytes).unwrap();
    // An odd width, so that parts start within a vec4.
    let width = limit / 2 + 4099;
    let count = alloc(&exec, &[2, width]);
    assert!(count.len() > limit);
    let _done = exec.arange(&count, 0.0, 1.0).unwrap();
    assert!(
        read(&exec, &count)
            .iter()
            .enumerate()
            .all(|(i, &byte)| byte == i as u8),
        "arange"
    );

    let out = alloc(&exec, &[2, width]);
    let _done = exec.neg(&count, &out).unwrap();
    assert!(
        read(&exec, &out)
            .iter()
            .enumerate()
            .all(|(i, &byte)| byte == (i as u8).wrapping_neg()),
        "neg"
    );

    let flipped = count.with_layout(count.layout.flip(&[1]).unwrap()).unwrap();
    let _done = exec
        .copy(&count, &out.with_layout(flipped.layout).unwrap())
        .unwrap();
    let expected = |i: usize| (i / width * width + (width - 1 - i % width)) as u8;
    assert!(
        read(&exec, &out)
            .iter()
            .enumerate()
            .all(|(i, &byte)| byte == expected(i)),
        "copy"
    );

    let _done = exec.eye(&out, 5).unwrap();
    let ones: Vec<usize> = read(&exec, &out)
        .iter()
        .enumerate()
        .filter(|(_, byte)| **byte != 0)
        .map(|(i, _)| i)
        .collect();
    assert_eq!(ones, [5, width + 6], "eye");

    let _done = exec.fill(&out, 7.0).unwrap();
    assert!(read(&exec, &out).iter().all(|&byte| byte == 7), "fill");
}

/// Bindings of 516 bytes hold 64 of these numbers wherever they begin; parts are halves, so of 31 and more.
#[test]
fn parts_are_as_large_as_bindings_hold() {
    let exec = common::bounded_executor(516);
    let shape = Shape::new([1000]).unwrap();
    let [x, out] = [0, 1].map(|_| exec.alloc(&shape, DType::I32).unwrap());
    let _done = exec.arange(&x, 0.0, 1.0).unwrap();
    let captured = exec.capture(|exec| exec.neg(&x, &out).map(drop)).unwrap();
    assert!(captured.len() <= 32, "{}", captured.len());
    let _done = captured.replay().unwrap();
    let expected = (0..1000_i32).flat_map(|i| (-i).to_le_bytes());
    assert!(read(&exec, &out).into_iter().eq(expected));
}

/// An executor whose bindings are so small that what is larger takes no minutes: what is cut, and where, is the same for any.
fn bounded() -> Executor {
    common::bounded_executor(16 << 20)
}

/// A width of which two rows of bytes are more than a binding, and odd.
fn wide(exec: &Executor) -> usize {
    usize::try_from(exec.device().caps().max_binding_bytes).unwrap() / 2 + 4099
}

#[test]
fn random_numbers_go_on_behind_a_binding() {
    let exec = bounded();
    let draw = |len: usize, counter| {
        let out = exec.alloc(&Shape::new([len]).unwrap(), DType::F16).unwrap();
        let state = RandomState {
            seed: 4,
            counter,
            stream: 1,
        };
        let _done = exec.random(Random::Uniform, state, &out).unwrap();
        read(&exec, &out)
    };
    let len = wide(&exec);
    assert!(len * 2 > exec.device().caps().max_binding_bytes as usize);
    let all = draw(len, 10);
    for start in [0, len / 8 * 4 - 400, len / 4 * 4 - 400] {
        let part = draw(800.min(len - start), 10 + start as u64 / 4);
        assert!(all[start * 2..].starts_with(&part), "from {start}");
    }
}

#[test]
fn pads_more_than_a_binding() {
    let exec = bounded();
    let width = wide(&exec);
    let small = alloc(&exec, &[2, 1000]);
    let _done = exec.arange(&small, 0.0, 1.0).unwrap();
    let out = alloc(&exec, &[2, width]);
    let _done = exec.pad(&small, &[0, 7], Pad::Circular, 0.0, &out).unwrap();
    let got = read(&exec, &out);
    let expected = |i: usize| (i / width * 1000 + (i % width + 993) % 1000) as u8;
    let wrong = (0..got.len()).find(|&i| got[i] != expected(i));
    assert_eq!(wrong, None, "circular");
    // An input of that size, cut at one end and continued at the other.
    let moved = alloc(&exec, &[3, width]);
    let _done = exec
        .pad(&out, &[1, -5], Pad::Constant, 9.0, &moved)
        .unwrap();
    let after = read(&exec, &moved);
    let expected = |i: usize| match (i / width, i % width) {
        (0, _) => 9,
        (_, column) if column + 5 >= width => 9,
        (row, column) => got[(row - 1) * width + column + 5],
    };
    let wrong = (0..after.len()).find(|&i| after[i] != expected(i));
    assert_eq!(wrong, None, "constant");
}

#[test]
fn indices_name_elements_of_more_than_a_binding() {
    let exec = bounded();
    let width = wide(&exec);
    let names = |values: &[i32]| {
        let shape = Shape::new([values.len()]).unwrap();
        exec.upload(values, &shape).unwrap()
    };
    // The result is large.
    let (rows, columns) = (2049, width / 1024);
    let small = alloc(&exec, &[rows, 100]);
    let _done = exec.arange(&small, 0.0, 1.0).unwrap();
    let picked: Vec<i32> = (0..columns as i32).map(|i| i * 7 % 100).collect();
    let out = alloc(&exec, &[rows, columns]);
    assert!(out.len() as u64 > exec.device().caps().max_binding_bytes);
    let _done = exec.index_select(&small, 1, &names(&picked), &out).unwrap();
    let got = read(&exec, &out);
    let expected = |i: usize| (i / columns * 100 + picked[i % columns] as usize) as u8;
    let wrong = (0..got.len()).find(|&i| got[i] != expected(i));
    assert_eq!(wrong, None, "index_select");
    // The data is large.
    let data = alloc(&exec, &[2, width]);
    let _done = exec.fill(&data, 1.0).unwrap();
    let places = names(&[0, -1, 3, 0, 70_000]);
    let updates = alloc(&exec, &[2, 5]);
    let _done = exec.arange(&updates, 10.0, 1.0).unwrap();
    let _done = exec
        .index_scatter(Scatter::Add, &updates, 1, &places, &data)
        .unwrap();
    let taken = alloc(&exec, &[2, 5]);
    let _done = exec.index_select(&data, 1, &places, &taken).unwrap();
    assert_eq!(
        read(&exec, &taken),
        [24, 12, 13, 24, 15, 34, 17, 18, 34, 20]
    );
    let got = read(&exec, &data);
    assert_eq!(got.iter().filter(|&&byte| byte != 1).count(), 8);
}

#[test]
fn rows_of_more_than_a_binding_are_scanned_and_sorted() {
    let exec = bounded();
    let width = wide(&exec);
    let ones = alloc(&exec, &[2, width]);
    let _done = exec.fill(&ones, 1.0).unwrap();
    let out = alloc(&exec, &[2, width]);
    let _done = exec
        .scan(Scan::Sum, &ones, 1, ScanOptions::default(), &out)
        .unwrap();
    let got = read(&exec, &out);
    let wrong = (0..got.len()).find(|&i| got[i] != (i % width + 1) as u8);
    assert_eq!(wrong, None, "scan");
    // Rows that lie so far apart that no binding reaches from the first to the last.
    let far = alloc(&exec, &[3, width]);
    let _done = exec.arange(&far, 0.0, 1.0).unwrap();
    let few = far.layout.narrow(1, 11, 200).unwrap();
    let few = far.with_layout(few).unwrap();
    let at = exec
        .alloc(&Shape::new([3, 200]).unwrap(), DType::I32)
        .unwrap();
    let _done = exec.argsort(&few, 1, true, &at).unwrap();
    let got = read(&exec, &at);
    for (row, places) in got.chunks_exact(800).enumerate() {
        let byte = |place: usize| (row * width + 11 + place) as u8;
        let mut expected: Vec<usize> = (0..200).collect();
        expected.sort_by_key(|&place| std::cmp::Reverse(byte(place)));
        let places: Vec<usize> = places
            .chunks_exact(4)
            .map(|place| i32::from_le_bytes(place.try_into().unwrap()) as usize)
            .collect();
        assert_eq!(places, expected, "sort, row {row}");
    }
}

#[test]
fn what_must_be_seen_at_once_is_told_to_be_too_large() {
    let exec = common::plain_executor();
    let limit = exec.device().caps().max_binding_bytes;
    let floats = |dims: &[usize]| exec.alloc(&Shape::new(dims).unwrap(), DType::F32).unwrap();
    // One image, of which a place may name any element.
    let image = floats(&[1, 1, usize::try_from(limit >> 14).unwrap() + 8, 4096]);
    let (grid, out) = (floats(&[1, 1, 1, 2]), floats(&[1, 1, 1, 1]));
    let options = GridSampleOptions::default();
    let error = exec.grid_sample(&image, &grid, &options, &out).unwrap_err();
    assert!(
        matches!(error, KernelError::BindingTooLarge { op: "grid_sample", bytes, limit: most } if bytes > limit && most == limit),
        "{error}"
    );
    // It was told, not tried.
    exec.synchronize().wait().unwrap();
}
