//! One thread's state.
//!
//! Lanes are in chunks of 16; `act` is the mask, all bits or none per lane. Operations work on the
//! chunks from `from` to `to`, outside of which no lane is active, and may write garbage to lanes
//! that are not active, except for masked writes.

use std::sync::atomic::Ordering::Relaxed;

use super::Shared;
use super::check::Checker;
use crate::engine::ir::{Code, Input, Reg};
use crate::engine::{Stop, Trap};

/// One word of 16 lanes.
pub(super) type Chunk = [u32; LANES];

/// Lanes of a chunk.
pub(super) const LANES: usize = 16;

/// Where a register is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    /// First chunk.
    Lanes(usize),
    Uniform(u32),
}

/// Lanes that left a loop or scope, or its body.
#[derive(Clone, Debug, Default)]
pub(super) struct Frame {
    pub(super) left: Vec<Chunk>,
    pub(super) continued: Vec<Chunk>,
    pub(super) any_continued: bool,
}

#[derive(Debug)]
pub(super) struct Machine<'a> {
    pub(super) code: &'a Code,
    pub(super) shared: &'a Shared<'a>,
    pub(super) lanes: Vec<Chunk>,
    pub(super) uniforms: Vec<u32>,
    pub(super) act: Vec<Chunk>,
    /// All invocations.
    full: Vec<Chunk>,
    pub(super) chunks: usize,
    pub(super) from: usize,
    pub(super) to: usize,
    /// Whether a lane is active.
    pub(super) any: bool,
    /// Whether all lanes from `from` to `to` are.
    pub(super) all: bool,
    pub(super) workgroup: Vec<u32>,
    pub(super) frames: Vec<Frame>,
    pub(super) spare: Vec<Vec<Chunk>>,
    /// By input: where its global ids start now.
    starts: Vec<u32>,
    /// The workgroup that runs.
    pub(super) group: [u32; 3],
    /// Steps that are not counted yet.
    pub(super) steps: u64,
    /// Steps of this workgroup that are.
    workgroup_steps: u64,
    /// Line where it was stopped, and why.
    pub(super) stopped: Option<(u32, Stop)>,
    /// Only in a checked run.
    pub(super) checker: Option<Box<Checker<'a>>>,
}

impl<'a> Machine<'a> {
    pub(super) fn new(code: &'a Code, shared: &'a Shared<'a>) -> Self {
        let chunks = code.invocations().div_ceil(LANES);
        let frame = Frame {
            left: vec![[0; LANES]; chunks],
            continued: vec![[0; LANES]; chunks],
            any_continued: false,
        };
        let mut machine = Self {
            code,
            shared,
            lanes: vec![[0; LANES]; code.slots as usize * chunks],
            uniforms: vec![0; code.uniforms as usize],
            act: vec![[0; LANES]; chunks],
            full: vec![[0; LANES]; chunks],
            chunks,
            from: 0,
            to: chunks,
            any: false,
            all: false,
            workgroup: vec![0; code.workgroup_bytes as usize / 4],
            frames: vec![frame; code.depth as usize],
            spare: Vec::new(),
            starts: vec![0; code.inputs.len()],
            group: [0; 3],
            steps: 0,
            workgroup_steps: 0,
            stopped: None,
            checker: None,
        };
        if let Some(watch) = shared.watch.filter(|_| code.checked) {
            let subgroups = code.invocations().div_ceil(code.subgroup as usize);
            let checker = Checker::new(watch, machine.workgroup.len(), subgroups);
            machine.checker = Some(Box::new(checker));
        }
        for mask in machine.full.iter_mut().flatten().take(code.invocations()) {
            *mask = !0;
        }
        for (reg, input) in &code.inputs {
            machine.set_input(*reg, *input);
        }
        machine
    }

    /// Sets an input as for the first workgroup.
    fn set_input(&mut self, reg: Reg, input: Input) {
        let buffer = |binding: u32| {
            let buffer = self.shared.buffers.get(binding as usize);
            buffer.map_or(&[][..], |buffer| buffer.words)
        };
        let uniform = match input {
            Input::Bits(bits) => bits,
            Input::Length {
                binding,
                offset,
                stride,
            } => {
                let bytes = buffer(binding).len() as u32 * 4;
                bytes
                    .saturating_sub(offset)
                    .checked_div(stride)
                    .unwrap_or(0)
            }
            Input::Immediate(word) => self
                .shared
                .immediates
                .get(word as usize)
                .copied()
                .unwrap_or(0),
            Input::Constant { binding, offset } => buffer(binding)
                .get(offset as usize / 4)
                .map_or(0, |word| word.load(Relaxed)),
            Input::Workgroups(axis) => axis_of(self.shared.workgroups, axis),
            Input::WorkgroupId(_) => 0,
            Input::LocalIndex => return self.fill(reg, |lane, _| lane),
            Input::LocalId(axis) | Input::GlobalId(axis) => {
                return self.fill(reg, |_, id| axis_of(id, axis));
            }
            Input::SubgroupLane => {
                let size = self.code.subgroup;
                return self.fill(reg, |lane, _| lane % size);
            }
            Input::SubgroupId => {
                let size = self.code.subgroup;
                return self.fill(reg, |lane, _| lane / size);
            }
        };
        match self.place(reg) {
            Place::Uniform(_) => {
                if let Some(word) = self.uniforms.get_mut((reg.0 & !Reg::UNIFORM) as usize) {
                    *word = uniform;
                }
            }
            Place::Lanes(_) => self.fill(reg, |_, _| uniform),
        }
    }

    fn fill(&mut self, reg: Reg, value: impl Fn(u32, [u32; 3]) -> u32) {
        let Place::Lanes(start) = self.place(reg) else {
            return;
        };
        let [x, y, _] = self.code.workgroup;
        let chunks = self.lanes.get_mut(start..start + self.chunks);
        for (lane, word) in (0u32..).zip(chunks.unwrap_or_default().iter_mut().flatten()) {
            *word = value(lane, [lane % x, lane / x % y, lane / x / y]);
        }
    }

    /// Sets the inputs that depend on the workgroup.
    fn enter(&mut self, group: [u32; 3]) {
        for (i, (reg, input)) in self.code.inputs.iter().enumerate() {
            match *input {
                Input::WorkgroupId(axis) => {
                    let id = axis_of(group, axis);
                    match self.place(*reg) {
                        Place::Uniform(_) => self.set_uniform(*reg, id),
                        Place::Lanes(_) => self.fill(*reg, |_, _| id),
                    }
                }
                Input::GlobalId(axis) => {
                    // Stepped on from the workgroup before, without divisions.
                    let start =
                        axis_of(group, axis).wrapping_mul(axis_of(self.code.workgroup, axis));
                    let Some(now) = self.starts.get_mut(i) else {
                        continue;
                    };
                    let step = start.wrapping_sub(std::mem::replace(now, start));
                    let Place::Lanes(at) = self.place(*reg) else {
                        continue;
                    };
                    for chunk in self.lanes.get_mut(at..at + self.chunks).unwrap_or_default() {
                        for word in chunk {
                            *word = word.wrapping_add(step);
                        }
                    }
                }
                _ => {}
            }
        }
    }

    /// Runs a workgroup; gives the reason if it was stopped.
    pub(super) fn workgroup(&mut self, number: u64) -> Option<Trap> {
        let [x, y, _] = self.shared.workgroups.map(u64::from);
        let id = [number % x, number / x % y, number / x / y].map(|n| n as u32);
        let code = self.code;
        self.group = id;
        self.enter(id);
        self.act.copy_from_slice(&self.full);
        (self.from, self.to) = (0, self.chunks);
        self.any = true;
        self.all = code.invocations().is_multiple_of(LANES);
        self.workgroup.fill(0);
        self.stopped = None;
        if let Some(checker) = &mut self.checker {
            checker.enter(number, id);
        }
        self.count_steps(0);
        self.workgroup_steps = 0;
        if self.stopped.is_none() {
            self.run(&code.block);
        }
        self.stopped.map(|(line, stop)| Trap {
            stop,
            line,
            workgroup: id,
        })
    }

    /// Counts the steps taken since the last call, at a loop in `line`, and stops the run at the limits.
    pub(super) fn count_steps(&mut self, line: u32) {
        /// Fewer are not worth the counter that threads share.
        const FEW: u64 = 1 << 12;
        let limits = &self.shared.limits;
        let limit = limits.steps.into_iter().chain(limits.workgroup_steps).min();
        if self.steps < FEW && limit.is_none_or(|limit| limit > FEW << 12) {
            return;
        }
        let steps = std::mem::take(&mut self.steps);
        self.workgroup_steps = self.workgroup_steps.saturating_add(steps);
        let total = self.shared.steps.fetch_add(steps, Relaxed);
        let total = total.saturating_add(steps);
        let over = |limit: Option<u64>, steps: u64| limit.filter(|limit| steps > *limit);
        if self.shared.stop.load(Relaxed) {
            self.stop(line, Stop::Elsewhere);
        } else if let Some(limit) = over(limits.workgroup_steps, self.workgroup_steps) {
            self.stop(line, Stop::WorkgroupSteps(limit));
        } else if let Some(limit) = over(limits.steps, total) {
            self.stop(line, Stop::Steps(limit));
        }
    }

    /// Stops the run.
    pub(super) fn stop(&mut self, line: u32, why: Stop) {
        self.stopped = Some((line, why));
        self.any = false;
    }

    pub(super) fn place(&self, reg: Reg) -> Place {
        if reg.0 & Reg::UNIFORM == 0 {
            Place::Lanes(reg.0 as usize * self.chunks)
        } else {
            let word = self.uniforms.get((reg.0 & !Reg::UNIFORM) as usize);
            Place::Uniform(word.copied().unwrap_or(0))
        }
    }

    /// The words of chunk `i` of a register.
    #[inline(always)]
    pub(super) fn chunk(&self, place: Place, i: usize) -> Chunk {
        match place {
            Place::Lanes(start) => self.lanes[start + i],
            Place::Uniform(word) => [word; LANES],
        }
    }

    /// The word of one lane.
    pub(super) fn word(&self, place: Place, lane: usize) -> u32 {
        match place {
            Place::Lanes(start) => self.lanes[start + lane / LANES][lane % LANES],
            Place::Uniform(word) => word,
        }
    }

    /// Writes one lane, or the workgroup's word.
    pub(super) fn set_word(&mut self, reg: Reg, lane: usize, value: u32) {
        match self.place(reg) {
            Place::Lanes(start) => self.lanes[start + lane / LANES][lane % LANES] = value,
            Place::Uniform(_) => self.set_uniform(reg, value),
        }
    }

    pub(super) fn set_uniform(&mut self, reg: Reg, value: u32) {
        if let Some(word) = self.uniforms.get_mut((reg.0 & !Reg::UNIFORM) as usize) {
            *word = value;
        }
    }

    pub(super) fn is_active(&self, lane: usize) -> bool {
        self.act[lane / LANES][lane % LANES] != 0
    }

    /// The first active lane.
    pub(super) fn first_active(&self) -> Option<usize> {
        (self.from * LANES..self.to * LANES).find(|lane| self.is_active(*lane))
    }

    /// Narrows the range of chunks to the active lanes of `from..to`.
    pub(super) fn set_flags(&mut self, from: usize, to: usize) {
        let (mut first, mut last) = (usize::MAX, 0);
        for i in from..to {
            if self.act[i].iter().fold(0, |any, mask| any | mask) != 0 {
                first = first.min(i);
                last = i + 1;
            }
        }
        self.any = last > 0;
        self.from = first.min(last);
        self.to = last;
        self.all = self.act[self.from..self.to].iter().all(is_full);
    }
}

/// Whether all lanes of a mask are active.
#[inline(always)]
pub(super) fn is_full(mask: &Chunk) -> bool {
    // Comparing arrays would call a function.
    let mut every = !0;
    for word in mask {
        every &= word;
    }
    every == !0
}

fn axis_of(of: [u32; 3], axis: u32) -> u32 {
    of.get(axis as usize).copied().unwrap_or(0)
}
