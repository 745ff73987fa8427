//! Sorting pairs of a key and a place by one digit of eight bits after the other, least first.
//!
//! A pass is three dispatches: how many keys of each tile have each digit, where those of a tile begin, and the pairs moved
//! there. Which pairs of a tile have the same digit, groups of 32 invocations find out together: subgroups by votes, other
//! groups by words of workgroup memory with a bit for each invocation. Equal digits keep their order, so both give the same.

use ziggurat_core::{DType, Shape};
use ziggurat_pipeline::Grid;

use super::OP;
use crate::limits::ability::Ability;
use crate::ops::ways::Ways;
use crate::run::error::KernelError;
use crate::run::executor::Executor;
use crate::run::view::View;
use crate::source::candidate::Candidate;
use crate::source::choice::KernelChoice;
use crate::source::params::{Params, params};

params! {
    /// Parameters of a pass.
    pub(crate) struct DigitParams {
        len: u32,
        tiles: u32,
        shift: u32,
        counted: u32,
    }
}

/// Values of a digit.
const BINS: u32 = 256;
/// Bits of a digit.
const BITS: u32 = BINS.ilog2();
/// Invocations of a group.
const LANES: u32 = 32;

/// How groups of invocations find out which of their pairs have the same digit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ranks {
    /// By votes of subgroups of 32.
    Votes,
    /// By marks in workgroup memory.
    Marks,
}

/// How a workgroup sorts a tile by digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Digits {
    ranks: Ranks,
    /// Invocations, a power of two, of subgroups 32 at least.
    workgroup: u32,
}

/// Twice as many invocations fit as many at a time on a multiprocessor, and tiles are as large.
const VOTERS: u32 = 512;
/// More of them have marks and counts of more than 16 KiB.
const MOST_MARKS: u32 = 128;

/// The largest block that a workgroup sorts by votes of subgroups, if the device has such.
pub(super) fn of_blocks(ability: &Ability) -> Option<Digits> {
    (LANES.ilog2()..=VOTERS.ilog2())
        .rev()
        .map(|exponent| Digits {
            ranks: Ranks::Votes,
            workgroup: 1 << exponent,
        })
        .find(|digits| {
            // The pairs' numbers are in memory as well.
            let bytes = digits.bytes() + 4 * digits.tile();
            digits.votes(ability) && bytes <= ability.workgroup_bytes
        })
}

impl Digits {
    fn all(ability: &Ability) -> Ways<Self> {
        let width = ability.workgroup_size.clamp(1, MOST_MARKS);
        let marks = Self {
            ranks: Ranks::Marks,
            workgroup: 1 << width.ilog2(),
        };
        let votes = Self {
            ranks: Ranks::Votes,
            workgroup: VOTERS,
        };
        if votes.votes(ability) && votes.bytes() <= ability.workgroup_bytes {
            Ways::new(votes, [marks])
        } else {
            Ways::new(marks, [])
        }
    }

    /// Whether the device has subgroups as they must be.
    const fn votes(self, ability: &Ability) -> bool {
        ability.subgroup == LANES && self.workgroup <= ability.invocations
    }

    pub(super) const fn workgroup(self) -> u32 {
        self.workgroup
    }

    /// The same for tiles of so many pairs.
    pub(super) const fn of_tile(self, tile: u32) -> Self {
        Self {
            ranks: self.ranks,
            workgroup: tile / self.pairs().0,
        }
    }

    /// Pairs of an invocation, and the part that says so.
    const fn pairs(self) -> (u32, &'static str) {
        match self.ranks {
            Ranks::Votes => (8, "sort/pairs_8.wgsl"),
            Ranks::Marks => (16, "sort/pairs_16.wgsl"),
        }
    }

    /// Pairs of a workgroup.
    pub(super) const fn tile(self) -> u32 {
        self.workgroup * self.pairs().0
    }

    const fn groups(self) -> u32 {
        self.workgroup.div_ceil(LANES)
    }

    /// Words of workgroup memory for what groups count, or for a tile.
    const fn slots(self) -> u32 {
        let counts = match self.ranks {
            Ranks::Votes => self.groups() * BINS,
            Ranks::Marks => 2 * self.groups() * BINS,
        };
        if counts > self.tile() {
            counts
        } else {
            self.tile()
        }
    }

    /// Bytes of workgroup memory of the kernel that moves pairs.
    const fn bytes(self) -> u32 {
        let sums = match self.ranks {
            Ranks::Votes => LANES,
            Ranks::Marks => self.workgroup,
        };
        4 * (self.slots() + 2 * BINS + 2 * sums)
    }

    /// The choice with the entry point, and with what knows the invocations of a group.
    fn entry(self, choice: KernelChoice) -> KernelChoice {
        let choice = match self.ranks {
            Ranks::Votes => choice
                .enable("enable/subgroups.wgsl")
                .part("sort/by_subgroups.wgsl"),
            Ranks::Marks => choice.part("sort/by_memory.wgsl"),
        };
        choice.part(self.pairs().1)
    }

    /// The choice with the entry point and sums over invocations.
    fn sums(self, choice: KernelChoice) -> KernelChoice {
        self.entry(choice).part(match self.ranks {
            Ranks::Votes => "sort/sums_subgroups.wgsl",
            Ranks::Marks => "sort/sums_memory.wgsl",
        })
    }

    /// The choice with these and what ranks pairs.
    pub(super) fn parts(self, choice: KernelChoice) -> KernelChoice {
        let choice = self.sums(choice);
        let choice = match self.ranks {
            Ranks::Votes => choice.part("sort/rank_subgroups.wgsl"),
            Ranks::Marks => choice
                .part("sort/rank_marks.wgsl")
                .constant("COUNTS", self.groups() * BINS),
        };
        choice
            .constant("GROUPS", self.groups())
            .constant("SLOTS", self.slots())
            .constant("BINS_EACH", BINS.div_ceil(self.workgroup))
    }

    fn choice(self, name: &'static str) -> KernelChoice {
        let choice = KernelChoice::new("sort").name(name);
        let choice = match self.ranks {
            Ranks::Votes => choice.name("subgroups"),
            Ranks::Marks => choice,
        };
        choice
            .part("sort/params.wgsl")
            .constant("WG", self.workgroup)
            .without_zeroed_memory()
    }

    fn count(self) -> KernelChoice {
        self.entry(self.choice("count")).part("sort/count.wgsl")
    }

    fn offsets(self) -> KernelChoice {
        self.sums(self.choice("offsets")).part("sort/offsets.wgsl")
    }

    fn spread(self) -> KernelChoice {
        self.parts(self.choice("spread")).part("sort/spread.wgsl")
    }
}

/// The kernels of a pass, each way.
pub(super) fn variants() -> Vec<Candidate> {
    Ability::SAMPLES
        .iter()
        .flat_map(|ability| [Digits::all(ability).default])
        .flat_map(|way| [way.count(), way.offsets(), way.spread()])
        .map(|choice| Candidate::new(choice, DigitParams::FIELDS))
        .collect()
}

/// Pairs that are sorted, and room for them to be moved to.
#[derive(Debug)]
pub(crate) struct Pairs {
    keys: [View; 2],
    places: [View; 2],
    len: u32,
    /// Whether places are the numbers of the pairs still, and not written.
    counted: bool,
}

impl Pairs {
    /// So many keys (u32, dense), each with its number as its place.
    pub(crate) fn new(executor: &Executor, keys: View, len: u32) -> Result<Self, KernelError> {
        let room = || executor.alloc(keys.shape(), DType::U32);
        let (other, places) = (room()?, [room()?, room()?]);
        Ok(Self {
            keys: [keys, other],
            places,
            len,
            counted: true,
        })
    }

    /// The keys in order.
    pub(crate) const fn keys(&self) -> &View {
        let [keys, _] = &self.keys;
        keys
    }

    /// Where each key stood (u32).
    pub(crate) const fn places(&self) -> &View {
        let [places, _] = &self.places;
        places
    }

    /// Sorts by the lowest `bits` of the keys, at least by one digit; equal ones keep their order.
    pub(crate) fn sort(&mut self, executor: &Executor, bits: u32) -> Result<(), KernelError> {
        let ability = Ability::of(executor.device());
        let way = Digits::all(&ability).chosen(&ability);
        for shift in (0..bits.clamp(1, 32)).step_by(BITS as usize) {
            self.pass(executor, way, shift)?;
        }
        Ok(())
    }

    /// One stable pass over the digit from bit `shift` on.
    fn pass(&mut self, executor: &Executor, way: Digits, shift: u32) -> Result<(), KernelError> {
        let tiles = self.len.div_ceil(way.tile());
        let params = DigitParams {
            len: self.len,
            tiles,
            shift,
            counted: self.counted.into(),
        };
        let groups = |count: u32| Grid::elements(u64::from(count) * u64::from(way.workgroup), 1);
        let room = |count: u64| {
            let count = usize::try_from(count).unwrap_or(usize::MAX);
            let shape = Shape::new([count]).map_err(KernelError::shape(OP))?;
            executor.alloc(&shape, DType::U32)
        };
        let counts = room(u64::from(tiles) * u64::from(BINS))?;
        let totals = room(u64::from(BINS))?;
        let [keys, new_keys] = &self.keys;
        let [places, new_places] = &self.places;
        {
            let args = [
                executor.bind_read(OP, keys)?.arg,
                executor.bind_write(OP, &counts)?.arg,
            ];
            executor.launch(&way.count(), &args, &params, groups(tiles))?;
        }
        {
            let args = [
                executor.bind_write(OP, &counts)?.arg,
                executor.bind_write(OP, &totals)?.arg,
            ];
            executor.launch(&way.offsets(), &args, &params, groups(BINS))?;
        }
        // What is not read is bound to the keys.
        let places = if self.counted { keys } else { places };
        let args = [
            executor.bind_read(OP, keys)?.arg,
            executor.bind_read(OP, places)?.arg,
            executor.bind_read(OP, &counts)?.arg,
            executor.bind_read(OP, &totals)?.arg,
            executor.bind_write(OP, new_keys)?.arg,
            executor.bind_write(OP, new_places)?.arg,
        ];
        executor.launch(&way.spread(), &args, &params, groups(tiles))?;
        self.keys.swap(0, 1);
        self.places.swap(0, 1);
        self.counted = false;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_fit_the_memory_that_every_device_has_and_tiles_their_slots() {
        for workgroup_size in [1, 3, 8, 100, 128, 256, 1024] {
            let ability = Ability {
                workgroup_size,
                ..Ability::WEBGPU
            };
            let way = Digits::all(&ability).default;
            assert!(way.bytes() <= ability.workgroup_bytes, "{way:?}");
            assert!(way.workgroup <= workgroup_size && way.tile() <= way.slots());
        }
        let large = Digits::all(&Ability::LARGE);
        assert_eq!(large.default.ranks, Ranks::Votes);
        assert_eq!(large.all().count(), 2);
        // Several workgroups at a time: their counts are a sixteenth of the pairs.
        assert_eq!(
            (large.default.tile(), large.default.bytes()),
            (4096, 18_688)
        );
    }
}
