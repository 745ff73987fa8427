//! Convolutions of operands that one binding cannot hold: by images, and without groups by filters.

use super::Images;
use super::geometry::Direction;
use crate::limits::split::Joint;
use crate::run::error::KernelError;
use crate::run::executor::Executor;
use crate::run::view::View;

impl Executor {
    /// Calls `f` with parts of the operands if they are too large to be bound; whether it did.
    pub(super) fn conv_split(
        &self,
        op: &'static str,
        (direction, groups): (Direction, usize),
        images: Images<'_>,
        out: &View,
        f: &mut dyn FnMut(Images<'_>, &View) -> Result<(), KernelError>,
    ) -> Result<bool, KernelError> {
        let Images { x, w, bias } = images;
        if !self.exceeds_binding(&[x, w, out]) {
            return Ok(false);
        }
        let filters = match direction {
            Direction::Forward => 0,
            Direction::Transposed => 1,
        };
        let joints = || {
            let mut all: Vec<Joint<4>> = vec![[Some(0), None, None, Some(0)]];
            if groups == 1 {
                let biases = if bias.is_some() { 0 } else { filters };
                all.push([None, Some(filters), Some(biases), Some(1)]);
            }
            all
        };
        // The weights stand for a bias that is not there.
        let views = [x, w, bias.unwrap_or(w), out];
        self.split(
            op,
            views,
            1,
            joints,
            &mut |[x, w, other, out]: &[View; 4]| {
                let bias = bias.map(|_| other);
                f(Images { x, w, bias }, out)
            },
        )
    }
}
