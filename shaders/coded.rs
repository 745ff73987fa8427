//! What `pack.rs` writes and `unpack.rs` reads: texts that repeat each other, as bytes and as repetitions of what stands before.
//!
//! All of it is a row of decisions, and how likely each is to be made is learnt from those before, much as in LZMA. The code
//! below runs on both sides, which differ in the [`Decisions`] that it asks for.

/// One side: it writes decisions, or it reads them.
pub(crate) trait Decisions {
    /// One decision. The writer takes `given` and gives it back; the reader finds out what the writer was given.
    fn decide(&mut self, odds: &mut Odds, given: bool) -> bool;
}

/// How likely a decision is to be yes, of 2^16, and how often it was made, up to a limit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Odds {
    yes: u16,
    times: u16,
}

impl Odds {
    const EVEN: Self = Self {
        yes: 1 << 15,
        times: 0,
    };
    /// Later decisions count as much as in so many: texts change.
    const MEMORY: u16 = 60;

    /// The share of yes in a range of at least 2^24, which leaves some for either.
    pub(crate) fn cut(self, range: u32) -> u32 {
        (range >> 15) * u32::from(self.yes >> 1).clamp(1, (1 << 15) - 1)
    }

    pub(crate) fn learn(&mut self, found: bool) {
        let part = |rest: u16| (2 * u32::from(rest) / u32::from(2 * self.times + 3)) as u16;
        if found {
            self.yes += part(u16::MAX - self.yes);
        } else {
            self.yes -= part(self.yes);
        }
        self.times = (self.times + 1).min(Self::MEMORY);
    }
}

/// A number of so many bits, the highest first, each in the light of those above it. Of the odds there are 2^bits.
fn number(side: &mut impl Decisions, odds: &mut [Odds], bits: usize, given: usize) -> usize {
    let mut known = 1;
    for bit in (0..bits).rev() {
        if let Some(odds) = odds.get_mut(known) {
            known = known << 1 | usize::from(side.decide(odds, given >> bit & 1 == 1));
        }
    }
    known - (1 << bits)
}

/// Numbers from 1 to 2^31, the smaller in fewer decisions.
#[derive(Clone, Copy)]
struct Sizes {
    /// How many bits there are behind the highest.
    bits: [Odds; 32],
    /// Up to four of these.
    upper: [[Odds; 16]; 32],
    /// The others.
    lower: [[Odds; 32]; 32],
}

impl Sizes {
    const EVEN: Self = Self {
        bits: [Odds::EVEN; 32],
        upper: [[Odds::EVEN; 16]; 32],
        lower: [[Odds::EVEN; 32]; 32],
    };

    fn size(&mut self, side: &mut impl Decisions, given: usize) -> usize {
        let bits = given.checked_ilog2().unwrap_or(0) as usize;
        let bits = number(side, &mut self.bits, 5, bits);
        let (upper, lower) = (bits.min(4), bits.saturating_sub(4));
        let odds = &mut self.upper[bits & 31];
        let mut found = 1 << upper | number(side, odds, upper, given >> lower & !(1 << upper));
        for (bit, odds) in self.lower[bits & 31].iter_mut().enumerate().take(lower) {
            found =
                found << 1 | usize::from(side.decide(odds, given >> (lower - 1 - bit) & 1 == 1));
        }
        found
    }
}

/// A byte, or so many bytes as they stand so far before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    Byte(u8),
    Again { length: usize, distance: usize },
}

/// The shortest repetition.
pub(crate) const LEAST: usize = 3;

/// All odds, and what they depend on.
pub(crate) struct Model {
    /// Of a repetition: by whether the last three pieces were, and by the byte before.
    again: Vec<Odds>,
    /// Of a byte: by the byte before, or behind a repetition by the byte with which it would go on.
    bytes: Vec<Odds>,
    /// Of the distance of the last repetition: by whether the last two pieces were repetitions.
    same: [Odds; 4],
    /// Of the lengths at another distance, and at the same.
    lengths: Vec<Sizes>,
    /// By the length.
    distances: Vec<Sizes>,
    kinds: usize,
    distance: usize,
}

impl Model {
    pub(crate) fn new() -> Self {
        Self {
            again: vec![Odds::EVEN; 8 << 8],
            bytes: vec![Odds::EVEN; 512 << 8],
            same: [Odds::EVEN; 4],
            lengths: vec![Sizes::EVEN; 2],
            distances: vec![Sizes::EVEN; 4],
            kinds: 0,
            distance: 1,
        }
    }

    /// The piece behind these bytes.
    pub(crate) fn piece(
        &mut self,
        side: &mut impl Decisions,
        before: &[u8],
        given: Piece,
    ) -> Piece {
        let (byte, length, distance) = match given {
            Piece::Byte(byte) => (byte, LEAST, 1),
            Piece::Again { length, distance } => (0, length, distance),
        };
        let last = usize::from(before.last().copied().unwrap_or(0));
        let kinds = self.kinds;
        let is_again = matches!(given, Piece::Again { .. });
        let is_again = match self.again.get_mut(kinds << 8 | last) {
            Some(odds) => side.decide(odds, is_again),
            None => false,
        };
        self.kinds = (kinds << 1 | usize::from(is_again)) & 7;
        if !is_again {
            let next = before.len().checked_sub(self.distance);
            let context = match next.and_then(|at| before.get(at)) {
                Some(next) if kinds & 1 == 1 => 256 + usize::from(*next),
                _ => last,
            };
            let odds = self.bytes.get_mut(context << 8..).unwrap_or_default();
            return Piece::Byte(number(side, odds, 8, byte.into()) as u8);
        }
        let same = side.decide(&mut self.same[kinds & 3], distance == self.distance);
        let lengths = &mut self.lengths[usize::from(same)];
        let length = lengths.size(side, length + 1 - LEAST) + LEAST - 1;
        if !same {
            let distances = &mut self.distances[(length - LEAST).min(3)];
            self.distance = distances.size(side, distance);
        }
        Piece::Again {
            length,
            distance: self.distance,
        }
    }
}
