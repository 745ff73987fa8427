//! Padding of what one binding cannot hold: along one axis after the other, by copies of the runs that its positions make.

use ziggurat_core::Shape;

use super::{OP, Pad};
use crate::compose::assemble::{narrow, signed};
use crate::run::error::KernelError;
use crate::run::executor::Executor;
use crate::run::view::View;

/// Neighbouring positions of the result and the positions they continue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    len: usize,
    /// The first position named.
    from: usize,
    /// From one to the next: forth, back, or nowhere.
    step: isize,
}

/// The runs of `len` positions that continue `extent` elements, the first of which stands at `begin`.
fn runs(mode: Pad, extent: usize, begin: isize, len: usize) -> Vec<Run> {
    let mut all = Vec::new();
    let n = signed(extent);
    let mut at = 0;
    while at < len {
        let x = signed(at) - begin;
        let forth = |from: isize| (from, n - from, 1);
        let (from, most, step) = match mode {
            Pad::Circular => forth(x.rem_euclid(n)),
            Pad::Constant | Pad::Replicate if x < 0 => (0, -x, 0),
            Pad::Constant | Pad::Replicate if x < n => forth(x),
            Pad::Constant | Pad::Replicate => (n - 1, isize::MAX, 0),
            Pad::Symmetric => match x.rem_euclid(2 * n) {
                place if place < n => forth(place),
                place => (2 * n - 1 - place, 2 * n - place, -1),
            },
            Pad::Reflect if n == 1 => (0, isize::MAX, 0),
            Pad::Reflect => match x.rem_euclid(2 * n - 2) {
                place if place < n => forth(place),
                place => (2 * n - 2 - place, 2 * n - 2 - place, -1),
            },
        };
        let run = Run {
            len: most.unsigned_abs().min(len - at),
            from: from.unsigned_abs(),
            step,
        };
        all.push(run);
        at += run.len.max(1);
    }
    all
}

impl Executor {
    /// As [`Executor::pad`], for a mode that continues the elements, of which there are some.
    pub(super) fn pad_runs(
        &self,
        a: &View,
        begin: &[isize],
        mode: Pad,
        out: &View,
    ) -> Result<(), KernelError> {
        let mut current = a.clone();
        for (axis, &start) in begin.iter().enumerate() {
            let extent = |view: &View| view.dims().get(axis).copied().unwrap_or(0);
            let (old, new) = (extent(&current), extent(out));
            if start == 0 && old == new {
                continue;
            }
            let mut dims = current.dims().to_vec();
            if let Some(dim) = dims.get_mut(axis) {
                *dim = new;
            }
            let shape = Shape::new(&dims).map_err(KernelError::shape(OP))?;
            let wider = self.alloc(&shape, a.dtype)?;
            let mut at = 0;
            for run in runs(mode, old, start, new) {
                let target = narrow(OP, &wider, axis, at, run.len)?;
                let first = if run.step < 0 {
                    run.from + 1 - run.len
                } else {
                    run.from
                };
                let named = if run.step == 0 { 1 } else { run.len };
                let source = narrow(OP, &current, axis, first, named)?;
                let layout = if run.step < 0 {
                    source.layout.flip(&[signed(axis)])
                } else {
                    source.layout.expand(*target.shape())
                };
                let source = source.with_layout(layout.map_err(KernelError::shape(OP))?)?;
                self.copy_into(OP, &source, &target)?;
                at += run.len;
            }
            current = wider;
        }
        self.copy_into(OP, &current, out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn positions(mode: Pad, extent: usize, begin: isize, len: usize) -> Vec<isize> {
        let runs = runs(mode, extent, begin, len);
        let places = |run: Run| (0..signed(run.len)).map(move |i| signed(run.from) + i * run.step);
        runs.into_iter().flat_map(places).collect()
    }

    #[test]
    fn runs_name_what_the_modes_continue() {
        assert_eq!(
            positions(Pad::Reflect, 3, 3, 9),
            [1, 2, 1, 0, 1, 2, 1, 0, 1]
        );
        assert_eq!(
            positions(Pad::Symmetric, 3, 4, 9),
            [2, 2, 1, 0, 0, 1, 2, 2, 1]
        );
        assert_eq!(positions(Pad::Replicate, 3, 2, 7), [0, 0, 0, 1, 2, 2, 2]);
        assert_eq!(positions(Pad::Circular, 3, 2, 7), [1, 2, 0, 1, 2, 0, 1]);
        assert_eq!(positions(Pad::Circular, 4, -1, 3), [1, 2, 3]);
        assert_eq!(positions(Pad::Reflect, 1, 2, 4), [0; 4]);
        assert_eq!(positions(Pad::Reflect, 2, 2, 5), [0, 1, 0, 1, 0]);
    }
}
