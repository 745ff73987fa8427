//! What a device limits, and how work beyond it is cut: bytes of a binding, iterations of a dispatch.

pub(crate) mod ability;
pub(crate) mod budget;
pub(crate) mod split;
