//! Textures and samplers: variables that are bound, and what is done with them.

use naga::{AtomicFunction, Expression, GlobalVariable, Handle, ImageClass, ImageDimension};
use naga::{ImageQuery, SampleLevel, Scalar, ScalarKind, TypeInner};

use super::{Argument, Lower, Result};
use crate::engine::ir::{Op, Reg, TextureOp, TextureWhat};

impl Lower<'_> {
    /// Gives a texture or sampler its number.
    pub(super) fn declare_handle(
        &mut self,
        handle: Handle<GlobalVariable>,
        variable: &GlobalVariable,
    ) -> Result<()> {
        let Some(at) = variable.binding else {
            return self.refuse("variable", "it has no binding");
        };
        let list = match *self.types.inner(variable.ty) {
            TypeInner::Image {
                dim: ImageDimension::Cube,
                ..
            } => return self.refuse("texture_cube", "the software device has no cube textures"),
            TypeInner::Image {
                class: ImageClass::Sampled { multi: true, .. } | ImageClass::Depth { multi: true },
                ..
            } => {
                return self.refuse(
                    "texture_multisampled_2d",
                    "the software device has no multisampled textures",
                );
            }
            TypeInner::Image {
                class: ImageClass::Depth { .. },
                ..
            } => return self.refuse("texture_depth", "the software device has no depth textures"),
            TypeInner::Image {
                class: ImageClass::External,
                ..
            } => {
                return self.refuse(
                    "texture_external",
                    "the software device has no external textures",
                );
            }
            TypeInner::Image { .. } => &mut self.code.textures,
            TypeInner::Sampler { comparison: false } => &mut self.code.samplers,
            TypeInner::Sampler { comparison: true } => {
                return self.refuse(
                    "sampler_comparison",
                    "the software device compares no depths",
                );
            }
            _ => return self.refuse("variable", "the software device binds nothing of its type"),
        };
        let number = list.len() as u32;
        list.push((at.group, at.binding));
        self.handles.insert(handle, number);
        Ok(())
    }

    /// The variable that a texture or sampler expression is.
    pub(super) fn handle(&self, expression: Handle<Expression>) -> Result<Handle<GlobalVariable>> {
        match self.frame.function.expressions[expression] {
            Expression::GlobalVariable(variable) => Ok(variable),
            Expression::FunctionArgument(index) => match self.frame.arguments.get(index as usize) {
                Some(Argument::Handle(variable)) => Ok(*variable),
                _ => self.refuse("parameter", "it is no texture or sampler"),
            },
            _ => self.refuse("texture", "it is not a variable"),
        }
    }

    fn number(&self, expression: Handle<Expression>) -> Result<u32> {
        let variable = self.handle(expression)?;
        match self.handles.get(&variable) {
            Some(number) => Ok(*number),
            None => self.refuse("texture", "it is not bound"),
        }
    }

    fn optional(&mut self, expression: Option<Handle<Expression>>) -> Result<Option<Reg>> {
        expression.map(|handle| self.word(handle)).transpose()
    }

    /// Emits an operation; gives the first `wanted` of four results.
    fn texture(&mut self, mut op: TextureOp, wanted: usize) -> Result<Vec<Reg>> {
        op.d = (0..wanted).map(|_| self.register()).collect();
        let d = op.d.clone();
        self.emit(Op::Texture(Box::new(op)))?;
        Ok(d)
    }

    pub(super) fn texture_load(
        &mut self,
        handle: Handle<Expression>,
        image: Handle<Expression>,
        coordinate: Handle<Expression>,
        array_index: Option<Handle<Expression>>,
        level: Option<Handle<Expression>>,
    ) -> Result<Vec<Reg>> {
        let op = TextureOp {
            what: TextureWhat::Load,
            texture: self.number(image)?,
            d: Vec::new(),
            coordinates: self.value(coordinate)?,
            layer: self.optional(array_index)?,
            level: self.optional(level)?,
            v: Vec::new(),
        };
        let wanted = self.words(self.inner(handle))?;
        self.texture(op, wanted)
    }

    pub(super) fn texture_store(
        &mut self,
        image: Handle<Expression>,
        coordinate: Handle<Expression>,
        array_index: Option<Handle<Expression>>,
        value: Handle<Expression>,
    ) -> Result<()> {
        let op = TextureOp {
            what: TextureWhat::Store,
            texture: self.number(image)?,
            d: Vec::new(),
            coordinates: self.value(coordinate)?,
            layer: self.optional(array_index)?,
            level: None,
            v: self.value(value)?,
        };
        self.emit(Op::Texture(Box::new(op)))
    }

    pub(super) fn texture_atomic(
        &mut self,
        (image, coordinate, array_index): (
            Handle<Expression>,
            Handle<Expression>,
            Option<Handle<Expression>>,
        ),
        fun: &AtomicFunction,
        value: Handle<Expression>,
    ) -> Result<()> {
        let v = self.value(value)?;
        let TypeInner::Scalar(Scalar { kind, width: 4 }) = *self.inner(value) else {
            return self.refuse(
                "textureAtomic",
                "texels that change at once have 32 bits here",
            );
        };
        let op = TextureOp {
            what: TextureWhat::Atomic(self.read_modify_write(fun, kind)?),
            texture: self.number(image)?,
            d: Vec::new(),
            coordinates: self.value(coordinate)?,
            layer: self.optional(array_index)?,
            level: None,
            v,
        };
        self.emit(Op::Texture(Box::new(op)))
    }

    pub(super) fn texture_query(
        &mut self,
        handle: Handle<Expression>,
        image: Handle<Expression>,
        query: ImageQuery,
    ) -> Result<Vec<Reg>> {
        let (what, level) = match query {
            ImageQuery::Size { level } => (TextureWhat::Size, level),
            ImageQuery::NumLevels => (TextureWhat::Levels, None),
            ImageQuery::NumLayers => (TextureWhat::Layers, None),
            ImageQuery::NumSamples => {
                return self.refuse(
                    "textureNumSamples",
                    "the software device has no multisampled textures",
                );
            }
        };
        let op = TextureOp {
            what,
            texture: self.number(image)?,
            d: Vec::new(),
            coordinates: Vec::new(),
            layer: None,
            level: self.optional(level)?,
            v: Vec::new(),
        };
        let wanted = self.words(self.inner(handle))?;
        self.texture(op, wanted)
    }

    pub(super) fn texture_sample(&mut self, handle: Handle<Expression>) -> Result<Vec<Reg>> {
        let Expression::ImageSample {
            image,
            sampler,
            gather,
            coordinate,
            array_index,
            offset,
            level,
            depth_ref,
            clamp_to_edge,
        } = self.frame.function.expressions[handle]
        else {
            return self.refuse("texture", "it is not a sample");
        };
        if gather.is_some() {
            return self.refuse(
                "textureGather",
                "the software device does not gather texels",
            );
        }
        if depth_ref.is_some() {
            return self.refuse(
                "textureSampleCompare",
                "the software device compares no depths",
            );
        }
        let TypeInner::Image {
            class:
                ImageClass::Sampled {
                    kind: ScalarKind::Float,
                    multi: false,
                },
            ..
        } = *self.inner(image)
        else {
            return self.refuse("textureSample", "the software device samples only floats");
        };
        let level = match level {
            SampleLevel::Zero => None,
            SampleLevel::Exact(level) => Some(self.word(level)?),
            SampleLevel::Auto | SampleLevel::Bias(_) => {
                return self.refuse("textureSample", "compute shaders have no derivatives");
            }
            SampleLevel::Gradient { .. } => {
                return self.refuse(
                    "textureSampleGrad",
                    "the software device samples at a given level: `textureSampleLevel`",
                );
            }
        };
        let mut by = [0; 3];
        if let Some(offset) = offset {
            let words = self.value(offset)?;
            for (to, reg) in by.iter_mut().zip(words) {
                let Some(bits) = self.known(reg) else {
                    return self.refuse("offset", "it is not a constant");
                };
                *to = bits as i32;
            }
        }
        let op = TextureOp {
            what: TextureWhat::Sample {
                sampler: self.number(sampler)?,
                offset: by,
                to_edge: clamp_to_edge,
            },
            texture: self.number(image)?,
            d: Vec::new(),
            coordinates: self.value(coordinate)?,
            layer: self.optional(array_index)?,
            level,
            v: Vec::new(),
        };
        let wanted = self.words(self.inner(handle))?;
        self.texture(op, wanted)
    }
}
