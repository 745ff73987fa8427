//! Rows that are sorted in workgroup memory: one dispatch, which reads each element once. Subgroups sort long blocks by digits,
//! as [`digits`](super::digits) does; short blocks, and devices without, sort by a bitonic network.
//!
//! Longer rows are sorted so in blocks where only a few elements of each row are wanted: those of each block, then those of
//! all of these, until one block holds what is left of a row. Equal elements keep their order in each block, and blocks lie
//! in order, so they keep it altogether.

use ziggurat_core::{DType, Shape, coalesce};
use ziggurat_pipeline::Grid;

use super::digits::{Digits, of_blocks};
use super::{OP, directed, key_bits, workgroup};
use crate::limits::ability::Ability;
use crate::ops::elementwise::dispatch::{axes, count};
use crate::run::error::KernelError;
use crate::run::executor::Executor;
use crate::run::view::View;
use crate::source::candidate::Candidate;
use crate::source::choice::KernelChoice;
use crate::source::params::{Params, params};

params! {
    /// Parameters of a sort of blocks.
    pub(crate) struct BlockParams {
        keep: u32,
        offset_out: u32,
        offset_a: u32,
        offset_b: u32,
        offset_c: u32,
        row: u32,
        per_row: u32,
        blocks: u32,
        axes: [[u32; 4]; 8],
    }
}

/// The most pairs of a workgroup that sorts by a network: they fill the least workgroup memory that a device may have (16 KiB).
const MAX_PAIRS: u32 = 2048;
/// Pairs per invocation, of fewer invocations than that.
const PER_INVOCATION: u32 = 8;
/// Blocks that are sorted by digits have at least so many pairs: a network has fewer steps for less.
const LEAST_BY_DIGITS: u32 = 256;
/// Of longer rows, a block keeps at most so small a share, so that few levels are enough.
const SHARE: u32 = 8;

/// Where keys come from.
#[derive(Clone, Copy, Debug)]
enum Source {
    /// Elements of a dtype in memory of such a rank.
    Elements {
        dtype: DType,
        rank: u32,
        descending: bool,
    },
    /// What an earlier sort of blocks left of elements of a dtype.
    Pairs(DType),
}

impl Source {
    /// Bits of a key.
    const fn bits(self) -> u32 {
        match self {
            Self::Elements { dtype, .. } | Self::Pairs(dtype) => key_bits(dtype),
        }
    }
}

/// How a workgroup sorts, and how its memory is used.
#[derive(Clone, Copy, Debug)]
enum Blocks {
    /// Pairs of a workgroup, and of a block, by a network.
    Network {
        workgroup: u32,
        pairs: u32,
        segment: u32,
    },
    /// One block, by digits.
    Digits(Digits),
}

/// Pairs of a workgroup of so many invocations that sorts by a network.
fn pairs(workgroup: u32) -> u32 {
    let pairs = workgroup.saturating_mul(PER_INVOCATION).max(2);
    (1 << pairs.ilog2()).min(MAX_PAIRS)
}

/// The most pairs of a block.
fn most(ability: &Ability) -> u32 {
    match of_blocks(ability) {
        Some(digits) => digits.tile(),
        None => pairs(workgroup(ability.workgroup_size)),
    }
}

impl Blocks {
    fn of(row: u32, ability: &Ability) -> Self {
        let segment = row.min(most(ability)).next_power_of_two();
        if segment >= LEAST_BY_DIGITS
            && let Some(digits) = of_blocks(ability)
        {
            return Self::Digits(digits.of_tile(segment));
        }
        let workgroup = workgroup(ability.workgroup_size);
        Self::Network {
            workgroup,
            pairs: pairs(workgroup).max(segment),
            segment,
        }
    }

    const fn segment(self) -> u32 {
        match self {
            Self::Network { segment, .. } => segment,
            Self::Digits(digits) => digits.tile(),
        }
    }

    /// Blocks of a workgroup.
    const fn per_workgroup(self) -> u32 {
        match self {
            Self::Network { pairs, segment, .. } => pairs / segment,
            Self::Digits(_) => 1,
        }
    }

    const fn workgroup(self) -> u32 {
        match self {
            Self::Network { workgroup, .. } => workgroup,
            Self::Digits(digits) => digits.workgroup(),
        }
    }

    /// The choice with the kernel behind what it reads and writes.
    fn complete(self, choice: KernelChoice, bits: u32) -> KernelChoice {
        let choice = match self {
            Self::Network { pairs, segment, .. } => choice
                .part("sort/block.wgsl")
                .constant("BLOCK", pairs)
                .constant("SEGMENT", segment),
            Self::Digits(digits) => digits
                .parts(choice.name("digits"))
                .part("sort/block_digits.wgsl")
                .constant("KEY_BITS", bits),
        };
        choice
            .constant("WG", self.workgroup())
            .without_zeroed_memory()
    }
}

fn choice(source: Source, is_last: bool, blocks: Blocks) -> KernelChoice {
    let choice = KernelChoice::new("sort").name("blocks");
    let choice = match source {
        Source::Elements {
            dtype,
            rank,
            descending,
        } => directed(
            choice.name(dtype.name()).part("sort/block_params.wgsl"),
            dtype,
            descending,
        )
        .parts(&["elementwise/address.wgsl", "sort/block_elements.wgsl"])
        .constant("RANK", rank),
        Source::Pairs(_) => choice
            .name("pairs")
            .parts(&["sort/block_params.wgsl", "sort/block_pairs.wgsl"]),
    };
    let choice = if is_last {
        choice.part("sort/put_places.wgsl")
    } else {
        choice.name("to_pairs").part("sort/put_pairs.wgsl")
    };
    blocks.complete(choice, source.bits())
}

/// Blocks of every dtype and of pairs, to places and to pairs.
pub(super) fn variants() -> Vec<Candidate> {
    let elements = |dtype| Source::Elements {
        dtype,
        rank: 4,
        descending: true,
    };
    let sources = DType::ALL
        .map(elements)
        .into_iter()
        .chain([Source::Pairs(DType::F32)]);
    let blocks = Ability::SAMPLES.map(|ability| Blocks::of(MAX_PAIRS, &ability));
    sources
        .flat_map(|source| blocks.map(|blocks| (source, blocks)))
        .flat_map(|(source, blocks)| [false, true].map(|is_last| choice(source, is_last, blocks)))
        .map(|choice| Candidate::new(choice, BlockParams::FIELDS))
        .collect()
}

impl Executor {
    /// Whether the first `keep` places of rows of so many elements are found by sorting blocks.
    pub(super) fn sorts_blocks(&self, row: u32, keep: u32) -> bool {
        let most = most(&Ability::of(self.device()));
        row <= most || keep <= most / SHARE
    }

    /// The places of the first `keep` elements of each row of `a` in order, as many as there are, into the dense `out`.
    /// [`Executor::sorts_blocks`] must say so.
    pub(super) fn sort_blocks(
        &self,
        a: &View,
        (row, keep): (u32, u32),
        descending: bool,
        out: &View,
    ) -> Result<(), KernelError> {
        let rows = count(OP, a.len())? / row.max(1);
        let geometry = coalesce(&[a.layout]);
        let mut source = Source::Elements {
            dtype: a.dtype,
            rank: u32::try_from(geometry.dims.len()).unwrap_or(1),
            descending,
        };
        let read = self.bind_read(OP, a)?;
        let mut params = BlockParams {
            keep,
            offset_a: read.offset,
            row,
            axes: axes(&geometry),
            ..BlockParams::default()
        };
        let mut left: Option<[View; 2]> = None;
        let ability = Ability::of(self.device());
        loop {
            let blocks = Blocks::of(params.row, &ability);
            params.per_row = params.row.div_ceil(blocks.segment());
            params.blocks = rows.saturating_mul(params.per_row);
            let is_last = params.per_row == 1;
            let choice = choice(source, is_last, blocks);
            let groups = params.blocks.div_ceil(blocks.per_workgroup());
            let grid = Grid::elements(u64::from(groups) * u64::from(blocks.workgroup()), 1);
            let from = match &left {
                None => [Some(self.bind_read(OP, a)?.arg), None],
                Some([keys, places]) => [
                    Some(self.bind_read(OP, keys)?.arg),
                    Some(self.bind_read(OP, places)?.arg),
                ],
            };
            let [keys, earlier] = from;
            if is_last {
                let write = self.bind_write(OP, out)?;
                params.offset_out = write.offset;
                let args: Vec<_> = [keys, Some(write.arg), earlier]
                    .into_iter()
                    .flatten()
                    .collect();
                return self.launch(&choice, &args, &params, grid);
            }
            let shape = Shape::new([params.blocks as usize * keep as usize])
                .map_err(KernelError::shape(OP))?;
            let next = [
                self.alloc(&shape, DType::U32)?,
                self.alloc(&shape, DType::U32)?,
            ];
            {
                let [next_keys, next_places] = &next;
                let places = self.bind_write(OP, next_places)?.arg;
                let ordered = self.bind_write(OP, next_keys)?.arg;
                let args: Vec<_> = [keys, Some(places), earlier, Some(ordered)]
                    .into_iter()
                    .flatten()
                    .collect();
                self.launch(&choice, &args, &params, grid)?;
            }
            params.row = params.per_row * keep;
            source = Source::Pairs(a.dtype);
            left = Some(next);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_fit_the_least_memory_and_blocks_hold_rows() {
        for workgroup_size in [1, 3, 8, 100, 256] {
            let most = pairs(workgroup_size);
            assert!(most.is_power_of_two() && most * 8 <= 16_384);
            for ability in [Ability::WEBGPU, Ability::LARGE] {
                let ability = Ability {
                    workgroup_size,
                    ..ability
                };
                let most = super::most(&ability);
                for row in [1, 2, 3, 63, 64, 65, 1000, 2048, 2049, 5000, u32::MAX] {
                    let blocks = Blocks::of(row, &ability);
                    assert!(blocks.segment() <= most && blocks.segment() >= row.min(most));
                    assert!(blocks.per_workgroup() >= 1);
                }
            }
        }
        assert_eq!(pairs(256), 2048);
        assert_eq!(most(&Ability::LARGE), 4096);
    }

    #[test]
    fn long_blocks_are_sorted_by_digits_where_there_are_subgroups() {
        let by_digits = |row, ability| matches!(Blocks::of(row, ability), Blocks::Digits(_));
        assert!(by_digits(200, &Ability::LARGE) && by_digits(9000, &Ability::LARGE));
        assert!(!by_digits(100, &Ability::LARGE) && !by_digits(2048, &Ability::WEBGPU));
    }
}
