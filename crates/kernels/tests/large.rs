//! Tensors larger than one storage binding: ops cut them into parts that fit.

#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use ziggurat_kernels::{DType, Executor, Shape, View};

fn alloc(exec: &Executor, dims: &[usize]) -> View {
    exec.alloc(&Shape::new(dims).unwrap(), DType::U8).unwrap()
}

fn read(exec: &Executor, view: &View) -> Vec<u8> {
    exec.download(view).unwrap().wait().unwrap()
}

#[test]
fn operands_over_the_binding_limit_are_computed_in_parts() {
    let Some(exec) = common::plain_executor() else {
        return;
    };
    let limit = usize::try_from(exec.device().caps().max_binding_bytes).unwrap();
    // An odd width, so that parts start within a quad.
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
