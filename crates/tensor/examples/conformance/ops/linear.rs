//! Matrix products, convolution, pooling, resampling.

use super::Row;

/// The family's ops by name.
pub(super) const OPS: &[Row] = &[];
