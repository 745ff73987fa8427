//! [`Ways`]: the kernels that can compute a problem, the default first.

use crate::source::list::List;

/// Ways to compute a problem on a device. The default is what an op takes; what else there is, a tuner may measure.
#[derive(Clone, Debug)]
pub(crate) struct Ways<W> {
    pub(crate) default: W,
    others: List<W, 4>,
}

impl<W: Copy> Ways<W> {
    pub(crate) fn new(default: W, others: impl IntoIterator<Item = W>) -> Self {
        let mut list = List::new();
        list.extend(others);
        Self {
            default,
            others: list,
        }
    }

    /// Every way, the default first.
    pub(crate) fn all(&self) -> impl Iterator<Item = W> + '_ {
        std::iter::once(self.default).chain(self.others.iter().copied())
    }
}
