//! What recording counts of a pending expression, so that none grows beyond what a kernel can be.

use super::Node;

/// How large the pending expression below a node is. Counts of what is shared may be too high, never too low (but for a
/// leaf at the address of one that is gone, where the planner finds out).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cost {
    /// Ops.
    pub(crate) ops: u32,
    /// The longest way down.
    pub(crate) depth: u32,
    /// Values in memory that are read.
    pub(crate) leaves: u32,
    /// Bytes of the memory that is held to be read.
    pub(crate) bytes: u64,
    /// The addresses of the leaves if those are few and known, so that each is counted once; else zeros.
    pub(crate) few: [usize; 4],
    /// Whether something may have been counted twice.
    pub(crate) rough: bool,
}

impl Cost {
    /// That of a kernel which counts as so many ops and reads so many values.
    pub(crate) fn kernel(ops: u32, leaves: u32, bytes: u64) -> Self {
        Self {
            ops,
            depth: 1,
            leaves,
            bytes,
            ..Self::default()
        }
    }

    /// Adds a leaf.
    pub(crate) fn add_leaf(&mut self, node: &Node, bytes: impl FnOnce() -> u64) {
        let address = std::ptr::from_ref(node).addr();
        if self.few.contains(&address) {
            return;
        }
        let known = self.leaves as usize;
        match self.known_leaves() {
            Some(_) => match self.few.get_mut(known) {
                Some(slot) => *slot = address,
                None => self.few = [0; 4],
            },
            None => self.rough = true,
        }
        self.leaves = self.leaves.saturating_add(1);
        self.bytes = self.bytes.saturating_add(bytes());
    }

    /// The cost of something over both.
    pub(crate) fn combined(&self, other: &Self) -> Self {
        let (few, more) = self.combined_leaves(other);
        Self {
            ops: self.ops.saturating_add(other.ops),
            depth: self.depth.max(other.depth),
            leaves: self.leaves.saturating_add(more.unwrap_or(other.leaves)),
            bytes: match more {
                Some(0) => self.bytes,
                _ => self.bytes.saturating_add(other.bytes),
            },
            few,
            // Two pending expressions may have a part in common.
            rough: self.rough || other.rough || more.is_none() || (self.ops > 0 && other.ops > 0),
        }
    }

    /// The leaves of both, and how many `other` adds; `None` if they are not known by their addresses.
    fn combined_leaves(&self, other: &Self) -> ([usize; 4], Option<u32>) {
        let (Some(mine), Some(others)) = (self.known_leaves(), other.known_leaves()) else {
            return ([0; 4], None);
        };
        let (mut few, mut known, mut more) = (self.few, mine.len(), 0);
        for leaf in others {
            if mine.contains(leaf) {
                continue;
            }
            let Some(slot) = few.get_mut(known) else {
                return ([0; 4], None);
            };
            *slot = *leaf;
            known += 1;
            more += 1;
        }
        (few, Some(more))
    }

    fn known_leaves(&self) -> Option<&[usize]> {
        let leaves = self.few.get(..self.leaves as usize)?;
        leaves
            .last()
            .is_none_or(|last| *last != 0)
            .then_some(leaves)
    }
}
