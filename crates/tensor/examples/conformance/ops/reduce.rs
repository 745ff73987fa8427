//! Reductions and normalisations over axes, softmax, attention, rope.

use super::Row;

/// The family's ops by name.
pub(super) const OPS: &[Row] = &[];
