//! Expressions: constants, composites, parts of values, built-in values.

use naga::{Binding, BuiltIn, Expression, Handle, Literal, Type, TypeInner};

use super::{Argument, Lower, Result};
use crate::engine::ir::{Input, Op, Reg};
use crate::engine::layout::scalar_words;
use crate::engine::scalar::flag;

impl Lower<'_> {
    /// The words of an expression's value.
    pub(super) fn value(&mut self, handle: Handle<Expression>) -> Result<Vec<Reg>> {
        if let Some(Some(value)) = self.frame.values.get(handle.index()) {
            return Ok(value.clone());
        }
        let span = self.frame.function.expressions.get_span(handle);
        let outer = self.span;
        if span.is_defined() {
            self.span = span;
        }
        let value = self.expression(handle)?;
        self.check_expression(handle, &value)?;
        self.span = outer;
        self.set(handle, value.clone());
        Ok(value)
    }

    /// The first word of an expression's value.
    pub(super) fn word(&mut self, handle: Handle<Expression>) -> Result<Reg> {
        match self.value(handle)?.first() {
            Some(reg) => Ok(*reg),
            None => self.refuse("expression", "it has no value"),
        }
    }

    pub(super) fn set(&mut self, handle: Handle<Expression>, value: Vec<Reg>) {
        if let Some(slot) = self.frame.values.get_mut(handle.index()) {
            *slot = Some(value);
        }
    }

    /// Evaluates an expression where the module says.
    pub(super) fn evaluate(&mut self, handle: Handle<Expression>) -> Result<()> {
        if matches!(
            self.inner(handle),
            TypeInner::Pointer { .. } | TypeInner::ValuePointer { .. }
        ) {
            self.pointer(handle)?;
        } else {
            self.value(handle)?;
        }
        Ok(())
    }

    fn expression(&mut self, handle: Handle<Expression>) -> Result<Vec<Reg>> {
        let function = self.frame.function;
        match function.expressions[handle] {
            Expression::Literal(literal) => self.literal(literal),
            Expression::Constant(constant) => self.constant(self.module.constants[constant].init),
            Expression::ZeroValue(ty) => {
                let len = self.words(self.types.inner(ty))?;
                Ok(vec![self.bits(0); len])
            }
            Expression::Compose { ref components, .. } => {
                let mut out = Vec::new();
                for component in components {
                    out.extend(self.value(*component)?);
                }
                Ok(out)
            }
            Expression::Splat { size, value } => {
                let value = self.value(value)?;
                Ok(value.repeat(size as usize))
            }
            Expression::Swizzle {
                size,
                vector,
                pattern,
            } => {
                let words = scalar_words(self.scalar(self.inner(vector))?) as usize;
                let value = self.value(vector)?;
                let mut out = Vec::new();
                for component in pattern.iter().take(size as usize) {
                    let start = *component as usize * words;
                    out.extend_from_slice(value.get(start..start + words).unwrap_or(&[]));
                }
                Ok(out)
            }
            Expression::AccessIndex { base, index } => {
                let value = self.value(base)?;
                let (start, len) = self.part(self.inner(base), index)?;
                Ok(value.get(start..start + len).unwrap_or(&[]).to_vec())
            }
            Expression::Access { base, index } => self.dynamic_part(base, index),
            Expression::FunctionArgument(index) => match self.frame.arguments.get(index as usize) {
                Some(Argument::Value(value)) => Ok(value.clone()),
                _ => self.refuse("parameter", "it is not a value"),
            },
            Expression::Load { pointer } => {
                let pointer = self.pointer(pointer)?;
                if matches!(pointer.ty, TypeInner::Atomic(_)) && pointer.is_binding() {
                    self.code.ordered = true;
                }
                self.load(&pointer)
            }
            Expression::Unary { op, expr } => self.unary(op, expr),
            Expression::Binary { op, left, right } => self.binary(op, left, right),
            Expression::Select {
                condition,
                accept,
                reject,
            } => self.select(condition, accept, reject),
            Expression::Relational { fun, argument } => self.relational(fun, argument),
            Expression::Math {
                fun,
                arg,
                arg1,
                arg2,
                arg3,
            } => self.math(handle, fun, arg, [arg1, arg2, arg3]),
            Expression::As {
                expr,
                kind,
                convert,
            } => self.cast(expr, kind, convert),
            Expression::ArrayLength(pointer) => {
                let pointer = self.pointer(pointer)?;
                self.length(&pointer)
            }
            Expression::CooperativeLoad {
                columns,
                rows,
                data,
                ..
            } => self.matrix_load(handle, columns, rows, &data),
            Expression::CooperativeMultiplyAdd { a, b, c } => self.matrix_multiply_add(a, b, c),
            Expression::CallResult(_)
            | Expression::AtomicResult { .. }
            | Expression::WorkGroupUniformLoadResult { .. }
            | Expression::SubgroupBallotResult
            | Expression::SubgroupOperationResult { .. } => {
                self.refuse("result", "it is used before its statement")
            }
            Expression::Override(_) => self.refuse("override", "it has no value"),
            Expression::Derivative { .. } => self.refuse("derivative", "compute shaders have none"),
            Expression::ImageSample { .. } => self.texture_sample(handle),
            Expression::ImageLoad {
                image,
                coordinate,
                array_index,
                level,
                sample: _,
            } => self.texture_load(handle, image, coordinate, array_index, level),
            Expression::ImageQuery { image, query } => self.texture_query(handle, image, query),
            Expression::RayQueryVertexPositions { .. }
            | Expression::RayQueryProceedResult
            | Expression::RayQueryGetIntersection { .. } => {
                self.refuse("ray query", "the software device has no ray tracing")
            }
            Expression::GlobalVariable(_) | Expression::LocalVariable(_) => {
                self.refuse("reference", "it is used as a value")
            }
        }
    }

    fn literal(&mut self, literal: Literal) -> Result<Vec<Reg>> {
        let wide = |bits: u64| vec![bits as u32, (bits >> 32) as u32];
        let words = match literal {
            Literal::F32(value) => vec![value.to_bits()],
            Literal::F16(value) => vec![value.to_f32().to_bits()],
            Literal::F64(value) => wide(value.to_bits()),
            Literal::U32(value) => vec![value],
            Literal::I32(value) => vec![value as u32],
            Literal::U64(value) => wide(value),
            Literal::I64(value) => wide(value as u64),
            Literal::Bool(value) => vec![flag(value)],
            Literal::U16(value) => vec![value.into()],
            Literal::I16(value) => vec![i32::from(value) as u32],
            Literal::AbstractInt(_) | Literal::AbstractFloat(_) => {
                return self.refuse("abstract number", "it has no concrete type");
            }
        };
        Ok(words.into_iter().map(|bits| self.bits(bits)).collect())
    }

    /// The value of a constant expression of the module.
    pub(super) fn constant(&mut self, handle: Handle<Expression>) -> Result<Vec<Reg>> {
        match self.module.global_expressions[handle] {
            Expression::Literal(literal) => self.literal(literal),
            Expression::Constant(constant) => self.constant(self.module.constants[constant].init),
            Expression::ZeroValue(ty) => {
                let len = self.words(self.types.inner(ty))?;
                Ok(vec![self.bits(0); len])
            }
            Expression::Compose { ref components, .. } => {
                let mut out = Vec::new();
                for component in components {
                    out.extend(self.constant(*component)?);
                }
                Ok(out)
            }
            Expression::Splat { size, value } => Ok(self.constant(value)?.repeat(size as usize)),
            ref other => self.refuse(format!("{other:?}"), "it is not a constant"),
        }
    }

    /// Where component `index` of a value lies: first word and words.
    fn part(&self, inner: &TypeInner, index: u32) -> Result<(usize, usize)> {
        let index = index as usize;
        match *inner {
            TypeInner::Vector { scalar, .. } => {
                let words = scalar_words(scalar) as usize;
                Ok((index * words, words))
            }
            TypeInner::Matrix { rows, scalar, .. } => {
                let words = scalar_words(scalar) as usize * rows as usize;
                Ok((index * words, words))
            }
            TypeInner::Array { base, .. } => {
                let words = self.words(self.types.inner(base))?;
                Ok((index * words, words))
            }
            TypeInner::Struct { ref members, .. } => {
                let mut start = 0;
                for member in members.iter().take(index) {
                    start += self.words(self.types.inner(member.ty))?;
                }
                match members.get(index) {
                    Some(member) => Ok((start, self.words(self.types.inner(member.ty))?)),
                    None => self.refuse("struct", "it has no such member"),
                }
            }
            ref other => self.refuse(format!("{other:?}"), "it has no components"),
        }
    }

    fn dynamic_part(
        &mut self,
        base: Handle<Expression>,
        index: Handle<Expression>,
    ) -> Result<Vec<Reg>> {
        let value = self.value(base)?;
        let index = self.word(index)?;
        let (_, len) = self.part(self.inner(base), 0)?;
        let count = value.len().checked_div(len).unwrap_or(0);
        let mut out = Vec::with_capacity(len);
        for word in 0..len {
            let from: Vec<Reg> = value.iter().skip(word).step_by(len).copied().collect();
            if let Some(index) = self.known(index) {
                let index = (index as usize).min(count.saturating_sub(1));
                out.extend(from.get(index));
                continue;
            }
            if word == 0 {
                self.check_index(index, count)?;
            }
            let d = self.register();
            self.emit(Op::Pick { d, from, index })?;
            out.push(d);
        }
        Ok(out)
    }

    /// The built-in value, or struct of them, of an entry point's parameter.
    pub(super) fn built_in(
        &mut self,
        ty: Handle<Type>,
        binding: Option<&Binding>,
    ) -> Result<Vec<Reg>> {
        let [x, y, z] = self.code.workgroup;
        let size = [x, y, z];
        let all = [0, 1, 2];
        let single = |axis: u32| size.get(axis as usize) == Some(&1);
        let inputs: Vec<Input> = match binding {
            None => {
                let TypeInner::Struct { members, .. } = self.types.inner(ty) else {
                    return self.refuse("parameter", "it is no built-in value");
                };
                let mut out = Vec::new();
                for member in members {
                    out.extend(self.built_in(member.ty, member.binding.as_ref())?);
                }
                return Ok(out);
            }
            Some(Binding::BuiltIn(built_in)) => match built_in {
                BuiltIn::GlobalInvocationId => all
                    .map(|i| {
                        if single(i) {
                            Input::WorkgroupId(i)
                        } else {
                            Input::GlobalId(i)
                        }
                    })
                    .to_vec(),
                BuiltIn::LocalInvocationId => all
                    .map(|i| {
                        if single(i) {
                            Input::Bits(0)
                        } else {
                            Input::LocalId(i)
                        }
                    })
                    .to_vec(),
                BuiltIn::LocalInvocationIndex => vec![Input::LocalIndex],
                BuiltIn::WorkGroupId => all.map(Input::WorkgroupId).to_vec(),
                BuiltIn::NumWorkGroups => all.map(Input::Workgroups).to_vec(),
                BuiltIn::WorkGroupSize => size.map(Input::Bits).to_vec(),
                BuiltIn::SubgroupSize => vec![Input::Bits(self.code.subgroup)],
                BuiltIn::SubgroupInvocationId => vec![Input::SubgroupLane],
                BuiltIn::SubgroupId => vec![Input::SubgroupId],
                BuiltIn::NumSubgroups => {
                    let invocations = self.code.invocations() as u32;
                    vec![Input::Bits(invocations.div_ceil(self.code.subgroup))]
                }
                other => return self.refuse(format!("{other:?}"), "compute shaders lack it"),
            },
            Some(other) => return self.refuse(format!("{other:?}"), "compute shaders lack it"),
        };
        Ok(inputs.into_iter().map(|input| self.input(input)).collect())
    }

    fn length(&mut self, pointer: &super::pointer::Pointer) -> Result<Vec<Reg>> {
        let at = self.address(pointer, 0)?;
        match (at.space, &pointer.ty) {
            (crate::engine::ir::Space::Binding(binding), TypeInner::Array { stride, .. }) => {
                let (offset, stride) = (at.offset, *stride);
                Ok(vec![self.input(Input::Length {
                    binding,
                    offset,
                    stride,
                })])
            }
            _ => self.refuse("arrayLength", "it is not an array of a buffer"),
        }
    }
}
