//! [`Form`]: how the operands of a graph lie in memory.

use ziggurat_core::{Coalesced, Layout, coalesce};

use crate::run::view::View;

/// How a kernel reads one input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// Dense: four consecutive elements at once, or one where a kernel around the expression asks for one.
    Quad,
    /// Like [`Self::Quad`], from the binding of the output of this index, which is the same memory.
    InPlace(usize),
    /// One element for all.
    Scalar,
    /// Element by element, by strides.
    Strided,
    /// Not from memory: what the kernel around the expression computed.
    Given,
}

impl Access {
    pub(crate) fn code(self) -> u64 {
        match self {
            Self::Quad => 0,
            Self::Scalar => 1,
            Self::Strided => 2,
            Self::Given => 3,
            Self::InPlace(output) => 4 + output as u64,
        }
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

/// How a kernel around an expression reads a view, element by element.
pub(crate) fn access(view: &View) -> Access {
    if view.layout.is_contiguous() {
        Access::Quad
    } else if view.layout.span().is_some_and(|(low, high)| low == high) {
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
        let strided: Vec<Layout> = stored
            .zip(views)
            .filter(|(access, _)| **access == Access::Strided)
            .map(|(_, view)| view.layout)
            .collect();
        let walk = (!strided.is_empty()).then(|| coalesce(&strided));
        let rank = walk
            .as_ref()
            .map_or(0, |walk| Self::rank_class(walk.dims.len()));
        let inputs = accesses;
        (Self { inputs, rank }, walk)
    }

    /// The smallest class that holds walks over `rank` axes.
    pub(crate) fn rank_class(rank: usize) -> usize {
        if rank > 4 { 8 } else { rank.max(1) }
    }

    /// Inputs that are read by strides.
    pub(crate) fn strided(&self) -> usize {
        self.inputs
            .iter()
            .filter(|access| **access == Access::Strided)
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
