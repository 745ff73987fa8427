//! [`Flipped`]: transposed convolutions of stride 1, which are plain ones whose filters are read from the end.

use ziggurat_core::Layout;

use super::super::geometry::{Direction, Geometry};
use super::super::{Seen, chosen, plan, steps_of};
use crate::num::wrap;
use crate::run::error::KernelError;
use crate::run::plan::{Between, Bound, Planner};

/// The plain convolution, how its filters lie, and how far the first lies behind the first of the transposed one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flipped {
    inner: Geometry,
    w: Layout,
    behind: u32,
}

impl Flipped {
    /// `None` for another stride, or if more is cut off than a filter reaches.
    pub(super) fn new(g: &Geometry, seen: Seen<'_>) -> Option<Self> {
        if g.direction != Direction::Transposed || g.stride != [1; 3] {
            return None;
        }
        let mut inner = Geometry {
            direction: Direction::Forward,
            ..*g
        };
        for axis in 0..3 {
            let [input, kernel, output] = [g.input, g.kernel, g.output].map(|of| of[axis]);
            let reach = kernel.checked_sub(1)?.checked_mul(g.dilation[axis])?;
            inner.pads[axis] = reach.checked_sub(g.pads[axis])?;
            let read = output.checked_add(reach)?;
            let there = inner.pads[axis].checked_add(input)?;
            inner.padding_end[axis] = read.abs_diff(there);
        }
        let rank = isize::try_from(seen.w.rank()).ok()?;
        let taps: Vec<isize> = (2..rank).collect();
        let of_group = seen.w.narrow(0, 0, g.channels).ok()?;
        let w = of_group.transpose(0, 1).ok()?.flip(&taps).ok()?;
        let [first, last] = [seen.w, &w].map(|w| isize::try_from(w.offset()).ok());
        Some(Self {
            inner,
            w,
            behind: wrap(last?.checked_sub(first?)?),
        })
    }

    /// Adds the dispatches, in the way that was chosen for the plain convolution.
    pub(super) fn steps(&self, p: &mut Planner<'_>, seen: Seen<'_>) -> Result<(), KernelError> {
        let (g, seen) = (&self.inner, Seen { w: &self.w, ..seen });
        let method = chosen(p, g, seen, |ability| plan::ways(g, seen, ability));
        let filters = p.other(0)?.map(|filters| Bound {
            offset: filters.offset.wrapping_add(self.behind),
            ..filters
        });
        let between = Between {
            others: [filters, p.other(1)?],
            out: None,
        };
        p.with(between, |p| steps_of(p, g, seen, method))
    }
}
