//! Pointers: where a value lies, with constant and dynamic parts of its place.

use naga::{Expression, GlobalVariable, Handle, TypeInner};

use super::{Argument, Lower, Result};
use crate::engine::ir::{Addr, Input, Op, Reg, Scaled, Space};
use crate::engine::layout::{Layout, Types, scalar_words};

/// What a pointer points into.
#[derive(Clone, Debug)]
pub(super) enum Root {
    /// `constant`: nothing writes it during a dispatch.
    Memory {
        space: Space,
        layout: Layout,
        constant: bool,
    },
    /// Flat, from a byte of workgroup memory on.
    Workgroup {
        start: u32,
    },
    Registers(Vec<Reg>),
}

/// A pointer. Offsets are in bytes of memory, or in registers.
#[derive(Clone, Debug)]
pub(super) struct Pointer {
    pub(super) root: Root,
    pub(super) offset: u32,
    pub(super) base: Option<Reg>,
    pub(super) scaled: Option<Scaled>,
    pub(super) ty: TypeInner,
    /// The variable of the module that it points into.
    pub(super) variable: Option<Handle<GlobalVariable>>,
    /// Dynamic parts that are in the base by now; for checks only.
    pub(super) trail: Vec<Scaled>,
}

/// Offsets from here on are out of bounds of any memory.
const BEYOND: u32 = 1 << 31;

impl Pointer {
    pub(super) fn layout(&self) -> Layout {
        match self.root {
            Root::Memory { layout, .. } => layout,
            Root::Workgroup { .. } | Root::Registers(_) => Layout::Flat,
        }
    }

    /// Units of `offset` in one flat word.
    fn word(&self) -> u32 {
        if matches!(self.root, Root::Registers(_)) {
            1
        } else {
            4
        }
    }

    pub(super) fn is_binding(&self) -> bool {
        matches!(
            self.root,
            Root::Memory {
                space: Space::Binding(_),
                ..
            }
        )
    }

    pub(super) fn is_dynamic(&self) -> bool {
        self.base.is_some() || self.scaled.is_some()
    }
}

/// An index of an access.
#[derive(Clone, Copy, Debug)]
enum Index {
    Known(u32),
    Dynamic(Reg),
}

impl Lower<'_> {
    /// The pointer that an expression is.
    pub(super) fn pointer(&mut self, handle: Handle<Expression>) -> Result<Pointer> {
        if let Some(Some(pointer)) = self.frame.pointers.get(handle.index()) {
            return Ok(pointer.clone());
        }
        let function = self.frame.function;
        let pointer = match function.expressions[handle] {
            Expression::GlobalVariable(variable) => {
                let Some(root) = self.globals.get(&variable).cloned() else {
                    return self.refuse("variable", "it is of a kind that compute shaders lack");
                };
                let ty = self.types.inner(self.module.global_variables[variable].ty);
                let offset = if let Root::Workgroup { start } = root {
                    start
                } else {
                    0
                };
                Pointer {
                    root,
                    offset,
                    base: None,
                    scaled: None,
                    ty: ty.clone(),
                    variable: Some(variable),
                    trail: Vec::new(),
                }
            }
            Expression::LocalVariable(variable) => {
                let regs = self
                    .frame
                    .locals
                    .get(variable.index())
                    .cloned()
                    .unwrap_or_default();
                let ty = self.types.inner(function.local_variables[variable].ty);
                let root = Root::Registers(regs);
                Pointer {
                    root,
                    offset: 0,
                    base: None,
                    scaled: None,
                    ty: ty.clone(),
                    variable: None,
                    trail: Vec::new(),
                }
            }
            Expression::FunctionArgument(index) => match self.frame.arguments.get(index as usize) {
                Some(Argument::Pointer(pointer)) => pointer.clone(),
                _ => return self.refuse("parameter", "it is not a pointer"),
            },
            Expression::Access { base, index } => {
                let pointer = self.pointer(base)?;
                let index = self.value(index)?;
                let Some(index) = index.first().copied() else {
                    return self.refuse("index", "it has no value");
                };
                let index = self
                    .known(index)
                    .map_or(Index::Dynamic(index), Index::Known);
                self.step(pointer, index)?
            }
            Expression::AccessIndex { base, index } => {
                let pointer = self.pointer(base)?;
                self.step(pointer, Index::Known(index))?
            }
            ref other => return self.refuse(format!("{other:?}"), "it is not a pointer"),
        };
        if let Some(slot) = self.frame.pointers.get_mut(handle.index()) {
            *slot = Some(pointer.clone());
        }
        Ok(pointer)
    }

    /// A pointer to a part of what `pointer` points to.
    fn step(&mut self, mut pointer: Pointer, index: Index) -> Result<Pointer> {
        let layout = pointer.layout();
        let word = pointer.word();
        let flat = |words: u64| {
            u32::try_from(words)
                .unwrap_or(u32::MAX)
                .saturating_mul(word)
        };
        let (ty, stride, len) = match pointer.ty {
            TypeInner::Array { base, size, stride } => {
                let element = self.types.inner(base);
                let stride = match layout {
                    Layout::Host => stride,
                    Layout::Flat => flat(self.types.words(element).unwrap_or(0)),
                };
                let len = match (self.types.len(size), &pointer.root) {
                    (Some(len), _) => self.bits(len),
                    (
                        _,
                        Root::Memory {
                            space: Space::Binding(binding),
                            ..
                        },
                    ) => {
                        let (binding, offset) = (*binding, pointer.offset);
                        self.input(Input::Length {
                            binding,
                            offset,
                            stride,
                        })
                    }
                    _ => return self.refuse("array", "its length is not known"),
                };
                (element.clone(), stride, len)
            }
            TypeInner::Vector { size, scalar } => {
                let stride = match layout {
                    Layout::Host => u32::from(scalar.width),
                    Layout::Flat => scalar_words(scalar) * word,
                };
                (TypeInner::Scalar(scalar), stride, self.bits(size as u32))
            }
            TypeInner::Matrix {
                columns,
                rows,
                scalar,
            } => {
                let stride = match layout {
                    Layout::Host => Types::column_bytes(rows, scalar),
                    Layout::Flat => scalar_words(scalar) * rows as u32 * word,
                };
                (
                    TypeInner::Vector { size: rows, scalar },
                    stride,
                    self.bits(columns as u32),
                )
            }
            TypeInner::Struct { ref members, .. } => {
                let Index::Known(index) = index else {
                    return self.refuse("struct", "its members have no dynamic index");
                };
                let Some(member) = members.get(index as usize) else {
                    return self.refuse("struct", "it has no such member");
                };
                let mut words = 0;
                for before in members.iter().take(index as usize) {
                    words += self.types.words(self.types.inner(before.ty)).unwrap_or(0);
                }
                let step = match layout {
                    Layout::Host => member.offset,
                    Layout::Flat => flat(words),
                };
                let ty = self.types.inner(member.ty).clone();
                pointer.offset = pointer.offset.saturating_add(step).min(BEYOND);
                pointer.ty = ty;
                return Ok(pointer);
            }
            ref other => return self.refuse(format!("{other:?}"), "it has no elements"),
        };
        match (index, self.known(len)) {
            (Index::Known(index), Some(len)) if index >= len => {
                // Out of bounds for certain: left to the check at run time.
                let index = self.bits(index);
                let len = self.bits(len);
                self.scale(&mut pointer, Scaled { index, len, stride })?;
            }
            (Index::Known(index), _) => {
                let step = u64::from(index) * u64::from(stride) + u64::from(pointer.offset);
                pointer.offset = u32::try_from(step).unwrap_or(BEYOND).min(BEYOND);
            }
            (Index::Dynamic(index), _) => {
                self.scale(&mut pointer, Scaled { index, len, stride })?;
            }
        }
        pointer.ty = ty;
        Ok(pointer)
    }

    /// Adds a dynamic part; the one that was there goes into the base.
    fn scale(&mut self, pointer: &mut Pointer, scaled: Scaled) -> Result<()> {
        if let Some(before) = pointer.scaled.replace(scaled) {
            let d = self.register();
            self.emit(Op::Index {
                d,
                base: pointer.base,
                scaled: before,
            })?;
            pointer.base = Some(d);
            if self.checks.is_some() {
                pointer.trail.push(before);
            }
        }
        Ok(())
    }

    /// The address of what lies `offset` bytes behind a pointer into memory.
    pub(super) fn address(&self, pointer: &Pointer, offset: u32) -> Result<Addr> {
        let space = match pointer.root {
            Root::Memory { space, .. } => space,
            Root::Workgroup { .. } => Space::Workgroup,
            Root::Registers(_) => return self.refuse("pointer", "it does not point into memory"),
        };
        let offset = pointer.offset.saturating_add(offset).min(BEYOND);
        Ok(Addr {
            space,
            offset,
            base: pointer.base,
            scaled: pointer.scaled,
        })
    }
}
