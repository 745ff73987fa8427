//! [`Matrix`]: attention on matrix units that multiply f16, as which f16 and bf16 are one element and f32 two.

use super::form::Problem;
use crate::limits::ability::{Ability, Cooperative, PROCESSOR_BYTES};

/// `attention/matrix.wgsl`, or `attention/pieces.wgsl`: pairs of subgroups of 32, each with 16 or 32 rows by 32 keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Matrix {
    pub(super) invocations: u32,
    /// Blocks of 16 rows of a pair of subgroups: 1 or 2.
    pub(super) row_blocks: u32,
    /// Blocks of 16 elements of a key, of which the last may be a part.
    pub(super) key_blocks: u32,
    /// Blocks of 16 columns of the result that a subgroup has: half of all, of which the last may be empty.
    pub(super) value_blocks: u32,
    /// f16 that make an element.
    pub(super) pieces: u32,
}

impl Matrix {
    pub(super) const KEYS: u32 = 32;
    /// The most elements of a head whose queries and sums a subgroup keeps in registers.
    const DIM: u64 = 128;
    /// Heads of no more elements fill whole blocks, or are computed in f32 without rounded weights.
    const WHOLE: u64 = 32;

    /// Those for 64 rows, and for 16.
    pub(super) fn all(p: &Problem) -> [Option<Self>; 2] {
        let new = |(invocations, row_blocks)| Self::new(p, invocations, row_blocks);
        match p.pieces {
            // Queries take twice the registers, keys and values twice the memory: a workgroup has a processor to itself.
            2 => [new((256, 1)), None],
            _ => [(128, 2), (64, 1)].map(new),
        }
    }

    fn new(p: &Problem, invocations: u32, row_blocks: u32) -> Option<Self> {
        let blocks = |n: u64, each: u64| {
            let whole = n > 0 && n.is_multiple_of(each);
            let fits = n <= Self::DIM && (whole || n > Self::WHOLE && n.is_multiple_of(4));
            u32::try_from(n.div_ceil(each)).ok().filter(|_| fits)
        };
        let matrix = Self {
            invocations,
            row_blocks,
            key_blocks: blocks(p.head_dim, 16)?,
            value_blocks: blocks(p.value_dim, 32)?,
            pieces: p.pieces,
        };
        // Behind the last key that one is read again: there has to be one.
        (p.pieces > 0 && p.vec4 && p.keys > 0).then_some(matrix)
    }

    pub(super) const fn rows(self) -> u32 {
        self.invocations / 4 * self.row_blocks
    }

    /// Whether keys and values take turns in workgroup memory: where less than two workgroups of a processor would have room for
    /// both, or one that has it to itself.
    pub(super) const fn shared(self) -> bool {
        let both = Self::KEYS * self.pieces * (self.key_pitch() + self.value_pitch());
        self.bytes_with(both) > PROCESSOR_BYTES * self.pieces / 2
    }

    /// Vectors of workgroup memory for keys and values.
    pub(super) const fn len(self) -> u32 {
        let (key, value) = (self.key_pitch(), self.value_pitch());
        let line = match (self.shared(), key > value) {
            (false, _) => key + value,
            (true, true) => key,
            (true, false) => value,
        };
        Self::KEYS * self.pieces * line
    }

    /// Vectors of a key or value, of which each has two more against bank conflicts.
    const fn key_pitch(self) -> u32 {
        4 * self.key_blocks + 2
    }

    const fn value_pitch(self) -> u32 {
        8 * self.value_blocks + 2
    }

    pub(super) const fn workgroup_bytes(self) -> u32 {
        self.bytes_with(self.len())
    }

    /// With so many vectors of keys and values.
    const fn bytes_with(self, len: u32) -> u32 {
        // Those; scores in f32 and weights in f16, whose lines have one and two vectors more; four or eight words.
        let line = 16 * (Self::KEYS / 4 + 1) + 8 * self.pieces * (Self::KEYS / 4 + 2);
        8 * len + self.rows() * line + 16 * self.pieces
    }

    pub(super) fn fits(ability: &Ability) -> bool {
        ability.f16 && ability.subgroup == 32 && ability.cooperative.has(Cooperative::F16_F32_16)
    }

    /// Loop iterations of an invocation for so many tiles of keys. Those of a row in which something is NaN or infinite are
    /// not counted: no adapter with matrix units ends long loops.
    pub(super) fn iterations(self, tiles: u64) -> u64 {
        let loads = Self::KEYS * (4 * self.key_blocks + 8 * self.value_blocks) / self.invocations;
        u64::from(2 * loads + 20)
            .saturating_mul(tiles)
            .saturating_add(100)
    }
}

#[cfg(test)]
mod tests {
    use super::super::form::Form;
    use super::super::form::tests::problem;
    use super::super::rules::ways;
    use super::*;

    #[test]
    fn two_workgroups_share_a_processor() {
        for dim in [32, 64, 96, 128] {
            let [Some(many), Some(few)] = Matrix::all(&problem(1000, 1000, dim)) else {
                panic!("{dim} is a head of matrix units");
            };
            assert_eq!((many.shared(), few.shared()), (dim > 64, false), "{dim}");
            for matrix in [many, few] {
                assert!(matrix.workgroup_bytes() <= PROCESSOR_BYTES / 2, "{dim}");
            }
            let p = Problem {
                pieces: 2,
                ..problem(1000, 1000, dim)
            };
            let [Some(pieces), None] = Matrix::all(&p) else {
                panic!("{dim} is a head of matrix units");
            };
            assert_eq!(pieces.shared(), dim > 96, "{dim}");
            assert!(pieces.workgroup_bytes() <= PROCESSOR_BYTES, "{dim}");
        }
    }

    #[test]
    fn matrix_units_take_heads_of_up_to_128_elements() {
        fn form(p: &Problem, ability: &Ability) -> Form {
            ways(p, ability).default
        }
        let (p, large) = (problem(1000, 1000, 128), Ability::LARGE);
        assert!(matches!(form(&p, &large), Form::Matrix(_)));
        assert_eq!(form(&p, &large).rows(), 64);
        for dim in [36, 40, 72, 80] {
            let padded = form(&problem(1000, 1000, dim), &large);
            assert!(matches!(padded, Form::Matrix(_)), "{dim}");
        }
        let few = problem(4, 1000, 128);
        let some_rows = |form: Form| matches!(form, Form::Matrix(_)) && form.rows() == 16;
        assert!(ways(&few, &large).all().any(some_rows));
        for dim in [8, 20, 132, 136, 256] {
            let other = form(&problem(1000, 1000, dim), &large);
            assert!(matches!(other, Form::Tile(_)), "{dim}");
        }
        let pieces = Problem { pieces: 2, ..p };
        assert!(matches!(form(&pieces, &large), Form::Matrix(_)));
        let short = Problem {
            pieces: 2,
            ..problem(100, 100, 128)
        };
        assert!(!matches!(form(&short, &large), Form::Matrix(_)));
        assert!(
            ways(&short, &large)
                .all()
                .any(|form| matches!(form, Form::Matrix(_)))
        );
        for other in [Problem { pieces: 0, ..p }, Problem { vec4: false, ..p }] {
            assert!(matches!(form(&other, &large), Form::Tile(_)));
        }
        let small = Ability {
            workgroup_bytes: 16 << 10,
            ..large
        };
        let uneven = Ability {
            subgroup: 0,
            ..large
        };
        for ability in [small, uneven, Ability::WEBGPU] {
            assert!(matches!(form(&p, &ability), Form::Tile(_)));
        }
    }
}
