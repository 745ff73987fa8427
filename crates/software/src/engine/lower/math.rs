//! Built-in functions, component by component.

use naga::{BinaryOperator as Op, Expression, Handle, MathFunction as M, Scalar};
use naga::{ScalarKind as Kind, TypeInner};

use super::arith::{components, nth};
use super::{Lower, Result};
use crate::engine::ir::Reg;
use crate::engine::layout::{is_short, scalar_words};
use crate::engine::scalar::{Bin, Fun, Tri, Un, bits, pack, wide};

impl Lower<'_> {
    pub(super) fn math(
        &mut self,
        handle: Handle<Expression>,
        fun: M,
        arg: Handle<Expression>,
        rest: [Option<Handle<Expression>>; 3],
    ) -> Result<Vec<Reg>> {
        let inner = self.inner(arg);
        let scalar = self.scalar(inner)?;
        let mut args = vec![self.value(arg)?];
        for other in rest.into_iter().flatten() {
            args.push(self.value(other)?);
        }
        if let Some(packed) = self.packing(fun, &args)? {
            return Ok(packed);
        }
        let shape = match *inner {
            TypeInner::Matrix { columns, rows, .. } => (columns as usize, rows as usize),
            _ => (components(inner), 1),
        };
        if let Some(value) = self.vector_math(fun, scalar, &args, shape)? {
            return Ok(value);
        }
        let words = scalar_words(scalar) as usize;
        let count = components(self.inner(handle)).max(components(inner));
        // Operands of shifts and exponents keep their own width.
        let other_words: Vec<usize> = args
            .iter()
            .map(|value| {
                if value.len() == words * count {
                    words
                } else {
                    value.len() / count.min(value.len()).max(1)
                }
            })
            .collect();
        let mut first = Vec::new();
        let mut second = Vec::new();
        for i in 0..count {
            let parts: Vec<Vec<Reg>> = args
                .iter()
                .zip(&other_words)
                .map(|(value, words)| nth(value, i, (*words).max(1)).to_vec())
                .collect();
            let parts: Vec<&[Reg]> = parts.iter().map(Vec::as_slice).collect();
            match fun {
                M::Modf => {
                    let x = parts.first().copied().unwrap_or(&[]);
                    let whole = self.unary_math(M::Trunc, scalar, x)?;
                    first.extend(self.component(Op::Subtract, scalar, x, &whole)?);
                    second.extend(whole);
                }
                M::Frexp if words == 1 => {
                    let found = self.call(bits::FREXP, parts.concat(), 2)?;
                    first.extend(found.first());
                    second.extend(found.get(1));
                }
                _ => first.extend(self.scalar_math(fun, scalar, &parts)?),
            }
        }
        first.extend(second);
        Ok(first)
    }

    /// A function of one operand.
    pub(super) fn unary_math(&mut self, fun: M, scalar: Scalar, x: &[Reg]) -> Result<Vec<Reg>> {
        self.scalar_math(fun, scalar, &[x])
    }

    /// A function of 64-bit numbers.
    pub(super) fn wide_math(
        &mut self,
        fun: M,
        scalar: Scalar,
        parts: &[&[Reg]],
    ) -> Result<Vec<Reg>> {
        match wide::math(fun, scalar.kind) {
            Some(f) => self.call(f, parts.concat(), 2),
            None => self.refuse(format!("{fun:?}"), "it has no 64-bit form"),
        }
    }

    fn scalar_math(&mut self, fun: M, scalar: Scalar, parts: &[&[Reg]]) -> Result<Vec<Reg>> {
        let part = |i: usize| parts.get(i).copied().unwrap_or(&[]);
        let (x, y, z) = (part(0), part(1), part(2));
        let float = scalar.kind == Kind::Float;
        match fun {
            M::Min | M::Max => return self.extreme(fun, scalar, x, y),
            M::Clamp => return self.clamp(scalar, x, y, z),
            M::Mix => {
                // x * (1 - t) + y * t
                let one = self.float(scalar, 1.0);
                let rest = self.component(Op::Subtract, scalar, &one, z)?;
                let left = self.component(Op::Multiply, scalar, x, &rest)?;
                let right = self.component(Op::Multiply, scalar, y, z)?;
                return self.component(Op::Add, scalar, &left, &right);
            }
            M::Step => {
                let (one, zero) = (self.float(scalar, 1.0), self.float(scalar, 0.0));
                let on = self.component(Op::LessEqual, scalar, x, y)?;
                let on = on.first().copied().unwrap_or(Reg(0));
                let mut out = Vec::new();
                for (one, zero) in one.into_iter().zip(zero) {
                    out.push(self.tri(Tri::Select, on, one, zero)?);
                }
                return Ok(out);
            }
            M::SmoothStep => {
                let over = self.component(Op::Subtract, scalar, z, x)?;
                let under = self.component(Op::Subtract, scalar, y, x)?;
                let ratio = self.component(Op::Divide, scalar, &over, &under)?;
                let (zero, one) = (self.float(scalar, 0.0), self.float(scalar, 1.0));
                let t = self.clamp(scalar, &ratio, &zero, &one)?;
                let (two, three) = (self.float(scalar, 2.0), self.float(scalar, 3.0));
                let twice = self.component(Op::Multiply, scalar, &two, &t)?;
                let rest = self.component(Op::Subtract, scalar, &three, &twice)?;
                let square = self.component(Op::Multiply, scalar, &t, &t)?;
                return self.component(Op::Multiply, scalar, &square, &rest);
            }
            M::Fract => {
                let floor = self.unary_math(M::Floor, scalar, x)?;
                return self.component(Op::Subtract, scalar, x, &floor);
            }
            M::Radians | M::Degrees => {
                let factor = if fun == M::Radians {
                    1f64.to_radians()
                } else {
                    1f64.to_degrees()
                };
                let factor = self.float(scalar, factor);
                return self.component(Op::Multiply, scalar, x, &factor);
            }
            _ => {}
        }
        if scalar.width == 8 {
            return self.wide_math(fun, scalar, parts);
        }
        let all = parts.concat();
        let [x, ..] = x else {
            return self.refuse(format!("{fun:?}"), "its operand has no value");
        };
        let x = *x;
        let y = y.first().copied().unwrap_or(x);
        let z = z.first().copied().unwrap_or(x);
        if is_short(scalar)
            && let Some(value) = self.short_math(fun, scalar, x, &all)?
        {
            return Ok(vec![value]);
        }
        let signed = scalar.kind == Kind::Sint;
        let unary = |op| Ok::<_, super::CompileError>(Step::Un(op));
        let step = match fun {
            M::Abs if float => unary(Un::AbsF),
            M::Abs if signed => unary(Un::AbsI),
            M::Abs => return Ok(vec![x]),
            M::Sign if float => unary(Un::SignF),
            M::Sign => unary(Un::SignI),
            M::Saturate => unary(Un::Saturate),
            M::Floor => unary(Un::Floor),
            M::Ceil => unary(Un::Ceil),
            M::Trunc => unary(Un::Trunc),
            M::Round => unary(Un::Round),
            M::Sqrt => unary(Un::Sqrt),
            M::InverseSqrt => unary(Un::InverseSqrt),
            M::Exp => unary(Un::Exp),
            M::Exp2 => unary(Un::Exp2),
            M::Log => unary(Un::Log),
            M::Log2 => unary(Un::Log2),
            M::Sin => unary(Un::Sin),
            M::Cos => unary(Un::Cos),
            M::Tanh => unary(Un::Tanh),
            M::QuantizeToF16 => unary(Un::RoundHalf),
            M::CountOneBits => unary(Un::CountOnes),
            M::CountLeadingZeros => unary(Un::LeadingZeros),
            M::CountTrailingZeros => unary(Un::TrailingZeros),
            M::ReverseBits => unary(Un::ReverseBits),
            M::FirstTrailingBit => unary(Un::FirstTrailing),
            M::FirstLeadingBit if signed => unary(Un::FirstLeadingI),
            M::FirstLeadingBit => unary(Un::FirstLeadingU),
            M::Pow => Ok(Step::Bin(Bin::PowF)),
            M::Atan2 => Ok(Step::Bin(Bin::Atan2)),
            M::Fma => Ok(Step::Tri(Tri::Fma)),
            M::Tan => Ok(Step::Call(bits::TAN)),
            M::Asin => Ok(Step::Call(bits::ASIN)),
            M::Acos => Ok(Step::Call(bits::ACOS)),
            M::Atan => Ok(Step::Call(bits::ATAN)),
            M::Sinh => Ok(Step::Call(bits::SINH)),
            M::Cosh => Ok(Step::Call(bits::COSH)),
            M::Asinh => Ok(Step::Call(bits::ASINH)),
            M::Acosh => Ok(Step::Call(bits::ACOSH)),
            M::Atanh => Ok(Step::Call(bits::ATANH)),
            M::Ldexp => Ok(Step::Call(bits::LDEXP)),
            M::ExtractBits if signed => Ok(Step::Call(bits::EXTRACT_I)),
            M::ExtractBits => Ok(Step::Call(bits::EXTRACT_U)),
            M::InsertBits => Ok(Step::Call(bits::INSERT)),
            M::Dot4I8Packed => Ok(Step::Call(bits::DOT4_I8)),
            M::Dot4U8Packed => Ok(Step::Call(bits::DOT4_U8)),
            _ => self.refuse(format!("{fun:?}"), "the software device does not have it"),
        }?;
        let mut out = match step {
            Step::Un(op) => vec![self.un(op, x)?],
            Step::Bin(op) => vec![self.bin(op, x, y)?],
            Step::Tri(op) => vec![self.tri(op, x, y, z)?],
            Step::Call(f) => self.call(f, all, 1)?,
        };
        for reg in &mut out {
            *reg = match scalar {
                Scalar::F16 => self.un(Un::RoundHalf, *reg)?,
                _ => self.wrapped(scalar, *reg)?,
            };
        }
        Ok(out)
    }

    /// Functions of an `i16` or `u16` that are not those of its 32-bit form, wrapped.
    fn short_math(&mut self, fun: M, scalar: Scalar, x: Reg, all: &[Reg]) -> Result<Option<Reg>> {
        // Zeros above, and with a one above that, where zeros are counted from below.
        let low = self.wrapped(Scalar::U16, x)?;
        let (sixteen, beyond) = (self.bits(16), self.bits(1 << 16));
        let value = match (fun, all) {
            (M::CountOneBits, _) => self.un(Un::CountOnes, low)?,
            (M::CountLeadingZeros, _) => {
                let zeros = self.un(Un::LeadingZeros, low)?;
                self.bin(Bin::Sub, zeros, sixteen)?
            }
            (M::CountTrailingZeros, _) => {
                let ended = self.bin(Bin::Or, low, beyond)?;
                self.un(Un::TrailingZeros, ended)?
            }
            (M::ReverseBits, _) => {
                let reversed = self.un(Un::ReverseBits, low)?;
                self.bin(Bin::ShrU, reversed, sixteen)?
            }
            (M::ExtractBits, [_, offset, count]) => {
                let field = self.short_field(*offset, *count)?;
                let extract = if scalar.kind == Kind::Sint {
                    bits::EXTRACT_I
                } else {
                    bits::EXTRACT_U
                };
                let found = self.call(extract, [vec![x], field].concat(), 1)?;
                found.first().copied().unwrap_or(x)
            }
            (M::InsertBits, [_, new, offset, count]) => {
                let field = self.short_field(*offset, *count)?;
                let found = self.call(bits::INSERT, [vec![x, *new], field].concat(), 1)?;
                found.first().copied().unwrap_or(x)
            }
            _ => return Ok(None),
        };
        self.wrapped(scalar, value).map(Some)
    }

    /// Offset and count of a bit field within 16 bits.
    fn short_field(&mut self, offset: Reg, count: Reg) -> Result<Vec<Reg>> {
        let sixteen = self.bits(16);
        let offset = self.bin(Bin::MinU, offset, sixteen)?;
        let rest = self.bin(Bin::Sub, sixteen, offset)?;
        let count = self.bin(Bin::MinU, count, rest)?;
        Ok(vec![offset, count])
    }

    /// Packing and unpacking; nothing if `fun` is neither.
    fn packing(&mut self, fun: M, args: &[Vec<Reg>]) -> Result<Option<Vec<Reg>>> {
        let pack = match fun {
            M::Pack4x8snorm => pack::PACK_4X8_SNORM,
            M::Pack4x8unorm => pack::PACK_4X8_UNORM,
            M::Pack2x16snorm => pack::PACK_2X16_SNORM,
            M::Pack2x16unorm => pack::PACK_2X16_UNORM,
            M::Pack2x16float => pack::PACK_2X16_FLOAT,
            M::Pack4xI8 | M::Pack4xU8 => pack::PACK_4X8,
            M::Pack4xI8Clamp => pack::PACK_4X_I8_CLAMP,
            M::Pack4xU8Clamp => pack::PACK_4X_U8_CLAMP,
            _ => return self.unpacking(fun, args),
        };
        let values = args.first().cloned().unwrap_or_default();
        self.call(pack, values, 1).map(Some)
    }

    fn unpacking(&mut self, fun: M, args: &[Vec<Reg>]) -> Result<Option<Vec<Reg>>> {
        let Some(word) = args.first().and_then(|value| value.first()).copied() else {
            return Ok(None);
        };
        let (unpack, parts) = match fun {
            M::Unpack2x16float => {
                let parts = [0, 1].map(|part| {
                    let part = self.bits(part);
                    self.bin(Bin::UnpackHalf, word, part)
                });
                return parts.into_iter().collect::<Result<_>>().map(Some);
            }
            M::Unpack4x8snorm => (pack::UNPACK_8_SNORM, 4),
            M::Unpack4x8unorm => (pack::UNPACK_8_UNORM, 4),
            M::Unpack2x16snorm => (pack::UNPACK_16_SNORM, 2),
            M::Unpack2x16unorm => (pack::UNPACK_16_UNORM, 2),
            M::Unpack4xI8 => (pack::UNPACK_I8, 4),
            M::Unpack4xU8 => (pack::UNPACK_U8, 4),
            _ => return Ok(None),
        };
        let mut out = Vec::new();
        for i in 0..parts {
            let i = self.bits(i);
            out.extend(self.call(unpack, vec![word, i], 1)?);
        }
        Ok(Some(out))
    }
}

/// How a function of 32-bit numbers is done.
enum Step {
    Un(Un),
    Bin(Bin),
    Tri(Tri),
    Call(Fun),
}
