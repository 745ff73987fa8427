//! [`Form`]: how the operands of a graph lie in memory.

use ziggurat_core::{Coalesced, Layout, coalesce};

use crate::ops::elementwise::dispatch::{is_scalar, reads_whole};
use crate::run::view::View;

/// How a kernel reads one input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// Dense from a multiple of four elements on: four consecutive elements at once, or one where a kernel around the
    /// expression asks for one.
    Vec4,
    /// Like [`Self::Vec4`], from the binding of the output of this index, which is the same memory.
    InPlace(usize),
    /// One element for all.
    Scalar,
    /// Element by element, by strides.
    Strided,
    /// By strides, but four elements at once: along the innermost axis they are neighbours.
    Row,
    /// By strides, but one element for four: along the innermost axis there is only one.
    Splat,
    /// Not from memory: what the kernel around the expression computed.
    Given,
}

impl Access {
    pub(crate) fn code(self) -> u64 {
        match self {
            Self::Vec4 => 0,
            Self::Scalar => 1,
            Self::Strided => 2,
            Self::Given => 3,
            Self::Row => 4,
            Self::Splat => 5,
            Self::InPlace(output) => 6 + output as u64,
        }
    }

    /// Whether elements are found by strides.
    pub(crate) const fn is_strided(self) -> bool {
        matches!(self, Self::Strided | Self::Row | Self::Splat)
    }
}

/// How four neighbours along the innermost axis are read, the first at a multiple of four: if not one by one.
pub(crate) fn row(view: &View, dims: &[usize], strides: &[isize]) -> Option<Access> {
    let (inner, outer) = strides.split_last()?;
    if !dims.last()?.is_multiple_of(4) {
        return None;
    }
    match inner {
        1 => {
            let begins = outer.iter().all(|stride| stride % 4 == 0);
            (begins && view.layout.offset().is_multiple_of(4)).then_some(Access::Row)
        }
        0 => reads_whole(view).then_some(Access::Splat),
        _ => None,
    }
}

/// How a graph's operands lie in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Form {
    /// For each of the graph's inputs.
    pub(crate) inputs: Vec<Access>,
    /// Axes that strided inputs are walked over; 0 without such inputs.
    pub(crate) rank: usize,
}

/// How a kernel around an expression reads a view.
pub(crate) fn access(view: &View) -> Access {
    if view.layout.is_contiguous() && view.layout.offset().is_multiple_of(4) {
        Access::Vec4
    } else if is_scalar(view) {
        Access::Scalar
    } else {
        Access::Strided
    }
}

impl Form {
    /// The form of inputs of one shape that are read in these ways, and the common axes of those read by strides. `views`
    /// are those that are read from memory at all, in order.
    pub(crate) fn of<'a>(
        accesses: Vec<Access>,
        views: impl IntoIterator<Item = &'a View>,
    ) -> (Self, Option<Coalesced>) {
        let stored = accesses.iter().filter(|access| **access != Access::Given);
        let strided: Vec<&View> = stored
            .zip(views)
            .filter(|(access, _)| **access == Access::Strided)
            .map(|(_, view)| view)
            .collect();
        let layouts: Vec<Layout> = strided.iter().map(|view| view.layout).collect();
        let coalesced = (!strided.is_empty()).then(|| coalesce(&layouts));
        let rank = coalesced
            .as_ref()
            .map_or(0, |coalesced| Self::rank_class(coalesced.dims.len()));
        let mut inputs = accesses;
        if let Some(coalesced) = &coalesced {
            let by_strides = inputs.iter_mut().filter(|access| access.is_strided());
            for (access, (view, strides)) in by_strides.zip(strided.iter().zip(&coalesced.strides))
            {
                *access = row(view, &coalesced.dims, strides).unwrap_or(*access);
            }
        }
        (Self { inputs, rank }, coalesced)
    }

    /// The smallest class for `rank` axes.
    pub(crate) fn rank_class(rank: usize) -> usize {
        if rank > 4 { 8 } else { rank.max(1) }
    }

    /// Inputs that are read by strides.
    pub(crate) fn strided(&self) -> usize {
        self.inputs
            .iter()
            .filter(|access| access.is_strided())
            .count()
    }

    /// Inputs with a binding of their own.
    pub(crate) fn bindings(&self) -> usize {
        self.inputs
            .iter()
            .filter(|access| !matches!(access, Access::InPlace(_) | Access::Given))
            .count()
    }
}
