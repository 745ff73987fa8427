//! How the kernel of few rows lies over a product.

use super::Load;
use crate::limits::budget::nested;

/// How the kernel of few rows lies over a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Narrow {
    /// Rows of a workgroup: 1, 2, 4, 8 or 16.
    pub(crate) lines: u32,
    /// Groups of four columns of a workgroup, and parts of k: their product is [`NARROW_GROUP`].
    pub(crate) vec4: u32,
    pub(crate) slices: u32,
    pub(crate) a: Load,
    pub(crate) b: Load,
    pub(crate) out_vec4: bool,
    /// Neighbouring invocations load neighbours along k.
    pub(crate) b_along_depth: bool,
    /// f16 is read as the device's own type.
    pub(crate) native: bool,
    /// Few columns: the rows are those of the transposed product, whose results are written down the columns.
    pub(crate) columns: bool,
}

/// Invocations of a workgroup of the kernel of few rows.
pub(crate) const NARROW_GROUP: u32 = 256;
/// The bytes of workgroup memory that it takes.
pub(crate) const NARROW_BYTES: u32 = NARROW_GROUP * 4 * 16;

impl Narrow {
    /// How many workgroups cover an output, along its rows and its columns.
    pub(crate) const fn count(self, rows: u64, cols: u64) -> [u64; 2] {
        let columns = 4 * self.vec4 as u64;
        [rows.div_ceil(self.lines as u64), cols.div_ceil(columns)]
    }

    /// Loop iterations of an invocation for an inner extent of `k`.
    pub(super) fn iterations(self, k: u64) -> u64 {
        let blocks = k.div_ceil(4 * u64::from(self.slices));
        // Rows are added in a tree, four at a time.
        let tree = nested(&[u64::from(self.slices.ilog2())]);
        nested(&[blocks]) + u64::from(self.lines.div_ceil(4)) * tree
    }
}
