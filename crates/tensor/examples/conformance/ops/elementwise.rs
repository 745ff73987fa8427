//! Functions of one to three elements, activations, casts.

use super::Row;

/// The family's ops by name.
pub(super) const OPS: &[Row] = &[];
