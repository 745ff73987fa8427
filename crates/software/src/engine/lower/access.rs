//! Loads and stores through pointers.

use naga::{Scalar, ScalarKind};

use super::check::{READ, WRITE};
use super::pointer::{Pointer, Root};
use super::{Lower, Result};
use crate::engine::ir::{Input, Narrow, Op, Reg, Space};
use crate::engine::layout::{Layout, Leaf, scalar_words};
use crate::engine::scalar::{Bin, pack};

impl Lower<'_> {
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
                self.check_registers(pointer)?;
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
            && !pointer.is_dynamic()
        {
            return leaves
                .iter()
                .map(|leaf| self.load_constant(space, pointer.offset, leaf))
                .collect::<Result<Vec<_>>>()
                .map(|parts| parts.concat());
        }
        let mut out = Vec::new();
        for (offset, words, half) in pieces(&leaves, pointer.layout()) {
            let d: Vec<Reg> = (0..words).map(|_| self.register()).collect();
            let at = self.address(pointer, offset)?;
            self.check_memory(
                pointer,
                (&at, words, half.is_some()),
                leaves.first(),
                READ,
                &[],
            )?;
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
                let unpack = match narrow(leaf.scalar) {
                    Narrow::Float => return Ok(vec![self.bin(Bin::UnpackHalf, low, part)?]),
                    Narrow::Signed => pack::UNPACK_I16,
                    Narrow::Unsigned => pack::UNPACK_U16,
                };
                self.call(unpack, vec![low, part], 1)
            }
            8 => Ok(vec![low, self.input(input(at.saturating_add(4)))]),
            _ => Ok(vec![low]),
        }
    }

    /// Stores a value behind a pointer.
    pub(super) fn store(&mut self, pointer: &Pointer, value: &[Reg]) -> Result<()> {
        if let Root::Registers(regs) = &pointer.root {
            if pointer.is_dynamic() {
                self.check_registers(pointer)?;
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
            self.check_memory(
                pointer,
                (&at, words, half.is_some()),
                leaves.first(),
                WRITE,
                now,
            )?;
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

/// What a scalar of two bytes is.
fn narrow(scalar: Scalar) -> Narrow {
    match scalar.kind {
        ScalarKind::Sint => Narrow::Signed,
        ScalarKind::Uint => Narrow::Unsigned,
        _ => Narrow::Float,
    }
}

/// Accesses that cover leaves: byte offset, words (at most 4), and what it is if it has two bytes.
fn pieces(leaves: &[Leaf], layout: Layout) -> Vec<(u32, usize, Option<Narrow>)> {
    let mut out: Vec<(u32, usize, Option<Narrow>)> = Vec::new();
    for leaf in leaves {
        let words = scalar_words(leaf.scalar);
        let offset = if layout == Layout::Flat {
            leaf.offset * 4
        } else {
            leaf.offset
        };
        if layout == Layout::Host && leaf.scalar.width == 2 {
            out.push((offset, 1, Some(narrow(leaf.scalar))));
            continue;
        }
        for word in 0..words {
            let at = offset + word * 4;
            match out.last_mut() {
                Some((start, len, None)) if *len < 4 && *start + *len as u32 * 4 == at => {
                    *len += 1;
                }
                _ => out.push((at, 1, None)),
            }
        }
    }
    out
}
