//! Where shader text comes from: embedded files, the choice of a kernel, its parameters and constants.

pub(crate) mod candidate;
pub(crate) mod choice;
pub(crate) mod list;
pub(crate) mod params;
pub(crate) mod prelude;
pub(crate) mod rename;
pub(crate) mod shaders;
pub(crate) mod trusted;
