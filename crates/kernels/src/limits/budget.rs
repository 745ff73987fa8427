//! How long an invocation may loop in one dispatch, and how longer work is cut.
//!
//! Mesa's software drivers end an invocation after 65,535 iterations of its loops, all of them together, without a word: its
//! results are missing. GPUs have watchdogs. So no dispatch of this crate goes beyond the device's `max_loop_iterations`: what would is cut into
//! several dispatches that go on with each other's sums, or into more invocations.

use crate::ops::reduce::geometry::ReduceGeometry;
use crate::ops::reduce::lanes::{self, Registers};
use crate::run::error::{CannotFuse, KernelError};
use crate::run::executor::Executor;

/// Iterations of the loop of a power, at most.
pub(crate) const POWER_ITERATIONS: u64 = 4;

impl Executor {
    /// The most iterations of its loops that an invocation takes in one dispatch.
    pub(crate) fn max_iterations(&self) -> u64 {
        u64::from(self.device().caps().max_loop_iterations)
    }

    /// How lanes keep rows in registers, for kernels with so many bindings where rows are cut into chunks; `None` if they are to
    /// be cut, and an error if there are too many bindings for that.
    pub(crate) fn rows_in_registers(
        &self,
        geometry: &ReduceGeometry,
        needed: usize,
    ) -> Result<Option<Registers>, KernelError> {
        let (side, ability) = (geometry.side(), self.ability());
        let registers = lanes::registers(geometry.outputs, geometry.len, side, &ability);
        let limit = self.fused_limits().bindings;
        if registers.is_some() || needed <= limit {
            return Ok(registers);
        }
        match lanes::in_registers_for_any_count(geometry.outputs, geometry.len, side, &ability) {
            None => Err(CannotFuse::LongRows { needed, limit }.into()),
            slow => Ok(slow),
        }
    }
}

/// Iterations of loops within each other, the outermost first, each by its own count. The turn that leaves a loop passes through
/// those within it once.
pub(crate) fn nested(counts: &[u64]) -> u64 {
    let (iterations, _) = counts.iter().rev().fold((0_u64, 0), |(inner, depth), &n| {
        let own = n.saturating_mul(inner.saturating_add(1));
        (own.saturating_add(1 + depth), depth + 1)
    });
    iterations
}

/// What one dispatch of several does: along each axis `len` elements from `from` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part<const N: usize> {
    pub(crate) from: [u64; N],
    pub(crate) len: [u64; N],
    /// Whether it is not the first.
    pub(crate) resumed: bool,
    pub(crate) is_last: bool,
}

/// Extents cut into parts that take at most so many iterations each, if `iterations`, which grows with each extent, allows it for one
/// element: as few axes as possible are cut, from the first on. Without elements there is one part.
pub(crate) fn parts<const N: usize>(
    extents: [u64; N],
    most: u64,
    iterations: impl Fn([u64; N]) -> u64,
) -> Vec<Part<N>> {
    let mut len = extents;
    for axis in 0..N {
        if iterations(len) <= most {
            break;
        }
        let with = |n| {
            let mut cut = len;
            if let Some(slot) = cut.get_mut(axis) {
                *slot = n;
            }
            cut
        };
        let extent = extents.get(axis).copied().unwrap_or(1).max(1);
        // The most that fit, or one.
        let (mut low, mut high) = (1, extent);
        while low < high {
            let middle = high - (high - low) / 2;
            if iterations(with(middle)) <= most {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        len = with(extent.div_ceil(extent.div_ceil(low)));
    }
    let mut all = vec![Part {
        from: [0; N],
        len: extents,
        resumed: false,
        is_last: false,
    }];
    for axis in 0..N {
        all = all
            .iter()
            .flat_map(|part| along(part, axis, len.get(axis).copied().unwrap_or(1)))
            .collect();
    }
    let last = all.len().saturating_sub(1);
    for (at, part) in all.iter_mut().enumerate() {
        part.resumed = at > 0;
        part.is_last = at == last;
    }
    all
}

/// A part cut along an axis into pieces of `step`.
fn along<const N: usize>(part: &Part<N>, axis: usize, step: u64) -> Vec<Part<N>> {
    let extent = part.len.get(axis).copied().unwrap_or(0);
    let mut pieces = Vec::new();
    let mut first = 0;
    while first < extent || pieces.is_empty() {
        let mut piece = *part;
        if let (Some(from), Some(len)) = (piece.from.get_mut(axis), piece.len.get_mut(axis)) {
            (*from, *len) = (first, step.min(extent - first));
        }
        pieces.push(piece);
        first += step.max(1);
    }
    pieces
}

/// The steps from 0 to `n`, each of its own number of iterations, in pieces of at most so many.
pub(crate) fn pieces(n: u64, most: u64, iterations: impl Fn(u64) -> u64) -> Vec<[u64; 2]> {
    let mut pieces = Vec::new();
    let (mut first, mut sum) = (0, 0);
    for step in 0..n {
        let own = iterations(step);
        if step > first && sum + own > most {
            pieces.push([first, step]);
            (first, sum) = (step, 0);
        }
        sum += own;
    }
    pieces.push([first, n]);
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: u64 = 1 << 15;

    #[test]
    fn nested_loops_count_as_lavapipe_counts_them() {
        assert_eq!(nested(&[]), 0);
        assert_eq!(nested(&[7]), 8);
        // Measured: 22 iterations per channel of a convolution with 3 x 3 taps.
        assert_eq!(nested(&[2900, 1, 3, 3]), 2900 * 22 + 4);
    }

    #[test]
    fn what_fits_is_one_part() {
        let all = parts([100, 1, 3, 3], MOST, |len| nested(&len));
        let only = Part {
            from: [0; 4],
            len: [100, 1, 3, 3],
            resumed: false,
            is_last: true,
        };
        assert_eq!(all, [only]);
        assert_eq!(parts([0, 5], MOST, |len| nested(&len)).len(), 1);
    }

    #[test]
    fn parts_cover_everything_once_within_the_limit() {
        for extents in [
            [5000, 1, 3, 3],
            [1, 1, 1, 100_000],
            [3, 1, 300, 300],
            [7, 40_000, 2, 3],
            [1, 1, 200_000, 1],
        ] {
            let iterations = |len: [u64; 4]| nested(&len);
            let all = parts(extents, MOST, iterations);
            assert!(all.len() > 1);
            let count: u64 = all
                .iter()
                .map(|part| part.len.iter().product::<u64>())
                .sum();
            assert_eq!(count, extents.iter().product());
            for (at, part) in all.iter().enumerate() {
                assert!(iterations(part.len) <= MOST, "{part:?}");
                assert_eq!(part.resumed, at > 0);
                assert_eq!(part.is_last, at + 1 == all.len());
                let mut ends = part.from.iter().zip(&part.len).zip(&extents);
                assert!(ends.all(|((from, len), extent)| from + len <= *extent));
                assert!(all[..at].iter().all(|other| other.from != part.from));
            }
        }
    }

    #[test]
    fn steps_are_cut_into_pieces() {
        assert_eq!(pieces(3, MOST, |_| 1), [[0, 3]]);
        assert_eq!(pieces(0, MOST, |_| 1), [[0, 0]]);
        assert_eq!(pieces(3, MOST, |_| MOST), [[0, 1], [1, 2], [2, 3]]);
    }
}
