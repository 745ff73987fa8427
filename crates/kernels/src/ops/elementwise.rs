//! Elementwise ops: tables of rows, and the few plans and bodies that all of them share.
//!
//! A row is a name, the dtypes it exists for, an f64 and an integer reference, samples that tell it from its
//! neighbours, and a tolerance; the arithmetic is one WGSL snippet of the same name. Everything else (methods of
//! [`Executor`](crate::Executor), catalogue, tests) comes from the tables.

pub(crate) mod binary;
pub(crate) mod cast;
pub(crate) mod compare;
pub(crate) mod copy;
pub(crate) mod dispatch;
pub(crate) mod generate;
mod listing;
pub(crate) mod non_finite;
pub(crate) mod predicate;
pub(crate) mod row;
#[cfg(feature = "catalogue")]
pub(crate) mod tolerance;
pub(crate) mod transpose;
pub(crate) mod unary;
pub(crate) mod where_op;
