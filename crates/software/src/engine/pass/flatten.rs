//! Small branches without masks: both are computed for all active lanes, and each assignment keeps
//! the lanes that would not have made it.
//!
//! Splitting the mask and joining it again costs as much as some ten operations.

use super::{Block, Op, Reg, Use, get};

/// Operations of both branches together, above which a branch stays one.
const MOST: usize = 16;

/// Flattens small branches whose condition varies.
pub(super) fn flatten(block: &mut Block, varying: &[bool]) {
    let mut out = Block::with_capacity(block.len());
    for mut op in block.drain(..) {
        for (inner, _) in op.blocks_mut() {
            flatten(inner, varying);
        }
        match op {
            Op::If { c, then, other } if fits(c, &then, &other, varying) => {
                out.extend(then.into_iter().map(|op| merge(op, c, true)));
                out.extend(other.into_iter().map(|op| merge(op, c, false)));
            }
            op => out.push(op),
        }
    }
    *block = out;
}

fn fits(c: Reg, then: &Block, other: &Block, varying: &[bool]) -> bool {
    let simple = |op: &Op| {
        let mut changes_condition = false;
        op.each(&mut |reg, used| changes_condition |= used != Use::Read && *reg == c);
        !changes_condition
            && matches!(
                op,
                Op::Un { .. } | Op::Bin { .. } | Op::Tri { .. } | Op::Mov { .. } | Op::Index { .. }
            )
    };
    get(varying, c) && then.len() + other.len() <= MOST && then.iter().chain(other).all(simple)
}

fn merge(op: Op, c: Reg, on: bool) -> Op {
    match op {
        Op::Mov { d, a, masked: true } => Op::Merge { d, a, c, on },
        op => op,
    }
}
