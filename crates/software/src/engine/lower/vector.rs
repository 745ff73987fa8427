//! Built-in functions of whole vectors and matrices.

use naga::{BinaryOperator as Op, MathFunction as M, Scalar};

use super::arith::nth;
use super::{Lower, Result};
use crate::engine::ir::Reg;
use crate::engine::layout::scalar_words;
use crate::engine::scalar::{Bin, Tri, Un};

impl Lower<'_> {
    fn each(&mut self, op: Op, scalar: Scalar, a: &[Reg], b: &[Reg]) -> Result<Vec<Reg>> {
        let words = scalar_words(scalar) as usize;
        let mut out = Vec::new();
        for i in 0..(a.len().max(b.len()) / words) {
            out.extend(self.component(op, scalar, nth(a, i, words), nth(b, i, words))?);
        }
        Ok(out)
    }

    /// A number of a float type.
    pub(super) fn float(&mut self, scalar: Scalar, value: f64) -> Vec<Reg> {
        if scalar.width == 8 {
            let bits = value.to_bits();
            return vec![self.bits(bits as u32), self.bits((bits >> 32) as u32)];
        }
        let value = value as f32;
        vec![self.f32(if scalar.width == 2 {
            half::f16::from_f32(value).to_f32()
        } else {
            value
        })]
    }

    fn root(&mut self, scalar: Scalar, a: &[Reg]) -> Result<Vec<Reg>> {
        self.unary_math(M::Sqrt, scalar, a)
    }

    /// Functions whose result is not component by component; nothing if `fun` is none of them.
    pub(super) fn vector_math(
        &mut self,
        fun: M,
        scalar: Scalar,
        args: &[Vec<Reg>],
        shape: (usize, usize),
    ) -> Result<Option<Vec<Reg>>> {
        let words = scalar_words(scalar) as usize;
        let none = Vec::new();
        let a = args.first().unwrap_or(&none);
        let b = args.get(1).unwrap_or(&none);
        let c = args.get(2).unwrap_or(&none);
        let count = a.len() / words;
        Ok(Some(match fun {
            M::Dot => self.dot(scalar, a, b)?,
            M::Cross => {
                let mut out = Vec::new();
                for (i, j) in [(1, 2), (2, 0), (0, 1)] {
                    let left =
                        self.component(Op::Multiply, scalar, nth(a, i, words), nth(b, j, words))?;
                    let right =
                        self.component(Op::Multiply, scalar, nth(a, j, words), nth(b, i, words))?;
                    out.extend(self.component(Op::Subtract, scalar, &left, &right)?);
                }
                out
            }
            M::Length if count == 1 => self.unary_math(M::Abs, scalar, a)?,
            M::Length => {
                let square = self.dot(scalar, a, a)?;
                self.root(scalar, &square)?
            }
            M::Distance => {
                let difference = self.each(Op::Subtract, scalar, a, b)?;
                return self.vector_math(M::Length, scalar, &[difference], shape);
            }
            M::Normalize => {
                let square = self.dot(scalar, a, a)?;
                let length = self.root(scalar, &square)?;
                self.each(Op::Divide, scalar, a, &length)?
            }
            M::FaceForward => {
                let d = self.dot(scalar, b, c)?;
                let zero = self.float(scalar, 0.0);
                let less = self.component(Op::Less, scalar, &d, &zero)?;
                let Some(less) = less.first().copied() else {
                    return Ok(None);
                };
                let mut out = Vec::new();
                for (i, reg) in a.iter().enumerate() {
                    let last = i % words == words - 1;
                    let negative = if last { self.un(Un::NegF, *reg)? } else { *reg };
                    out.push(self.tri(Tri::Select, less, *reg, negative)?);
                }
                out
            }
            M::Reflect => {
                let d = self.dot(scalar, b, a)?;
                let twice = self.component(Op::Add, scalar, &d, &d)?;
                let scaled = self.each(Op::Multiply, scalar, b, &twice)?;
                self.each(Op::Subtract, scalar, a, &scaled)?
            }
            M::Refract => {
                let one = self.float(scalar, 1.0);
                let d = self.dot(scalar, b, a)?;
                let square = self.component(Op::Multiply, scalar, &d, &d)?;
                let rest = self.component(Op::Subtract, scalar, &one, &square)?;
                let eta2 = self.component(Op::Multiply, scalar, c, c)?;
                let rest = self.component(Op::Multiply, scalar, &eta2, &rest)?;
                let k = self.component(Op::Subtract, scalar, &one, &rest)?;
                let root = self.root(scalar, &k)?;
                let along = self.component(Op::Multiply, scalar, c, &d)?;
                let along = self.component(Op::Add, scalar, &along, &root)?;
                let left = self.each(Op::Multiply, scalar, a, c)?;
                let right = self.each(Op::Multiply, scalar, b, &along)?;
                let value = self.each(Op::Subtract, scalar, &left, &right)?;
                let zero = self.float(scalar, 0.0);
                let none = self.component(Op::Less, scalar, &k, &zero)?;
                let Some(none) = none.first().copied() else {
                    return Ok(None);
                };
                let nothing = self.bits(0);
                let mut out = Vec::new();
                for reg in value {
                    out.push(self.tri(Tri::Select, none, nothing, reg)?);
                }
                out
            }
            M::Outer => {
                let mut out = Vec::new();
                for column in b.chunks(words) {
                    out.extend(self.each(Op::Multiply, scalar, a, column)?);
                }
                out
            }
            M::Transpose => {
                let (columns, rows) = shape;
                let mut out = Vec::new();
                for row in 0..rows {
                    for column in 0..columns {
                        out.extend_from_slice(nth(a, column * rows + row, words));
                    }
                }
                out
            }
            M::Determinant => self.determinant(scalar, a, shape.0)?,
            _ => return Ok(None),
        }))
    }

    /// By the first column, which costs little for at most four.
    fn determinant(&mut self, scalar: Scalar, a: &[Reg], n: usize) -> Result<Vec<Reg>> {
        let words = scalar_words(scalar) as usize;
        if n <= 1 {
            return Ok(nth(a, 0, words).to_vec());
        }
        let mut sum: Option<Vec<Reg>> = None;
        for row in 0..n {
            let mut minor = Vec::new();
            for column in 1..n {
                for other in (0..n).filter(|other| *other != row) {
                    minor.extend_from_slice(nth(a, column * n + other, words));
                }
            }
            let minor = self.determinant(scalar, &minor, n - 1)?;
            let term = self.component(Op::Multiply, scalar, nth(a, row, words), &minor)?;
            sum = Some(match sum {
                None => term,
                Some(sum) if row % 2 == 1 => self.component(Op::Subtract, scalar, &sum, &term)?,
                Some(sum) => self.component(Op::Add, scalar, &sum, &term)?,
            });
        }
        Ok(sum.unwrap_or_default())
    }

    /// Clamps a component as `min(max(x, low), high)`.
    pub(super) fn clamp(
        &mut self,
        scalar: Scalar,
        x: &[Reg],
        low: &[Reg],
        high: &[Reg],
    ) -> Result<Vec<Reg>> {
        let raised = self.extreme(M::Max, scalar, x, low)?;
        self.extreme(M::Min, scalar, &raised, high)
    }

    /// `min` or `max` of a component.
    pub(super) fn extreme(
        &mut self,
        fun: M,
        scalar: Scalar,
        x: &[Reg],
        y: &[Reg],
    ) -> Result<Vec<Reg>> {
        use naga::ScalarKind as Kind;
        if scalar.width == 8 {
            return self.wide_math(fun, scalar, &[x, y]);
        }
        let op = match (fun, scalar.kind) {
            (M::Min, Kind::Float) => Bin::MinF,
            (M::Min, Kind::Sint) => Bin::MinI,
            (M::Min, _) => Bin::MinU,
            (_, Kind::Float) => Bin::MaxF,
            (_, Kind::Sint) => Bin::MaxI,
            _ => Bin::MaxU,
        };
        let ([x, ..], [y, ..]) = (x, y) else {
            return self.refuse("operand", "it has no value");
        };
        Ok(vec![self.bin(op, *x, *y)?])
    }
}
