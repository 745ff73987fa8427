//! What is known of the bits of words: halves of words that are positive normal numbers whatever the
//! rest of them is, like integers that are made floats by putting an exponent above them, are converted
//! without the other cases.

use super::table::Table;
use super::{Block, Code, Op};
use crate::engine::ir::Input;
use crate::engine::scalar::Bin;

/// Sign and exponent of an `f16`.
const SIGN: u32 = 0x8000;
const EXPONENT: u32 = 0x7c00;

/// Bits that are set, and those that are not, in all lanes.
#[derive(Clone, Copy, Default)]
struct Known {
    ones: u32,
    zeros: u32,
}

impl Known {
    fn value(self) -> Option<u32> {
        (self.ones == !self.zeros).then_some(self.ones)
    }

    /// Whether half `part` of the word is a positive normal number.
    fn is_normal(self, part: u32) -> bool {
        let [ones, zeros] = [self.ones, self.zeros].map(|bits| bits >> ((part & 1) << 4));
        zeros & SIGN != 0 && ones & EXPONENT != 0 && zeros & EXPONENT != 0
    }
}

/// Takes the simpler of two operations where what is known allows it. Results of `and` and `or` must be
/// written once, as they are until operations write variables.
pub(super) fn simplify(code: &mut Code) {
    let mut known = Table::new(code.registers);
    for (reg, input) in &code.inputs {
        if let Input::Bits(ones) = *input {
            known.insert(*reg, Known { ones, zeros: !ones });
        }
    }
    block(&mut code.block, &mut known);
}

fn block(code: &mut Block, known: &mut Table<Known>) {
    for op in code {
        if let Op::Bin { op: bin, d, a, b } = op {
            let [x, y] = [&*a, &*b].map(|reg| known.get(*reg).unwrap_or_default());
            match bin {
                Bin::And => {
                    let (ones, zeros) = (x.ones & y.ones, x.zeros | y.zeros);
                    known.insert(*d, Known { ones, zeros });
                }
                Bin::Or => {
                    let (ones, zeros) = (x.ones | y.ones, x.zeros & y.zeros);
                    known.insert(*d, Known { ones, zeros });
                }
                Bin::UnpackHalf if y.value().is_some_and(|part| x.is_normal(part)) => {
                    *bin = Bin::UnpackNormal;
                }
                _ => {}
            }
        }
        for (inner, _) in op.blocks_mut() {
            block(inner, known);
        }
    }
}
