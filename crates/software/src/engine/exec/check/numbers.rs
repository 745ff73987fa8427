//! Numbers: divisions, shifts and conversions without a result, and results that are not finite.

use super::Looking;
use crate::engine::check::Shown;
use crate::engine::ir::Reg;
use crate::sanitize::Kind;

impl Looking<'_, '_> {
    /// One or two words as one number.
    fn long(&self, regs: &[Reg], lane: usize) -> u64 {
        let words = regs.iter().take(2).enumerate();
        words.fold(0, |all, (i, reg)| {
            all | u64::from(self.word(*reg, lane)) << (32 * i)
        })
    }

    fn shown(&self, regs: &[Reg], lane: usize) -> String {
        let bits = self.long(regs, lane);
        match (regs.len(), self.site.shown) {
            (2, Shown::Float) => format!("{:?}", f64::from_bits(bits)),
            (2, Shown::Signed) => (bits as i64).to_string(),
            (2, _) => bits.to_string(),
            (_, shown) => shown.text(bits as u32),
        }
    }

    pub(super) fn divide(&self, a: &[Reg], b: &[Reg], signed: bool, bits: u32) {
        let least = match bits {
            16 => u64::from(i32::from(i16::MIN) as u32),
            64 => i64::MIN as u64,
            _ => u64::from(i32::MIN as u32),
        };
        let minus_one = if b.len() == 2 {
            u64::MAX
        } else {
            u64::from(u32::MAX)
        };
        for lane in self.lanes_of(&[a, b].concat()) {
            let divisor = self.long(b, lane);
            let overflow = signed && divisor == minus_one && self.long(a, lane) == least;
            let kind = match (divisor, overflow) {
                (0, _) => Kind::DivisionByZero,
                (_, true) => Kind::DivisionOverflow,
                _ => continue,
            };
            let (a, b) = (self.shown(a, lane), self.shown(b, lane));
            let message = format!("{a} {} {b}", self.site.name);
            self.report(kind, self.party(lane, "divides".to_owned()), None, message);
        }
    }

    pub(super) fn shift(&self, b: Reg, bits: u32) {
        for lane in self.lanes_of(&[b]) {
            let by = self.word(b, lane);
            if by >= bits {
                let message = format!("a number of {bits} bits by {by}");
                let party = self.party(lane, "shifts".to_owned());
                self.report(Kind::Shift, party, None, message);
            }
        }
    }

    pub(super) fn convert(&self, a: &[Reg], signed: bool, bits: u32) {
        for lane in self.lanes_of(a) {
            let raw = self.long(a, lane);
            let value = if a.len() == 2 {
                f64::from_bits(raw)
            } else {
                f64::from(f32::from_bits(raw as u32))
            };
            let whole = value.trunc();
            let over = 2f64.powi(bits as i32 - i32::from(signed));
            let least = if signed { -over } else { 0.0 };
            if !(whole >= least && whole < over) {
                let kind = if signed { 'i' } else { 'u' };
                let message = format!("{value:?} does not fit {kind}{bits}");
                let party = self.party(lane, "converts".to_owned());
                self.report(Kind::Conversion, party, None, message);
            }
        }
    }

    pub(super) fn result(&self, d: &[Reg], a: &[Reg], wide: bool, together: bool) {
        let size = self.machine.code.subgroup as usize;
        let words = if wide { 2 } else { 1 };
        let finite = |regs: &[Reg], lane: usize| {
            let bits = self.long(regs, lane);
            if wide {
                f64::from_bits(bits).is_finite()
            } else {
                f32::from_bits(bits as u32).is_finite()
            }
        };
        let given = |lane: usize| a.chunks(words).all(|regs| finite(regs, lane));
        for lane in self.lanes_of(&[d, a].concat()) {
            let all = if together {
                let mut lanes = self.machine.active_lanes();
                lanes.all(|other| other / size != lane / size || given(other))
            } else {
                given(lane)
            };
            if !all {
                continue;
            }
            let Some(born) = d.chunks(words).find(|regs| !finite(regs, lane)) else {
                continue;
            };
            let operands: Vec<String> =
                a.chunks(words).map(|regs| self.shown(regs, lane)).collect();
            let (name, mut operands) = (&self.site.name, operands.join(", "));
            if together {
                operands.push_str(", and what the rest of the subgroup holds");
            }
            let message = format!("{name}({operands}) = {}", self.shown(born, lane));
            let party = self.party(lane, "computes".to_owned());
            self.report(Kind::NonFinite, party, None, message);
        }
    }
}
