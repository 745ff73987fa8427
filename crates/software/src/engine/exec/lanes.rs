//! Operations lane by lane. The loops have no branches inside a chunk, so that they vectorise.
#![expect(
    clippy::redundant_closure,
    reason = "a reference to a closure is called as a function, and then the loop does not vectorise"
)]

use super::machine::{Chunk, LANES, Machine, Place};
use crate::engine::ir::{Reg, Scaled};
use crate::engine::scalar::float::{self, f, round_half};
use crate::engine::scalar::{Bin, Fun, Tri, Un, bits, flag};
use crate::engine::scalar::{binary_table, ternary_table, unary_table};

macro_rules! unary_loops {
    (($self:ident, $op:ident, $d:ident, $a:ident) $($name:ident => |$x:ident| $body:expr,)*) => {
        match $op { $(Un::$name => $self.one($d, $a, #[inline(always)] |$x: u32| -> u32 { $body }),)* }
    };
}
macro_rules! binary_loops {
    (($self:ident, $op:ident, $d:ident, $a:ident, $b:ident) $($name:ident => |$x:ident, $y:ident| $body:expr,)*) => {
        match $op {
            $(Bin::$name => $self.two($d, $a, $b, #[inline(always)] |$x: u32, $y: u32| -> u32 { $body }),)*
        }
    };
}
macro_rules! ternary_loops {
    (($self:ident, $op:ident, $d:ident, $a:ident, $b:ident, $c:ident) $($name:ident => |$x:ident, $y:ident, $z:ident| $body:expr,)*) => {
        match $op {
            $(Tri::$name => $self.three(
                $d, $a, $b, $c,
                #[inline(always)] |$x: u32, $y: u32, $z: u32| -> u32 { $body },
            ),)*
        }
    };
}

#[inline(always)]
fn map1(x: &Chunk, f: impl Fn(u32) -> u32) -> Chunk {
    let mut out = [0; LANES];
    for k in 0..LANES {
        out[k] = f(x[k]);
    }
    out
}

#[inline(always)]
pub(super) fn map2(x: &Chunk, y: &Chunk, f: impl Fn(u32, u32) -> u32) -> Chunk {
    let mut out = [0; LANES];
    for k in 0..LANES {
        out[k] = f(x[k], y[k]);
    }
    out
}

#[inline(always)]
fn map3(x: &Chunk, y: &Chunk, z: &Chunk, f: impl Fn(u32, u32, u32) -> u32) -> Chunk {
    let mut out = [0; LANES];
    for k in 0..LANES {
        out[k] = f(x[k], y[k], z[k]);
    }
    out
}

impl Machine<'_> {
    pub(super) fn unary(&mut self, op: Un, d: Reg, a: Reg) {
        unary_table!(unary_loops, self, op, d, a);
    }

    pub(super) fn binary(&mut self, op: Bin, d: Reg, a: Reg, b: Reg) {
        binary_table!(binary_loops, self, op, d, a, b);
    }

    pub(super) fn ternary(&mut self, op: Tri, d: Reg, a: Reg, b: Reg, c: Reg) {
        ternary_table!(ternary_loops, self, op, d, a, b, c);
    }

    #[inline(always)]
    fn one(&mut self, d: Reg, a: Reg, f: impl Fn(u32) -> u32) {
        match (self.place(d), self.place(a)) {
            (Place::Lanes(d), Place::Lanes(a)) => {
                for i in self.from..self.to {
                    self.lanes[d + i] = map1(
                        &self.lanes[a + i],
                        #[inline(always)]
                        |x| f(x),
                    );
                }
            }
            (Place::Lanes(d), Place::Uniform(a)) => {
                let value = f(a);
                self.lanes[d + self.from..d + self.to].fill([value; LANES]);
            }
            (Place::Uniform(_), Place::Uniform(a)) => self.set_uniform(d, f(a)),
            (Place::Uniform(_), Place::Lanes(_)) => {}
        }
    }

    #[inline(always)]
    fn two(&mut self, d: Reg, a: Reg, b: Reg, f: impl Fn(u32, u32) -> u32) {
        match (self.place(a), self.place(b), self.place(d)) {
            (Place::Uniform(a), Place::Uniform(b), Place::Uniform(_)) => {
                self.set_uniform(d, f(a, b));
            }
            (Place::Lanes(a), Place::Lanes(b), Place::Lanes(d)) => {
                for i in self.from..self.to {
                    self.lanes[d + i] = map2(
                        &self.lanes[a + i],
                        &self.lanes[b + i],
                        #[inline(always)]
                        |x, y| f(x, y),
                    );
                }
            }
            (Place::Lanes(a), Place::Uniform(y), Place::Lanes(d)) => {
                for i in self.from..self.to {
                    self.lanes[d + i] = map1(&self.lanes[a + i], |x| f(x, y));
                }
            }
            (Place::Uniform(x), Place::Lanes(b), Place::Lanes(d)) => {
                for i in self.from..self.to {
                    self.lanes[d + i] = map1(&self.lanes[b + i], |y| f(x, y));
                }
            }
            (Place::Uniform(a), Place::Uniform(b), Place::Lanes(d)) => {
                let value = f(a, b);
                self.lanes[d + self.from..d + self.to].fill([value; LANES]);
            }
            (_, _, Place::Uniform(_)) => {}
        }
    }

    #[inline(always)]
    fn three(&mut self, d: Reg, a: Reg, b: Reg, c: Reg, f: impl Fn(u32, u32, u32) -> u32) {
        let (a, b, c) = (self.place(a), self.place(b), self.place(c));
        match (self.place(d), a, b, c) {
            (Place::Uniform(_), Place::Uniform(a), Place::Uniform(b), Place::Uniform(c)) => {
                self.set_uniform(d, f(a, b, c));
            }
            (Place::Uniform(_), ..) => {}
            (Place::Lanes(d), Place::Lanes(a), Place::Lanes(b), Place::Lanes(c)) => {
                for i in self.from..self.to {
                    let (x, y, z) = (&self.lanes[a + i], &self.lanes[b + i], &self.lanes[c + i]);
                    self.lanes[d + i] = map3(
                        x,
                        y,
                        z,
                        #[inline(always)]
                        |x, y, z| f(x, y, z),
                    );
                }
            }
            (Place::Lanes(d), Place::Lanes(a), Place::Uniform(y), Place::Uniform(z)) => {
                for i in self.from..self.to {
                    self.lanes[d + i] = map1(&self.lanes[a + i], |x| f(x, y, z));
                }
            }
            (Place::Lanes(d), ..) => {
                for i in self.from..self.to {
                    let (x, y, z) = (self.chunk(a, i), self.chunk(b, i), self.chunk(c, i));
                    self.lanes[d + i] = map3(
                        &x,
                        &y,
                        &z,
                        #[inline(always)]
                        |x, y, z| f(x, y, z),
                    );
                }
            }
        }
    }

    pub(super) fn mov(&mut self, d: Reg, a: Reg, masked: bool) {
        if !masked || self.all {
            return self.one(
                d,
                a,
                #[inline(always)]
                |x| x,
            );
        }
        let a = self.place(a);
        let Place::Lanes(d) = self.place(d) else {
            return;
        };
        for i in self.from..self.to {
            let (mask, x, old) = (&self.act[i], self.chunk(a, i), &self.lanes[d + i]);
            self.lanes[d + i] = map3(mask, &x, old, |m, x, old| (x & m) | (old & !m));
        }
    }

    pub(super) fn merge(&mut self, d: Reg, a: Reg, c: Reg, on: bool) {
        let (a, c) = (self.place(a), self.place(c));
        let Place::Lanes(d) = self.place(d) else {
            return;
        };
        let flip = if on { 0 } else { !0 };
        for i in self.from..self.to {
            let (x, c) = (self.chunk(a, i), self.chunk(c, i));
            let mask = map2(&self.act[i], &c, |mask, c| mask & (c ^ flip));
            self.lanes[d + i] = map3(&mask, &x, &self.lanes[d + i], |m, x, old| {
                (x & m) | (old & !m)
            });
        }
    }

    pub(super) fn call(&mut self, fun: Fun, d: &[Reg], a: &[Reg]) {
        let mut places = [Place::Uniform(0); 8];
        for (place, reg) in places.iter_mut().zip(a) {
            *place = self.place(*reg);
        }
        let uniform = d
            .iter()
            .all(|reg| matches!(self.place(*reg), Place::Uniform(_)));
        let lanes = if uniform {
            0..1
        } else {
            self.from * LANES..self.to * LANES
        };
        for lane in lanes {
            let words = places.map(|place| self.word(place, lane));
            let results = (fun.0)(&words);
            for (reg, value) in d.iter().zip(results) {
                self.set_word(*reg, lane, value);
            }
        }
    }

    /// A part of a byte address; with its top bit set once an index is out of bounds.
    pub(super) fn index(&mut self, d: Reg, base: Option<Reg>, scaled: &Scaled) {
        let base = base.map_or(Place::Uniform(0), |base| self.place(base));
        let index = self.place(scaled.index);
        match self.place(d) {
            Place::Uniform(_) => {
                let value = scale(
                    self.word(index, 0),
                    self.length(scaled),
                    scaled.stride,
                    self.word(base, 0),
                );
                self.set_uniform(d, value);
            }
            Place::Lanes(d) => {
                let len = self.length(scaled);
                for i in self.from..self.to {
                    let (index, base) = (self.chunk(index, i), self.chunk(base, i));
                    self.lanes[d + i] = map2(&index, &base, |index, base| {
                        scale(index, len, scaled.stride, base)
                    });
                }
            }
        }
    }

    /// Lengths are the same for all invocations.
    pub(super) fn length(&self, scaled: &Scaled) -> u32 {
        self.word(self.place(scaled.len), 0)
    }

    pub(super) fn pick(&mut self, d: Reg, from: &[Reg], index: Reg) {
        let last = from.len().saturating_sub(1);
        let at = |index: u32| from.get((index as usize).min(last)).copied();
        match (self.place(index), self.place(d)) {
            (Place::Uniform(index), _) => {
                if let Some(reg) = at(index) {
                    self.one(
                        d,
                        reg,
                        #[inline(always)]
                        |x| x,
                    );
                }
            }
            (index, Place::Lanes(d)) => {
                for i in self.from..self.to {
                    let index = self.chunk(index, i);
                    let mut out = [0; LANES];
                    for k in 0..LANES {
                        if let Some(reg) = at(index[k]) {
                            out[k] = self.word(self.place(reg), i * LANES + k);
                        }
                    }
                    self.lanes[d + i] = out;
                }
            }
            (Place::Lanes(_), Place::Uniform(_)) => {}
        }
    }

    pub(super) fn put(&mut self, into: &[Reg], index: Reg, v: Reg) {
        let (index, value) = (self.place(index), self.place(v));
        if let Place::Uniform(index) = index {
            if let Some(reg) = into.get(index as usize) {
                match self.place(*reg) {
                    Place::Uniform(_) => self.set_uniform(*reg, self.word(value, 0)),
                    Place::Lanes(_) => self.mov(*reg, v, true),
                }
            }
            return;
        }
        for lane in self.from * LANES..self.to * LANES {
            if !self.is_active(lane) {
                continue;
            }
            if let Some(reg) = into.get(self.word(index, lane) as usize) {
                self.set_word(*reg, lane, self.word(value, lane));
            }
        }
    }
}

/// `base + index * stride`, or something of 2 GiB or more if `index` is not below `len`.
#[inline(always)]
pub(super) fn scale(index: u32, len: u32, stride: u32, base: u32) -> u32 {
    let inside = flag(index < len);
    base.wrapping_add(index.wrapping_mul(stride) & inside) | (!inside & 0x8000_0000)
}
