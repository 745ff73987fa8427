//! Gathers, scatters, the check of indices, and padding.

use ziggurat_kernels::reference::index::{Indexing, named};
use ziggurat_kernels::reference::movement;
use ziggurat_kernels::{DType, Pad, Scatter};

use crate::expect;
use crate::operands::{Arrangement, Expected, Random};
use crate::sweep::case::{Case, Extents, Fit, Kind, Rule, any, each, fit};

/// Elements more along the indexed axis than there are indices, so that some are never named.
const MORE: usize = 4;

/// The ways to index, each over the middle axis of what it indexes (tuples: the first two).
const WAYS: [Indexing; 3] = [Indexing::Along(1), Indexing::Slices(1), Indexing::Tuples(0)];

fn form(how: Indexing) -> &'static str {
    match how {
        Indexing::Along(_) => "element by element",
        Indexing::Slices(_) => "slices",
        Indexing::Tuples(_) => "tuples",
    }
}

/// Extents of the data, of the indices and of what they name.
fn extents(how: Indexing, kind: Kind) -> Result<[Vec<usize>; 3], &'static str> {
    let (outer, n, inner) = match kind {
        Kind::Views => (4, 5, 3),
        Kind::Scalar => return Err("an index needs an axis"),
        Kind::Empty => (2, 0, 3),
        Kind::Hollow => (0, 2, 3),
        Kind::Ones => (1, 1, 1),
        Kind::Size(n) => (1, n, 2),
    };
    let data = vec![outer, n + MORE, inner];
    Ok(match how {
        Indexing::Along(_) => [data, vec![outer, n, inner], vec![outer, n, inner]],
        Indexing::Slices(_) => [data, vec![n], vec![outer, n, inner]],
        // Tuples name rows of the first two axes.
        Indexing::Tuples(_) => {
            let outer = outer.max(1);
            [vec![n + MORE, outer, inner], vec![n, 2], vec![n, inner]]
        }
    })
}

/// Indices: some negative, some far outside, which count as the nearest.
fn wild() -> impl Fn(DType, &[usize], &mut Random) -> Vec<f64> + 'static {
    each(|dtype, rng| {
        let near = rng.below(9) as f64;
        match (dtype, rng.below(8)) {
            (DType::I32, 0) => f64::from(i32::MIN),
            (DType::I32, 1) => f64::from(i32::MAX),
            (DType::U32, 0 | 1) => f64::from(u32::MAX),
            (DType::I32, 2..=4) => -near - 1.0,
            _ => near,
        }
    })
}

/// Indices that name nothing twice: downwards along the indexed axis, in every row alike.
fn distinct(how: Indexing) -> impl Fn(DType, &[usize], &mut Random) -> Vec<f64> + 'static {
    move |_, dims, _| {
        let len: usize = dims.iter().product();
        match how {
            Indexing::Along(axis) => {
                let inner: usize = dims[axis + 1..].iter().product();
                (0..len)
                    .map(|i| (dims[axis] + MORE - 1 - i / inner % dims[axis]) as f64)
                    .collect()
            }
            Indexing::Slices(_) => (0..len).map(|i| (len + MORE - 1 - i) as f64).collect(),
            Indexing::Tuples(_) => (0..len)
                .map(|i| {
                    if i % 2 == 0 {
                        (dims[0] + MORE - 1 - i / 2) as f64
                    } else {
                        0.0
                    }
                })
                .collect(),
        }
    }
}

pub(crate) fn cases() -> Vec<Case> {
    let mut all = Vec::new();
    for how in WAYS {
        for index in [DType::I32, DType::U32] {
            all.push(gather(how, index));
        }
        for op in Scatter::ALL {
            all.push(scatter(how, op));
        }
    }
    all.push(check());
    all.extend(Pad::ALL.map(pad));
    all
}

fn gather(how: Indexing, index: DType) -> Case {
    Case::new("gather", DType::ALL)
        .form(format!("{} by {index}", form(how)))
        .reads(any())
        .reads_as(Rule::Is(index), &[], wild())
        .extents(move |kind| {
            let [data, index, named] = extents(how, kind)?;
            fit(&[&data, &index], &[&named])
        })
        .call(move |exec, a, out| match how {
            Indexing::Along(axis) => exec.gather(&a[0], axis, &a[1], &out[0]),
            Indexing::Slices(axis) => exec.index_select(&a[0], axis, &a[1], &out[0]),
            Indexing::Tuples(batch) => exec.gather_nd(&a[0], &a[1], batch, &out[0]),
        })
        .gives(move |g| {
            let (_, at) = named(how, &g.dims[0], &g.values[1], &g.dims[1]);
            at.iter()
                .map(|&at| Expected::exact(g.values[0][at]))
                .collect()
        })
}

const ONE_NAME: &[(Arrangement, &str)] = &[(
    Arrangement::Broadcast,
    "of several updates of one element any may stay",
)];

fn scatter(how: Indexing, op: Scatter) -> Case {
    let case = Case::new(op.name(), DType::ALL)
        .form(form(how))
        .reads(any())
        .reads(any());
    let case = if op == Scatter::Set {
        case.reads_as(Rule::Is(DType::I32), ONE_NAME, distinct(how))
    } else {
        case.reads_as(Rule::Is(DType::I32), &[], wild())
    };
    case.extents(move |kind| {
        let [data, index, named] = extents(how, kind)?;
        fit(&[&data, &named, &index], &[&data])
    })
    .call(move |exec, a, out| {
        let (updates, index) = (&a[1], &a[2]);
        let _started = exec.copy(&a[0], &out[0])?;
        match how {
            Indexing::Along(axis) => exec.scatter(op, updates, axis, index, &out[0]),
            Indexing::Slices(axis) => exec.index_scatter(op, updates, axis, index, &out[0]),
            Indexing::Tuples(_) => exec.scatter_nd(op, updates, index, &out[0]),
        }
    })
    .gives(move |g| {
        let (_, at) = named(how, &g.dims[0], &g.values[2], &g.dims[2]);
        expect::scatter(op, g.dtype, &g.values[0], &at, &g.values[1])
    })
}

fn check() -> Case {
    const NAMES: usize = 6;
    Case::new("check_indices", [DType::I32, DType::U32])
        .reads(each(|dtype, rng| {
            // Few of them name nothing.
            let low = if dtype == DType::I32 { -6.0 } else { 0.0 };
            if rng.below(40) == 0 {
                NAMES as f64
            } else {
                low + rng.below(NAMES) as f64
            }
        }))
        .writes(&[Rule::Is(DType::U32)])
        .extents(|kind| {
            let dims = match kind {
                Kind::Views => vec![5, 3, 7],
                Kind::Scalar => vec![],
                Kind::Empty => vec![3, 0],
                Kind::Hollow => vec![0, 3],
                Kind::Ones => vec![1, 1],
                Kind::Size(n) => vec![n],
            };
            fit(&[&dims], &[&[1]])
        })
        .call(|exec, a, out| {
            let _started = exec.fill(&out[0], f64::from(u32::MAX))?;
            exec.check_indices(&a[0], &[NAMES], &out[0])
        })
        .gives(|g| {
            let first = g.values[0].iter().position(|&index| index >= NAMES as f64);
            let at = first.map_or(f64::from(u32::MAX), |at| at as f64);
            vec![Expected::exact(at)]
        })
}

/// Some elements more in front and fewer behind, or the other way, per axis.
fn padded(mode: Pad, kind: Kind) -> Result<(Extents, Vec<isize>), &'static str> {
    let (from, begin, to): (Vec<usize>, Vec<isize>, Vec<usize>) = match kind {
        Kind::Views => (vec![4, 3, 5], vec![1, -1, 3], vec![6, 2, 13]),
        Kind::Scalar => (vec![], vec![], vec![]),
        Kind::Empty if mode == Pad::Constant => (vec![2, 0], vec![0, 1], vec![2, 3]),
        Kind::Empty => return Err("only one value can continue nothing"),
        Kind::Hollow => (vec![0, 3], vec![0, 1], vec![0, 5]),
        Kind::Ones => (vec![1, 1], vec![0, 1], vec![1, 3]),
        Kind::Size(n) => (vec![2, n], vec![0, 2], vec![2, n + 1]),
    };
    let extents = Extents {
        operands: vec![from],
        outputs: vec![to],
    };
    Ok((extents, begin))
}

fn pad(mode: Pad) -> Case {
    // The place of the input in the output follows from the extents.
    let begin = |from: &[usize], to: &[usize]| -> Vec<isize> {
        let kinds = [Kind::Views, Kind::Empty, Kind::Hollow, Kind::Ones];
        let known = kinds
            .into_iter()
            .filter_map(|kind| padded(Pad::Constant, kind).ok());
        let found = known
            .into_iter()
            .find(|(e, _)| e.operands[0] == from && e.outputs[0] == to);
        let rows = |_| (0..from.len() as isize).map(|axis| 2 * axis).collect();
        found.map_or_else(|| rows(()), |(_, begin)| begin)
    };
    Case::new("pad", DType::ALL)
        .form(mode.name())
        .reads(any())
        .extents(move |kind| Fit::Ok(padded(mode, kind)?.0))
        .call(move |exec, a, out| {
            let begin = begin(a[0].dims(), out[0].dims());
            exec.pad(&a[0], &begin, mode, 1.0, &out[0])
        })
        .gives(move |g| {
            let begin = begin(&g.dims[0], &g.out[0]);
            expect::exact(&movement::pad(
                &g.values[0],
                &g.dims[0],
                &begin,
                mode,
                1.0,
                &g.out[0],
            ))
        })
}
