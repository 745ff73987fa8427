//! Checks: operations that compute nothing and look at what the next operation is about to do.
//!
//! They exist only in programs compiled for a sanitizer, so that other programs pay nothing. Each
//! belongs to a [`Site`], a place in the WGSL text.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use parking_lot::Mutex;

use super::ir::{Addr, MatrixShape, Reg, Rmw, Scaled};
use super::shadow::PAGE_BYTES;
use crate::sanitize::{Checks, Kind};

/// A place in the text.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Site {
    pub(super) line: u32,
    /// The variable or operation, as the text calls it.
    pub(super) name: String,
    /// What its words are, to print them.
    pub(super) shown: Shown,
}

/// How a word is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Shown {
    Float,
    Signed,
    Unsigned,
    Bool,
}

impl Shown {
    pub(super) fn text(self, bits: u32) -> String {
        match self {
            Self::Float => format!("{:?}", f32::from_bits(bits)),
            Self::Signed => (bits as i32).to_string(),
            Self::Unsigned => bits.to_string(),
            Self::Bool => (bits != 0).to_string(),
        }
    }
}

/// A variable in a buffer.
#[derive(Clone, Debug)]
pub(super) struct Variable {
    pub(super) name: String,
    pub(super) line: u32,
    pub(super) written: bool,
}

/// How memory is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Usage {
    pub(super) read: bool,
    pub(super) write: bool,
    pub(super) atomic: bool,
    pub(super) rmw: Option<Rmw>,
}

/// What a barrier orders.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Order {
    pub(super) workgroup: bool,
    pub(super) storage: bool,
    pub(super) subgroup: bool,
}

/// One check. Numbers of sites are indices into [`super::ir::Code::sites`].
#[derive(Clone, Debug)]
pub(super) struct Check {
    pub(super) site: u32,
    pub(super) what: What,
}

#[derive(Clone, Debug)]
pub(super) enum What {
    /// `words` words, or one half word, per invocation.
    Memory {
        at: Addr,
        /// Dynamic parts of the pointer that `at` has in its base.
        trail: Vec<Scaled>,
        words: u32,
        half: bool,
        usage: Usage,
        /// What is written, or the operand of a read-modify-write.
        v: Vec<Reg>,
    },
    Matrix {
        at: Addr,
        trail: Vec<Scaled>,
        stride: Reg,
        shape: MatrixShape,
        write: bool,
    },
    /// Among that many registers.
    Index {
        index: Reg,
        len: u32,
    },
    /// All invocations are here; then memory is in order.
    Barrier {
        order: Order,
        uniform: bool,
    },
    /// All invocations of each subgroup that has some here are.
    Subgroup,
    /// All invocations use one address.
    SameAddress {
        at: Addr,
    },
    /// Operands of an integer division or remainder, one or two words each.
    Divide {
        a: Vec<Reg>,
        b: Vec<Reg>,
        signed: bool,
        bits: u32,
    },
    Shift {
        b: Reg,
        bits: u32,
    },
    /// From a float (two words if `wide`) to an integer of `bits` bits.
    Convert {
        a: Vec<Reg>,
        signed: bool,
        bits: u32,
    },
    /// Float results and operands; two words each if `wide`. The operands are those of the whole
    /// subgroup if it computes `together`.
    Result {
        d: Vec<Reg>,
        a: Vec<Reg>,
        wide: bool,
        together: bool,
    },
}

/// An invocation that takes part in a finding.
#[derive(Clone, Debug)]
pub(crate) struct Party {
    pub(crate) line: u32,
    pub(crate) workgroup: [u32; 3],
    pub(crate) invocation: [u32; 3],
    pub(crate) does: String,
}

/// Something that is wrong; the first of its kind at its line in a dispatch.
#[derive(Clone, Debug)]
pub(crate) struct Raw {
    pub(crate) kind: Kind,
    pub(crate) line: u32,
    pub(crate) party: Option<Party>,
    pub(crate) other: Option<Party>,
    pub(crate) message: String,
    /// Another declaration that it is about, and its line.
    pub(crate) with: Option<(String, u32)>,
    pub(crate) count: u64,
}

/// What a checked run is given, and where it leaves what it finds.
#[derive(Debug)]
pub(crate) struct Watch {
    pub(crate) checks: Checks,
    /// A number that no other dispatch or workgroup of the process has; not 0.
    pub(crate) dispatch: u32,
    /// Bytes that remembering uses of memory may take.
    pub(crate) shadow_bytes: u64,
    /// Bytes that it takes, or would take.
    shadow_used: AtomicU64,
    found: Mutex<Vec<Raw>>,
}

impl Watch {
    /// For a dispatch of so many workgroups.
    pub(crate) fn new(checks: Checks, workgroups: [u32; 3], shadow_bytes: u64) -> Self {
        // Room for 4 thousand million workgroups of a process before a number comes again.
        static NEXT: AtomicU32 = AtomicU32::new(1);
        let workgroups = workgroups.iter().fold(1u32, |all, n| all.wrapping_mul(*n));
        let numbers = workgroups.wrapping_add(1);
        Self {
            checks,
            dispatch: NEXT.fetch_add(numbers, Ordering::Relaxed).max(1),
            shadow_bytes,
            shadow_used: AtomicU64::new(0),
            found: Mutex::default(),
        }
    }

    /// Whether there is room to remember one more page of uses, which is then taken.
    pub(super) fn take_shadow(&self) -> bool {
        let used = self.shadow_used.fetch_add(PAGE_BYTES, Ordering::Relaxed);
        used.saturating_add(PAGE_BYTES) <= self.shadow_bytes
    }

    /// Whether there was no room.
    pub(super) fn shadow_is_full(&self) -> bool {
        self.shadow_used.load(Ordering::Relaxed) > self.shadow_bytes
    }

    /// A number that no other workgroup or dispatch has, for memory that each workgroup has to itself.
    pub(super) fn workgroup(&self, group: u64) -> u32 {
        let number = self.dispatch.wrapping_add(group as u32).wrapping_add(1);
        number.max(1)
    }

    /// Adds a finding, or counts it if there is one of its kind at its line; `make` gives the rest.
    pub(super) fn find(&self, kind: Kind, line: u32, make: impl FnOnce() -> Raw) {
        let mut found = self.found.lock();
        match found
            .iter_mut()
            .find(|raw| raw.kind == kind && raw.line == line)
        {
            Some(raw) => raw.count += 1,
            None => found.push(make()),
        }
    }

    pub(crate) fn into_found(self) -> Vec<Raw> {
        self.found.into_inner()
    }
}
