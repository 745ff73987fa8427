//! [`Ways`]: the kernels that can compute a problem, the default first.

use crate::limits::ability::Ability;
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

    /// The way that an op takes: the default, unless another one is asked for and there is one.
    pub(crate) fn chosen(&self, ability: &Ability) -> W {
        self.all()
            .nth(usize::from(ability.way))
            .unwrap_or(self.default)
    }

    /// Every way, the default first.
    pub(crate) fn all(&self) -> impl Iterator<Item = W> + '_ {
        std::iter::once(self.default).chain(self.others.iter().copied())
    }
}
