//! Every row of the op tables on a device: all dtypes, arrangements, sizes around a workgroup, profiles.

use crate::common;
use crate::expect;
use crate::operands;
use crate::operands::{Arrangement, Expected, check, given, operand, output};
use crate::samples;
use ziggurat_kernels::reference::{binary, cast, compare, predicate, unary};
use ziggurat_kernels::{
    Binary, Compare, Completion, DType, Executor, KernelError, Predicate, Unary, View,
};

/// Extents whose axes do not merge when transposed or sliced.
const DIMS: [usize; 3] = [5, 3, 7];

fn binary_expected(op: Binary, dtype: DType, a: &[f64], b: &[f64]) -> Vec<Expected> {
    a.iter()
        .zip(b)
        .map(|(&x, &y)| expect::row(dtype, binary(op, dtype, x, y), op.spec().tolerance, y))
        .collect()
}

fn feed(values: &[f64]) -> impl FnMut() -> f64 + '_ {
    let mut next = values.iter().copied().cycle();
    move || next.next().unwrap()
}

#[test]
fn more_elements_than_a_row_of_workgroups_are_all_computed() {
    let exec = common::narrow_executor();
    let row = exec.device().caps().max_workgroups as usize * 8 * 4;
    for len in [row - 1, row, row + 1, row + 4097] {
        for dtype in [DType::U8, DType::F16] {
            let values: Vec<f64> = (0..len).map(|i| (i % 251) as f64).collect();
            let a = given(&exec, dtype, &[len], &values);
            let out = output(&exec, dtype, &[len], 0);
            let _done = exec
                .add(&a.view, &exec.scalar(dtype, 3.0).unwrap(), &out.view)
                .unwrap();
            let expected: Vec<Expected> = values.iter().map(|x| Expected::exact(x + 3.0)).collect();
            check(
                &format!("add {dtype} of {len}"),
                &out.read(&exec),
                &expected,
            );
            // The same as columns of a matrix: strided, and a scatter into an output that is not dense.
            let columns = given(&exec, dtype, &[2, len / 2], &values[..len / 2 * 2]);
            let columns = columns
                .view
                .with_layout(columns.view.layout.transpose(0, 1).unwrap())
                .unwrap();
            let out = output(&exec, dtype, &[2, len / 2], 0);
            let flipped = out
                .view
                .with_layout(out.view.layout.transpose(0, 1).unwrap())
                .unwrap();
            let _done = exec.neg(&columns, &flipped).unwrap();
            let negated: Vec<Expected> = values[..len / 2 * 2]
                .iter()
                .map(|&x| Expected::exact(unary(Unary::Neg, dtype, x)))
                .collect();
            check(
                &format!("neg {dtype} of {len}, transposed"),
                &out.read(&exec),
                &negated,
            );
        }
    }
}

#[test]
fn any_rank_is_walked() {
    let exec = common::executor();
    for rank in 0..=8 {
        let dims = [2, 3, 1, 2, 2, 3, 1, 2];
        let dims = &dims[..rank];
        for dtype in [DType::F32, DType::U8] {
            for arrangement in Arrangement::ALL {
                let (values, others) = samples::binary(Binary::Sub, dtype, 200);
                let a = operand(&exec, dtype, dims, arrangement, feed(&values));
                let b = operand(&exec, dtype, dims, Arrangement::Contiguous, feed(&others));
                let out = output(&exec, dtype, dims, 4);
                let _done = exec.sub(&a.view, &b.view, &out.view).unwrap();
                let expected = binary_expected(Binary::Sub, dtype, &a.values, &b.values);
                check(
                    &format!("sub {dtype} rank {rank} {arrangement:?}"),
                    &out.read(&exec),
                    &expected,
                );
            }
        }
    }
}

#[test]
fn an_output_may_be_an_input_and_overlap_it() {
    let exec = common::executor();
    for dtype in [DType::F32, DType::BF16, DType::U8] {
        let values: Vec<f64> = (0..41).map(f64::from).collect();
        let a = given(&exec, dtype, &[41], &values).view;
        let _done = exec.add(&a, &a, &a).unwrap();
        let reversed = a.with_layout(a.layout.flip(&[0]).unwrap()).unwrap();
        let _done = exec
            .sub(&reversed, &exec.scalar(dtype, 0.0).unwrap(), &a)
            .unwrap();
        let bytes = exec.download(&a).unwrap().wait().unwrap();
        let expected: Vec<Expected> = values
            .iter()
            .rev()
            .map(|x| Expected::exact(2.0 * x))
            .collect();
        check(
            &format!("{dtype}"),
            &ziggurat_kernels::core::decode(dtype, &bytes),
            &expected,
        );
    }
}

#[test]
fn where_takes_the_chosen_side_only() {
    let exec = common::executor();
    for dtype in DType::ALL {
        let (values, _) = samples::pairs(dtype, 300);
        let poison = if dtype.is_float() { f64::NAN } else { 1.0 };
        for arrangement in Arrangement::ALL {
            let cond = operand(
                &exec,
                DType::Bool,
                &DIMS,
                arrangement,
                feed(&[1.0, 0.0, 0.0, 1.0, 1.0]),
            );
            let a = operand(&exec, dtype, &DIMS, Arrangement::Transposed, feed(&values));
            let b = exec.scalar(dtype, poison).unwrap();
            let out = output(&exec, dtype, &DIMS, 4);
            let _done = exec.where_(&cond.view, &a.view, &b, &out.view).unwrap();
            let expected: Vec<Expected> = cond
                .values
                .iter()
                .zip(&a.values)
                .map(|(&c, &x)| Expected::exact(if c != 0.0 { x } else { poison }))
                .collect();
            check(
                &format!("where {dtype} {arrangement:?}"),
                &out.read(&exec),
                &expected,
            );
        }
    }
}

/// Values that lie side by side, aligned as kernels that read four at a time want it.
fn dense(exec: &Executor, dtype: DType, start: usize) -> View {
    let values: Vec<f64> = (0..37).map(|i| ((i + start) % 4) as f64).collect();
    let bytes = ziggurat_kernels::core::encode(dtype, &values);
    exec.upload_bytes(dtype, &bytes, &operands::shape(&[37]))
        .unwrap()
}

/// The first element of a view, 37 times.
fn first_of(view: &View) -> View {
    let layout = view.layout.narrow(0, 0, 1).unwrap();
    let layout = layout.expand(operands::shape(&[37])).unwrap();
    view.with_layout(layout).unwrap()
}

type Call<'a> = dyn Fn(&[&View], &View) -> Result<Completion, KernelError> + 'a;

/// Ops of all operands dense and of all operands one element: the same values at the first place.
fn dense_and_repeated(
    exec: &Executor,
    what: &str,
    (operands, to): (&[&View], DType),
    call: &Call<'_>,
) {
    let run = |operands: &[&View]| {
        let out = exec.alloc(&operands::shape(&[37]), to).unwrap();
        let _done = call(operands, &out).unwrap();
        let bytes = exec.download(&out).unwrap().wait().unwrap();
        ziggurat_kernels::core::decode(to, &bytes)
    };
    let ones: Vec<View> = operands.iter().map(|view| first_of(view)).collect();
    let ones: Vec<&View> = ones.iter().collect();
    let (many, repeated) = (run(operands), run(&ones));
    let same = |a: f64, b: f64| a == b || (a.is_nan() && b.is_nan());
    let wrong = repeated.iter().position(|&value| !same(value, many[0]));
    assert_eq!(wrong, None, "{what}: {repeated:?}, not {}", many[0]);
}

/// Every op of the tables, with every dtype under the sanitizer (drivers' compilers take their time for so many kernels):
/// the sweep has the values, and this the kernels for aligned operands and for those of one element.
#[test]
fn operands_of_one_element_give_what_dense_ones_give() {
    let exec = common::executor();
    let all = std::env::var_os("ZIGGURAT_SANITIZE").is_some();
    for dtype in DType::ALL {
        if !all && ![DType::F32, DType::U8].contains(&dtype) {
            continue;
        }
        let (a, b) = (dense(&exec, dtype, 1), dense(&exec, dtype, 2));
        for op in Unary::ALL {
            if op.spec().dtypes.contains(&dtype) {
                let what = format!("{op:?} of {dtype}");
                dense_and_repeated(&exec, &what, (&[&a], dtype), &|of, out| {
                    exec.unary(*op, of[0], out)
                });
            }
        }
        for op in Binary::ALL {
            if op.spec().dtypes.contains(&dtype) {
                let what = format!("{op:?} of {dtype}");
                dense_and_repeated(&exec, &what, (&[&a, &b], dtype), &|of, out| {
                    exec.binary(*op, of[0], of[1], out)
                });
            }
        }
        for op in Compare::ALL {
            let what = format!("{op:?} of {dtype}");
            dense_and_repeated(&exec, &what, (&[&a, &b], DType::Bool), &|of, out| {
                exec.compare(*op, of[0], of[1], out)
            });
        }
        for op in Predicate::ALL {
            if op.spec().dtypes.contains(&dtype) {
                let what = format!("{op:?} of {dtype}");
                dense_and_repeated(&exec, &what, (&[&a], DType::Bool), &|of, out| {
                    exec.predicate(*op, of[0], out)
                });
            }
        }
        for to in DType::ALL {
            let what = format!("{dtype} as {to}");
            dense_and_repeated(&exec, &what, (&[&a], to), &|of, out| exec.cast(of[0], out));
        }
        let condition = dense(&exec, DType::Bool, 0);
        let operands = (&[&condition, &a, &b][..], dtype);
        dense_and_repeated(&exec, "where", operands, &|of, out| {
            exec.where_(of[0], of[1], of[2], out)
        });
    }
}

/// One element as many, and what it holds.
fn repeated(exec: &Executor, dtype: DType, value: f64, len: usize) -> (View, f64) {
    let one = given(exec, dtype, &[1], &[value]);
    let layout = one.view.layout.expand(operands::shape(&[len])).unwrap();
    (one.view.with_layout(layout).unwrap(), one.values[0])
}

#[test]
fn operands_of_one_element_repeat_it() {
    let exec = common::executor();
    let verify = |what: &str, out: operands::Output, value: f64| {
        check(what, &out.read(&exec), &[Expected::exact(value); 37]);
    };
    for dtype in DType::ALL {
        let (a, x) = repeated(&exec, dtype, 1.0, 37);
        let (b, y) = repeated(&exec, dtype, 0.0, 37);
        for to in DType::ALL.into_iter().filter(|&to| to != dtype) {
            let out = output(&exec, to, &[37], 4);
            let _done = exec.cast(&a, &out.view).unwrap();
            verify(&format!("{dtype} as {to}"), out, cast(dtype, to, x));
        }
        for op in Compare::ALL {
            let out = output(&exec, DType::Bool, &[37], 4);
            let _done = exec.compare(*op, &a, &b, &out.view).unwrap();
            let wanted = f64::from(u8::from(compare(*op, x, y)));
            verify(&format!("{op:?} of one {dtype}"), out, wanted);
        }
        for op in Predicate::ALL {
            if !op.spec().dtypes.contains(&dtype) {
                continue;
            }
            let out = output(&exec, DType::Bool, &[37], 4);
            let _done = exec.predicate(*op, &a, &out.view).unwrap();
            let wanted = f64::from(u8::from(predicate(*op, x)));
            verify(&format!("{op:?} of one {dtype}"), out, wanted);
        }
        let (condition, _) = repeated(&exec, DType::Bool, 1.0, 37);
        let out = output(&exec, dtype, &[37], 4);
        let _done = exec.where_(&condition, &a, &b, &out.view).unwrap();
        verify(&format!("one {dtype} or another"), out, x);
    }
}
