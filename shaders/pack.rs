//! Texts that repeat each other, in a sixth of their bytes. `build.rs` packs; a program for the web unpacks (`unpack.rs`), once.

use std::collections::HashMap;

use crate::coded::{Decisions, LEAST, Model, Odds, Piece};

/// Of the places with the same first bytes the last so many are tried.
const TRIED: usize = 200;

/// Bytes that `unpack` makes these of: how many there are, in four, and the decisions.
pub(crate) fn pack(bytes: &[u8]) -> Vec<u8> {
    let mut writer = Writer::new();
    let mut model = Model::new();
    let mut at = 0;
    for piece in pieces(bytes) {
        model.piece(&mut writer, &bytes[..at], piece);
        at += len(piece);
    }
    [&(bytes.len() as u32).to_le_bytes(), writer.end().as_slice()].concat()
}

const fn len(piece: Piece) -> usize {
    match piece {
        Piece::Byte(_) => 1,
        Piece::Again { length, .. } => length,
    }
}

/// How many bytes from two places on are the same.
fn same(bytes: &[u8], from: usize, at: usize) -> usize {
    let (a, b) = (&bytes[from..], &bytes[at..]);
    // Sixteen at a time, for most of the time goes here.
    let whole = a.chunks_exact(16).zip(b.chunks_exact(16));
    let start = 16 * whole.take_while(|(a, b)| a == b).count();
    let pairs = a[start..].iter().zip(&b[start..]);
    start + pairs.take_while(|(a, b)| a == b).count()
}

/// For each place, what stands before: ever longer repetitions, each at its least distance.
fn known(bytes: &[u8]) -> Vec<Vec<Piece>> {
    let mut places: HashMap<&[u8], Vec<usize>> = HashMap::new();
    let mut known = vec![Vec::new(); bytes.len()];
    for (at, known) in known.iter_mut().enumerate() {
        let Some(first) = bytes.get(at..at + LEAST) else {
            break;
        };
        let places = places.entry(first).or_default();
        let mut longest = LEAST - 1;
        for from in places.iter().rev().take(TRIED) {
            // What is no longer than the last one differs there at the latest.
            if bytes.get(from + longest) != bytes.get(at + longest) {
                continue;
            }
            let (length, distance) = (same(bytes, *from, at), at - from);
            if length > longest {
                longest = length;
                known.push(Piece::Again { length, distance });
            }
        }
        places.push(at);
    }
    known
}

/// The pieces of the fewest bits, as far as these can be guessed before the odds are known.
fn pieces(bytes: &[u8]) -> Vec<Piece> {
    const BYTE: f32 = 4.0;
    let size = |n: usize| (n as f32).log2();
    let known = known(bytes);
    // From the end on: the bits of all that follows, and the piece with which it begins.
    let mut best = vec![(0.0, Piece::Byte(0)); bytes.len() + 1];
    for at in (0..bytes.len()).rev() {
        let mut choice = (best[at + 1].0 + BYTE, Piece::Byte(bytes[at]));
        let mut shortest = LEAST;
        for piece in &known[at] {
            let Piece::Again { length, distance } = *piece else {
                continue;
            };
            // Of a very long one, the lengths at its end are enough.
            for length in shortest.max(length.saturating_sub(300))..=length {
                let own = 6.0 + size(distance) + 1.4 * size(length + 1 - LEAST).floor();
                let bits = best[at + length].0 + own;
                if bits < choice.0 {
                    choice = (bits, Piece::Again { length, distance });
                }
            }
            shortest = length + 1;
        }
        best[at] = choice;
    }
    let (mut all, mut at, mut last) = (Vec::new(), 0, 1);
    while at < bytes.len() {
        let mut piece = best[at].1;
        // The distance of the last repetition takes one decision.
        let length = at.checked_sub(last).map_or(0, |from| same(bytes, from, at));
        if length >= LEAST && length + 1 >= len(piece) {
            let distance = last;
            piece = Piece::Again { length, distance };
        }
        if let Piece::Again { distance, .. } = piece {
            last = distance;
        }
        at += len(piece);
        all.push(piece);
    }
    all
}

/// A range of numbers, of which each decision takes its share. Of the numbers in the last range one is written.
struct Writer {
    low: u64,
    range: u32,
    /// The last byte, which may still become one more, and how many of 255 follow it.
    last: Option<u8>,
    full: usize,
    bytes: Vec<u8>,
}

impl Writer {
    const fn new() -> Self {
        Self {
            low: 0,
            range: u32::MAX,
            last: None,
            full: 0,
            bytes: Vec::new(),
        }
    }

    /// Moves the highest byte out.
    fn shift(&mut self) {
        let (carry, byte) = ((self.low >> 32) as u8, (self.low >> 24) as u8);
        if carry == 0 && byte == 0xff {
            self.full += 1;
        } else {
            self.bytes
                .extend(self.last.map(|last| last.wrapping_add(carry)));
            let full = std::iter::repeat_n(0xff_u8.wrapping_add(carry), self.full);
            self.bytes.extend(full);
            (self.last, self.full) = (Some(byte), 0);
        }
        self.low = self.low << 8 & 0xffff_ffff;
    }

    fn end(mut self) -> Vec<u8> {
        for _ in 0..5 {
            self.shift();
        }
        self.bytes
    }
}

impl Decisions for Writer {
    fn decide(&mut self, odds: &mut Odds, given: bool) -> bool {
        let yes = odds.cut(self.range);
        if given {
            self.range = yes;
        } else {
            self.low += u64::from(yes);
            self.range -= yes;
        }
        odds.learn(given);
        while self.range < 1 << 24 {
            self.range <<= 8;
            self.shift();
        }
        given
    }
}
