//! Random operands for tests against references, and the loop over seeds.

use std::panic::{AssertUnwindSafe, catch_unwind};

use ziggurat_kernels::Unary;
use ziggurat_kernels::core::{decode, encode};
use ziggurat_kernels::reference::{round_to, unary};
use ziggurat_tensor::{DType, Device, Error, Tensor};

use crate::campaign::Campaign;
use crate::common;
use crate::operands::{Arrangement, Random, arrange, len_in_memory};

/// Problems of each test where nothing else is asked for: the same ones on any machine, however fast.
const PROBLEMS: u64 = 200;

/// The same where most problems are kernels of their own, which take longer to compile than to run.
const PROBLEMS_TO_COMPILE: u64 = 40;

/// Runs problems, one per seed, or those that the environment asks for ([`Campaign`]). Fails with the seeds of those that
/// failed.
pub(crate) fn fuzz(problem: impl Fn(&Device, &mut Random)) {
    run(PROBLEMS, problem);
}

/// [`fuzz`] of problems that are mostly compiled.
pub(crate) fn fuzz_few(problem: impl Fn(&Device, &mut Random)) {
    run(PROBLEMS_TO_COMPILE, problem);
}

fn run(problems: u64, problem: impl Fn(&Device, &mut Random)) {
    /// More are not worth waiting for: after a lost device every problem fails.
    const FAILURES: usize = 8;
    let device = common::device();
    let mut campaign = Campaign::new(problems);
    let mut failed = Vec::new();
    while let Some(seed) = campaign.next().filter(|_| failed.len() < FAILURES) {
        campaign.note(seed, "");
        let mut rng = Random(seed.wrapping_mul(0x9e37_79b9));
        let run = catch_unwind(AssertUnwindSafe(|| problem(&device, &mut rng)));
        if run.is_err() {
            eprintln!("run again with ZIGGURAT_FUZZ_SEED={seed} ZIGGURAT_FUZZ_CASES=1");
            failed.push(seed);
        }
    }
    eprintln!("{} problems", campaign.done());
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
    /// As often as not the ends of the dtype: those of [`Values::Special`], the largest and the least number, subnormal
    /// numbers. In memory, never as the value of a pending expression, which an adapter may flush.
    Extreme,
}

/// The ends of a dtype and what is around 0.
pub(crate) fn ends(dtype: DType) -> Vec<f64> {
    let least = match dtype {
        DType::F16 => [-24, -14],
        DType::BF16 => [-133, -126],
        _ => [-149, -126],
    };
    let [subnormal, normal] = least.map(|power| 2f64.powi(power));
    let any = [
        -0.0,
        1.0,
        -1.0,
        subnormal,
        normal - subnormal,
        -normal,
        normal,
    ];
    let any = any.iter().map(|&x| round_to(dtype, x));
    let (low, high) = match dtype {
        DType::F32 => (f64::from(f32::MIN), f64::from(f32::MAX)),
        DType::F16 => (-65_504.0, 65_504.0),
        DType::BF16 => (
            -(2f64.powi(128) - 2f64.powi(120)),
            2f64.powi(128) - 2f64.powi(120),
        ),
        DType::I32 => (f64::from(i32::MIN), f64::from(i32::MAX)),
        DType::U32 => (0.0, f64::from(u32::MAX)),
        DType::I8 => (-128.0, 127.0),
        DType::U8 => (0.0, 255.0),
        DType::Bool => (0.0, 1.0),
    };
    let infinite = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
    let infinite = infinite.iter().filter(|_| dtype.is_float());
    any.chain([low, high]).chain(infinite.copied()).collect()
}

fn value(dtype: DType, values: Values, rng: &mut Random) -> f64 {
    const SPECIAL: [f64; 5] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0];
    match (values, rng.below(12)) {
        (Values::Special, 0) if dtype.is_float() => rng.pick(&SPECIAL),
        (Values::Special, 1..=3) => round_to(dtype, rng.below(3) as f64),
        (Values::Extreme, 0..=5) => rng.pick(&ends(dtype)),
        (Values::Extreme, 6..=7) => round_to(dtype, rng.below(3) as f64),
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

/// A tensor of these extents in any arrangement; unless its values are extreme, at times that of a pending expression.
pub(crate) fn given(
    device: &Device,
    dtype: DType,
    dims: &[usize],
    values: Values,
    rng: &mut Random,
) -> Given {
    let of = |rng: &mut Random| value(dtype, values, rng);
    if values == Values::Extreme {
        in_memory(device, dtype, dims, rng, of)
    } else {
        made(device, dtype, dims, rng, of)
    }
}

/// As [`in_memory`], at times the value of a pending expression: its negation.
pub(crate) fn made(
    device: &Device,
    dtype: DType,
    dims: &[usize],
    rng: &mut Random,
    value: impl FnMut(&mut Random) -> f64,
) -> Given {
    let plain = in_memory(device, dtype, dims, rng, value);
    if dtype.is_bool() || rng.below(4) > 0 {
        return plain;
    }
    let negated = plain.values.iter();
    Given {
        tensor: plain.tensor.neg().unwrap(),
        values: negated.map(|&x| unary(Unary::Neg, dtype, x)).collect(),
    }
}

/// Stored values in any arrangement, the first of which was made first.
pub(crate) fn in_memory(
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
    Given {
        tensor,
        values: shown,
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

/// [`extents`] of some thousand elements at most.
pub(crate) fn modest(rank: usize, rng: &mut Random) -> Vec<usize> {
    let mut dims = extents(rank, rng);
    while dims.iter().product::<usize>() > 8000 {
        if let Some(most) = dims.iter_mut().max() {
            *most = most.div_ceil(2);
        }
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
