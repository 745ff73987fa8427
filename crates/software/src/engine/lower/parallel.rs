//! Atomics, subgroup operations and cooperative matrices.

use naga::{
    AtomicFunction, BinaryOperator as Op2, CollectiveOperation, CooperativeData, CooperativeSize,
    Expression, GatherMode, Handle, MathFunction as M, Scalar, ScalarKind as Kind,
    SubgroupOperation, TypeInner,
};

use super::{Lower, Result};
use crate::engine::ir::{Matrix, MatrixShape, Op, Reg, Rmw, Sub};
use crate::engine::layout::scalar_words;
use crate::engine::scalar::{Bin, Fun, Un, bits, float, wide};

impl Lower<'_> {
    /// What an atomic function that compares nothing does with values of this kind.
    pub(super) fn read_modify_write(&self, fun: &AtomicFunction, kind: Kind) -> Result<Rmw> {
        let signed = kind == Kind::Sint;
        let is_float = kind == Kind::Float;
        Ok(match *fun {
            AtomicFunction::Add if is_float => Rmw::AddFloat,
            AtomicFunction::Subtract if is_float => Rmw::SubFloat,
            AtomicFunction::Min if is_float => Rmw::MinFloat,
            AtomicFunction::Max if is_float => Rmw::MaxFloat,
            AtomicFunction::Add => Rmw::Add,
            AtomicFunction::Subtract => Rmw::Sub,
            AtomicFunction::And => Rmw::And,
            AtomicFunction::ExclusiveOr => Rmw::Xor,
            AtomicFunction::InclusiveOr => Rmw::Or,
            AtomicFunction::Min => Rmw::Min { signed },
            AtomicFunction::Max => Rmw::Max { signed },
            AtomicFunction::Exchange { compare: None } => Rmw::Exchange,
            AtomicFunction::Exchange { compare: Some(_) } => {
                return self.refuse("atomic", "it compares");
            }
        })
    }

    pub(super) fn atomic(
        &mut self,
        pointer: Handle<Expression>,
        fun: &AtomicFunction,
        value: Handle<Expression>,
        result: Option<Handle<Expression>>,
    ) -> Result<()> {
        let pointer = self.pointer(pointer)?;
        let scalar = self.scalar(&pointer.ty)?;
        let v = self.value(value)?;
        if scalar.kind == Kind::Float && scalar.width != 4 {
            return self.refuse("atomic", "floats of atomics have 32 bits");
        }
        let (rmw, compare) = match *fun {
            AtomicFunction::Exchange {
                compare: Some(other),
            } => (Rmw::CompareExchange, self.value(other)?),
            _ => (self.read_modify_write(fun, scalar.kind)?, Vec::new()),
        };
        let words = scalar_words(scalar) as usize + usize::from(rmw == Rmw::CompareExchange);
        let d: Vec<Reg> = match result {
            Some(_) => (0..words).map(|_| self.register()).collect(),
            None => Vec::new(),
        };
        let at = self.address(&pointer, 0)?;
        let used = result.is_some_and(|result| self.frame.info[result].ref_count > 0);
        self.check_atomic(&pointer, &at, scalar, rmw, used, &v)?;
        self.emit(Op::Atomic {
            rmw,
            d: d.clone(),
            v,
            compare,
            at,
        })?;
        if let Some(result) = result {
            self.set(result, d);
        }
        Ok(())
    }

    fn subgroup(&mut self, sub: Sub, a: Vec<Reg>, results: usize) -> Result<Vec<Reg>> {
        let d: Vec<Reg> = (0..results).map(|_| self.register()).collect();
        self.check_subgroup("subgroup operation")?;
        self.emit(Op::Subgroup {
            sub,
            d: d.clone(),
            a,
        })?;
        Ok(d)
    }

    pub(super) fn ballot(
        &mut self,
        result: Handle<Expression>,
        predicate: Option<Handle<Expression>>,
    ) -> Result<()> {
        let predicate = match predicate {
            Some(predicate) => self.word(predicate)?,
            None => self.bits(!0),
        };
        let value = self.subgroup(Sub::Ballot, vec![predicate], 4)?;
        self.set(result, value);
        Ok(())
    }

    pub(super) fn gather(
        &mut self,
        mode: GatherMode,
        argument: Handle<Expression>,
        result: Handle<Expression>,
    ) -> Result<()> {
        let value = self.value(argument)?;
        let (sub, other) = match mode {
            GatherMode::BroadcastFirst => (Sub::First, None),
            GatherMode::Broadcast(at) | GatherMode::Shuffle(at) => (Sub::Shuffle, Some(at)),
            GatherMode::ShuffleDown(at) => (Sub::ShuffleDown, Some(at)),
            GatherMode::ShuffleUp(at) => (Sub::ShuffleUp, Some(at)),
            GatherMode::ShuffleXor(at) => (Sub::ShuffleXor, Some(at)),
            GatherMode::QuadBroadcast(at) => (Sub::QuadBroadcast, Some(at)),
            GatherMode::QuadSwap(direction) => (Sub::QuadSwap(direction as u32 + 1), None),
        };
        let other = other.map(|other| self.word(other)).transpose()?;
        let mut out = Vec::new();
        for reg in value {
            let mut a = vec![reg];
            a.extend(other);
            out.extend(self.subgroup(sub, a, 1)?);
        }
        self.set(result, out);
        Ok(())
    }

    pub(super) fn collective(
        &mut self,
        op: SubgroupOperation,
        collective: CollectiveOperation,
        argument: Handle<Expression>,
        result: Handle<Expression>,
    ) -> Result<()> {
        let scalar = self.scalar(self.inner(argument))?;
        let value = self.value(argument)?;
        let words = scalar_words(scalar) as usize;
        let mut out = Vec::new();
        for part in value.chunks(words) {
            let sub = match op {
                SubgroupOperation::All => Sub::All,
                SubgroupOperation::Any => Sub::Any,
                _ => {
                    let Some(f) = combine(op, scalar) else {
                        return self.refuse(format!("{op:?}"), format!("not for {scalar:?}"));
                    };
                    match collective {
                        CollectiveOperation::Reduce => Sub::Reduce(f),
                        CollectiveOperation::InclusiveScan => Sub::Inclusive(f),
                        CollectiveOperation::ExclusiveScan => Sub::Exclusive(f),
                    }
                }
            };
            let mut a = part.to_vec();
            // An exclusive scan of the first invocation is the identity.
            if matches!(sub, Sub::Exclusive(_)) {
                a.extend(self.identity(op, scalar));
            }
            let d = self.subgroup(sub, a, words)?;
            let makes = match op {
                SubgroupOperation::Add => Some("subgroup sum"),
                SubgroupOperation::Mul => Some("subgroup product"),
                _ => None,
            };
            if let (Kind::Float, Some(name)) = (scalar.kind, makes) {
                self.check_together(name, (&d, part), words == 2)?;
            }
            out.extend(d);
        }
        self.set(result, out);
        Ok(())
    }

    fn identity(&mut self, op: SubgroupOperation, scalar: Scalar) -> Vec<Reg> {
        let one = matches!(op, SubgroupOperation::Mul);
        match (scalar.kind, scalar.width, one) {
            (Kind::Float, _, one) => self.float(scalar, if one { 1.0 } else { 0.0 }),
            (_, 8, one) => vec![self.bits(one.into()), self.bits(0)],
            (_, _, one) => vec![self.bits(one.into())],
        }
    }

    fn shape(
        &mut self,
        columns: CooperativeSize,
        rows: CooperativeSize,
        data: &CooperativeData,
        scalar: Scalar,
    ) -> Result<MatrixShape> {
        let pointer = self.pointer(data.pointer)?;
        let memory = self.scalar(&pointer.ty)?;
        if memory != scalar || !matches!(scalar, Scalar::F16 | Scalar::F32) {
            return self.refuse(
                "cooperative matrix",
                format!("of {scalar:?} in memory of {memory:?}"),
            );
        }
        if matches!(
            pointer.ty,
            TypeInner::Vector {
                size: naga::VectorSize::Tri,
                ..
            }
        ) {
            return self.refuse("cooperative matrix", "in memory of vectors of three");
        }
        let host = pointer.is_binding();
        let element = if host { u32::from(scalar.width) } else { 4 };
        let unit = element * super::arith::components(&pointer.ty) as u32;
        Ok(MatrixShape {
            rows: rows as u32,
            columns: columns as u32,
            row_major: data.row_major,
            element,
            unit,
            half: host && scalar.width == 2,
        })
    }

    pub(super) fn matrix_load(
        &mut self,
        handle: Handle<Expression>,
        columns: CooperativeSize,
        rows: CooperativeSize,
        data: &CooperativeData,
    ) -> Result<Vec<Reg>> {
        let inner = self.inner(handle);
        let shape = self.shape(columns, rows, data, self.scalar(inner)?)?;
        let len = self.words(inner)?;
        let pointer = self.pointer(data.pointer)?;
        let at = self.address(&pointer, 0)?;
        let stride = self.word(data.stride)?;
        let d: Vec<Reg> = (0..len).map(|_| self.register()).collect();
        self.check_matrix(&pointer, &at, stride, &shape, false)?;
        self.emit(Op::Matrix(Box::new(Matrix::Load {
            d: d.clone(),
            at,
            stride,
            shape,
        })))?;
        Ok(d)
    }

    pub(super) fn matrix_store(
        &mut self,
        target: Handle<Expression>,
        data: &CooperativeData,
    ) -> Result<()> {
        let TypeInner::CooperativeMatrix {
            columns,
            rows,
            scalar,
            ..
        } = *self.inner(target)
        else {
            return self.refuse("coopStore", "its first operand is no matrix");
        };
        let shape = self.shape(columns, rows, data, scalar)?;
        let v = self.value(target)?;
        let pointer = self.pointer(data.pointer)?;
        let at = self.address(&pointer, 0)?;
        let stride = self.word(data.stride)?;
        self.check_matrix(&pointer, &at, stride, &shape, true)?;
        self.emit(Op::Matrix(Box::new(Matrix::Store {
            v,
            at,
            stride,
            shape,
        })))
    }

    pub(super) fn matrix_multiply_add(
        &mut self,
        a: Handle<Expression>,
        b: Handle<Expression>,
        c: Handle<Expression>,
    ) -> Result<Vec<Reg>> {
        let size = |inner: &TypeInner| match *inner {
            TypeInner::CooperativeMatrix { columns, rows, .. } if columns == rows => {
                Some(columns as u32)
            }
            _ => None,
        };
        let sizes = [a, b, c].map(|handle| size(self.inner(handle)));
        let (Some(size), true) = (sizes[0], sizes[0] == sizes[1] && sizes[1] == sizes[2]) else {
            return self.refuse(
                "coopMultiplyAdd",
                "its matrices are not square and of one size",
            );
        };
        let half = self.scalar(self.inner(c))? == Scalar::F16;
        let (a, b, c) = (self.value(a)?, self.value(b)?, self.value(c)?);
        let d: Vec<Reg> = c.iter().map(|_| self.register()).collect();
        let operands = [&a[..], &b, &c].concat();
        self.check_subgroup("coopMultiplyAdd")?;
        let op = Matrix::MultiplyAdd {
            d: d.clone(),
            a,
            b,
            c,
            size,
            half,
        };
        self.emit(Op::Matrix(Box::new(op)))?;
        self.check_together("coopMultiplyAdd", (&d, &operands), false)?;
        Ok(d)
    }
}

/// The function that a reduction or scan repeats; operands of 64 bits take two words each.
fn combine(op: SubgroupOperation, scalar: Scalar) -> Option<Fun> {
    use SubgroupOperation as S;
    let kind = scalar.kind;
    if scalar.width == 8 {
        return match op {
            S::Add => wide::binary(Op2::Add, kind),
            S::Mul => wide::binary(Op2::Multiply, kind),
            S::Min => wide::math(M::Min, kind),
            S::Max => wide::math(M::Max, kind),
            S::And => wide::binary(Op2::And, kind),
            S::Or => wide::binary(Op2::InclusiveOr, kind),
            S::Xor => wide::binary(Op2::ExclusiveOr, kind),
            S::All | S::Any => None,
        };
    }
    macro_rules! one {
        ($op:expr) => {
            Fun(|a| [$op.eval(a[0], a[1]), 0])
        };
    }
    Some(match (op, kind) {
        (S::Add, Kind::Float) if scalar.width == 2 => {
            Fun(|a| [float::round_half(Bin::AddF.eval(a[0], a[1])), 0])
        }
        (S::Mul, Kind::Float) if scalar.width == 2 => {
            Fun(|a| [Un::RoundHalf.eval(Bin::MulF.eval(a[0], a[1])), 0])
        }
        (S::Add, Kind::Float) => one!(Bin::AddF),
        (S::Mul, Kind::Float) => one!(Bin::MulF),
        (S::Min, Kind::Float) => one!(Bin::MinF),
        (S::Max, Kind::Float) => one!(Bin::MaxF),
        (S::Add, Kind::Sint) if scalar.width == 2 => {
            Fun(|a| [bits::sign_extended(a[0].wrapping_add(a[1])), 0])
        }
        (S::Mul, Kind::Sint) if scalar.width == 2 => {
            Fun(|a| [bits::sign_extended(a[0].wrapping_mul(a[1])), 0])
        }
        (S::Add, _) if scalar.width == 2 => Fun(|a| [a[0].wrapping_add(a[1]) & 0xffff, 0]),
        (S::Mul, _) if scalar.width == 2 => Fun(|a| [a[0].wrapping_mul(a[1]) & 0xffff, 0]),
        (S::Add, _) => one!(Bin::Add),
        (S::Mul, _) => one!(Bin::Mul),
        (S::Min, Kind::Sint) => one!(Bin::MinI),
        (S::Max, Kind::Sint) => one!(Bin::MaxI),
        (S::Min, _) => one!(Bin::MinU),
        (S::Max, _) => one!(Bin::MaxU),
        (S::And, _) => one!(Bin::And),
        (S::Or, _) => one!(Bin::Or),
        (S::Xor, _) => one!(Bin::Xor),
        (S::All | S::Any, _) => return None,
    })
}
