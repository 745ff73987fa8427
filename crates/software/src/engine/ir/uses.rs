//! Which registers and blocks operations have.

use super::{Addr, Block, Matrix, Op, Reg, Scaled};
use crate::engine::check::What;

/// How an operation uses a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum Use {
    Read,
    Write,
    /// Writes some lanes, or perhaps nothing.
    Update,
}

/// Visits registers of operations; one body for both kinds of reference.
macro_rules! visit {
    ($op:expr, $f:expr, $($m:tt)?) => {{
        fn addr(at: &$($m)? Addr, f: &mut dyn FnMut(&$($m)? Reg, Use)) {
            if let Some(base) = &$($m)? at.base { f(base, Use::Read); }
            if let Some(s) = &$($m)? at.scaled {
                f(&$($m)? s.index, Use::Read);
                f(&$($m)? s.len, Use::Read);
            }
        }
        fn steps(trail: &$($m)? Vec<Scaled>, f: &mut dyn FnMut(&$($m)? Reg, Use)) {
            for s in trail {
                f(&$($m)? s.index, Use::Read);
                f(&$($m)? s.len, Use::Read);
            }
        }
        let f: &mut dyn FnMut(&$($m)? Reg, Use) = $f;
        let masked_use = |masked: bool| if masked { Use::Update } else { Use::Write };
        match $op {
            Op::Un { d, a, .. } | Op::First { d, a } => { f(a, Use::Read); f(d, Use::Write); }
            Op::Mov { d, a, masked } => { f(a, Use::Read); f(d, masked_use(*masked)); }
            Op::Merge { d, a, c, .. } => { f(a, Use::Read); f(c, Use::Read); f(d, Use::Update); }
            Op::Bin { d, a, b, .. } => { f(a, Use::Read); f(b, Use::Read); f(d, Use::Write); }
            Op::Tri { d, a, b, c, .. } => {
                f(a, Use::Read); f(b, Use::Read); f(c, Use::Read); f(d, Use::Write);
            }
            Op::Call { d, a, .. } | Op::Subgroup { d, a, .. } => {
                for r in a { f(r, Use::Read); }
                for r in d { f(r, Use::Write); }
            }
            Op::Index { d, base, scaled } => {
                if let Some(base) = base { f(base, Use::Read); }
                f(&$($m)? scaled.index, Use::Read);
                f(&$($m)? scaled.len, Use::Read);
                f(d, Use::Write);
            }
            Op::Load { d, at, .. } => { addr(at, f); for r in d { f(r, Use::Write); } }
            Op::Store { v, at, .. } => { addr(at, f); for r in v { f(r, Use::Read); } }
            Op::Pick { d, from, index } => {
                for r in from { f(r, Use::Read); }
                f(index, Use::Read); f(d, Use::Write);
            }
            Op::Put { into, index, v, .. } => {
                f(index, Use::Read); f(v, Use::Read);
                for r in into { f(r, Use::Update); }
            }
            Op::Atomic { d, v, compare, at, .. } => {
                addr(at, f);
                for r in v { f(r, Use::Read); }
                for r in compare { f(r, Use::Read); }
                for r in d { f(r, Use::Write); }
            }
            Op::Matrix(matrix) => match &$($m)? **matrix {
                Matrix::Load { d, at, stride, .. } => {
                    addr(at, f); f(stride, Use::Read);
                    for r in d { f(r, Use::Write); }
                }
                Matrix::Store { v, at, stride, .. } => {
                    addr(at, f); f(stride, Use::Read);
                    for r in v { f(r, Use::Read); }
                }
                Matrix::MultiplyAdd { d, a, b, c, .. } => {
                    for r in a { f(r, Use::Read); }
                    for r in b { f(r, Use::Read); }
                    for r in c { f(r, Use::Read); }
                    for r in d { f(r, Use::Write); }
                }
            },
            Op::Texture(texture) => {
                let texture = &$($m)? **texture;
                for r in &$($m)? texture.coordinates { f(r, Use::Read); }
                if let Some(r) = &$($m)? texture.layer { f(r, Use::Read); }
                if let Some(r) = &$($m)? texture.level { f(r, Use::Read); }
                for r in &$($m)? texture.v { f(r, Use::Read); }
                for r in &$($m)? texture.d { f(r, Use::Write); }
            }
            Op::Check(check) => match &$($m)? check.what {
                What::Memory { at, trail, v, .. } => {
                    addr(at, f); steps(trail, f);
                    for r in v { f(r, Use::Read); }
                }
                What::Matrix { at, trail, stride, .. } => {
                    addr(at, f); steps(trail, f); f(stride, Use::Read);
                }
                What::Index { index, .. } => f(index, Use::Read),
                What::Barrier { .. } | What::Subgroup => {}
                What::SameAddress { at } => addr(at, f),
                What::Divide { a, b, .. } | What::Result { d: a, a: b, .. } => {
                    for r in a { f(r, Use::Read); }
                    for r in b { f(r, Use::Read); }
                }
                What::Shift { b, .. } => f(b, Use::Read),
                What::Convert { a, .. } => for r in a { f(r, Use::Read); },
            },
            Op::If { c, .. } | Op::BreakIf { c, .. } => f(c, Use::Read),
            Op::Print { v, .. } => for r in v { f(r, Use::Read); },
            Op::Loop { .. } | Op::Scope { .. } | Op::Break(_) | Op::Continue(_) | Op::Leave(_) => {}
        }
    }};
}

impl Op {
    /// Visits its own registers, not those of nested blocks; a loop's `until` belongs to `cont`.
    pub(in crate::engine) fn each(&self, f: &mut dyn FnMut(&Reg, Use)) {
        visit!(self, f,);
    }

    /// [`Op::each`], to change them.
    pub(in crate::engine) fn each_mut(&mut self, f: &mut dyn FnMut(&mut Reg, Use)) {
        visit!(self, f, mut);
    }

    /// Its nested blocks, with the register that is read at the end of each.
    pub(in crate::engine) fn blocks_mut(&mut self) -> Vec<(&mut Block, Option<&mut Reg>)> {
        match self {
            Self::If { then, other, .. } => vec![(then, None), (other, None)],
            Self::Loop {
                body, cont, until, ..
            } => vec![(body, None), (cont, until.as_mut())],
            Self::Scope { body, .. } => vec![(body, None)],
            _ => Vec::new(),
        }
    }

    /// Whether it does nothing but write its results.
    pub(in crate::engine) fn is_pure(&self) -> bool {
        matches!(
            self,
            Self::Un { .. }
                | Self::Bin { .. }
                | Self::Tri { .. }
                | Self::Mov { .. }
                | Self::Call { .. }
                | Self::Index { .. }
                | Self::Load { .. }
                | Self::Pick { .. }
                | Self::First { .. }
                | Self::Subgroup { .. }
                | Self::Matrix(_)
                | Self::Texture(_)
        ) && !matches!(self, Self::Matrix(m) if matches!(**m, Matrix::Store { .. }))
            && !matches!(self, Self::Texture(t) if t.what.writes())
    }

    /// Whether results of one lane depend on other lanes' operands, so that a result must not
    /// share a place with an operand.
    pub(in crate::engine) fn crosses_lanes(&self) -> bool {
        matches!(
            self,
            Self::Subgroup { .. } | Self::Matrix(_) | Self::Atomic { .. }
        )
    }
}
