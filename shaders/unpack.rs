//! The other side of `pack.rs`.

use crate::coded::{Decisions, Model, Odds, Piece};

/// The bytes that were packed. What `pack` did not make gives some bytes, and never a panic.
pub(crate) fn unpack(packed: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let Some((len, rest)) = packed.split_first_chunk() else {
        return bytes;
    };
    let len = u32::from_le_bytes(*len) as usize;
    let mut reader = Reader {
        range: u32::MAX,
        code: 0,
        rest: rest.iter(),
        beyond: 0,
    };
    for _ in 0..4 {
        reader.shift();
    }
    let mut model = Model::new();
    // The last decisions may need bytes that are not there, but not many.
    while bytes.len() < len && reader.beyond < 8 {
        match model.piece(&mut reader, &bytes, Piece::Byte(0)) {
            Piece::Byte(byte) => bytes.push(byte),
            Piece::Again { length, distance } => {
                let Some(from) = bytes.len().checked_sub(distance) else {
                    break;
                };
                // What is known may reach into what is being written.
                for at in (from..from + length).take(len - bytes.len()) {
                    bytes.extend(bytes.get(at).copied());
                }
            }
        }
    }
    bytes
}

/// The number that was written, as far as it lies in the range of what was read.
struct Reader<'a> {
    range: u32,
    code: u32,
    rest: std::slice::Iter<'a, u8>,
    /// How many bytes were taken from behind the end.
    beyond: usize,
}

impl Reader<'_> {
    fn shift(&mut self) {
        let next = self.rest.next().copied();
        self.beyond += usize::from(next.is_none());
        self.code = self.code << 8 | u32::from(next.unwrap_or(0));
    }
}

impl Decisions for Reader<'_> {
    fn decide(&mut self, odds: &mut Odds, _: bool) -> bool {
        let yes = odds.cut(self.range);
        let found = self.code < yes;
        if found {
            self.range = yes;
        } else {
            self.code = self.code.wrapping_sub(yes);
            self.range -= yes;
        }
        odds.learn(found);
        while self.range < 1 << 24 {
            self.range <<= 8;
            self.shift();
        }
        found
    }
}
