//! What passes note about registers.

use crate::engine::ir::Reg;

/// Something for some of the registers.
pub(super) struct Table<T> {
    /// With the round in which it was noted.
    entries: Vec<Option<(u32, T)>>,
    round: u32,
}

impl<T: Copy> Table<T> {
    pub(super) fn new(registers: u32) -> Self {
        Self {
            entries: vec![None; registers as usize],
            round: 0,
        }
    }

    /// Forgets everything, in no time: a program has many blocks, most of a few operations.
    pub(super) fn clear(&mut self) {
        self.round = self.round.wrapping_add(1);
        if self.round == 0 {
            self.entries.fill(None);
        }
    }

    pub(super) fn get(&self, reg: Reg) -> Option<T> {
        let (round, value) = (*self.entries.get(reg.index())?)?;
        (round == self.round).then_some(value)
    }

    pub(super) fn insert(&mut self, reg: Reg, value: T) {
        if let Some(entry) = self.entries.get_mut(reg.index()) {
            *entry = Some((self.round, value));
        }
    }

    pub(super) fn remove(&mut self, reg: Reg) {
        if let Some(entry) = self.entries.get_mut(reg.index()) {
            *entry = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_noted_is_there_until_it_is_forgotten() {
        let mut table = Table::new(3);
        table.insert(Reg(1), 7);
        table.insert(Reg(2), 8);
        table.remove(Reg(2));
        assert_eq!(
            [0, 1, 2].map(|reg| table.get(Reg(reg))),
            [None, Some(7), None]
        );
        table.clear();
        assert_eq!(table.get(Reg(1)), None);
        table.insert(Reg(1), 9);
        // The number of the round comes around.
        table.round = u32::MAX;
        table.insert(Reg(0), 1);
        table.clear();
        table.insert(Reg(2), 2);
        assert_eq!(
            [0, 1, 2].map(|reg| table.get(Reg(reg))),
            [None, None, Some(2)]
        );
    }
}
