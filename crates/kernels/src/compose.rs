//! Ops that are made of other ops: expressions, and calls one after the other.

pub(crate) mod assemble;
pub(crate) mod composite;
