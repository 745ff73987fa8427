//! Places for registers: uniform ones a word each, varying ones slots of lane vectors, shared by
//! registers that do not live at the same time, so that few of them stay in the cache.

use std::collections::BTreeMap;

use super::home::Homes;
use super::{Block, Code, Op, Reg, Use, get};

/// The part of the program, counted in operations, in which a register holds something.
#[derive(Clone, Copy, Debug)]
struct Span {
    first: u32,
    last: u32,
}

#[derive(Debug, Default)]
struct Spans {
    spans: Vec<Option<Span>>,
    /// Loops around the current operation: where each starts, and what is used in it.
    loops: Vec<(u32, Vec<Reg>)>,
    /// The current operation, in half-steps.
    at: u32,
}

/// Gives places to all registers.
pub(super) fn allocate(code: &mut Code, homes: &Homes, varying: &[bool]) {
    let mut spans = Spans {
        spans: vec![None; code.registers as usize],
        ..Spans::default()
    };
    spans.block(&mut code.block);
    let end = spans.at + 2;
    for (reg, _) in &code.inputs {
        if let Some(slot) = spans.spans.get_mut(reg.index()) {
            *slot = Some(Span {
                first: 0,
                last: end,
            });
        }
    }
    for (span, carried) in spans.spans.iter_mut().zip(&homes.carried) {
        if let (Some(span), true) = (span, *carried) {
            *span = Span {
                first: 0,
                last: end,
            };
        }
    }
    let mut order: Vec<(u32, u32, u32)> = Vec::new();
    let mut uniforms = 0;
    let mut places = vec![Reg(Reg::UNIFORM); spans.spans.len()];
    for (number, (span, place)) in spans.spans.iter().zip(&mut places).enumerate() {
        let Some(span) = span else { continue };
        if get(varying, Reg(number as u32)) {
            order.push((span.first, span.last, number as u32));
        } else {
            *place = Reg(uniforms | Reg::UNIFORM);
            uniforms += 1;
        }
    }
    order.sort_unstable();
    let mut slots = 0u32;
    let mut free: Vec<u32> = Vec::new();
    let mut busy: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for (first, last, number) in order {
        while let Some(entry) = busy.first_entry() {
            if *entry.key() >= first {
                break;
            }
            free.extend(entry.remove());
        }
        let slot = free.pop().unwrap_or_else(|| {
            slots += 1;
            slots - 1
        });
        busy.entry(last).or_default().push(slot);
        if let Some(place) = places.get_mut(number as usize) {
            *place = Reg(slot);
        }
    }
    code.slots = slots;
    code.uniforms = uniforms;
    super::each_use(&mut code.block, &mut |reg, _| {
        *reg = place_of(&places, *reg);
    });
    for (reg, _) in &mut code.inputs {
        *reg = place_of(&places, *reg);
    }
}

fn place_of(places: &[Reg], reg: Reg) -> Reg {
    places
        .get(reg.index())
        .copied()
        .unwrap_or(Reg(Reg::UNIFORM))
}

impl Spans {
    /// A use at half-step `at`.
    fn touch(&mut self, reg: Reg, at: u32) {
        let Some(slot) = self.spans.get_mut(reg.index()) else {
            return;
        };
        match slot {
            Some(span) => {
                span.first = span.first.min(at);
                span.last = span.last.max(at);
            }
            None => {
                *slot = Some(Span {
                    first: at,
                    last: at,
                });
            }
        }
        for (_, used) in &mut self.loops {
            used.push(reg);
        }
    }

    fn block(&mut self, block: &mut Block) {
        for op in block {
            self.at += 2;
            let at = self.at;
            // An operand may share its place with the result, lane by lane.
            let late = u32::from(op.crosses_lanes());
            let mut uses = Vec::new();
            op.each(&mut |reg, used| uses.push((*reg, used)));
            let many = uses.iter().filter(|(_, used)| *used != Use::Read).count() > 1;
            let late = late.max(u32::from(many));
            for (reg, used) in uses {
                match used {
                    Use::Read => self.touch(reg, at + late),
                    Use::Write => self.touch(reg, at + 1),
                    Use::Update => {
                        self.touch(reg, at);
                        self.touch(reg, at + 1);
                    }
                }
            }
            let is_loop = matches!(op, Op::Loop { .. });
            if is_loop {
                self.loops.push((at, Vec::new()));
            }
            for (inner, last) in op.blocks_mut() {
                self.block(inner);
                if let Some(last) = last {
                    self.at += 2;
                    let at = self.at;
                    self.touch(*last, at);
                }
            }
            if is_loop {
                self.at += 2;
                self.close();
            }
        }
    }

    /// What is used in a loop and lives before it, or may be read before it is written in it, lives
    /// in all of it.
    fn close(&mut self) {
        let end = self.at;
        let Some((start, used)) = self.loops.pop() else {
            return;
        };
        for reg in used {
            if let Some(Some(span)) = self.spans.get_mut(reg.index())
                && span.first <= start
            {
                span.last = span.last.max(end);
            }
        }
    }
}
