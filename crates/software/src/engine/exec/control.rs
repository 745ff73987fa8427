//! Control flow: which lanes are active.
//!
//! A block that leaves no lane active is not run further; who started it brings lanes back.

use super::lanes::map2;
use super::machine::{Chunk, LANES, Machine, Place};
use crate::engine::ir::{Op, Reg};

impl Machine<'_> {
    pub(super) fn run(&mut self, ops: &[Op]) {
        self.steps += (ops.len() * (self.to - self.from)) as u64;
        for op in ops {
            match op {
                Op::Un { op, d, a } => self.unary(*op, *d, *a),
                Op::Bin { op, d, a, b } => self.binary(*op, *d, *a, *b),
                Op::Tri { op, d, a, b, c } => self.ternary(*op, *d, *a, *b, *c),
                Op::Mov { d, a, masked } => self.mov(*d, *a, *masked),
                Op::Merge { d, a, c, on } => self.merge(*d, *a, *c, *on),
                Op::Call { f, d, a } => self.call(*f, d, a),
                Op::Index { d, base, scaled } => self.index(*d, *base, scaled),
                Op::Load { d, at, half } => self.load(d, at, *half),
                Op::Store { v, at, half } => self.store(v, at, *half),
                Op::Pick { d, from, index } => self.pick(*d, from, *index),
                Op::Put { into, index, v, .. } => self.put(into, *index, *v),
                Op::First { d, a } => {
                    let lane = self.first_active().unwrap_or(0);
                    let value = self.word(self.place(*a), lane);
                    self.set_uniform(*d, value);
                }
                Op::Atomic {
                    rmw,
                    d,
                    v,
                    compare,
                    at,
                } => self.atomic(*rmw, d, v, compare, at),
                Op::Subgroup { sub, d, a } => self.subgroup(*sub, d, a),
                Op::Matrix(matrix) => self.matrix(matrix),
                Op::Texture(texture) => self.texture(texture),
                Op::Print { site, v } => self.print(*site, v),
                Op::Check(check) => {
                    self.check(check);
                    if self.stopped.is_some() {
                        return;
                    }
                }
                Op::If { c, then, other } => {
                    match self.place(*c) {
                        Place::Uniform(0) => self.run(other),
                        Place::Uniform(_) => self.run(then),
                        Place::Lanes(start) => self.branch(start, then, other),
                    }
                    if !self.any {
                        return;
                    }
                }
                Op::Loop {
                    id,
                    body,
                    cont,
                    until,
                    line,
                } => {
                    self.repeat(*id as usize, body, cont, *until, *line);
                    if !self.any {
                        return;
                    }
                }
                Op::Scope { id, body } => {
                    let id = *id as usize;
                    let (from, to) = (self.from, self.to);
                    self.frames[id].left[from..to].fill([0; LANES]);
                    self.run(body);
                    if self.stopped.is_some() {
                        return;
                    }
                    for i in from..to {
                        self.act[i] = or(self.act[i], self.frames[id].left[i]);
                    }
                    self.set_flags(from, to);
                    if !self.any {
                        return;
                    }
                }
                Op::Break(id) | Op::Leave(id) => return self.leave(*id as usize),
                Op::Continue(id) => {
                    let frame = &mut self.frames[*id as usize];
                    for i in self.from..self.to {
                        frame.continued[i] = or(frame.continued[i], self.act[i]);
                        self.act[i] = [0; LANES];
                    }
                    frame.any_continued = true;
                    self.any = false;
                    return;
                }
                Op::BreakIf { id, c, on } => {
                    let id = *id as usize;
                    match self.place(*c) {
                        Place::Uniform(c) => {
                            if (c != 0) == *on {
                                return self.leave(id);
                            }
                        }
                        Place::Lanes(start) => {
                            self.leave_where(id, start, *on);
                            if !self.any {
                                return;
                            }
                        }
                    }
                }
            }
        }
    }

    /// All active lanes leave loop or scope `id`.
    fn leave(&mut self, id: usize) {
        let frame = &mut self.frames[id];
        for i in self.from..self.to {
            frame.left[i] = or(frame.left[i], self.act[i]);
            self.act[i] = [0; LANES];
        }
        self.any = false;
    }

    /// Active lanes whose condition is `on` leave loop `id`.
    fn leave_where(&mut self, id: usize, start: usize, on: bool) {
        let flip = if on { 0 } else { !0 };
        let frame = &mut self.frames[id];
        let mut some = 0;
        for i in self.from..self.to {
            let (mask, c) = (self.act[i], self.lanes[start + i]);
            let leaves = map2(&mask, &c, |mask, c| mask & (c ^ flip));
            for word in leaves {
                some |= word;
            }
            frame.left[i] = or(frame.left[i], leaves);
            self.act[i] = map2(&mask, &leaves, |mask, leaves| mask & !leaves);
        }
        if some != 0 {
            self.set_flags(self.from, self.to);
        }
    }

    fn branch(&mut self, start: usize, then: &[Op], other: &[Op]) {
        let (from, to) = (self.from, self.to);
        let (mut yes, mut no) = (0, 0);
        for i in from..to {
            let (mask, c) = (self.act[i], self.lanes[start + i]);
            for k in 0..LANES {
                yes |= mask[k] & c[k];
                no |= mask[k] & !c[k];
            }
        }
        if no == 0 {
            return self.run(then);
        }
        if yes == 0 {
            return self.run(other);
        }
        let mut rest = self.spare.pop().unwrap_or_default();
        rest.resize(to - from, [0; LANES]);
        for (i, rest) in (from..to).zip(&mut rest) {
            let (mask, c) = (self.act[i], self.lanes[start + i]);
            self.act[i] = map2(&mask, &c, |mask, c| mask & c);
            *rest = map2(&mask, &c, |mask, c| mask & !c);
        }
        if !then.is_empty() {
            self.set_flags(from, to);
            self.run(then);
        }
        if self.stopped.is_none() && !other.is_empty() {
            for (i, rest) in (from..to).zip(&mut rest) {
                std::mem::swap(&mut self.act[i], rest);
            }
            self.set_flags(from, to);
            self.run(other);
        }
        if self.stopped.is_none() {
            for (i, rest) in (from..to).zip(&rest) {
                self.act[i] = or(self.act[i], *rest);
            }
            self.set_flags(from, to);
        }
        self.spare.push(rest);
    }

    fn repeat(&mut self, id: usize, body: &[Op], cont: &[Op], until: Option<Reg>, line: u32) {
        let (from, to) = (self.from, self.to);
        self.frames[id].left[from..to].fill([0; LANES]);
        self.frames[id].continued[from..to].fill([0; LANES]);
        self.frames[id].any_continued = false;
        loop {
            self.steps += 1;
            self.count_steps(line);
            if self.stopped.is_some() {
                return;
            }
            self.run(body);
            if self.stopped.is_some() {
                return;
            }
            if std::mem::take(&mut self.frames[id].any_continued) {
                for i in from..to {
                    self.act[i] = or(self.act[i], self.frames[id].continued[i]);
                    self.frames[id].continued[i] = [0; LANES];
                }
                self.set_flags(from, to);
            }
            if !self.any {
                break;
            }
            self.run(cont);
            if self.stopped.is_some() {
                return;
            }
            match until.map(|until| self.place(until)) {
                Some(Place::Uniform(c)) if c != 0 && self.any => self.leave(id),
                Some(Place::Lanes(start)) if self.any => self.leave_where(id, start, true),
                _ => {}
            }
            if !self.any {
                break;
            }
        }
        for i in from..to {
            self.act[i] = self.frames[id].left[i];
        }
        self.set_flags(from, to);
    }
}

#[inline(always)]
fn or(a: Chunk, b: Chunk) -> Chunk {
    map2(&a, &b, |a, b| a | b)
}
