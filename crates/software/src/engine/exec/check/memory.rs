//! Memory: bounds, what is written, who else uses it.

use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;

use half::f16;

use super::super::memory::Found;
use super::Looking;
use crate::engine::check::{Shown, Usage};
use crate::engine::ir::{Addr, MatrixShape, Reg, Rmw, Scaled, Space};
use crate::engine::scalar::float::half_from_f32;
use crate::engine::shadow::{Conflict, Touch};
use crate::sanitize::Kind;

/// Addresses from here on stand for an index that is out of bounds.
const BEYOND: u32 = 1 << 31;

/// Steps for looking one word up, which takes as long.
const LOOK_UP: u64 = 8;

/// A place that one invocation uses.
struct Place<'f> {
    lane: usize,
    /// Byte address in its space.
    address: u32,
    half: bool,
    /// What it writes, if it does.
    value: Option<u32>,
    /// Where all invocations write with this operation, how far behind that, and what.
    all: Option<(&'f Found, u32, Reg)>,
}

fn verb(usage: Usage) -> &'static str {
    match (usage.write, usage.rmw.is_some()) {
        (_, true) => "updates",
        (true, _) => "writes",
        (false, _) => "reads",
    }
}

impl Looking<'_, '_> {
    pub(super) fn memory(
        &mut self,
        at: &Addr,
        trail: &[Scaled],
        (words, half): (u32, bool),
        usage: Usage,
        v: &[Reg],
    ) {
        let machine = self.machine;
        let found = machine.find(at);
        let bytes = if half { 2 } else { words * 4 };
        let mut lanes: Vec<usize> = machine.active_lanes().collect();
        if found.is_uniform() && !usage.write {
            // More readers of one place cannot race with more writers.
            lanes.truncate(2);
        }
        self.checker.steps += lanes.len() as u64 * u64::from(words.max(1)) * LOOK_UP;
        for lane in lanes {
            let address = machine.address(&found, lane);
            let range = address..address.saturating_add(bytes);
            if !self.inside(at, trail, range, usage, v, lane) {
                continue;
            }
            for i in 0..words.max(1) {
                let reg = v.get(i as usize);
                let place = Place {
                    lane,
                    address: address + i * 4,
                    half,
                    value: reg.map(|reg| self.word(*reg, lane)),
                    all: reg.map(|reg| (&found, i * 4, *reg)),
                };
                self.one(at.space, &place, usage);
            }
        }
    }

    pub(super) fn matrix(
        &mut self,
        at: &Addr,
        trail: &[Scaled],
        stride: Reg,
        shape: &MatrixShape,
        write: bool,
    ) {
        let machine = self.machine;
        let size = machine.code.subgroup as usize;
        let usage = Usage {
            read: !write,
            write,
            atomic: false,
            rmw: None,
        };
        let mut next = 0;
        for lane in machine.active_lanes() {
            if lane < next {
                continue;
            }
            // The subgroup works as one; its first invocation stands for it.
            next = (lane / size + 1) * size;
            for address in machine.elements(at, stride, shape, lane) {
                self.checker.steps += LOOK_UP;
                let bytes = if shape.half { 2 } else { 4 };
                let range = address..address.saturating_add(bytes);
                if !self.inside(at, trail, range, usage, &[], lane) {
                    break;
                }
                let place = Place {
                    lane,
                    address,
                    half: shape.half,
                    value: None,
                    all: None,
                };
                self.one(at.space, &place, usage);
            }
        }
    }

    /// Whether an access stays within its variable and its buffer; reports it if not.
    fn inside(
        &self,
        at: &Addr,
        trail: &[Scaled],
        range: Range<u32>,
        usage: Usage,
        v: &[Reg],
        lane: usize,
    ) -> bool {
        let limit = self.limit(at.space);
        if range.start < BEYOND && u64::from(range.end) <= limit {
            return true;
        }
        if !self.checker.watch.checks.bounds {
            return false;
        }
        let name = &self.site.name;
        let parts = trail.iter().chain(&at.scaled);
        let index = parts
            .map(|part| (self.word(part.index, lane), self.machine.length(part)))
            .find(|(index, len)| index >= len);
        let message = match index {
            Some((index, len)) => format!("index {index} of {len} elements in {name}"),
            None => {
                let (start, end) = (range.start & !BEYOND, range.end & !BEYOND);
                format!("bytes {start}..{end} of {limit} in {name}")
            }
        };
        let does = verb(usage);
        let values: Vec<String> = v
            .iter()
            .map(|reg| self.site.shown.text(self.word(*reg, lane)))
            .collect();
        let values = match (values.is_empty(), usage.rmw.is_some()) {
            (true, _) => String::new(),
            (_, true) => format!(" with {}", values.join(", ")),
            (_, false) => format!(" = {}", values.join(", ")),
        };
        let party = self.party(lane, format!("{does} {name}{values}"));
        self.report(Kind::OutOfBounds, party, None, message);
        false
    }

    /// Bytes of a space.
    fn limit(&self, space: Space) -> u64 {
        match space {
            Space::Binding(binding) => self.machine.buffer(binding).len() as u64 * 4,
            Space::Workgroup => self.machine.workgroup.len() as u64 * 4,
            Space::Immediate => self.machine.shared.immediates.len() as u64 * 4,
        }
    }

    /// One place within bounds.
    fn one(&mut self, space: Space, place: &Place<'_>, usage: Usage) {
        match space {
            Space::Binding(binding) => self.in_buffer(binding, place, usage),
            Space::Workgroup => self.in_workgroup(place, usage),
            Space::Immediate => {}
        }
    }

    fn touch(&self, lane: usize, space: usize, atomic: bool) -> Touch {
        let size = self.machine.code.subgroup as usize;
        let checker = &*self.checker;
        Touch {
            dispatch: checker.watch.dispatch,
            group: checker.group as u32,
            epoch: checker.epochs.get(space).copied().unwrap_or(0),
            subepoch: checker.subepochs.get(lane / size).copied().unwrap_or(0),
            lane: lane as u32,
            site: self.number,
            atomic,
        }
    }

    fn in_buffer(&mut self, binding: u32, place: &Place<'_>, usage: Usage) {
        let machine = self.machine;
        let Some(buffer) = machine.shared.buffers.get(binding as usize) else {
            return;
        };
        let checks = self.checker.watch.checks;
        let start = buffer.start + u64::from(place.address);
        let word = (start / 4) as usize;
        let mask = match (place.half, place.address & 2) {
            (false, _) => !0,
            (true, 0) => 0xffff,
            (true, _) => 0xffff_0000,
        };
        let touch = self.touch(place.lane, 1, usage.atomic);
        let mut shadow = buffer.storage.shadow().lock();
        let old = buffer
            .words
            .get(place.address as usize / 4)
            .map_or(0, |word| word.load(Relaxed));
        let undefined = shadow.undefined(word);
        let mut conflict = None;
        if checks.races {
            let shift = if machine.code.halves { 1 } else { 2 };
            let cells = if place.half || shift == 2 { 1 } else { 2 };
            let first = (start >> shift) as usize;
            for index in first..first + cells {
                let cell = shadow.cells.at(index, || self.checker.watch.take_shadow());
                let found =
                    cell.and_then(|cell| cell.note(touch, usage.write, machine.code.subgroup));
                conflict = conflict.or(found);
            }
        }
        if undefined != 0 && usage.write {
            let left = match (usage.rmw, place.value) {
                (Some(Rmw::And), Some(v)) => undefined & v,
                (Some(Rmw::Or), Some(v)) => undefined & !v,
                _ => undefined & !mask,
            };
            shadow.set_undefined(word, left);
        }
        drop(shadow);
        if let Some(conflict) = conflict {
            self.race(&conflict, place, usage, old);
        }
        if checks.uninitialized && usage.read && undefined & mask != 0 {
            self.unwritten(place, old, "the buffer's memory was handed out");
        }
    }

    fn in_workgroup(&mut self, place: &Place<'_>, usage: Usage) {
        let checks = self.checker.watch.checks;
        let word = place.address as usize / 4;
        let old = self.machine.workgroup.get(word).copied().unwrap_or(0);
        let now = self.checker.group + 1;
        // The next workgroup has memory of its own: for it these uses are of the past.
        let touch = Touch {
            dispatch: self.checker.watch.workgroup(self.checker.group),
            ..self.touch(place.lane, 0, usage.atomic)
        };
        if checks.races {
            let subgroup = self.machine.code.subgroup;
            let watch = self.checker.watch;
            let cell = self.checker.cells.at(word, || watch.take_shadow());
            let found = cell.and_then(|cell| cell.note(touch, usage.write, subgroup));
            if let Some(conflict) = found {
                self.race(&conflict, place, usage, old);
            }
        }
        let strict = checks.zeroed_workgroup_memory;
        let written = self.checker.written.get(word).is_some_and(|by| *by == now);
        if checks.uninitialized && usage.read && !written && (strict || !self.machine.code.zeroed) {
            self.unwritten(place, old, "the workgroup started");
        }
        if usage.write
            && let Some(by) = self.checker.written.get_mut(word)
        {
            *by = now;
        }
    }

    fn unwritten(&self, place: &Place<'_>, old: u32, since: &str) {
        let name = &self.site.name;
        let does = format!("reads byte {} of {name}", place.address);
        let party = self.party(place.lane, does);
        let message = format!("nobody has written it since {since}; it holds {old:#010x}");
        self.report(Kind::Uninitialized, party, None, message);
    }

    fn race(&self, conflict: &Conflict, place: &Place<'_>, usage: Usage, old: u32) {
        let (site, name) = (self.site, &self.site.name);
        let shown = |word: u32| {
            if place.half && site.shown == Shown::Float {
                format!("{:?}", f16::from_bits(word as u16))
            } else if place.half && site.shown == Shown::Signed {
                (word as i16).to_string()
            } else {
                site.shown.text(word)
            }
        };
        let stored = |value: u32| {
            if place.half && site.shown == Shown::Float {
                half_from_f32(value)
            } else {
                value
            }
        };
        let value = place.value.map(stored);
        let before = match (place.half, place.address & 2) {
            (false, _) => old,
            (true, 0) => old & 0xffff,
            (true, _) => old >> 16,
        };
        let kind_of = if usage.atomic { "atomically " } else { "" };
        let value = match value {
            Some(value) if usage.rmw.is_some() => {
                format!(" = {} with {}", shown(before), shown(value))
            }
            Some(value) => format!(" = {}", shown(value)),
            None if usage.write => String::new(),
            None => format!(" = {}", shown(before)),
        };
        let does = format!(
            "{kind_of}{} byte {} of {name}{value}",
            verb(usage),
            place.address
        );
        let party = self.party(place.lane, does);
        let verb = if conflict.wrote { "wrote" } else { "read" };
        let kind_of = if conflict.with.atomic {
            "atomically "
        } else {
            ""
        };
        // All invocations write at once, so memory does not hold yet what one before this one writes.
        let theirs = self.also_writes(conflict, place).map(stored);
        let does = format!("{kind_of}{verb} {}", shown(theirs.unwrap_or(before)));
        let other = self.earlier(&conflict.with, does);
        let apart = conflict.with.group != self.checker.group as u32;
        let (kind, message) = if apart {
            let message = "nothing orders two workgroups of a dispatch";
            (Kind::RaceBetweenWorkgroups, message)
        } else {
            (Kind::Race, "no barrier for this memory lies between")
        };
        self.report(kind, party, Some(other), message.to_owned());
    }

    /// What the other party of a race writes with this very operation, if it does.
    fn also_writes(&self, conflict: &Conflict, place: &Place<'_>) -> Option<u32> {
        let (found, behind, reg) = place.all?;
        let (with, machine) = (&conflict.with, &self.machine);
        let lane = with.lane as usize;
        let same = conflict.wrote
            && with.site == self.number
            && with.group == self.checker.group as u32
            && lane < place.lane
            && machine.is_active(lane)
            && machine.address(found, lane) + behind == place.address;
        same.then(|| self.word(reg, lane))
    }

    pub(super) fn index(&self, index: Reg, len: u32) {
        for lane in self.lanes_of(&[index]) {
            let at = self.word(index, lane);
            if at >= len {
                let party = self.party(lane, format!("uses element {at}"));
                let message = format!("index {at} of {len} elements in {}", self.site.name);
                self.report(Kind::OutOfBounds, party, None, message);
            }
        }
    }
}
