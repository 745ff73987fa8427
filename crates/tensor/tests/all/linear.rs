//! Matrix products by all their names, einsum against a plain evaluation of its definition.

use std::time::{Duration, Instant};

use crate::common;
use crate::einsum_reference::{Factor, einsum};
use ziggurat_tensor::{DType, Device, Error, GemmOptions, Tensor, f16};

/// Small integers, exact in every sum that the tests make.
fn numbers(device: &Device, dims: &[usize], seed: i32) -> Tensor {
    let len: usize = dims.iter().product();
    let values: Vec<f32> = (0..len as i32)
        .map(|i| ((i * 7 + seed * 3) % 11 - 5) as f32)
        .collect();
    Tensor::from_slice(device, &values, dims).unwrap()
}

fn f64s(tensor: &Tensor) -> Vec<f64> {
    tensor.to_f64_vec_blocking().unwrap()
}

/// The definition of a sum of products.
fn defined(inputs: &[&str], output: &str, operands: &[&Tensor]) -> Vec<f64> {
    let values: Vec<Vec<f64>> = operands.iter().map(|operand| f64s(operand)).collect();
    let factors: Vec<Factor<'_>> = (inputs.iter().zip(operands))
        .zip(&values)
        .map(|((letters, operand), values)| Factor {
            letters,
            dims: operand.dims(),
            values,
        })
        .collect();
    einsum(&factors, output)
}

/// A weight of fewer bits is read as it is stored: one kernel, with the bits that a copy in f32 gives.
#[test]
fn floats_of_two_dtypes_are_multiplied_without_a_copy() {
    let device = common::device();
    let (inner, columns) = (96, 80);
    for (input, weight) in [
        (DType::F32, DType::F16),
        (DType::F32, DType::BF16),
        (DType::F16, DType::F32),
        (DType::BF16, DType::F16),
    ] {
        for rows in [1, 5, 16, 40, 128] {
            let x = numbers(&device, &[rows, inner], 1).mul(0.37).unwrap();
            let w = numbers(&device, &[columns, inner], 2).mul(0.11).unwrap();
            let bias = numbers(&device, &[columns], 3);
            let (x, w) = (x.to_dtype(input).unwrap(), w.to_dtype(weight).unwrap());
            for t in [&x, &w, &bias] {
                t.eval_blocking().unwrap();
            }
            let y = x.linear(&w, Some(&bias)).unwrap();
            assert_eq!(y.dtype(), DType::F32);
            assert_eq!(
                y.explain().unwrap().kernels().len(),
                1,
                "{input} {weight} {rows}"
            );
            let [x, w] = [&x, &w].map(|t| t.to_dtype(DType::F32).unwrap());
            for t in [&x, &w] {
                t.eval_blocking().unwrap();
            }
            let converted = x.linear(&w, Some(&bias)).unwrap();
            assert_eq!(f64s(&y), f64s(&converted), "{input} {weight} {rows}");
        }
    }
    // An addend of f32 does not widen operands of f16 either.
    let half = |dims: &[usize], seed| {
        let t = numbers(&device, dims, seed).to_dtype(DType::F16).unwrap();
        t.eval_blocking().unwrap();
        t
    };
    let bias = numbers(&device, &[columns], 3);
    bias.eval_blocking().unwrap();
    let y = half(&[4, inner], 1).linear(&half(&[columns, inner], 2), Some(&bias));
    let y = y.unwrap();
    assert_eq!(
        (y.dtype(), y.explain().unwrap().kernels().len()),
        (DType::F32, 1)
    );
}

/// Pairs of many operands are chosen without trying all of them again for each: 256 took two minutes once.
#[test]
fn einsum_of_many_operands_takes_no_time() {
    const MANY: usize = 256;
    let device = common::device();
    let factors: Vec<Tensor> = (0..MANY)
        .map(|i| {
            let values = [1.0, if i % 2 == 0 { 2.0 } else { 0.5 }, -1.0_f32];
            Tensor::from_slice(&device, &values, [3]).unwrap()
        })
        .collect();
    let equation = vec!["i"; MANY].join(",") + "->i";
    let all: Vec<&Tensor> = factors.iter().collect();
    let start = Instant::now();
    let product = Tensor::einsum(&equation, &all).unwrap();
    assert!(
        start.elapsed() < Duration::from_secs(5),
        "{:?}",
        start.elapsed()
    );
    assert_eq!(f64s(&product), [1.0, 1.0, 1.0]);
}

#[test]
fn einsum_is_its_definition() {
    let device = common::device();
    let cases: &[(&str, &[&[usize]])] = &[
        ("ij,jk->ik", &[&[3, 4], &[4, 5]]),
        ("ij,jk->ki", &[&[3, 4], &[4, 5]]),
        ("bij,bjk->bik", &[&[2, 3, 4], &[2, 4, 5]]),
        ("bij,jk->bik", &[&[2, 3, 4], &[4, 5]]),
        ("bhqd,bhkd->bhqk", &[&[2, 3, 4, 5], &[2, 3, 6, 5]]),
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
        ("abcdef,cdg->abefg", &[&[1, 2, 3, 2, 1, 2], &[3, 2, 4]]),
        ("->", &[&[]]),
        (",i->i", &[&[], &[3]]),
        ("ij,jk->ik", &[&[17, 33], &[33, 20]]),
        ("bij,jk->ibk", &[&[2, 3, 4], &[4, 5]]),
        ("bqhd,bkhd->bhqk", &[&[2, 4, 3, 5], &[2, 6, 3, 5]]),
        ("i->i", &[&[9]]),
        ("ij,jk->ik", &[&[3, 1], &[4, 5]]),
        ("abcdefgh->hgfedcba", &[&[1, 2, 1, 2, 1, 2, 1, 3]]),
        ("ij,jk->ik", &[&[2, 0], &[0, 3]]),
        ("ij,jk->ik", &[&[0, 2], &[2, 3]]),
        ("ij->", &[&[2, 0]]),
        ("i,j->ij", &[&[0], &[3]]),
        ("ii->i", &[&[0, 0]]),
    ];
    for (equation, shapes) in cases {
        let operands: Vec<Tensor> = (1..)
            .zip(*shapes)
            .map(|(seed, dims)| numbers(&device, dims, seed))
            .collect();
        let operands: Vec<&Tensor> = operands.iter().collect();
        let (left, output) = equation.split_once("->").unwrap();
        let inputs: Vec<&str> = left.split(',').collect();
        let wanted = defined(&inputs, output, &operands);
        let y = Tensor::einsum(equation, &operands).unwrap();
        assert_eq!(f64s(&y), wanted, "{equation}");
        let ints: Vec<Tensor> = operands
            .iter()
            .map(|operand| operand.to_dtype(DType::I8).unwrap())
            .collect();
        let y = Tensor::einsum(equation, &ints.iter().collect::<Vec<_>>()).unwrap();
        assert_eq!(y.dtype(), DType::I8, "{equation}");
        let wrapped: Vec<f64> = wanted.iter().map(|&v| f64::from(v as i64 as i8)).collect();
        assert_eq!(f64s(&y), wrapped, "{equation} of i8");
    }
}

#[test]
fn einsum_takes_ellipses_views_and_an_implicit_result() {
    let device = common::device();
    let a = numbers(&device, &[5, 2, 3, 4], 1);
    let b = numbers(&device, &[2, 4, 6], 2);
    let y = Tensor::einsum("...ij,...jk->...ik", &[&a, &b]).unwrap();
    assert_eq!(y.dims(), [5, 2, 3, 6]);
    assert_eq!(f64s(&y), defined(&["xyij", "yjk"], "xyik", &[&a, &b]));
    let y = Tensor::einsum("...ij->ij", &[&a]).unwrap();
    assert_eq!(f64s(&y), defined(&["xyij"], "ij", &[&a]));
    let y = Tensor::einsum("...ij,...jk", &[&a, &b]).unwrap();
    assert_eq!(y.dims(), [5, 2, 3, 6]);

    let turned = numbers(&device, &[4, 3], 3).t().unwrap();
    let flipped = numbers(&device, &[4, 6], 4).flip([0, 1]).unwrap();
    let every_other = numbers(&device, &[9, 4], 5).slice_step(0, .., 2).unwrap();
    let y = Tensor::einsum("ij,jk,lj->kli", &[&turned, &flipped, &every_other]).unwrap();
    assert_eq!(
        f64s(&y),
        defined(
            &["ij", "jk", "lj"],
            "kli",
            &[&turned, &flipped, &every_other]
        )
    );
    let y = Tensor::einsum("ba", &[&turned]).unwrap();
    assert_eq!(f64s(&y), f64s(&turned.t().unwrap()));
}

#[test]
fn einsum_of_nothing_is_zero_and_keeps_nan() {
    let device = common::device();
    let a = Tensor::zeros(&device, [2, 0], DType::F32).unwrap();
    let b = Tensor::zeros(&device, [0, 3], DType::F32).unwrap();
    let y = Tensor::einsum("ij,jk->ik", &[&a, &b]).unwrap();
    assert_eq!(f64s(&y), [0.0; 6]);
    assert_eq!(f64s(&Tensor::einsum("ij->", &[&a]).unwrap()), [0.0]);
    let x = Tensor::from_slice(&device, &[0.0f32, 1.0], [2]).unwrap();
    let inf = Tensor::from_slice(&device, &[f32::INFINITY, 1.0], [2]).unwrap();
    assert!(f64s(&Tensor::einsum("i,i->", &[&x, &inf]).unwrap())[0].is_nan());
}

#[test]
fn einsum_keeps_f16_wide_between_operands() {
    let device = common::device();
    // 300 · 300 overflows f16 on the way to 300 · 300 / 256.
    let big = Tensor::full(&device, [1, 1], 300.0, DType::F16).unwrap();
    let small = Tensor::full(&device, [1, 1], 1.0 / 256.0, DType::F16).unwrap();
    let y = Tensor::einsum("ij,jk,kl->il", &[&big, &big, &small]).unwrap();
    assert_eq!(y.dtype(), DType::F16);
    assert_eq!(f64s(&y), [f16::from_f64(351.5).to_f64()]);
    // The last step is elementwise: its operands are f32 still, and the product is rounded once.
    let values = [1.0f32 + 1.0 / 1024.0, 1.0 + 21.0 / 1024.0].map(f16::from_f32);
    let a = Tensor::from_slice(&device, &values[..1], [1, 1]).unwrap();
    let b = Tensor::from_slice(&device, &values[1..], [1, 1]).unwrap();
    let exact: f64 = values.iter().map(|v| v.to_f64().powi(2)).product();
    let y = Tensor::einsum("ij,ij,ij,ij->ij", &[&a, &b, &a, &b]).unwrap();
    assert_eq!(f64s(&y), [f16::from_f64(exact).to_f64()]);
    assert_eq!(f64s(&y), [1.0439453125], "rounded before: 1.04296875");
}

#[test]
fn tensordot_sums_over_pairs_of_axes() {
    let device = common::device();
    let a = numbers(&device, &[3, 4, 5], 1);
    let b = numbers(&device, &[4, 3, 2], 2);
    let y = a.tensordot(&b, [1, 0], [0, 1]).unwrap();
    assert_eq!(f64s(&y), defined(&["ijk", "jil"], "kl", &[&a, &b]));
    let y = a.tensordot(&b, [-2], [0]).unwrap();
    assert_eq!(y.dims(), [3, 5, 3, 2]);
    assert_eq!(f64s(&y), defined(&["ijk", "jmn"], "ikmn", &[&a, &b]));
    let y = a.tensordot(&b, [], []).unwrap();
    assert_eq!(y.dims(), [3, 4, 5, 4, 3, 2]);
    assert_eq!(f64s(&y), defined(&["ijk", "lmn"], "ijklmn", &[&a, &b]));
    assert!(a.tensordot(&b, [0], [0]).unwrap_err().is_shape());
    assert!(a.tensordot(&b, [0, 0], [1, 1]).unwrap_err().is_shape());
    assert!(a.tensordot(&b, [0], [1, 0]).unwrap_err().is_argument());
    assert!(a.tensordot(&b, [3], [0]).unwrap_err().is_shape());
}

#[test]
fn gemm_scales_transposes_and_adds() {
    let device = common::device();
    let a = numbers(&device, &[4, 3], 1);
    let b = numbers(&device, &[5, 4], 2);
    let product = defined(&["ki", "jk"], "ij", &[&a, &b]);
    let options = GemmOptions {
        alpha: 0.5,
        beta: 2.0,
        trans_a: true,
        trans_b: true,
    };
    for dims in [&[3usize, 5][..], &[5], &[3, 1], &[]] {
        let c = numbers(&device, dims, 3);
        let all = f64s(&c.broadcast_to([3, 5]).unwrap());
        let wanted: Vec<f64> = product
            .iter()
            .zip(&all)
            .map(|(p, c)| 0.5 * p + 2.0 * c)
            .collect();
        let y = a.gemm(&b, Some(&c), &options).unwrap();
        assert_eq!(f64s(&y), wanted, "{dims:?}");
    }
    let plain = GemmOptions {
        trans_a: true,
        trans_b: true,
        ..GemmOptions::default()
    };
    assert_eq!(f64s(&a.gemm(&b, None, &plain).unwrap()), product);
}

#[test]
fn a_beta_of_zero_ignores_nan() {
    let device = common::device();
    let a = Tensor::ones(&device, [2, 2], DType::F32).unwrap();
    let c = Tensor::full(&device, [2, 2], f64::NAN, DType::F32).unwrap();
    assert_eq!(f64s(&c.addmm(&a, &a, 0.0, 1.0).unwrap()), [2.0; 4]);
    assert_eq!(f64s(&c.addmm(&a, &a, 0.0, 3.0).unwrap()), [6.0; 4]);
    assert!(f64s(&c.addmm(&a, &a, 1.0, 1.0).unwrap())[0].is_nan());
    // No inner extent: the addend alone.
    let (wide, tall) = (
        Tensor::zeros(&device, [2, 0], DType::F32).unwrap(),
        Tensor::zeros(&device, [0, 2], DType::F32).unwrap(),
    );
    assert_eq!(f64s(&a.addmm(&wide, &tall, 5.0, 1.0).unwrap()), [5.0; 4]);
}

#[test]
fn a_dense_layer_rounds_once_behind_its_bias() {
    let device = common::device();
    for dtype in [DType::F16, DType::BF16] {
        let of = |values: &[f32], dims: &[usize]| {
            let wide = Tensor::from_slice(&device, values, dims).unwrap();
            wide.to_dtype(dtype).unwrap()
        };
        // 2049 is neither an f16 nor a bf16, 1 is: rounded before the bias, the product would leave 0 or a multiple of it.
        let (x, w, bias) = (
            of(&[1.0, 1.0], &[1, 2]),
            of(&[2048.0, 1.0], &[1, 2]),
            of(&[-2048.0], &[1]),
        );
        let y = x.linear(&w, Some(&bias)).unwrap();
        assert_eq!(y.dtype(), dtype);
        assert_eq!(f64s(&y), [1.0], "{dtype}");
        // A vector is a row, and without a bias it is the product.
        let row = x.select(0, 0).unwrap();
        assert_eq!(f64s(&row.linear(&w, Some(&bias)).unwrap()), [1.0]);
        assert_eq!(f64s(&x.linear(&w, None).unwrap()), [2048.0]);
    }
}

#[test]
fn f16_stays_wide_until_the_addend_is_in() {
    let device = common::device();
    let a = Tensor::full(&device, [1, 1], 300.0, DType::F16).unwrap();
    let c = Tensor::full(&device, [1, 1], -60_000.0, DType::F16).unwrap();
    let y = c.addmm(&a, &a, 1.0, 1.0).unwrap();
    assert_eq!(y.dtype(), DType::F16);
    assert_eq!(f64s(&y), [30_000.0]);
}

#[test]
fn integers_wrap_and_take_whole_scales_only() {
    let device = common::device();
    let a = Tensor::from_slice(&device, &[100u8, 200], [1, 2]).unwrap();
    let y = a.matmul(&a.t().unwrap()).unwrap();
    assert_eq!(f64s(&y), [f64::from((100u32 * 100 + 200 * 200) as u8)]);
    let wide = a.matmul_to(&a.t().unwrap(), DType::U32).unwrap();
    assert_eq!(f64s(&wide), [50_000.0]);
    let big = Tensor::from_slice(&device, &[i32::MAX, 2], [1, 2]).unwrap();
    let y = big.matmul(&big.t().unwrap()).unwrap();
    assert_eq!(f64s(&y), [5.0]);
    let options = GemmOptions {
        alpha: 3.0,
        trans_b: true,
        ..GemmOptions::default()
    };
    assert_eq!(
        f64s(&a.gemm(&a, None, &options).unwrap()),
        [f64::from((150_000u32) as u8)]
    );
    let half = GemmOptions {
        alpha: 0.5,
        ..options
    };
    assert!(a.gemm(&a, None, &half).unwrap_err().is_argument());
    assert!(
        a.matmul_to(&a.t().unwrap(), DType::F32)
            .unwrap_err()
            .is_dtype()
    );
}

#[test]
fn products_of_stated_rank() {
    let device = common::device();
    let m = numbers(&device, &[3, 4], 1);
    let v = numbers(&device, &[4], 2);
    let w = numbers(&device, &[3], 3);
    let batch = numbers(&device, &[2, 3, 4], 4);
    let other = numbers(&device, &[2, 4, 5], 5);
    let c = numbers(&device, &[2, 3, 5], 6);
    let product = defined(&["bij", "bjk"], "bik", &[&batch, &other]);
    assert_eq!(f64s(&batch.bmm(&other).unwrap()), product);
    let sum: Vec<f64> = product
        .iter()
        .zip(f64s(&c))
        .map(|(p, c)| 2.0 * p - c)
        .collect();
    assert_eq!(f64s(&c.baddbmm(&batch, &other, -1.0, 2.0).unwrap()), sum);
    assert_eq!(
        f64s(&m.mv(&v).unwrap()),
        defined(&["ij", "j"], "i", &[&m, &v])
    );
    assert_eq!(
        f64s(&m.mm(&m.t().unwrap()).unwrap()),
        defined(&["ij", "kj"], "ik", &[&m, &m])
    );
    assert_eq!(
        f64s(&v.dot(&v).unwrap()),
        defined(&["i", "i"], "", &[&v, &v])
    );
    assert_eq!(
        f64s(&v.outer(&w).unwrap()),
        defined(&["i", "j"], "ij", &[&v, &w])
    );
    let flat = numbers(&device, &[12], 1);
    assert_eq!(
        m.vdot(&flat).unwrap().item_blocking::<f32>().unwrap() as f64,
        defined(&["i", "i"], "", &[&flat, &flat])[0]
    );
    let none = Tensor::zeros(&device, [0], DType::F32).unwrap();
    assert_eq!(f64s(&none.dot(&none).unwrap()), [0.0]);
    assert_eq!(none.outer(&v).unwrap().dims(), [0, 4]);
    let nothing = Tensor::zeros(&device, [3, 0], DType::F32).unwrap();
    assert_eq!(f64s(&nothing.mv(&none).unwrap()), [0.0; 3]);
    let x = m.linear(&m, Some(&w)).unwrap();
    assert_eq!(x.dims(), [3, 3]);
}

#[test]
fn many_batches_and_broadcast_ones() {
    let device = common::device();
    let count = 65_537;
    let a = Tensor::arange(&device, 0, count, 1, DType::F32)
        .unwrap()
        .reshape([-1, 1, 1])
        .unwrap();
    let b = numbers(&device, &[1, 2], 1);
    let y = f64s(&a.matmul(&b).unwrap());
    let row = f64s(&b);
    for (i, pair) in y.chunks(2).enumerate() {
        assert_eq!(pair, [i as f64 * row[0], i as f64 * row[1]], "batch {i}");
    }
}

#[test]
fn operands_that_do_not_fit_name_the_op_and_the_rule() {
    let device = common::device();
    let m = numbers(&device, &[3, 4], 1);
    let v = numbers(&device, &[4], 2);
    let batch = numbers(&device, &[2, 3, 4], 4);
    let text = |result: Result<Tensor, Error>| {
        let error = result.unwrap_err();
        assert!(error.is_shape(), "{error}");
        error.to_string()
    };
    assert_eq!(
        text(m.mm(&m)),
        "mm: inner dimensions differ: left is [3, 4], right is [3, 4]"
    );
    assert_eq!(
        text(m.dot(&v)),
        "dot: the operands must have rank 1 and 1: left is [3, 4], right is [4]"
    );
    assert_eq!(
        text(batch.bmm(&numbers(&device, &[3, 4, 2], 1))),
        "bmm: the batches differ: left is [2, 3, 4], right is [3, 4, 2]"
    );
    for result in [
        m.mv(&m),
        v.outer(&m),
        m.vdot(&v),
        m.gemm(&v, None, &GemmOptions::default()),
        m.addmm(&m, &m.t().unwrap(), 1.0, 1.0),
        v.addmm(&m, &v, 1.0, 1.0),
        batch.baddbmm(&m, &m, 1.0, 1.0),
        Tensor::einsum("ij,jk->ik", &[&m, &m]),
    ] {
        text(result);
    }
    let flags = Tensor::ones(&device, [2, 2], DType::Bool).unwrap();
    assert!(flags.mm(&flags).unwrap_err().is_dtype());
    assert!(Tensor::einsum("ij->i", &[&flags]).unwrap_err().is_dtype());
    assert!(Tensor::einsum("ij->i", &[]).unwrap_err().is_argument());
    assert!(Tensor::einsum("ij->iz", &[&m]).unwrap_err().is_argument());
}
