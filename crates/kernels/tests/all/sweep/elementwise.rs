//! Rows of the elementwise tables, and what moves and makes elements.

use ziggurat_kernels::reference::{binary, compare, predicate, round_to, unary};
use ziggurat_kernels::{Binary, Compare, DType, Expression, FusedOp, Predicate, Shape, Unary};

use crate::expect;
use crate::operands::{Expected, Random};
use crate::samples;
use crate::sweep::case::{Case, Fit, Given, Kind, Rule, any, fit};

/// Extents of an op that treats each element alike, with `operands` operands.
fn alike(operands: usize) -> impl Fn(Kind) -> Fit {
    move |kind| {
        let size;
        let dims: &[usize] = match kind {
            Kind::Views => &[5, 3, 7],
            Kind::Scalar => &[],
            Kind::Empty => &[3, 0, 2],
            Kind::Hollow => &[0],
            Kind::Ones => &[1, 1, 1],
            Kind::Size(n) => {
                size = [n];
                &size
            }
        };
        fit(&vec![dims; operands], &[dims])
    }
}

/// A number as operand `i` of two.
fn with_number(i: usize) -> impl Fn(Kind) -> Fit {
    move |kind| {
        let Kind::Size(n) = kind else {
            return Err("the form with two tensors has it");
        };
        let dims = [n];
        let mut operands: [&[usize]; 2] = [&dims, &dims];
        operands[i] = &[];
        fit(&operands, &[&dims])
    }
}

fn len(dims: &[usize]) -> usize {
    dims.iter().product()
}

/// Values of both signs, zeros, infinities and NaN.
fn special() -> impl Fn(DType, &[usize], &mut Random) -> Vec<f64> {
    |dtype, dims, _| samples::special(dtype, len(dims))
}

pub(crate) fn unary_cases() -> Vec<Case> {
    let mut all: Vec<Case> = Unary::ALL.iter().map(|&op| of_unary(op)).collect();
    for &op in Predicate::ALL {
        let case = Case::new(op.spec().name, op.spec().dtypes.iter().copied())
            .reads(special())
            .writes(&[Rule::Is(DType::Bool)])
            .extents(alike(1))
            .call(move |exec, a, out| exec.predicate(op, &a[0], &out[0]))
            .gives(move |g| {
                let values = g.values[0].iter();
                values.map(|&x| expect::truth(predicate(op, x))).collect()
            });
        all.push(case);
    }
    all
}

pub(crate) fn binary_cases() -> Vec<Case> {
    let mut all = Vec::new();
    for &op in Binary::ALL {
        for (form, number) in [
            ("", None),
            ("a number first", Some(0)),
            ("a number second", Some(1)),
        ] {
            all.push(of_binary(op, form, number));
        }
    }
    for &op in Compare::ALL {
        let case = Case::new(op.spec().name, op.spec().dtypes.iter().copied())
            .reads(|dtype, dims, _| samples::pairs(dtype, len(dims)).0)
            .reads(|dtype, dims, _| samples::pairs(dtype, len(dims)).1)
            .writes(&[Rule::Is(DType::Bool)])
            .extents(alike(2))
            .call(move |exec, a, out| exec.compare(op, &a[0], &a[1], &out[0]))
            .gives(move |g| {
                let pairs = g.values[0].iter().zip(&g.values[1]);
                pairs
                    .map(|(&x, &y)| expect::truth(compare(op, x, y)))
                    .collect()
            });
        all.push(case);
    }
    all
}

pub(crate) fn other_cases() -> Vec<Case> {
    let mut all = moves();
    all.push(fused());
    all
}

fn of_unary(op: Unary) -> Case {
    Case::new(op.spec().name, op.spec().dtypes.iter().copied())
        .reads(move |dtype, dims, _| samples::unary(op, dtype, len(dims)))
        .extents(alike(1))
        .call(move |exec, a, out| exec.unary(op, &a[0], &out[0]))
        .gives(move |g| {
            let tolerance = op.spec().tolerance;
            let values = g.values[0].iter();
            values
                .map(|&x| expect::row(g.dtype, unary(op, g.dtype, x), tolerance, x))
                .collect()
        })
}

/// A number of the samples that has some effect, whatever the op.
fn number(values: &[f64]) -> f64 {
    let small = |x: &&f64| (2.0..8.0).contains(*x);
    let some = |x: &&f64| x.is_finite() && x.abs() >= 2.0;
    let found = values
        .iter()
        .find(small)
        .or_else(|| values.iter().find(some));
    found.or(values.first()).copied().unwrap_or(0.0)
}

/// A binary op; with `number` that operand has rank 0.
fn of_binary(op: Binary, form: &'static str, rank_0: Option<usize>) -> Case {
    let values = move |i: usize| {
        move |dtype: DType, dims: &[usize], _: &mut Random| {
            let of = |len| {
                let (a, b) = samples::binary(op, dtype, len);
                if i == 0 { a } else { b }
            };
            if rank_0 == Some(i) {
                vec![number(&of(64))]
            } else {
                of(len(dims))
            }
        }
    };
    let dtypes = op.spec().dtypes.iter().copied();
    let case = Case::new(op.spec().name, dtypes)
        .form(form)
        .reads(values(0))
        .reads(values(1))
        .call(move |exec, a, out| exec.binary(op, &a[0], &a[1], &out[0]))
        .gives(move |g| {
            let (a, b) = (&g.values[0], &g.values[1]);
            let len = len(&g.out[0]);
            (0..len)
                .map(|i| {
                    let (x, y) = (a[i % a.len()], b[i % b.len()]);
                    let exact = binary(op, g.dtype, x, y);
                    expect::row(g.dtype, exact, op.spec().tolerance, y)
                })
                .collect()
        });
    match rank_0 {
        None => case.extents(alike(2)),
        Some(i) => case.extents(with_number(i)).up_to(260),
    }
}

/// Ops without arithmetic.
fn moves() -> Vec<Case> {
    let mut all = Vec::new();
    for to in DType::ALL {
        let case = Case::new("cast", DType::ALL)
            .form(format!("to {to}"))
            .reads(|dtype, dims, rng| {
                let edges = crate::edge_values::edges(dtype);
                let first = rng.below(edges.len());
                edges
                    .iter()
                    .copied()
                    .cycle()
                    .skip(first)
                    .take(len(dims))
                    .collect()
            })
            .writes(&[Rule::Is(to)])
            .extents(alike(1))
            .call(|exec, a, out| exec.cast(&a[0], &out[0]))
            .gives(move |g| {
                let values = g.values[0].iter();
                values.map(|&x| expect::cast(g.dtype, to, x)).collect()
            });
        all.push(case);
    }
    let where_ = Case::new("where", DType::ALL)
        .reads_as(Rule::Is(DType::Bool), &[], any())
        .reads(special())
        .reads(any())
        .extents(alike(3))
        .call(|exec, a, out| exec.where_(&a[0], &a[1], &a[2], &out[0]))
        .gives(|g| {
            let pick = |i: usize| g.values[if g.values[0][i] == 0.0 { 2 } else { 1 }][i];
            (0..g.values[0].len())
                .map(|i| Expected::exact(pick(i)))
                .collect()
        });
    all.push(where_);
    let copy = Case::new("copy", DType::ALL)
        .reads(special())
        .extents(alike(1))
        .call(|exec, a, out| exec.copy(&a[0], &out[0]))
        .gives(|g| expect::exact(&g.values[0]));
    all.push(copy);
    let concat = Case::new("copy", DType::ALL)
        .form("of inputs one behind the other")
        .reads(special())
        .reads(any())
        .extents(|kind| match kind {
            Kind::Views => fit(&[&[3, 4, 5], &[3, 2, 5]], &[&[3, 6, 5]]),
            Kind::Scalar => Err("without an axis nothing stands behind anything"),
            Kind::Empty => fit(&[&[2, 0, 3], &[2, 0, 3]], &[&[2, 0, 3]]),
            Kind::Hollow => fit(&[&[0, 2], &[0, 3]], &[&[0, 5]]),
            Kind::Ones => fit(&[&[1, 1], &[1, 1]], &[&[1, 2]]),
            Kind::Size(n) => fit(&[&[1, n], &[1, 3]], &[&[1, n + 3]]),
        })
        .call(|exec, a, out| exec.concat(&[&a[0], &a[1]], 1, &out[0]))
        .gives(|g| {
            let rows = g.out[0][0];
            let row = |i: usize, row: usize| {
                let width = g.values[i].len() / rows;
                &g.values[i][row * width..(row + 1) * width]
            };
            let all = (0..rows).flat_map(|at| [row(0, at), row(1, at)].concat());
            all.map(Expected::exact).collect()
        });
    all.push(concat);
    let made = |name, dtypes: &[DType]| Case::new(name, dtypes.iter().copied()).extents(alike(0));
    let fill = made("fill", &DType::ALL)
        .call(|exec, _, out| exec.fill(&out[0], 5.5))
        .gives(|g| {
            let value = if g.dtype.is_float() { 5.5 } else { 5.0 };
            let value = if g.dtype.is_bool() { 1.0 } else { value };
            vec![Expected::exact(value); len(&g.out[0])]
        });
    all.push(fill);
    let numbers = DType::ALL.into_iter().filter(|dtype| !dtype.is_bool());
    let arange = made("arange", &numbers.collect::<Vec<_>>())
        .call(|exec, _, out| exec.arange(&out[0], -3.0, 2.0))
        .gives(counted);
    all.push(arange);
    let eye = Case::new("eye", DType::ALL)
        .extents(|kind| match kind {
            Kind::Views => fit(&[], &[&[5, 7]]),
            Kind::Scalar => Err("a diagonal needs two axes"),
            Kind::Empty => fit(&[], &[&[3, 0]]),
            Kind::Hollow => fit(&[], &[&[0, 3]]),
            Kind::Ones => fit(&[], &[&[1, 1]]),
            Kind::Size(n) => fit(&[], &[&[2, n]]),
        })
        .call(|exec, _, out| exec.eye(&out[0], 1))
        .gives(|g| {
            let width = g.out[0][1];
            let one = |i: usize| expect::truth(i / width + 1 == i % width);
            (0..len(&g.out[0])).map(one).collect()
        });
    all.push(eye);
    all
}

fn counted(g: &Given<'_>) -> Vec<Expected> {
    (0..len(&g.out[0]))
        .map(|i| {
            let value = 2 * i as i64 - 3;
            Expected::exact(if g.dtype.is_float() {
                round_to(g.dtype, value as f64)
            } else {
                ziggurat_kernels::reference::wrap(g.dtype, value)
            })
        })
        .collect()
}

/// A generated kernel: `max(-a, b)`.
fn fused() -> Case {
    let dtypes = [
        DType::F32,
        DType::F16,
        DType::BF16,
        DType::I32,
        DType::U32,
        DType::U8,
        DType::I8,
    ];
    Case::new("fused", dtypes)
        .reads(any())
        .reads(any())
        .extents(alike(2))
        .call(|exec, a, out| {
            let mut expression = Expression::new();
            let (x, y) = (
                expression.input(a[0].clone()),
                expression.input(a[1].clone()),
            );
            let x = expression.op(FusedOp::Unary(Unary::Neg), &[x])?;
            let value = expression.op(FusedOp::Binary(Binary::Maximum), &[x, y])?;
            let shape: Shape = *out[0].shape();
            exec.fused(&expression, &shape, &[(value, out[0].clone())])
        })
        .gives(|g| {
            let pairs = g.values[0].iter().zip(&g.values[1]);
            pairs
                .map(|(&x, &y)| {
                    let x = unary(Unary::Neg, g.dtype, x);
                    Expected::exact(binary(Binary::Maximum, g.dtype, x, y))
                })
                .collect()
        })
}
