//! Operators and conversions, one component at a time.

use naga::{BinaryOperator as Op, Expression, Handle, Scalar, ScalarKind as Kind, TypeInner};
use naga::{RelationalFunction, UnaryOperator, VectorSize};

use super::{Lower, Result};
use crate::engine::ir::Reg;
use crate::engine::layout::{is_short, is_supported, scalar_words};
use crate::engine::scalar::{Bin, Tri, Un, pack, wide};

impl Lower<'_> {
    /// One component through a binary operator. Comparisons give a `bool`.
    pub(super) fn component(
        &mut self,
        op: Op,
        scalar: Scalar,
        a: &[Reg],
        b: &[Reg],
    ) -> Result<Vec<Reg>> {
        if scalar.width == 8 {
            let Some(fun) = wide::binary(op, scalar.kind) else {
                return self.refuse(format!("{op:?}"), "it has no 64-bit form");
            };
            let results = if is_comparison(op) { 1 } else { 2 };
            return self.call(fun, [a, b].concat(), results);
        }
        let ([a, ..], [b, ..]) = (a, b) else {
            return self.refuse("operator", "an operand has no value");
        };
        let (a, mut b, kind) = (*a, *b, scalar.kind);
        if is_short(scalar) && matches!(op, Op::ShiftLeft | Op::ShiftRight) {
            let mask = self.bits(15);
            b = self.bin(Bin::And, b, mask)?;
        }
        let by_kind = |float, signed, unsigned| match kind {
            Kind::Float => float,
            Kind::Sint => signed,
            _ => unsigned,
        };
        let (op, a, b) = match op {
            Op::Add => (by_kind(Bin::AddF, Bin::Add, Bin::Add), a, b),
            Op::Subtract => (by_kind(Bin::SubF, Bin::Sub, Bin::Sub), a, b),
            Op::Multiply => (by_kind(Bin::MulF, Bin::Mul, Bin::Mul), a, b),
            Op::Divide => (by_kind(Bin::DivF, Bin::DivI, Bin::DivU), a, b),
            Op::Modulo => (by_kind(Bin::RemF, Bin::RemI, Bin::RemU), a, b),
            Op::Equal => (by_kind(Bin::EqF, Bin::Eq, Bin::Eq), a, b),
            Op::NotEqual => (by_kind(Bin::NeF, Bin::Ne, Bin::Ne), a, b),
            Op::Less => (by_kind(Bin::LtF, Bin::LtI, Bin::LtU), a, b),
            Op::LessEqual => (by_kind(Bin::LeF, Bin::LeI, Bin::LeU), a, b),
            Op::Greater => (by_kind(Bin::LtF, Bin::LtI, Bin::LtU), b, a),
            Op::GreaterEqual => (by_kind(Bin::LeF, Bin::LeI, Bin::LeU), b, a),
            Op::And | Op::LogicalAnd => (Bin::And, a, b),
            Op::InclusiveOr | Op::LogicalOr => (Bin::Or, a, b),
            Op::ExclusiveOr => (Bin::Xor, a, b),
            Op::ShiftLeft => (Bin::Shl, a, b),
            Op::ShiftRight => (by_kind(Bin::ShrU, Bin::ShrI, Bin::ShrU), a, b),
        };
        let result = self.bin(op, a, b)?;
        let rounds = matches!(
            op,
            Bin::AddF | Bin::SubF | Bin::MulF | Bin::DivF | Bin::RemF
        );
        if scalar == Scalar::F16 && rounds {
            return Ok(vec![self.un(Un::RoundHalf, result)?]);
        }
        let grows = matches!(op, Bin::Add | Bin::Sub | Bin::Mul | Bin::DivI | Bin::Shl);
        if grows {
            return Ok(vec![self.wrapped(scalar, result)?]);
        }
        Ok(vec![result])
    }

    /// The low 16 bits of an `i16` or `u16`, extended; other numbers as they are.
    pub(super) fn wrapped(&mut self, scalar: Scalar, a: Reg) -> Result<Reg> {
        match scalar {
            Scalar::I16 => self.un(Un::SignExtend, a),
            Scalar::U16 => {
                let mask = self.bits(0xffff);
                self.bin(Bin::And, a, mask)
            }
            _ => Ok(a),
        }
    }

    pub(super) fn unary(
        &mut self,
        op: UnaryOperator,
        expr: Handle<Expression>,
    ) -> Result<Vec<Reg>> {
        let scalar = self.scalar(self.inner(expr))?;
        let value = self.value(expr)?;
        let words = scalar_words(scalar) as usize;
        let mut out = Vec::with_capacity(value.len());
        for part in value.chunks(words) {
            match (op, scalar.kind) {
                (UnaryOperator::Negate, Kind::Float) => {
                    // The sign is in the last word.
                    let (last, before) = part.split_last().unwrap_or((&Reg(0), &[]));
                    out.extend_from_slice(before);
                    out.push(self.un(Un::NegF, *last)?);
                }
                (UnaryOperator::Negate, _) if words == 2 => {
                    let zero = self.bits(0);
                    out.extend(self.component(Op::Subtract, scalar, &[zero, zero], part)?);
                }
                (UnaryOperator::Negate, _) => {
                    for reg in part {
                        let negative = self.un(Un::NegI, *reg)?;
                        out.push(self.wrapped(scalar, negative)?);
                    }
                }
                (UnaryOperator::LogicalNot | UnaryOperator::BitwiseNot, _) => {
                    for reg in part {
                        let inverse = self.un(Un::Not, *reg)?;
                        out.push(self.wrapped(scalar, inverse)?);
                    }
                }
            }
        }
        Ok(out)
    }

    pub(super) fn binary(
        &mut self,
        op: Op,
        left: Handle<Expression>,
        right: Handle<Expression>,
    ) -> Result<Vec<Reg>> {
        let (a_type, b_type) = (self.inner(left), self.inner(right));
        let scalar = self.scalar(a_type)?;
        let (a, b) = (self.value(left)?, self.value(right)?);
        if op == Op::Multiply
            && let Some(product) = self.matrix_product(scalar, a_type, b_type, &a, &b)?
        {
            return Ok(product);
        }
        let a_words = scalar_words(scalar) as usize;
        let b_words = scalar_words(self.scalar(b_type)?) as usize;
        let count = (a.len() / a_words).max(b.len() / b_words);
        let mut out = Vec::new();
        for i in 0..count {
            let (a, b) = (nth(&a, i, a_words), nth(&b, i, b_words));
            out.extend(self.component(op, scalar, a, b)?);
        }
        Ok(out)
    }

    /// Linear algebra's products; nothing if this is a product of components.
    fn matrix_product(
        &mut self,
        scalar: Scalar,
        a_type: &TypeInner,
        b_type: &TypeInner,
        a: &[Reg],
        b: &[Reg],
    ) -> Result<Option<Vec<Reg>>> {
        let (rows, inner, columns) = match (a_type, b_type) {
            (
                TypeInner::Matrix {
                    columns: k, rows, ..
                },
                TypeInner::Matrix { columns, .. },
            ) => (*rows as usize, *k as usize, *columns as usize),
            (
                TypeInner::Matrix {
                    columns: k, rows, ..
                },
                TypeInner::Vector { .. },
            ) => (*rows as usize, *k as usize, 1),
            (TypeInner::Vector { size, .. }, TypeInner::Matrix { columns, .. }) => {
                (1, *size as usize, *columns as usize)
            }
            _ => return Ok(None),
        };
        let words = scalar_words(scalar) as usize;
        let mut out = Vec::new();
        for column in 0..columns {
            for row in 0..rows {
                let line: Vec<Reg> = (0..inner)
                    .flat_map(|k| nth(a, k * rows + row, words).to_vec())
                    .collect();
                let start = column * inner * words;
                let other = b.get(start..start + inner * words).unwrap_or(&[]).to_vec();
                out.extend(self.dot(scalar, &line, &other)?);
            }
        }
        Ok(Some(out))
    }

    /// Sum of products of components.
    pub(super) fn dot(&mut self, scalar: Scalar, a: &[Reg], b: &[Reg]) -> Result<Vec<Reg>> {
        let words = scalar_words(scalar) as usize;
        let mut sum: Option<Vec<Reg>> = None;
        for (a, b) in a.chunks(words).zip(b.chunks(words)) {
            let product = self.component(Op::Multiply, scalar, a, b)?;
            sum = Some(match sum {
                Some(sum) => self.component(Op::Add, scalar, &sum, &product)?,
                None => product,
            });
        }
        Ok(sum.unwrap_or_default())
    }

    pub(super) fn select(
        &mut self,
        condition: Handle<Expression>,
        accept: Handle<Expression>,
        reject: Handle<Expression>,
    ) -> Result<Vec<Reg>> {
        let condition = self.value(condition)?;
        let (accept_value, reject) = (self.value(accept)?, self.value(reject)?);
        let words = accept_value
            .len()
            .checked_div(condition.len())
            .unwrap_or(1)
            .max(1);
        let mut out = Vec::with_capacity(accept_value.len());
        for (i, (a, r)) in accept_value.iter().zip(&reject).enumerate() {
            let c = condition.get(if condition.len() == 1 { 0 } else { i / words });
            let Some(c) = c else {
                return self.refuse("select", "its condition has too few components");
            };
            out.push(self.tri(Tri::Select, *c, *a, *r)?);
        }
        Ok(out)
    }

    pub(super) fn relational(
        &mut self,
        fun: RelationalFunction,
        argument: Handle<Expression>,
    ) -> Result<Vec<Reg>> {
        let scalar = self.scalar(self.inner(argument))?;
        let value = self.value(argument)?;
        let op = match fun {
            RelationalFunction::All => Bin::And,
            RelationalFunction::Any => Bin::Or,
            RelationalFunction::IsNan | RelationalFunction::IsInf => {
                let un = if fun == RelationalFunction::IsNan {
                    Un::IsNan
                } else {
                    Un::IsInf
                };
                if scalar.width == 8 {
                    return self.refuse(format!("{fun:?}"), "it has no 64-bit form");
                }
                return value.into_iter().map(|reg| self.un(un, reg)).collect();
            }
        };
        let mut all: Option<Reg> = None;
        for reg in value {
            all = Some(match all {
                Some(before) => self.bin(op, before, reg)?,
                None => reg,
            });
        }
        Ok(all.into_iter().collect())
    }

    pub(super) fn cast(
        &mut self,
        expr: Handle<Expression>,
        kind: Kind,
        convert: Option<u8>,
    ) -> Result<Vec<Reg>> {
        let from = self.scalar(self.inner(expr))?;
        let value = self.value(expr)?;
        let Some(width) = convert else {
            let to = Scalar {
                kind,
                width: from.width,
            };
            return value
                .into_iter()
                .map(|reg| self.reinterpret(from, to, reg))
                .collect();
        };
        let to = Scalar { kind, width };
        if !is_supported(to) {
            return self.refuse("conversion", format!("to {} bits of {kind:?}", width * 8));
        }
        let words = scalar_words(from) as usize;
        let mut out = Vec::new();
        for part in value.chunks(words) {
            out.extend(self.convert(from, to, part)?);
        }
        Ok(out)
    }

    /// A word of a component as another type of the same width.
    fn reinterpret(&mut self, from: Scalar, to: Scalar, a: Reg) -> Result<Reg> {
        if from == to || from.width != 2 {
            return Ok(a);
        }
        let zero = self.bits(0);
        match (from.kind, to.kind) {
            (Kind::Float, _) => {}
            (_, Kind::Float) => {
                let value = self.bin(Bin::UnpackHalf, a, zero)?;
                return self.wrapped(to, value);
            }
            _ => return self.wrapped(to, a),
        }
        match self.call(pack::PACK_2X16_FLOAT, vec![a, zero], 1)?.first() {
            Some(bits) => self.wrapped(to, *bits),
            None => self.refuse("bitcast", "its operand has no value"),
        }
    }

    /// Limits a float to what an integer of at most 32 bits can be, as far as the float's type can say it.
    fn limited(&mut self, from: Scalar, to: Scalar, a: Reg) -> Result<Reg> {
        let (low, high) = match (from, to.kind, to.width) {
            (Scalar::F16, Kind::Sint, 2) => (-32_768.0, 32_752.0),
            (_, Kind::Sint, 2) => (-32_768.0, 32_767.0),
            (Scalar::F16, Kind::Sint, _) => (-65_504.0, 65_504.0),
            (Scalar::F16, _, _) => (0.0, 65_504.0),
            (_, Kind::Uint, 2) => (0.0, 65_535.0),
            _ => return Ok(a),
        };
        let (low, high) = (self.f32(low), self.f32(high));
        let raised = self.bin(Bin::MaxF, a, low)?;
        self.bin(Bin::MinF, raised, high)
    }

    /// One component to another scalar type.
    pub(super) fn convert(&mut self, from: Scalar, to: Scalar, a: &[Reg]) -> Result<Vec<Reg>> {
        if from == to {
            return Ok(a.to_vec());
        }
        if from.width == 8 || to.width == 8 {
            let Some(fun) = wide::convert(from, to) else {
                return self.refuse("conversion", format!("from {from:?} to {to:?}"));
            };
            let mut out = self.call(fun, a.to_vec(), scalar_words(to) as usize)?;
            for reg in &mut out {
                *reg = match to {
                    Scalar::F16 => self.un(Un::RoundHalf, *reg)?,
                    _ => self.wrapped(to, *reg)?,
                };
            }
            return Ok(out);
        }
        let [a, ..] = a else {
            return self.refuse("conversion", "its operand has no value");
        };
        let a = *a;
        let result = match (from.kind, to.kind) {
            (Kind::Float, Kind::Sint) => {
                let limited = self.limited(from, to, a)?;
                self.un(Un::IntFromF, limited)?
            }
            (Kind::Float, Kind::Uint) => {
                let limited = self.limited(from, to, a)?;
                self.un(Un::UintFromF, limited)?
            }
            (Kind::Float, Kind::Bool) => self.un(Un::BoolFromF, a)?,
            (Kind::Sint, Kind::Float) => self.un(Un::FFromInt, a)?,
            (Kind::Uint, Kind::Float) => self.un(Un::FFromUint, a)?,
            (Kind::Sint | Kind::Uint, Kind::Bool) => self.un(Un::BoolFromInt, a)?,
            (Kind::Bool, Kind::Bool) => a,
            (Kind::Bool, Kind::Float) => {
                let one = self.f32(1.0);
                self.bin(Bin::And, a, one)?
            }
            (Kind::Bool, _) => {
                let one = self.bits(1);
                self.bin(Bin::And, a, one)?
            }
            _ => a,
        };
        if to == Scalar::F16 && from.kind != Kind::Bool {
            return Ok(vec![self.un(Un::RoundHalf, result)?]);
        }
        Ok(vec![self.wrapped(to, result)?])
    }
}

fn is_comparison(op: Op) -> bool {
    matches!(
        op,
        Op::Equal | Op::NotEqual | Op::Less | Op::LessEqual | Op::Greater | Op::GreaterEqual
    )
}

/// Component `i`, or the only one.
pub(super) fn nth(value: &[Reg], i: usize, words: usize) -> &[Reg] {
    let i = if value.len() == words { 0 } else { i };
    value.get(i * words..(i + 1) * words).unwrap_or(&[])
}

/// Components of a vector type, 1 for a scalar.
pub(super) fn components(inner: &TypeInner) -> usize {
    match inner {
        TypeInner::Vector {
            size: VectorSize::Bi,
            ..
        } => 2,
        TypeInner::Vector {
            size: VectorSize::Tri,
            ..
        } => 3,
        TypeInner::Vector {
            size: VectorSize::Quad,
            ..
        } => 4,
        _ => 1,
    }
}
