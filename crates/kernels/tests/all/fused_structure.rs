//! What decides a fused kernel, and where its outputs may lie.

use crate::common;
use crate::operands::{Arrangement, Random, output, random, shape};
use ziggurat_kernels::fused::Id;
use ziggurat_kernels::{Binary, Compare, DType, Executor, Expression, FusedOp, Unary, View};

fn binary(e: &mut Expression, op: Binary, a: Id, b: Id) -> Id {
    e.op(FusedOp::Binary(op), &[a, b]).unwrap()
}

/// `x · scale + offset` over these extents, in an arrangement; and the kernels it compiled.
fn scaled(
    exec: &Executor,
    dims: &[usize],
    arrangement: Arrangement,
    scale: f64,
    offset: f64,
) -> u64 {
    let x = random(exec, DType::F32, dims, arrangement, &mut Random(3));
    let mut e = Expression::new();
    let id = e.input(x.view.clone());
    let (s, o) = (e.scalar(DType::F32, scale), e.scalar(DType::F32, offset));
    let product = binary(&mut e, Binary::Mul, id, s);
    let sum = binary(&mut e, Binary::Add, product, o);
    let out = output(exec, DType::F32, dims, 0);
    let before = exec.pipelines().stats().misses;
    let _done = exec
        .fused(&e, &shape(dims), &[(sum, out.view.clone())])
        .unwrap();
    let misses = exec.pipelines().stats().misses - before;
    for (actual, x) in out.read(exec).into_iter().zip(x.values) {
        let product = (x as f32) * (scale as f32);
        assert_eq!(
            actual,
            f64::from(product + offset as f32),
            "{dims:?} {arrangement:?}"
        );
    }
    misses
}

#[test]
fn shapes_and_scalars_do_not_make_kernels() {
    // Not the shared executor: other tests of this binary compile at the same time.
    let exec = common::fresh_executor();
    assert_eq!(scaled(&exec, &[37], Arrangement::Contiguous, 2.0, 1.0), 1);
    for (dims, scale, offset) in [
        (&[1000][..], 2.0, 1.0),
        (&[3, 5], -7.0, 0.25),
        (&[2, 2, 9], 3.0, 3.0),
        (&[], 1.0, 0.0),
    ] {
        assert_eq!(
            scaled(&exec, dims, Arrangement::Contiguous, scale, offset),
            0,
            "{dims:?}"
        );
    }
    assert_eq!(
        scaled(&exec, &[6, 5], Arrangement::Transposed, 2.0, 1.0),
        1,
        "strides"
    );
    assert_eq!(
        scaled(&exec, &[9, 70], Arrangement::Transposed, 4.0, 5.0),
        0
    );
    assert_eq!(
        scaled(&exec, &[4, 6], Arrangement::Sliced, 4.0, 5.0),
        0,
        "other strides"
    );
}

#[test]
fn the_order_of_building_and_dead_nodes_do_not_make_kernels() {
    let exec = common::fresh_executor();
    let view = exec.upload(&[1.0f32, 2.0, 3.0], &shape(&[3])).unwrap();
    let run = |dead: bool| {
        let mut e = Expression::new();
        let x = e.input(view.clone());
        if dead {
            let unused = e.op(FusedOp::Unary(Unary::Exp), &[x]).unwrap();
            let other = e.input(exec.upload(&[0.5f32], &shape(&[1])).unwrap());
            let _dead = binary(&mut e, Binary::Sub, unused, other);
        }
        let y = e.op(FusedOp::Unary(Unary::Square), &[x]).unwrap();
        let out = exec.alloc(&shape(&[3]), DType::F32).unwrap();
        let before = exec.pipelines().stats().misses;
        let _done = exec.fused(&e, &shape(&[3]), &[(y, out.clone())]).unwrap();
        let source = exec.fused_source(&e, &[(y, out)]).unwrap();
        assert!(!source.contains("op_exp"), "{source}");
        exec.pipelines().stats().misses - before
    };
    assert_eq!([run(false), run(true)], [1, 0]);
}

#[test]
fn equal_nodes_are_one_node() {
    let exec = common::executor();
    let view = exec.upload(&[1.0f32, 2.0], &shape(&[2])).unwrap();
    let mut e = Expression::new();
    let x = e.input(view.clone());
    assert_eq!(x, e.input(view.clone()), "the same view");
    let other = e.input(view.with_layout(view.layout.flip(&[0]).unwrap()).unwrap());
    assert_ne!(x, other, "another layout");
    let two = e.scalar(DType::F32, 2.0);
    assert_eq!(two, e.scalar(DType::F32, 2.0));
    assert_ne!(two, e.scalar(DType::F16, 2.0));
    assert_ne!(e.scalar(DType::F32, 0.0), e.scalar(DType::F32, -0.0));
    let a = binary(&mut e, Binary::Mul, x, two);
    let b = binary(&mut e, Binary::Mul, x, two);
    assert_eq!(a, b);
    let sum = binary(&mut e, Binary::Add, a, b);
    assert_eq!(e.op(FusedOp::Cast(DType::F32), &[sum]).unwrap(), sum);
    assert_eq!(e.inputs().len(), 2);
    let out = exec.alloc(&shape(&[2]), DType::F32).unwrap();
    let source = exec.fused_source(&e, &[(sum, out)]).unwrap();
    assert_eq!(
        source.matches("op_mul_f32(").count(),
        2,
        "one definition and one call:\n{source}"
    );
}

/// `√(x·y + x)` written to the view that `place` picks of (x, y).
fn in_place(exec: &Executor, place: impl Fn(&View, &View) -> View) -> (Vec<f64>, Vec<f64>) {
    let dims = [5, 7];
    let x = random(
        exec,
        DType::F32,
        &dims,
        Arrangement::Contiguous,
        &mut Random(1),
    );
    let y = random(
        exec,
        DType::F32,
        &dims,
        Arrangement::Broadcast,
        &mut Random(2),
    );
    let mut e = Expression::new();
    let (a, b) = (e.input(x.view.clone()), e.input(y.view.clone()));
    let product = binary(&mut e, Binary::Mul, a, b);
    let sum = binary(&mut e, Binary::Add, product, a);
    let out = place(&x.view, &y.view);
    let _done = exec
        .fused(&e, &shape(&dims), &[(sum, out.clone())])
        .unwrap();
    let bytes = exec.download(&out).unwrap().wait().unwrap();
    let actual = ziggurat_kernels::core::decode(DType::F32, &bytes);
    let expected = x.values.iter().zip(&y.values).map(|(&x, &y)| {
        let (x, y) = (x as f32, y as f32);
        f64::from(x * y + x)
    });
    (actual, expected.collect())
}

#[test]
fn an_output_may_be_an_input() {
    let exec = common::executor();
    let (actual, expected) = in_place(&exec, |x, _| x.clone());
    assert_eq!(actual, expected);
}

#[test]
fn an_output_may_overlap_an_input_in_any_other_way() {
    let exec = common::executor();
    let (actual, expected) = in_place(&exec, |x, _| {
        x.with_layout(x.layout.flip(&[0, 1]).unwrap()).unwrap()
    });
    assert_eq!(actual, expected);
}

#[test]
fn in_place_takes_one_binding() {
    let exec = common::executor();
    let x = exec.upload(&[1.0f32; 8], &shape(&[8])).unwrap();
    let mut e = Expression::new();
    let id = e.input(x.clone());
    let y = e.op(FusedOp::Unary(Unary::Neg), &[id]).unwrap();
    let count = |out: View| {
        exec.fused_source(&e, &[(y, out)])
            .unwrap()
            .matches("var<storage")
            .count()
    };
    assert_eq!(count(x.clone()), 1);
    assert_eq!(count(exec.alloc(&shape(&[8]), DType::F32).unwrap()), 2);
}

#[test]
fn several_outputs_come_from_one_dispatch() {
    let exec = common::fresh_executor();
    let dims = [3, 11];
    let x = random(
        &exec,
        DType::F16,
        &dims,
        Arrangement::Transposed,
        &mut Random(4),
    );
    let mut e = Expression::new();
    let id = e.input(x.view.clone());
    let zero = e.scalar(DType::F16, 0.0);
    let square = e.op(FusedOp::Unary(Unary::Square), &[id]).unwrap();
    let positive = e.op(FusedOp::Compare(Compare::Gt), &[id, zero]).unwrap();
    let whole = e.op(FusedOp::Cast(DType::I8), &[square]).unwrap();
    let outs = [
        (square, DType::F16),
        (positive, DType::Bool),
        (whole, DType::I8),
        (id, DType::F16),
    ]
    .map(|(node, dtype)| (node, output(&exec, dtype, &dims, 4)));
    let views: Vec<(Id, View)> = outs
        .iter()
        .map(|(node, out)| (*node, out.view.clone()))
        .collect();
    let before = exec.device().queue_stats().dispatches;
    let _done = exec.fused(&e, &shape(&dims), &views).unwrap();
    assert_eq!(exec.device().queue_stats().dispatches, before + 1);
    let [squares, positives, wholes, copies] = outs.each_ref().map(|(_, out)| out.read(&exec));
    for (i, &x) in x.values.iter().enumerate() {
        let square = ziggurat_kernels::reference::round_to(DType::F16, x * x);
        assert_eq!(squares[i], square, "{i}");
        assert_eq!(positives[i], f64::from(u8::from(x > 0.0)), "{i}");
        assert_eq!(wholes[i], square.trunc(), "{i}");
        assert_eq!(copies[i], x, "{i}");
    }
}

#[test]
fn outputs_may_share_a_buffer_and_lie_anywhere() {
    let exec = common::executor();
    let x = random(
        &exec,
        DType::U8,
        &[4, 5],
        Arrangement::Contiguous,
        &mut Random(6),
    );
    let both = exec.alloc(&shape(&[2, 5, 4]), DType::U8).unwrap();
    let half = |i| {
        let layout = both.layout.select(0, i).unwrap().transpose(0, 1).unwrap();
        both.with_layout(layout).unwrap()
    };
    let mut e = Expression::new();
    let id = e.input(x.view.clone());
    let inverted = e.op(FusedOp::Unary(Unary::BitwiseNot), &[id]).unwrap();
    let _done = exec
        .fused(&e, &shape(&[4, 5]), &[(id, half(0)), (inverted, half(1))])
        .unwrap();
    let views = [half(0), half(1)];
    let bytes = exec
        .download_many(&[&views[0], &views[1]])
        .unwrap()
        .wait()
        .unwrap();
    let expected: Vec<u8> = x.values.iter().map(|&x| x as u8).collect();
    assert_eq!(bytes[0], expected);
    assert_eq!(bytes[1], expected.iter().map(|x| !x).collect::<Vec<_>>());
}

#[test]
fn the_source_is_the_snippets_in_order_and_glue() {
    let exec = common::executor();
    let mut e = Expression::new();
    let [a, b, c] =
        [1.0f32, 2.0, 3.0].map(|x| e.input(exec.upload(&[x; 4], &shape(&[4])).unwrap()));
    let product = binary(&mut e, Binary::Mul, a, b);
    let sum = binary(&mut e, Binary::Add, product, c);
    let root = e.op(FusedOp::Unary(Unary::Sqrt), &[sum]).unwrap();
    let out = exec.alloc(&shape(&[4]), DType::F32).unwrap();
    let source = exec.fused_source(&e, &[(root, out)]).unwrap();
    let places: Vec<usize> = [
        "// kernel fused/mul+add+sqrt",
        "// ---- elementwise/binary/mul.wgsl",
        "// ---- elementwise/binary/add.wgsl",
        "// ---- elementwise/unary/sqrt.wgsl",
        "let v_0 = keep(op_mul_f32(x_0, x_1));",
        "let v_1 = keep(op_add_f32(v_0, x_2));",
        "let v_2 = op_sqrt_f32(v_1);",
    ]
    .iter()
    .map(|text| {
        source
            .find(text)
            .unwrap_or_else(|| panic!("no {text} in\n{source}"))
    })
    .collect();
    assert!(places.is_sorted(), "{places:?}\n{source}");
    assert_eq!(exec.fused_source(&e, &[]).unwrap(), "");
}
