//! Ops that are made of other kernels: sorted values, unpooled planes.

use crate::common;
use crate::operands::{
    Arrangement, Expected, Random, check, given, operand, output, random, shape,
};
use ziggurat_kernels::{
    AttentionOperands, AttentionOptions, DType, Executor, KernelError, RandomState, View,
};

const NAN: f64 = f64::NAN;

#[test]
fn sorted_values_come_with_their_places() {
    let exec = common::executor();
    let values = [3.0, 1.0, NAN, 1.0, 2.0, 2.0, -1.0, 5.0];
    for dtype in [DType::F32, DType::BF16] {
        let a = given(&exec, dtype, &[2, 4], &values);
        let (sorted, at) = (
            output(&exec, dtype, &[2, 4], 1),
            output(&exec, DType::I32, &[2, 4], 2),
        );
        let _done = exec
            .sort(&a.view, 1, false, (&sorted.view, &at.view))
            .unwrap();
        let y = sorted.read(&exec);
        assert_eq!(y[..3], [1.0, 1.0, 3.0]);
        assert!(y[3].is_nan());
        assert_eq!(y[4..], [-1.0, 2.0, 2.0, 5.0]);
        assert_eq!(at.read(&exec), [1.0, 3.0, 0.0, 2.0, 2.0, 0.0, 1.0, 3.0]);
        let (most, at) = (
            output(&exec, dtype, &[2, 2], 0),
            output(&exec, DType::I32, &[2, 2], 0),
        );
        let _done = exec.topk(&a.view, 1, true, (&most.view, &at.view)).unwrap();
        let y = most.read(&exec);
        assert!(y[0].is_nan() && y[1..] == [3.0, 5.0, 2.0], "{y:?}");
        assert_eq!(at.read(&exec), [2.0, 0.0, 3.0, 0.0]);
    }
    let (f, i) = (
        |dims: &[usize]| exec.alloc(&shape(dims), DType::F32).unwrap(),
        |dims: &[usize]| exec.alloc(&shape(dims), DType::I32).unwrap(),
    );
    let three = given(&exec, DType::F32, &[3], &[1.0, 2.0, 3.0]).view;
    let none = (&f(&[0]), &i(&[0]));
    let _done = exec.topk(&three, 0, true, none).unwrap();
    assert!(exec.topk(&f(&[3]), 0, true, (&f(&[4]), &i(&[4]))).is_err());
    assert!(exec.topk(&f(&[3]), 1, true, (&f(&[3]), &i(&[3]))).is_err());
    assert!(exec.topk(&f(&[3]), 0, true, (&f(&[2]), &i(&[1]))).is_err());
    assert!(exec.sort(&f(&[3]), 0, true, (&i(&[3]), &i(&[3]))).is_err());
    assert!(exec.sort(&f(&[3]), 0, true, (&f(&[2]), &i(&[3]))).is_err());
}

fn unpooled(x: &[f64], at: &[f64], channels: usize, plane: usize) -> Vec<f64> {
    let mut all = vec![0.0; channels * plane];
    let each = x.len() / channels;
    for (i, (&x, &at)) in x.iter().zip(at).enumerate() {
        all[i / each * plane + at as usize] = x;
    }
    all
}

#[test]
fn unpooling_puts_elements_back() {
    let exec = common::executor();
    let mut rng = Random(5);
    let forms: [(&[usize], &[usize]); 3] = [
        (&[2, 3, 4], &[2, 3, 9]),
        (&[1, 2, 2, 3], &[1, 2, 5, 4]),
        (&[2, 1, 2, 1, 2], &[2, 1, 4, 2, 3]),
    ];
    for dtype in DType::ALL {
        for (from, to) in forms {
            for arrangement in [
                Arrangement::Contiguous,
                Arrangement::Transposed,
                Arrangement::Sliced,
            ] {
                let x = random(&exec, dtype, from, arrangement, &mut rng);
                let plane: usize = to[2..].iter().product();
                let each: usize = from[2..].iter().product();
                // Different places within a plane.
                let mut next = 0;
                let start = rng.below(plane);
                let at = operand(&exec, DType::I32, from, Arrangement::Contiguous, || {
                    next += 1;
                    ((start + (next - 1) % each) % plane) as f64
                });
                let out = output(&exec, dtype, to, rng.below(5));
                let _done = exec.max_unpool(&x.view, &at.view, &out.view).unwrap();
                let expected: Vec<Expected> =
                    unpooled(&x.values, &at.values, from[0] * from[1], plane)
                        .into_iter()
                        .map(Expected::exact)
                        .collect();
                check(
                    &format!("{dtype} {:?} to {to:?}", x.view.layout),
                    &out.read(&exec),
                    &expected,
                );
            }
        }
    }
}

/// `torch.nn.functional.max_unpool2d(*torch.nn.functional.max_pool2d(x, 2, return_indices=True), 2)` of PyTorch 2.15 for
/// `x = [[[1, 5, 2, 0], [3, 4, 7, 6], [9, 8, -1, -2], [0, 1, -3, -4]]]`.
const UNPOOLED: [f64; 16] = [
    0.0, 5.0, 0.0, 0.0, 0.0, 0.0, 7.0, 0.0, 9.0, 0.0, -1.0, 0.0, 0.0, 0.0, 0.0, 0.0,
];

fn pooled_and_back(exec: &Executor) -> Vec<f64> {
    let x = [
        1., 5., 2., 0., 3., 4., 7., 6., 9., 8., -1., -2., 0., 1., -3., -4.,
    ];
    let x = given(exec, DType::F32, &[1, 1, 4, 4], &x);
    let options = ziggurat_kernels::Pool2dOptions::new([2, 2]);
    let small = shape(&[1, 1, 2, 2]);
    let (most, at) = (
        exec.alloc(&small, DType::F32).unwrap(),
        exec.alloc(&small, DType::I32).unwrap(),
    );
    let _done = exec
        .pool(ziggurat_kernels::Pool::Max, &x.view, &options, &most)
        .unwrap();
    let _done = exec.max_pool_indices(&x.view, &options, &at).unwrap();
    let out = output(exec, DType::F32, &[1, 1, 4, 4], 0);
    let _done = exec.max_unpool(&most, &at, &out.view).unwrap();
    out.read(exec)
}

#[test]
fn unpooling_a_pooled_plane_gives_what_pytorch_gives() {
    let exec = common::executor();
    assert_eq!(pooled_and_back(&exec), UNPOOLED);
}

#[test]
fn unpooling_refuses_what_does_not_fit() {
    let exec = common::executor();
    let view = |dtype, dims: &[usize]| exec.alloc(&shape(dims), dtype).unwrap();
    let (f, i) = (
        |dims: &[usize]| view(DType::F32, dims),
        |dims: &[usize]| view(DType::I32, dims),
    );
    let empty = output(&exec, DType::F32, &[1, 1, 3], 0);
    let _done = exec
        .max_unpool(&f(&[1, 1, 0]), &i(&[1, 1, 0]), &empty.view)
        .unwrap();
    assert_eq!(empty.read(&exec), [0.0; 3]);
    let unpool = |x: &View, at: &View, out: &View| exec.max_unpool(x, at, out).unwrap_err();
    let (x, at, out) = (f(&[1, 2, 3]), i(&[1, 2, 3]), f(&[1, 2, 6]));
    assert!(matches!(
        unpool(&x, &f(&[1, 2, 3]), &out),
        KernelError::Dtype { .. }
    ));
    assert!(matches!(
        unpool(&x, &at, &i(&[1, 2, 6])),
        KernelError::Dtype { .. }
    ));
    assert!(matches!(
        unpool(&x, &i(&[1, 2, 2]), &out),
        KernelError::Operands { .. }
    ));
    assert!(matches!(
        unpool(&x, &at, &f(&[1, 1, 6])),
        KernelError::Operands { .. }
    ));
    assert!(matches!(
        unpool(&f(&[2, 3]), &i(&[2, 3]), &f(&[2, 6])),
        KernelError::Operands { .. }
    ));
    assert!(matches!(
        unpool(&x, &at, &f(&[1, 2, 0])),
        KernelError::Operand { .. }
    ));
}

#[test]
fn attention_appends_to_a_cache_or_joins_what_was_before() {
    let exec = common::executor();
    let mut rng = Random(7);
    let cut = |view: &View, start, len| {
        view.with_layout(view.layout.narrow(2, start, len).unwrap())
            .unwrap()
    };
    let q = random(
        &exec,
        DType::F32,
        &[1, 2, 2, 4],
        Arrangement::Contiguous,
        &mut rng,
    );
    let k = random(
        &exec,
        DType::F32,
        &[1, 1, 5, 4],
        Arrangement::Contiguous,
        &mut rng,
    );
    let v = random(
        &exec,
        DType::F32,
        &[1, 1, 5, 3],
        Arrangement::Contiguous,
        &mut rng,
    );
    let options = AttentionOptions {
        causal: true,
        shift: 3,
        ..AttentionOptions::default()
    };
    let operands = |k, v| AttentionOperands {
        q: &q.view,
        k,
        v,
        mask: None,
        lengths: None,
        factors: None,
    };
    let wanted = output(&exec, DType::F32, &[1, 2, 2, 3], 0);
    let _done = exec
        .attention(&operands(&k.view, &v.view), &options, &wanted.view)
        .unwrap();
    let wanted = wanted.read(&exec);
    let (past, new) = (
        (cut(&k.view, 0, 3), cut(&v.view, 0, 3)),
        (cut(&k.view, 3, 2), cut(&v.view, 3, 2)),
    );
    let room = || {
        (
            exec.alloc(&shape(&[1, 1, 5, 4]), DType::F32).unwrap(),
            exec.alloc(&shape(&[1, 1, 5, 3]), DType::F32).unwrap(),
        )
    };
    let fresh = room();
    let cache = room();
    let held = (cut(&cache.0, 0, 3), cut(&cache.1, 0, 3));
    let _done = exec.copy(&past.0, &held.0).unwrap();
    let _done = exec.copy(&past.1, &held.1).unwrap();
    for (past, present) in [(&past, &fresh), (&held, &cache)] {
        let out = output(&exec, DType::F32, &[1, 2, 2, 3], 1);
        let _done = exec
            .attention_with_past(
                &operands(&new.0, &new.1),
                (&past.0, &past.1),
                (&present.0, &present.1),
                &options,
                &out.view,
            )
            .unwrap();
        assert_eq!(out.read(&exec), wanted);
    }
    let out = output(&exec, DType::F32, &[1, 2, 2, 3], 0);
    let short = exec.attention_with_past(
        &operands(&new.0, &new.1),
        (&past.0, &past.1),
        (&held.0, &held.1),
        &options,
        &out.view,
    );
    assert!(matches!(short, Err(KernelError::Operands { .. })));
}

#[test]
fn drawn_numbers_are_scaled_and_rounded_once() {
    let exec = common::executor();
    let state = RandomState {
        seed: 3,
        ..RandomState::default()
    };
    let plain = output(&exec, DType::F32, &[1001], 0);
    let _done = exec
        .random(ziggurat_kernels::Random::Uniform, state, &plain.view)
        .unwrap();
    let plain = plain.read(&exec);
    for dtype in [DType::F32, DType::F16, DType::BF16] {
        let out = output(&exec, dtype, &[1001], 3);
        let _done = exec.uniform(-2.0, 6.0, state, &out.view).unwrap();
        let expected: Vec<Expected> = plain
            .iter()
            .map(|u| Expected::exact(f64::from(*u as f32 * 8.0 - 2.0)).rounded(dtype))
            .map(|e| {
                if e.value == 6.0 {
                    Expected::exact(-2.0)
                } else {
                    e
                }
            })
            .collect();
        check(&format!("uniform {dtype}"), &out.read(&exec), &expected);
    }
    let f = exec.alloc(&shape(&[3]), DType::F32).unwrap();
    let i = exec.alloc(&shape(&[3]), DType::I32).unwrap();
    for error in [
        exec.uniform(1.0, 1.0, state, &f),
        exec.uniform(0.0, f32::NAN, state, &f),
        exec.normal(0.0, -1.0, state, &f),
        exec.normal(f32::INFINITY, 1.0, state, &f),
    ] {
        assert!(matches!(error, Err(KernelError::Number { .. })));
    }
    assert!(matches!(
        exec.normal(0.0, 1.0, state, &i),
        Err(KernelError::Dtype { .. })
    ));
}
