//! Fused kernels against the unfused path, bit for bit, and against f64 references.

use crate::common;
use crate::fusion::{bits_differ, random_case};
use crate::operands::{Arrangement, Expected, Random, check, operand, output, random, shape};
use ziggurat_kernels::core::decode;
use ziggurat_kernels::{
    Binary, CannotFuse, DType, Executor, Expression, FusedOp, KernelError, Layout, Unary,
};

fn check_random(exec: &Executor, dims: &[usize], ops: usize, seeds: std::ops::Range<u64>) {
    for seed in seeds {
        let mut rng = Random(seed * 7919 + dims.len() as u64);
        let case = random_case(exec, dims, ops, &Arrangement::ALL, &mut rng);
        let outputs = [case.len() - 1, rng.below(case.len())];
        let used = &outputs[..1 + rng.below(2)];
        let (fused, unfused) = (case.fused(exec, used), case.unfused(exec, used));
        let reference = case.reference(used);
        for (i, &node) in used.iter().enumerate() {
            let dtype = case.dtype(node);
            let found = bits_differ(dtype, &fused[i], &unfused[i]);
            assert_eq!(found, None, "seed {seed}, {dims:?}, node {node}:\n{case:?}");
            let expected: Vec<Expected> =
                reference[i].iter().map(|&x| Expected::exact(x)).collect();
            let what = format!("seed {seed}, {dims:?}, node {node}:\n{case:?}");
            check(&what, &decode(dtype, &fused[i]), &expected);
        }
    }
}

#[test]
fn random_expressions_have_the_bits_of_the_unfused_path_and_the_values_of_the_reference() {
    let exec = common::executor();
    check_random(&exec, &[37], 6, 0..20);
    check_random(&exec, &[5, 3, 7], 8, 20..40);
    check_random(&exec, &[2, 1, 3, 2, 1, 2, 2, 3], 5, 40..50);
    check_random(&exec, &[], 5, 50..56);
    check_random(&exec, &[4, 300], 40, 60..66);
}

#[test]
fn random_expressions_agree_without_optional_features() {
    let exec = common::plain_executor();
    check_random(&exec, &[6, 5], 10, 100..112);
}

#[test]
fn the_comparison_of_bits_sees_one_wrong_bit() {
    let right = 1.5f32.to_le_bytes();
    let wrong = f32::from_bits(1.5f32.to_bits() + 1).to_le_bytes();
    assert_eq!(bits_differ(DType::F32, &right, &right), None);
    assert_eq!(bits_differ(DType::F32, &right, &wrong), Some(0));
    let (quiet, other) = (0x7fc0_0000u32.to_le_bytes(), 0x7fc0_0001u32.to_le_bytes());
    assert_eq!(bits_differ(DType::F32, &quiet, &other), None, "two NaNs");
    assert_eq!(bits_differ(DType::F32, &quiet, &right), Some(0));
}

#[test]
fn a_product_is_rounded_before_it_is_added() {
    let exec = common::executor();
    // (1 + 2⁻¹²)² − (1 + 2⁻¹¹) is 2⁻²⁴ with a fused multiply-add and 0 with two roundings.
    let x = exec
        .upload(&[1.0 + 2f32.powi(-12); 5], &shape(&[5]))
        .unwrap();
    let y = exec
        .upload(&[-1.0 - 2f32.powi(-11); 5], &shape(&[5]))
        .unwrap();
    let mut e = Expression::new();
    let (x, y) = (e.input(x), e.input(y));
    let product = e.op(FusedOp::Binary(Binary::Mul), &[x, x]).unwrap();
    let sum = e.op(FusedOp::Binary(Binary::Add), &[product, y]).unwrap();
    let out = output(&exec, DType::F32, &[5], 0);
    let _done = exec
        .fused(&e, &shape(&[5]), &[(sum, out.view.clone())])
        .unwrap();
    assert_eq!(out.read(&exec), [0.0; 5]);
}

#[test]
fn values_of_packed_dtypes_are_rounded_between_ops() {
    let exec = common::executor();
    let run = |dtype: DType, value: f64, add: f64| {
        let mut e = Expression::new();
        let x = e.scalar(dtype, value);
        let y = e.scalar(dtype, add);
        let sum = e.op(FusedOp::Binary(Binary::Add), &[x, y]).unwrap();
        let back = e.op(FusedOp::Binary(Binary::Sub), &[sum, x]).unwrap();
        let wide = e.op(FusedOp::Cast(DType::F32), &[back]).unwrap();
        let out = output(&exec, DType::F32, &[3], 0);
        let _done = exec
            .fused(&e, &shape(&[3]), &[(wide, out.view.clone())])
            .unwrap();
        out.read(&exec)[0]
    };
    assert_eq!(run(DType::F16, 2048.0, 1.0), 0.0, "2049 is no f16");
    assert_eq!(run(DType::BF16, 256.0, 1.0), 0.0, "257 is no bf16");
    assert_eq!(run(DType::F32, 2048.0, 1.0), 1.0);
    let wrapped = |dtype: DType, value: f64| {
        let mut e = Expression::new();
        let (x, one) = (e.scalar(dtype, value), e.scalar(dtype, 1.0));
        let sum = e.op(FusedOp::Binary(Binary::Add), &[x, one]).unwrap();
        let wide = e.op(FusedOp::Cast(DType::I32), &[sum]).unwrap();
        let out = output(&exec, DType::I32, &[2], 0);
        let _done = exec
            .fused(&e, &shape(&[2]), &[(wide, out.view.clone())])
            .unwrap();
        out.read(&exec)[1]
    };
    assert_eq!(wrapped(DType::U8, 255.0), 0.0);
    assert_eq!(wrapped(DType::I8, 127.0), -128.0);
}

#[test]
fn transcendental_chains_stay_within_tolerance_of_the_reference() {
    let exec = common::executor();
    let mut rng = Random(5);
    for arrangement in Arrangement::ALL {
        let x = random(&exec, DType::F32, &[9, 13], arrangement, &mut rng);
        let y = random(&exec, DType::F32, &[13], Arrangement::Contiguous, &mut rng);
        let mut e = Expression::new();
        let (a, b) = (e.input(x.view.clone()), e.input(y.view.clone()));
        let half = e.scalar(DType::F32, 0.5);
        let exp = e.op(FusedOp::Unary(Unary::Exp), &[a]).unwrap();
        let sum = e.op(FusedOp::Binary(Binary::Add), &[exp, half]).unwrap();
        let log = e.op(FusedOp::Unary(Unary::Log), &[sum]).unwrap();
        let tanh = e.op(FusedOp::Unary(Unary::Tanh), &[b]).unwrap();
        let all = e.op(FusedOp::Binary(Binary::Mul), &[log, tanh]).unwrap();
        let out = output(&exec, DType::F32, &[9, 13], 4);
        let _done = exec
            .fused(&e, &shape(&[9, 13]), &[(all, out.view.clone())])
            .unwrap();
        for (i, actual) in out.read(&exec).into_iter().enumerate() {
            let expected = (x.values[i].exp() + 0.5).ln() * y.values[i % 13].tanh();
            let bound = 2e-6 * (1.0 + expected.abs());
            assert!(
                (actual - expected).abs() <= bound,
                "{arrangement:?} {i}: {actual} and {expected}"
            );
        }
    }
}

#[test]
fn every_rank_and_size_is_covered() {
    let exec = common::executor();
    let mut rng = Random(9);
    for len in [1, 2, 3, 4, 5, 255, 1023, 1025, 4099] {
        check_sum(&exec, &[len], &mut rng);
    }
    let dims = [2, 3, 2, 2, 1, 3, 2, 2];
    for rank in 0..=dims.len() {
        check_sum(&exec, &dims[..rank], &mut rng);
    }
    check_sum(&exec, &[3, 100_001], &mut rng);
}

/// The sum of a transposed, a flipped and a dense operand, to an output that starts within a vec4.
fn check_sum(exec: &Executor, dims: &[usize], rng: &mut Random) {
    for dtype in [DType::F32, DType::I8] {
        let operands = [
            Arrangement::Transposed,
            Arrangement::Flipped,
            Arrangement::Contiguous,
        ]
        .map(|arrangement| random(exec, dtype, dims, arrangement, rng));
        let mut e = Expression::new();
        let ids = operands
            .each_ref()
            .map(|operand| e.input(operand.view.clone()));
        let most = e.op(FusedOp::Binary(Binary::Maximum), &ids[..2]).unwrap();
        let least = e
            .op(FusedOp::Binary(Binary::Minimum), &[most, ids[2]])
            .unwrap();
        let out = output(exec, dtype, dims, 3);
        let _done = exec
            .fused(&e, &shape(dims), &[(least, out.view.clone())])
            .unwrap();
        for (i, actual) in out.read(exec).into_iter().enumerate() {
            let [a, b, c] = operands.each_ref().map(|operand| operand.values[i]);
            assert_eq!(actual, a.max(b).min(c), "{dtype} {dims:?} {i}");
        }
    }
}

#[test]
fn nothing_is_dispatched_without_elements_or_outputs() {
    let exec = common::executor();
    let mut e = Expression::new();
    let x = e.input(exec.alloc(&shape(&[0, 3]), DType::F32).unwrap());
    let y = e.op(FusedOp::Unary(Unary::Exp), &[x]).unwrap();
    let out = exec.alloc(&shape(&[0, 3]), DType::F32).unwrap();
    let before = exec.pipelines().stats().misses;
    let _done = exec.fused(&e, &shape(&[0, 3]), &[(y, out)]).unwrap();
    let _done = exec.fused(&e, &shape(&[0, 3]), &[]).unwrap();
    assert_eq!(exec.pipelines().stats().misses, before);
}

#[test]
fn mistakes_are_typed_errors() {
    let exec = common::executor();
    let mut e = Expression::new();
    let x = e.input(exec.upload(&[1.0f32, 2.0], &shape(&[2])).unwrap());
    let flag = e.scalar(DType::Bool, 1.0);
    assert!(matches!(
        e.op(FusedOp::Binary(Binary::Add), &[x, flag]),
        Err(KernelError::Dtype { op: "add", .. })
    ));
    assert!(matches!(
        e.op(FusedOp::Unary(Unary::Exp), &[flag]),
        Err(KernelError::Dtype { op: "exp", .. })
    ));
    for operands in [&[][..], &[x, x], &[x; 9]] {
        let error = e.op(FusedOp::Unary(Unary::Exp), operands).unwrap_err();
        assert!(
            matches!(error, KernelError::Option { op: "exp", .. }),
            "{error}"
        );
    }
    let mut larger = Expression::new();
    let foreign = (0..9)
        .map(|i| larger.scalar(DType::F32, f64::from(i)))
        .last()
        .unwrap();
    assert!(matches!(
        e.op(FusedOp::Unary(Unary::Exp), &[foreign]),
        Err(KernelError::Option { .. })
    ));
    let out = |dims: &[usize], dtype| exec.alloc(&shape(dims), dtype).unwrap();
    assert!(matches!(
        exec.fused(&e, &shape(&[2]), &[(foreign, out(&[2], DType::F32))]),
        Err(KernelError::Option { .. })
    ));
    assert!(
        exec.fused(&e, &shape(&[3]), &[(x, out(&[3], DType::F32))])
            .is_err_and(|error| error.is_shape())
    );
    assert!(matches!(
        exec.fused(&e, &shape(&[2]), &[(x, out(&[1, 2], DType::F32))]),
        Err(KernelError::Output { .. })
    ));
    assert!(matches!(
        exec.fused(&e, &shape(&[2]), &[(x, out(&[2], DType::I32))]),
        Err(KernelError::Dtype { .. })
    ));
    let one = out(&[1], DType::F32);
    let twice = one
        .with_layout(Layout::new(shape(&[2]), &[0], 0).unwrap())
        .unwrap();
    assert!(matches!(
        exec.fused(&e, &shape(&[2]), &[(x, twice)]),
        Err(KernelError::OverlappingOutput { .. })
    ));
}

#[test]
fn limits_are_published_and_kept() {
    let exec = common::plain_executor();
    let limits = exec.fused_limits();
    let sum = |inputs: usize| {
        let mut e = Expression::new();
        let mut value = e.scalar(DType::F32, 0.0);
        for i in 0..inputs {
            let x = exec.upload(&[i as f32], &shape(&[1])).unwrap();
            let x = e.input(x);
            value = e.op(FusedOp::Binary(Binary::Add), &[value, x]).unwrap();
        }
        let out = output(&exec, DType::F32, &[5], 0);
        exec.fused(&e, &shape(&[5]), &[(value, out.view.clone())])
            .map(|_| out.read(&exec)[4])
    };
    let most = limits.bindings - 1;
    assert_eq!(sum(most).unwrap(), (most * (most - 1) / 2) as f64);
    let error = sum(most + 1).unwrap_err();
    assert!(
        matches!(error, KernelError::CannotFuse(CannotFuse::Bindings { needed, limit }) if needed == most + 2 && limit == most + 1),
        "{error}"
    );
    let chain = |ops: usize| {
        let mut e = Expression::new();
        let mut value = e.scalar(DType::F32, 0.0);
        for i in 0..ops {
            let next = e.scalar(DType::F32, i as f64);
            value = e.op(FusedOp::Binary(Binary::Add), &[value, next]).unwrap();
        }
        let out = output(&exec, DType::F32, &[5], 0);
        exec.fused(&e, &shape(&[5]), &[(value, out.view.clone())])
            .map(|_| out.read(&exec)[4])
    };
    assert_eq!(
        chain(limits.ops).unwrap(),
        (limits.ops * (limits.ops - 1) / 2) as f64
    );
    let error = chain(limits.ops + 1).unwrap_err();
    assert!(
        matches!(error, KernelError::CannotFuse(CannotFuse::Ops { .. })),
        "{error}"
    );
}

#[test]
fn operands_over_the_binding_limit_are_computed_in_parts() {
    let exec = common::plain_executor();
    let limit = usize::try_from(exec.device().caps().max_binding_bytes).unwrap();
    let width = limit / 2 + 4099;
    let x = exec.alloc(&shape(&[2, width]), DType::U8).unwrap();
    let _done = exec.arange(&x, 0.0, 1.0).unwrap();
    let mut e = Expression::new();
    let input = e.input(x.clone());
    let one = e.scalar(DType::U8, 1.0);
    let sum = e.op(FusedOp::Binary(Binary::Add), &[input, one]).unwrap();
    // In place, where the second part starts within a vec4.
    let _done = exec
        .fused(&e, &shape(&[2, width]), &[(sum, x.clone())])
        .unwrap();
    let bytes = exec.download(&x).unwrap().wait().unwrap();
    assert!(
        bytes
            .iter()
            .enumerate()
            .all(|(i, &byte)| byte == (i as u8).wrapping_add(1))
    );
}

#[test]
fn unaligned_and_misplaced_inputs_are_read_element_by_element() {
    let exec = common::executor();
    let values: Vec<f64> = (0..40).map(f64::from).collect();
    let mut next = values.iter().copied();
    let whole = operand(&exec, DType::F16, &[40], Arrangement::Contiguous, || {
        next.next().unwrap()
    });
    for start in 0..6 {
        let layout = whole.view.layout.narrow(0, start, 30).unwrap();
        let mut e = Expression::new();
        let x = e.input(whole.view.with_layout(layout).unwrap());
        let y = e.op(FusedOp::Unary(Unary::Neg), &[x]).unwrap();
        let out = output(&exec, DType::F16, &[30], start);
        let _done = exec
            .fused(&e, &shape(&[30]), &[(y, out.view.clone())])
            .unwrap();
        let expected: Vec<f64> = values[start..start + 30].iter().map(|x| -x).collect();
        assert_eq!(out.read(&exec), expected, "from {start}");
    }
}
