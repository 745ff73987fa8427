//! Pointers: where a value lies, with constant and dynamic parts of its place.

use naga::{Expression, Handle, TypeInner};

use super::{Argument, Lower, Result};
use crate::engine::ir::{Addr, Input, Op, Reg, Scaled, Space};
use crate::engine::layout::{Layout, Leaf, Types, scalar_words};
use crate::engine::scalar::pack;

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
    root: Root,
    offset: u32,
    base: Option<Reg>,
    scaled: Option<Scaled>,
    pub(super) ty: TypeInner,
}

/// Offsets from here on are out of bounds of any memory.
const BEYOND: u32 = 1 << 31;

impl Pointer {
    fn layout(&self) -> Layout {
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

    fn is_dynamic(&self) -> bool {
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

    fn leaves(&self, pointer: &Pointer) -> Result<Vec<Leaf>> {
        for_values(self, self.types.leaves(&pointer.ty, pointer.layout()))
    }

    /// Candidate registers for each word behind a dynamic pointer into registers, and the index.
    fn candidates(&mut self, pointer: &Pointer, words: usize) -> Result<(Vec<Vec<Reg>>, Reg)> {
        let Root::Registers(regs) = &pointer.root else {
            return self.refuse(
                "pointer",
                "it does not point to a variable of the invocation",
            );
        };
        let rest = regs.get(pointer.offset as usize..).unwrap_or(&[]);
        let (step, index, len) = match (pointer.base, pointer.scaled) {
            (None, Some(scaled)) => {
                let len = self.known(scaled.len).unwrap_or(0) as usize;
                (scaled.stride.max(1) as usize, scaled.index, len)
            }
            (base, Some(scaled)) => {
                let d = self.register();
                self.emit(Op::Index { d, base, scaled })?;
                (1, d, usize::MAX)
            }
            (base, None) => (1, base.unwrap_or(Reg(0)), usize::MAX),
        };
        let lists = (0..words).map(|word| {
            rest.iter()
                .skip(word)
                .step_by(step)
                .take(len)
                .copied()
                .collect()
        });
        Ok((lists.collect(), index))
    }

    /// The value behind a pointer.
    pub(super) fn load(&mut self, pointer: &Pointer) -> Result<Vec<Reg>> {
        if let Root::Registers(regs) = &pointer.root {
            let len = self.words(&pointer.ty)?;
            if pointer.is_dynamic() {
                let (lists, index) = self.candidates(pointer, len)?;
                let mut out = Vec::with_capacity(len);
                for from in lists {
                    let d = self.register();
                    self.emit(Op::Pick { d, from, index })?;
                    out.push(d);
                }
                return Ok(out);
            }
            let start = pointer.offset as usize;
            let regs = regs.get(start..start + len).unwrap_or(&[]).to_vec();
            return regs.into_iter().map(|reg| self.copy(reg)).collect();
        }
        let leaves = self.leaves(pointer)?;
        if let Root::Memory {
            space,
            constant: true,
            ..
        } = pointer.root
        {
            if !pointer.is_dynamic() {
                return leaves
                    .iter()
                    .map(|leaf| self.load_constant(space, pointer.offset, leaf))
                    .collect::<Result<Vec<_>>>()
                    .map(|parts| parts.concat());
            }
        }
        let mut out = Vec::new();
        for (offset, words, half) in pieces(&leaves, pointer.layout()) {
            let d: Vec<Reg> = (0..words).map(|_| self.register()).collect();
            let at = self.address(pointer, offset)?;
            self.emit(Op::Load {
                d: d.clone(),
                at,
                half,
            })?;
            out.extend(d);
        }
        Ok(out)
    }

    /// Words that no invocation can change, as inputs.
    fn load_constant(&mut self, space: Space, offset: u32, leaf: &Leaf) -> Result<Vec<Reg>> {
        let at = offset.saturating_add(leaf.offset);
        let input = |at: u32| match space {
            Space::Binding(binding) => Input::Constant {
                binding,
                offset: at & !3,
            },
            Space::Immediate | Space::Workgroup => Input::Immediate(at / 4),
        };
        let low = self.input(input(at));
        match leaf.scalar.width {
            2 => {
                let part = self.bits((at >> 1) & 1);
                self.call(pack::UNPACK_16_FLOAT, vec![low, part], 1)
            }
            8 => Ok(vec![low, self.input(input(at.saturating_add(4)))]),
            _ => Ok(vec![low]),
        }
    }

    /// Stores a value behind a pointer.
    pub(super) fn store(&mut self, pointer: &Pointer, value: &[Reg]) -> Result<()> {
        if let Root::Registers(regs) = &pointer.root {
            if pointer.is_dynamic() {
                let (lists, index) = self.candidates(pointer, value.len())?;
                for (into, v) in lists.into_iter().zip(value) {
                    self.emit(Op::Put {
                        into,
                        index,
                        v: *v,
                        masked: false,
                    })?;
                }
                return Ok(());
            }
            let targets: Vec<Reg> = regs
                .iter()
                .skip(pointer.offset as usize)
                .take(value.len())
                .copied()
                .collect();
            // Values are copies, so no target is a source of a later one.
            for (d, a) in targets.into_iter().zip(value) {
                self.emit(Op::Mov {
                    d,
                    a: *a,
                    masked: false,
                })?;
            }
            return Ok(());
        }
        let leaves = self.leaves(pointer)?;
        let mut rest = value;
        for (offset, words, half) in pieces(&leaves, pointer.layout()) {
            let (now, later) = rest.split_at_checked(words).unwrap_or((rest, &[]));
            rest = later;
            let at = self.address(pointer, offset)?;
            self.emit(Op::Store {
                v: now.to_vec(),
                at,
                half,
            })?;
        }
        Ok(())
    }
}

fn for_values<T>(lower: &Lower<'_>, found: Option<T>) -> Result<T> {
    found.map_or_else(
        || lower.refuse("value", "it is too large, or has no fixed size"),
        Ok,
    )
}

/// Accesses that cover leaves: byte offset, words (at most 4), and whether it is one `f16`.
fn pieces(leaves: &[Leaf], layout: Layout) -> Vec<(u32, usize, bool)> {
    let mut out: Vec<(u32, usize, bool)> = Vec::new();
    for leaf in leaves {
        let words = scalar_words(leaf.scalar);
        let offset = if layout == Layout::Flat {
            leaf.offset * 4
        } else {
            leaf.offset
        };
        if layout == Layout::Host && leaf.scalar.width == 2 {
            out.push((offset, 1, true));
            continue;
        }
        for word in 0..words {
            let at = offset + word * 4;
            match out.last_mut() {
                Some((start, len, false)) if *len < 4 && *start + *len as u32 * 4 == at => {
                    *len += 1
                }
                _ => out.push((at, 1, false)),
            }
        }
    }
    out
}
