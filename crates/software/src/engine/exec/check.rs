//! Checks at run time, and the state that they need: one of each run, which has one thread.

mod memory;
mod numbers;

use super::machine::{LANES, Machine, Place};
use crate::engine::Stop;
use crate::engine::check::{Check, Order, Party, Raw, Site, Watch, What};
use crate::engine::ir::Addr;
use crate::engine::shadow::{Cells, Touch};
use crate::sanitize::Kind;

/// What a machine remembers between the checks of a run.
#[derive(Debug)]
pub(super) struct Checker<'a> {
    watch: &'a Watch,
    /// Cells of workgroup memory, by word.
    cells: Cells,
    /// By word of workgroup memory: the workgroup, counted from 1, that wrote it last.
    written: Vec<u64>,
    group: u64,
    id: [u32; 3],
    /// Barriers of workgroup memory and of buffers so far.
    epochs: [u32; 2],
    /// By subgroup.
    subepochs: Vec<u32>,
    /// Steps that checks took and that are not counted yet.
    steps: u64,
}

impl<'a> Checker<'a> {
    pub(super) fn new(watch: &'a Watch, words: usize, subgroups: usize) -> Self {
        Self {
            watch,
            cells: Cells::default(),
            written: vec![0; words],
            group: 0,
            id: [0; 3],
            epochs: [0; 2],
            subepochs: vec![0; subgroups],
            steps: 0,
        }
    }

    /// A workgroup starts.
    pub(super) fn enter(&mut self, number: u64, id: [u32; 3]) {
        self.group = number;
        self.id = id;
        self.epochs = [0; 2];
        self.subepochs.fill(0);
    }
}

/// A check at work: the machine, whose checker it has taken out, and the place in the text.
struct Looking<'m, 'a> {
    machine: &'m Machine<'a>,
    checker: &'m mut Checker<'a>,
    site: &'m Site,
    number: u32,
}

impl Machine<'_> {
    pub(super) fn check(&mut self, check: &Check) {
        let Some(mut checker) = self.checker.take() else {
            return;
        };
        let code = self.code;
        if let Some(site) = code.sites.get(check.site as usize) {
            let mut looking = Looking {
                machine: self,
                checker: &mut checker,
                site,
                number: check.site,
            };
            looking.look(&check.what);
        }
        self.steps += std::mem::take(&mut checker.steps);
        if let (true, Some(site)) = (
            checker.watch.shadow_is_full(),
            code.sites.get(check.site as usize),
        ) {
            self.stop(site.line, Stop::Shadow(checker.watch.shadow_bytes));
        }
        self.checker = Some(checker);
    }

    fn active_lanes(&self) -> impl Iterator<Item = usize> + '_ {
        (self.from * LANES..self.to * LANES).filter(|lane| self.is_active(*lane))
    }
}

impl Looking<'_, '_> {
    fn look(&mut self, what: &What) {
        match what {
            What::Memory {
                at,
                trail,
                words,
                half,
                usage,
                v,
            } => self.memory(at, trail, (*words, *half), *usage, v),
            What::Matrix {
                at,
                trail,
                stride,
                shape,
                write,
            } => self.matrix(at, trail, *stride, shape, *write),
            What::Index { index, len } => self.index(*index, *len),
            What::Barrier { order, uniform } => {
                if *uniform {
                    self.together();
                }
                self.order(*order);
            }
            What::Subgroup => self.subgroups(),
            What::SameAddress { at } => self.same_address(at),
            What::Divide { a, b, signed, bits } => self.divide(a, b, *signed, *bits),
            What::Shift { b, bits } => self.shift(*b, *bits),
            What::Convert { a, signed, bits } => self.convert(a, *signed, *bits),
            What::Result {
                d,
                a,
                wide,
                together,
            } => self.result(d, a, *wide, *together),
        }
    }

    fn order(&mut self, order: Order) {
        if order.workgroup {
            self.checker.epochs[0] += 1;
        }
        if order.storage {
            self.checker.epochs[1] += 1;
        }
        if order.subgroup {
            let size = self.machine.code.subgroup as usize;
            for lane in self.machine.active_lanes() {
                if (lane % size == 0 || !self.machine.is_active(lane - 1))
                    && let Some(epoch) = self.checker.subepochs.get_mut(lane / size)
                {
                    *epoch += 1;
                }
            }
        }
    }

    /// All invocations are here.
    fn together(&mut self) {
        let count = self.machine.code.invocations();
        let missing = (0..count).find(|lane| !self.machine.is_active(*lane));
        if let (Some(missing), Some(here)) = (missing, self.machine.first_active()) {
            let name = &self.site.name;
            let here = self.party(here, format!("reaches the {name}"));
            let missing = self.party(missing, "does not".to_owned());
            let some = self.machine.active_lanes().count();
            let message = format!("{some} of {count} invocations reach it");
            self.report(Kind::Divergence, here, Some(missing), message);
        }
    }

    /// Subgroups are here as a whole.
    fn subgroups(&mut self) {
        let size = self.machine.code.subgroup as usize;
        let count = self.machine.code.invocations();
        for start in (0..count).step_by(size) {
            let lanes = start..(start + size).min(count);
            let here = lanes.clone().find(|lane| self.machine.is_active(*lane));
            let missing = lanes.clone().find(|lane| !self.machine.is_active(*lane));
            let (Some(here), Some(missing)) = (here, missing) else {
                continue;
            };
            let some = lanes.clone().filter(|lane| self.machine.is_active(*lane));
            let message = format!(
                "{} of {} invocations of the subgroup reach it",
                some.count(),
                lanes.len()
            );
            let here = self.party(here, format!("reaches the {}", self.site.name));
            let missing = self.party(missing, "does not".to_owned());
            self.report(Kind::SubgroupDivergence, here, Some(missing), message);
        }
    }

    fn same_address(&mut self, at: &Addr) {
        let found = self.machine.find(at);
        let mut lanes = self.machine.active_lanes();
        let Some(first) = lanes.next() else { return };
        let address = self.machine.address(&found, first);
        let other = lanes.find(|lane| self.machine.address(&found, *lane) != address);
        if let Some(other) = other {
            let name = &self.site.name;
            let here = self.party(first, format!("loads byte {address} of {name}"));
            let address = self.machine.address(&found, other);
            let there = self.party(other, format!("loads byte {address}"));
            let message = "invocations load from different places".to_owned();
            self.report(Kind::Divergence, here, Some(there), message);
        }
    }

    /// The word of a register in a lane.
    fn word(&self, reg: crate::engine::ir::Reg, lane: usize) -> u32 {
        self.machine.word(self.machine.place(reg), lane)
    }

    /// Lanes whose values differ as far as these registers go: one if all are uniform.
    fn lanes_of(&self, regs: &[crate::engine::ir::Reg]) -> Vec<usize> {
        let uniform = |reg| matches!(self.machine.place(reg), Place::Uniform(_));
        let most = if regs.iter().all(|reg| uniform(*reg)) {
            1
        } else {
            usize::MAX
        };
        self.machine.active_lanes().take(most).collect()
    }

    fn party(&self, lane: usize, does: String) -> Party {
        Party {
            line: self.site.line,
            workgroup: self.checker.id,
            invocation: self.local(lane as u32),
            does,
        }
    }

    /// Local id of a lane.
    fn local(&self, lane: u32) -> [u32; 3] {
        let [x, y, _] = self.machine.code.workgroup;
        [lane % x, lane / x % y, lane / x / y]
    }

    /// Id of a workgroup.
    fn workgroup(&self, number: u32) -> [u32; 3] {
        let [x, y, _] = self.machine.shared.workgroups;
        [number % x, number / x % y, number / x / y]
    }

    /// The invocation of an earlier use.
    fn earlier(&self, touch: &Touch, does: String) -> Party {
        let site = self.machine.code.sites.get(touch.site as usize);
        Party {
            line: site.map_or(0, |site| site.line),
            workgroup: self.workgroup(touch.group),
            invocation: self.local(touch.lane),
            does,
        }
    }

    fn report(&self, kind: Kind, party: Party, other: Option<Party>, message: String) {
        let line = self.site.line;
        self.checker.watch.find(kind, line, || Raw {
            kind,
            line,
            party: Some(party),
            other,
            message,
            with: None,
            count: 1,
        });
    }
}
