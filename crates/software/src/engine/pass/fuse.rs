//! Fewer operations: a product and the sum that takes it become one, so do other pairs of operations of
//! which one takes what the other makes, and a result that is only copied into a variable is written there at once.

use super::table::Table;
use super::{Block, Code, Op, Reg, Use, count_reads, count_writes, get};
use crate::engine::scalar::{Bin, Tri};

/// Operations of which the second takes the result of the first, and what does both.
const PAIRS: [(Bin, Bin, Tri); 3] = [
    (Bin::MulF, Bin::AddF, Tri::MulAdd),
    (Bin::And, Bin::Or, Tri::AndOr),
    (Bin::UnpackNormal, Bin::SubF, Tri::UnpackNormalSub),
];

/// Fuses within blocks.
pub(super) fn fuse(code: &mut Code, varying: &[bool]) {
    let (writes, reads) = (count_writes(code), count_reads(code));
    let single = |reg: Reg| get(&writes, reg) == 1 && get(&reads, reg) == 1;
    let mut latest = Latest {
        write: Table::new(code.registers),
        read: Table::new(code.registers),
        control: None,
    };
    let mut products = Table::new(code.registers);
    block(
        &mut code.block,
        &single,
        varying,
        &mut latest,
        &mut products,
    );
}

fn block(
    code: &mut Block,
    single: &dyn Fn(Reg) -> bool,
    varying: &[bool],
    latest: &mut Latest,
    products: &mut Table<Product>,
) {
    for op in code.iter_mut() {
        for (inner, _) in op.blocks_mut() {
            block(inner, single, varying, latest, products);
        }
    }
    for pair in PAIRS {
        let begins = |op: &Op| matches!(op, Op::Bin { op, .. } if *op == pair.0);
        if code.iter().any(begins) {
            join(code, pair, single, varying, latest, products);
        }
    }
    retarget(code, single, varying, latest);
}

/// An operation that may become part of one behind it: its index and its operands.
type Product = (usize, Reg, Reg);

/// Index of each operation's latest write and read, as a block is walked.
struct Latest {
    write: Table<usize>,
    read: Table<usize>,
    /// After it, fewer invocations may run.
    control: Option<usize>,
}

impl Latest {
    /// Begins with a block.
    fn clear(&mut self) {
        self.write.clear();
        self.read.clear();
        self.control = None;
    }

    fn note(&mut self, op: &mut Op, at: usize) {
        op.each(&mut |reg, used| {
            if used == Use::Read {
                self.read.insert(*reg, at);
            } else {
                self.write.insert(*reg, at);
                // What is written in part is also read.
                if used == Use::Update {
                    self.read.insert(*reg, at);
                }
            }
        });
        if !matches!(
            op,
            Op::Merge { .. }
                | Op::Store { .. }
                | Op::Put { .. }
                | Op::Atomic { .. }
                | Op::Print { .. }
        ) && !op.is_pure()
        {
            self.control = Some(at);
        }
        for (inner, last) in op.blocks_mut() {
            for op in inner {
                self.note(op, at);
            }
            if let Some(last) = last {
                self.read.insert(*last, at);
            }
        }
    }

    fn written_after(&self, reg: Reg, at: usize) -> bool {
        self.write.get(reg).is_some_and(|written| written > at)
    }

    fn touched_after(&self, reg: Reg, at: usize) -> bool {
        self.written_after(reg, at) || self.read.get(reg).is_some_and(|read| read > at)
    }
}

fn join(
    code: &mut Block,
    (first, second, both): (Bin, Bin, Tri),
    single: &dyn Fn(Reg) -> bool,
    varying: &[bool],
    latest: &mut Latest,
    products: &mut Table<Product>,
) {
    latest.clear();
    products.clear();
    let mut gone = vec![false; code.len()];
    for (at, op) in code.iter_mut().enumerate() {
        if let Op::Bin { op: bin, d, a, b } = *op
            && bin == second
        {
            let sides = [(a, b), (b, a)];
            let commutes = second != Bin::SubF;
            for (product, other) in sides.into_iter().take(1 + usize::from(commutes)) {
                let Some((from, x, y)) = products.get(product) else {
                    continue;
                };
                let moved = latest.written_after(x, from) || latest.written_after(y, from);
                let widened = get(varying, d) && !get(varying, product);
                if moved || widened || product == other {
                    continue;
                }
                *op = Op::Tri {
                    op: both,
                    d,
                    a: x,
                    b: y,
                    c: other,
                };
                products.remove(product);
                if let Some(gone) = gone.get_mut(from) {
                    *gone = true;
                }
                break;
            }
        }
        if let Op::Bin { op: bin, d, a, b } = *op
            && bin == first
            && single(d)
        {
            products.insert(d, (at, a, b));
        }
        latest.note(op, at);
    }
    drop_marked(code, &gone);
}

fn retarget(code: &mut Block, single: &dyn Fn(Reg) -> bool, varying: &[bool], latest: &mut Latest) {
    latest.clear();
    let mut gone = vec![false; code.len()];
    for at in 0..code.len() {
        let Some((before, rest)) = code.split_at_mut_checked(at) else {
            break;
        };
        let Some(op) = rest.first_mut() else { break };
        if let Op::Mov {
            d,
            a,
            masked: false,
        } = *op
        {
            let made = latest.write.get(a);
            if let (Some(from), true, true) = (made, single(a), get(varying, a) == get(varying, d))
                && let Some(maker) = before.get_mut(from)
            {
                let fits = matches!(
                    maker,
                    Op::Un { .. }
                        | Op::Bin { .. }
                        | Op::Tri { .. }
                        | Op::Load { .. }
                        | Op::Pick { .. }
                );
                let mut twice = 0;
                maker.each(&mut |reg, used| {
                    twice += u32::from(used == Use::Write && *reg == d);
                });
                let same = latest.control.is_none_or(|control| control < from);
                if fits && same && twice == 0 && !latest.touched_after(d, from) {
                    maker.each_mut(&mut |reg, used| {
                        if used == Use::Write && *reg == a {
                            *reg = d;
                        }
                    });
                    latest.write.insert(d, from);
                    if let Some(gone) = gone.get_mut(at) {
                        *gone = true;
                    }
                    continue;
                }
            }
        }
        latest.note(op, at);
    }
    drop_marked(code, &gone);
}

fn drop_marked(code: &mut Block, gone: &[bool]) {
    let mut at = 0;
    code.retain(|_| {
        at += 1;
        !gone.get(at - 1).copied().unwrap_or(false)
    });
}
