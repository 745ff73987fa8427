//! Tuning: measuring, on one adapter, the ways in which ops can be computed, and taking the fastest.
//!
//! [`Executor::tune`](crate::Executor::tune) notes which problems a program has ([`meet`]), runs each of their [ways](crate::ops::ways)
//! on scratch memory that lies like theirs ([`trial`]), refuses those whose results are further from the default's than the op's
//! bound allows ([`check`]), and keeps the fastest in the store of the pipeline layer, where plans find it.
//!
//! Invariants: without a store nothing is looked up and nothing changes; a stored way is taken only if it is among the ways of
//! the very problem that is planned; whatever goes wrong with one way, the default is left.

mod check;
mod meet;
mod name;
mod options;
mod report;
mod trial;
mod tuner;

pub(crate) use meet::{Forced, Meetings};
pub(crate) use name::{Class, Named, WayName, bucket};

pub use meet::Problems;
pub use options::{TuneOptions, TuneStep};
pub use report::{TuneEnd, TuneReport, TunedOutcome, TunedProblem, TunedWay, WayOutcome};

#[cfg(test)]
mod tests;
