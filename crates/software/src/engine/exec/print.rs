//! `debug_print`: values of active invocations, copied out.

use super::machine::{LANES, Machine};
use crate::engine::ir::Reg;
use crate::engine::print::Printed;

impl Machine<'_> {
    pub(super) fn print(&mut self, site: u32, v: &[Reg]) {
        let [x, y, _] = self.code.workgroup;
        let lanes = self.from * LANES..self.to * LANES;
        for lane in lanes.filter(|lane| self.is_active(*lane)) {
            let at = lane as u32;
            let words = v.iter().map(|reg| self.word(self.place(*reg), lane));
            self.code.prints.add(Printed {
                site,
                workgroup: self.group,
                invocation: [at % x, at / x % y, at / x / y],
                words: words.collect(),
            });
        }
    }
}
