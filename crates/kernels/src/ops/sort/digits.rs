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

/// How a workgroup ranks the pairs of a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// By votes of subgroups of 32.
    Subgroups,
    /// By marks in workgroup memory, with so many invocations, a power of two.
    Marks(u32),
}

impl Way {
    /// Twice as many invocations fit as many at a time on a multiprocessor, and tiles are as large.
    const SUBGROUPS: u32 = 512;
    /// More of them have marks and counts of more than 16 KiB.
    const MOST_MARKS: u32 = 128;

    fn all(ability: &Ability) -> Ways<Self> {
        let width = ability.workgroup_size.clamp(1, Self::MOST_MARKS);
        let marks = Self::Marks(1 << width.ilog2());
        let votes = ability.subgroup == LANES
            && ability.invocations >= Self::SUBGROUPS
            && ability.workgroup_bytes >= Self::Subgroups.bytes();
        if votes {
            Ways::new(Self::Subgroups, [marks])
        } else {
            Ways::new(marks, [])
        }
    }

    const fn workgroup(self) -> u32 {
        match self {
            Self::Subgroups => Self::SUBGROUPS,
            Self::Marks(workgroup) => workgroup,
        }
    }

    /// Pairs of an invocation, and the part that says so.
    const fn pairs(self) -> (u32, &'static str) {
        match self {
            Self::Subgroups => (8, "sort/pairs_8.wgsl"),
            Self::Marks(_) => (16, "sort/pairs_16.wgsl"),
        }
    }

    /// Pairs of a workgroup.
    const fn tile(self) -> u32 {
        self.workgroup() * self.pairs().0
    }

    const fn groups(self) -> u32 {
        self.workgroup().div_ceil(LANES)
    }

    /// Words of workgroup memory for what groups count, or for a tile.
    const fn slots(self) -> u32 {
        let counts = self.groups() * BINS;
        let counts = match self {
            Self::Subgroups => counts,
            Self::Marks(_) => 2 * counts,
        };
        if counts > self.tile() {
            counts
        } else {
            self.tile()
        }
    }

    /// Bytes of workgroup memory of the kernel that moves pairs.
    const fn bytes(self) -> u32 {
        let sums = match self {
            Self::Subgroups => LANES,
            Self::Marks(workgroup) => workgroup,
        };
        4 * (self.slots() + 2 * BINS + 2 * sums)
    }

    fn choice(self, name: &'static str) -> KernelChoice {
        let choice = KernelChoice::new("sort").name(name);
        let choice = match self {
            Self::Subgroups => choice
                .name("subgroups")
                .enable("enable/subgroups.wgsl")
                .parts(&[self.pairs().1, "sort/params.wgsl", "sort/by_subgroups.wgsl"]),
            Self::Marks(_) => {
                choice.parts(&[self.pairs().1, "sort/params.wgsl", "sort/by_memory.wgsl"])
            }
        };
        choice
            .constant("WG", self.workgroup())
            .without_zeroed_memory()
    }

    fn count(self) -> KernelChoice {
        self.choice("count").part("sort/count.wgsl")
    }

    fn offsets(self) -> KernelChoice {
        self.choice("offsets").part("sort/offsets.wgsl")
    }

    fn spread(self) -> KernelChoice {
        let choice = self.choice("spread");
        let choice = match self {
            Self::Subgroups => choice.part("sort/rank_subgroups.wgsl"),
            Self::Marks(_) => choice
                .part("sort/rank_marks.wgsl")
                .constant("COUNTS", self.groups() * BINS),
        };
        choice
            .part("sort/spread.wgsl")
            .constant("GROUPS", self.groups())
            .constant("SLOTS", self.slots())
            .constant("DIGITS", BINS.div_ceil(self.workgroup()))
    }
}

/// The kernels of a pass, each way.
pub(super) fn variants() -> Vec<Candidate> {
    Ability::SAMPLES
        .iter()
        .flat_map(|ability| [Way::all(ability).default])
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
        let way = Way::all(&ability).chosen(&ability);
        for shift in (0..bits.clamp(1, 32)).step_by(BITS as usize) {
            self.pass(executor, way, shift)?;
        }
        Ok(())
    }

    /// One stable pass over the digit from bit `shift` on.
    fn pass(&mut self, executor: &Executor, way: Way, shift: u32) -> Result<(), KernelError> {
        let tiles = self.len.div_ceil(way.tile());
        let params = DigitParams {
            len: self.len,
            tiles,
            shift,
            counted: self.counted.into(),
        };
        let groups = |count: u32| Grid::elements(u64::from(count) * u64::from(way.workgroup()), 1);
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
            let way = Way::all(&ability).default;
            assert!(way.bytes() <= ability.workgroup_bytes, "{way:?}");
            assert!(way.workgroup() <= workgroup_size && way.tile() <= way.slots());
        }
        let large = Way::all(&Ability::LARGE);
        assert_eq!(large.default, Way::Subgroups);
        assert_eq!(large.all().count(), 2);
        // Several workgroups at a time: their counts are a sixteenth of the pairs.
        assert_eq!(
            (Way::Subgroups.tile(), Way::Subgroups.bytes()),
            (4096, 18_688)
        );
    }
}
