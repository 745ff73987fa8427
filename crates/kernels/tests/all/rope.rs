//! The rotary embedding against the reference: pairings, positions, partial rotation, arrangements.

use crate::common;
use crate::expect;
use crate::operands::{
    Arrangement, Expected, Operand, Random, check, given, output, random, shape,
};
use ziggurat_kernels::{
    Binary, CannotFuse, DType, Executor, Expression, FusedOp, FusedOutput, KernelError,
    RopeOptions, RopePositions, Sink,
};

/// Runs and compares; `row` says which row of the tables a batch and position have.
fn run(
    exec: &Executor,
    a: &Operand,
    tables: (&Operand, &Operand),
    positions: RopePositions<'_>,
    options: RopeOptions,
    row: impl Fn(usize, usize) -> usize,
) {
    let dtype = a.view.dtype;
    let &[_, d1, d2, width] = a.view.dims() else {
        panic!("rank 4");
    };
    let (cos, sin) = tables;
    let half = *cos.view.dims().last().unwrap();
    let out = output(exec, dtype, a.view.dims(), 3);
    let _done = exec
        .rope(&a.view, &cos.view, &sin.view, positions, options, &out.view)
        .unwrap();
    let expected: Vec<Expected> = a
        .values
        .chunks(width)
        .enumerate()
        .flat_map(|(line, head)| {
            let (i0, i1, i2) = (line / d2 / d1, line / d2 % d1, line % d2);
            let at = half
                * row(
                    i0,
                    if options.positions_before_heads {
                        i1
                    } else {
                        i2
                    },
                );
            let (c, s) = (&cos.values[at..at + half], &sin.values[at..at + half]);
            expect::rotated(head, c, s, options.interleaved, dtype)
        })
        .collect();
    check(
        &format!("{dtype} {options:?} {:?}", a.view.layout),
        &out.read(exec),
        &expected,
    );
}

#[test]
fn every_pairing_position_and_arrangement_is_right() {
    let mut rng = Random(1);
    for exec in [
        common::executor(),
        common::plain_executor(),
        common::narrow_executor(),
    ] {
        for (dtype, arrangement) in [
            (DType::F32, Arrangement::Contiguous),
            (DType::F16, Arrangement::Transposed),
            (DType::BF16, Arrangement::Sliced),
            (DType::F32, Arrangement::Broadcast),
            (DType::F16, Arrangement::Flipped),
        ] {
            for positions_before_heads in [false, true] {
                let dims = [2, 3, 5, 9];
                let length = if positions_before_heads { 3 } else { 5 };
                let a = random(&exec, dtype, &dims, arrangement, &mut rng);
                for interleaved in [false, true] {
                    let options = RopeOptions {
                        interleaved,
                        positions_before_heads,
                    };
                    let mut table = |rows: usize, half: usize| {
                        let dims = [rows, half];
                        let kind = Arrangement::Contiguous;
                        random(&exec, DType::F32, &dims, kind, &mut rng)
                    };
                    let shared = (table(11, 4), table(11, 4));
                    let (cos, sin) = (&shared.0, &shared.1);
                    run(
                        &exec,
                        &a,
                        (cos, sin),
                        RopePositions::From(6),
                        options,
                        |_, i| 6 + i,
                    );
                    let own = (table(2 * length, 3), table(2 * length, 3));
                    let row = |batch, i| batch * length + i;
                    run(
                        &exec,
                        &a,
                        (&own.0, &own.1),
                        RopePositions::PerBatch,
                        options,
                        row,
                    );
                    // Out of the table on both sides.
                    let ids: Vec<f64> = (0..2 * length).map(|i| 3.0 * i as f64 - 4.0).collect();
                    let given_ids = given(&exec, DType::I32, &[2, length], &ids);
                    let row =
                        |batch: usize, i: usize| ids[batch * length + i].clamp(0.0, 10.0) as usize;
                    let positions = RopePositions::Given(&given_ids.view);
                    run(&exec, &a, (cos, sin), positions, options, row);
                }
            }
        }
    }
}

#[test]
fn nothing_and_large_grids_are_right() {
    let exec = common::narrow_executor();
    let mut rng = Random(2);
    let tables = (
        random(
            &exec,
            DType::F32,
            &[7, 1],
            Arrangement::Contiguous,
            &mut rng,
        ),
        random(
            &exec,
            DType::F32,
            &[7, 1],
            Arrangement::Contiguous,
            &mut rng,
        ),
    );
    // More elements than one row of workgroups of 8 has invocations.
    for dims in [[40_000, 1, 7, 2], [0, 2, 3, 4], [1, 0, 3, 4]] {
        let a = random(&exec, DType::F32, &dims, Arrangement::Contiguous, &mut rng);
        let options = RopeOptions::default();
        run(
            &exec,
            &a,
            (&tables.0, &tables.1),
            RopePositions::From(0),
            options,
            |_, i| i,
        );
    }
}

#[test]
fn wrong_calls_are_typed_errors() {
    let exec = common::executor();
    let view = |dtype, dims: &[usize]| exec.alloc(&shape(dims), dtype).unwrap();
    let (a, table) = (view(DType::F32, &[1, 2, 3, 4]), view(DType::F32, &[3, 2]));
    let options = RopeOptions::default();
    let from = RopePositions::From(0);
    let call =
        |a, cos, sin, positions, out| exec.rope(a, cos, sin, positions, options, out).unwrap_err();
    let flat = view(DType::F32, &[2, 3, 4]);
    let error = call(&flat, &table, &table, from, &flat);
    assert_eq!(
        error.to_string(),
        "rope: a must have rank 4, but its shape is [2, 3, 4]"
    );
    let wide = view(DType::F32, &[3, 3]);
    assert!(matches!(
        call(&a, &wide, &wide, from, &a),
        KernelError::Operand { operand: "cos", .. }
    ));
    assert!(matches!(
        call(&a, &table, &wide, from, &a),
        KernelError::Operand { operand: "sin", .. }
    ));
    let half = view(DType::F16, &[3, 2]);
    assert!(matches!(
        call(&a, &half, &half, from, &a),
        KernelError::Dtype { operand: "cos", .. }
    ));
    let ids = view(DType::I32, &[1, 2]);
    let given = RopePositions::Given(&ids);
    assert!(matches!(
        call(&a, &table, &table, given, &a),
        KernelError::Operand {
            operand: "positions",
            ..
        }
    ));
    let short = view(DType::F32, &[2, 2]);
    assert!(matches!(
        call(&a, &short, &short, RopePositions::PerBatch, &a),
        KernelError::Operand { .. }
    ));
    assert!(matches!(
        call(&a, &table, &table, from, &flat),
        KernelError::Output { .. }
    ));
}

#[test]
fn what_is_written_gets_the_bindings_that_tables_and_positions_leave() {
    let exec = common::plain_executor();
    let view = |dtype, dims: &[usize]| exec.alloc(&shape(dims), dtype).unwrap();
    let (a, table) = (view(DType::F32, &[1, 2, 3, 4]), view(DType::F32, &[3, 2]));
    let [out, kept] = [0; 2].map(|_| view(DType::F32, a.dims()));
    let ids = view(DType::I32, &[1, 3]);
    let limit = exec.fused_limits().bindings;
    let write = |positions, inputs: usize, keeps: bool| {
        let mut e = Expression::new();
        let made = e.computed(DType::F32);
        let value = (0..inputs).fold(made, |sum, _| {
            let next = e.input(view(DType::F32, a.dims()));
            e.op(FusedOp::Binary(Binary::Add), &[sum, next]).unwrap()
        });
        let also = [(made, kept.clone())];
        let written = FusedOutput {
            expression: &e,
            value,
            shape: *a.shape(),
            also: if keeps { &also } else { &[] },
        };
        let sink = Sink::new(&out).through(&written);
        exec.rope(&a, &table, &table, positions, RopeOptions::default(), sink)
            .map(drop)
    };
    // The input, both tables and the output; and the positions.
    for (positions, own) in [(RopePositions::From(0), 4), (RopePositions::Given(&ids), 5)] {
        for keeps in [false, true] {
            let room = limit - own - usize::from(keeps);
            write(positions, room, keeps).unwrap();
            match write(positions, room + 1, keeps).unwrap_err() {
                KernelError::CannotFuse(CannotFuse::Bindings {
                    needed,
                    limit: most,
                }) => {
                    assert_eq!((needed, most), (limit + 1, limit));
                }
                error => panic!("{error}"),
            }
        }
    }
}
