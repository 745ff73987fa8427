//! Calls as values: a plan says what runs, and touches nothing.

use std::collections::HashSet;

use crate::common;
use crate::layer::op;
use crate::operands::shape;
use ziggurat_kernels::{
    ArgReduce, AttentionOptions, Binary, BlockFormat, BlockShape, Call, CallKind, Channels,
    Conv2dOptions, ConvTransposeOptions, DType, Executor, Expression, FusedInput, FusedOp,
    FusedOutput, KernelError, Layout, LinearForm, Norm, Operands, Reduce, RopeOptions, RopeRows,
    Sink, SoftmaxKind, Source, View,
};

fn view(exec: &Executor, dims: &[usize], dtype: DType) -> View {
    exec.alloc(&shape(dims), dtype).unwrap()
}

/// A call with operands and an output that fit it.
struct Case {
    call: Call,
    first: View,
    others: Vec<View>,
    out: View,
    also: Option<View>,
}

impl Case {
    fn operands(&self) -> Operands<'_> {
        let mut others = self.others.iter();
        Operands {
            first: (&self.first).into(),
            others: [(); 5].map(|()| others.next()),
        }
    }

    fn sink(&self) -> Sink<'_> {
        Sink {
            also: self.also.as_ref(),
            ..Sink::new(&self.out)
        }
    }
}

/// One call of each family, in one step and in several.
fn cases(exec: &Executor) -> Vec<Case> {
    let f = |dims: &[usize]| view(exec, dims, DType::F32);
    let case = |call, first: &[usize], others: &[&[usize]], out: &[usize]| Case {
        call,
        first: f(first),
        others: others.iter().map(|dims| f(dims)).collect(),
        out: f(out),
        also: None,
    };
    let axes = |axes: &[usize]| axes.into();
    let softmax = |kind| Call::new(CallKind::Softmax { kind, axis: 1 });
    let search = Call::new(CallKind::Search {
        op: ArgReduce::Max,
        axes: axes(&[1]),
        select_last: false,
    });
    let rope = Call::new(CallKind::Rope {
        options: RopeOptions::default(),
        rows: RopeRows::From(0),
    });
    let norm = |op| {
        Call::new(CallKind::Norm {
            op,
            axes: 1,
            eps: 1e-5.into(),
            channels: Channels::default(),
        })
    };
    let var_mean = Call::new(CallKind::VarMean {
        correction: 1.0.into(),
        axes: axes(&[1]),
    });
    let attention = Call::new(CallKind::Attention {
        options: AttentionOptions::default(),
    });
    let causal = Call::new(CallKind::Attention {
        options: AttentionOptions {
            causal: true,
            shift: 899,
            ..AttentionOptions::default()
        },
    });
    let conv = Conv2dOptions::default().call();
    let transposed = ConvTransposeOptions::<2>::default().call();
    let mut all = vec![
        case(Call::reduce(Reduce::Sum, &[1]), &[5, 70], &[], &[5]),
        case(Call::reduce(Reduce::Mean, &[1]), &[2, 70_000], &[], &[2]),
        case(
            Call::reduce(Reduce::Norm.with(3.0), &[0]),
            &[40, 6],
            &[],
            &[6],
        ),
        case(var_mean, &[5, 70], &[], &[2, 5]),
        case(softmax(SoftmaxKind::Softmax), &[5, 70], &[], &[5, 70]),
        case(softmax(SoftmaxKind::LogSoftmax), &[5, 70], &[], &[5, 70]),
        case(norm(Norm::Layer), &[5, 70], &[&[70], &[70]], &[5, 70]),
        case(norm(Norm::Rms), &[5, 70], &[&[70]], &[5, 70]),
        case(rope, &[2, 3, 5, 8], &[&[7, 4], &[7, 4]], &[2, 3, 5, 8]),
        case(Call::matmul(), &[20, 24], &[&[24, 32]], &[20, 32]),
        case(Call::matmul(), &[1, 40_000], &[&[40_000, 2]], &[1, 2]),
        case(
            attention,
            &[1, 2, 3, 5],
            &[&[1, 1, 7, 5], &[1, 1, 7, 4]],
            &[1, 2, 3, 4],
        ),
        case(
            causal,
            &[1, 2, 1, 8],
            &[&[1, 1, 900, 8], &[1, 1, 900, 8]],
            &[1, 2, 1, 8],
        ),
        case(conv, &[2, 3, 7, 6], &[&[5, 3, 3, 2], &[5]], &[2, 5, 5, 5]),
        case(
            transposed,
            &[1, 4, 3, 3],
            &[&[4, 5, 2, 2], &[5]],
            &[1, 5, 4, 4],
        ),
    ];
    let blocks = BlockShape::new(BlockFormat::Q5_K, [9, 512]).unwrap();
    let words = || {
        let words = usize::try_from(blocks.device_bytes() / 4).unwrap();
        view(exec, &[words], DType::U32)
    };
    all.push(Case {
        others: vec![words()],
        ..case(
            Call::new(CallKind::QuantizedLinear {
                weight: blocks,
                form: LinearForm::default(),
            }),
            &[2, 3, 512],
            &[],
            &[2, 3, 9],
        )
    });
    all.push(Case {
        first: view(exec, &[4], DType::I32),
        others: vec![words()],
        ..case(
            Call::new(CallKind::QuantizedEmbedding { table: blocks }),
            &[1],
            &[],
            &[4, 512],
        )
    });
    let rows = Call::new(CallKind::Dequantize {
        blocks,
        rows: [2, 5],
    });
    all.push(Case {
        first: words(),
        ..case(rows, &[1], &[], &[5, 512])
    });
    all.push(Case {
        out: view(exec, &[2, 3, 5, 8], DType::I8),
        also: Some(view(exec, &[2, 3, 5, 1], DType::F32)),
        ..case(Call::new(CallKind::QuantizeRows), &[2, 3, 5, 8], &[], &[5])
    });
    let at = || view(exec, &[5], DType::I32);
    all.push(Case {
        out: at(),
        ..case(search, &[5, 70], &[], &[5])
    });
    all.push(Case {
        also: Some(at()),
        ..case(search, &[5, 70], &[], &[5])
    });
    all
}

#[test]
fn a_plan_is_what_runs_and_touches_nothing() {
    let exec = common::fresh_executor();
    // Kernels of operands may still be compiling: for how long is no plan's doing.
    let counts = || {
        let mut stats = exec.pipelines().stats();
        stats.compile_time_ns = 0;
        (exec.memory().usage(), stats)
    };
    for case in cases(&exec) {
        let before = counts();
        let plan = exec
            .plan(&case.call, &case.operands(), case.sink())
            .unwrap();
        let after = counts();
        assert_eq!(
            format!("{before:?}"),
            format!("{after:?}"),
            "{:?}",
            case.call
        );
        let run = |exec: &Executor| {
            exec.run(&case.call, &case.operands(), case.sink())
                .map(drop)
        };
        let captured = exec.capture(run).unwrap();
        assert_eq!(plan.dispatches(), Some(captured.len()), "{:?}", case.call);
        assert_eq!(plan.listing(), captured.listing(), "{:?}", case.call);
        assert_eq!(
            plan.scratch_bytes() > 0,
            captured.len() > 1,
            "{:?}",
            case.call
        );
    }
}

#[test]
fn a_plan_shows_what_is_read_and_written_through_expressions() {
    let exec = common::executor();
    let [a, b, out] = [0; 3].map(|_| view(&exec, &[5, 70], DType::F32));
    let mut e = Expression::new();
    let (x, y) = (e.input(a.clone()), e.input(b.clone()));
    let value = op(&mut e, FusedOp::Binary(Binary::Maximum), &[x, y]);
    let input = FusedInput {
        expression: &e,
        value,
        shape: *a.shape(),
    };
    let mut over = Expression::new();
    let (made, residual) = (over.computed(DType::F32), over.input(b.clone()));
    let value = op(&mut over, FusedOp::Binary(Binary::Add), &[made, residual]);
    let written = FusedOutput {
        expression: &over,
        value,
        shape: *out.shape(),
        also: &[],
    };
    let call = Call::new(CallKind::Softmax {
        kind: SoftmaxKind::Softmax,
        axis: 1,
    });
    let reader = exec.fused_reader(&input, &call, 1).unwrap();
    let sources = [
        Source::View(&a),
        Source::Expression(input),
        Source::Reader(&reader),
    ];
    let mut listings = HashSet::new();
    for source in sources {
        for sink in [Sink::new(&out), Sink::new(&out).through(&written)] {
            let operands = Operands::one(source);
            let plan = exec.plan(&call, &operands, sink).unwrap();
            let run = |exec: &Executor| exec.run(&call, &operands, sink).map(drop);
            let captured = exec.capture(run).unwrap();
            assert_eq!(plan.listing(), captured.listing());
            listings.insert(plan.listing().to_owned());
        }
    }
    // An expression and its reader are one.
    assert_eq!(listings.len(), 4);
}

#[test]
fn what_a_call_cannot_do_is_said() {
    let exec = common::executor();
    let [a, out] = [0; 2].map(|_| view(&exec, &[4, 4], DType::F32));
    let mut e = Expression::new();
    let x = e.input(a.clone());
    let value = op(&mut e, FusedOp::Binary(Binary::Add), &[x, x]);
    let input = FusedInput {
        expression: &e,
        value,
        shape: *a.shape(),
    };
    let product = exec.run(&Call::matmul(), &Operands::one(input), Sink::new(&out));
    assert!(matches!(
        product,
        Err(KernelError::Operand {
            operand: "the first operand",
            ..
        })
    ));
    let alone = exec.run(&Call::matmul(), &Operands::one(&a), Sink::new(&out));
    assert!(matches!(
        alone,
        Err(KernelError::Operand { operand: "b", .. })
    ));
    let mut over = Expression::new();
    let value = over.computed(DType::I32);
    let written = FusedOutput {
        expression: &over,
        value,
        shape: shape(&[4]),
        also: &[],
    };
    let at = view(&exec, &[4], DType::I32);
    let call = Call::new(CallKind::Search {
        op: ArgReduce::Max,
        axes: (&[1][..]).into(),
        select_last: false,
    });
    let sink = Sink::new(&at).through(&written);
    let searched = exec.run(&call, &Operands::one(&a), sink);
    assert!(matches!(
        searched,
        Err(KernelError::Operand { operand: "out", .. })
    ));
}

#[test]
fn placeholders_are_planned_with_and_never_run() {
    let exec = common::executor();
    let a = view(&exec, &[5, 70], DType::F32);
    let buffer = exec.memory().placeholder(4 * 5).unwrap();
    let out = View::new(buffer, Layout::contiguous(shape(&[5])), DType::F32).unwrap();
    let call = Call::reduce(Reduce::Sum, &[1]);
    let plan = exec.plan(&call, &Operands::one(&a), Sink::new(&out));
    assert_eq!(plan.unwrap().dispatches(), Some(1));
    let run = exec.run(&call, &Operands::one(&a), Sink::new(&out));
    assert!(matches!(run, Err(KernelError::Pipeline(_))), "{run:?}");
    let read = exec.download(&out).map(drop);
    assert!(matches!(read, Err(KernelError::Memory(_))), "{read:?}");
    let write = exec.memory().write(&out.buffer, 0, &[0; 4]);
    assert!(write.is_err());
    // Two placeholders are not one memory.
    let other = exec.memory().placeholder(4 * 5).unwrap();
    assert!(!other.same_memory(&out.buffer) && other.is_placeholder());
    exec.synchronize().wait().unwrap();
}

#[test]
fn calls_are_compared_by_value() {
    let exec = common::executor();
    let all = cases(&exec);
    let again = cases(&exec);
    let known: HashSet<Call> = all.iter().map(|case| case.call).collect();
    // Two searches and two products are the same call, over other operands.
    assert_eq!(known.len(), all.len() - 2);
    assert!(again.iter().all(|case| known.contains(&case.call)));
}
