//! Concatenation and padding, in all arrangements of memory, against references.

use crate::common;
use crate::operands::{Arrangement, Expected, Random, check, output, random, shape};
use ziggurat_kernels::reference::movement;
use ziggurat_kernels::{DType, Executor, KernelError, Pad};

fn exact(values: &[f64]) -> Vec<Expected> {
    values.iter().map(|&x| Expected::exact(x)).collect()
}

fn pad_sweep(exec: &Executor) {
    let mut rng = Random(31);
    let problems: &[(&[usize], &[isize], &[usize])] = &[
        (&[3], &[2], &[7]),
        (&[5], &[0], &[5]),
        (&[5], &[-2], &[2]),
        (&[1], &[3], &[6]),
        (&[], &[], &[]),
        (&[4, 3, 5], &[1, -1, 3], &[6, 2, 13]),
        (&[4, 3, 5], &[-1, 2, -3], &[3, 7, 4]),
        (&[2, 1, 3, 1, 2], &[1, 2, 0, 0, 1], &[3, 4, 3, 1, 5]),
        (
            &[1, 2, 1, 2, 1, 2, 1, 2],
            &[0, 1, 0, 0, 1, 0, 0, 1],
            &[1, 3, 1, 2, 2, 2, 1, 4],
        ),
        (&[257], &[1], &[261]),
    ];
    for dtype in DType::ALL {
        for mode in Pad::ALL {
            for (dims, begin, wanted) in problems {
                let arrangement = rng.pick(&Arrangement::ALL);
                let a = random(exec, dtype, dims, arrangement, &mut rng);
                let value = rng.value(dtype);
                let out = output(exec, dtype, wanted, 3);
                let _done = exec.pad(&a.view, begin, mode, value, &out.view).unwrap();
                let expected = movement::pad(&a.values, dims, begin, mode, value, wanted);
                check(
                    &format!("{dtype} {mode:?} {arrangement:?} {dims:?} to {wanted:?}"),
                    &out.read(exec),
                    &exact(&expected),
                );
            }
        }
    }
}

#[test]
fn pads_of_every_mode_and_dtype_agree_with_the_reference() {
    let exec = common::executor();
    pad_sweep(&exec);
}

#[test]
fn pads_hold_within_the_default_limits_and_beyond_a_row_of_workgroups() {
    let exec = common::plain_executor();
    pad_sweep(&exec);
    let exec = common::narrow_executor();
    // 65,535 workgroups of 8 invocations of 4 elements are 2,097,120.
    let len = 2_097_120 + 5;
    let a = exec.upload(&[1_u8, 2, 3], &shape(&[3])).unwrap();
    let out = exec.alloc(&shape(&[len]), DType::U8).unwrap();
    let _done = exec.pad(&a, &[0], Pad::Circular, 0.0, &out).unwrap();
    let got = exec.download(&out).unwrap().wait().unwrap();
    assert!((0..len).all(|i| usize::from(got[i]) == i % 3 + 1));
}

#[test]
fn padding_nothing_is_the_value_or_an_error() {
    let exec = common::executor();
    let a = exec.alloc(&shape(&[0, 2]), DType::F32).unwrap();
    let out = output(&exec, DType::F32, &[2, 2], 0);
    let _done = exec
        .pad(&a, &[1, 0], Pad::Constant, 5.0, &out.view)
        .unwrap();
    assert_eq!(out.read(&exec), [5.0; 4]);
    for mode in [Pad::Reflect, Pad::Symmetric, Pad::Replicate, Pad::Circular] {
        let error = exec.pad(&a, &[1, 0], mode, 0.0, &out.view).unwrap_err();
        assert!(matches!(error, KernelError::Operand { .. }), "{error}");
    }
    let empty = exec.alloc(&shape(&[0]), DType::F32).unwrap();
    let one = exec.alloc(&shape(&[1]), DType::F32).unwrap();
    assert!(exec.pad(&one, &[0], Pad::Circular, 0.0, &empty).is_ok());
}

#[test]
fn pads_refuse_what_does_not_fit() {
    let exec = common::executor();
    let a = exec.alloc(&shape(&[2, 3]), DType::F32).unwrap();
    let text = |begin: &[isize], out| {
        let error = exec.pad(&a, begin, Pad::Constant, 0.0, out).unwrap_err();
        error.to_string()
    };
    let out = exec.alloc(&shape(&[2, 3]), DType::I32).unwrap();
    assert_eq!(
        text(&[0, 0], &out),
        "pad: a is f32, but it must have the output's dtype"
    );
    let out = exec.alloc(&shape(&[6]), DType::F32).unwrap();
    assert_eq!(
        text(&[0, 0], &out),
        "pad: the ranks must be equal: left is [2, 3], right is [6]"
    );
    let out = exec.alloc(&shape(&[2, 3]), DType::F32).unwrap();
    assert_eq!(
        text(&[0], &out),
        "pad: begin must have an entry per axis, but it is 1"
    );
    assert!(text(&[isize::MIN, 0], &out).contains("kernels index at most"));
}

#[test]
fn inputs_of_any_strides_stand_behind_each_other() {
    let exec = common::executor();
    let mut rng = Random(32);
    for dtype in DType::ALL {
        for axis in 0..3 {
            for sizes in [
                &[1, 2, 3][..],
                &[5],
                &[0, 3, 0],
                &[4, 4, 4, 4, 4, 4, 4, 4, 4, 4],
                &[],
            ] {
                let dims = |extent: usize| {
                    let mut dims = [2, 3, 5];
                    dims[axis] = extent;
                    dims
                };
                let inputs: Vec<_> = sizes
                    .iter()
                    .map(|&size| {
                        let arrangement = rng.pick(&Arrangement::ALL);
                        random(&exec, dtype, &dims(size), arrangement, &mut rng)
                    })
                    .collect();
                let total: usize = sizes.iter().sum();
                let out = output(&exec, dtype, &dims(total), rng.below(5));
                let views: Vec<_> = inputs.iter().map(|input| &input.view).collect();
                let _done = exec.concat(&views, axis, &out.view).unwrap();
                let whole = dims(total);
                let (outer, inner): (usize, usize) = (
                    whole[..axis].iter().product(),
                    whole[axis + 1..].iter().product(),
                );
                let mut expected = Vec::new();
                for row in 0..outer {
                    for (input, &size) in inputs.iter().zip(sizes) {
                        let run = size * inner;
                        expected.extend_from_slice(&input.values[row * run..(row + 1) * run]);
                    }
                }
                check(
                    &format!("{dtype} {axis} {sizes:?}"),
                    &out.read(&exec),
                    &exact(&expected),
                );
            }
        }
    }
}

#[test]
fn a_part_of_the_output_may_be_an_input() {
    let exec = common::executor();
    let whole = exec.upload(&[1_i32, 2, 3, 4], &shape(&[4])).unwrap();
    let half = |at| {
        whole
            .with_layout(whole.layout.narrow(0, at, 2).unwrap())
            .unwrap()
    };
    let _done = exec.concat(&[&half(2), &half(0)], 0, &whole).unwrap();
    let bytes = exec.download(&whole).unwrap().wait().unwrap();
    assert_eq!(
        bytemuck::pod_collect_to_vec::<u8, i32>(&bytes),
        [3, 4, 1, 2]
    );
}

#[test]
fn concat_refuses_what_does_not_fit() {
    let exec = common::executor();
    let view = |dims: &[usize], dtype| exec.alloc(&shape(dims), dtype).unwrap();
    let (a, b) = (view(&[2, 3], DType::F32), view(&[2, 4], DType::F32));
    let out = view(&[2, 6], DType::F32);
    let text = |inputs: &[&_], axis, out| exec.concat(inputs, axis, out).unwrap_err().to_string();
    assert_eq!(
        text(&[&a, &b], 1, &out),
        "concat: the output must be [2, 7], but it is [2, 6]"
    );
    assert_eq!(
        text(&[&a], 1, &out),
        "concat: the output must be [2, 3], but it is [2, 6]"
    );
    assert!(text(&[&a], 2, &out).starts_with("concat: "));
    assert_eq!(
        text(&[&a, &view(&[3, 3], DType::F32)], 1, &out),
        "concat: all extents but that of the axis must be the output's: left is [3, 3], right is [2, 6]"
    );
    assert_eq!(
        text(&[&view(&[2, 6], DType::I32)], 1, &out),
        "concat: an input is i32, but it must have the output's dtype"
    );
}
