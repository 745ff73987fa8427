//! Passes over a lowered program, in order: copies and dead operations go, homes and uniformity are
//! found, small branches become merges, what is known of bits simplifies operations, operations are
//! fused, places are given.

mod allocate;
mod copies;
mod flatten;
mod fuse;
mod home;
mod known;
mod table;
mod uniform;

use super::ir::{Block, Code, Op, Reg, Use};

/// Makes a lowered program ready to run.
pub(super) fn optimise(code: &mut Code) {
    copies::propagate(code);
    copies::remove_dead(code);
    let homes = home::find(code);
    let varying = uniform::decide(code, &homes);
    flatten::flatten(&mut code.block, &varying);
    known::simplify(code);
    fuse::fuse(code, &varying);
    allocate::allocate(code, &homes, &varying);
    code.ordered |= sees_order(&code.block);
}

/// Whether results can depend on the order in which workgroups run.
fn sees_order(block: &Block) -> bool {
    use super::ir::{Rmw, Space};
    block.iter().any(|op| match op {
        Op::Atomic { rmw, d, at, .. } => {
            let commutes = !matches!(
                rmw,
                Rmw::Exchange | Rmw::CompareExchange | Rmw::AddFloat | Rmw::SubFloat
            );
            matches!(at.space, Space::Binding(_)) && (!commutes || !d.is_empty())
        }
        Op::If { then, other, .. } => sees_order(then) || sees_order(other),
        Op::Loop { body, cont, .. } => sees_order(body) || sees_order(cont),
        Op::Scope { body, .. } => sees_order(body),
        _ => false,
    })
}

/// Visits every register use of a block and of those within, in order of execution.
fn each_use(block: &mut Block, f: &mut dyn FnMut(&mut Reg, Use)) {
    for op in block {
        op.each_mut(f);
        for (inner, last) in op.blocks_mut() {
            each_use(inner, f);
            if let Some(last) = last {
                f(last, Use::Read);
            }
        }
    }
}

/// How often each register is written.
fn count_writes(code: &mut Code) -> Vec<u32> {
    let mut counts = vec![0u32; code.registers as usize];
    for (reg, _) in &code.inputs {
        bump(&mut counts, *reg);
    }
    each_use(&mut code.block, &mut |reg, used| {
        if used != Use::Read {
            bump(&mut counts, *reg);
        }
    });
    counts
}

/// How often each register is read.
fn count_reads(code: &mut Code) -> Vec<u32> {
    let mut counts = vec![0u32; code.registers as usize];
    each_use(&mut code.block, &mut |reg, used| {
        if used == Use::Read {
            bump(&mut counts, *reg);
        }
    });
    counts
}

fn bump(counts: &mut [u32], reg: Reg) {
    if let Some(count) = counts.get_mut(reg.index()) {
        *count = count.saturating_add(1);
    }
}

fn get<T: Copy + Default>(table: &[T], reg: Reg) -> T {
    table.get(reg.index()).copied().unwrap_or_default()
}
