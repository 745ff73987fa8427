//! Random operands for tests against references, and the loop over seeds.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use ziggurat_kernels::Unary;
use ziggurat_kernels::core::{decode, encode};
use ziggurat_kernels::reference::{round_to, unary};
use ziggurat_tensor::{DType, Device, Error, Tensor};

use crate::common;
use crate::operands::{Arrangement, Random, arrange, len_in_memory};

fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

/// Problems of each test where nothing else is asked for: the same ones on any machine, however fast.
const PROBLEMS: u64 = 200;

/// Runs problems, one per seed from `ZIGGURAT_FUZZ_SEED` (or 1) on: so many, or `ZIGGURAT_FUZZ_PROBLEMS`, or until
/// `ZIGGURAT_FUZZ_SECONDS` are over. Fails with the seeds of the problems that failed.
pub(crate) fn fuzz(problem: impl Fn(&Device, &mut Random)) {
    /// More are not worth waiting for: after a lost device every problem fails.
    const FAILURES: usize = 8;
    let Some(device) = common::device() else {
        return;
    };
    let first = variable("ZIGGURAT_FUZZ_SEED").unwrap_or(1);
    let most = variable("ZIGGURAT_FUZZ_PROBLEMS");
    let time = variable("ZIGGURAT_FUZZ_SECONDS").map(Duration::from_secs);
    let start = Instant::now();
    let is_over = |done: u64| match (most, time) {
        (Some(most), _) => done >= most,
        (None, Some(time)) => start.elapsed() >= time,
        (None, None) => done >= PROBLEMS,
    };
    let (mut done, mut failed) = (0, Vec::new());
    while !is_over(done) && failed.len() < FAILURES {
        let seed = first + done;
        let mut rng = Random(seed.wrapping_mul(0x9e37_79b9));
        let run = catch_unwind(AssertUnwindSafe(|| problem(&device, &mut rng)));
        if run.is_err() {
            eprintln!("run again with ZIGGURAT_FUZZ_SEED={seed} ZIGGURAT_FUZZ_PROBLEMS=1");
            failed.push(seed);
        }
        done += 1;
    }
    eprintln!("{done} problems from seed {first}");
    assert!(failed.is_empty(), "the problems of seeds {failed:?} failed");
}

/// A tensor and what it shows.
pub(crate) struct Given {
    pub(crate) tensor: Tensor,
    pub(crate) values: Vec<f64>,
}

impl Given {
    pub(crate) fn dims(&self) -> &[usize] {
        self.tensor.dims()
    }
}

/// What values are like.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Values {
    /// Floats up to 2, integers over their range.
    Plain,
    /// At times NaN, an infinity or a zero of either sign; small integers, for ties.
    Special,
}

fn value(dtype: DType, values: Values, rng: &mut Random) -> f64 {
    const SPECIAL: [f64; 5] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0];
    match (values, rng.below(12)) {
        (Values::Special, 0) if dtype.is_float() => rng.pick(&SPECIAL),
        (Values::Special, 1..=3) => round_to(dtype, rng.below(3) as f64),
        _ => rng.value(dtype),
    }
}

/// The stored tensor seen as the arrangement says.
fn seen(stored: &Tensor, arrangement: Arrangement, dims: &[usize]) -> Result<Tensor, Error> {
    let rank = dims.len();
    let axes: Vec<isize> = (0..rank as isize).collect();
    match arrangement {
        Arrangement::Contiguous => Ok(stored.clone()),
        Arrangement::Transposed => stored.permute(axes.into_iter().rev().collect::<Vec<_>>()),
        Arrangement::Flipped => stored.flip(axes),
        Arrangement::Broadcast => stored.broadcast_to(dims),
        Arrangement::Sliced if rank == 0 => Ok(stored.clone()),
        Arrangement::Sliced => {
            let view = stored.slice_step(-1, 1.., 2)?;
            if rank > 1 {
                view.narrow(0, 1, dims[0])
            } else {
                Ok(view)
            }
        }
    }
}

/// The extents in memory of an arrangement.
fn stored(arrangement: Arrangement, dims: &[usize]) -> Vec<usize> {
    let mut all = dims.to_vec();
    match arrangement {
        Arrangement::Transposed => all.reverse(),
        Arrangement::Broadcast => {
            if let Some(dim) = all.iter_mut().find(|dim| **dim > 1) {
                *dim = 1;
            }
        }
        Arrangement::Sliced => {
            if let Some(last) = all.last_mut() {
                *last = *last * 2 + 1;
            }
            if all.len() > 1 {
                all[0] += 2;
            }
        }
        Arrangement::Contiguous | Arrangement::Flipped => {}
    }
    all
}

/// A tensor of these extents in any arrangement, at times the value of a pending expression.
pub(crate) fn given(
    device: &Device,
    dtype: DType,
    dims: &[usize],
    values: Values,
    rng: &mut Random,
) -> Given {
    made(device, dtype, dims, rng, |rng| value(dtype, values, rng))
}

pub(crate) fn made(
    device: &Device,
    dtype: DType,
    dims: &[usize],
    rng: &mut Random,
    mut value: impl FnMut(&mut Random) -> f64,
) -> Given {
    let arrangement = rng.pick(&Arrangement::ALL);
    let layout = arrange(arrangement, dims);
    let extents = stored(arrangement, dims);
    let len = extents.iter().product::<usize>();
    assert!(len >= len_in_memory(&layout));
    let bytes = encode(dtype, &(0..len).map(|_| value(rng)).collect::<Vec<_>>());
    let held = decode(dtype, &bytes);
    let dense = Tensor::from_bytes(device, &bytes, &extents, dtype).unwrap();
    let tensor = seen(&dense, arrangement, dims).unwrap();
    assert_eq!(tensor.dims(), dims, "{arrangement:?}");
    let shown = layout.offsets().map(|at| held[at]).collect();
    let plain = Given {
        tensor,
        values: shown,
    };
    if dtype.is_bool() || rng.below(4) > 0 {
        return plain;
    }
    let negated = plain.values.iter();
    Given {
        tensor: plain.tensor.neg().unwrap(),
        values: negated.map(|&x| unary(Unary::Neg, dtype, x)).collect(),
    }
}

/// Extents, small and at times 0 or 1.
pub(crate) fn extents(rank: usize, rng: &mut Random) -> Vec<usize> {
    const SIZES: [usize; 10] = [0, 1, 1, 2, 3, 4, 5, 7, 9, 17];
    let mut dims: Vec<usize> = (0..rank).map(|_| rng.pick(&SIZES)).collect();
    // At times one axis is longer than a workgroup.
    if rank > 0 && rng.below(8) == 0 {
        let at = rng.below(rank);
        dims[at] = 200 + rng.below(900);
    }
    dims
}

/// An axis, counted from either end.
pub(crate) fn axis_of(rank: usize, rng: &mut Random) -> (isize, usize) {
    let at = rng.below(rank.max(1));
    let back = rank > 0 && rng.below(2) == 0;
    (
        if back {
            at as isize - rank as isize
        } else {
            at as isize
        },
        at,
    )
}
