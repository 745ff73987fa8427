//! Emitting operations; what is known already is computed at once.

use super::{Lower, MAX_NEST, MAX_OPS, Result};
use crate::engine::ir::{Block, Input, Op, Reg};
use crate::engine::scalar::{Bin, Fun, Tri, Un};

impl Lower<'_> {
    pub(super) fn register(&mut self) -> Reg {
        let reg = Reg(self.code.registers);
        self.code.registers += 1;
        reg
    }

    /// Counts operations, emitted or computed here.
    pub(super) fn count_ops(&mut self, ops: usize) -> Result<()> {
        self.ops = self.ops.saturating_add(ops);
        if self.ops > MAX_OPS {
            return self.refuse("program", "it is too large once calls are inlined");
        }
        Ok(())
    }

    pub(super) fn emit(&mut self, op: Op) -> Result<()> {
        self.count_ops(1)?;
        if let Some(block) = self.blocks.last_mut() {
            block.push(op);
        }
        Ok(())
    }

    pub(super) fn input(&mut self, input: Input) -> Reg {
        if let Some(reg) = self.inputs.get(&input) {
            return *reg;
        }
        let reg = self.register();
        self.inputs.insert(input, reg);
        if let Input::Bits(bits) = input {
            self.known.insert(reg, bits);
        }
        reg
    }

    pub(super) fn bits(&mut self, bits: u32) -> Reg {
        self.input(Input::Bits(bits))
    }

    pub(super) fn f32(&mut self, value: f32) -> Reg {
        self.bits(value.to_bits())
    }

    pub(super) fn known(&self, reg: Reg) -> Option<u32> {
        self.known.get(&reg).copied()
    }

    pub(super) fn un(&mut self, op: Un, a: Reg) -> Result<Reg> {
        if let Some(a) = self.known(a) {
            return Ok(self.bits(op.eval(a)));
        }
        let d = self.register();
        self.emit(Op::Un { op, d, a })?;
        Ok(d)
    }

    pub(super) fn bin(&mut self, op: Bin, a: Reg, b: Reg) -> Result<Reg> {
        match (op, self.known(a), self.known(b)) {
            (_, Some(a), Some(b)) => return Ok(self.bits(op.eval(a, b))),
            (Bin::Add | Bin::Or | Bin::Xor, Some(0), _) => return Ok(b),
            (
                Bin::Add | Bin::Sub | Bin::Or | Bin::Xor | Bin::Shl | Bin::ShrU | Bin::ShrI,
                _,
                Some(0),
            )
            | (Bin::Mul | Bin::DivU | Bin::DivI, _, Some(1))
            | (Bin::And, _, Some(u32::MAX)) => return Ok(a),
            (Bin::Mul, Some(1), _) | (Bin::And, Some(u32::MAX), _) => return Ok(b),
            (Bin::Mul | Bin::And, Some(0), _) | (Bin::Mul | Bin::And, _, Some(0)) => {
                return Ok(self.bits(0));
            }
            (Bin::Mul, _, Some(n)) if n.is_power_of_two() => {
                let shift = self.bits(n.trailing_zeros());
                return self.bin(Bin::Shl, a, shift);
            }
            (Bin::DivU, _, Some(n)) if n.is_power_of_two() => {
                let shift = self.bits(n.trailing_zeros());
                return self.bin(Bin::ShrU, a, shift);
            }
            (Bin::RemU, _, Some(n)) if n.is_power_of_two() => {
                let mask = self.bits(n - 1);
                return self.bin(Bin::And, a, mask);
            }
            _ => {}
        }
        let d = self.register();
        self.emit(Op::Bin { op, d, a, b })?;
        Ok(d)
    }

    pub(super) fn tri(&mut self, op: Tri, a: Reg, b: Reg, c: Reg) -> Result<Reg> {
        match (op, self.known(a), self.known(b), self.known(c)) {
            (_, Some(a), Some(b), Some(c)) => return Ok(self.bits(op.eval(a, b, c))),
            (Tri::Select, Some(m), ..) => return Ok(if m == 0 { c } else { b }),
            _ => {}
        }
        let d = self.register();
        self.emit(Op::Tri { op, d, a, b, c })?;
        Ok(d)
    }

    /// Calls a rare function for `results` words.
    pub(super) fn call(&mut self, f: Fun, a: Vec<Reg>, results: usize) -> Result<Vec<Reg>> {
        let d: Vec<Reg> = (0..results).map(|_| self.register()).collect();
        self.emit(Op::Call { f, d: d.clone(), a })?;
        Ok(d)
    }

    pub(super) fn copy(&mut self, a: Reg) -> Result<Reg> {
        let d = self.register();
        self.emit(Op::Mov {
            d,
            a,
            masked: false,
        })?;
        Ok(d)
    }

    /// Fills a block of its own.
    pub(super) fn nested(&mut self, fill: impl FnOnce(&mut Self) -> Result<()>) -> Result<Block> {
        if self.blocks.len() as u32 > MAX_NEST {
            return self.refuse("block", "blocks and calls are nested too deeply");
        }
        self.blocks.push(Block::new());
        fill(self)?;
        Ok(self.blocks.pop().unwrap_or_default())
    }

    /// The number of a new loop or scope, entered until [`Lower::leave_nest`].
    pub(super) fn enter_nest(&mut self) -> u32 {
        let id = self.depth;
        self.depth += 1;
        self.code.depth = self.code.depth.max(self.depth);
        id
    }

    pub(super) fn leave_nest(&mut self) {
        self.depth -= 1;
    }
}
