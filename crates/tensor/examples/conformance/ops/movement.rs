//! Shape, movement, indexing, scan, sort and selection.

use super::Row;

/// The family's ops by name.
pub(super) const OPS: &[Row] = &[];
