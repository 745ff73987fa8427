//! [`Lanes`]: attention of single rows, and of four at a time, by the invocations of subgroups.

use super::form::Problem;
use crate::limits::ability::{Ability, MATRIX_UNITS};

/// `attention/lanes.wgsl`: a row per workgroup, and 4 keys for each `lanes` invocations at a time; or `attention/lanes_rows.wgsl`, the
/// same with four rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lanes {
    /// Invocations of a key, eight elements each.
    pub(super) lanes: u32,
    /// Rows of a workgroup: 1 or 4.
    pub(super) rows: u32,
}

impl Lanes {
    pub(super) const INVOCATIONS: u32 = 256;
    /// The most invocations of a key.
    const MOST: u64 = 32;

    pub(super) fn new(p: &Problem) -> Option<Self> {
        let lanes = p.head_dim.max(p.value_dim).div_ceil(8);
        let lanes = lanes.next_power_of_two().max(4);
        // Programs for the web, which have no matrix units either, leave out the kernel of several rows for its size.
        let there = MATRIX_UNITS || p.rows == 1;
        (there && p.octs && lanes <= Self::MOST).then(|| Self {
            lanes: u32::try_from(lanes).unwrap_or(u32::MAX),
            rows: if p.rows == 1 { 1 } else { 4 },
        })
    }

    pub(super) const fn keys(self) -> u32 {
        4 * Self::INVOCATIONS / self.lanes
    }

    /// Bytes of workgroup memory: two vectors of sums per invocation; two numbers of each row for each of up to 64 groups of lanes.
    pub(super) const fn workgroup_bytes(self) -> u32 {
        32 * Self::INVOCATIONS + 8 * 64 * self.rows
    }

    pub(super) const fn fits(self, ability: &Ability) -> bool {
        self.lanes <= ability.subgroup
    }

    /// Loop iterations of an invocation for so many tiles of keys.
    pub(super) fn iterations(self, tiles: u64) -> u64 {
        let (groups, rows) = (
            u64::from(Self::INVOCATIONS / self.lanes),
            u64::from(self.rows),
        );
        // Those of a tile: exchanged scores, and up to four scores of an invocation.
        let each = if self.rows == 1 { 8 } else { 40 };
        tiles
            .saturating_mul(each)
            .saturating_add((rows + 1) * groups + 40)
    }
}

#[cfg(test)]
mod tests {
    use super::super::form::Form;
    use super::super::rules::ways;
    use super::*;

    #[test]
    fn few_rows_are_for_subgroups_that_are_large_enough() {
        let problem = |rows, dim| Problem {
            heads: 8,
            rows,
            keys: 1000,
            head_dim: dim,
            value_dim: 64,
            vec4: true,
            octs: true,
            pieces: 0,
            scaled: false,
        };
        let form = |rows, dim, subgroup| {
            let ability = Ability {
                subgroup,
                ..Ability::LARGE
            };
            ways(&problem(rows, dim), &ability).default
        };
        for (dim, lanes) in [(128, 16), (8, 8), (256, 32)] {
            for rows in [1, 4] {
                let expected = Lanes { lanes, rows };
                assert_eq!(form(rows.into(), dim, 32), Form::Lanes(expected));
                assert!(matches!(form(rows.into(), dim, lanes / 2), Form::Few(_)));
                assert_eq!(expected.keys() * lanes, 4 * Lanes::INVOCATIONS);
            }
        }
        assert!(matches!(form(1, 264, 32), Form::Tile(_)));
    }
}
