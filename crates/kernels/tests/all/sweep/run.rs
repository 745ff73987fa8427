//! The one loop: every case, its dtypes, kinds of problems, arrangements of memory and sizes; one comparison for all.

use ziggurat_kernels::core::decode;
use ziggurat_kernels::{DType, Executor, Layout, View};

use crate::operands::{
    Arrangement, Expected, Output, Random, behind, check, output_in, shape, worst,
};
use crate::sweep::case::{Case, Extents, Given, Kind, Placed};

/// A reason is a sentence, not an excuse.
const LEAST_REASON: usize = 12;

/// A recorded problem, to be read and compared.
struct Job {
    what: String,
    outputs: Vec<Output>,
    expected: Vec<Vec<Expected>>,
}

/// Sizes around vectors, half workgroups, workgroups and what one workgroup does four at a time.
pub(crate) fn sizes_around(workgroup: usize) -> Vec<usize> {
    let around = |n: usize| [n.saturating_sub(1), n, n + 1];
    let mut sizes = vec![1, 2, 3, 4, 5, 8, 31];
    sizes.extend(around(workgroup));
    sizes.extend(around(4 * workgroup));
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// What a sweep covers.
pub(crate) struct Scope<'a> {
    pub(crate) kinds: &'a [Kind],
    pub(crate) dtypes: &'a dyn Fn(&Case) -> Vec<DType>,
    /// Sizes that are also seen through views, which are often another kernel's.
    pub(crate) through_views: &'a [usize],
}

/// How operands lie in memory in one problem.
struct Turn {
    /// Those of the operands in order, again from the first when there are more.
    arrangements: Vec<Arrangement>,
    /// Elements of poison in front of each operand: with 4 it begins at a word of every dtype.
    front: usize,
}

/// Words apart or not, dense or not: what kernels are chosen by.
const ALIGNED: usize = 4;
const ODD: usize = 3;

/// The problems of a kind.
fn turns(kind: Kind, through_views: &[usize]) -> Vec<Turn> {
    let all = Arrangement::ALL;
    let turn = |arrangements: &[Arrangement], front| Turn {
        arrangements: arrangements.to_vec(),
        front,
    };
    let dense = turn(&[Arrangement::Contiguous], ALIGNED);
    match kind {
        Kind::Views => {
            let of = |first: usize| (0..all.len()).map(move |i| all[(first + 2 * i) % all.len()]);
            let each = (0..all.len()).map(|first| turn(&of(first).collect::<Vec<_>>(), ODD));
            each.collect()
        }
        Kind::Size(n) if through_views.contains(&n) => vec![
            dense,
            turn(&[Arrangement::Contiguous], ODD),
            turn(&[Arrangement::Flipped, Arrangement::Sliced], ODD),
        ],
        _ => vec![dense],
    }
}

/// Runs all problems of all cases. Every case must have problems; those it lacks say why.
pub(crate) fn sweep(exec: &Executor, cases: &[Case], scope: &Scope<'_>) {
    let mut rng = Random(17);
    for case in cases {
        for dtype in (scope.dtypes)(case) {
            let mut jobs = Vec::new();
            for &kind in scope.kinds {
                match (case.extents)(kind) {
                    Ok(extents) => {
                        let turns = turns(kind, scope.through_views);
                        record(
                            exec,
                            case,
                            dtype,
                            (kind, &turns),
                            &extents,
                            &mut rng,
                            &mut jobs,
                        );
                    }
                    Err(reason) => assert!(
                        reason.len() >= LEAST_REASON,
                        "{}: {kind:?} is left out because of {reason:?}",
                        case.name()
                    ),
                }
            }
            finish(exec, case, jobs);
        }
    }
}

/// Records the problems of one kind: one per turn, in which each operand has the next arrangement.
fn record(
    exec: &Executor,
    case: &Case,
    dtype: DType,
    (kind, turns): (Kind, &[Turn]),
    extents: &Extents,
    rng: &mut Random,
    jobs: &mut Vec<Job>,
) {
    if let Kind::Size(size) = kind
        && size > case.largest
    {
        return;
    }
    assert_eq!(
        extents.operands.len(),
        case.roles.len(),
        "{}: operands",
        case.name()
    );
    for (turn, how) in turns.iter().enumerate() {
        let placed: Vec<Placed> = (case.roles.iter().zip(&extents.operands))
            .enumerate()
            .map(|(i, (role, dims))| {
                let wanted = how.arrangements[i % how.arrangements.len()];
                let refused = role.not.iter().find(|(not, _)| *not == wanted);
                assert!(refused.is_none_or(|(_, why)| why.len() >= LEAST_REASON));
                let arrangement = if refused.is_some() {
                    Arrangement::Contiguous
                } else {
                    wanted
                };
                Placed::new(role, dtype, dims, arrangement, rng)
            })
            .collect();
        let views: Vec<View> = (placed.iter())
            .map(|placed| upload(exec, placed, how.front))
            .collect();
        // Outputs start at odd places and aligned ones; one lies with its axes reversed.
        let outputs: Vec<Output> = (case.outputs.iter().zip(&extents.outputs))
            .map(|(rule, dims)| {
                let arrangement = if turn == 3 {
                    Arrangement::Transposed
                } else {
                    Arrangement::Contiguous
                };
                output_in(exec, rule.of(dtype), dims, [0, 3, 4][turn % 3], arrangement)
            })
            .collect();
        let targets: Vec<View> = outputs.iter().map(|output| output.view.clone()).collect();
        let layouts: Vec<_> = views.iter().map(|view| &view.layout).collect();
        let what = format!("{} of {dtype}, {kind:?}, {layouts:?}", case.name());
        if let Err(error) = (case.call)(exec, &views, &targets) {
            panic!("{what}: {error}");
        }
        let values: Vec<Vec<f64>> = placed.into_iter().map(|placed| placed.values).collect();
        let given = Given {
            dtype,
            values: &values,
            dims: &extents.operands,
            out: &extents.outputs,
        };
        jobs.push(Job {
            what,
            outputs,
            expected: (case.expected)(&given),
        });
    }
}

/// The operand in memory, so many elements of poison in front.
fn upload(exec: &Executor, placed: &Placed, front: usize) -> View {
    let mut bytes = vec![0xff_u8; front * placed.dtype.bytes()];
    bytes.extend(&placed.bytes);
    let len = bytes.len() / placed.dtype.bytes();
    // As bytes: those of a bool that is uploaded must be 0 or 1, and poison is not.
    let raw = exec.upload(&bytes, &shape(&[bytes.len()])).unwrap();
    let dense = Layout::contiguous(shape(&[len]));
    let dense = View::new(raw.buffer, dense, placed.dtype).unwrap();
    dense.with_layout(behind(&placed.layout, front)).unwrap()
}

/// Reads all problems of a case at once, compares them, and shows that the comparison could have failed.
fn finish(exec: &Executor, case: &Case, jobs: Vec<Job>) {
    assert!(!jobs.is_empty(), "{}: nothing was run", case.name());
    let wholes: Vec<&View> = (jobs.iter())
        .flat_map(|job| job.outputs.iter().map(|output| &output.whole))
        .collect();
    let mut read = exec
        .download_many(&wholes)
        .unwrap()
        .wait()
        .unwrap()
        .into_iter();
    let mut controls = 0;
    for job in jobs {
        assert_eq!(job.outputs.len(), job.expected.len(), "{}", job.what);
        for (output, expected) in job.outputs.iter().zip(&job.expected) {
            let actual = output.values(&read.next().unwrap());
            check(&job.what, &actual, expected);
            controls += control(&job.what, output.view.dtype, &actual, expected);
        }
    }
    assert!(
        controls > 0,
        "{}: no comparison was controlled",
        case.name()
    );
}

/// The negative control of the comparison just made: with one element a little beyond its bound, NaN, or one missing it
/// must fail. Returns how many controls there were.
fn control(what: &str, dtype: DType, actual: &[f64], expected: &[Expected]) -> usize {
    let Some(at) = (0..actual.len())
        .rev()
        .find(|&at| expected[at].value.is_finite())
    else {
        return 0;
    };
    let Expected { value, bound } = expected[at];
    let spoilt = |with: f64| {
        let mut spoilt = actual.to_vec();
        spoilt[at] = with;
        worst(&spoilt, expected).is_some_and(|(off, place)| off > 1.0 && place == at)
    };
    // The next value that the dtype has beyond the bound.
    let beyond = if dtype.is_float() {
        let step = 1.01 * bound.max(f64::MIN_POSITIVE);
        let next = value + step;
        if next == value {
            value * (1.0 + 1e-7) + 1e-44
        } else {
            next
        }
    } else {
        value + bound + 1.0
    };
    assert!(spoilt(beyond), "{what}: {beyond} passes for {value}");
    assert!(
        !dtype.is_float() || (spoilt(f64::NAN) && spoilt(f64::INFINITY)),
        "{what}: NaN or infinity passes for {value}"
    );
    // Memory that a kernel misses keeps the bytes it was filled with.
    let missed = decode(dtype, &vec![0xff; dtype.bytes()])[0];
    assert!(
        (missed - value).abs() <= bound || spoilt(missed),
        "{what}: an element that is not written passes"
    );
    1
}
