//! Which registers hold one value for the whole workgroup, and which writes need masks.
//!
//! All registers start as uniform and all control flow as convergent; what contradicts that is
//! marked until nothing changes. The *level* of a place counts the divergent constructs around it.

use super::home::{Homes, kinds};
use super::{Block, Code, Op, Reg, Use, get};

/// By place: whether invocations are masked off on the way into it, or while it runs.
#[derive(Debug)]
struct Analysis<'a> {
    homes: &'a Homes,
    varying: Vec<bool>,
    divergent: Vec<bool>,
    level: Vec<u32>,
    changed: bool,
    next: usize,
    /// Loops and scopes around the current place, by the number in their jumps.
    targets: Vec<Target>,
}

#[derive(Clone, Copy, Debug)]
struct Target {
    id: u32,
    /// Place of all of the loop, or of the scope.
    whole: usize,
    /// Place of the loop's body.
    body: usize,
}

/// Decides, and sets the masks; the result says by register whether it varies.
pub(super) fn decide(code: &mut Code, homes: &Homes) -> Vec<bool> {
    let mut analysis = Analysis {
        homes,
        varying: vec![false; code.registers as usize],
        divergent: vec![false; homes.places],
        level: vec![0; homes.places],
        changed: true,
        next: 0,
        targets: Vec::new(),
    };
    for (reg, input) in &code.inputs {
        if input.varies() {
            analysis.vary(*reg);
        }
    }
    analysis.changed = true;
    while analysis.changed {
        analysis.changed = false;
        analysis.next = 1;
        analysis.block(&mut code.block, 0);
    }
    analysis.varying
}

impl Analysis<'_> {
    fn vary(&mut self, reg: Reg) {
        if let Some(varies) = self.varying.get_mut(reg.index()) {
            self.changed |= !*varies;
            *varies = true;
        }
    }

    fn diverge(&mut self, place: usize) {
        if let Some(divergent) = self.divergent.get_mut(place) {
            self.changed |= !*divergent;
            *divergent = true;
        }
    }

    fn level(&self, place: usize) -> u32 {
        self.level.get(place).copied().unwrap_or(0)
    }

    /// Enters the next place, within `parent`.
    fn enter(&mut self, parent: usize) -> usize {
        let place = self.next;
        self.next += 1;
        let divergent = self.divergent.get(place).copied().unwrap_or_default();
        let level = self.level(parent) + u32::from(divergent);
        if let Some(slot) = self.level.get_mut(place) {
            self.changed |= *slot != level;
            *slot = level;
        }
        place
    }

    /// Whether a write at `place` happens under a mask that the register's home does not have.
    fn masks(&self, reg: Reg, place: usize) -> bool {
        let home = self.homes.home.get(reg.index()).copied().unwrap_or(0);
        self.level(place) > self.level(home)
    }

    /// A jump from `place` to target `id`; everything that it crosses loses some invocations.
    fn jump(&mut self, id: u32, place: usize, some: bool, continues: bool) {
        let crossed: Vec<Target> = self
            .targets
            .iter()
            .copied()
            .filter(|target| target.id >= id)
            .collect();
        for target in crossed {
            let reach = if continues && target.id == id {
                target.body
            } else {
                target.whole
            };
            if some || self.level(place) > self.level(reach) {
                self.diverge(reach);
            }
        }
    }

    fn block(&mut self, block: &mut Block, place: usize) {
        for op in block {
            let mut any = false;
            op.each(&mut |reg, used| any |= used == Use::Read && get(&self.varying, *reg));
            match op {
                Op::Mov { d, masked, .. } => {
                    let masks = self.masks(*d, place);
                    if any || masks {
                        self.vary(*d);
                    }
                    *masked = masks;
                }
                Op::Put { into, masked, .. } => {
                    let masks = into.iter().any(|reg| self.masks(*reg, place));
                    *masked = masks;
                    if any || masks || into.iter().any(|reg| get(&self.varying, *reg)) {
                        for reg in into.iter() {
                            self.vary(*reg);
                        }
                    }
                }
                Op::First { .. } => {}
                Op::Atomic { d, .. } | Op::Subgroup { d, .. } => {
                    for reg in d.iter() {
                        self.vary(*reg);
                    }
                }
                Op::Matrix(_) => {
                    let mut written = Vec::new();
                    op.each(&mut |reg, used| {
                        if used == Use::Write {
                            written.push(*reg);
                        }
                    });
                    for reg in written {
                        self.vary(reg);
                    }
                }
                Op::If { .. } | Op::Loop { .. } | Op::Scope { .. } => self.nest(op, place, any),
                Op::Break(id) | Op::Leave(id) => self.jump(*id, place, false, false),
                Op::Continue(id) => self.jump(*id, place, false, true),
                Op::BreakIf { id, .. } => self.jump(*id, place, any, false),
                _ if any => {
                    let mut written = Vec::new();
                    op.each(&mut |reg, used| {
                        if used != Use::Read {
                            written.push(*reg);
                        }
                    });
                    for reg in written {
                        self.vary(reg);
                    }
                }
                _ => {}
            }
        }
    }

    fn nest(&mut self, op: &mut Op, place: usize, varies: bool) {
        let (_, whole_loop) = kinds(op);
        let id = match op {
            Op::Loop { id, .. } | Op::Scope { id, .. } => Some(*id),
            _ => None,
        };
        let branch = matches!(op, Op::If { .. });
        let parent = if whole_loop { self.enter(place) } else { place };
        for (i, (inner, last)) in op.blocks_mut().into_iter().enumerate() {
            let inside = self.enter(parent);
            if branch && varies {
                self.diverge(inside);
            }
            if let (Some(id), 0) = (id, i) {
                let whole = if whole_loop { parent } else { inside };
                self.targets.push(Target {
                    id,
                    whole,
                    body: inside,
                });
            }
            self.block(inner, inside);
            if last.is_some_and(|last| get(&self.varying, *last)) {
                self.diverge(parent);
            }
        }
        if id.is_some() {
            self.targets.pop();
        }
    }
}
