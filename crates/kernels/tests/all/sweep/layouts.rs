//! Ops that walk along axes: reductions, positions of extremes, softmax, norms, scans, sorting.

use ziggurat_kernels::reference::reduce;
use ziggurat_kernels::{Affine, ArgReduce, Channels, DType, Norm, Reduce, Scan, ScanOptions};

use crate::expect;
use crate::operands::{Arrangement, Expected, Random};
use crate::reducing;
use crate::samples;
use crate::sweep::case::{Case, Fit, Kind, Rule, any, each, fit};

const FLOATS: [DType; 3] = [DType::F32, DType::F16, DType::BF16];

/// Which axes are walked, and along which the sizes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Along {
    /// The last, which grows.
    Last,
    /// The first of two or three; the last grows.
    First,
    /// All.
    All,
}

impl Along {
    const EACH: [Self; 3] = [Self::Last, Self::First, Self::All];

    fn name(self) -> &'static str {
        match self {
            Self::Last => "along the last axis",
            Self::First => "along the first axis",
            Self::All => "over all axes",
        }
    }

    fn axes(self, rank: usize) -> Vec<usize> {
        match self {
            Self::All => (0..rank).collect(),
            _ if rank == 0 => Vec::new(),
            Self::Last => vec![rank - 1],
            Self::First => vec![0],
        }
    }

    fn axis(self, rank: usize) -> usize {
        self.axes(rank).last().copied().unwrap_or(0)
    }

    fn dims(self, kind: Kind) -> Vec<usize> {
        match (kind, self) {
            (Kind::Views, _) => vec![5, 3, 7],
            (Kind::Scalar, _) => vec![],
            (Kind::Empty, Self::First) => vec![0, 3],
            (Kind::Hollow, Self::First) | (Kind::Empty, _) => vec![3, 0],
            (Kind::Hollow, _) => vec![0, 3],
            (Kind::Ones, _) => vec![1, 1, 1],
            (Kind::Size(n), Self::All) => vec![n],
            (Kind::Size(n), _) => vec![3, n],
        }
    }

    /// Extents of an op whose output lacks the axes.
    fn reduced(self) -> impl Fn(Kind) -> Fit {
        move |kind| {
            let dims = self.dims(kind);
            let kept = reducing::kept(&dims, &self.axes(dims.len()));
            fit(&[&dims], &[&kept])
        }
    }

    /// Extents of an op whose output has the input's.
    fn same(self) -> impl Fn(Kind) -> Fit {
        move |kind| {
            let dims = self.dims(kind);
            fit(&[&dims], &[&dims])
        }
    }
}

pub(crate) fn reduction_cases() -> Vec<Case> {
    let mut all = Vec::new();
    for along in Along::EACH {
        for op in Reduce::ALL {
            all.extend(reductions(op, along));
        }
        for op in ArgReduce::ALL {
            all.extend(positions(op, along));
        }
    }
    all.extend([Along::Last, Along::First].map(var_mean));
    all
}

pub(crate) fn row_cases() -> Vec<Case> {
    let mut all = Vec::new();
    for along in [Along::Last, Along::First] {
        all.extend(shares(along));
        for op in Scan::ALL {
            all.extend(scans(op, along));
        }
        all.extend(sorts(along));
    }
    all.extend([false, true].map(search));
    for op in Norm::ALL {
        all.extend(norms(op));
    }
    all
}

/// The general norm is not the one with a kernel of its own.
fn argument(op: Reduce) -> f32 {
    match op {
        Reduce::Norm => 3.0,
        _ => op.default_argument(),
    }
}

/// A reduction into its own dtype and into each wider one.
fn reductions(op: Reduce, along: Along) -> Vec<Case> {
    let own = DType::ALL.into_iter().filter(|&d| op.accepts(d, d));
    let mut outputs = vec![(Rule::Same, String::new(), own.collect::<Vec<_>>())];
    for to in [DType::F32, DType::I32, DType::U32] {
        let narrower = DType::ALL
            .into_iter()
            .filter(|&d| d != to && op.accepts(d, to));
        outputs.push((Rule::Is(to), format!(" to {to}"), narrower.collect()));
    }
    let wanted = outputs
        .into_iter()
        .filter(|(_, _, dtypes)| !dtypes.is_empty());
    wanted
        .map(|(rule, suffix, dtypes)| {
            Case::new(op.name(), dtypes)
                .form(format!("{}{suffix}", along.name()))
                .reads(any())
                .writes(&[rule])
                .extents(along.reduced())
                .call(move |exec, a, out| {
                    let axes = along.axes(a[0].rank());
                    exec.reduce(op.with(argument(op)), &a[0], &axes, &out[0])
                })
                .gives(move |g| {
                    let (dims, to) = (&g.dims[0], rule.of(g.dtype));
                    let argument = f64::from(argument(op));
                    let axes = along.axes(dims.len());
                    reducing::expected(op, argument, &g.values[0], dims, &axes, to)
                })
        })
        .collect()
}

fn positions(op: ArgReduce, along: Along) -> Vec<Case> {
    const NONE: &str = "of nothing there is no greatest";
    let extents = move |kind| match kind {
        Kind::Empty => Err(NONE),
        Kind::Hollow if along == Along::All => Err(NONE),
        _ => along.reduced()(kind),
    };
    let places = move |values: &[f64], dims: &[usize], last| {
        let axes = along.axes(dims.len());
        let places = reduce::arg_reduce(op, values, dims, &axes, last).into_iter();
        places
            .map(|at| Expected::exact(at.map_or(f64::NAN, |at| at as f64)))
            .collect::<Vec<_>>()
    };
    // Ties, so that the first and the last of equals differ.
    let values = || {
        each(|dtype, rng| {
            let few = ziggurat_kernels::reference::round_to(dtype, rng.below(3) as f64);
            if rng.below(2) == 0 {
                few
            } else {
                rng.value(dtype).clamp(0.0, 2.0)
            }
        })
    };
    let mut all = Vec::new();
    for last in [false, true] {
        let of_equals = if last { "last" } else { "first" };
        let alone = Case::new(op.name(), DType::ALL)
            .form(format!("{of_equals} of equals, {}", along.name()))
            .reads(values())
            .writes(&[Rule::Is(DType::I32)])
            .extents(extents)
            .call(move |exec, a, out| {
                exec.arg_reduce(op, &a[0], &along.axes(a[0].rank()), last, &out[0])
            })
            .gives(move |g| places(&g.values[0], &g.dims[0], last));
        all.push(alone);
    }
    let both = Case::new(op.name(), DType::ALL)
        .form(format!("with values, {}", along.name()))
        .reads(values())
        .writes(&[Rule::Same, Rule::Is(DType::I32)])
        .extents(move |kind| {
            let mut extents = extents(kind)?;
            extents.outputs.push(extents.outputs[0].clone());
            Ok(extents)
        })
        .call(move |exec, a, out| {
            let axes = along.axes(a[0].rank());
            exec.extreme_with_position(op, &a[0], &axes, false, &out[0], &out[1])
        })
        .gives_all(move |g| {
            let value = match op {
                ArgReduce::Max => Reduce::Max,
                ArgReduce::Min => Reduce::Min,
            };
            let (values, dims) = (&g.values[0], &g.dims[0]);
            let axes = along.axes(dims.len());
            vec![
                reducing::expected(value, 0.0, values, dims, &axes, g.dtype),
                places(values, dims, false),
            ]
        });
    all.push(both);
    all
}

fn var_mean(along: Along) -> Case {
    Case::new("var_mean", FLOATS)
        .form(along.name())
        .reads(any())
        .writes(&[Rule::Is(DType::F32)])
        .extents(move |kind| {
            let mut extents = along.reduced()(kind)?;
            let outputs: usize = extents.outputs[0].iter().product();
            extents.outputs = vec![vec![2 * outputs]];
            Ok(extents)
        })
        .call(move |exec, a, out| exec.var_mean(1.0, &a[0], &along.axes(a[0].rank()), &out[0]))
        .gives(move |g| {
            let axes = along.axes(g.dims[0].len());
            let of = |op| reducing::expected(op, 1.0, &g.values[0], &g.dims[0], &axes, DType::F32);
            [of(Reduce::Var), of(Reduce::Mean)].concat()
        })
}

fn shares(along: Along) -> [Case; 2] {
    let case = |name| {
        Case::new(name, FLOATS)
            .form(along.name())
            .reads(any())
            .extents(along.same())
    };
    [
        case("softmax")
            .call(move |exec, a, out| exec.softmax(&a[0], along.axis(a[0].rank()), &out[0]))
            .gives(move |g| {
                let axis = along.axis(g.dims[0].len());
                expect::softmax(&g.values[0], &g.dims[0], axis, g.dtype)
            }),
        case("log_softmax")
            .call(move |exec, a, out| exec.log_softmax(&a[0], along.axis(a[0].rank()), &out[0]))
            .gives(move |g| {
                let axis = along.axis(g.dims[0].len());
                expect::log_softmax(&g.values[0], &g.dims[0], axis, g.dtype)
            }),
    ]
}

/// Values of which products and sums stay in range for some steps.
pub(crate) fn scanned(op: Scan, dtype: DType, rng: &mut Random) -> f64 {
    let raw = match (op, dtype) {
        (Scan::Product, DType::Bool) => f64::from(rng.below(50) > 0),
        (Scan::Product, _) if dtype.is_float() => [1.0, 0.5, 2.0, -1.0, 0.75][rng.below(5)],
        (Scan::Product, DType::U32 | DType::U8) => [1.0, 3.0, 2.0][rng.below(3)],
        (Scan::Product, _) => [1.0, -1.0, 3.0, 2.0][rng.below(4)],
        (Scan::ArgMax | Scan::ArgMin, _) if dtype.is_float() => {
            [-2.0, 0.0, -0.0, 1.0, 3.0, f64::INFINITY, f64::NEG_INFINITY][rng.below(7)]
        }
        _ => return rng.value(dtype),
    };
    ziggurat_kernels::reference::round_to(dtype, raw)
}

fn scans(op: Scan, along: Along) -> Vec<Case> {
    let mut all = Vec::new();
    for (exclusive, reverse) in [(false, false), (true, false), (false, true)] {
        if exclusive && matches!(op, Scan::ArgMax | Scan::ArgMin) {
            continue;
        }
        let options = ScanOptions { exclusive, reverse };
        for (rule, suffix) in [(Rule::Same, ""), (Rule::Is(DType::I32), " to i32")] {
            let dtypes: Vec<DType> = DType::ALL
                .into_iter()
                .filter(|&d| op.accepts(d, rule.of(d)) && (rule == Rule::Same || d != DType::I32))
                .collect();
            if dtypes.is_empty() {
                continue;
            }
            let form = match (exclusive, reverse) {
                (true, _) => "exclusive, ",
                (_, true) => "reverse, ",
                _ => "",
            };
            let case = Case::new(op.name(), dtypes)
                .form(format!("{form}{}{suffix}", along.name()))
                .reads(each(move |dtype, rng| scanned(op, dtype, rng)))
                .writes(&[rule])
                .extents(along.same())
                .call(move |exec, a, out| {
                    exec.scan(op, &a[0], along.axis(a[0].rank()), options, &out[0])
                })
                .gives(move |g| {
                    let axis = along.axis(g.dims[0].len());
                    let to = rule.of(g.dtype);
                    expect::scan(op, &g.values[0], &g.dims[0], axis, options, to)
                });
            all.push(case);
        }
    }
    all
}

fn sorts(along: Along) -> Vec<Case> {
    let of = |descending| {
        let direction = if descending { "down" } else { "up" };
        Case::new("sort", DType::ALL)
            .form(format!("{direction}, {}", along.name()))
            .reads(|dtype, dims, _| samples::special(dtype, dims.iter().product()))
            .writes(&[Rule::Is(DType::I32)])
            .extents(move |kind| match kind {
                Kind::Scalar => Err("a number has no axis to be sorted along"),
                _ => along.same()(kind),
            })
            .up_to(2000)
            .call(move |exec, a, out| {
                exec.argsort(&a[0], along.axis(a[0].rank()), descending, &out[0])
            })
            .gives(move |g| {
                let axis = along.axis(g.dims[0].len());
                expect::exact(&expect::argsort(&g.values[0], &g.dims[0], axis, descending))
            })
    };
    vec![of(false), of(true)]
}

fn search(right: bool) -> Case {
    let sorted = |dtype: DType, dims: &[usize], _: &mut Random| {
        let mut values = samples::special(dtype, dims.iter().product());
        for value in &mut values {
            *value = ziggurat_kernels::reference::round_to(dtype, *value);
        }
        let row = dims.last().copied().unwrap_or(1).max(1);
        for row in values.chunks_mut(row) {
            row.sort_by(|x, y| expect::order(*x, *y));
        }
        values
    };
    Case::new("searchsorted", DType::ALL)
        .form(if right {
            "behind equals"
        } else {
            "before equals"
        })
        .reads(sorted)
        .reads(|dtype, dims, _| samples::special(dtype, dims.iter().product()))
        .writes(&[Rule::Is(DType::I32)])
        .extents(|kind| match kind {
            Kind::Views => fit(&[&[3, 19], &[3, 7]], &[&[3, 7]]),
            Kind::Scalar => fit(&[&[9], &[]], &[&[]]),
            Kind::Empty => fit(&[&[0], &[4]], &[&[4]]),
            Kind::Hollow => fit(&[&[3], &[0]], &[&[0]]),
            Kind::Ones => fit(&[&[1], &[1]], &[&[1]]),
            Kind::Size(n) => fit(&[&[37], &[n]], &[&[n]]),
        })
        .call(move |exec, a, out| exec.search_sorted(&a[0], &a[1], right, &out[0]))
        .gives(move |g| {
            let n = g.dims[0].last().copied().unwrap_or(1);
            let m = g.dims[1].last().copied().unwrap_or(1);
            expect::exact(&expect::search(&g.values[0], n, &g.values[1], m, right))
        })
}

const DENSE: &[(Arrangement, &str)] = &[
    (Arrangement::Transposed, CONTIGUOUS),
    (Arrangement::Sliced, CONTIGUOUS),
    (Arrangement::Broadcast, CONTIGUOUS),
    (Arrangement::Flipped, CONTIGUOUS),
];
const CONTIGUOUS: &str = "parameters are contiguous, says the contract";

fn norms(op: Norm) -> Vec<Case> {
    let mut all = Vec::new();
    for (given, form) in ["plain", "weight", "weight and bias"]
        .into_iter()
        .enumerate()
    {
        for axes in [1, 2] {
            let mut case = Case::new(op.name(), FLOATS)
                .form(format!("{form}, {axes} axes"))
                .reads(any());
            for _ in 0..given {
                case = case.reads_as(Rule::Same, DENSE, any());
            }
            let case = case
                .extents(move |kind| {
                    let dims: Vec<usize> = match kind {
                        Kind::Views => vec![5, 3, 7],
                        Kind::Scalar => return Err("a row has at least one axis"),
                        Kind::Empty => vec![3, 2, 0],
                        Kind::Hollow => vec![0, 2, 3],
                        Kind::Ones => vec![1, 1, 1],
                        Kind::Size(n) => vec![3, 1, n],
                    };
                    let len: usize = dims[3 - axes..].iter().product();
                    let mut operands: Vec<&[usize]> = vec![&dims];
                    let channels = [len];
                    operands.extend(std::iter::repeat_n(&channels[..], given));
                    fit(&operands, &[&dims])
                })
                .call(move |exec, a, out| {
                    let affine = Affine {
                        weight: a.get(1),
                        bias: a.get(2),
                        channels: Channels::default(),
                    };
                    exec.normalize(op, &a[0], axes, 1e-5, &affine, &out[0])
                })
                .gives(move |g| {
                    let len = g.dims[0][3 - axes..].iter().product();
                    let part = |i: usize| g.values.get(i).map(Vec::as_slice);
                    let eps = f64::from(1e-5_f32);
                    let channels = Channels::default();
                    let affine = (part(1), part(2));
                    expect::normalize(op, &g.values[0], (len, eps), affine, channels, g.dtype)
                });
            all.push(case);
        }
    }
    all
}
