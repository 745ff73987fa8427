//! What a sanitizer remembers of memory: who used each place last, and which bits nobody has
//! written.
//!
//! One [`Cell`] per word of a buffer (or per two bytes, for programs that use such), in pages that
//! exist once they are used. An entry of an
//! earlier dispatch means nothing, so a page that one dispatch leaves serves the next as it is.

use parking_lot::Mutex;

/// One use of a place by an invocation.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Touch {
    /// Number of the dispatch; 0: none.
    pub(super) dispatch: u32,
    /// Number of the workgroup.
    pub(super) group: u32,
    /// Barriers of the workgroup before it.
    pub(super) epoch: u32,
    /// Barriers of the subgroup before it.
    pub(super) subepoch: u32,
    pub(super) lane: u32,
    pub(super) site: u32,
    pub(super) atomic: bool,
}

impl Touch {
    /// Whether both are uses by one invocation.
    pub(super) fn same(&self, other: &Self) -> bool {
        self.dispatch == other.dispatch && self.group == other.group && self.lane == other.lane
    }

    /// Whether nothing orders `self`, now, after `before`; `subgroup` is the size of subgroups.
    fn conflicts(&self, before: &Self, subgroup: u32) -> bool {
        if before.dispatch != self.dispatch || (before.atomic && self.atomic) {
            return false;
        }
        if before.group != self.group {
            return true;
        }
        let together = before.lane / subgroup == self.lane / subgroup;
        before.lane != self.lane
            && before.epoch >= self.epoch
            && !(together && before.subepoch < self.subepoch)
    }
}

/// Uses of a place.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cell {
    write: Touch,
    /// The last read, and the last before it by another invocation.
    read: Touch,
    second: Touch,
    /// The last read by another workgroup than that of `read`.
    far: Touch,
}

/// An earlier use that a new one races with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Conflict {
    pub(super) with: Touch,
    pub(super) wrote: bool,
}

impl Cell {
    /// Notes a use; gives an earlier one that nothing orders before it.
    pub(super) fn note(&mut self, now: Touch, write: bool, subgroup: u32) -> Option<Conflict> {
        let mut found = None;
        if now.conflicts(&self.write, subgroup) {
            found = Some(Conflict {
                with: self.write,
                wrote: true,
            });
        }
        if write {
            let reads = [self.read, self.second, self.far];
            let read = reads.iter().find(|read| now.conflicts(read, subgroup));
            if let (None, Some(read)) = (found, read) {
                found = Some(Conflict {
                    with: *read,
                    wrote: false,
                });
            }
            self.write = now;
        } else {
            if !self.read.same(&now) {
                if self.read.group == now.group {
                    self.second = self.read;
                } else {
                    self.far = self.read;
                    self.second = Touch::default();
                }
            }
            self.read = now;
        }
        found
    }
}

/// Cells of a page.
const PAGE: usize = 256;
/// Bytes of a page.
pub(super) const PAGE_BYTES: u64 = (PAGE * size_of::<Cell>()) as u64;
/// Pages kept for other buffers, of 28 KiB each.
const KEPT: usize = 4096;
/// Pages that nobody uses: memory that is given back and taken again costs more than all checks.
static FREE: Mutex<Vec<Box<[Cell]>>> = Mutex::new(Vec::new());

/// The cells of a buffer.
#[derive(Debug, Default)]
pub(super) struct Cells {
    pages: Vec<Option<Box<[Cell]>>>,
}

impl Cells {
    /// The cell of a place. One that needs a new page exists only if `may_grow` allows one more.
    pub(super) fn at(
        &mut self,
        index: usize,
        may_grow: impl FnOnce() -> bool,
    ) -> Option<&mut Cell> {
        let number = index / PAGE;
        if number >= self.pages.len() {
            self.pages.resize_with(number + 1, || None);
        }
        let page = self.pages.get_mut(number)?;
        if page.is_none() && may_grow() {
            let kept = FREE.lock().pop();
            *page = Some(kept.unwrap_or_else(|| vec![Cell::default(); PAGE].into()));
        }
        page.as_mut()?.get_mut(index % PAGE)
    }
}

impl Cells {
    /// Forgets all uses.
    fn clear(&mut self) {
        if !self.pages.is_empty() {
            let mut free = FREE.lock();
            let room = KEPT.saturating_sub(free.len());
            free.extend(self.pages.drain(..).flatten().take(room));
        }
    }
}

impl Drop for Cells {
    fn drop(&mut self) {
        self.clear();
    }
}

/// All that is remembered of a buffer.
#[derive(Debug, Default)]
pub(super) struct Shadow {
    pub(super) cells: Cells,
    /// By word: the bits that nobody has written. Words beyond the end are written.
    undefined: Vec<u32>,
}

impl Shadow {
    /// A dispatch is over: its uses order nothing in the next one.
    pub(super) fn end_dispatch(&mut self) {
        self.cells.clear();
    }

    /// The bits of a word that nobody has written.
    pub(super) fn undefined(&self, word: usize) -> u32 {
        self.undefined.get(word).copied().unwrap_or(0)
    }

    pub(super) fn set_undefined(&mut self, word: usize, bits: u32) {
        if let Some(slot) = self.undefined.get_mut(word) {
            *slot = bits;
        } else if bits != 0 {
            self.undefined.resize(word + 1, 0);
            self.set_undefined(word, bits);
        }
    }

    /// Bytes from `offset` on become undefined, or defined.
    pub(super) fn mark(&mut self, offset: u64, bytes: u64, undefined: bool) {
        let end = offset.saturating_add(bytes);
        let mut at = offset;
        while at < end {
            let Ok(word) = usize::try_from(at / 4) else {
                return;
            };
            if !undefined && word >= self.undefined.len() {
                return;
            }
            let stop = (at / 4 * 4 + 4).min(end);
            let (first, count) = ((at % 4) as u32, (stop - at) as u32);
            let mask = (u32::MAX >> (32 - count * 8)) << (first * 8);
            let old = self.undefined(word);
            self.set_undefined(word, if undefined { old | mask } else { old & !mask });
            at = stop;
        }
    }

    /// Definedness goes with copied bytes.
    pub(super) fn copy(&mut self, source: &[u32], from: u64, to: u64, bytes: u64) {
        if source.is_empty() {
            return self.mark(to, bytes, false);
        }
        let bits = |at: u64| {
            let word = usize::try_from(at / 4).unwrap_or(usize::MAX);
            let bits = source.get(word).copied().unwrap_or(0);
            (bits >> ((at % 4) * 8)) & 0xff != 0
        };
        for i in 0..bytes {
            self.mark(to.saturating_add(i), 1, bits(from.saturating_add(i)));
        }
    }

    /// The bits of all words, as far as some are undefined.
    pub(super) fn bits(&self) -> Vec<u32> {
        self.undefined.clone()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn touch(group: u32, lane: u32, epoch: u32) -> Touch {
        Touch {
            dispatch: 1,
            group,
            lane,
            epoch,
            ..Touch::default()
        }
    }

    #[test]
    fn only_unordered_uses_by_others_conflict() {
        let mut cell = Cell::default();
        assert!(cell.note(touch(0, 0, 0), true, 4).is_none());
        assert!(cell.note(touch(0, 0, 0), false, 4).is_none(), "own value");
        assert!(
            cell.note(touch(0, 1, 1), false, 4).is_none(),
            "after a barrier"
        );
        assert!(cell.note(touch(0, 1, 1), true, 4).is_none(), "own read");
        assert!(cell.note(touch(0, 2, 1), false, 4).is_some(), "no barrier");
        let mut cell = Cell::default();
        let _ = cell.note(touch(0, 0, 0), false, 4);
        let _ = cell.note(touch(0, 1, 0), false, 4);
        assert!(
            cell.note(touch(0, 1, 0), true, 4).is_some(),
            "the other reader"
        );
    }

    #[test]
    fn a_page_that_another_buffer_has_left_means_nothing() {
        let mut cells = Cells::default();
        let old = touch(0, 0, 0);
        assert!(cells.at(5, || true).unwrap().note(old, true, 4).is_none());
        drop(cells);
        let mut cells = Cells::default();
        let now = Touch {
            dispatch: 2,
            ..touch(1, 3, 0)
        };
        for write in [false, true] {
            assert!(cells.at(5, || true).unwrap().note(now, write, 4).is_none());
        }
        let other = Touch { group: 7, ..now };
        assert!(cells.at(5, || true).unwrap().note(other, true, 4).is_some());
    }

    #[test]
    fn barriers_order_nothing_between_workgroups() {
        let mut cell = Cell::default();
        let _ = cell.note(touch(0, 0, 0), false, 4);
        let _ = cell.note(touch(1, 0, 0), false, 4);
        let _ = cell.note(touch(1, 1, 0), false, 4);
        assert!(
            cell.note(touch(1, 0, 5), true, 4)
                .is_some_and(|c| c.with.group == 0)
        );
        let other = Touch {
            dispatch: 2,
            ..touch(0, 3, 0)
        };
        assert!(cell.note(other, true, 4).is_none(), "another dispatch");
    }

    #[test]
    fn subgroup_barriers_order_their_subgroup() {
        let mut cell = Cell::default();
        let _ = cell.note(touch(0, 0, 0), true, 4);
        let later = |lane| Touch {
            subepoch: 1,
            ..touch(0, lane, 0)
        };
        assert!(cell.note(later(1), false, 4).is_none());
        assert!(cell.note(later(5), false, 4).is_some());
    }

    #[test]
    fn bytes_are_marked_one_by_one() {
        let mut shadow = Shadow::default();
        shadow.mark(3, 6, true);
        assert_eq!(shadow.bits(), [0xff00_0000, u32::MAX, 0xff]);
        shadow.mark(4, 2, false);
        assert_eq!(shadow.bits(), [0xff00_0000, 0xffff_0000, 0xff]);
        let mut copy = Shadow::default();
        copy.copy(&shadow.bits(), 2, 0, 4);
        assert_eq!(copy.bits(), [0x0000_ff00]);
    }
}
