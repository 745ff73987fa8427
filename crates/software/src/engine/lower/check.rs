//! Checks before (and after) what they look at; nothing unless the program is for a sanitizer.

use naga::{BinaryOperator as Binary, Expression, Handle, Scalar, ScalarKind, TypeInner};

use super::pointer::{Pointer, Root};
use super::{Lower, Result};
use crate::engine::check::{Check, Order, Shown, Site, Usage, What};
use crate::engine::ir::{Addr, MatrixShape, Op, Reg, Rmw};
use crate::engine::layout::{Leaf, scalar_words};
use crate::sanitize::Checks;

/// A plain read.
pub(super) const READ: Usage = Usage {
    read: true,
    write: false,
    atomic: false,
    rmw: None,
};

/// A plain write.
pub(super) const WRITE: Usage = Usage {
    read: false,
    write: true,
    atomic: false,
    rmw: None,
};

pub(super) fn shown(scalar: Scalar) -> Shown {
    match scalar.kind {
        ScalarKind::Float | ScalarKind::AbstractFloat => Shown::Float,
        ScalarKind::Sint | ScalarKind::AbstractInt => Shown::Signed,
        ScalarKind::Uint => Shown::Unsigned,
        ScalarKind::Bool => Shown::Bool,
    }
}

impl Lower<'_> {
    fn checks(&self) -> Checks {
        self.checks.unwrap_or_else(Checks::none)
    }

    fn check(&mut self, name: String, shown: Shown, what: What) -> Result<()> {
        let site = Site {
            line: self.line(),
            name,
            shown,
        };
        let next = self.code.sites.len() as u32;
        let site = match self.sites.get(&site) {
            Some(known) => *known,
            None => {
                self.code.sites.push(site.clone());
                self.sites.insert(site, next);
                next
            }
        };
        self.emit(Op::Check(Box::new(Check { site, what })))
    }

    /// The variable that a pointer points into.
    fn name_of(&self, pointer: &Pointer) -> String {
        pointer
            .variable
            .and_then(|handle| self.module.global_variables[handle].name.clone())
            .unwrap_or_else(|| "a variable".to_owned())
    }

    /// An access to memory is about to happen.
    pub(super) fn check_memory(
        &mut self,
        pointer: &Pointer,
        piece: (&Addr, usize, bool),
        leaf: Option<&Leaf>,
        usage: Usage,
        v: &[Reg],
    ) -> Result<()> {
        let checks = self.checks();
        if !(checks.bounds || checks.races || checks.uninitialized) {
            return Ok(());
        }
        let (at, words, half) = piece;
        self.code.halves |= half;
        let atomic = matches!(pointer.ty, TypeInner::Atomic(_));
        let what = What::Memory {
            at: *at,
            trail: pointer.trail.clone(),
            words: words as u32,
            half,
            usage: Usage { atomic, ..usage },
            v: v.to_vec(),
        };
        let shown = leaf.map_or(Shown::Unsigned, |leaf| shown(leaf.scalar));
        self.check(self.name_of(pointer), shown, what)
    }

    /// A read-modify-write is about to happen; `used`: its old value matters.
    pub(super) fn check_atomic(
        &mut self,
        pointer: &Pointer,
        at: &Addr,
        scalar: Scalar,
        rmw: Rmw,
        used: bool,
        v: &[Reg],
    ) -> Result<()> {
        let leaf = Leaf { offset: 0, scalar };
        let usage = Usage {
            read: used || !matches!(rmw, Rmw::And | Rmw::Or | Rmw::Exchange),
            write: true,
            atomic: true,
            rmw: Some(rmw),
        };
        let words = scalar_words(scalar) as usize;
        self.check_memory(pointer, (at, words, false), Some(&leaf), usage, v)
    }

    pub(super) fn check_matrix(
        &mut self,
        pointer: &Pointer,
        at: &Addr,
        stride: Reg,
        shape: &MatrixShape,
        write: bool,
    ) -> Result<()> {
        if self.checks.is_none() {
            return Ok(());
        }
        self.code.halves |= shape.half;
        self.check_subgroup("cooperative matrix")?;
        let what = What::Matrix {
            at: *at,
            trail: pointer.trail.clone(),
            stride,
            shape: *shape,
            write,
        };
        self.check(self.name_of(pointer), Shown::Float, what)
    }

    /// An index into registers.
    pub(super) fn check_index(&mut self, index: Reg, len: usize) -> Result<()> {
        if !self.checks().bounds || len == usize::MAX {
            return Ok(());
        }
        let what = What::Index {
            index,
            len: len as u32,
        };
        self.check(
            "a value of the invocation".to_owned(),
            Shown::Unsigned,
            what,
        )
    }

    pub(super) fn check_barrier(&mut self, barrier: naga::Barrier, name: &str) -> Result<()> {
        let checks = self.checks();
        if !checks.races && !checks.uniformity {
            return Ok(());
        }
        let subgroup = barrier == naga::Barrier::SUB_GROUP;
        if subgroup {
            self.check_subgroup(name)?;
        }
        let order = Order {
            workgroup: barrier.contains(naga::Barrier::WORK_GROUP),
            storage: barrier.contains(naga::Barrier::STORAGE),
            subgroup,
        };
        let what = What::Barrier {
            order,
            uniform: !subgroup && checks.uniformity,
        };
        self.check(name.to_owned(), Shown::Unsigned, what)
    }

    pub(super) fn check_subgroup(&mut self, name: &str) -> Result<()> {
        if !self.checks().uniformity {
            return Ok(());
        }
        self.check(name.to_owned(), Shown::Unsigned, What::Subgroup)
    }

    /// A `workgroupUniformLoad` starts: a barrier, and one address for all.
    pub(super) fn check_uniform_load(&mut self, pointer: &Pointer) -> Result<()> {
        if self.checks.is_none() {
            return Ok(());
        }
        self.check_barrier(naga::Barrier::WORK_GROUP, "workgroupUniformLoad")?;
        if self.checks().uniformity && pointer.is_dynamic() {
            let at = self.address(pointer, 0)?;
            let what = What::SameAddress { at };
            self.check(self.name_of(pointer), Shown::Unsigned, what)?;
        }
        Ok(())
    }

    /// It ends: a barrier that nobody misses who was at its start.
    pub(super) fn check_uniform_load_end(&mut self) -> Result<()> {
        if !self.checks().races {
            return Ok(());
        }
        let order = Order {
            workgroup: true,
            ..Order::default()
        };
        let what = What::Barrier {
            order,
            uniform: false,
        };
        self.check("workgroupUniformLoad".to_owned(), Shown::Unsigned, what)
    }

    /// An expression has been computed.
    pub(super) fn check_expression(&mut self, handle: Handle<Expression>, d: &[Reg]) -> Result<()> {
        if self.checks.is_none() {
            return Ok(());
        }
        match self.frame.function.expressions[handle] {
            Expression::Binary { op, left, right } => self.check_binary(op, left, right)?,
            Expression::As {
                expr,
                kind,
                convert: Some(width),
            } => self.check_conversion(expr, Scalar { kind, width })?,
            _ => {}
        }
        if self.checks().non_finite {
            self.check_result(handle, d)?;
        }
        Ok(())
    }

    fn check_binary(
        &mut self,
        op: Binary,
        left: Handle<Expression>,
        right: Handle<Expression>,
    ) -> Result<()> {
        let divides = matches!(op, Binary::Divide | Binary::Modulo);
        let shifts = matches!(op, Binary::ShiftLeft | Binary::ShiftRight);
        if !self.checks().integers || !(divides || shifts) {
            return Ok(());
        }
        let scalar = self.scalar(self.inner(left))?;
        let signed = scalar.kind == ScalarKind::Sint;
        if !signed && scalar.kind != ScalarKind::Uint {
            return Ok(());
        }
        let (a, b) = (self.value(left)?, self.value(right)?);
        let words = scalar_words(scalar) as usize;
        let other = if shifts { 1 } else { words };
        let count = (a.len() / words).max(b.len() / other);
        for i in 0..count {
            let a = super::arith::nth(&a, i, words).to_vec();
            let b = super::arith::nth(&b, i, other).to_vec();
            if shifts {
                let bits = u32::from(scalar.width) * 8;
                let Some(b) = b.first().copied() else {
                    continue;
                };
                if self.known(b).is_none_or(|b| b >= bits) {
                    self.check("shift".to_owned(), shown(scalar), What::Shift { b, bits })?;
                }
                continue;
            }
            let known = b.iter().map(|b| self.known(*b)).collect::<Option<Vec<_>>>();
            let harmless = known.is_some_and(|b| {
                b.iter().any(|word| *word != 0) && !(signed && b.iter().all(|word| *word == !0))
            });
            if !harmless {
                let name = if op == Binary::Divide { "/" } else { "%" };
                let bits = u32::from(scalar.width) * 8;
                let what = What::Divide { a, b, signed, bits };
                self.check(name.to_owned(), shown(scalar), what)?;
            }
        }
        Ok(())
    }

    fn check_conversion(&mut self, expr: Handle<Expression>, to: Scalar) -> Result<()> {
        let from = self.scalar(self.inner(expr))?;
        let integer = matches!(to.kind, ScalarKind::Sint | ScalarKind::Uint);
        if !self.checks().integers || from.kind != ScalarKind::Float || !integer {
            return Ok(());
        }
        let value = self.value(expr)?;
        for a in value.chunks(scalar_words(from) as usize) {
            let what = What::Convert {
                a: a.to_vec(),
                signed: to.kind == ScalarKind::Sint,
                bits: u32::from(to.width) * 8,
            };
            self.check("conversion".to_owned(), Shown::Float, what)?;
        }
        Ok(())
    }

    /// Looks at a float result of operations that make new numbers.
    fn check_result(&mut self, handle: Handle<Expression>, d: &[Reg]) -> Result<()> {
        let (name, operands) = match self.frame.function.expressions[handle] {
            Expression::Binary { op, left, right } => (format!("{op:?}"), vec![left, right]),
            Expression::Math {
                fun,
                arg,
                arg1,
                arg2,
                arg3,
            } => {
                let rest = [arg1, arg2, arg3].into_iter().flatten();
                (
                    format!("{fun:?}"),
                    std::iter::once(arg).chain(rest).collect(),
                )
            }
            Expression::As {
                expr,
                convert: Some(_),
                ..
            } => ("conversion".to_owned(), vec![expr]),
            _ => return Ok(()),
        };
        let Some(scalar) = self.float_scalar(self.inner(handle)) else {
            return Ok(());
        };
        let words = scalar_words(scalar) as usize;
        let mut values = Vec::new();
        for operand in operands {
            let Some(scalar) = self.float_scalar(self.inner(operand)) else {
                continue;
            };
            values.push((self.value(operand)?, scalar_words(scalar) as usize));
        }
        // Operands of one width per check: those of the result's.
        values.retain(|(_, width)| *width == words);
        let by_component = values
            .iter()
            .all(|(value, _)| value.len() == words || value.len() == d.len());
        let name = name.to_lowercase();
        if !by_component {
            let a = values.into_iter().flat_map(|(value, _)| value).collect();
            let what = What::Result {
                d: d.to_vec(),
                a,
                wide: words == 2,
                together: false,
            };
            return self.check(name, Shown::Float, what);
        }
        for (i, part) in d.chunks(words).enumerate() {
            if part.iter().all(|reg| self.known(*reg).is_some()) {
                continue;
            }
            let a = values
                .iter()
                .flat_map(|(value, _)| super::arith::nth(value, i, words).to_vec())
                .collect();
            let what = What::Result {
                d: part.to_vec(),
                a,
                wide: words == 2,
                together: false,
            };
            self.check(name.clone(), Shown::Float, what)?;
        }
        Ok(())
    }

    /// A subgroup has computed floats of its invocations' values.
    pub(super) fn check_together(
        &mut self,
        name: &str,
        (d, a): (&[Reg], &[Reg]),
        wide: bool,
    ) -> Result<()> {
        if !self.checks().non_finite {
            return Ok(());
        }
        let what = What::Result {
            d: d.to_vec(),
            a: a.to_vec(),
            wide,
            together: true,
        };
        self.check(name.to_owned(), Shown::Float, what)
    }

    /// The scalar of a float, or of a vector or matrix of them.
    fn float_scalar(&self, inner: &TypeInner) -> Option<Scalar> {
        let (TypeInner::Scalar(scalar)
        | TypeInner::Vector { scalar, .. }
        | TypeInner::Matrix { scalar, .. }) = *inner
        else {
            return None;
        };
        (scalar.kind == ScalarKind::Float).then_some(scalar)
    }

    /// Whether a pointer into registers has a dynamic part with a known length.
    pub(super) fn check_registers(&mut self, pointer: &Pointer) -> Result<()> {
        if !matches!(pointer.root, Root::Registers(_)) || !self.checks().bounds {
            return Ok(());
        }
        let parts = pointer.trail.iter().copied().chain(pointer.scaled);
        for part in parts.collect::<Vec<_>>() {
            let len = self.known(part.len).unwrap_or(u32::MAX) as usize;
            self.check_index(part.index, len)?;
        }
        Ok(())
    }
}
