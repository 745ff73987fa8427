//! What a batch tells of its sequences.

use std::fmt;

use crate::Error;
use crate::generation::{Finish, Piece};

/// Which sequence of a [`Batch`](crate::Batch) something is about. None is used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SequenceId(pub(super) u64);

impl fmt::Display for SequenceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What happened to a sequence in a step.
#[derive(Debug)]
pub enum Event {
    /// A token was drawn, or text came out that waited.
    Piece(Piece),
    /// The text is complete, and the sequence has left.
    Finished(Finish),
    /// The sequence cannot go on, and has left: its context is full, say. The others go on.
    Failed(Error),
}
