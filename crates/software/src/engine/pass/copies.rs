//! Copy propagation, and removal of what nobody reads.
//!
//! A load of a variable is a copy. Its uses read the variable itself as long as that has not been
//! written since: each register has a version, which counts its writes.

use super::table::Table;
use super::{count_reads, count_writes, each_use, get};
use crate::engine::ir::{Block, Code, Op, Reg, Use};

struct Copies {
    writes: Vec<u32>,
    versions: Vec<u32>,
    /// From a copy to its source and the source's version then.
    sources: Table<(Reg, u32)>,
}

/// Lets uses of copies read the originals.
pub(super) fn propagate(code: &mut Code) {
    let writes = count_writes(code);
    let versions = vec![0; writes.len()];
    let mut copies = Copies {
        writes,
        versions,
        sources: Table::new(code.registers),
    };
    copies.block(&mut code.block);
}

impl Copies {
    fn written(&mut self, reg: Reg) {
        if let Some(version) = self.versions.get_mut(reg.index()) {
            *version += 1;
        }
    }

    fn read(&self, reg: &mut Reg) {
        if let Some((source, version)) = self.sources.get(*reg)
            && get(&self.versions, source) == version
        {
            *reg = source;
        }
    }

    fn block(&mut self, block: &mut Block) {
        for op in block {
            if let Op::Loop { body, cont, .. } = op {
                // The loop is entered again after all of its writes.
                for block in [body, cont] {
                    each_use(block, &mut |reg, used| {
                        if used != Use::Read {
                            self.written(*reg);
                        }
                    });
                }
            }
            op.each_mut(&mut |reg, used| {
                if used == Use::Read {
                    self.read(reg);
                }
            });
            op.each(&mut |reg, used| {
                if used != Use::Read {
                    self.written(*reg);
                }
            });
            if let Op::Mov { d, a, .. } = op
                && get(&self.writes, *d) == 1
                && d != a
            {
                let version = get(&self.versions, *a);
                self.sources.insert(*d, (*a, version));
            }
            for (inner, last) in op.blocks_mut() {
                self.block(inner);
                if let Some(last) = last {
                    self.read(last);
                }
            }
        }
    }
}

/// Removes operations whose results nobody reads.
pub(super) fn remove_dead(code: &mut Code) {
    for _ in 0..16 {
        let reads = count_reads(code);
        if !sweep(&mut code.block, &reads) {
            break;
        }
    }
    let reads = count_reads(code);
    code.inputs.retain(|(reg, _)| get(&reads, *reg) > 0);
}

fn sweep(block: &mut Block, reads: &[u32]) -> bool {
    let mut changed = false;
    block.retain_mut(|op| {
        for (inner, _) in op.blocks_mut() {
            changed |= sweep(inner, reads);
        }
        let mut read = false;
        op.each(&mut |reg, used| read |= used != Use::Read && get(reads, *reg) > 0);
        if let Op::Atomic { d, .. } = op
            && !read
        {
            d.clear();
        }
        let empty = matches!(op, Op::If { then, other, .. } if then.is_empty() && other.is_empty());
        let dead = (op.is_pure() && !read) || empty;
        changed |= dead;
        !dead
    });
    changed
}
