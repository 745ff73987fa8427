//! Sums of products by equation and by axes, and grids over vectors, against their definitions.

use crate::common;
use crate::operands::{
    Arrangement, Expected, Operand, Random, check, given, operand, output, output_in, random,
    shape, worst,
};
use ziggurat_kernels::reference::einsum::{Factor, einsum};
use ziggurat_kernels::reference::wrap;
use ziggurat_kernels::{Completion, DType, Executor, KernelError, View};

const NUMBERS: [DType; 7] = [
    DType::F32,
    DType::F16,
    DType::BF16,
    DType::I32,
    DType::U32,
    DType::I8,
    DType::U8,
];

/// Equations whose letters are all named, with shapes.
const CASES: &[(&str, &[&[usize]])] = &[
    ("ij,jk->ik", &[&[3, 4], &[4, 5]]),
    ("ij,jk->ki", &[&[3, 4], &[4, 5]]),
    ("ij,jk->ik", &[&[17, 33], &[33, 20]]),
    ("bij,bjk->bik", &[&[2, 3, 4], &[2, 4, 5]]),
    ("bij,jk->ibk", &[&[2, 3, 4], &[4, 5]]),
    ("bhqd,bhkd->bhqk", &[&[2, 3, 4, 5], &[2, 3, 6, 5]]),
    ("bqhd,bkhd->bhqk", &[&[2, 4, 3, 5], &[2, 6, 3, 5]]),
    ("i,i->", &[&[7], &[7]]),
    ("i,j->ij", &[&[3], &[4]]),
    ("i,j->ji", &[&[3], &[4]]),
    ("ij,ij->ij", &[&[3, 4], &[3, 4]]),
    ("ij,ji->", &[&[3, 4], &[4, 3]]),
    ("ii->i", &[&[4, 4]]),
    ("ii->", &[&[4, 4]]),
    ("iij->j", &[&[3, 3, 2]]),
    ("iji->j", &[&[3, 2, 3]]),
    ("iii->i", &[&[3, 3, 3]]),
    ("ijk->kji", &[&[2, 3, 4]]),
    ("ijk->j", &[&[2, 3, 4]]),
    ("ij->", &[&[3, 4]]),
    ("i->i", &[&[9]]),
    ("ii,ij->j", &[&[3, 3], &[3, 4]]),
    ("ij,k->i", &[&[3, 4], &[5]]),
    ("ab,bc,cd->ad", &[&[2, 3], &[3, 4], &[4, 5]]),
    ("ab,bc,cd,de->ea", &[&[2, 3], &[3, 4], &[4, 5], &[5, 2]]),
    ("a,b,c->abc", &[&[2], &[3], &[4]]),
    ("ab,ab,ab->b", &[&[2, 3], &[2, 3], &[2, 3]]),
    ("bn,anm,bm->ba", &[&[2, 5], &[4, 5, 3], &[2, 3]]),
    ("ij,jk->ik", &[&[1, 4], &[4, 1]]),
    ("ij,ij->i", &[&[3, 1], &[3, 4]]),
    ("ij,ij->i", &[&[1, 4], &[3, 1]]),
    ("ij,jk->ik", &[&[3, 1], &[4, 5]]),
    ("abcdef,cdg->abefg", &[&[1, 2, 3, 2, 1, 2], &[3, 2, 4]]),
    ("abcdefgh->hgfedcba", &[&[1, 2, 1, 2, 1, 2, 1, 3]]),
    ("->", &[&[]]),
    (",i->i", &[&[], &[3]]),
    ("ij,jk->ik", &[&[2, 0], &[0, 3]]),
    ("ij,jk->ik", &[&[0, 2], &[2, 3]]),
    ("ij->", &[&[2, 0]]),
    ("i,j->ij", &[&[0], &[3]]),
    ("ii->i", &[&[0, 0]]),
];

/// Small numbers: the sum of no case leaves 2⁵³.
fn small(
    exec: &Executor,
    dtype: DType,
    dims: &[usize],
    how: Arrangement,
    rng: &mut Random,
) -> Operand {
    operand(exec, dtype, dims, how, || match dtype {
        _ if dtype.is_float() => rng.value(dtype),
        DType::U8 | DType::U32 => rng.below(200) as f64,
        _ => rng.below(200) as f64 - 100.0,
    })
}

/// The definition, as `dtype` holds it.
fn defined(inputs: &[&str], result: &str, operands: &[Operand], dtype: DType) -> Vec<Expected> {
    let factors: Vec<Factor<'_>> = (inputs.iter().zip(operands))
        .map(|(letters, operand)| Factor {
            letters,
            dims: operand.view.dims(),
            values: &operand.values,
        })
        .collect();
    let terms = einsum(&factors, result);
    let summed: usize = (operands
        .iter()
        .map(|operand| operand.view.len())
        .product::<usize>())
    .checked_div(terms.len())
    .unwrap_or(0);
    let element = |term: &ziggurat_kernels::reference::reduce::Term| {
        if dtype.is_float() {
            return Expected::sum(term.value, term.magnitude, summed + operands.len(), dtype);
        }
        Expected::exact(wrap(dtype, term.value as i64))
    };
    terms.iter().map(element).collect()
}

fn views(operands: &[Operand]) -> Vec<&View> {
    operands.iter().map(|operand| &operand.view).collect()
}

fn result_dims(inputs: &[&str], result: &str, shapes: &[&[usize]]) -> Vec<usize> {
    let extent = |letter: char| {
        let all = (inputs.iter().zip(shapes)).flat_map(|(own, dims)| own.chars().zip(*dims));
        let mut named = all.filter(|(own, _)| *own == letter).map(|(_, &dim)| dim);
        let first = named.next().unwrap();
        named.fold(first, |known, dim| if known == 1 { dim } else { known })
    };
    result.chars().map(extent).collect()
}

fn sweep(exec: &Executor, dtypes: &[DType]) {
    let mut rng = Random(7);
    for (equation, shapes) in CASES {
        let (left, result) = equation.split_once("->").unwrap();
        let inputs: Vec<&str> = left.split(',').collect();
        let dims = result_dims(&inputs, result, shapes);
        for &dtype in dtypes {
            let operands: Vec<Operand> = (shapes.iter())
                .map(|dims| {
                    let how = rng.pick(&Arrangement::ALL);
                    small(exec, dtype, dims, how, &mut rng)
                })
                .collect();
            for (to, how) in [
                (dtype, Arrangement::Contiguous),
                (dtype, Arrangement::Transposed),
                (dtype.compute(), Arrangement::Sliced),
            ] {
                let out = output_in(exec, to, &dims, 3, how);
                let _done = exec.einsum(equation, &views(&operands), &out.view).unwrap();
                let what = format!("{equation} of {dtype} {shapes:?} to {to} {how:?}");
                check(
                    &what,
                    &out.read(exec),
                    &defined(&inputs, result, &operands, to),
                );
            }
        }
    }
}

#[test]
fn every_equation_and_dtype_is_its_definition() {
    let exec = common::executor();
    sweep(&exec, &NUMBERS);
}

#[test]
fn equations_hold_within_the_default_limits() {
    let exec = common::plain_executor();
    sweep(&exec, &[DType::F32, DType::I8]);
}

#[test]
fn the_comparison_sees_another_equation() {
    let exec = common::executor();
    let mut rng = Random(3);
    let operands = [
        random(
            &exec,
            DType::F32,
            &[4, 4],
            Arrangement::Contiguous,
            &mut rng,
        ),
        random(
            &exec,
            DType::F32,
            &[4, 4],
            Arrangement::Contiguous,
            &mut rng,
        ),
    ];
    let out = output(&exec, DType::F32, &[4, 4], 4);
    let _done = exec
        .einsum("ij,kj->ik", &views(&operands), &out.view)
        .unwrap();
    let got = out.read(&exec);
    let off = |inputs: &[&str], result| {
        worst(&got, &defined(inputs, result, &operands, DType::F32))
            .unwrap()
            .0
    };
    assert!(off(&["ij", "kj"], "ik") <= 1.0);
    for (inputs, result) in [
        (["ij", "jk"], "ik"),
        (["ij", "kj"], "ki"),
        (["ji", "kj"], "ik"),
    ] {
        assert!(off(&inputs, result) > 1.0, "{inputs:?} {result}");
    }
}

#[test]
fn ellipses_broadcast_and_an_implicit_result_is_in_alphabetical_order() {
    let exec = common::executor();
    let mut rng = Random(5);
    let mut of =
        |dims: &[usize]| random(&exec, DType::F32, dims, Arrangement::Transposed, &mut rng);
    let pair = [of(&[5, 2, 3, 4]), of(&[2, 4, 6])];
    let single = [of(&[5, 2, 3, 4])];
    let square = [of(&[3, 3])];
    let ones = [of(&[5, 1, 2]), of(&[4, 1])];
    type Case<'a> = (&'a str, &'a [Operand], &'a [&'a str], &'a str, &'a [usize]);
    let cases: &[Case<'_>] = &[
        (
            "...ij,...jk->...ik",
            &pair,
            &["xyij", "yjk"],
            "xyik",
            &[5, 2, 3, 6],
        ),
        (
            "...ij, ...jk",
            &pair,
            &["xyij", "yjk"],
            "xyik",
            &[5, 2, 3, 6],
        ),
        (
            "...ij,...jk->ki...",
            &pair,
            &["xyij", "yjk"],
            "kixy",
            &[6, 3, 5, 2],
        ),
        ("...ij,...jk->ik", &pair, &["xyij", "yjk"], "ik", &[3, 6]),
        ("i...->...i", &single, &["ixyz"], "xyzi", &[2, 3, 4, 5]),
        ("b...a", &single, &["bxya"], "xyab", &[2, 3, 4, 5]),
        ("...", &single, &["wxyz"], "wxyz", &[5, 2, 3, 4]),
        ("...->", &single, &["wxyz"], "", &[]),
        ("ba", &square, &["ba"], "ab", &[3, 3]),
        ("ii", &square, &["ii"], "", &[]),
        ("...,...", &ones, &["xyz", "yz"], "xyz", &[5, 4, 2]),
        (" i j k , j k -> i k ", &ones, &["ijk", "jk"], "ik", &[5, 2]),
    ];
    for (equation, operands, inputs, result, dims) in cases {
        let out = output(&exec, DType::F32, dims, 4);
        let _done = exec.einsum(equation, &views(operands), &out.view).unwrap();
        let expected = defined(inputs, result, operands, DType::F32);
        check(equation, &out.read(&exec), &expected);
    }
}

#[test]
fn a_plain_product_is_one_dispatch() {
    let exec = common::fresh_executor();
    let mut rng = Random(9);
    let mut of =
        |dims: &[usize]| random(&exec, DType::F16, dims, Arrangement::Contiguous, &mut rng).view;
    let (a, b) = (of(&[2, 3, 20, 8]), of(&[2, 3, 24, 8]));
    let out = exec.alloc(&shape(&[2, 3, 20, 24]), DType::F16).unwrap();
    let count = |equation: &str, operands: &[&View], out: &View| {
        let before = exec.device().queue_stats().dispatches;
        let _done = exec.einsum(equation, operands, out).unwrap();
        exec.device().queue_stats().dispatches - before
    };
    assert_eq!(count("bhqd,bhkd->bhqk", &[&a, &b], &out), 1);
    // Rows and columns exchanged are another view of the output, which is copied.
    let turned = exec.alloc(&shape(&[2, 3, 24, 20]), DType::F16).unwrap();
    assert_eq!(count("bhqd,bhkd->bhkq", &[&a, &b], &turned), 2);
    let wide = exec.alloc(&shape(&[2, 3]), DType::F32).unwrap();
    assert_eq!(count("bhqd->bh", &[&a], &wide), 1);
}

#[test]
fn f16_stays_wide_between_operands_and_nothing_drops_nan() {
    let exec = common::executor();
    // 300 · 300 overflows f16 on the way to 300 · 300 / 256.
    let one = |value: f64| given(&exec, DType::F16, &[1, 1], &[value]);
    let operands = [one(300.0), one(300.0), one(1.0 / 256.0)];
    let out = output(&exec, DType::F16, &[1, 1], 4);
    let _done = exec
        .einsum("ij,jk,kl->il", &views(&operands), &out.view)
        .unwrap();
    assert_eq!(out.read(&exec), [351.5]);
    let vector = |values: &[f64]| given(&exec, DType::F32, &[2], values);
    let (x, inf) = (vector(&[0.0, 1.0]), vector(&[f64::INFINITY, 1.0]));
    let out = output(&exec, DType::F32, &[], 4);
    let _done = exec
        .einsum("i,i->", &[&x.view, &inf.view], &out.view)
        .unwrap();
    assert!(out.read(&exec)[0].is_nan());
    let out = output(&exec, DType::F32, &[2], 4);
    let _done = exec
        .einsum("i,i->i", &[&x.view, &inf.view], &out.view)
        .unwrap();
    let got = out.read(&exec);
    assert!(got[0].is_nan() && got[1] == 1.0);
}

#[test]
fn an_output_may_be_an_operand() {
    let exec = common::executor();
    let mut rng = Random(13);
    for equation in ["ij,jk->ik", "ij,jk->ki", "ij,ij->ij", "ij,ij->ji"] {
        let (left, result) = equation.split_once("->").unwrap();
        let inputs: Vec<&str> = left.split(',').collect();
        let mut of = || {
            random(
                &exec,
                DType::F32,
                &[5, 5],
                Arrangement::Contiguous,
                &mut rng,
            )
        };
        let operands = [of(), of()];
        let expected = defined(&inputs, result, &operands, DType::F32);
        let target = operands[0].view.clone();
        let _done = exec.einsum(equation, &views(&operands), &target).unwrap();
        let bytes = exec.download(&target).unwrap().wait().unwrap();
        check(
            equation,
            &ziggurat_kernels::core::decode(DType::F32, &bytes),
            &expected,
        );
    }
    // One buffer as a vector and as the first grid.
    let x = given(&exec, DType::I32, &[3], &[1.0, 2.0, 3.0]).view;
    let y = given(&exec, DType::I32, &[1], &[7.0]).view;
    let grid = exec.alloc(&shape(&[1, 3]), DType::I32).unwrap();
    let row = x.with_layout(x.layout.unsqueeze(0).unwrap()).unwrap();
    let _done = exec.meshgrid(&[&y, &x], true, &[&row, &grid]).unwrap();
    let ints = |view: &View| {
        ziggurat_kernels::core::decode(DType::I32, &exec.download(view).unwrap().wait().unwrap())
    };
    assert_eq!(
        (ints(&row), ints(&grid)),
        (vec![7.0; 3], vec![1.0, 2.0, 3.0])
    );
}

#[test]
fn tensordot_sums_over_pairs_of_axes() {
    let exec = common::executor();
    let mut rng = Random(11);
    type Case<'a> = (
        &'a [usize],
        &'a [usize],
        &'a [&'a str; 2],
        &'a str,
        &'a [usize],
    );
    let cases: &[Case<'_>] = &[
        (&[1, 0], &[0, 1], &["ijk", "jil"], "kl", &[5, 2]),
        (&[1], &[0], &["ijk", "jmn"], "ikmn", &[3, 5, 3, 2]),
        (&[], &[], &["ijk", "lmn"], "ijklmn", &[3, 4, 5, 4, 3, 2]),
    ];
    for dtype in NUMBERS {
        for (axes, others, inputs, result, dims) in cases {
            let mut of = |dims: &[usize]| {
                let how = rng.pick(&Arrangement::ALL);
                small(&exec, dtype, dims, how, &mut rng)
            };
            let operands = [of(&[3, 4, 5]), of(&[4, 3, 2])];
            for (to, how) in [
                (dtype, Arrangement::Contiguous),
                (dtype.compute(), Arrangement::Flipped),
            ] {
                let out = output_in(&exec, to, dims, 3, how);
                let (a, b) = (&operands[0].view, &operands[1].view);
                let _done = exec.tensordot((a, axes), (b, others), &out.view).unwrap();
                let expected = defined(*inputs, result, &operands, to);
                check(
                    &format!("{axes:?} {others:?} of {dtype} to {to}"),
                    &out.read(&exec),
                    &expected,
                );
            }
        }
    }
    let empty = [0; 2].map(|_| exec.alloc(&shape(&[2, 0]), DType::F32).unwrap());
    let out = output(&exec, DType::F32, &[2, 2], 4);
    let _done = exec
        .tensordot((&empty[0], &[1]), (&empty[1], &[1]), &out.view)
        .unwrap();
    assert_eq!(out.read(&exec), [0.0; 4]);
}

#[test]
fn grids_repeat_each_vector_along_all_other_axes() {
    let exec = common::executor();
    let mut rng = Random(17);
    for dtype in DType::ALL {
        for lens in [&[2usize, 3][..], &[3, 1, 2, 4], &[5], &[0, 3], &[]] {
            let vectors: Vec<Operand> = (lens.iter())
                .map(|&len| {
                    let how = rng.pick(&[
                        Arrangement::Contiguous,
                        Arrangement::Sliced,
                        Arrangement::Flipped,
                    ]);
                    random(&exec, dtype, &[len], how, &mut rng)
                })
                .collect();
            for ij in [true, false] {
                let mut dims = lens.to_vec();
                let swapped = !ij && dims.len() > 1;
                if swapped {
                    dims.swap(0, 1);
                }
                let outs: Vec<_> = (lens.iter())
                    .map(|_| output_in(&exec, dtype, &dims, 3, Arrangement::Transposed))
                    .collect();
                let written: Vec<&View> = outs.iter().map(|out| &out.view).collect();
                let _done = exec.meshgrid(&views(&vectors), ij, &written).unwrap();
                let seen = View::meshgrid(&views(&vectors), ij).unwrap();
                assert_eq!(seen.len(), lens.len());
                for (i, (vector, out)) in vectors.iter().zip(&outs).enumerate() {
                    let axis = if swapped && i < 2 { 1 - i } else { i };
                    let after: usize = dims[axis + 1..].iter().product();
                    let at = |n: usize| n / after % dims[axis];
                    let expected: Vec<f64> = (0..dims.iter().product())
                        .map(|n| vector.values[at(n)])
                        .collect();
                    assert_eq!(out.read(&exec), expected, "{dtype} {lens:?} {ij} grid {i}");
                    let bytes = exec.download(&seen[i]).unwrap().wait().unwrap();
                    assert_eq!(ziggurat_kernels::core::decode(dtype, &bytes), expected);
                }
            }
        }
    }
    // A single element is a vector of one.
    let one = given(&exec, DType::F32, &[], &[4.0]).view;
    assert_eq!(View::meshgrid(&[&one], true).unwrap()[0].dims(), [1]);
}

#[test]
fn mistakes_name_the_operation_the_rule_and_what_was_given() {
    let exec = common::executor();
    let of = |dtype, dims: &[usize]| exec.alloc(&shape(dims), dtype).unwrap();
    let f = |dims: &[usize]| of(DType::F32, dims);
    let m = f(&[2, 3]);
    let text = |result: Result<Completion, KernelError>| match result {
        Ok(_done) => "no error".to_owned(),
        Err(error) => error.to_string(),
    };
    let run =
        |equation: &str, operands: &[&View], out: &View| text(exec.einsum(equation, operands, out));
    let cases = [
        (
            run("ij,jk->ik", &[&m], &m),
            "einsum: the number of operands must be that of the equation, but it is 1",
        ),
        (
            run("", &[], &m),
            "einsum: the number of operands must be that of the equation, but it is 0",
        ),
        (
            run("i1->i", &[&m], &m),
            "einsum: an operand must be letters with at most one `...`: \"i1->i\"",
        ),
        (
            run("i..j->i", &[&m], &m),
            "einsum: an operand must be letters with at most one `...`: \"i..j->i\"",
        ),
        (
            run("ij->ik", &[&m], &m),
            "einsum: every letter of the result must be in an operand: \"ij->ik\"",
        ),
        (
            run("ij->ii", &[&m], &m),
            "einsum: no letter may be in the result twice: \"ij->ii\"",
        ),
        (
            run("ijk->i", &[&m], &m),
            "einsum: an operand must have an axis for each of its letters and no other, but its shape is [2, 3]",
        ),
        (
            run("ijk...->i", &[&m], &m),
            "einsum: an operand must have an axis for each of its letters, but its shape is [2, 3]",
        ),
        (
            run("ii->i", &[&m], &m),
            "einsum: an operand must have equal extents where a letter is repeated, but its shape is [2, 3]",
        ),
        (
            run("ij,jk->ik", &[&m, &m], &m),
            "einsum: extents of one letter differ: left is [2, 3], right is [2, 3]",
        ),
        (
            run("...,...", &[&m, &f(&[4])], &m),
            "einsum: extents of an axis of the ellipsis differ: left is [2, 3], right is [4]",
        ),
        (
            run("ij->j", &[&m], &m),
            "einsum: the output must be [3], but it is [2, 3]",
        ),
        (
            run("ij,ij->ij", &[&m, &of(DType::F16, &[2, 3])], &m),
            "einsum: an operand is f16, but all operands must have one dtype",
        ),
        (
            run("ij->ij", &[&of(DType::Bool, &[2, 3])], &m),
            "einsum: a is bool, but it must be a number",
        ),
        (
            run("ij->ij", &[&m], &of(DType::F16, &[2, 3])),
            "einsum: out is f16, but it must have the dtype of the operands, or the one that sums are kept in",
        ),
        (
            text(exec.tensordot((&m, &[0]), (&m, &[1]), &m)),
            "tensordot: extents of the axes that are summed differ: left is [2, 3], right is [2, 3]",
        ),
        (
            text(exec.tensordot((&m, &[0, 0]), (&m, &[0, 1]), &m)),
            "tensordot: axis 0 is given more than once",
        ),
        (
            text(exec.tensordot((&m, &[2]), (&m, &[0]), &m)),
            "tensordot: axis 2 is out of range for rank 2",
        ),
        (
            text(exec.tensordot((&m, &[0]), (&m, &[0, 1]), &m)),
            "tensordot: the number of axes of the right operand must be that of the left one, but it is 2",
        ),
        (
            text(exec.meshgrid(&[&m], true, &[&m])),
            "meshgrid: an operand must be a vector, but its shape is [2, 3]",
        ),
        (
            text(exec.meshgrid(&[&f(&[3])], true, &[])),
            "meshgrid: the number of outputs must be that of the vectors, but it is 0",
        ),
        (
            text(exec.meshgrid(&[&f(&[3])], true, &[&f(&[4])])),
            "meshgrid: the output must be [3], but it is [4]",
        ),
        (
            text(exec.meshgrid(&[&f(&[3])], true, &[&of(DType::I32, &[3])])),
            "meshgrid: out is i32, but it must have the dtype of its vector",
        ),
        (
            text(exec.meshgrid(&[&f(&[1]); 9], true, &[])),
            "meshgrid: rank 9 is above the limit of 8",
        ),
    ];
    for (got, expected) in cases {
        assert_eq!(got, expected);
    }
    let repeated = f(&[1]);
    let repeated = repeated
        .with_layout(repeated.layout.expand(shape(&[3])).unwrap())
        .unwrap();
    let error = exec.einsum("ij->j", &[&m], &repeated).unwrap_err();
    assert!(
        matches!(error, KernelError::OverlappingOutput { op: "einsum", .. }),
        "{error}"
    );
}
