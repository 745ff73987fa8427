//! Products, attention, the rotary embedding and small linear algebra; random numbers.

use ziggurat_kernels::reference::linalg::{cholesky, solve};
use ziggurat_kernels::{
    AttentionOperands, AttentionOptions, DType, KernelError, Random as Draw, RandomState,
    RopeAppend, RopeAppended, RopeOptions, RopePositions, View,
};

use crate::expect;
use crate::operands::{Arrangement, Expected, Random};
use crate::sweep::case::{Case, Fit, Given, Kind, Rule, any, each, fit};

const FLOATS: [DType; 3] = [DType::F32, DType::F16, DType::BF16];
const NUMBERS: [DType; 7] = [
    DType::F32,
    DType::F16,
    DType::BF16,
    DType::I32,
    DType::U32,
    DType::I8,
    DType::U8,
];
const TABLES: &str = "tables are contiguous, says the contract";
const DENSE: &[(Arrangement, &str)] = &[
    (Arrangement::Transposed, TABLES),
    (Arrangement::Sliced, TABLES),
    (Arrangement::Broadcast, TABLES),
    (Arrangement::Flipped, TABLES),
];

pub(crate) fn cases() -> Vec<Case> {
    let mut all = Vec::new();
    for (form, size) in [
        ("many rows", (|n| [1, n, 9, 5]) as fn(usize) -> [usize; 4]),
        ("many columns", |n| [1, 3, 17, n]),
        ("long rows", |n| [1, 3, n, 4]),
        ("many products", |n| [n, 2, 3, 2]),
        ("by a vector", |n| [1, n, 9, 1]),
    ] {
        all.push(product(form, size));
    }
    all.extend(FLOATS.map(mixed_product));
    for (form, options) in [
        ("plain", AttentionOptions::default()),
        (
            "causal, with a window and a cap",
            AttentionOptions {
                causal: true,
                left_window: Some(3),
                softcap: 2.0,
                ..AttentionOptions::default()
            },
        ),
    ] {
        for mask in [None, Some(DType::Bool), Some(DType::F32)] {
            all.push(attention(form, options, mask));
        }
        all.push(attention_to_integers(form, options));
    }
    all.extend([false, true].map(rope));
    all.push(rope_append());
    all.extend(systems());
    all.extend(draws());
    all
}

/// `[batch, m, k] × [batch, k, n]`.
fn product(form: &'static str, size: fn(usize) -> [usize; 4]) -> Case {
    let case = Case::new("matmul", NUMBERS).form(form);
    sized(case.reads(any()).reads(any()), size)
}

/// The same of two dtypes, which are read as f32.
fn mixed_product(weight: DType) -> Case {
    let inputs = FLOATS.into_iter().filter(|dtype| *dtype != weight);
    let case = Case::new("matmul", inputs).form(format!("weights of {weight}"));
    let case = case.reads(any()).reads_as(Rule::Is(weight), &[], any());
    sized(case.writes(&[Rule::Is(DType::F32)]), |n| {
        [1, n.min(5), n, 33]
    })
}

fn sized(case: Case, size: fn(usize) -> [usize; 4]) -> Case {
    let written = case.outputs[0];
    case.extents(move |kind| {
        let [batch, m, k, n] = match kind {
            Kind::Views => {
                // The vector stays one.
                let thin = size(2)[3] == 1;
                [3, 33, 20, if thin { 1 } else { 36 }]
            }
            Kind::Scalar => return Err("a product needs rows and columns"),
            Kind::Empty => [2, 3, 0, 4],
            Kind::Hollow => [2, 0, 3, 4],
            Kind::Ones => [1; 4],
            Kind::Size(n) => size(n),
        };
        fit(&[&[batch, m, k], &[batch, k, n]], &[&[batch, m, n]])
    })
    .up_to(3000)
    .call(|exec, a, out| exec.matmul(&a[0], &a[1], &out[0]))
    .gives(move |g| {
        let operand = |i: usize| (&g.values[i][..], &g.dims[i][..]);
        let dtype = written.of(g.dtype);
        expect::products(operand(0), operand(1), &g.dims[0][..1], dtype)
    })
}

fn attention(form: &'static str, options: AttentionOptions, mask: Option<DType>) -> Case {
    let options = AttentionOptions {
        scale: 0.25,
        zero_masked_rows: true,
        ..options
    };
    let with = mask.map_or_else(String::new, |mask| format!(", mask of {mask}"));
    let mut case = Case::new("attention", FLOATS)
        .form(format!("{form}{with}"))
        .reads(any())
        .reads(any())
        .reads(any());
    if let Some(dtype) = mask {
        case = case.reads_as(Rule::Is(dtype), &[], any());
    }
    case.extents(move |kind| {
        let [b, h, kv, q, k, d, v] = attention_extents(kind)?;
        let (queries, keys, values) = ([b, h, q, d], [b, kv, k, d], [b, kv, k, v]);
        let mask_dims = [q, k];
        let mut operands: Vec<&[usize]> = vec![&queries, &keys, &values];
        if mask.is_some() {
            operands.push(&mask_dims);
        }
        fit(&operands, &[&[b, h, q, v]])
    })
    .up_to(1100)
    .call(move |exec, a, out| {
        let operands = AttentionOperands {
            q: &a[0],
            k: &a[1],
            v: &a[2],
            mask: a.get(3),
            lengths: None,
            factors: None,
        };
        exec.attention(&operands, &options, &out[0])
    })
    .gives(move |g| {
        let operand = |i: usize| (&g.values[i][..], &g.dims[i][..]);
        let given = expect::Attention {
            q: operand(0),
            k: operand(1),
            v: operand(2),
            mask: mask.map(|dtype| (&g.values[3][..], &g.dims[3][..], dtype)),
            lengths: None,
        };
        expect::attention(&given, &options, g.dtype)
    })
}

/// Attention to keys and values of i8, whose factors make them numbers up to 2.
fn attention_to_integers(form: &'static str, options: AttentionOptions) -> Case {
    let options = AttentionOptions {
        scale: 0.25,
        zero_masked_rows: true,
        ..options
    };
    Case::new("attention", FLOATS)
        .form(format!("{form}, keys and values of i8"))
        .reads(any())
        .reads_as(Rule::Is(DType::I8), &[], any())
        .reads_as(Rule::Is(DType::I8), &[], any())
        .reads_as(
            Rule::Is(DType::F32),
            &[],
            each(|_, rng| rng.value(DType::F32) / 128.0),
        )
        .extents(move |kind| {
            let [b, h, kv, q, k, d, v] = attention_extents(kind)?;
            let (queries, keys, values) = ([b, h, q, d], [b, kv, k, d], [b, kv, k, v]);
            let factors = [b, kv, k, 2];
            fit(&[&queries, &keys, &values, &factors], &[&[b, h, q, v]])
        })
        .up_to(1100)
        .call(move |exec, a, out| {
            let operands = AttentionOperands {
                q: &a[0],
                k: &a[1],
                v: &a[2],
                mask: None,
                lengths: None,
                factors: Some(&a[3]),
            };
            exec.attention(&operands, &options, &out[0])
        })
        .gives(move |g| {
            let times = |i: usize| -> Vec<f64> {
                let element = g.dims[i][3].max(1);
                let values = g.values[i].iter().enumerate();
                let factor = |at: usize| g.values[3][at / element * 2 + i - 1];
                values.map(|(at, x)| x * factor(at)).collect()
            };
            let (k, v) = (times(1), times(2));
            let given = expect::Attention {
                q: (&g.values[0], &g.dims[0]),
                k: (&k, &g.dims[1]),
                v: (&v, &g.dims[2]),
                mask: None,
                lengths: None,
            };
            expect::attention(&given, &options, g.dtype)
        })
}

/// Batch, heads, key heads, queries, keys, elements, value elements.
fn attention_extents(kind: Kind) -> Result<[usize; 7], &'static str> {
    Ok(match kind {
        Kind::Views => [2, 4, 2, 5, 19, 12, 10],
        Kind::Scalar => return Err("it has batch, head, position and element axes"),
        Kind::Empty => [1, 2, 2, 3, 0, 4, 5],
        Kind::Hollow => [0, 2, 1, 3, 4, 4, 5],
        Kind::Ones => [1; 7],
        Kind::Size(n) => [1, 1, 1, n, 7, 4, 3],
    })
}

/// Rows of the tables in front of the first position.
const START: usize = 6;

fn rope(interleaved: bool) -> Case {
    let options = RopeOptions {
        interleaved,
        positions_before_heads: false,
    };
    Case::new("rope", FLOATS)
        .form(if interleaved { "neighbours" } else { "halves" })
        .reads(any())
        .reads_as(Rule::Is(DType::F32), DENSE, any())
        .reads_as(Rule::Is(DType::F32), DENSE, any())
        .extents(|kind| {
            let (dims, half) = match kind {
                Kind::Views => ([2, 3, 5, 9], 4),
                Kind::Scalar => return Err("it has batch, head, position and element axes"),
                Kind::Empty => ([2, 3, 0, 9], 4),
                Kind::Hollow => ([0, 3, 5, 9], 4),
                Kind::Ones => ([1, 1, 1, 2], 1),
                Kind::Size(n) => ([1, 1, n, 4], 2),
            };
            let table = [START + dims[2] + 1, half];
            fit(&[&dims, &table, &table], &[&dims])
        })
        .call(move |exec, a, out| {
            let from = RopePositions::From(START);
            exec.rope(&a[0], &a[1], &a[2], from, options, &out[0])
        })
        .gives(move |g| {
            let (width, positions) = (g.dims[0][3], g.dims[0][2]);
            let table = (&g.values[1][..], &g.values[2][..], g.dims[1][1]);
            let row = |line: usize| START + line % positions;
            expect::rope((&g.values[0], width), table, row, interleaved, g.dtype)
        })
}

const CAPACITY: usize = 3;

/// Queries, keys and values of one position in each slot. The kernel's operands are dense: views are copied.
fn rope_append() -> Case {
    let cache = || each(|_, rng| rng.pick(&[-1.5, 0.25, 1.0]));
    Case::new("rope_append", FLOATS)
        .reads(any())
        .reads_as(Rule::Is(DType::F32), DENSE, any())
        .reads_as(Rule::Is(DType::F32), DENSE, any())
        .reads_as(
            Rule::Is(DType::I32),
            DENSE,
            each(|_, rng| rng.pick(&[0.0, 1.0, 2.0, 7.0, -1.0, -9.0])),
        )
        .reads(cache())
        .reads(cache())
        .writes(&[Rule::Same; 3])
        .extents(|kind| -> Fit {
            let ([slots, heads, own], [len, half]) = match kind {
                Kind::Views => ([5, 4, 2], [12, 4]),
                Kind::Scalar => return Err("it has slots, heads and elements"),
                Kind::Empty => return Err("a head has elements"),
                Kind::Hollow => ([0, 2, 1], [8, 4]),
                Kind::Ones => ([1, 1, 1], [8, 4]),
                Kind::Size(n) => ([n, 2, 1], [8, 4]),
            };
            let (table, cache) = ([4, half], [slots, own, CAPACITY, len]);
            let joined = [slots, heads + 2 * own, len];
            fit(
                &[&joined, &table, &table, &[slots], &cache, &cache],
                &[&[slots, heads, 1, len], &cache, &cache],
            )
        })
        .up_to(1100)
        .call(|exec, a, out| {
            let dense = |view: &View| {
                let dense = exec.alloc(view.shape(), view.dtype)?;
                let _copied = exec.copy(view, &dense)?;
                Ok::<_, KernelError>(dense)
            };
            let (joined, keys, values) = (dense(&a[0])?, dense(&a[4])?, dense(&a[5])?);
            let queries = exec.alloc(out[0].shape(), out[0].dtype)?;
            let reads = RopeAppend {
                joined: &joined,
                tables: [&a[1], &a[2]],
                positions: &a[3],
                interleaved: false,
            };
            let writes = RopeAppended {
                queries: &queries,
                keys: &keys,
                values: &values,
            };
            let _written = exec.rope_append(&reads, &writes)?;
            let _queries = exec.copy(&queries, &out[0])?;
            let _keys = exec.copy(&keys, &out[1])?;
            exec.copy(&values, &out[2])
        })
        .gives_all(|g| {
            let &[_, heads, _, len] = &g.out[0][..] else {
                panic!("rank 4");
            };
            let (own, all) = (g.out[1][1], g.dims[0][1]);
            let table = (&g.values[1][..], &g.values[2][..], g.dims[1][1]);
            let row = |line: usize| g.values[3][line / all].clamp(0.0, 3.0) as usize;
            let turned = expect::rope((&g.values[0], len), table, row, false, g.dtype);
            let given = expect::exact(&g.values[0]);
            let mut outs = [
                Vec::new(),
                expect::exact(&g.values[4]),
                expect::exact(&g.values[5]),
            ];
            for (slot, at) in g.values[3].iter().enumerate() {
                let at = if *at < 0.0 { at + CAPACITY as f64 } else { *at };
                let at = at.clamp(0.0, CAPACITY as f64 - 1.0) as usize;
                let head = |from: &[Expected], head: usize| {
                    from[(slot * all + head) * len..][..len].to_vec()
                };
                (0..heads).for_each(|at| outs[0].extend(head(&turned, at)));
                for own_head in 0..own {
                    let to = ((slot * own + own_head) * CAPACITY + at) * len;
                    let key = head(&turned, heads + own_head);
                    let value = head(&given, heads + own + own_head);
                    outs[1].splice(to..to + len, key);
                    outs[2].splice(to..to + len, value);
                }
            }
            outs.into()
        })
}

/// What stands where in a matrix.
fn matrices(
    entry: impl Fn(usize, usize, usize, &mut Random) -> f64 + 'static,
) -> impl Fn(DType, &[usize], &mut Random) -> Vec<f64> + 'static {
    move |_, dims, rng| {
        let n = dims[dims.len() - 1];
        let len: usize = dims.iter().product();
        (0..len)
            .map(|i| f64::from(entry(i / n % n, i % n, n, rng) as f32))
            .collect()
    }
}

/// Well conditioned: small values, and a large diagonal that is moved by one column.
fn general() -> impl Fn(DType, &[usize], &mut Random) -> Vec<f64> + 'static {
    matrices(|row, col, n, rng| {
        let far = if (row + 1) % n == col {
            2.0 * n as f64
        } else {
            0.0
        };
        (rng.value(DType::F32) / 8.0 * 64.0).round() / 64.0 + far
    })
}

/// Small off the diagonal, and as symmetric as only the lower triangle needs.
fn definite() -> impl Fn(DType, &[usize], &mut Random) -> Vec<f64> + 'static {
    matrices(|row, col, n, rng| {
        rng.value(DType::F32) / (8.0 * n as f64) + if row == col { 2.0 } else { 0.0 }
    })
}

/// Systems of three unknowns in batches, or one of many unknowns.
fn square(side: bool, with_columns: bool, kind: Kind) -> Result<[Vec<usize>; 3], &'static str> {
    let (batch, n): (Vec<usize>, usize) = match kind {
        Kind::Views => (vec![3], 5),
        Kind::Scalar => (vec![], 3),
        Kind::Empty => (vec![2], 0),
        Kind::Hollow => (vec![0], 3),
        Kind::Ones => (vec![1], 1),
        Kind::Size(n) if side && n > 70 => return Err("sides stop where the rounding grows"),
        Kind::Size(n) if side => (vec![1], n),
        Kind::Size(n) => (vec![n], 3),
    };
    let columns = if with_columns { 2 } else { n };
    Ok([
        [&batch[..], &[n, n]].concat(),
        [&batch[..], &[n, columns]].concat(),
        batch,
    ])
}

/// Results per matrix.
fn per_matrix(g: &Given<'_>, each: impl Fn(&[f64], &[f64], usize) -> Vec<f64>) -> Vec<Expected> {
    let dims = &g.dims[0];
    let (n, batch) = (
        dims[dims.len() - 1],
        dims[..dims.len() - 2].iter().product(),
    );
    let columns = g.dims.get(1).and_then(|dims| dims.last()).copied();
    let mut all = Vec::new();
    for i in 0..batch {
        let right = columns.map_or(&[][..], |c| &g.values[1][i * n * c..][..n * c]);
        all.extend(each(&g.values[0][i * n * n..][..n * n], right, n));
    }
    expect::near(&all, 64.0 * n.max(1) as f64)
}

fn systems() -> Vec<Case> {
    let mut all = Vec::new();
    for side in [false, true] {
        let form = if side {
            "of many unknowns"
        } else {
            "of many matrices"
        };
        let both = move |kind| -> Fit {
            let [a, b, _] = square(side, true, kind)?;
            fit(&[&a, &b], &[&b])
        };
        let lu = Case::new("lu", [DType::F32])
            .form(form)
            .reads(general())
            .reads(any())
            .extents(both)
            .up_to(1100)
            .call(|exec, a, out| exec.solve(&a[0], &a[1], &out[0]))
            .gives(|g| per_matrix(g, |a, b, n| solve(a, b, n, 2).0));
        all.push(lu);
        for (upper, unit) in [(false, false), (true, false), (false, true), (true, true)] {
            let name = format!(
                "{}{}, {form}",
                if upper { "upper" } else { "lower" },
                if unit { ", ones on the diagonal" } else { "" }
            );
            let triangular = Case::new("solve_triangular", [DType::F32])
                .form(name)
                .reads(definite())
                .reads(any())
                .extents(both)
                .up_to(1100)
                .call(move |exec, a, out| exec.solve_triangular(&a[0], &a[1], upper, unit, &out[0]))
                .gives(move |g| {
                    per_matrix(g, |a, b, n| {
                        let triangle = expect::triangle(a, n, upper, unit);
                        solve(&triangle, b, n, 2).0
                    })
                });
            all.push(triangular);
        }
        let factor = Case::new("cholesky", [DType::F32])
            .form(form)
            .reads(definite())
            .extents(move |kind| {
                let [a, ..] = square(side, false, kind)?;
                fit(&[&a], &[&a])
            })
            .up_to(1100)
            .call(|exec, a, out| exec.cholesky(&a[0], &out[0]))
            .gives(|g| per_matrix(g, |a, _, n| cholesky(a, n)));
        all.push(factor);
        let determinant = Case::new("determinant", [DType::F32])
            .form(form)
            .reads(definite())
            .extents(move |kind| {
                let [a, _, batch] = square(side, false, kind)?;
                fit(&[&a], &[&batch])
            })
            .up_to(1100)
            .call(|exec, a, out| exec.determinant(&a[0], &out[0]))
            .gives(|g| per_matrix(g, |a, _, n| vec![solve(a, &[], n, 0).1]));
        all.push(determinant);
    }
    all
}

fn draws() -> Vec<Case> {
    const STATE: RandomState = RandomState {
        seed: 0x1234_5678_9abc_def0,
        counter: 0xffff_fffe,
        stream: 7,
    };
    let case = |kind: Draw| {
        let dtypes = DType::ALL.into_iter().filter(move |&d| kind.accepts(d));
        Case::new(kind.name(), dtypes)
            .extents(|kind| {
                let dims = match kind {
                    Kind::Views => vec![5, 3, 7],
                    Kind::Scalar => vec![],
                    Kind::Empty => vec![3, 0],
                    Kind::Hollow => vec![0],
                    Kind::Ones => vec![1, 1],
                    Kind::Size(n) => vec![n],
                };
                fit(&[], &[&dims])
            })
            .call(move |exec, _, out| exec.random(kind, STATE, &out[0]))
    };
    let integers = Draw::Integer {
        low: -3_i32 as u32,
        count: 1000,
    };
    [Draw::Bits, Draw::Uniform, Draw::Normal, integers]
        .map(|kind| {
            case(kind).gives(move |g| {
                let len = g.out[0].iter().product();
                expect::drawn(kind, STATE, len, g.dtype)
            })
        })
        .into()
}
